//! Keeps a pod off nodes whose storage drivers can attach no more volumes.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use roadstead_model::{
    CsiNode, InTreeVolume, PersistentVolumeClaim, Pod, PodClaim, Text, Volume, VolumeAttachment,
};
use roadstead_queue::{Action, Ask, Hint, HintError};

use super::pod_claims::{check_owner, find_claim, find_class, find_volume, uses};
use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies, most_frequent};
use crate::framework::{
    Context, CycleState, Extensions, Filter, Joining, Plugin, PreFilter, PreFilterAnswer,
    Registration, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;
use crate::plugins::volume_remedies;

/// Keeps a pod off nodes whose storage drivers can attach no more volumes.
pub struct NodeVolumeLimits;

impl NodeVolumeLimits {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions() -> Extensions {
        Joining::new(Self).pre_filter().filter().done()
    }
}

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A limit may be raised, a volume detached or no longer used; a missing claim may be made.
    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::new(events::CSI_NODE, Action::ADD, Ask::Nobody),
            Registration::new(events::CSI_NODE, Action::UPDATE, Ask::Class),
            Registration::new(events::POD, Action::DELETE, Ask::Class),
            // The names of ephemeral claims are made from the pod's own.
            Registration::new(events::PERSISTENT_VOLUME_CLAIM, Action::ADD, Ask::Item),
            Registration::new(events::VOLUME_ATTACHMENT, Action::DELETE, Ask::Class),
        ]
    }

    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let helps = if event.resource == events::CSI_NODE {
            match events::csi_nodes(event)? {
                (Some(old), Some(new)) => has_higher_limit(old, new),
                _ => true,
            }
        } else if event.resource == events::PERSISTENT_VOLUME_CLAIM {
            let (_, new) = events::persistent_volume_claims(event)?;
            new.is_none_or(|claim| uses(pod, claim))
        } else if event.resource == events::VOLUME_ATTACHMENT {
            let (gone, _) = events::volume_attachments(event)?;
            gone.map_or(Ok(true), |gone| may_need(pod, gone))?
        } else {
            let (gone, _) = events::pods(event)?;
            gone.is_none_or(|gone| may_detach(gone))
        };
        Ok(if helps { Hint::Queue } else { Hint::Skip })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        volume_remedies::missing_objects(refusal, &mut remedies);
        if refusal.has(EXCEEDED) {
            let drivers = refusal.because(EXCEEDED).flat_map(|node| wanted_drivers(refusal, node));
            for (driver, _) in most_frequent(drivers) {
                remedies.cluster(format!("a node to which {driver} can attach another volume"));
            }
        }
        volume_remedies::without_volumes(refusal, &mut remedies);
        remedies
    }
}

/// Whether some driver may attach more than before.
// D9: no limit is the highest of all; upstream takes one that is gone for nothing.
fn has_higher_limit(old: &CsiNode, new: &CsiNode) -> bool {
    let mut limits = new.drivers.iter().filter_map(|(driver, limit)| Some((driver, (*limit)?)));
    let mut before = old.drivers.iter().filter(|(_, limit)| limit.is_some());
    limits.any(|(driver, limit)| limit > old.limit(driver).unwrap_or(0))
        || before.any(|(driver, _)| new.limit(driver).is_none())
}

/// Whether volumes may be detached now that the pod is gone.
fn may_detach(gone: &Pod) -> bool {
    let was_placed = gone.node_name.is_some() || gone.nominated_node.is_some();
    was_placed && gone.spec().volumes.iter().any(is_attachable)
}

/// The drivers with a limit on the node that would have to attach volumes of the pod.
fn wanted_drivers<'a>(refusal: &Refusal<'a>, node: &NodeInfo) -> BTreeSet<&'a str> {
    let listers = refusal.context.listers;
    let csi_node = listers.csi_nodes.get(node.name()).map(|node| &**node);
    let resolver = Resolver { listers, csi_node, is_incoming: true };
    let wanted = resolver.volumes_of([&**refusal.pod]).unwrap_or_default();
    let drivers = wanted.into_iter().map(|volume| volume.driver);
    let is_limited = |driver: &&str| {
        let mut known = csi_node.iter().flat_map(|node| &node.drivers);
        known.any(|(name, limit)| name == driver && limit.is_some())
    };
    drivers.filter(is_limited).collect()
}

/// Whether the pod may attach a volume in place of the one that is detached.
// D10: ephemeral volumes are attached too; upstream does not look at them here.
fn may_need(pod: &Pod, gone: &VolumeAttachment) -> Result<bool, HintError> {
    for volume in &pod.spec().volumes {
        match volume {
            Volume::Claim(_) | Volume::Ephemeral { .. } => return Ok(true),
            Volume::InTree(disk) => match &disk.csi {
                Ok(disk) if disk.driver == gone.attacher => return Ok(true),
                Ok(_) => {}
                Err(error) => return Err(error.to_string().into()),
            },
            _ => {}
        }
    }
    Ok(false)
}

impl PreFilter for NodeVolumeLimits {
    fn pre_filter(
        &self,
        _: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        if !pod.spec().volumes.iter().any(is_attachable) {
            return Ok(PreFilterAnswer::Skip);
        }
        state.put(NAME, Attached::default());
        Ok(PreFilterAnswer::AnyNode)
    }
}

impl Filter for NodeVolumeLimits {
    fn filter(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let listers = context.listers;
        let csi_node = listers.csi_nodes.get(node.name()).map(|node| &**node);
        let wanted = Resolver { listers, csi_node, is_incoming: true }.volumes_of([pod])?;
        let Some(csi_node) = csi_node else { return Ok(()) };
        let is_unlimited = csi_node.drivers.iter().all(|(_, limit)| limit.is_none());
        if wanted.is_empty() || is_unlimited {
            return Ok(());
        }
        let resolver = Resolver { listers, csi_node: Some(csi_node), is_incoming: false };
        let used = resolver.volumes_of(node.pods().iter().map(|pod| &**pod))?;

        let attached = state.get::<Attached>(NAME).cloned().unwrap_or_default();
        let attached = attached.to(listers, node.name());
        for (driver, limit) in &csi_node.drivers {
            let Some(limit) = limit else { continue };
            let of_driver = |id: &&VolumeId<'_>| *driver == id.driver;
            let new = wanted.difference(&used).filter(of_driver).count();
            if new == 0 {
                continue;
            }
            let idle = attached.iter().filter(|(attacher, handle)| {
                attacher == driver && !used.contains(&VolumeId::known(attacher, handle))
            });
            // An idle volume that the pod wants is counted twice: upstream's Filter takes only
            // what pods use off the new ones.
            let count = used.iter().filter(of_driver).count() + idle.count() + new;
            if i64::try_from(count).is_ok_and(|count| count > i64::from(*limit)) {
                return Err(Status::unschedulable(EXCEEDED));
            }
        }
        Ok(())
    }
}

/// Whether a volume may be one that a driver attaches.
fn is_attachable(volume: &Volume) -> bool {
    matches!(volume, Volume::Claim(_) | Volume::Ephemeral { .. } | Volume::InTree(_))
}

/// A volume as its driver counts it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct VolumeId<'a> {
    driver: &'a str,
    handle: Handle<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Handle<'a> {
    /// What the driver calls it.
    Known(&'a str),
    /// It is yet to be made for the claim of this namespace and name.
    Coming(&'a str, &'a str),
}

impl<'a> VolumeId<'a> {
    fn known(driver: &'a str, handle: &'a str) -> Self {
        Self { driver, handle: Handle::Known(handle) }
    }
}

/// Finds out what the drivers of a node would have to attach.
struct Resolver<'a> {
    listers: &'a Listers,
    csi_node: Option<&'a CsiNode>,
    /// Whether it is about the pod to be placed, whose claims must exist.
    is_incoming: bool,
}

impl<'a> Resolver<'a> {
    fn volumes_of(
        &self,
        pods: impl IntoIterator<Item = &'a Pod>,
    ) -> Result<BTreeSet<VolumeId<'a>>, Status> {
        let mut ids = BTreeSet::new();
        for pod in pods {
            let mut claims = pod.claims();
            for volume in &pod.spec().volumes {
                let id = match volume {
                    Volume::Claim(_) | Volume::Ephemeral { .. } => match claims.next() {
                        Some(claim) => self.claimed(pod, claim)?,
                        None => None,
                    },
                    Volume::InTree(disk) => self.inline(disk)?,
                    _ => None,
                };
                ids.extend(id.filter(|id| !id.driver.is_empty() && id.handle != Handle::Known("")));
            }
        }
        Ok(ids)
    }

    fn inline(&self, disk: &'a InTreeVolume) -> Result<Option<VolumeId<'a>>, Status> {
        if self.csi_node.is_none() || !disk.plugin.is_counted() {
            return Ok(None);
        }
        let disk = disk.csi.as_ref().map_err(|error| Status::error(error.to_string()))?;
        Ok(Some(VolumeId::known(&disk.driver, &disk.handle)))
    }

    fn claimed(&self, pod: &'a Pod, own: PodClaim<'a>) -> Result<Option<VolumeId<'a>>, Status> {
        if own.name.is_empty() {
            return Err(Status::error(NO_NAME));
        }
        let claim = match find_claim(self.listers, pod, own.name) {
            Ok(claim) => claim,
            Err(missing) if self.is_incoming => {
                let (namespace, name) = (pod.namespace(), own.name);
                let text = format!("looking up PVC {namespace}/{name}: {missing}");
                return Err(Status::unresolvable(text));
            }
            Err(_) => return Ok(None),
        };
        if own.is_ephemeral {
            check_owner(pod, claim).map_err(Status::error)?;
        }
        Ok(self.bound(claim).unwrap_or_else(|| self.coming(claim)))
    }

    /// The volume that the claim is bound to; `None` where there is no such volume.
    fn bound(&self, claim: &'a PersistentVolumeClaim) -> Option<Option<VolumeId<'a>>> {
        let volume = find_volume(self.listers, claim.volume_name.as_ref()?).ok()?;
        let moved = || {
            let source = volume.in_tree.as_ref()?;
            let is_moved = self.csi_node.is_some() && source.plugin.is_counted();
            source.csi.as_ref().ok().filter(|_| is_moved)
        };
        let csi = volume.csi.as_ref().or_else(moved);
        Some(csi.map(|csi| VolumeId::known(&csi.driver, &csi.handle)))
    }

    /// The volume that will be made for the claim.
    fn coming(&self, claim: &'a PersistentVolumeClaim) -> Option<VolumeId<'a>> {
        // Without a class the claim is bound before its pod is placed, so nothing is missed.
        let class = find_class(self.listers, &claim.class).ok()?;
        let driver = match class.in_tree {
            None => &*class.provisioner,
            Some(plugin) if self.csi_node.is_some() && plugin.is_counted() => plugin.driver(),
            Some(_) => return None,
        };
        let handle = Handle::Coming(&claim.namespace, &claim.name);
        Some(VolumeId { driver, handle })
    }
}

/// Which volumes are attached where, put in order for the first node that asks.
#[derive(Clone, Default)]
struct Attached(Arc<OnceLock<HashMap<Text, AttachedVolumes>>>);

/// Attacher and handle of the volumes attached to one node.
type AttachedVolumes = BTreeSet<(Text, Text)>;

impl Attached {
    fn to(&self, listers: &Listers, node: &Text) -> &AttachedVolumes {
        static NONE: AttachedVolumes = BTreeSet::new();
        let by_node = self.0.get_or_init(|| {
            let mut by_node: HashMap<Text, AttachedVolumes> = HashMap::new();
            for attachment in listers.volume_attachments.values() {
                if let Some(handle) = handle(listers, attachment) {
                    let attached = by_node.entry(attachment.node_name.clone()).or_default();
                    attached.insert((attachment.attacher.clone(), handle.clone()));
                }
            }
            by_node
        });
        by_node.get(node).unwrap_or(&NONE)
    }
}

/// What the driver calls an attached volume; `None` for one that is not counted.
fn handle<'a>(listers: &'a Listers, attachment: &'a VolumeAttachment) -> Option<&'a Text> {
    let volume = find_volume(listers, attachment.volume_name.as_ref()?).ok()?;
    let csi = volume.csi.as_ref().filter(|_| !attachment.attacher.is_empty())?;
    Some(&csi.handle)
}

const NAME: &str = "NodeVolumeLimits";
const EXCEEDED: &str = "node(s) exceed max volume count";
const NO_NAME: &str = "PersistentVolumeClaim had no name";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FITS, cluster};
    use serde_json::{Value, json};

    const FULL: &str = "Unschedulable: node(s) exceed max volume count";

    /// Volumes by what their names begin with.
    fn volume(name: &str) -> Value {
        match name.split_at(3) {
            ("eph", _) => json!({"name": name, "ephemeral": {}}),
            ("vol", _) => json!({"name": name, "awsElasticBlockStore": {"volumeID": name}}),
            ("aws", _) => json!({"name": "bad", "awsElasticBlockStore": {"volumeID": name}}),
            ("dir", _) => json!({"name": name, "emptyDir": {}}),
            _ => json!({"name": name, "persistentVolumeClaim": {"claimName": name}}),
        }
    }

    fn spec(volumes: &[&str], node: Option<&str>) -> Value {
        let volumes: Vec<Value> = volumes.iter().map(|name| volume(name)).collect();
        json!({"containers": [], "nodeName": node, "volumes": volumes})
    }

    fn csi_node(limits: &[(&str, Option<i32>)]) -> Value {
        let driver = |(name, limit): &(&str, Option<i32>)| {
            let allocatable = limit.map(|count| json!({"count": count}));
            json!({"name": name, "nodeID": "n", "allocatable": allocatable})
        };
        let drivers: Vec<Value> = limits.iter().map(driver).collect();
        json!({"metadata": {"name": "node-1"}, "spec": {"drivers": drivers}})
    }

    /// Claims `csi-1` to `csi-3` are bound to volumes of driver `csi`; `new-1` has a class of the
    /// same driver; `tree` is bound to an in-tree volume; the others lead nowhere in particular.
    fn storage() -> Value {
        let bound = |claim: &str, volume: &str| json!({"metadata": {"name": claim}, "spec": {"volumeName": volume, "storageClassName": "class"}});
        let free = |claim: &str, class: &str| json!({"metadata": {"name": claim}, "spec": {"storageClassName": class}});
        let csi = |name: &str| json!({"metadata": {"name": name}, "spec": {"csi": {"driver": "csi", "volumeHandle": name}}});
        let class = |name: &str, provisioner: &str| json!({"metadata": {"name": name}, "provisioner": provisioner});
        json!({
            "persistentVolumeClaims": [
                bound("csi-1", "pv-1"), bound("csi-2", "pv-2"), bound("csi-3", "pv-3"),
                bound("gone", "pv-gone"), bound("tree", "pv-tree"), bound("nfs", "pv-nfs"),
                free("new-1", "class"), free("none", ""), free("ebs-new", "ebs"),
                {"metadata": {"name": "test-eph-2"}},
            ],
            "persistentVolumes": [
                csi("pv-1"), csi("pv-2"), csi("pv-3"),
                {"metadata": {"name": "pv-tree"}, "spec": {"awsElasticBlockStore": {"volumeID": "vol-t"}}},
                {"metadata": {"name": "pv-nfs"}, "spec": {"nfs": {"path": "/", "server": "s"}}},
            ],
            "storageClasses": [class("class", "csi"), class("ebs", "kubernetes.io/aws-ebs")],
        })
    }

    #[test]
    fn drivers_attach_up_to_their_limits() {
        let missing = "UnschedulableAndUnresolvable: looking up PVC default/test-eph-1: \
                       persistentvolumeclaim \"test-eph-1\" not found";
        let foreign = "Error: running \"NodeVolumeLimits\" filter plugin: PVC default/test-eph-2 \
                       was not created for pod default/test (pod is not owner)";
        let bad = "Error: running \"NodeVolumeLimits\" filter plugin: converting volume(bad) from \
                   inline to csi: failed to translate Kubernetes ID to EBS Volume ID invalid \
                   format for AWS volume (aws://z/x)";
        type Limits<'a> = &'a [(&'a str, Option<i32>)];
        let csi = |limit| ("csi", Some(limit));
        let ebs = |limit| ("ebs.csi.aws.com", Some(limit));
        type Names<'a> = &'a [&'a str];
        type Row<'a> = (&'a str, Names<'a>, Names<'a>, Names<'a>, Limits<'a>, &'a str);
        let rows: [Row<'_>; 20] = [
            // wanted, in use, attached, limits
            ("nothing to attach", &["dir-1"], &["csi-1"], &[], &[csi(0)], FITS),
            ("below the limit", &["csi-3"], &["csi-1", "csi-2"], &[], &[csi(4)], FITS),
            ("at the limit", &["csi-3"], &["csi-1", "csi-2"], &[], &[csi(2)], FULL),
            ("attached counts", &["csi-3"], &[], &["pv-1", "pv-2"], &[csi(2)], FULL),
            ("in use and attached is one", &["csi-3"], &["csi-1"], &["pv-1"], &[csi(2)], FITS),
            ("in use already", &["csi-1"], &["csi-1", "csi-2"], &[], &[csi(2)], FITS),
            (
                "attached, not in use, counts twice",
                &["csi-1"],
                &["csi-2"],
                &["pv-1"],
                &[csi(2)],
                FULL,
            ),
            ("twice the same", &["csi-1", "csi-1"], &[], &[], &[csi(1)], FITS),
            ("another driver", &["csi-1"], &[], &[], &[ebs(0)], FITS),
            ("yet to be made", &["new-1"], &["csi-1"], &[], &[csi(1)], FULL),
            ("its volume is gone", &["gone"], &["csi-1"], &[], &[csi(1)], FULL),
            ("no class", &["none"], &[], &[], &[csi(0)], FITS),
            ("no limits", &["csi-1"], &["csi-2"], &[], &[("csi", None)], FITS),
            ("a disk", &["vol-1"], &["tree"], &[], &[ebs(1)], FULL),
            ("an in-tree class", &["ebs-new"], &["vol-1"], &[], &[ebs(1)], FULL),
            ("not migratable", &["nfs"], &[], &[], &[csi(0)], FITS),
            ("a disk without a name", &["aws://z/x"], &[], &[], &[csi(0)], bad),
            ("no ephemeral claim yet", &["eph-1"], &[], &[], &[csi(0)], missing),
            ("another's ephemeral claim", &["eph-2"], &[], &[], &[csi(0)], foreign),
            ("a claim in use that is missing", &["csi-1"], &["lost"], &[], &[csi(1)], FITS),
        ];
        for (what, wanted, used, attached, limits, expected) in rows {
            let attachment = |volume: &&str| {
                json!({"metadata": {"name": volume}, "spec": {"attacher": "csi",
                    "nodeName": "node-1", "source": {"persistentVolumeName": volume}}})
            };
            let mut lists = storage();
            lists["nodes"] = json!([{}]);
            lists["pods"] = json!([{"spec": spec(used, Some("node-1"))}]);
            lists["csiNodes"] = json!([csi_node(limits)]);
            lists["volumeAttachments"] = attached.iter().map(attachment).collect();
            let mut cluster = cluster(lists);
            let pod = cluster.pod(json!({"spec": spec(wanted, None)}));
            assert_eq!(cluster.filter(&NodeVolumeLimits::extensions(), &pod), [expected], "{what}");
        }
    }

    #[test]
    fn a_node_without_drivers_has_no_limits() {
        let mut lists = storage();
        lists["nodes"] = json!([{}]);
        let mut cluster = cluster(lists);
        let pod = cluster.pod(json!({"spec": spec(&["csi-1", "vol-1"], None)}));
        assert_eq!(cluster.filter(&NodeVolumeLimits::extensions(), &pod), [FITS]);
    }

    #[test]
    fn when_to_try_again() {
        let gone = |volume: &str, node: Option<&str>| json!({"spec": spec(&[volume], node)});
        let claim = |namespace: &str, name: &str| json!({"metadata": {"namespace": namespace, "name": name}});
        let limit = |count| csi_node(&[("csi", count)]);
        let nominated =
            json!({"spec": spec(&["csi-1"], None), "status": {"nominatedNodeName": "node-1"}});
        let detached = |driver: &str| json!({"spec": {"attacher": driver, "nodeName": "node-1", "source": {}}});
        let (pods, claims) = (events::ASSIGNED_POD, events::PERSISTENT_VOLUME_CLAIM);
        let (nodes, attachments) = (events::CSI_NODE, events::VOLUME_ATTACHMENT);
        const NONE: Value = Value::Null;
        let rows: [(&str, &[&str], _, Value, Value, &str); 24] = [
            // the pod's volumes, what happens, to what
            ("drivers come", &["csi-1"], &nodes, NONE, limit(None), "Queue"),
            ("more", &["csi-1"], &nodes, limit(Some(2)), limit(Some(3)), "Queue"),
            ("less", &["csi-1"], &nodes, limit(Some(3)), limit(Some(2)), "Skip"),
            ("as much", &["csi-1"], &nodes, limit(Some(3)), limit(Some(3)), "Skip"),
            ("a first limit", &["csi-1"], &nodes, csi_node(&[]), limit(Some(1)), "Queue"),
            ("D9: no limit any more", &["csi-1"], &nodes, limit(Some(3)), limit(None), "Queue"),
            ("a claim's pod goes", &["csi-1"], &pods, gone("x-1", Some("n")), NONE, "Queue"),
            ("an ephemeral one's", &["csi-1"], &pods, gone("eph", Some("n")), NONE, "Queue"),
            ("a disk's", &["csi-1"], &pods, gone("vol-1", Some("n")), NONE, "Queue"),
            ("nobody's", &["csi-1"], &pods, gone("dir", Some("n")), NONE, "Skip"),
            ("a waiting pod goes", &["csi-1"], &pods, gone("x-1", None), NONE, "Skip"),
            ("a nominated pod goes", &["csi-1"], &pods, nominated, NONE, "Queue"),
            ("its claim", &["csi-1"], &claims, NONE, claim("default", "csi-1"), "Queue"),
            ("its own claim", &["eph-1"], &claims, NONE, claim("default", "test-eph-1"), "Queue"),
            ("another claim", &["csi-1"], &claims, NONE, claim("default", "csi-2"), "Skip"),
            ("another's claim", &["csi-1"], &claims, NONE, claim("other", "csi-1"), "Skip"),
            (
                "a claim changes",
                &["csi-1"],
                &claims,
                claim("default", "csi-1"),
                claim("default", "csi-1"),
                "deaf",
            ),
            ("detached", &["csi-1"], &attachments, detached("x"), NONE, "Queue"),
            ("its driver's", &["vol-1"], &attachments, detached("ebs.csi.aws.com"), NONE, "Queue"),
            ("another driver's", &["vol-1"], &attachments, detached("csi"), NONE, "Skip"),
            ("no driver's", &["dir-1"], &attachments, detached("csi"), NONE, "Skip"),
            ("D10: ephemeral", &["eph-1"], &attachments, detached("csi"), NONE, "Queue"),
            ("a disk without a name", &["aws://z/x"], &attachments, detached("csi"), NONE, "Error"),
            ("attached", &["csi-1"], &attachments, NONE, detached("csi"), "deaf"),
        ];
        for (what, volumes, resource, old, new, expected) in rows {
            let action = match (old.is_null(), new.is_null()) {
                (true, _) => Action::ADD,
                (false, true) => Action::DELETE,
                (false, false) => Action::UPDATE,
            };
            let mut cluster = cluster(json!({}));
            let pod = cluster.pod(json!({"spec": spec(volumes, None)}));
            let event = cluster.event(resource.clone(), action, old, new);
            let hint = cluster.hint(&NodeVolumeLimits::extensions(), &pod, &event);
            assert_eq!(hint, expected, "{what}");
        }
    }
}
