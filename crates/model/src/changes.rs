//! What an update changed, as the events that it is split into.

use crate::{Node, Pod};

/// A change of a node that wakes pods, in the order in which one update's events are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeChange {
    /// It is no longer cordoned off. Sent as a taint event of its own, before any other.
    Uncordoned,
    /// Its allocatable resources.
    Allocatable,
    /// Its labels.
    Labels,
    /// Its taints.
    Taints,
    /// The status of a condition.
    Conditions,
    /// Its annotations.
    Annotations,
    /// The features it declares.
    DeclaredFeatures,
}

impl NodeChange {
    /// The bit of the action that registrations name.
    #[must_use]
    pub fn action(self) -> u32 {
        match self {
            Self::Allocatable => 4,
            Self::Labels => 8,
            Self::Uncordoned | Self::Taints => 16,
            Self::Conditions => 32,
            Self::Annotations => 64,
            Self::DeclaredFeatures => 128,
        }
    }
}

impl Node {
    /// What became different from `old` to `new`, one event each, in order. Nothing, if nothing
    /// did that a pod could wait for.
    #[must_use]
    pub fn changes(old: &Node, new: &Node) -> Vec<NodeChange> {
        let changes = [
            (NodeChange::Uncordoned, old.unschedulable && !new.unschedulable),
            (NodeChange::Allocatable, !old.has_same_allocatable(new)),
            (NodeChange::Labels, old.labels != new.labels),
            (NodeChange::Taints, old.taints != new.taints),
            (NodeChange::Conditions, old.conditions != new.conditions),
            (NodeChange::Annotations, !old.has_same_annotations(new)),
            (NodeChange::DeclaredFeatures, old.declared_features != new.declared_features),
        ];
        changes
            .into_iter()
            .filter(|(_, is_changed)| *is_changed)
            .map(|(change, _)| change)
            .collect()
    }
}

/// A change of a pod, in the order in which one update's events are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PodChange {
    /// Its labels.
    Labels,
    /// It asks for less of some resource.
    ScaleDown,
    /// Its last scheduling gate is gone.
    GatesEliminated,
    /// The number of its tolerations.
    Tolerations,
    /// Resource claims were made for it.
    GeneratedClaims,
    /// Anything else, or nothing that matters.
    Other,
}

impl PodChange {
    /// The bits of the action that registrations name; [`Other`](Self::Other) is the general update
    /// with all of them.
    #[must_use]
    pub fn action(self) -> u32 {
        match self {
            Self::Labels => 256,
            Self::ScaleDown => 512,
            Self::Tolerations => 1024,
            Self::GatesEliminated => 2048,
            Self::GeneratedClaims => 4096,
            Self::Other => 8188,
        }
    }
}

impl Pod {
    /// What became different from `old` to `new`, one event each, in order, and at least one. They
    /// are about an unscheduled pod if `new` has no node, else about an assigned one.
    #[must_use]
    pub fn changes(old: &Pod, new: &Pod) -> Vec<PodChange> {
        let (was, is) = (old.spec(), new.spec());
        let changes = [
            (PodChange::Labels, was.labels != is.labels),
            (PodChange::ScaleDown, old.requests().shrink_to(new.requests())),
            (
                PodChange::GatesEliminated,
                !was.scheduling_gates.is_empty() && is.scheduling_gates.is_empty(),
            ),
            (PodChange::Tolerations, was.tolerations.len() != is.tolerations.len()),
            (PodChange::GeneratedClaims, old.claim_status() != new.claim_status()),
        ];
        let changes: Vec<PodChange> = changes
            .into_iter()
            .filter(|(_, is_changed)| *is_changed)
            .map(|(change, _)| change)
            .collect();
        if changes.is_empty() { vec![PodChange::Other] } else { changes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{World, testing};
    use serde_json::{Value, json};

    #[test]
    fn changes_of_nodes() {
        use NodeChange::*;
        let taint = |key: &str| json!({"key": key, "effect": "NoSchedule"});
        let ready = |status: &str, reason: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": reason}]}});
        let rows: Vec<(Value, Value, Vec<NodeChange>)> = vec![
            (json!({}), json!({}), vec![]),
            (json!({"metadata": {"labels": {}}}), json!({}), vec![]),
            (json!({"spec": {"unschedulable": true}}), json!({}), vec![Uncordoned]),
            (json!({}), json!({"spec": {"unschedulable": true}}), vec![]),
            (
                json!({"spec": {"unschedulable": true, "taints": [taint("a")]}}),
                json!({}),
                vec![Uncordoned, Taints],
            ),
            (json!({}), json!({"spec": {"taints": [taint("a")]}}), vec![Taints]),
            (
                json!({"spec": {"taints": [taint("a"), taint("b")]}}),
                json!({"spec": {"taints": [taint("b"), taint("a")]}}),
                vec![Taints],
            ),
            (
                json!({"status": {"allocatable": {"cpu": "1"}}}),
                json!({"status": {"allocatable": {"cpu": "1000m"}}}),
                vec![],
            ),
            (
                json!({"status": {"allocatable": {"cpu": "1"}}}),
                json!({"status": {"allocatable": {"cpu": "1001u"}}}),
                vec![Allocatable],
            ),
            (
                json!({"status": {"allocatable": {"foo": "1"}}}),
                json!({"status": {"allocatable": {"foo": "2"}}}),
                vec![Allocatable],
            ),
            (json!({"status": {"allocatable": {"cpu": "1"}}}), json!({}), vec![Allocatable]),
            (json!({}), json!({"metadata": {"labels": {"a": "1"}}}), vec![Labels]),
            (ready("True", "a"), ready("True", "b"), vec![]),
            (ready("True", "a"), ready("False", "a"), vec![Conditions]),
            (json!({}), json!({"metadata": {"annotations": {"a": "1"}}}), vec![Annotations]),
            (json!({"metadata": {"annotations": {}}}), json!({}), vec![]),
            (
                json!({"status": {"declaredFeatures": ["A", "B"]}}),
                json!({"status": {"declaredFeatures": ["B", "A"]}}),
                vec![DeclaredFeatures],
            ),
            (
                json!({"spec": {"unschedulable": true}}),
                json!({"metadata": {"labels": {"a": "1"}, "annotations": {"a": "1"}}, "spec": {"taints": [taint("a")]},
                       "status": {"allocatable": {"cpu": "1"}, "declaredFeatures": ["A"], "conditions": [{"type": "Ready", "status": "True"}]}}),
                vec![
                    Uncordoned,
                    Allocatable,
                    Labels,
                    Taints,
                    Conditions,
                    Annotations,
                    DeclaredFeatures,
                ],
            ),
            (json!({}), json!({"status": {"images": [{"names": ["a"]}]}}), vec![]),
        ];
        for (old, new, expected) in rows {
            let mut world = World::new();
            let changes = Node::changes(
                &testing::node(&mut world, old.clone()),
                &testing::node(&mut world, new.clone()),
            );
            assert_eq!(changes, expected, "{old} to {new}");
        }
    }

    #[test]
    fn changes_of_pods() {
        use PodChange::*;
        let spec = |spec: Value| json!({"spec": spec});
        let cpu = |cpu: &str| {
            spec(json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}))
        };
        let gates = |gates: &[&str]| {
            spec(
                json!({"containers": [], "schedulingGates": gates.iter().map(|g| json!({"name": g})).collect::<Vec<_>>()}),
            )
        };
        let tolerations = |keys: &[&str]| {
            spec(
                json!({"containers": [], "tolerations": keys.iter().map(|k| json!({"key": k})).collect::<Vec<_>>()}),
            )
        };
        let claims = |claims: Value| json!({"status": {"resourceClaimStatuses": claims}});
        let a = json!({"name": "a", "resourceClaimName": "x"});
        let b = json!({"name": "b"});
        let rows: Vec<(Value, Value, Vec<PodChange>)> = vec![
            (json!({}), json!({}), vec![Other]),
            (json!({}), json!({"metadata": {"labels": {"a": "1"}}}), vec![Labels]),
            (cpu("1"), cpu("2"), vec![Other]),
            (cpu("2"), cpu("1"), vec![ScaleDown]),
            (gates(&["a"]), gates(&[]), vec![GatesEliminated]),
            (gates(&["a", "b"]), gates(&["b"]), vec![Other]),
            (gates(&[]), gates(&["a"]), vec![Other]),
            (tolerations(&["a"]), tolerations(&["a", "b"]), vec![Tolerations]),
            (tolerations(&["a"]), tolerations(&["b"]), vec![Other]),
            (json!({}), claims(json!([a])), vec![GeneratedClaims]),
            (claims(json!([a, b])), claims(json!([b, a])), vec![GeneratedClaims]),
            (claims(json!([])), json!({}), vec![Other]),
            (
                json!({}),
                json!({"status": {"extendedResourceClaimStatus": {"resourceClaimName": "x", "requestMappings": []}}}),
                vec![GeneratedClaims],
            ),
            (json!({}), json!({"status": {"phase": "Running"}}), vec![Other]),
            (
                spec(
                    json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], "schedulingGates": [{"name": "g"}]}),
                ),
                json!({"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [], "tolerations": [{"key": "k"}]}, "status": {"resourceClaimStatuses": [a]}}),
                vec![Labels, ScaleDown, GatesEliminated, Tolerations, GeneratedClaims],
            ),
        ];
        for (old, new, expected) in rows {
            let mut world = World::new();
            let changes = Pod::changes(
                &testing::pod(&mut world, old.clone()),
                &testing::pod(&mut world, new.clone()),
            );
            assert_eq!(changes, expected, "{old} to {new}");
        }
    }

    #[test]
    fn actions_are_the_frameworks_bits() {
        assert_eq!(NodeChange::Uncordoned.action(), NodeChange::Taints.action());
        let all = [
            PodChange::Labels,
            PodChange::ScaleDown,
            PodChange::GatesEliminated,
            PodChange::Tolerations,
            PodChange::GeneratedClaims,
        ];
        let nodes = [
            NodeChange::Allocatable,
            NodeChange::Labels,
            NodeChange::Taints,
            NodeChange::Conditions,
            NodeChange::Annotations,
            NodeChange::DeclaredFeatures,
        ];
        let bits = all.map(PodChange::action).iter().sum::<u32>()
            + nodes.map(NodeChange::action).iter().sum::<u32>();
        assert_eq!(bits, PodChange::Other.action());
    }
}
