//! Claims whose volumes the recorded scheduler chose, and what became of both.

use std::time::Duration;

use hashbrown::HashMap;
use roadstead_cluster::Object;
use roadstead_queue::Time;
use roadstead_scheduler::framework::Write;

/// What became of claims after a scheduler had written for them, by namespace and name.
#[derive(Default)]
pub(super) struct Claims(HashMap<(String, String), Claim>);

struct Claim {
    /// When the scheduler first wrote.
    written: Time,
    course: Vec<ClaimHappened>,
}

/// A claim or its volume changed.
#[derive(Clone)]
pub(super) struct ClaimHappened {
    /// How long after the write.
    pub(super) after: Duration,
    /// The number of the step.
    pub(super) step: u64,
    pub(super) object: Object,
}

impl Claims {
    /// The recorded scheduler wrote.
    pub(super) fn written(&mut self, write: &Write, at: Time) {
        if let Some(key) = claim_of_write(write) {
            self.0.entry(key).or_insert(Claim { written: at, course: Vec::new() });
        }
    }

    /// The cluster showed an object, which may follow from a write.
    pub(super) fn shown(&mut self, object: &Object, step: u64, at: Time) {
        let claim = claim_of(object).and_then(|key| self.0.get_mut(&key));
        if let Some(claim) = claim {
            let after = at - claim.written;
            claim.course.push(ClaimHappened { after, step, object: object.clone() });
        }
    }

    /// Whether what a step showed then follows from a write.
    pub(super) fn follows(&self, object: &Object, step: u64) -> bool {
        let claim = claim_of(object).and_then(|key| self.0.get(&key));
        claim.is_some_and(|claim| claim.course.iter().any(|happened| happened.step == step))
    }

    /// What follows from a write.
    pub(super) fn course(&self, write: &Write) -> &[ClaimHappened] {
        let claim = claim_of_write(write).and_then(|key| self.0.get(&key));
        claim.map_or(&[], |claim| &claim.course)
    }
}

fn claim_of_write(write: &Write) -> Option<(String, String)> {
    let (namespace, name) = match write {
        Write::BindVolume(volume) => {
            let claim = volume.claim.as_ref()?;
            (&claim.namespace, &claim.name)
        }
        Write::SelectNode(claim) => (&claim.namespace, &claim.name),
    };
    Some((namespace.to_string(), name.to_string()))
}

/// The claim that an object is, or is the volume of.
fn claim_of(object: &Object) -> Option<(String, String)> {
    match object {
        Object::PersistentVolumeClaim(claim) => {
            let meta = &claim.metadata;
            Some((meta.namespace.clone()?, meta.name.clone()?))
        }
        Object::PersistentVolume(volume) => {
            let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
            Some((claim.namespace.clone()?, claim.name.clone()?))
        }
        _ => None,
    }
}
