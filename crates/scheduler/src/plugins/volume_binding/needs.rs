//! What a pod's claims ask of a node.

use std::collections::BTreeSet;
use std::sync::Arc;

use roadstead_model::{
    BindingMode, CsiStorageCapacity, Node, PersistentVolume, PersistentVolumeClaim, Quantity,
    Selector, StorageClass, Text, VolumePhase,
};

use super::PodVolumes;
use crate::explain::{Refusal, Remedies, words};
use crate::framework::{Code, Reason, Status};
use crate::listers::Listers;
use crate::plugins::pod_claims::{binding_mode, find_claim, find_class, find_volume};
use crate::plugins::volume_remedies;

/// What a pod's claims ask of a node. Whatever is the same for all nodes is found out beforehand.
pub(super) struct Needs {
    /// The volumes of bound claims, up to the first that does not exist.
    bound: Vec<Arc<PersistentVolume>>,
    is_volume_missing: bool,
    /// The claims to be bound: first those whose node has been chosen, then the others, smallest
    /// first, so that a small claim does not take the volume that a large one needs.
    delayed: Vec<Delayed>,
}

/// A claim that is bound when its pod is placed.
struct Delayed {
    claim: Arc<PersistentVolumeClaim>,
    /// Volumes that are kept for this very claim.
    kept: Vec<Arc<PersistentVolume>>,
    /// Free volumes that would do, smallest first.
    free: Vec<Arc<PersistentVolume>>,
    provisioning: Provisioning,
}

/// Whether and where a volume can be made for a claim.
enum Provisioning {
    /// Something is wrong with the claim's class.
    Failing(String),
    /// Nobody makes volumes of its class.
    Never,
    /// Where the class allows it, and the driver has room: at one of these places, or if it does
    /// not say, anywhere.
    Where { class: Arc<StorageClass>, room: Option<Vec<Arc<CsiStorageCapacity>>> },
}

/// Why a node will not do, in the order in which upstream lists it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Obstacle {
    NodeConflict,
    BindConflict,
    NotEnoughSpace,
    VolumeMissing,
}

impl Needs {
    /// What the claims ask for; `None` if one is not bound that should be by now.
    ///
    /// # Errors
    ///
    /// A class does not say when its claims are bound.
    pub(super) fn of(
        listers: &Listers,
        claims: &[Arc<PersistentVolumeClaim>],
    ) -> Result<Option<Self>, String> {
        let (mut bound, mut delayed) = (Vec::new(), Vec::new());
        let mut is_immediate_unbound = false;
        for claim in claims {
            if claim.is_fully_bound() {
                bound.push(claim);
            } else if is_delayed(listers, claim)? && claim.volume_name.is_none() {
                delayed.push(claim);
            } else {
                is_immediate_unbound = true;
            }
        }
        if is_immediate_unbound {
            return Ok(None);
        }
        delayed.sort_by_key(|claim| match claim.selected_node {
            Some(_) => (false, Quantity::ZERO),
            None => (true, request(claim)),
        });
        let names = bound.iter().filter_map(|claim| claim.volume_name.as_ref());
        let volumes: Vec<_> =
            names.map_while(|name| find_volume(listers, name).ok().cloned()).collect();
        Ok(Some(Self {
            is_volume_missing: volumes.len() < bound.len(),
            bound: volumes,
            delayed: delayed.into_iter().map(|claim| Delayed::new(listers, claim)).collect(),
        }))
    }

    /// What the node has for the claims that are to be bound.
    ///
    /// # Errors
    ///
    /// Why it will not do.
    pub(super) fn met_by(&self, listers: &Listers, node: &Node) -> Result<PodVolumes, Status> {
        let bound = self.check_bound(listers, node).map_err(Status::error)?;
        let delayed = self.find_volumes(node).map_err(Status::error)?;
        let (obstacle, volumes) = match delayed {
            Ok(volumes) => (None, volumes),
            Err(obstacle) => (Some(obstacle), PodVolumes::default()),
        };
        let mut obstacles: Vec<Obstacle> = bound.into_iter().chain(obstacle).collect();
        if obstacles.is_empty() {
            return Ok(volumes);
        }
        obstacles.sort_unstable();
        let reasons = obstacles.into_iter().map(Obstacle::reason).collect();
        Err(Status::new(Code::UnschedulableAndUnresolvable, reasons))
    }

    /// Whether the volumes of bound claims can be reached.
    fn check_bound(&self, listers: &Listers, node: &Node) -> Result<Option<Obstacle>, String> {
        for volume in &self.bound {
            let is_migrated = volume.in_tree.as_ref().is_some_and(|source| {
                let csi_node = listers.csi_nodes.get(&node.name);
                csi_node.is_some_and(|csi_node| csi_node.is_migrated(source.plugin))
            });
            let is_reachable = volume
                .is_reachable(&node.labels, is_migrated)
                .map_err(|error| format!("could not translate pv: {error}"))?;
            if !is_reachable {
                return Ok(Some(Obstacle::NodeConflict));
            }
        }
        Ok(self.is_volume_missing.then_some(Obstacle::VolumeMissing))
    }

    /// Finds a free volume for each claim that is to be bound, or sees that one can be made.
    fn find_volumes(&self, node: &Node) -> Result<Result<PodVolumes, Obstacle>, String> {
        let mut selected = self.delayed.iter().filter_map(|own| own.claim.selected_node.as_ref());
        if selected.any(|selected| *selected != node.name) {
            return Ok(Err(Obstacle::BindConflict));
        }
        let mut volumes = PodVolumes::default();
        let mut taken = BTreeSet::new();
        let mut to_provision = Vec::new();
        for own in &self.delayed {
            match own.find(node, &taken)? {
                Some(volume) => {
                    taken.insert(&volume.name);
                    volumes.bindings.push((Arc::clone(&own.claim), Arc::clone(volume)));
                }
                None => to_provision.push(own),
            }
        }
        for own in to_provision {
            if let Some(obstacle) = own.provisioning.check(node)? {
                return Ok(Err(obstacle));
            }
            volumes.provisions.push(Arc::clone(&own.claim));
        }
        Ok(Ok(volumes))
    }
}

impl Delayed {
    fn new(listers: &Listers, claim: &Arc<PersistentVolumeClaim>) -> Self {
        let (mut kept, mut free) = (Vec::new(), Vec::new());
        for volume in listers.persistent_volumes.values() {
            if volume.class != claim.class || !has_what_is_asked(volume, claim) {
                continue;
            }
            if volume.is_kept_for(claim) {
                kept.push(Arc::clone(volume));
            } else if volume.claim.is_none() && is_free_for(volume, claim) {
                free.push(Arc::clone(volume));
            }
        }
        free.sort_by_key(|volume| volume.capacity);
        Self {
            claim: Arc::clone(claim),
            kept,
            free,
            provisioning: Provisioning::of(listers, claim),
        }
    }

    /// The volume for the claim on a node; `None` if one has to be made.
    fn find(
        &self,
        node: &Node,
        taken: &BTreeSet<&Text>,
    ) -> Result<Option<&Arc<PersistentVolume>>, String> {
        let claim = &self.claim;
        if claim.selected_node.is_some() {
            return Ok(None);
        }
        if let Some(error) = claim.selector.as_ref().and_then(Selector::error) {
            let (namespace, name) = (&claim.namespace, &claim.name);
            return Err(format!(
                "error creating internal label selector for claim: {namespace}/{name}: {error}"
            ));
        }
        let is_left = |volume: &&Arc<PersistentVolume>| !taken.contains(&volume.name);
        // Only bound volumes are asked about by their driver's labels.
        let is_reachable = |volume: &&Arc<PersistentVolume>| {
            volume.is_reachable(&node.labels, false).unwrap_or(false)
        };
        if let Some(kept) = self.kept.iter().find(is_left) {
            // Where it cannot be reached, no other will do either.
            return Ok(Some(kept).filter(is_reachable));
        }
        Ok(self.free.iter().filter(is_left).find(is_reachable))
    }
}

impl Provisioning {
    fn of(listers: &Listers, claim: &PersistentVolumeClaim) -> Self {
        if claim.class.is_empty() {
            let (namespace, name) = (&claim.namespace, &claim.name);
            return Self::Failing(format!("no class for claim \"{namespace}/{name}\""));
        }
        let Ok(class) = find_class(listers, &claim.class) else {
            return Self::Failing(format!("failed to find storage class \"{}\"", claim.class));
        };
        if !class.can_provision() {
            return Self::Never;
        }
        Self::Where { class: Arc::clone(class), room: room(listers, class, claim) }
    }

    fn check(&self, node: &Node) -> Result<Option<Obstacle>, String> {
        match self {
            Self::Failing(error) => Err(error.clone()),
            Self::Never => Ok(Some(Obstacle::BindConflict)),
            Self::Where { class, .. } if !class.allows(&node.labels) => {
                Ok(Some(Obstacle::BindConflict))
            }
            Self::Where { room: None, .. } => Ok(None),
            Self::Where { room: Some(places), .. } => {
                let has_room = places.iter().any(|place| place.is_accessible(&node.labels));
                Ok((!has_room).then_some(Obstacle::NotEnoughSpace))
            }
        }
    }
}

/// Where the class's driver has room for the claim; `None` if it does not say. Each claim is
/// looked at as if it were alone.
fn room(
    listers: &Listers,
    class: &StorageClass,
    claim: &PersistentVolumeClaim,
) -> Option<Vec<Arc<CsiStorageCapacity>>> {
    let wanted = claim.request?.value();
    listers.csi_drivers.get(&class.provisioner).filter(|driver| driver.storage_capacity)?;
    let places = listers.csi_storage_capacities.values().filter(|place| {
        place.class == class.name && place.limit_bytes.is_some_and(|limit| limit >= wanted)
    });
    Some(places.cloned().collect())
}

/// Whether the claim waits for its pod to be placed. A class that does not exist makes none wait.
fn is_delayed(listers: &Listers, claim: &PersistentVolumeClaim) -> Result<bool, String> {
    match find_class(listers, &claim.class) {
        Ok(class) => Ok(binding_mode(class)? == BindingMode::WaitForFirstConsumer),
        Err(_) => Ok(false),
    }
}

/// What even a volume that is kept for the claim must have.
fn has_what_is_asked(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.capacity >= request(claim)
        && volume.volume_mode == claim.volume_mode
        && volume.attributes_class == claim.attributes_class
        && !volume.is_deleting
}

/// What a volume that is kept for nobody must have besides.
fn is_free_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.phase == VolumePhase::Available
        && claim.selector.as_ref().is_none_or(|selector| selector.matches(&volume.labels))
        && volume.access_modes.contains(claim.access_modes)
}

fn request(claim: &PersistentVolumeClaim) -> Quantity {
    claim.request.unwrap_or(Quantity::ZERO)
}

/// What would overcome the obstacles on the nodes that are refused.
pub(super) fn explain(refusal: &Refusal<'_>, remedies: &mut Remedies) {
    let listers = refusal.context.listers;
    let has = |obstacle: Obstacle| refusal.has(&obstacle.reason());
    if has(Obstacle::NodeConflict) {
        for (claim, volume) in volume_remedies::bound_volumes(refusal) {
            if let Some(affinity) = volume.node_affinity() {
                let reach = words::nodes(affinity);
                let volume = &volume.name;
                remedies.cluster(format!(
                    "a node {reach}, which volume {volume} of claim {claim} asks for"
                ));
            }
        }
    }
    for claim in refusal.pod.claims() {
        let Ok(known) = find_claim(listers, refusal.pod, claim.name) else { continue };
        if known.volume_name.is_some() {
            continue;
        }
        let name = claim.name;
        if has(Obstacle::BindConflict) {
            let reason = Obstacle::BindConflict.reason();
            let nodes = refusal.because(&reason);
            let nodes = words::any_of(nodes.map(|node| node.name().to_string()).collect());
            remedies.cluster(format!("a free volume for claim {name} that {nodes} can reach"));
        }
        if has(Obstacle::NotEnoughSpace) {
            remedies.cluster(format!("more free storage for claim {name}"));
        }
    }
}

impl Obstacle {
    fn reason(self) -> Reason {
        Reason::Borrowed(match self {
            Self::NodeConflict => "node(s) didn't match PersistentVolume's node affinity",
            Self::BindConflict => "node(s) didn't find available persistent volumes to bind",
            Self::NotEnoughSpace => "node(s) did not have enough free storage",
            Self::VolumeMissing => {
                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
            }
        })
    }
}
