//! Pod affinity and anti-affinity.

use k8s_openapi::api::core::v1 as api;

use crate::validity::aggregate;
use crate::{Labels, Selector, Text, World};

/// The pods that a pod wants beside itself, or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodAffinity {
    /// Required affinity: all of these terms at once.
    pub required: Terms<AffinityTerm>,
    /// Required anti-affinity: none of these terms.
    pub required_anti: Terms<AffinityTerm>,
    /// Preferred affinity, with weights.
    pub preferred: Terms<WeightedAffinityTerm>,
    /// Preferred anti-affinity, with weights.
    pub preferred_anti: Terms<WeightedAffinityTerm>,
}

/// A list of terms, or nothing but the reason why one of them does not parse.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terms<T> {
    /// The terms; none if one did not parse.
    pub terms: Box<[T]>,
    /// Why the first bad term did not parse, in upstream's words.
    pub error: Option<Box<str>>,
}

/// A term with a weight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WeightedAffinityTerm {
    /// The term.
    pub term: AffinityTerm,
    /// How much it counts.
    pub weight: i32,
}

/// Pods, and the topology in which they count as near.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AffinityTerm {
    /// Which labels the pods have.
    pub selector: Selector,
    /// The namespaces they are in, sorted; the pod's own if the term names none.
    pub namespaces: Box<[Text]>,
    /// More namespaces, by their labels.
    pub namespace_selector: Selector,
    /// The node label whose value near nodes share.
    pub topology_key: Text,
}

impl PodAffinity {
    /// `None` if the pod has neither section: plugins tell such pods from those with empty ones.
    pub(crate) fn from_api(
        affinity: Option<&api::Affinity>,
        namespace: &Text,
        world: &mut World,
    ) -> Option<Box<Self>> {
        let (near, apart) = (affinity?.pod_affinity.as_ref(), affinity?.pod_anti_affinity.as_ref());
        if near.is_none() && apart.is_none() {
            return None;
        }
        let required =
            near.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_deref());
        let required_anti =
            apart.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_deref());
        let preferred =
            near.and_then(|a| a.preferred_during_scheduling_ignored_during_execution.as_deref());
        let preferred_anti =
            apart.and_then(|a| a.preferred_during_scheduling_ignored_during_execution.as_deref());
        let mut plain = |list: Option<&[api::PodAffinityTerm]>| {
            Terms::parse(list, |term| AffinityTerm::parse(term, namespace, world))
        };
        let (required, required_anti) = (plain(required), plain(required_anti));
        let mut weighted = |list: Option<&[api::WeightedPodAffinityTerm]>| {
            Terms::parse(list, |weighted| {
                let term = AffinityTerm::parse(&weighted.pod_affinity_term, namespace, world)?;
                Ok(WeightedAffinityTerm { term, weight: weighted.weight })
            })
        };
        let (preferred, preferred_anti) = (weighted(preferred), weighted(preferred_anti));
        Some(Box::new(Self { required, required_anti, preferred, preferred_anti }))
    }

    /// Why the pod's terms do not parse: what upstream says after `parsing pod: `.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        let lists = [
            ("requiredAffinityTerms", &self.required.error),
            ("requiredAntiAffinityTerms", &self.required_anti.error),
            ("preferredAffinityTerms", &self.preferred.error),
            ("preferredAntiAffinityTerms", &self.preferred_anti.error),
        ];
        let errors: Vec<String> = lists
            .iter()
            .filter_map(|(list, error)| Some(format!("{list}: {}", error.as_ref()?)))
            .collect();
        (!errors.is_empty()).then(|| aggregate(&errors))
    }
}

impl<T> Terms<T> {
    fn parse<A>(list: Option<&[A]>, parse: impl FnMut(&A) -> Result<T, Box<str>>) -> Self {
        match list.unwrap_or_default().iter().map(parse).collect() {
            Ok(terms) => Self { terms, error: None },
            Err(error) => Self { terms: Box::default(), error: Some(error) },
        }
    }
}

impl AffinityTerm {
    /// Whether the term speaks of a pod in `namespace`, whose labels are `namespace_labels`, with
    /// the labels `labels`.
    #[must_use]
    pub fn matches(&self, namespace: &Text, labels: &Labels, namespace_labels: &Labels) -> bool {
        self.covers(namespace, namespace_labels) && self.selector.matches(labels)
    }

    /// Whether the term speaks of pods in a namespace.
    #[must_use]
    pub fn covers(&self, namespace: &Text, namespace_labels: &Labels) -> bool {
        self.namespaces.contains(namespace) || self.namespace_selector.matches(namespace_labels)
    }

    // `matchLabelKeys` and `mismatchLabelKeys` are not read: the API server has merged them into the
    // selector when the pod was created.
    fn parse(term: &api::PodAffinityTerm, own: &Text, world: &mut World) -> Result<Self, Box<str>> {
        let selector = Selector::from_api(term.label_selector.as_ref(), world);
        let namespace_selector = Selector::from_api(term.namespace_selector.as_ref(), world);
        if let Some(error) = selector.error().or(namespace_selector.error()) {
            return Err(error.into());
        }
        let listed = term.namespaces.as_deref().unwrap_or_default();
        let mut namespaces = world.texts(listed).into_vec();
        if listed.is_empty() && term.namespace_selector.is_none() {
            namespaces.push(own.clone());
        }
        namespaces.sort();
        namespaces.dedup();
        let topology_key = world.text(&term.topology_key);
        Ok(Self { selector, namespaces: namespaces.into(), namespace_selector, topology_key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn affinity(world: &mut World, api: Value) -> Option<Box<PodAffinity>> {
        let (api, own) = (serde_json::from_value::<api::Affinity>(api).unwrap(), world.text("own"));
        PodAffinity::from_api(Some(&api), &own, world)
    }

    #[test]
    fn which_namespaces_a_term_covers() {
        let rows = [
            // term, covers own (team=a), other (team=b)
            (json!({}), true, false),
            (json!({"namespaces": ["other"]}), false, true),
            (
                json!({"namespaces": ["other"], "namespaceSelector": {"matchLabels": {"team": "a"}}}),
                true,
                true,
            ),
            (json!({"namespaceSelector": {}}), true, true),
            (json!({"namespaceSelector": {"matchLabels": {"team": "b"}}}), false, true),
            (json!({"namespaces": [], "namespaceSelector": null}), true, false),
        ];
        for (mut term, own, other) in rows {
            let mut world = World::new();
            term["topologyKey"] = json!("zone");
            term["labelSelector"] = json!({});
            let api =
                json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
            let affinity = affinity(&mut world, api).unwrap();
            for (name, team, expected) in [("own", "a", own), ("other", "b", other)] {
                let labels = world.labels(&[("team".to_owned(), team.to_owned())].into());
                let (name, none) = (world.text(name), world.optional_labels(None));
                assert_eq!(
                    affinity.required.terms[0].matches(&name, &none, &labels),
                    expected,
                    "{term} {name}"
                );
            }
        }
    }

    #[test]
    fn a_term_without_selector_matches_no_pod() {
        let mut world = World::new();
        let api = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}});
        let affinity = affinity(&mut world, api).unwrap();
        let (own, none) = (world.text("own"), world.optional_labels(None));
        assert!(affinity.required_anti.terms[0].covers(&own, &none));
        assert!(!affinity.required_anti.terms[0].matches(&own, &none, &none));
    }

    #[test]
    fn a_list_with_a_bad_term_is_lost_and_says_why() {
        let mut world = World::new();
        let bad = json!({"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}});
        let good = json!({"topologyKey": "zone", "labelSelector": {}});
        let error = "values: Invalid value: []string(nil): for 'in', 'notin' operators, values set can't be empty";
        let found = affinity(&mut world, json!({"podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [good],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": good}, {"weight": 1, "podAffinityTerm": bad}]}}))
        .unwrap();
        assert_eq!((found.required.terms.len(), found.preferred.terms.len()), (1, 0));
        assert_eq!(found.error().unwrap(), format!("preferredAffinityTerms: {error}"));
        let both = json!({"requiredDuringSchedulingIgnoredDuringExecution": [bad]});
        let found =
            affinity(&mut world, json!({"podAffinity": both, "podAntiAffinity": both})).unwrap();
        assert_eq!(
            found.error().unwrap(),
            format!("[requiredAffinityTerms: {error}, requiredAntiAffinityTerms: {error}]")
        );
    }

    #[test]
    fn an_empty_section_is_a_section() {
        let mut world = World::new();
        assert!(affinity(&mut world, json!({"podAffinity": {}})).is_some());
        assert!(affinity(&mut world, json!({"nodeAffinity": {}})).is_none());
    }
}
