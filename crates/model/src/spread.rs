//! Topology spread constraints.

use k8s_openapi::api::core::v1 as api;

use crate::{Labels, Requirement, Selector, Text, World};

/// How evenly pods like this one spread over a topology.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpreadConstraint {
    /// How many more pods a domain may have than the emptiest.
    pub max_skew: i32,
    /// The node label whose values are the domains.
    pub topology_key: Text,
    /// What to do where it cannot be kept.
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// The pods that count; the pod's own values of `matchLabelKeys` are part of it.
    pub selector: Selector,
    /// With fewer domains than this the emptiest counts as having none. 1 if absent.
    pub min_domains: i32,
    /// Whether nodes that the pod's node affinity excludes are left out. `Honor` if absent.
    pub node_affinity_policy: NodeInclusion,
    /// Whether nodes whose taints the pod does not tolerate are left out. `Ignore` if absent.
    pub node_taints_policy: NodeInclusion,
}

/// What to do with a pod that would break a spread constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhenUnsatisfiable {
    /// It waits: the constraint is hard.
    DoNotSchedule,
    /// It goes where it breaks it least: the constraint is soft.
    ScheduleAnyway,
    /// An action this release does not know: the constraint counts for nothing, but it is there.
    Other,
}

/// Whether a node restriction decides which nodes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeInclusion {
    /// Only nodes that pass it count.
    Honor,
    /// All nodes count.
    Ignore,
}

impl SpreadConstraint {
    pub(crate) fn from_api(
        constraint: &api::TopologySpreadConstraint,
        labels: &Labels,
        world: &mut World,
    ) -> Self {
        let own_values: Vec<Requirement> = constraint
            .match_label_keys
            .iter()
            .flatten()
            .filter_map(|key| {
                Some(Requirement::equal(world.text(key), labels.get_str(key)?.clone()))
            })
            .collect();
        Self {
            max_skew: constraint.max_skew,
            topology_key: world.text(&constraint.topology_key),
            when_unsatisfiable: match constraint.when_unsatisfiable.as_str() {
                "DoNotSchedule" => WhenUnsatisfiable::DoNotSchedule,
                "ScheduleAnyway" => WhenUnsatisfiable::ScheduleAnyway,
                _ => WhenUnsatisfiable::Other,
            },
            selector: Selector::from_api(constraint.label_selector.as_ref(), world).and(own_values),
            min_domains: constraint.min_domains.unwrap_or(1),
            node_affinity_policy: inclusion(
                constraint.node_affinity_policy.as_deref(),
                NodeInclusion::Honor,
            ),
            node_taints_policy: inclusion(
                constraint.node_taints_policy.as_deref(),
                NodeInclusion::Ignore,
            ),
        }
    }
}

fn inclusion(policy: Option<&str>, absent: NodeInclusion) -> NodeInclusion {
    match policy {
        None => absent,
        Some("Honor") => NodeInclusion::Honor,
        Some(_) => NodeInclusion::Ignore,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn constraint(world: &mut World, mut api: Value) -> SpreadConstraint {
        let labels =
            world.labels(&serde_json::from_value(json!({"app": "web", "rev": "2"})).unwrap());
        api["maxSkew"] = json!(1);
        api["topologyKey"] = json!("zone");
        let api_object = serde_json::from_value(api).unwrap();
        SpreadConstraint::from_api(&api_object, &labels, world)
    }

    #[test]
    fn what_is_absent_has_defaults() {
        let spread = constraint(&mut World::new(), json!({"whenUnsatisfiable": "DoNotSchedule"}));
        assert_eq!(spread.min_domains, 1);
        assert_eq!(spread.node_affinity_policy, NodeInclusion::Honor);
        assert_eq!(spread.node_taints_policy, NodeInclusion::Ignore);
        assert_eq!(spread.when_unsatisfiable, WhenUnsatisfiable::DoNotSchedule);
        assert!(spread.selector.is_nothing());
    }

    #[test]
    fn own_label_values_narrow_the_selector() {
        let mut world = World::new();
        let mut requirements = |selector: Value, keys: Value| {
            let api = json!({"whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector, "matchLabelKeys": keys});
            let spread = constraint(&mut world, api);
            spread.selector.requirements().map(<[_]>::len)
        };
        assert_eq!(requirements(json!({"matchLabels": {"app": "web"}}), json!(["rev"])), Some(2));
        assert_eq!(requirements(json!({}), json!(["rev"])), Some(1));
        assert_eq!(requirements(json!({}), json!(["absent"])), Some(0));
        assert_eq!(requirements(json!(null), json!(["rev"])), None);
    }
}
