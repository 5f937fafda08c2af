//! Pod disruption budgets.

use k8s_openapi::api::policy::v1 as api;

use crate::{ModelError, Pod, Selector, Text, World, metadata};

/// How many pods of a kind may be taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDisruptionBudget {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// The pods it is about.
    pub selector: Selector,
    /// How many of them may go now.
    pub disruptions_allowed: i32,
    /// Names of pods that are counted as gone already, sorted.
    pub disrupted_pods: Box<[Text]>,
}

impl PodDisruptionBudget {
    /// Compiles an API budget.
    ///
    /// # Errors
    /// A budget without a name.
    pub fn from_api(
        budget: &api::PodDisruptionBudget,
        world: &mut World,
    ) -> Result<Self, ModelError> {
        let (spec, status) = (budget.spec.as_ref(), budget.status.as_ref());
        let disrupted = status.and_then(|status| status.disrupted_pods.as_ref());
        Ok(Self {
            namespace: metadata::namespace(&budget.metadata, world),
            name: metadata::name(&budget.metadata, world)?,
            selector: Selector::from_api(spec.and_then(|spec| spec.selector.as_ref()), world),
            disruptions_allowed: status
                .and_then(|status| status.disruptions_allowed)
                .unwrap_or_default(),
            disrupted_pods: world.texts(disrupted.into_iter().flat_map(|pods| pods.keys())),
        })
    }

    /// Whether evicting the pod uses the budget up. Pods without labels and pods already counted as
    /// gone do not, and an empty selector protects nobody.
    #[must_use]
    pub fn covers(&self, pod: &Pod) -> bool {
        let labels = &pod.spec().labels;
        self.namespace == *pod.namespace()
            && !labels.is_empty()
            && !self.selector.is_empty()
            && self.selector.matches(labels)
            && !self.disrupted_pods.contains(&pod.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    #[test]
    fn which_pods_a_budget_covers() {
        let web = json!({"labels": {"app": "web"}});
        let matching = json!({"selector": {"matchLabels": {"app": "web"}}});
        let without =
            json!({"selector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}});
        let rows = [
            (json!({"spec": matching}), web.clone(), true),
            (json!({"spec": matching}), json!({"labels": {"app": "db"}}), false),
            (
                json!({"spec": matching}),
                json!({"labels": {"app": "web"}, "namespace": "other"}),
                false,
            ),
            (json!({"spec": {"selector": {}}}), web.clone(), false),
            (json!({"spec": {}}), web.clone(), false),
            (json!({"spec": without}), json!({}), false),
            (json!({"spec": without}), json!({"labels": {"tier": "fe"}}), true),
            (
                json!({"spec": matching, "status": {"disruptedPods": {"test": "2024-01-08T10:01:00Z"}}}),
                web.clone(),
                false,
            ),
            (
                json!({"spec": matching, "status": {"disruptedPods": {"else": "2024-01-08T10:01:00Z"}}}),
                web,
                true,
            ),
        ];
        for (mut api, meta, expected) in rows {
            let mut world = World::new();
            api["metadata"] = json!({"name": "b", "namespace": "default"});
            let budget = PodDisruptionBudget::from_api(
                &serde_json::from_value(api.clone()).unwrap(),
                &mut world,
            );
            let pod = testing::pod(&mut world, json!({"metadata": meta}));
            assert_eq!(budget.unwrap().covers(&pod), expected, "{api} {meta}");
        }
    }
}
