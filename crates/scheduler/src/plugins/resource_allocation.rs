//! How full nodes are, resource by resource, and what scores make of it.
//!
//! NodeResourcesFit and NodeResourcesBalancedAllocation count the same resources on a node and
//! leave out the same ones. They differ in how they count pods, and in the sum at the end.

use roadstead_model::{Node, Requests, Resources, Text, World, is_scalar_resource};
use serde::Deserialize;

use crate::framework::{BrokenLine, MAX_SCORE};

/// A resource that a profile wants counted.
#[derive(Clone, Debug)]
pub(crate) enum Resource {
    Cpu,
    Memory,
    EphemeralStorage,
    Scalar(Text),
    /// Pods may ask for it, but nobody knows how much of it a node has.
    Other(Text),
}

impl Resource {
    pub(crate) fn named(name: &str, world: &mut World) -> Self {
        match name {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            "ephemeral-storage" => Self::EphemeralStorage,
            name if is_scalar_resource(name) => Self::Scalar(world.text(name)),
            name => Self::Other(world.text(name)),
        }
    }

    /// How much of it there is, 0 if that is not known.
    pub(crate) fn of(&self, resources: &Resources) -> i64 {
        match self {
            Self::Cpu => resources.milli_cpu,
            Self::Memory => resources.memory,
            Self::EphemeralStorage => resources.ephemeral_storage,
            Self::Scalar(name) => resources.scalar(name),
            Self::Other(_) => 0,
        }
    }

    pub(crate) fn is_asked_for(&self, requests: &Requests) -> bool {
        match self {
            Self::Other(name) => {
                requests.milli.iter().any(|(asked, milli)| asked == name && *milli != 0)
            }
            known => known.of(&requests.total) != 0,
        }
    }

    /// How much of it the node has, if the resource counts there at all for a pod that asks for
    /// so much: what few nodes have is left out for pods that do not need it.
    pub(crate) fn counted_on(&self, node: &Node, asked: i64) -> Option<i64> {
        if asked == 0 && matches!(self, Self::Scalar(_)) {
            return None;
        }
        Some(self.of(&node.allocatable)).filter(|allocatable| *allocatable != 0)
    }
}

/// A resource in a plugin's arguments.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ResourceArgument {
    name: Option<String>,
    weight: Option<i64>,
}

impl ResourceArgument {
    /// Names and weights, with the defaults filled in: CPU and memory, and weights of 1.
    pub(crate) fn weights(list: Option<Vec<Self>>) -> Vec<(String, i64)> {
        let list = list.filter(|list| !list.is_empty()).unwrap_or_else(|| {
            ["cpu", "memory"].map(|name| Self { name: Some(name.into()), weight: None }).into()
        });
        let weigh = |Self { name, weight }| {
            (name.unwrap_or_default(), weight.filter(|weight| *weight != 0).unwrap_or(1))
        };
        list.into_iter().map(weigh).collect()
    }
}

/// How full a node would be of one resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) requested: i64,
    /// Never 0.
    pub(crate) allocatable: i64,
    pub(crate) weight: i64,
}

/// What makes a node good. Arithmetic wraps, as Go's does.
#[derive(Clone, Debug)]
pub(crate) enum Strategy {
    /// That it is empty.
    LeastAllocated,
    /// That it is full.
    MostAllocated,
    /// What the line says, which leads from per cent of use to a score.
    RequestedToCapacityRatio(BrokenLine),
}

impl Strategy {
    /// The score of a node that would be so full.
    pub(crate) fn score(&self, loads: impl Iterator<Item = Load>) -> i64 {
        let (mut sum, mut weights) = (0_i64, 0_i64);
        for load in loads {
            let score = self.score_one(load);
            // Upstream's buildRequestedToCapacityRatioScorerFunction takes a score of 0 for none.
            if score <= 0 && matches!(self, Self::RequestedToCapacityRatio(_)) {
                continue;
            }
            sum = sum.wrapping_add(score.wrapping_mul(load.weight));
            weights = weights.wrapping_add(load.weight);
        }
        match self {
            _ if weights == 0 => 0,
            Self::RequestedToCapacityRatio(_) => (sum as f64 / weights as f64).round() as i64,
            _ => sum.wrapping_div(weights),
        }
    }

    fn score_one(&self, Load { requested, allocatable, .. }: Load) -> i64 {
        let percent = |part: i64| part.wrapping_mul(MAX_SCORE).wrapping_div(allocatable);
        match self {
            Self::LeastAllocated if requested > allocatable => 0,
            Self::LeastAllocated => percent(allocatable.wrapping_sub(requested)),
            Self::MostAllocated => percent(requested.min(allocatable)),
            Self::RequestedToCapacityRatio(line) if requested > allocatable => line.at(MAX_SCORE),
            Self::RequestedToCapacityRatio(line) => line.at(percent(requested)),
        }
    }
}

/// How evenly a node would be used, from 50 to 100, given the part of each resource in use.
pub(crate) fn balance(parts: impl Iterator<Item = f64> + Clone) -> i64 {
    let parts = parts.map(|part| part.min(1.0));
    let count = parts.clone().count();
    let deviation = match count {
        0 | 1 => 0.0,
        // Not only quicker than the root of the sum of squares: it rounds otherwise.
        2 => (parts.fold(0.0, |first, second| second - first) / 2.0).abs(),
        _ => {
            let mean = parts.clone().sum::<f64>() / count as f64;
            let squares = parts.map(|part| (part - mean) * (part - mean)).sum::<f64>();
            (squares / count as f64).sqrt()
        }
    };
    ((1.0 - deviation) * MAX_SCORE as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies() {
        let falling =
            || Strategy::RequestedToCapacityRatio(BrokenLine::new(vec![(0, 100), (100, 0)]));
        let (least, most) = (|| Strategy::LeastAllocated, || Strategy::MostAllocated);
        type Loads = &'static [(i64, i64, i64)];
        #[rustfmt::skip]
        let rows: [(&str, Strategy, Loads, i64); 18] = [
            // what, strategy, (requested, allocatable, weight), score
            ("a quarter and a half free",      least(),    &[(3000, 4000, 1), (5000, 10000, 1)],       37),
            ("memory counts twice",            least(),    &[(3000, 4000, 1), (5000, 10000, 2)],       41),
            ("more asked than there is",       least(),    &[(6000, 4000, 1), (0, 10000, 1)],          50),
            ("nothing counts",                 least(),    &[],                                         0),
            ("with an extended resource",      least(),    &[(5, 10, 1), (5, 10, 1), (2, 4, 1)],       50),
            ("with more of it",                least(),    &[(5, 10, 1), (5, 10, 1), (2, 10, 1)],      60),
            ("as much as there can be",        least(),    &[(0, i64::MAX, 1)],                         0),
            ("three quarters and a half used", most(),     &[(3000, 4000, 1), (5000, 10000, 1)],       62),
            ("more asked than there is",       most(),     &[(300, 250, 1), (600, 1000, 1)],           80),
            ("nothing counts",                 most(),     &[],                                         0),
            ("all of a negative amount",       most(),     &[(i64::MIN, -1, 1)],                        0),
            ("a score of 0 does not count",    falling(),  &[(5000, 4000, 1), (9000, 10000, 1)],       10),
            ("per cent are cut off",           falling(),  &[(4000, 6000, 1), (7000, 10000, 1)],       32),
            ("halves are rounded up",          falling(),  &[(3000, 4000, 1), (5000, 10000, 1)],       38),
            ("weights",                        falling(),  &[(3000, 4000, 1), (5000, 10000, 3)],       44),
            ("empty",                          falling(),  &[(0, 10, 7)],                             100),
            ("full",                           falling(),  &[(10, 10, 7)],                              0),
            ("nothing counts",                 falling(),  &[],                                         0),
        ];
        for (what, strategy, loads, expected) in rows {
            let loads = loads.iter().map(|&(requested, allocatable, weight)| Load {
                requested,
                allocatable,
                weight,
            });
            assert_eq!(strategy.score(loads), expected, "{strategy:?}: {what}");
        }
    }

    #[test]
    fn balances() {
        #[rustfmt::skip]
        let rows: [(&str, &[f64], i64); 8] = [
            ("nothing to compare",          &[],                        100),
            ("one resource",                &[0.7],                     100),
            ("two alike",                   &[0.5, 0.5],                100),
            ("two as far apart as can be",  &[0.0, 1.0],                 50),
            ("a quarter apart",             &[0.75, 0.5],                87),
            ("no part is above 1",          &[1.5, 1.0],                100),
            ("three",                       &[3.0 / 3.5, 0.125, 0.375],  69),
            ("three, one unused",           &[3.0 / 3.5, 0.125, 0.0],    62),
        ];
        for (what, parts, expected) in rows {
            assert_eq!(balance(parts.iter().copied()), expected, "{what}");
        }
    }
}
