//! Keeps pods off cordoned nodes, unless they tolerate that.

use roadstead_model::{Pod, Taint, TaintEffect, World};
use roadstead_queue::{Action, Ask, Hint, HintError};
use serde_json::Value;

use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies, words};
use crate::framework::{
    Context, CycleState, Extensions, Filter, Joining, Plugin, Reach, Registration, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;
use crate::plugins::ArgumentError;
use crate::plugins::taint_toleration::toleration_of;

/// Keeps pods off cordoned nodes, unless they tolerate that.
pub struct NodeUnschedulable {
    /// The taint that a cordoned node stands for, whether or not it has it.
    cordon: Taint,
}

impl NodeUnschedulable {
    /// The plugin with its points.
    ///
    /// # Errors
    ///
    /// None: it takes no arguments.
    pub fn extensions(_: &Value, world: &mut World) -> Result<Extensions, ArgumentError> {
        let cordon = Taint::new(CORDON, "", TaintEffect::NoSchedule, world);
        Ok(Joining::new(Self { cordon }).filter().done())
    }

    fn is_tolerated_by(&self, pod: &Pod) -> bool {
        pod.spec().tolerations.iter().any(|toleration| toleration.tolerates(&self.cordon))
    }
}

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        "NodeUnschedulable"
    }

    /// The end of a cordon is told as a change of taints.
    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::new(events::NODE, Action::ADD | events::UPDATE_NODE_TAINT, Ask::Class),
            Registration::new(events::POD, events::UPDATE_POD_TOLERATION, Ask::Item),
        ]
    }

    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let helps = if event.resource == events::NODE {
            match events::nodes(event)? {
                (Some(old), Some(new)) => old.unschedulable && !new.unschedulable,
                (None, Some(new)) => !new.unschedulable,
                (_, None) => true,
            }
        } else {
            let (_, new) = events::pods(event)?;
            new.is_none_or(|new| new.uid == pod.uid && self.is_tolerated_by(new))
        };
        Ok(if helps { Hint::Queue } else { Hint::Skip })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        let names: Vec<String> =
            refusal.nodes.iter().map(|(node, _)| node.name().to_string()).collect();
        if !names.is_empty() {
            remedies.cluster(format!("{} uncordoned", words::any_of(names)));
            remedies.of_pod.push(toleration_of(&self.cordon, refusal));
        }
        remedies
    }
}

impl Filter for NodeUnschedulable {
    fn filter(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        if node.node().unschedulable && !self.is_tolerated_by(pod) {
            return Err(Status::unresolvable(CORDONED));
        }
        Ok(())
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }
}

const CORDON: &str = "node.kubernetes.io/unschedulable";
const CORDONED: &str = "node(s) were unschedulable";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, FITS};
    use serde_json::json;

    const REFUSED: &str = "UnschedulableAndUnresolvable: node(s) were unschedulable";

    #[test]
    fn only_who_tolerates_a_cordon_gets_past_it() {
        let cordoned = json!({"spec": {"unschedulable": true}});
        let rows = [
            ("no tolerations", json!([]), REFUSED),
            (
                "its key exists",
                json!([{"key": CORDON, "operator": "Exists", "effect": "NoSchedule"}]),
                FITS,
            ),
            ("everything", json!([{"operator": "Exists"}]), FITS),
            (
                "another effect",
                json!([{"key": CORDON, "operator": "Exists", "effect": "NoExecute"}]),
                REFUSED,
            ),
            ("equal to no value", json!([{"key": CORDON, "operator": "Equal", "value": ""}]), FITS),
            ("equal to a value", json!([{"key": CORDON, "value": "yes"}]), REFUSED),
        ];
        for (what, tolerations, expected) in rows {
            let open = json!({"spec": {"taints": [{"key": CORDON, "effect": "NoSchedule"}]}});
            let mut cluster = testing::nodes(json!([cordoned, open]));
            let plugin = cluster.plugin(NodeUnschedulable::extensions, Value::Null);
            let pod = cluster.pod(json!({"spec": {"containers": [], "tolerations": tolerations}}));
            assert_eq!(cluster.filter(&plugin, &pod), [expected, FITS], "{what}");
        }
    }

    #[test]
    fn the_end_of_a_cordon_helps() {
        let node = |cordoned: bool| json!({"spec": {"unschedulable": cordoned}});
        let rows = [
            ("a new node", Action::ADD, Value::Null, node(false), "Queue"),
            ("a new cordoned node", Action::ADD, Value::Null, node(true), "Skip"),
            ("still cordoned", events::UPDATE_NODE_TAINT, node(true), node(true), "Skip"),
            ("never cordoned", events::UPDATE_NODE_TAINT, node(false), node(false), "Skip"),
            ("cordoned now", events::UPDATE_NODE_TAINT, node(false), node(true), "Skip"),
            ("no longer cordoned", events::UPDATE_NODE_TAINT, node(true), node(false), "Queue"),
            ("other news", events::UPDATE_NODE_LABEL, node(true), node(false), "deaf"),
        ];
        for (what, action, old, new, expected) in rows {
            let mut cluster = testing::nodes(json!([]));
            let plugin = cluster.plugin(NodeUnschedulable::extensions, Value::Null);
            // Who tolerates a cordon was not rejected for one: tolerations do not count.
            let pod = cluster
                .pod(json!({"spec": {"containers": [], "tolerations": [{"operator": "Exists"}]}}));
            let event = cluster.event(events::NODE, action, old, new);
            assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{what}");
        }
    }

    #[test]
    fn the_right_toleration_helps() {
        let pod = |name: &str, key: &str| {
            json!({"metadata": {"name": name}, "spec": {"containers": [],
            "tolerations": [{"key": key, "operator": "Exists"}]}})
        };
        let rows = [
            ("its own, of the cordon", pod("waiting", CORDON), "Queue"),
            ("its own, of something else", pod("waiting", "other"), "Skip"),
            ("another pod's", pod("other", CORDON), "Skip"),
        ];
        for (what, new, expected) in rows {
            let mut cluster = testing::nodes(json!([]));
            let plugin = cluster.plugin(NodeUnschedulable::extensions, Value::Null);
            let waiting = cluster.pod(pod("waiting", "none"));
            let old = json!({"metadata": new["metadata"], "spec": {"containers": []}});
            let action = events::UPDATE_POD_TOLERATION;
            let event = cluster.event(events::UNSCHEDULABLE_POD, action, old, new);
            assert_eq!(cluster.hint(&plugin, &waiting, &event), expected, "{what}");
        }
    }

    #[test]
    fn an_object_of_another_kind_is_an_error() {
        let mut cluster = testing::nodes(json!([]));
        let plugin = cluster.plugin(NodeUnschedulable::extensions, Value::Null);
        let pod = cluster.pod(json!({}));
        let rows =
            [(events::NODE, Action::ADD), (events::ASSIGNED_POD, events::UPDATE_POD_TOLERATION)];
        for (resource, action) in rows {
            let event = testing::stranger(&mut cluster.world, resource.clone(), action);
            assert_eq!(cluster.hint(&plugin, &pod, &event), "Error", "{}", resource.name());
        }
    }
}
