//! Keeps a pod off nodes that have too little left of what it asks for, and prefers nodes by how
//! full they are.

mod arguments;
mod explain;

use std::sync::Arc;

use roadstead_model::{DeviceClass, Node, Pod, Resources, Text, World, is_extended_resource};
use roadstead_queue::{Action, Ask, Hint, HintError};
use serde_json::Value;

use super::ArgumentError;
use super::resource_allocation::{Load, Resource, Strategy};
use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies};
use crate::framework::{
    Code, Context, CycleState, Extensions, Feasible, Filter, Joining, Plugin, PreFilter,
    PreFilterAnswer, PreScore, PreScoreAnswer, Reach, Reason, Registration, Scaling, Score, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;

/// Keeps a pod off nodes that have too little left of what it asks for, and prefers nodes by how
/// full they are.
pub struct NodeResourcesFit {
    ignored: Ignored,
    strategy: Strategy,
    /// What the strategy looks at, with weights.
    resources: Box<[(Resource, i64)]>,
}

impl NodeResourcesFit {
    /// The plugin with its points.
    ///
    /// # Errors
    ///
    /// Names that are none, weights and points out of range, or a strategy that does not exist
    /// or lacks its shape.
    pub fn extensions(arguments: &Value, world: &mut World) -> Result<Extensions, ArgumentError> {
        let plugin = arguments::read(arguments, world)?;
        Ok(Joining::new(plugin).pre_filter().filter().pre_score().score().done())
    }
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        NAME
    }

    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::new(events::POD, Action::DELETE, Ask::Class),
            // The pod may be the one that has scaled down.
            Registration::new(events::POD, events::UPDATE_POD_SCALE_DOWN, Ask::Item),
            Registration::new(
                events::NODE,
                Action::ADD | events::UPDATE_NODE_ALLOCATABLE,
                Ask::Class,
            ),
            Registration::new(events::DEVICE_CLASS, Action::ADD | Action::UPDATE, Ask::Class),
        ]
    }

    fn hint(&self, listers: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let may_help = if event.resource == events::NODE {
            let (old, new) = events::nodes(event)?;
            // D12: what the profile ignores does not count here either; upstream's isFit
            // knows nothing of it. Where it does count there, it may count for us too.
            let may_help = |ignored: &Ignored, new: &Node| {
                node_may_help(
                    &scalars(&pod.spec().requests.total, ignored, listers),
                    pod,
                    old.map(|old| &**old),
                    new,
                )
            };
            new.is_none_or(|new| may_help(&self.ignored, new) || may_help(&Ignored::default(), new))
        } else if event.resource == events::DEVICE_CLASS {
            let (old, new) = events::device_classes(event)?;
            new.is_none_or(|new| device_class_may_help(pod, old.map(|old| &**old), new))
        } else {
            match events::pods(event)? {
                (Some(gone), None) => gone.node_name.is_some() || gone.nominated_node.is_some(),
                (Some(old), Some(new)) => scaled_down_pod_may_help(pod, old, new),
                (None, _) => true,
            }
        };
        Ok(if may_help { Hint::Queue } else { Hint::Skip })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        explain::remedies(&self.ignored, refusal)
    }
}

/// Whether a node is big enough, and either new or bigger than it was in something that counts.
fn node_may_help(scalars: &[Scalar], pod: &Pod, old: Option<&Node>, new: &Node) -> bool {
    let asked = &pod.spec().requests.total;
    let empty = Usage { requested: &Resources::default(), pods: 0 };
    if shortage(asked, scalars, new, &empty).is_some() {
        return false;
    }
    let Some(old) = old else { return true };
    let (before, now) = (&old.allocatable, &new.allocatable);
    now.pods > before.pods
        || (asked.milli_cpu > 0 && now.milli_cpu > before.milli_cpu)
        || (asked.memory > 0 && now.memory > before.memory)
        || (asked.ephemeral_storage > 0 && now.ephemeral_storage > before.ephemeral_storage)
        || scalars.iter().any(|scalar| {
            let amount = now.scalar(&scalar.name);
            amount > before.scalar(&scalar.name) || scalar.is_left_to_devices(amount)
        })
}

/// Whether a class of devices now stands behind a resource that the pod asks for.
fn device_class_may_help(pod: &Pod, old: Option<&DeviceClass>, new: &DeviceClass) -> bool {
    let is_asked_for = |name: &Text| pod.spec().requests.total.has_scalar(name);
    match old {
        Some(old) if old.extended_resource == new.extended_resource => return false,
        None if is_asked_for(&new.implicit_resource) => return true,
        _ => {}
    }
    new.extended_resource.as_ref().is_some_and(is_asked_for)
}

/// Whether a pod that runs somewhere now asks for less of something that this one needs.
fn scaled_down_pod_may_help(pod: &Pod, old: &Pod, new: &Pod) -> bool {
    if new.uid == pod.uid {
        return true;
    }
    if new.node_name.is_none() {
        return false;
    }
    let (asked, before, now) =
        (&pod.requests().total, &old.requests().total, &new.requests().total);
    (asked.milli_cpu != 0 && now.milli_cpu < before.milli_cpu)
        || (asked.memory != 0 && now.memory < before.memory)
        || (asked.ephemeral_storage != 0 && now.ephemeral_storage < before.ephemeral_storage)
        || asked
            .scalars()
            .iter()
            .any(|(name, amount)| *amount != 0 && now.scalar(name) < before.scalar(name))
}

impl PreFilter for NodeResourcesFit {
    fn pre_filter(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        state.put(NAME, scalars(&pod.spec().requests.total, &self.ignored, context.listers));
        Ok(PreFilterAnswer::AnyNode)
    }
}

impl Filter for NodeResourcesFit {
    fn filter(
        &self,
        _: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let Some(scalars) = state.get::<Arc<[Scalar]>>(NAME) else {
            return Err(Status::error(NO_STATE));
        };
        let usage = Usage { requested: node.requested(), pods: node.pods().len() };
        match shortage(&pod.spec().requests.total, scalars, node.node(), &usage) {
            None => Ok(()),
            Some(shortage) => Err(Status::new(shortage.code, shortage.reasons)),
        }
    }

    /// Where device classes stand behind resources, a node need not have them.
    fn reach(&self, context: &Context<'_>, _: &CycleState, pod: &Pod) -> Reach {
        let has_scalars = !pod.spec().requests.total.scalars().is_empty();
        match has_scalars && !context.listers.device_classes.is_empty() {
            true => Reach::Unknown,
            false => Reach::NODE,
        }
    }
}

/// A resource that not every node has, and that must be looked for.
#[derive(Clone, Debug)]
struct Scalar {
    name: Text,
    asked: i64,
    has_device_class: bool,
}

impl Scalar {
    /// Whether DynamicResources sees to it on a node that has so much of it.
    fn is_left_to_devices(&self, allocatable: i64) -> bool {
        self.has_device_class && allocatable == 0
    }
}

/// The scalars that a filter looks at.
fn scalars(asked: &Resources, ignored: &Ignored, listers: &Listers) -> Arc<[Scalar]> {
    let wanted = asked.scalars().iter().filter(|(name, asked)| *asked != 0 && !ignored.has(name));
    let scalar = |(name, asked): &(Text, i64)| Scalar {
        name: name.clone(),
        asked: *asked,
        has_device_class: listers.device_classes.values().any(|class| {
            class.implicit_resource == *name || class.extended_resource.as_ref() == Some(name)
        }),
    };
    wanted.map(scalar).collect()
}

/// What of a node is taken.
struct Usage<'a> {
    requested: &'a Resources,
    pods: usize,
}

/// What a node lacks.
struct Shortage {
    code: Code,
    reasons: Vec<Reason>,
}

/// What the node lacks for a pod that asks for so much. Costs no allocation if it lacks nothing.
fn shortage(
    asked: &Resources,
    scalars: &[Scalar],
    node: &Node,
    usage: &Usage<'_>,
) -> Option<Shortage> {
    let (capacity, used) = (&node.allocatable, usage.requested);
    let mut found = Shortage { code: Code::Unschedulable, reasons: Vec::new() };
    if usage.pods as i64 >= capacity.pods {
        found.reasons.push(TOO_MANY_PODS.into());
    }
    let everywhere = [
        (NO_CPU, asked.milli_cpu, used.milli_cpu, capacity.milli_cpu),
        (NO_MEMORY, asked.memory, used.memory, capacity.memory),
        (NO_STORAGE, asked.ephemeral_storage, used.ephemeral_storage, capacity.ephemeral_storage),
    ];
    for (reason, asked, used, capacity) in everywhere {
        if asked > 0 && asked > capacity.wrapping_sub(used) {
            found.lacks(reason.into(), asked > capacity);
        }
    }
    for scalar in scalars {
        let (asked, capacity) = (scalar.asked, capacity.scalar(&scalar.name));
        let left = capacity.wrapping_sub(used.scalar(&scalar.name));
        if asked > left && !scalar.is_left_to_devices(capacity) {
            found.lacks(insufficient(&scalar.name), asked > capacity);
        }
    }
    (!found.reasons.is_empty()).then_some(found)
}

impl Shortage {
    fn lacks(&mut self, reason: Reason, even_if_empty: bool) {
        self.reasons.push(reason);
        if even_if_empty {
            self.code = Code::UnschedulableAndUnresolvable;
        }
    }
}

impl PreScore for NodeResourcesFit {
    /// There is nothing to prepare, but profiles may name the point.
    fn pre_score(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        _: &Pod,
        _: &Feasible<'_>,
    ) -> Result<PreScoreAnswer, Status> {
        Ok(PreScoreAnswer::Proceed)
    }
}

impl Score for NodeResourcesFit {
    fn score(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let load = |(resource, weight): &(Resource, i64)| {
            let asked = resource.of(&pod.spec().score_requests);
            let allocatable = resource.counted_on(node.node(), asked)?;
            // Pods that ask for nothing count here too, or they would all go to one node.
            let used = match resource {
                Resource::Cpu => node.non_zero_milli_cpu(),
                Resource::Memory => node.non_zero_memory(),
                other => other.of(node.requested()),
            };
            Some(Load { requested: used.wrapping_add(asked), allocatable, weight: *weight })
        };
        Ok(self.strategy.score(self.resources.iter().filter_map(load)))
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }

    fn scaling(&self) -> Scaling {
        Scaling::Unscaled
    }
}

/// Extended resources that somebody else looks after.
#[derive(Debug, Default)]
struct Ignored {
    names: Box<[Text]>,
    /// What stands before the first slash.
    groups: Box<[Text]>,
}

impl Ignored {
    fn has(&self, name: &Text) -> bool {
        let group = name.split('/').next().unwrap_or_default();
        (self.names.contains(name) || self.groups.iter().any(|ignored| *ignored == group))
            && is_extended_resource(name)
    }
}

fn insufficient(name: &Text) -> Reason {
    format!("Insufficient {name}").into()
}

const NAME: &str = "NodeResourcesFit";

const TOO_MANY_PODS: &str = "Too many pods";
const NO_CPU: &str = "Insufficient cpu";
const NO_MEMORY: &str = "Insufficient memory";
const NO_STORAGE: &str = "Insufficient ephemeral-storage";
const NO_STATE: &str = "error reading \"PreFilterNodeResourcesFit\" from cycleState: not found";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{FITS, GPU, amounts, cluster, container, nodes, stranger};

    fn asking(asks: &str) -> Value {
        json!({"spec": {"containers": [container(asks)]}})
    }

    #[test]
    fn filter() {
        const NEVER: &str = "UnschedulableAndUnresolvable";
        const LATER: &str = "Unschedulable";
        let plain = || json!({});
        let ignored = |names: Value| json!({"ignoredResources": names});
        let groups = |names: Value| json!({"ignoredResourceGroups": names});
        #[rustfmt::skip]
        let rows = [
            // what, arguments, the pod asks for, in use, code, short of
            ("nothing asked for, nothing left",  plain(), "",                                      "cpu=10m memory=20", "",    ""),
            ("nothing left",                     plain(), "cpu=1m memory=1",                       "cpu=10m memory=20", LATER, "cpu memory"),
            ("exactly what is left",             plain(), "cpu=5m memory=1",                       "cpu=5m memory=19",  "",    ""),
            ("too little cpu",                   plain(), "cpu=6m memory=1",                       "cpu=5m memory=5",   LATER, "cpu"),
            ("too little memory",                plain(), "cpu=1m memory=2",                       "cpu=5m memory=19",  LATER, "memory"),
            ("never cpu, memory perhaps",        plain(), "cpu=11m memory=2",                      "memory=19",         NEVER, "cpu memory"),
            ("no ephemeral storage at all",      plain(), "ephemeral-storage=1",                   "",                  NEVER, "ephemeral-storage"),
            ("more than there is of a scalar",   plain(), "gpu=10",                                "",                  NEVER, GPU),
            ("none left of a scalar",            plain(), "gpu=1",                                 "gpu=5",             LATER, GPU),
            ("exactly what is left of it",       plain(), "gpu=3",                                 "gpu=2",             "",    ""),
            ("an unknown scalar",                plain(), "example.com/x=1",                       "",                  NEVER, "example.com/x"),
            ("none of an unknown scalar",        plain(), "example.com/x=0",                       "",                  "",    ""),
            ("none of an overcommitted scalar",  plain(), "cpu=1m gpu=0",                          "gpu=9",             "",    ""),
            ("others are overcommitted",         plain(), "gpu=1",                                 "cpu=99m memory=99", "",    ""),
            ("an ignored resource",              ignored(json!(["example.com/x"])), "example.com/x=1", "",              "",    ""),
            ("an ignored group",                 groups(json!(["example.com"])), "example.com/x=1 kubernetes.io/x=1", "", NEVER, "kubernetes.io/x"),
            ("huge pages cannot be ignored",     ignored(json!(["hugepages-2Mi"])), "hugepages-2Mi=10", "",             NEVER, "hugepages-2Mi"),
            ("devices, no such resource",        plain(), "device.io/by-class=1",                  "",                  "",    ""),
            ("devices, by the class's name",     plain(), "deviceclass.resource.kubernetes.io/nic=1", "",               "",    ""),
            ("devices, but the node has others", plain(), "device.io/both=1",                      "device.io/both=2",  LATER, "device.io/both"),
            ("by the name of no class",          plain(), "deviceclass.resource.kubernetes.io/x=1", "",                 NEVER, "deviceclass.resource.kubernetes.io/x"),
        ];
        for (what, arguments, asks, used, code, short_of) in rows {
            let has = "cpu=10m memory=20 pods=32 gpu=5 hugepages-2Mi=5 device.io/both=2";
            let class = |name: &str, resource: &str| json!({"metadata": {"name": name}, "spec": {"extendedResourceName": resource}});
            let mut cluster = cluster(json!({
                "nodes": [{"status": {"allocatable": amounts(has)}}],
                "pods": [{"spec": {"nodeName": "node-1", "containers": [container(used)]}}],
                "deviceClasses": [class("nic", "device.io/by-class"), class("x-1", "device.io/both")],
            }));
            let plugin = cluster.plugin(NodeResourcesFit::extensions, arguments);
            let pod = cluster.pod(asking(asks));
            let reasons: Vec<String> =
                short_of.split_whitespace().map(|name| format!("Insufficient {name}")).collect();
            let expected = match code {
                "" => FITS.to_owned(),
                code => format!("{code}: {}", reasons.join(", ")),
            };
            assert_eq!(cluster.filter(&plugin, &pod), [expected], "{what}");
        }
    }

    #[test]
    fn init_containers_run_one_by_one_and_containers_together() {
        let rows: [(&[&str], &[&str], &str); 4] = [
            // init containers, containers, answer where 3m of cpu and 3 gpus are left
            (&["cpu=3m", "cpu=3m"], &["cpu=1m"], FITS),
            (&["cpu=4m"], &["cpu=1m"], "Unschedulable: Insufficient cpu"),
            (&["gpu=3", "gpu=3"], &[], FITS),
            (
                &[],
                &["gpu=3", "gpu=3"],
                "UnschedulableAndUnresolvable: Insufficient example.com/gpu",
            ),
        ];
        for (init, containers, expected) in rows {
            let used = container("cpu=7m gpu=2");
            let mut cluster = cluster(json!({
                "nodes": [{"status": {"allocatable": amounts("cpu=10m pods=9 gpu=5")}}],
                "pods": [{"spec": {"nodeName": "node-1", "containers": [used]}}],
            }));
            let plugin = cluster.plugin(NodeResourcesFit::extensions, Value::Null);
            let all = |list: &[&str]| list.iter().map(|asks| container(asks)).collect::<Vec<_>>();
            let spec = json!({"initContainers": all(init), "containers": all(containers)});
            let pod = cluster.pod(json!({ "spec": spec }));
            assert_eq!(cluster.filter(&plugin, &pod), [expected], "{init:?} then {containers:?}");
        }
    }

    #[test]
    fn a_node_takes_so_many_pods() {
        let has = |list| json!({"status": {"allocatable": amounts(list)}});
        let on = |node: &str| json!({"spec": {"nodeName": node, "containers": []}});
        let mut cluster = cluster(json!({
            "nodes": [has("cpu=1 pods=2"), has("cpu=1 pods=1"), has("cpu=1 pods=0"), {}],
            "pods": [on("node-1"), on("node-2")],
        }));
        let plugin = cluster.plugin(NodeResourcesFit::extensions, Value::Null);
        let empty = cluster.pod(asking(""));
        let full = "Unschedulable: Too many pods";
        assert_eq!(cluster.filter(&plugin, &empty), [FITS, full, full, full]);

        let large = cluster.pod(asking("cpu=2"));
        let both = "UnschedulableAndUnresolvable: Too many pods, Insufficient cpu";
        assert_eq!(cluster.filter(&plugin, &large)[1], both);
    }

    #[test]
    fn without_its_state_the_filter_fails() {
        let mut cluster = nodes(json!([{}]));
        let plugin = cluster.plugin(NodeResourcesFit::extensions, Value::Null);
        let pod = cluster.pod(json!({}));
        let node = cluster.nodes.at(0).expect("a node");
        let filter = plugin.filter.expect("a filter");
        let status = filter.filter(&cluster.context(), &CycleState::new(), &pod, node);
        assert_eq!(status, Err(Status::error(NO_STATE)));
    }

    #[test]
    fn scores() {
        const RATIO: &str = "RequestedToCapacityRatio";
        let strategy = |name: &str, resources: &str| {
            let resource = |part: &str| {
                let (name, weight) = part.split_once('*').unwrap_or((part, "0"));
                let name = if name == "gpu" { GPU } else { name };
                json!({"name": name, "weight": weight.parse::<i64>().expect("a weight")})
            };
            let resources: Vec<Value> = resources.split_whitespace().map(resource).collect();
            let falling =
                json!([{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]);
            let shape = (name == RATIO).then(|| json!({"shape": falling}));
            json!({"scoringStrategy":
                {"type": name, "resources": resources, "requestedToCapacityRatio": shape}})
        };
        let (least, most) =
            (|list| strategy("LeastAllocated", list), |list| strategy("MostAllocated", list));
        #[rustfmt::skip]
        let rows = [
            // what, arguments, the pod asks for, the node has, in use there, score
            ("least is the default",       Value::Null,              "cpu=1 memory=500Mi",       "cpu=4 memory=1000Mi",        "cpu=2 memory=0",       37),
            ("weights",                    least("cpu memory*2"),    "cpu=1 memory=500Mi",       "cpu=4 memory=1000Mi",        "cpu=2 memory=0",       41),
            ("no requests count a little", most(""),                 "",                         "cpu=4 memory=1000Mi",        "",                     22),
            ("explicit zeros do not",      most(""),                 "cpu=0 memory=0",           "cpu=4 memory=1000Mi",        "cpu=0 memory=0",       0),
            ("by a shape",                 strategy(RATIO, ""),      "cpu=1 memory=500Mi",       "cpu=4 memory=1000Mi",        "cpu=2 memory=0",       38),
            ("a scalar not asked for",     least("cpu memory gpu"),  "cpu=2 memory=500Mi",       "cpu=4 memory=1000Mi gpu=9",  "cpu=0 memory=0",       50),
            ("a scalar asked for",         least("cpu memory gpu"),  "cpu=2 memory=500Mi gpu=1", "cpu=4 memory=1000Mi gpu=10", "cpu=0 memory=0 gpu=1", 60),
            ("a scalar the node lacks",    least("cpu memory gpu"),  "cpu=2 memory=500Mi gpu=1", "cpu=4 memory=1000Mi",        "cpu=0 memory=0",       50),
            ("ephemeral storage",          most("ephemeral-storage"), "ephemeral-storage=1",     "ephemeral-storage=4",        "ephemeral-storage=2",  75),
            ("pods are not counted",       least("pods"),            "",                         "pods=9",                     "",                     0),
            ("a node that has nothing",    Value::Null,              "cpu=1",                    "",                           "",                     0),
        ];
        for (what, arguments, asks, has, used, expected) in rows {
            let mut cluster = cluster(json!({
                "nodes": [{"status": {"allocatable": amounts(has)}}],
                "pods": [{"spec": {"nodeName": "node-1", "containers": [container(used)]}}],
            }));
            let plugin = cluster.plugin(NodeResourcesFit::extensions, arguments);
            let pod = cluster.pod(asking(asks));
            assert_eq!(cluster.scores(&plugin, &pod), Ok(Some(vec![expected])), "{what}");
        }
    }

    #[test]
    fn hints_on_nodes() {
        const NEW: &str = "new";
        #[rustfmt::skip]
        let rows = [
            // what, the pod asks for, allocatable before, and now, hint
            ("a new node that is too small",  "memory=2",              NEW,                     "pods=9 memory=1",       "Skip"),
            ("a new node",                    "memory=2",              NEW,                     "pods=9 memory=2",       "Queue"),
            ("a new node without pods",       "",                      NEW,                     "memory=2",              "Skip"),
            ("more of what is asked for",     "memory=2 gpu=1",        "pods=9 memory=9 gpu=1", "pods=9 memory=9 gpu=2", "Queue"),
            ("more, but still too little",    "memory=2 gpu=3",        "pods=9 memory=9 gpu=1", "pods=9 memory=9 gpu=2", "Skip"),
            ("more of something else",        "memory=2",              "pods=9 memory=9",       "pods=9 memory=9 gpu=2", "Skip"),
            ("more cpu",                      "cpu=1",                 "pods=9 cpu=1",          "pods=9 cpu=2",          "Queue"),
            ("more cpu, not asked for",       "memory=2",              "pods=9 memory=9",       "pods=9 memory=9 cpu=1", "Skip"),
            ("more ephemeral storage",        "ephemeral-storage=1",   "pods=9",                "pods=9 ephemeral-storage=2", "Queue"),
            ("more of what none is asked of", "gpu=0",                 "pods=9",                "pods=9 gpu=2",          "Skip"),
            ("less than the pod needs",       "memory=2",              "pods=9 memory=9",       "pods=10 memory=1",      "Skip"),
            ("room for more pods",            "",                      "pods=8",                "pods=9",                "Queue"),
            ("more, and nothing asked for",   "",                      "pods=9",                "pods=9 cpu=9",          "Skip"),
            ("an ignored one is missing",     "example.com/ignored=1", NEW,                     "pods=9",                "Queue"),
            ("more of an ignored one",        "example.com/ignored=1", "pods=9 example.com/ignored=1", "pods=9 example.com/ignored=2", "Queue"),
            ("devices on a new node",         "device.io/x=1",         NEW,                     "pods=9",                "Queue"),
            ("devices on an old node",        "device.io/x=1",         "pods=9 device.io/x=1",  "pods=9",                "Queue"),
        ];
        for (what, asks, old, new, expected) in rows {
            let class = json!({"spec": {"extendedResourceName": "device.io/x"}});
            let mut cluster = cluster(json!({"deviceClasses": [class]}));
            let arguments = json!({"ignoredResources": ["example.com/ignored"]});
            let plugin = cluster.plugin(NodeResourcesFit::extensions, arguments);
            let pod = cluster.pod(asking(asks));
            let node = |has: &str| json!({"status": {"allocatable": amounts(has)}});
            let event = match old {
                NEW => cluster.event(events::NODE, Action::ADD, Value::Null, node(new)),
                old => {
                    let update = events::UPDATE_NODE_ALLOCATABLE;
                    cluster.event(events::NODE, update, node(old), node(new))
                }
            };
            assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{what}");
        }
    }

    #[test]
    fn hints_on_pods() {
        let down = events::UPDATE_POD_SCALE_DOWN;
        let pod = |node: Option<&str>, nominated: Option<&str>, asks: &str| {
            json!({"metadata": {"name": "other"}, "status": {"nominatedNodeName": nominated},
                   "spec": {"nodeName": node, "containers": [container(asks)]}})
        };
        let runs = |asks| pod(Some("n"), None, asks);
        let waits = |asks| pod(None, None, asks);
        let nominated = |asks| pod(None, Some("n"), asks);
        let gone = || Value::Null;
        #[rustfmt::skip]
        let rows = [
            // what, what happens, a pod before, and now, hint for a pod that asks for cpu and gpu
            ("a running pod is gone",         Action::DELETE,           runs(""),           gone(),             "Queue"),
            ("a nominated pod is gone",       Action::DELETE,           nominated(""),      gone(),             "Queue"),
            ("a waiting pod is gone",         Action::DELETE,           waits(""),          gone(),             "Skip"),
            ("less of what is asked for",     down,                     runs("cpu=2"),      runs("cpu=1"),      "Queue"),
            ("nothing of what is asked for",  down,                     runs("gpu=1"),      runs(""),           "Queue"),
            ("less of something else",        down,                     runs("memory=2"),   runs("memory=1"),   "Skip"),
            ("more than before",              down,                     runs("cpu=1"),      runs("cpu=2"),      "Skip"),
            ("a nominated pod asks for less", down,                     nominated("cpu=2"), nominated("cpu=1"), "Skip"),
            ("the pod itself asks for less",  down,                     asking("cpu=2"),    asking("cpu=1"),    "Queue"),
            ("labels",                        events::UPDATE_POD_LABEL, runs(""),           runs(""),           "deaf"),
            ("a pod starts to run",           Action::ADD,              Value::Null,        runs(""),           "deaf"),
        ];
        for (what, action, old, new, expected) in rows {
            let mut cluster = cluster(json!({}));
            let plugin = cluster.plugin(NodeResourcesFit::extensions, Value::Null);
            let pod = cluster.pod(asking("cpu=1 memory=0 gpu=1"));
            let event = cluster.event(events::ASSIGNED_POD, action, old, new);
            assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{what}");
        }
    }

    #[test]
    fn hints_on_device_classes() {
        let (add, update) = (Action::ADD, Action::UPDATE);
        let class = |name: &str, resource: Option<&str>| json!({"metadata": {"name": name}, "spec": {"extendedResourceName": resource}});
        let behind = |resource| class("any", Some(resource));
        let plain = |name| class(name, None);
        let none = || Value::Null;
        #[rustfmt::skip]
        let rows = [
            // what, what happens, a class before, and now, hint for a pod that asks for gpu and nic
            ("stands behind a resource",     add,            none(),       behind(GPU),   "Queue"),
            ("stands behind another",        add,            none(),       behind("x/y"), "Skip"),
            ("stands behind none",           add,            none(),       plain("any"),  "Skip"),
            ("asked for by its name",        add,            none(),       plain("nic"),  "Queue"),
            ("now stands behind a resource", update,         plain("any"), behind(GPU),   "Queue"),
            ("no longer stands behind it",   update,         behind(GPU),  plain("any"),  "Skip"),
            ("stands behind it as before",   update,         behind(GPU),  behind(GPU),   "Skip"),
            ("asked for by name, as before", update,         plain("nic"), plain("nic"),  "Skip"),
            ("gone",                         Action::DELETE, plain("nic"), none(),        "deaf"),
        ];
        for (what, action, old, new, expected) in rows {
            let mut cluster = cluster(json!({}));
            let plugin = cluster.plugin(NodeResourcesFit::extensions, Value::Null);
            let pod = cluster.pod(asking("gpu=0 deviceclass.resource.kubernetes.io/nic=1"));
            let event = cluster.event(events::DEVICE_CLASS, action, old, new);
            assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{what}");
        }
    }

    #[test]
    fn hints_on_objects_of_another_kind_are_errors() {
        let mut cluster = cluster(json!({}));
        let plugin = cluster.plugin(NodeResourcesFit::extensions, Value::Null);
        let pod = cluster.pod(json!({}));
        for (resource, action) in [
            (events::NODE, Action::ADD),
            (events::DEVICE_CLASS, Action::ADD),
            (events::ASSIGNED_POD, Action::DELETE),
        ] {
            let event = stranger(&mut cluster.world, resource, action);
            assert_eq!(cluster.hint(&plugin, &pod, &event), "Error");
        }
    }
}
