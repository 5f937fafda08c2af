//! What would help a pod that its volumes keep from nodes.

use roadstead_model::{PersistentVolume, Volume};

use super::pod_claims::{find_claim, find_volume};
use crate::explain::{Refusal, Remedies, WITHOUT};

/// Claims and volumes that should be there and are not, and claims that should be bound.
pub(super) fn missing_objects(refusal: &Refusal<'_>, remedies: &mut Remedies) {
    let listers = refusal.context.listers;
    for claim in refusal.pod.claims() {
        let name = claim.name;
        match find_claim(listers, refusal.pod, name) {
            Err(_) => remedies.cluster(format!("PersistentVolumeClaim {name} to be made")),
            Ok(known) => {
                if let Some(volume) = &known.volume_name
                    && find_volume(listers, volume).is_err()
                {
                    remedies.cluster(format!(
                        "PersistentVolume {volume} to be made, which claim {name} is bound to"
                    ));
                }
            }
        }
    }
}

/// The volumes that the pod's claims are bound to, with the claims' names.
pub(super) fn bound_volumes<'a>(
    refusal: &'a Refusal<'_>,
) -> impl Iterator<Item = (&'a str, &'a PersistentVolume)> {
    let listers = refusal.context.listers;
    refusal.pod.claims().filter_map(move |claim| {
        let volume = find_claim(listers, refusal.pod, claim.name).ok()?.volume_name.as_ref()?;
        Some((claim.name.as_str(), &**listers.persistent_volumes.get(volume)?))
    })
}

/// The pod without one of its volumes each.
pub(super) fn without_volumes(refusal: &Refusal<'_>, remedies: &mut Remedies) {
    let volumes = &refusal.pod.spec().volumes;
    for volume in volumes {
        let words = format!("it did not use {}", words(volume));
        remedies.of_pod.push(refusal.change(words, WITHOUT, |spec| {
            // One claim may be there twice.
            spec.volumes = volumes.iter().filter(|other| *other != volume).cloned().collect();
        }));
    }
}

/// What a volume is, in a few words.
fn words(volume: &Volume) -> String {
    match volume {
        Volume::Claim(name) => format!("claim {name}"),
        Volume::Ephemeral { volume } => format!("ephemeral volume {volume}"),
        Volume::InTree(disk) => format!("disk {}", disk.id),
        Volume::Iscsi { iqn, .. } => format!("disk {iqn}"),
        Volume::Rbd { pool, image, .. } => format!("device {pool}/{image}"),
        Volume::Csi { driver } => format!("its inline volume of {driver}"),
    }
}
