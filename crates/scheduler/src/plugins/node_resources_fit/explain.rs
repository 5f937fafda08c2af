//! What would make room for a pod.

use super::{Ignored, NAME, Scalar, scalars};
use crate::explain::words::{amount, list};
use crate::explain::{MOST_TOLD, Refusal, Remedies, most_frequent};
use crate::nodes::NodeInfo;
use roadstead_model::Pod;

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

pub(super) fn remedies(ignored: &Ignored, refusal: &Refusal<'_>) -> Remedies {
    let mut remedies = Remedies::default();
    let scalars = scalars(&refusal.pod.spec().requests.total, ignored, refusal.context.listers);
    let short: Vec<_> = refusal
        .nodes
        .iter()
        .map(|(node, _)| (*node, missing(refusal.pod, &scalars, node)))
        .collect();
    tell_room(&short, &mut remedies);
    ask_less(refusal, &short, &mut remedies);
    remedies
}

/// Of each set of resources that some node is short of, the node that is short of the least.
fn tell_room(short: &[(&NodeInfo, Vec<Missing>)], remedies: &mut Remedies) {
    let names = |missing: &[Missing]| -> Vec<String> {
        missing.iter().map(|missing| missing.resource.clone()).collect()
    };
    let mut sets = most_frequent(short.iter().map(|(_, missing)| names(missing)));
    sets.sort_by_key(|(set, _)| set.len());
    for (set, _) in sets {
        let alike = short.iter().filter(|(_, missing)| names(missing) == set);
        let worst = |missing: &[Missing]| missing.iter().map(Missing::share).max();
        let nearest = alike.min_by_key(|(node, missing)| {
            let amounts: Vec<i64> = missing.iter().map(|missing| missing.amount).collect();
            (worst(missing), amounts, node.name().clone())
        });
        let Some((node, missing)) = nearest else { continue };
        let name = node.name();
        match missing.as_slice() {
            [] => remedies.cluster(format!("a node that is not kept for others, as {name} is")),
            [one] if one.resource == PODS => {
                remedies.cluster(format!("a node with room for 1 more pod, such as {name}"));
            }
            several => {
                let more = |missing: &Missing| match missing.resource.as_str() {
                    PODS => "room for 1 more pod".to_owned(),
                    resource => format!("{} more {resource}", amount(resource, missing.amount)),
                };
                let all: Vec<_> = several.iter().map(more).collect();
                remedies.cluster(format!("a node with {} free; {name} is nearest", list(&all)));
            }
        }
    }
}

/// The least that must be given up of one resource, where it is the only one that is short.
fn ask_less(refusal: &Refusal<'_>, short: &[(&NodeInfo, Vec<Missing>)], remedies: &mut Remedies) {
    let alone = short.iter().filter_map(|(_, missing)| match missing.as_slice() {
        [one] if one.resource != PODS => Some(one.clone()),
        _ => None,
    });
    let mut alone: Vec<Missing> = alone.collect();
    alone.sort();
    alone.dedup();
    let mut told = (String::new(), 0);
    for missing in alone {
        let resource = &missing.resource;
        told = if told.0 == *resource { (told.0, told.1 + 1) } else { (resource.clone(), 1) };
        if told.1 > MOST_TOLD {
            continue;
        }
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
