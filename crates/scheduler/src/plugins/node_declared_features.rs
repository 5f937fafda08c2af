//! Keeps a pod off nodes whose kubelet lacks a feature that the pod needs.

use roadstead_model::Pod;
use roadstead_queue::{Action, Ask, Hint, HintError};

use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies, WITHOUT, words};
use crate::framework::{
    Context, CycleState, Extensions, Filter, Joining, Plugin, PreFilter, PreFilterAnswer, Reach,
    Registration, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;

/// Keeps a pod off nodes whose kubelet does not declare every feature that the pod needs.
pub struct NodeDeclaredFeatures;

impl NodeDeclaredFeatures {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions() -> Extensions {
        Joining::new(Self).pre_filter().filter().done()
    }
}

impl Plugin for NodeDeclaredFeatures {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatures"
    }

    fn events(&self) -> Vec<Registration> {
        let node = Action::ADD | events::UPDATE_NODE_DECLARED_FEATURE;
        vec![
            Registration::new(events::NODE, node, Ask::Class),
            Registration::new(events::POD, Action::UPDATE, Ask::Item),
        ]
    }

    /// A node that declares something else, or the pod itself needing something else. Whether it
    /// is the right thing is not asked.
    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let is_changed = if event.resource == events::NODE {
            match events::nodes(event)? {
                (Some(old), Some(new)) => old.declared_features != new.declared_features,
                _ => true,
            }
        } else {
            match events::pods(event)? {
                (Some(old), Some(new)) => {
                    new.uid == pod.uid
                        && old.spec().required_features != new.spec().required_features
                }
                _ => true,
            }
        };
        Ok(if is_changed { Hint::Queue } else { Hint::Skip })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        remedies.never(events::ASSIGNED_POD, &[Action::UPDATE]);
        let features = &refusal.pod.spec().required_features;
        remedies.cluster(format!("a node that declares {}", words::list(features)));
        for feature in features {
            let words = format!("it did not need {feature}");
            remedies.of_pod.push(refusal.change(words, WITHOUT, |spec| {
                spec.required_features =
                    features.iter().filter(|other| *other != feature).cloned().collect();
            }));
        }
        remedies
    }
}

impl PreFilter for NodeDeclaredFeatures {
    fn pre_filter(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        let needs_none = pod.spec().required_features.is_empty();
        Ok(if needs_none { PreFilterAnswer::Skip } else { PreFilterAnswer::AnyNode })
    }
}

impl Filter for NodeDeclaredFeatures {
    fn filter(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let declared = &node.node().declared_features;
        let mut required = pod.spec().required_features.iter();
        if required.all(|feature| declared.contains(feature)) {
            Ok(())
        } else {
            Err(Status::unresolvable(MISMATCH))
        }
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }
}

const MISMATCH: &str = "node(s) didn't match Pod's required features";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, FITS};
    use serde_json::{Value, json};

    const RESTART: &str = "RestartAllContainersOnContainerExits";
    const USERNS: &str = "UserNamespacesHostNetworkSupport";
    const NO: &str = "UnschedulableAndUnresolvable: node(s) didn't match Pod's required features";

    fn spec(restarts: bool, host_network: Value, host_users: Value) -> Value {
        let rules = if restarts { json!([{"action": "RestartAllContainers"}]) } else { json!([]) };
        json!({"spec": {"hostNetwork": host_network, "hostUsers": host_users,
            "containers": [{"name": "main", "restartPolicyRules": rules}]}})
    }

    #[test]
    fn a_pod_goes_where_its_features_are() {
        let none = Value::Null;
        #[rustfmt::skip]
        let rows = [
            ("a plain pod",            spec(false, none.clone(), none.clone()), json!([]),                  FITS),
            ("declared among others",  spec(true, none.clone(), none.clone()),  json!(["A", RESTART, "Z"]), FITS),
            ("nothing declared",       spec(true, none.clone(), none.clone()),  json!([]),                  NO),
            ("both declared",          spec(true, json!(true), json!(false)),   json!([RESTART, USERNS]),   FITS),
            ("one of two declared",    spec(true, json!(true), json!(false)),   json!([RESTART]),           NO),
            ("host users not said",    spec(false, json!(true), none),          json!([]),                  FITS),
            ("host users kept",        spec(false, json!(true), json!(true)),   json!([]),                  FITS),
            ("no host users",          spec(false, json!(true), json!(false)),  json!([]),                  NO),
        ];
        for (words, pod, declared, expected) in rows {
            let mut cluster = testing::nodes(json!([{"status": {"declaredFeatures": declared}}]));
            let pod = cluster.pod(pod);
            assert_eq!(
                cluster.filter(&NodeDeclaredFeatures::extensions(), &pod),
                [expected],
                "{words}"
            );
        }
    }

    #[test]
    fn only_a_change_of_features_is_worth_a_retry() {
        let node = |features: Value| json!({"status": {"declaredFeatures": features}});
        let plain = || spec(false, Value::Null, Value::Null);
        let restarting = || spec(true, Value::Null, Value::Null);
        let other = |mut pod: Value| {
            pod["metadata"] = json!({"name": "other"});
            pod
        };
        let declared = events::UPDATE_NODE_DECLARED_FEATURE;
        #[rustfmt::skip]
        let rows = [
            ("a new node, whatever it declares", events::NODE, Action::ADD, Value::Null, node(json!([])), "Queue"),
            ("the same features",  events::NODE, declared, node(json!(["A"])), node(json!(["A"])),      "Skip"),
            ("one more feature",   events::NODE, declared, node(json!(["A"])), node(json!(["A", "B"])), "Queue"),
            ("other labels",       events::NODE, events::UPDATE_NODE_LABEL, node(json!([])), node(json!(["A"])), "deaf"),
            ("its needs changed",  events::UNSCHEDULABLE_POD, Action::UPDATE, restarting(), plain(),    "Queue"),
            ("its needs are the same", events::UNSCHEDULABLE_POD, Action::UPDATE, plain(), plain(),     "Skip"),
            ("another pod's needs", events::UNSCHEDULABLE_POD, Action::UPDATE, other(restarting()), other(plain()), "Skip"),
        ];
        for (words, resource, action, old, new, expected) in rows {
            let mut cluster = testing::nodes(json!([]));
            let pod = cluster.pod(plain());
            let event = cluster.event(resource, action, old, new);
            let hint = cluster.hint(&NodeDeclaredFeatures::extensions(), &pod, &event);
            assert_eq!(hint, expected, "{words}");
        }
        let mut cluster = testing::nodes(json!([]));
        let pod = cluster.pod(plain());
        for (resource, action) in [(events::NODE, declared), (events::POD, Action::UPDATE)] {
            let event = testing::stranger(&mut cluster.world, resource, action);
            let hint = cluster.hint(&NodeDeclaredFeatures::extensions(), &pod, &event);
            assert_eq!(hint, "Error", "{event:?}");
        }
    }
}
