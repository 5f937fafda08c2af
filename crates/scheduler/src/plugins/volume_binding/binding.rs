//! What a pod needs is assumed when its node is chosen, written before it is bound, and waited for.

use std::sync::Arc;
use std::time::Duration;

use roadstead_model::{BoundClaim, PersistentVolume, PersistentVolumeClaim, Pod, Text};
use roadstead_queue::Time;

use super::VolumeBinding;
use crate::framework::{CycleState, Handle, PreBind, PreFlight, Progress, Reserve, Status, Write};
use crate::listers::Listers;

/// What was assumed for a pod, and how much of it is written.
#[derive(Clone, Debug, Default)]
struct Assumed {
    volumes: Vec<Arc<PersistentVolume>>,
    claims: Vec<Arc<PersistentVolumeClaim>>,
    /// How many of them were asked to be written, volumes first.
    asked: usize,
    /// How many are known to be written.
    written: usize,
    /// When waiting ends, once all is written.
    deadline: Option<Time>,
}

impl Reserve for VolumeBinding {
    /// Nobody else gets the volumes: they are taken to be kept for the claims already.
    fn reserve(
        &self,
        handle: &mut Handle<'_>,
        state: &mut CycleState,
        _: &Arc<Pod>,
        node: &Text,
    ) -> Result<(), Status> {
        let Some(found) = Self::volumes_on(state, node) else { return Ok(()) };
        let mut assumed = Assumed::default();
        let mut result = Ok(());
        for (claim, volume) in found.bindings {
            let kept = kept_for(&volume, &claim);
            result = result.and_then(|()| handle.listers.assume_volume(kept.clone()));
            if result.is_ok() {
                assumed.volumes.push(kept);
            }
        }
        for claim in found.provisions {
            let selected = Some(node.clone());
            let made =
                Arc::new(PersistentVolumeClaim { selected_node: selected, ..(*claim).clone() });
            result = result.and_then(|()| handle.listers.assume_claim(made.clone()));
            if result.is_ok() {
                assumed.claims.push(made);
            }
        }
        if result.is_err() {
            assumed.give_up(handle.listers, 0);
        } else {
            state.put(ASSUMED, assumed);
        }
        result.map_err(Status::error)
    }

    fn unreserve(&self, handle: &mut Handle<'_>, state: &mut CycleState, _: &Arc<Pod>, _: &Text) {
        if let Some(assumed) = state.get_mut::<Assumed>(ASSUMED) {
            // What the cluster was told stays as it was told.
            let written = assumed.written;
            assumed.give_up(handle.listers, written);
        }
    }
}

impl PreBind for VolumeBinding {
    fn pre_flight(
        &self,
        _: &Listers,
        state: &CycleState,
        _: &Arc<Pod>,
        _: &Text,
    ) -> Result<PreFlight, Status> {
        let has_work = state.get::<Assumed>(ASSUMED).is_some_and(|assumed| assumed.len() > 0);
        Ok(if has_work { PreFlight::Run } else { PreFlight::Skip })
    }

    /// One write after the other, so that a failure stops the rest; then a look every second.
    fn pre_bind(
        &self,
        handle: &mut Handle<'_>,
        state: &mut CycleState,
        _: &Arc<Pod>,
        node: &Text,
    ) -> Result<Progress, Status> {
        let Some(assumed) = state.get_mut::<Assumed>(ASSUMED) else { return Ok(Progress::Done) };
        // It would not be called again if one had failed.
        assumed.written = assumed.asked;
        if let Some(write) = assumed.next_write() {
            handle.write(write);
            return Ok(Progress::Written);
        }
        let Some(deadline) = assumed.deadline else {
            assumed.deadline = Some(handle.now + self.bind_timeout);
            return Ok(Progress::LookAgain(handle.now + POLL));
        };
        let failed = |message: String| Status::error(format!("binding volumes: {message}"));
        if assumed.is_bound(handle, node).map_err(failed)? {
            return Ok(Progress::Done);
        }
        if handle.now >= deadline {
            return Err(failed(TIMED_OUT.to_owned()));
        }
        Ok(Progress::LookAgain((handle.now + POLL).min(deadline)))
    }
}

impl Assumed {
    fn len(&self) -> usize {
        self.volumes.len() + self.claims.len()
    }

    fn next_write(&mut self) -> Option<Write> {
        let at = self.asked;
        let claim = || self.claims.get(at - self.volumes.len()).cloned().map(Write::SelectNode);
        let write = self.volumes.get(at).cloned().map(Write::BindVolume).or_else(claim)?;
        self.asked += 1;
        Some(write)
    }

    /// Drops what was assumed from the one at that place on.
    fn give_up(&mut self, listers: &mut Listers, from: usize) {
        for volume in self.volumes.iter().skip(from) {
            listers.drop_assumed_volume(&volume.name);
        }
        for claim in self.claims.iter().skip(from.saturating_sub(self.volumes.len())) {
            listers.drop_assumed_claim(&(claim.namespace.clone(), claim.name.clone()));
        }
    }

    /// Whether the cluster shows every claim bound.
    fn is_bound(&self, handle: &Handle<'_>, node: &Text) -> Result<bool, String> {
        let listers = &*handle.listers;
        let Some(node) = handle.nodes.get(node) else {
            return Err(format!("failed to get node \"{node}\": node \"{node}\" not found"));
        };
        for wanted in &self.volumes {
            let name = &wanted.name;
            let shown = listers.assumptions.volumes.get(name);
            if shown.is_some_and(|shown| shown.version == wanted.version) {
                // What was written is not shown yet.
                return Ok(false);
            }
            let Some(volume) = listers.persistent_volumes.get(name) else {
                return Err(format!("persistentvolume \"{name}\" not found"));
            };
            if volume.claim.as_ref().is_none_or(|claim| claim.uid.is_none()) {
                return Err(format!("ClaimRef got reset for pv \"{name}\""));
            }
            if !volume.is_reachable(&node.node().labels, false)? {
                return Err(format!(
                    "pv \"{name}\" node affinity doesn't match node \"{}\"",
                    node.name()
                ));
            }
            let bound = wanted.claim.as_ref().and_then(|claim| {
                let key = (claim.namespace.clone(), claim.name.clone());
                listers.persistent_volume_claims.get(&key)
            });
            if !bound.is_some_and(|claim| claim.is_fully_bound()) {
                return Ok(false);
            }
        }
        for wanted in &self.claims {
            let key = (wanted.namespace.clone(), wanted.name.clone());
            let shown = listers.assumptions.claims.get(&key);
            if shown.is_some_and(|shown| shown.version == wanted.version) {
                return Ok(false);
            }
            let name = &wanted.name;
            let Some(claim) = listers.persistent_volume_claims.get(&key) else {
                return Err(format!("persistentvolumeclaim \"{name}\" not found"));
            };
            if claim.selected_node.as_ref() != Some(node.name()) {
                return Err(format!("provisioning failed for PVC \"{name}\""));
            }
            if !claim.is_fully_bound() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The volume as it is once it is kept for the claim.
fn kept_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Arc<PersistentVolume> {
    let is_kept_already = volume.claim.is_some();
    let uid = Some(claim.uid.clone());
    let (namespace, name) = (claim.namespace.clone(), claim.name.clone());
    let mut kept = volume.clone();
    kept.claim = Some(BoundClaim { namespace, name, uid });
    kept.is_bound_by_controller |= !is_kept_already;
    Arc::new(kept)
}

/// How often it is looked whether volumes are bound.
const POLL: Duration = Duration::from_secs(1);
const ASSUMED: &str = "VolumeBinding/assumed";
const TIMED_OUT: &str = "context deadline exceeded";
