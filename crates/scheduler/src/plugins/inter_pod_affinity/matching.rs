//! Which pods a term speaks of.

use roadstead_model::{AffinityTerm, Labels, Pod, Text, WeightedAffinityTerm};

use crate::counts::{Matcher, Namespaces};
use crate::listers::Listers;

/// Reads terms of a waiting pod about others, and terms of others about it.
pub(super) struct Matching<'a> {
    pub(super) pod: &'a Pod,
    listers: &'a Listers,
    no_labels: &'a Labels,
    /// Labels of the pod's own namespace; none where it is not known.
    pub(super) namespace_labels: &'a Labels,
}

impl<'a> Matching<'a> {
    pub(super) fn new(listers: &'a Listers, pod: &'a Pod, no_labels: &'a Labels) -> Self {
        let namespace_labels = listers.namespace_labels(pod.namespace()).unwrap_or(no_labels);
        Self { pod, listers, no_labels, namespace_labels }
    }

    /// Whether a term of the waiting pod speaks of `other`.
    ///
    /// A selector of namespaces that asks only what labels must not be also picks namespaces that
    /// it means to leave out: upstream lists the namespaces that match, but keeps the selector,
    /// and asks it about no labels at all (`mergeAffinityTermNamespacesIfNotEmpty`, issue 141526).
    pub(super) fn own_term(&self, term: &AffinityTerm, other: &Pod) -> bool {
        let namespace = other.namespace();
        term.selector.matches(&other.spec().labels)
            && (term.covers(namespace, self.no_labels)
                || !term.namespace_selector.is_nothing()
                    && self
                        .listers
                        .namespace_labels(namespace)
                        .is_some_and(|labels| term.namespace_selector.matches(labels)))
    }

    /// The pods that a term of the waiting pod speaks of: those that [`own_term`](Self::own_term)
    /// says, while namespaces are as they are.
    pub(super) fn meant(&self, term: &AffinityTerm) -> Matcher {
        let by_labels = &term.namespace_selector;
        let namespaces = if by_labels.matches(self.no_labels) {
            Namespaces::All
        } else {
            let mut names: Vec<Text> = term.namespaces.to_vec();
            if !by_labels.is_nothing() {
                let known = self.listers.namespaces.iter();
                let meant = known.filter(|(_, namespace)| by_labels.matches(&namespace.labels));
                names.extend(meant.map(|(name, _)| name.clone()));
                names.sort_unstable();
                names.dedup();
            }
            Namespaces::Only(names.into())
        };
        Matcher { selector: term.selector.clone(), namespaces }
    }

    /// Whether a term of another pod speaks of the waiting pod.
    pub(super) fn others_term(&self, term: &AffinityTerm) -> bool {
        term.matches(self.pod.namespace(), &self.pod.spec().labels, self.namespace_labels)
    }

    /// Whether upstream's hints take a term of another pod to speak of the waiting pod: they look at
    /// no labels of its namespace (issue 141953).
    pub(super) fn others_term_in_hints(&self, term: &AffinityTerm) -> bool {
        term.matches(self.pod.namespace(), &self.pod.spec().labels, self.no_labels)
    }

    /// Whether `other` is all that the waiting pod requires near. One that requires nothing has
    /// nothing to look for.
    pub(super) fn is_company(&self, other: &Pod) -> bool {
        let required = required(self.pod);
        !required.is_empty() && required.iter().all(|term| self.own_term(term, other))
    }

    /// Whether the waiting pod is that itself.
    pub(super) fn is_own_company(&self) -> bool {
        self.is_company(self.pod)
    }

    /// Whether the waiting pod requires anything of other pods.
    pub(super) fn requires_anything(&self) -> bool {
        !required(self.pod).is_empty() || !required_anti(self.pod).is_empty()
    }
}

/// What a pod requires near.
pub(super) fn required(pod: &Pod) -> &[AffinityTerm] {
    pod.spec().pod_affinity.as_ref().map_or(&[], |affinity| &affinity.required.terms)
}

/// What a pod requires not to be near.
pub(super) fn required_anti(pod: &Pod) -> &[AffinityTerm] {
    pod.spec().pod_affinity.as_ref().map_or(&[], |affinity| &affinity.required_anti.terms)
}

/// What a pod would like near, and, with a negative weight, what not.
pub(super) fn preferred(pod: &Pod) -> impl Iterator<Item = (&AffinityTerm, i64)> {
    fn weighted(
        list: &[WeightedAffinityTerm],
        sign: i64,
    ) -> impl Iterator<Item = (&AffinityTerm, i64)> {
        list.iter().map(move |weighted| (&weighted.term, sign * i64::from(weighted.weight)))
    }
    let affinity = pod.spec().pod_affinity.as_deref();
    let near = affinity.map_or(&[][..], |affinity| &affinity.preferred.terms);
    let apart = affinity.map_or(&[][..], |affinity| &affinity.preferred_anti.terms);
    weighted(near, 1).chain(weighted(apart, -1))
}
