//! Keeps a pod in the zones and regions of its volumes.

use std::sync::Arc;

use roadstead_model::{BindingMode, Node, PersistentVolume, Pod, Text, World, ZoneKey};
use roadstead_queue::{Action, Ask, Hint, HintError};

use super::pod_claims::{binding_mode, find_claim, find_class, find_volume, named_claims, names};
use super::volume_remedies;
use crate::events::{self, ClusterEvent};
use crate::explain::words::any_of;
use crate::explain::{Refusal, Remedies};
use crate::framework::{
    Context, CycleState, Extensions, Filter, Joining, Plugin, PreFilter, PreFilterAnswer,
    Registration, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;

/// Keeps a pod in the zones and regions of its volumes, as the volumes' labels name them.
///
/// Only claims that the pod names itself are looked at.
pub struct VolumeZone {
    /// The labels' keys, in the order of [`ZoneKey`].
    keys: [Text; 4],
}

impl VolumeZone {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions(world: &mut World) -> Extensions {
        let keys = ZoneKey::ALL.map(|key| world.text(key.as_str()));
        Joining::new(Self { keys }).pre_filter().filter().done()
    }
}

impl Plugin for VolumeZone {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A claim may be bound, a volume moved, a class bind late; a node may be in the right zone.
    fn events(&self) -> Vec<Registration> {
        let node_change = Action::ADD | events::UPDATE_NODE_LABEL;
        let change = Action::ADD | Action::UPDATE;
        vec![
            Registration::new(events::STORAGE_CLASS, Action::ADD, Ask::Class),
            Registration::new(events::NODE, node_change, Ask::Nobody),
            Registration::new(events::PERSISTENT_VOLUME_CLAIM, change, Ask::Class),
            Registration::new(events::PERSISTENT_VOLUME, change, Ask::Class),
        ]
    }

    /// Upstream asks of classes and volumes only whether any pod may profit, not this one.
    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let helps = if event.resource == events::STORAGE_CLASS {
            let (_, new) = events::storage_classes(event)?;
            let late = Some(BindingMode::WaitForFirstConsumer);
            new.is_none_or(|class| class.binding_mode == late)
        } else if event.resource == events::PERSISTENT_VOLUME_CLAIM {
            let (_, new) = events::persistent_volume_claims(event)?;
            new.is_none_or(|claim| names(pod, claim))
        } else {
            match events::persistent_volumes(event)? {
                (Some(old), Some(new)) => old.zones != new.zones,
                _ => true,
            }
        };
        Ok(if helps { Hint::Queue } else { Hint::Skip })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        volume_remedies::missing_objects(refusal, &mut remedies);
        if refusal.has(CONFLICT) {
            for (claim, volume) in volume_remedies::bound_volumes(refusal) {
                for zone in &volume.zones {
                    let (key, values) = (zone.key.as_str(), &zone.values);
                    let places = values.iter().map(|value| format!("{key}={value}")).collect();
                    remedies.cluster(format!(
                        "a node with {}, where volume {} of claim {claim} is",
                        any_of(places),
                        volume.name,
                    ));
                }
            }
        }
        if refusal.has(NO_VOLUME_NAME) {
            remedies.cluster("its claims bound to volumes");
        }
        volume_remedies::without_volumes(refusal, &mut remedies);
        remedies
    }
}

impl PreFilter for VolumeZone {
    fn pre_filter(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        let zoned = zoned_volumes(context.listers, pod)?;
        if zoned.is_empty() {
            return Ok(PreFilterAnswer::Skip);
        }
        state.put(NAME, Zoned(zoned.into()));
        Ok(PreFilterAnswer::AnyNode)
    }
}

impl Filter for VolumeZone {
    fn filter(
        &self,
        _: &Context<'_>,
        state: &CycleState,
        _: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        // Without a state the pod has no volumes that are anywhere in particular.
        let Some(Zoned(volumes)) = state.get::<Zoned>(NAME) else { return Ok(()) };
        let node = node.node();
        // A cluster in a single zone need not say so.
        if !ZoneKey::ALL.into_iter().any(|key| self.label(node, key).is_some()) {
            return Ok(());
        }
        for zone in volumes.iter().flat_map(|volume| &volume.zones) {
            let value = self
                .label(node, zone.key)
                .or_else(|| zone.key.successor().and_then(|key| self.label(node, key)));
            if !value.is_some_and(|value| zone.values.contains(value)) {
                return Err(Status::unresolvable(CONFLICT));
            }
        }
        Ok(())
    }
}

impl VolumeZone {
    fn label<'a>(&self, node: &'a Node, key: ZoneKey) -> Option<&'a Text> {
        node.labels.get(&self.keys[key as usize])
    }
}

/// The volumes of a pod that are in some zones and not in others.
#[derive(Clone)]
struct Zoned(Arc<[Arc<PersistentVolume>]>);

fn zoned_volumes(listers: &Listers, pod: &Pod) -> Result<Vec<Arc<PersistentVolume>>, Status> {
    let mut zoned = Vec::new();
    for name in named_claims(pod) {
        if name.is_empty() {
            return Err(Status::unresolvable(NO_CLAIM_NAME));
        }
        let claim = find_claim(listers, pod, name)
            .map_err(|missing| Status::unresolvable(missing.to_string()))?;
        let Some(volume) = &claim.volume_name else {
            if claim.class.is_empty() {
                return Err(Status::unresolvable(NO_CLASS));
            }
            let class = find_class(listers, &claim.class)
                .map_err(|missing| Status::unresolvable(missing.to_string()))?;
            match binding_mode(class).map_err(Status::unresolvable)? {
                BindingMode::WaitForFirstConsumer => continue,
                BindingMode::Immediate => return Err(Status::unresolvable(NO_VOLUME_NAME)),
            }
        };
        let volume = find_volume(listers, volume)
            .map_err(|missing| Status::unresolvable(missing.to_string()))?;
        if !volume.zones.is_empty() {
            zoned.push(Arc::clone(volume));
        }
    }
    Ok(zoned)
}

const NAME: &str = "VolumeZone";
const CONFLICT: &str = "node(s) had no available volume zone";
const NO_CLAIM_NAME: &str = "PersistentVolumeClaim had no name";
const NO_CLASS: &str = "PersistentVolumeClaim had no pv name and storageClass name";
const NO_VOLUME_NAME: &str = "PersistentVolume had no name";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FITS, cluster};
    use serde_json::{Value, json};

    const ZONE: &str = "topology.kubernetes.io/zone";
    const REGION: &str = "topology.kubernetes.io/region";
    const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
    const REFUSED: &str = "UnschedulableAndUnresolvable: node(s) had no available volume zone";

    /// A pod that names these claims.
    fn pod(claims: &[&str]) -> Value {
        let volume =
            |name: &&str| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        let volumes: Vec<Value> = claims.iter().map(volume).collect();
        json!({"spec": {"containers": [], "volumes": volumes}})
    }

    #[test]
    fn a_pod_stays_in_the_zones_of_its_volumes() {
        let rows = [
            // the volume's labels, the node's labels, the verdict
            ("nothing said", json!({}), json!({ZONE: "z1"}), FITS),
            ("a cluster without zones", json!({ZONE: "z1"}), json!({"rack": "r1"}), FITS),
            ("the same zone", json!({ZONE: "z1"}), json!({ZONE: "z1"}), FITS),
            ("the same old zone", json!({BETA_ZONE: "z1"}), json!({BETA_ZONE: "z1"}), FITS),
            ("another zone", json!({ZONE: "z1"}), json!({ZONE: "z2"}), REFUSED),
            ("old volume, new node", json!({BETA_ZONE: "z1"}), json!({ZONE: "z1"}), FITS),
            ("new volume, old node", json!({ZONE: "z1"}), json!({BETA_ZONE: "z1"}), REFUSED),
            ("one of two zones", json!({BETA_ZONE: "z1__z2"}), json!({BETA_ZONE: "z2"}), FITS),
            ("none of two zones", json!({ZONE: "z1__z2"}), json!({ZONE: "z3"}), REFUSED),
            ("a label with a gap", json!({ZONE: "z1__"}), json!({ZONE: "z2"}), FITS),
            ("no region", json!({ZONE: "z1", REGION: "r"}), json!({ZONE: "z1"}), REFUSED),
            ("a region, no zone", json!({ZONE: "z1"}), json!({REGION: "r"}), REFUSED),
        ];
        for (what, volume, node, expected) in rows {
            let mut cluster = cluster(json!({
                "nodes": [{"metadata": {"labels": node}}],
                "persistentVolumes": [{"metadata": {"name": "pv", "labels": volume}}],
                "persistentVolumeClaims": [{"metadata": {"name": "c"}, "spec": {"volumeName": "pv"}}],
            }));
            let (pod, plugin) =
                (cluster.pod(pod(&["c"])), VolumeZone::extensions(&mut cluster.world));
            assert_eq!(cluster.filter(&plugin, &pod), [expected], "{what}");
        }
    }

    #[test]
    fn claims_that_lead_nowhere() {
        let unbound = |class: &str| json!({"storageClassName": class});
        let rows = [
            ("no claim", json!(null), "persistentvolumeclaim \"c\" not found"),
            ("no class", unbound(""), NO_CLASS),
            ("an unknown class", unbound("x"), "storageclass.storage.k8s.io \"x\" not found"),
            ("no mode", unbound("old"), "VolumeBindingMode not set for StorageClass \"old\""),
            ("an immediate class", unbound("now"), NO_VOLUME_NAME),
            ("a class that waits", unbound("wait"), FITS),
            ("no volume", json!({"volumeName": "pv"}), "persistentvolume \"pv\" not found"),
        ];
        for (what, spec, expected) in rows {
            let claims = match spec {
                Value::Null => json!([]),
                spec => json!([{"metadata": {"name": "c"}, "spec": spec}]),
            };
            let class = |name: &str, mode: Option<&str>| json!({"metadata": {"name": name}, "provisioner": "p", "volumeBindingMode": mode});
            let mut cluster = cluster(json!({
                "nodes": [{}],
                "persistentVolumeClaims": claims,
                "storageClasses": [
                    class("old", None),
                    class("now", Some("Immediate")),
                    class("wait", Some("WaitForFirstConsumer")),
                ],
            }));
            let (pod, plugin) =
                (cluster.pod(pod(&["c"])), VolumeZone::extensions(&mut cluster.world));
            let expected = match expected {
                FITS => FITS.to_owned(),
                reason => format!("UnschedulableAndUnresolvable: {reason}"),
            };
            assert_eq!(cluster.filter(&plugin, &pod), [expected], "{what}");
        }
        let mut cluster = cluster(json!({"nodes": [{}]}));
        let (pod, plugin) = (cluster.pod(pod(&[""])), VolumeZone::extensions(&mut cluster.world));
        let expected = format!("UnschedulableAndUnresolvable: {NO_CLAIM_NAME}");
        assert_eq!(cluster.filter(&plugin, &pod), [expected], "no name");
    }

    #[test]
    fn when_to_try_again() {
        let class = |mode: Option<&str>| json!({"provisioner": "p", "volumeBindingMode": mode});
        let claim = |namespace: &str, name: &str| json!({"metadata": {"namespace": namespace, "name": name}});
        let volume = |labels: Value| json!({"metadata": {"labels": labels}});
        let (one, two) =
            (volume(json!({ZONE: "z1__z2"})), volume(json!({ZONE: "z2__z1", "a": "b"})));
        let (classes, claims) = (events::STORAGE_CLASS, events::PERSISTENT_VOLUME_CLAIM);
        let volumes = events::PERSISTENT_VOLUME;
        let waits = class(Some("WaitForFirstConsumer"));
        let rows = [
            ("a class that waits", &classes, Value::Null, waits.clone(), "Queue"),
            ("an immediate class", &classes, Value::Null, class(Some("Immediate")), "Skip"),
            ("a class without mode", &classes, Value::Null, class(None), "Skip"),
            ("a changed class", &classes, class(None), waits, "deaf"),
            ("its claim is made", &claims, Value::Null, claim("default", "c"), "Queue"),
            ("its claim changes", &claims, claim("default", "c"), claim("default", "c"), "Queue"),
            ("another claim", &claims, Value::Null, claim("default", "d"), "Skip"),
            ("another's claim", &claims, Value::Null, claim("other", "c"), "Skip"),
            ("a volume is made", &volumes, Value::Null, one.clone(), "Queue"),
            ("a volume moves", &volumes, volume(json!({})), one.clone(), "Queue"),
            ("a volume stays", &volumes, one, two, "Skip"),
            ("a node changes", &events::NODE, json!({}), json!({}), "deaf"),
        ];
        for (what, resource, old, new, expected) in rows {
            let action = if old.is_null() { Action::ADD } else { Action::UPDATE };
            let mut cluster = cluster(json!({}));
            let (pod, plugin) =
                (cluster.pod(pod(&["c"])), VolumeZone::extensions(&mut cluster.world));
            let event = cluster.event(resource.clone(), action, old, new);
            assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{what}");
        }
    }
}
