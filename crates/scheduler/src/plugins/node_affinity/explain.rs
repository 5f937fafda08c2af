//! Which nodes a pod would have to allow.

use std::collections::BTreeMap;

use roadstead_model::{NodeField, NodeSelector, NodeSelectorTerm, World};

use super::NodeAffinity;
use crate::explain::words::{node_term, nodes, requirement};
use crate::explain::{LESS, Refusal, Remedies, WITHOUT, without};

impl NodeAffinity {
    pub(super) fn remedies(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        if let Some(added) = &self.added_required
            && refusal.nodes.iter().any(|(node, _)| !self.admits(node.node()))
        {
            remedies.cluster(format!("a node {}, as the profile demands", nodes(added)));
        }
        let spec = refusal.pod.spec();
        let pairs: Vec<String> =
            spec.node_selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let selected = (!pairs.is_empty()).then(|| format!("labelled {}", pairs.join(",")));
        let required = spec.required_node_affinity.as_ref().map(|required| {
            let is_clear = pairs.is_empty() || required.terms().len() < 2;
            if is_clear { nodes(required) } else { format!("({})", nodes(required)) }
        });
        let wanted: Vec<String> = selected.into_iter().chain(required).collect();
        if !wanted.is_empty() {
            remedies.cluster(format!("a node {}", wanted.join(" and ")));
        }
        drop_pairs(refusal, &mut remedies);
        if let Some(required) = &spec.required_node_affinity {
            drop_conditions(refusal, required, &mut remedies);
            let words = "it had no required node affinity";
            let change = refusal.change(words, WITHOUT, |spec| spec.required_node_affinity = None);
            remedies.of_pod.push(change);
        }
        remedies
    }
}

/// The pod without one pair of its node selector, or without all of it.
fn drop_pairs(refusal: &Refusal<'_>, remedies: &mut Remedies) {
    let selector = &refusal.pod.spec().node_selector;
    for (key, value) in selector.iter() {
        let words = format!("it did not select nodes by {key}={value}");
        let change =
            refusal.change(words, LESS, |spec| spec.node_selector = without(selector, key));
        remedies.of_pod.push(change);
    }
    if selector.iter().count() > 1 {
        let none = World::new().labels(&BTreeMap::new());
        let words = "it had no node selector";
        remedies.of_pod.push(refusal.change(words, WITHOUT, |spec| spec.node_selector = none));
    }
}

/// The pod without one condition of one term, where the term has others.
fn drop_conditions(refusal: &Refusal<'_>, required: &NodeSelector, remedies: &mut Remedies) {
    let terms = required.terms();
    for (at, term) in terms.iter().enumerate() {
        if term.expressions.len() + term.fields.len() < 2 {
            continue;
        }
        let mut propose = |condition: String, term: NodeSelectorTerm| {
            let words = format!("its node affinity did not ask for {condition}");
            let mut terms = terms.to_vec();
            terms[at] = term;
            remedies.of_pod.push(refusal.change(words, LESS, |spec| {
                spec.required_node_affinity = Some(NodeSelector::of_terms(terms));
            }));
        };
        for dropped in &term.expressions {
            let left = term.expressions.iter().filter(|other| *other != dropped).cloned();
            let left =
                NodeSelectorTerm { expressions: left.collect(), fields: term.fields.clone() };
            propose(requirement(dropped), left);
        }
        for dropped in &term.fields {
            let left = term.fields.iter().filter(|other| *other != dropped).cloned();
            let left =
                NodeSelectorTerm { expressions: term.expressions.clone(), fields: left.collect() };
            propose(field(dropped), left);
        }
    }
}

fn field(field: &NodeField) -> String {
    node_term(&NodeSelectorTerm { expressions: [].into(), fields: [field.clone()].into() })
}
