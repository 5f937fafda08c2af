//! Which events may help a pod that was rejected.

use roadstead_model::{AffinityTerm, Node, Pod, Terms};
use roadstead_queue::{Hint, HintError};

use super::matching::{self, Matching};
use crate::events::{self, ClusterEvent};

/// A pod came, went, or has other labels.
// D3: the labels of namespaces are looked up, as in filtering. Upstream looks at none here, so that
// a term with a selector of namespaces hardly ever speaks of anybody (issue 141953). Where it does
// without labels, that counts too: a hint may say more than upstream's, not less.
pub(super) fn on_pod(matching: &Matching<'_>, event: &ClusterEvent) -> Result<Hint, HintError> {
    let (old, new) = events::pods(event)?;
    if let (Some(_), Some(new)) = (old, new)
        && new.uid == matching.pod.uid
    {
        return Ok(Hint::Queue);
    }
    if [old, new].into_iter().flatten().any(|other| !has_place(other)) {
        return Ok(Hint::Skip);
    }
    check_required(matching.pod)?;
    let helps = match (old, new) {
        (Some(old), Some(new)) => relabelling_helps(matching, old, new),
        (None, Some(new)) => matching.is_company(new),
        (Some(old), None) => leaving_helps(matching, old)?,
        (None, None) => true,
    };
    Ok(if helps { Hint::Queue } else { Hint::Skip })
}

/// A node came, or has other labels.
pub(super) fn on_node(matching: &Matching<'_>, event: &ClusterEvent) -> Result<Hint, HintError> {
    let (old, new) = events::nodes(event)?;
    check_required(matching.pod)?;
    let Some(new) = new else { return Ok(Hint::Skip) };
    let helps = match old {
        // D7: on a new node nobody is in the way of a pod that only others keep away; upstream
        // asks only for terms of its own.
        None => {
            let near = matching::required(matching.pod);
            near.is_empty()
                || near.iter().any(|term| new.labels.has(&term.topology_key))
                || !matching::required_anti(matching.pod).is_empty()
        }
        Some(old) => moving_helps(matching, old, new),
    };
    Ok(if helps { Hint::Queue } else { Hint::Skip })
}

/// Whether it runs somewhere, or counts as if it did.
fn has_place(pod: &Pod) -> bool {
    pod.node_name.is_some() || pod.nominated_node.is_some()
}

fn relabelling_helps(matching: &Matching<'_>, old: &Pod, new: &Pod) -> bool {
    let (was_company, is_company) = (matching.is_company(old), matching.is_company(new));
    let apart = matching::required_anti(matching.pod);
    (!was_company && is_company)
        || (was_company && !is_company && may_be_first(matching))
        // D4: one term is enough to keep the pod away, so it is enough that one no longer speaks
        // of the other; upstream wants all to have spoken of it.
        || apart.iter().any(|term| matching.own_term(term, old) && !matching.own_term(term, new))
}

fn leaving_helps(matching: &Matching<'_>, gone: &Pod) -> Result<bool, HintError> {
    // D4: likewise, in both directions.
    let mut apart = matching::required_anti(matching.pod).iter();
    if apart.any(|term| matching.own_term(term, gone)) {
        return Ok(true);
    }
    if let Some(affinity) = &gone.spec().pod_affinity {
        check(&affinity.required_anti)?;
    }
    let kept_away = |term| matching.others_term(term) || matching.others_term_in_hints(term);
    Ok(matching::required_anti(gone).iter().any(kept_away)
        || (matching.is_company(gone) && may_be_first(matching)))
}

fn moving_helps(matching: &Matching<'_>, old: &Node, new: &Node) -> bool {
    let joins = |term: &AffinityTerm| {
        let value = new.labels.get(&term.topology_key);
        value.is_some() && value != old.labels.get(&term.topology_key)
    };
    // D7: whoever kept the pod away may no longer be near, be it by a term of the pod's own or,
    // which upstream does not think of, by one of theirs.
    let mut before = old.labels.iter();
    let loses_a_label = before.any(|(key, value)| new.labels.get(key) != Some(value));
    loses_a_label || matching::required(matching.pod).iter().any(joins)
}

/// Whether the pod could go anywhere once nobody is left of the company that it requires.
// D5: upstream does not think of it when the last of them goes (issue 141354) or gets other labels.
fn may_be_first(matching: &Matching<'_>) -> bool {
    matching.is_own_company()
}

fn check_required(pod: &Pod) -> Result<(), HintError> {
    let Some(affinity) = &pod.spec().pod_affinity else { return Ok(()) };
    check(&affinity.required)?;
    check(&affinity.required_anti)
}

fn check(terms: &Terms<AffinityTerm>) -> Result<(), HintError> {
    match &terms.error {
        Some(error) => Err(error.as_ref().into()),
        None => Ok(()),
    }
}
