//! Keeps pods from sharing a disk that cannot be shared, or a claim that only one pod may have.

use std::collections::BTreeSet;
use std::sync::Arc;

use roadstead_model::{AccessModes, Pod, Text};
use roadstead_queue::{Action, Ask, Hint, HintError};

use super::pod_claims::{find_claim, named_claims, names};
use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies, most_frequent, words};
use crate::framework::{
    Context, CycleState, Extensions, Filter, Joining, Plugin, PreFilter, PreFilterAnswer,
    PreFilterExtensions, Registration, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;
use crate::plugins::volume_remedies;

/// Keeps pods from sharing a disk that cannot be shared, or a claim that only one pod may have.
///
/// Disks named in pods conflict on their node; a ReadWriteOncePod claim is taken everywhere as
/// soon as a pod anywhere uses it.
pub struct VolumeRestrictions;

impl VolumeRestrictions {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions() -> Extensions {
        Joining::new(Self).pre_filter().filter().done()
    }
}

impl Plugin for VolumeRestrictions {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A disk or claim comes free as its pod goes; a missing claim may be made.
    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::new(events::POD, Action::DELETE, Ask::Class),
            Registration::new(events::NODE, Action::ADD, Ask::Nobody),
            Registration::new(events::PERSISTENT_VOLUME_CLAIM, Action::ADD, Ask::Class),
        ]
    }

    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        if event.resource == events::PERSISTENT_VOLUME_CLAIM {
            let (_, new) = events::persistent_volume_claims(event)?;
            return Ok(queue_if(new.is_none_or(|claim| names(pod, claim))));
        }
        let (gone, _) = events::pods(event)?;
        Ok(queue_if(gone.is_none_or(|gone| makes_room(pod, gone))))
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        volume_remedies::missing_objects(refusal, &mut remedies);
        let name = |user: &Arc<Pod>| format!("{}/{}", user.namespace(), user.name);
        let in_conflict = |node: &NodeInfo| -> Vec<String> {
            let users = node.pods().iter().filter(|other| has_conflict(refusal.pod, other));
            users.map(name).collect()
        };
        for (users, _) in most_frequent(refusal.because(DISK_CONFLICT).map(in_conflict)) {
            let use_it = if users.len() == 1 { "uses" } else { "use" };
            let users = words::all_of(users);
            remedies.cluster(format!("{users} gone, which {use_it} the same disk"));
        }
        if refusal.has(CLAIM_CONFLICT) {
            let (claims, users): (Vec<_>, Vec<_>) = users_of_claims(refusal).unzip();
            let users: BTreeSet<_> = users.iter().flatten().map(|user| name(user)).collect();
            let use_it = if users.len() == 1 { "uses" } else { "use" };
            let of_claims = if claims.len() == 1 { "claim" } else { "claims" };
            let users = words::all_of(users.into_iter().collect());
            let claims = words::joined(&claims, "and");
            remedies.cluster(format!(
                "{users} gone, which {use_it} {of_claims} {claims} for one pod only"
            ));
        }
        volume_remedies::without_volumes(refusal, &mut remedies);
        remedies
    }
}

/// Whether the pod may have waited for what `gone` had. As upstream's isSchedulableAfterPodDeleted
/// it looks at no access mode.
// D8: disks know no namespaces; upstream looks at no pod of another one.
fn makes_room(pod: &Pod, gone: &Pod) -> bool {
    let shares_a_claim =
        || named_claims(gone).any(|theirs| named_claims(pod).any(|own| own == theirs));
    has_conflict(pod, gone) || (gone.namespace() == pod.namespace() && shares_a_claim())
}

/// The pod's ReadWriteOncePod claims that others use, with those.
fn users_of_claims<'a>(
    refusal: &'a Refusal<'_>,
) -> impl Iterator<Item = (&'a Text, Vec<&'a Arc<Pod>>)> {
    let (pod, context) = (refusal.pod, refusal.context);
    let is_exclusive = move |name: &&'a Text| {
        find_claim(context.listers, pod, name)
            .is_ok_and(|claim| claim.access_modes.contains(AccessModes::READ_WRITE_ONCE_POD))
    };
    let users = move |name: &Text| -> Vec<&'a Arc<Pod>> {
        let all = context.nodes.iter().flat_map(|node| node.pods());
        let here = all.filter(|other| other.namespace() == pod.namespace());
        here.filter(|other| named_claims(other).any(|theirs| theirs == name)).collect()
    };
    let claims = named_claims(pod).filter(is_exclusive).map(move |name| (name, users(name)));
    claims.filter(|(_, users)| !users.is_empty())
}

impl PreFilter for VolumeRestrictions {
    fn pre_filter(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        let mut exclusive = BTreeSet::new();
        for name in named_claims(pod) {
            let claim = find_claim(context.listers, pod, name)
                .map_err(|missing| Status::unresolvable(missing.to_string()))?;
            if claim.access_modes.contains(AccessModes::READ_WRITE_ONCE_POD) {
                exclusive.insert(name.clone());
            }
        }
        let is_taken = |name: &&Text| context.nodes.is_claim_used(pod.namespace(), name);
        let taken = exclusive.iter().filter(is_taken).count() as i64;
        if taken == 0 && !pod.spec().volumes.iter().any(|volume| volume.can_conflict()) {
            return Ok(PreFilterAnswer::Skip);
        }
        state.put(NAME, Claims { exclusive: exclusive.into(), taken });
        Ok(PreFilterAnswer::AnyNode)
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PreFilterExtensions for VolumeRestrictions {
    fn add_pod(
        &self,
        _: &Context<'_>,
        state: &mut CycleState,
        _: &Pod,
        other: &Arc<Pod>,
        _: &NodeInfo,
    ) -> Result<(), Status> {
        let claims = state.get_mut::<Claims>(NAME).ok_or_else(no_state)?;
        claims.taken += claims.used_by(other);
        Ok(())
    }

    fn remove_pod(
        &self,
        _: &Context<'_>,
        state: &mut CycleState,
        _: &Pod,
        other: &Arc<Pod>,
        _: &NodeInfo,
    ) -> Result<(), Status> {
        let claims = state.get_mut::<Claims>(NAME).ok_or_else(no_state)?;
        claims.taken -= claims.used_by(other);
        Ok(())
    }
}

impl Filter for VolumeRestrictions {
    fn filter(
        &self,
        _: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        if node.pods().iter().any(|other| has_conflict(pod, other)) {
            return Err(Status::unschedulable(DISK_CONFLICT));
        }
        let claims = state.get::<Claims>(NAME).ok_or_else(no_state)?;
        if claims.taken > 0 {
            return Err(Status::unschedulable(CLAIM_CONFLICT));
        }
        Ok(())
    }
}

/// The pod's ReadWriteOncePod claims.
#[derive(Clone)]
struct Claims {
    exclusive: Arc<BTreeSet<Text>>,
    /// How many of them are taken. What-ifs may bring it below zero.
    taken: i64,
}

impl Claims {
    /// How many of them a pod uses. Upstream's conflictingPVCRefCountForPod compares names only:
    /// a pod of another namespace counts too.
    fn used_by(&self, other: &Pod) -> i64 {
        named_claims(other).filter(|name| self.exclusive.contains(*name)).count() as i64
    }
}

/// Whether two pods cannot be on one node, because of the disks they name.
fn has_conflict(pod: &Pod, other: &Pod) -> bool {
    let volumes = pod.spec().volumes.iter();
    volumes.filter(|own| own.can_conflict()).any(|own| {
        let theirs = &other.spec().volumes;
        theirs.iter().any(|theirs| own.conflicts_with(theirs))
    })
}

fn queue_if(helps: bool) -> Hint {
    if helps { Hint::Queue } else { Hint::Skip }
}

fn no_state() -> Status {
    Status::error("cannot read \"PreFilterVolumeRestrictions\" from cycleState")
}

const NAME: &str = "VolumeRestrictions";
const DISK_CONFLICT: &str = "node(s) had no available disk";
const CLAIM_CONFLICT: &str = "node(s) unavailable due to PersistentVolumeClaim with \
                              ReadWriteOncePod access mode already in-use by another pod";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FITS, cluster, stranger};
    use roadstead_model::World;
    use serde_json::{Value, json};

    const DISK: &str = "Unschedulable: node(s) had no available disk";
    const TAKEN: &str = "Unschedulable: node(s) unavailable due to PersistentVolumeClaim with \
                         ReadWriteOncePod access mode already in-use by another pod";

    fn gce(name: &str, read_only: bool) -> Value {
        json!({"gcePersistentDisk": {"pdName": name, "readOnly": read_only}})
    }

    fn ebs() -> Value {
        json!({"awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": true}})
    }

    fn iscsi(target: &str, read_only: bool) -> Value {
        json!({"iscsi": {"iqn": "iqn", "targetPortal": target, "lun": 0, "readOnly": read_only}})
    }

    fn rbd(monitors: &[&str], pool: &str) -> Value {
        json!({"rbd": {"monitors": monitors, "pool": pool, "image": "bar"}})
    }

    fn claim(name: &str) -> Value {
        json!({"persistentVolumeClaim": {"claimName": name}})
    }

    /// A pod's spec with these volumes.
    fn spec(volumes: &[Value], node: Option<&str>) -> Value {
        let name = |(at, volume): (usize, &Value)| {
            let mut volume = volume.clone();
            volume["name"] = json!(format!("v{at}"));
            volume
        };
        let volumes: Vec<Value> = volumes.iter().enumerate().map(name).collect();
        json!({"containers": [], "nodeName": node, "volumes": volumes})
    }

    fn claims() -> Value {
        let claim = |name: &str, mode: &str| json!({"metadata": {"name": name}, "spec": {"accessModes": [mode]}});
        json!([
            claim("one", "ReadWriteOncePod"),
            claim("two", "ReadWriteOncePod"),
            claim("many", "ReadWriteMany")
        ])
    }

    #[test]
    fn disks_and_claims_that_cannot_be_shared() {
        let missing = "UnschedulableAndUnresolvable: persistentvolumeclaim \"none\" not found";
        type Row<'a> = (&'a str, &'a [Value], &'a [Value], [&'a str; 2]);
        let rows: [Row<'_>; 17] = [
            // wanted, in use on the first node, the verdicts of both nodes
            ("no volumes", &[], &[gce("foo", false)], [FITS, FITS]),
            ("no disk", &[json!({"emptyDir": {}})], &[gce("foo", false)], [FITS, FITS]),
            ("GCE written twice", &[gce("foo", false)], &[gce("foo", false)], [DISK, FITS]),
            ("GCE read only", &[gce("foo", true)], &[gce("foo", true)], [FITS, FITS]),
            ("GCE written once", &[gce("foo", true)], &[gce("foo", false)], [DISK, FITS]),
            ("another GCE disk", &[gce("foo", false)], &[gce("bar", false)], [FITS, FITS]),
            ("EBS even read only", &[ebs()], &[ebs()], [DISK, FITS]),
            ("RBD, one monitor", &[rbd(&["a", "b"], "p")], &[rbd(&["b"], "p")], [DISK, FITS]),
            ("RBD, other pool", &[rbd(&["a", "b"], "p")], &[rbd(&["b"], "q")], [FITS, FITS]),
            ("iSCSI, other target", &[iscsi("x", true)], &[iscsi("y", false)], [DISK, FITS]),
            ("the second volume", &[claim("many"), ebs()], &[ebs()], [DISK, FITS]),
            ("a free claim", &[claim("one")], &[], [FITS, FITS]),
            ("a taken claim", &[claim("one")], &[claim("one")], [TAKEN, TAKEN]),
            ("a shared claim", &[claim("many")], &[claim("many")], [FITS, FITS]),
            ("disk before claim", &[claim("one"), ebs()], &[claim("one"), ebs()], [DISK, TAKEN]),
            ("a missing claim", &[claim("none")], &[], [missing, missing]),
            ("no such ephemeral claim", &[json!({"ephemeral": {}})], &[], [FITS, FITS]),
        ];
        for (what, wanted, used, expected) in rows {
            let mut cluster = cluster(json!({
                "nodes": [{}, {}],
                "pods": [{"spec": spec(used, Some("node-1"))}],
                "persistentVolumeClaims": claims(),
            }));
            let pod = cluster.pod(json!({"spec": spec(wanted, None)}));
            let verdicts = cluster.filter(&VolumeRestrictions::extensions(), &pod);
            assert_eq!(verdicts, expected, "{what}");
        }
    }

    #[test]
    fn a_claim_of_another_namespace_is_another_claim() {
        let user = json!({"metadata": {"namespace": "other"},
            "spec": spec(&[claim("one")], Some("node-1"))});
        let mut cluster =
            cluster(json!({"nodes": [{}], "pods": [user], "persistentVolumeClaims": claims()}));
        let pod = cluster.pod(json!({"spec": spec(&[claim("one")], None)}));
        assert_eq!(cluster.filter(&VolumeRestrictions::extensions(), &pod), [FITS]);
    }

    #[test]
    fn what_ifs_free_and_take_claims() {
        let both = spec(&[claim("one"), claim("two")], Some("node-1"));
        let mut cluster = cluster(json!({
            "nodes": [{}], "pods": [{"spec": both}], "persistentVolumeClaims": claims(),
        }));
        let pod = cluster.pod(json!({"spec": spec(&[claim("one"), claim("two")], None)}));
        let context = cluster.context();
        let node = context.nodes.at(0).unwrap();
        let (user, mut state) = (&node.pods()[0], CycleState::new());
        let plugin = VolumeRestrictions;
        plugin.pre_filter(&context, &mut state, &pod).unwrap();
        let taken = |state: &CycleState| state.get::<Claims>(NAME).unwrap().taken;
        let fits = |state: &CycleState| plugin.filter(&context, state, &pod, node).is_ok();
        assert_eq!((taken(&state), fits(&state)), (2, false), "both claims are taken");
        plugin.remove_pod(&context, &mut state, &pod, user, node).unwrap();
        assert_eq!((taken(&state), fits(&state)), (0, true), "their pod is gone");
        plugin.add_pod(&context, &mut state, &pod, user, node).unwrap();
        assert_eq!((taken(&state), fits(&state)), (2, false), "their pod is back");
    }

    #[test]
    fn when_to_try_again() {
        let wanted = [gce("foo", false), claim("one"), json!({"ephemeral": {}})];
        let pod_gone = |namespace: &str, volume: Value| {
            let spec = spec(&[volume], Some("node-1"));
            (json!({"metadata": {"namespace": namespace}, "spec": spec}), Value::Null)
        };
        let claim_made = |namespace: &str, name: &str| {
            (Value::Null, json!({"metadata": {"namespace": namespace, "name": name}}))
        };
        let (pods, claims) = (events::ASSIGNED_POD, events::PERSISTENT_VOLUME_CLAIM);
        let (made, gone) = (Action::ADD, Action::DELETE);
        let rows = [
            ("its disk comes free", &pods, gone, pod_gone("default", gce("foo", false)), "Queue"),
            ("another disk", &pods, gone, pod_gone("default", gce("bar", false)), "Skip"),
            ("D8: its disk, elsewhere", &pods, gone, pod_gone("other", gce("foo", false)), "Queue"),
            ("its claim comes free", &pods, gone, pod_gone("default", claim("one")), "Queue"),
            ("a claim elsewhere", &pods, gone, pod_gone("other", claim("one")), "Skip"),
            ("a pod comes", &pods, made, pod_gone("default", claim("one")), "deaf"),
            ("its claim is made", &claims, made, claim_made("default", "one"), "Queue"),
            ("another claim", &claims, made, claim_made("default", "two"), "Skip"),
            ("an ephemeral claim", &claims, made, claim_made("default", "test-v2"), "Skip"),
            ("another's claim", &claims, made, claim_made("other", "one"), "Skip"),
            ("a node comes", &events::NODE, made, (Value::Null, json!({})), "Queue"),
        ];
        for (what, resource, action, (old, new), expected) in rows {
            let mut cluster = cluster(json!({}));
            let pod = cluster.pod(json!({"spec": spec(&wanted, None)}));
            let event = cluster.event(resource.clone(), action, old, new);
            let hint = cluster.hint(&VolumeRestrictions::extensions(), &pod, &event);
            assert_eq!(hint, expected, "{what}");
        }
        let strange = stranger(&mut World::new(), claims, Action::ADD);
        let mut cluster = cluster(json!({}));
        let pod = cluster.pod(json!({}));
        assert_eq!(cluster.hint(&VolumeRestrictions::extensions(), &pod, &strange), "Error");
    }
}
