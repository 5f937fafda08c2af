//! Finds volumes for a pod's claims on each node, or sees that they can be made there.

mod binding;
mod needs;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roadstead_model::{
    ClaimPhase, CsiDriver, PersistentVolume, PersistentVolumeClaim, Pod, Text, Volume,
};
use roadstead_queue::{Action, Ask, Hint, HintError};
use serde::Deserialize;
use serde_json::Value;

use super::ArgumentError;
use super::pod_claims::{check_owner, find_claim, uses};
use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies};
use crate::framework::{
    Context, CycleState, Extensions, Feasible, Filter, Joining, Plugin, PreFilter, PreFilterAnswer,
    PreScore, PreScoreAnswer, Registration, Score, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;
use crate::plugins::volume_remedies;
use needs::Needs;

/// Finds volumes for a pod's claims on each node, or sees that they can be made there.
///
/// Claims that are bound tie the pod to where their volumes can be reached. Claims of classes that
/// wait for their first consumer are matched with free volumes or left to their provisioner. All
/// others must be bound before the pod can be placed.
pub struct VolumeBinding {
    /// How long a pod waits for its volumes once they were asked for.
    bind_timeout: Duration,
}

/// What a node has for a pod's claims that are not bound yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodVolumes {
    /// Claims and the free volumes that were found for them.
    pub bindings: Vec<(Arc<PersistentVolumeClaim>, Arc<PersistentVolume>)>,
    /// Claims for which volumes are to be made.
    pub provisions: Vec<Arc<PersistentVolumeClaim>>,
}

impl VolumeBinding {
    /// The plugin with its points.
    ///
    /// # Errors
    ///
    /// A negative time-out, a shape, or an argument that is not known.
    pub fn extensions(arguments: &Value) -> Result<Extensions, ArgumentError> {
        let seconds = Arguments::read(arguments)?.bind_timeout_seconds;
        let bind_timeout = Duration::from_secs(seconds.unsigned_abs());
        let plugin = Joining::new(Self { bind_timeout }).pre_filter().filter().pre_score().score();
        Ok(plugin.reserve().pre_bind().done())
    }

    /// What Filter found on the node in this cycle; `None` where nothing is left to be bound.
    #[must_use]
    pub fn volumes_on(state: &CycleState, node: &Text) -> Option<PodVolumes> {
        let found = &state.get::<Claims>(NAME)?.found;
        found.lock().unwrap_or_else(PoisonError::into_inner).get(node).cloned()
    }
}

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Whatever a claim is bound or made with may change, and so may what nodes reach.
    fn events(&self) -> Vec<Registration> {
        let change = Action::ADD | Action::UPDATE;
        let node_change = Action::ADD | events::UPDATE_NODE_LABEL;
        vec![
            Registration::new(events::STORAGE_CLASS, change, Ask::Class),
            // The names of ephemeral claims are made from the pod's own.
            Registration::new(events::PERSISTENT_VOLUME_CLAIM, change, Ask::Item),
            Registration::new(events::PERSISTENT_VOLUME, change, Ask::Nobody),
            Registration::new(events::NODE, node_change, Ask::Nobody),
            Registration::new(events::CSI_NODE, change, Ask::Class),
            Registration::new(events::CSI_DRIVER, Action::UPDATE, Ask::Class),
            Registration::new(events::CSI_STORAGE_CAPACITY, change, Ask::Class),
        ]
    }

    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let helps = if event.resource == events::STORAGE_CLASS {
            match events::storage_classes(event)? {
                (Some(old), Some(new)) => old.allowed_topologies != new.allowed_topologies,
                _ => true,
            }
        } else if event.resource == events::PERSISTENT_VOLUME_CLAIM {
            let (_, new) = events::persistent_volume_claims(event)?;
            new.is_none_or(|claim| uses(pod, claim))
        } else if event.resource == events::CSI_NODE {
            match events::csi_nodes(event)? {
                (Some(old), Some(new)) => old.migrated_annotation != new.migrated_annotation,
                _ => true,
            }
        } else if event.resource == events::CSI_DRIVER {
            match events::csi_drivers(event)? {
                (Some(old), Some(new)) => no_longer_counts(pod, old, new),
                _ => true,
            }
        } else {
            match events::csi_storage_capacities(event)? {
                (Some(old), Some(new)) => new.limit_bytes > old.limit_bytes,
                _ => true,
            }
        };
        Ok(if helps { Hint::Queue } else { Hint::Skip })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        volume_remedies::missing_objects(refusal, &mut remedies);
        if refusal.has(UNBOUND_IMMEDIATE) {
            for claim in refusal.pod.claims() {
                let known = find_claim(refusal.context.listers, refusal.pod, claim.name);
                if known.is_ok_and(|known| !known.is_fully_bound()) {
                    remedies.cluster(format!("claim {} bound to a volume", claim.name));
                }
            }
        }
        needs::explain(refusal, &mut remedies);
        volume_remedies::without_volumes(refusal, &mut remedies);
        remedies
    }
}

/// Whether a driver has stopped publishing how much it can store, which may have kept the pod
/// away.
// D11: it is for claims that capacity is asked about; upstream's isSchedulableAfterCSIDriverChange
// looks at the drivers of inline volumes only.
fn no_longer_counts(pod: &Pod, old: &CsiDriver, new: &CsiDriver) -> bool {
    let is_concerned = |volume: &Volume| match volume {
        Volume::Csi { driver } => *driver == new.name,
        Volume::Claim(_) | Volume::Ephemeral { .. } => true,
        _ => false,
    };
    old.storage_capacity && !new.storage_capacity && pod.spec().volumes.iter().any(is_concerned)
}

impl PreFilter for VolumeBinding {
    fn pre_filter(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        let claims = usable_claims(context.listers, pod).map_err(Status::unresolvable)?;
        if claims.is_empty() {
            return Ok(PreFilterAnswer::Skip);
        }
        let needs = Needs::of(context.listers, &claims).map_err(Status::error)?;
        let needs = needs.ok_or_else(|| Status::unresolvable(UNBOUND_IMMEDIATE))?;
        state.put(NAME, Claims { needs: Arc::new(needs), found: Arc::default() });
        Ok(PreFilterAnswer::AnyNode)
    }
}

impl Filter for VolumeBinding {
    fn filter(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        _: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let claims = state.get::<Claims>(NAME).ok_or_else(|| Status::error(NO_STATE))?;
        let volumes = claims.needs.met_by(context.listers, node.node())?;
        if volumes != PodVolumes::default() {
            let mut found = claims.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.insert(node.name().clone(), volumes);
        }
        Ok(())
    }
}

/// Capacity is scored only behind the gate StorageCapacityScoring, which is off.
impl PreScore for VolumeBinding {
    fn pre_score(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        _: &Pod,
        _: &Feasible<'_>,
    ) -> Result<PreScoreAnswer, Status> {
        Ok(PreScoreAnswer::Skip)
    }
}

impl Score for VolumeBinding {
    fn score(&self, _: &Context<'_>, _: &CycleState, _: &Pod, _: &NodeInfo) -> Result<i64, Status> {
        Ok(0)
    }
}

/// A pod's claims during a cycle. What-ifs share what is found: other pods do not change it.
#[derive(Clone)]
struct Claims {
    needs: Arc<Needs>,
    found: Arc<Mutex<BTreeMap<Text, PodVolumes>>>,
}

/// The pod's claims in order, or what is wrong with the first that cannot be used at all.
fn usable_claims(listers: &Listers, pod: &Pod) -> Result<Vec<Arc<PersistentVolumeClaim>>, String> {
    let mut claims = Vec::new();
    for own in pod.claims() {
        let name = own.name;
        let claim = find_claim(listers, pod, name).map_err(|missing| match own.is_ephemeral {
            true => format!(
                "waiting for ephemeral volume controller to create the persistentvolumeclaim \
                 \"{name}\""
            ),
            false => missing.to_string(),
        })?;
        if claim.phase == ClaimPhase::Lost {
            let volume = claim.volume_name.as_deref().unwrap_or_default();
            return Err(format!(
                "persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \
                 \"{volume}\""
            ));
        }
        if claim.is_deleting {
            return Err(format!("persistentvolumeclaim \"{name}\" is being deleted"));
        }
        if own.is_ephemeral {
            check_owner(pod, claim)?;
        }
        claims.push(Arc::clone(claim));
    }
    Ok(claims)
}

/// The arguments as a profile gives them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Arguments {
    bind_timeout_seconds: i64,
    shape: Option<Value>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { bind_timeout_seconds: 600, shape: None }
    }
}

impl Arguments {
    fn read(arguments: &Value) -> Result<Self, ArgumentError> {
        let invalid =
            |path: &str, message: String| ArgumentError { path: path.to_owned(), message };
        if arguments.is_null() {
            return Ok(Self::default());
        }
        let read = Self::deserialize(arguments).map_err(|error| invalid("", error.to_string()))?;
        if read.bind_timeout_seconds < 0 {
            return Err(invalid("bindTimeoutSeconds", NEGATIVE_TIMEOUT.to_owned()));
        }
        if read.shape.is_some() {
            return Err(invalid("shape", UNEXPECTED_SHAPE.to_owned()));
        }
        Ok(read)
    }
}

const NAME: &str = "VolumeBinding";
const UNBOUND_IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";
const NO_STATE: &str = "reading \"VolumeBinding\" from cycleState: not found";
const NEGATIVE_TIMEOUT: &str = "invalid BindTimeoutSeconds, should not be a negative value";
const UNEXPECTED_SHAPE: &str = "unexpected field `shape`, remove it or turn on the feature gate \
                                StorageCapacityScoring";
