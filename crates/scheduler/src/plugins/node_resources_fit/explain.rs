//! What would make room for a pod.

use super::{Ignored, NAME, Scalar, scalars};
use crate::events;
use crate::explain::words::{amount, joined};
use crate::explain::{Refusal, Remedies, most_frequent};
use crate::nodes::NodeInfo;
use roadstead_model::Pod;
use roadstead_queue::Action;

/// So much of a resource is missing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Missing {
    resource: String,
    amount: i64,
    asked: i64,
}

impl Missing {
    /// In thousandths of what is asked for.
    fn share(&self) -> u32 {
        let share = i128::from(self.amount.min(self.asked)) * 1000 / i128::from(self.asked.max(1));
        u32::try_from(share).unwrap_or(1000)
    }
}

/// What a node is short of, and whether it is only because room is kept there for others.
struct Short<'a> {
    node: &'a NodeInfo,
    missing: Vec<Missing>,
    is_kept: bool,
}

pub(super) fn remedies(ignored: &Ignored, refusal: &Refusal<'_>) -> Remedies {
    let mut remedies = Remedies::default();
    let asked = &refusal.pod.spec().requests.total;
    let scalars = scalars(asked, ignored, refusal.context.listers);
    let short = |node| short(refusal, &scalars, node);
    let short: Vec<_> = refusal.nodes.iter().map(|(node, _)| short(node)).collect();
    tell_room(&short, &mut remedies);
    ask_less(refusal, &short, &mut remedies);
    if asked.scalars().is_empty() {
        remedies.never(events::DEVICE_CLASS, &[Action::ADD, Action::UPDATE]);
    }
    remedies
}

/// Of each set of resources that some node is short of, the node that is short of the least.
fn tell_room(short: &[Short<'_>], remedies: &mut Remedies) {
    let names = |short: &Short<'_>| -> Vec<String> {
        short.missing.iter().map(|missing| missing.resource.clone()).collect()
    };
    let mut sets = most_frequent(short.iter().map(names));
    sets.sort_by_key(|(set, _)| set.len());
    for (set, _) in sets.into_iter().filter(|(set, _)| !set.is_empty()) {
        let alike = short.iter().filter(|short| names(short) == set);
        let nearest = alike.min_by_key(|short| {
            let worst = short.missing.iter().map(Missing::share).max();
            let amounts: Vec<i64> = short.missing.iter().map(|missing| missing.amount).collect();
            (worst, amounts, short.node.name().clone())
        });
        let Some(Short { node, missing, is_kept }) = nearest else { continue };
        let more = missing.iter().filter(|missing| missing.resource != PODS);
        let more: Vec<_> = more
            .map(|it| format!("{} more {}", amount(&it.resource, it.amount), it.resource))
            .collect();
        let more = (!more.is_empty()).then(|| format!("{} free", joined(&more, "and")));
        let is_full = missing.iter().any(|missing| missing.resource == PODS);
        let room = is_full.then(|| "room for 1 more pod".to_owned());
        let all: Vec<_> = more.into_iter().chain(room).collect();
        let kept = if *is_kept { " beside what is kept for others" } else { "" };
        let (all, name) = (joined(&all, "and"), node.name());
        remedies.cluster(format!("a node with {all}{kept}; {name} is nearest"));
    }
}

/// What must be given up of one resource, where it is the only one that is short.
fn ask_less(refusal: &Refusal<'_>, short: &[Short<'_>], remedies: &mut Remedies) {
    let alone = short.iter().filter_map(|short| match short.missing.as_slice() {
        [one] if one.resource != PODS => Some(one.clone()),
        _ => None,
    });
    let mut alone: Vec<Missing> = alone.collect();
    alone.sort();
    alone.dedup();
    for missing in alone {
        let resource = &missing.resource;
        let by = missing.amount.min(missing.asked);
        let words = match by < missing.asked {
            true => format!("it asked {} less {resource}", amount(resource, by)),
            false => format!("it asked for no {resource}"),
        };
        let change = refusal.change(words, missing.share(), |spec| {
            spec.requests.total.reduce(resource, by);
        });
        remedies.of_pod.push(change.in_series(format!("{NAME} {resource}")));
    }
}

/// What the node is short of, with the pods that it is kept for.
fn short<'a>(refusal: &Refusal<'_>, scalars: &[Scalar], node: &'a NodeInfo) -> Short<'a> {
    let pod = refusal.pod;
    let is_first =
        |other: &Pod| other.uid != pod.uid && other.spec().priority >= pod.spec().priority;
    let mut full = node.clone();
    for other in refusal.context.nominations.to(node.name()).iter().filter(|other| is_first(other))
    {
        full.add_pod(other);
    }
    let is_kept = missing(pod, scalars, node).is_empty();
    Short { node, missing: missing(pod, scalars, &full), is_kept }
}

/// What the node is short of, by name.
fn missing(pod: &Pod, scalars: &[Scalar], node: &NodeInfo) -> Vec<Missing> {
    let (asked, used) = (&pod.spec().requests.total, node.requested());
    let has = &node.node().allocatable;
    let mut all = Vec::new();
    let mut note = |resource: &str, asked: i64, used: i64, has: i64| {
        let left = has.wrapping_sub(used);
        if asked > 0 && asked > left {
            let resource = resource.to_owned();
            all.push(Missing { resource, amount: asked.saturating_sub(left), asked });
        }
    };
    note("cpu", asked.milli_cpu, used.milli_cpu, has.milli_cpu);
    note("memory", asked.memory, used.memory, has.memory);
    note(
        "ephemeral-storage",
        asked.ephemeral_storage,
        used.ephemeral_storage,
        has.ephemeral_storage,
    );
    note(PODS, 1, node.pods().len() as i64, has.pods);
    for scalar in
        scalars.iter().filter(|scalar| !scalar.is_left_to_devices(has.scalar(&scalar.name)))
    {
        note(&scalar.name, scalar.asked, used.scalar(&scalar.name), has.scalar(&scalar.name));
    }
    all
}

const PODS: &str = "pods";
