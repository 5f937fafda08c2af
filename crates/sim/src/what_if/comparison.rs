//! Two runs of the same inputs, compared pod by pod.

use std::time::Duration;

use roadstead_model::Text;
use roadstead_queue::Time;
use roadstead_recording::Ending;
use serde::Serialize;

use super::course::Course;
use super::learning::Learned;
use crate::outcome::Seconds;
use crate::replay::Difference;

/// What another configuration would have changed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// How long the recorded run was.
    pub duration: Seconds,
    /// Pods, counted by what would have changed.
    pub counts: ChangeCounts,
    /// How many pods the recorded scheduler evicted.
    pub recorded_evictions: usize,
    /// How many the other would have evicted.
    pub other_evictions: usize,
    /// What the same rules say of the recorded configuration: how far they can be trusted.
    pub unchanged: Baseline,
    /// The same with another seed: how much comes of chance, and of what the rules cannot know.
    pub other_seed: Baseline,
    /// Every pod that waited for a scheduler: what would have changed most comes first.
    pub pods: Vec<PodComparison>,
    /// How the recording ends, if its end was reached.
    #[serde(skip)]
    pub ending: Option<Ending>,
    /// Where the replay as recorded differed, if it did: then none of this can be relied on.
    #[serde(skip)]
    pub difference: Option<Difference>,
}

/// The recorded configuration, run under the rules by which another one is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Baseline {
    /// How many pods would have been placed otherwise.
    pub changed: usize,
    /// Of how many.
    pub pods: usize,
    /// How many would have been evicted.
    pub evictions: usize,
}

impl Baseline {
    pub(super) fn of(compared: &Compared) -> Self {
        let ChangeCounts { equal, waiting, .. } = compared.counts;
        let pods = compared.pods.len();
        Self { changed: pods - equal - waiting, pods, evictions: compared.evictions }
    }
}

/// Pods, counted by what would have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "as in PlacementChange")]
pub struct ChangeCounts {
    pub sooner: usize,
    pub later: usize,
    pub elsewhere: usize,
    pub newly_placed: usize,
    pub no_longer_placed: usize,
    pub equal: usize,
    pub waiting: usize,
}

/// What would have changed for a pod. Of two times that are less than a tenth of a second apart
/// neither is sooner: bindings take as long in one run as in another only by the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PlacementChange {
    /// It would not have been placed.
    NoLongerPlaced,
    /// It would have been placed.
    NewlyPlaced,
    /// It would have been placed later.
    Later,
    /// It would have been placed sooner.
    Sooner,
    /// It would have been placed at the same time on another node.
    Elsewhere,
    /// Nothing.
    Equal,
    /// It waits in both.
    Waiting,
}

/// A pod in both runs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodComparison {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What would have changed.
    pub change: PlacementChange,
    /// When it came.
    pub created: Seconds,
    /// Where and when it was placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Placement>,
    /// Where and when it would have been placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<Placement>,
}

/// Where and when a pod was placed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// When, since the start.
    pub at: Seconds,
    /// The node.
    pub node: String,
}

/// What a run came to, beside what was recorded.
pub(super) struct Compared {
    pub(super) counts: ChangeCounts,
    pub(super) pods: Vec<PodComparison>,
    pub(super) evictions: usize,
}

impl Compared {
    pub(super) fn of(learned: &Learned, course: &Course<'_>, start: Time) -> Self {
        let mut counts = ChangeCounts::default();
        let mut pods = Vec::new();
        for record in &learned.pods {
            let recorded = record.bound.zip(record.node.as_ref());
            let came_bound = record.bound.is_none() && record.node.is_some();
            let recorded = recorded.map(|(at, node)| (at - Time::ZERO, node));
            let other = course.placed.get(record.pod.uid.as_str());
            let other = other.map(|(at, node)| (*at - start, node));
            if came_bound && other.is_none() {
                continue;
            }
            let change = change(recorded, other);
            *counts.of(change) += 1;
            let placement = |(at, node): (Duration, &Text)| Placement {
                at: Seconds::of(at),
                node: node.to_string(),
            };
            let difference = match (recorded, other) {
                (Some((first, _)), Some((second, _))) => first.abs_diff(second),
                (Some((at, _)), None) | (None, Some((at, _))) => {
                    (learned.end - start).saturating_sub(at)
                }
                (None, None) => Duration::ZERO,
            };
            let compared = PodComparison {
                namespace: record.pod.namespace().to_string(),
                name: record.pod.name.to_string(),
                change,
                created: Seconds::since_start(record.created),
                recorded: recorded.map(placement),
                other: other.map(placement),
            };
            pods.push((difference, compared));
        }
        pods.sort_by(|(a, one), (b, other)| {
            let rank = |change| matches!(change, PlacementChange::Equal | PlacementChange::Waiting);
            (rank(one.change), b)
                .cmp(&(rank(other.change), a))
                .then_with(|| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)))
        });
        let pods = pods.into_iter().map(|(_, compared)| compared).collect();
        Self { counts, pods, evictions: course.evicted.len() }
    }
}

impl Comparison {
    /// Whether nothing would have changed.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        let ChangeCounts { equal, waiting, .. } = self.counts;
        equal + waiting == self.pods.len()
    }
}

impl ChangeCounts {
    fn of(&mut self, change: PlacementChange) -> &mut usize {
        match change {
            PlacementChange::Sooner => &mut self.sooner,
            PlacementChange::Later => &mut self.later,
            PlacementChange::Elsewhere => &mut self.elsewhere,
            PlacementChange::NewlyPlaced => &mut self.newly_placed,
            PlacementChange::NoLongerPlaced => &mut self.no_longer_placed,
            PlacementChange::Equal => &mut self.equal,
            PlacementChange::Waiting => &mut self.waiting,
        }
    }
}

fn change(
    recorded: Option<(Duration, &Text)>,
    other: Option<(Duration, &Text)>,
) -> PlacementChange {
    match (recorded, other) {
        (None, None) => PlacementChange::Waiting,
        (None, Some(_)) => PlacementChange::NewlyPlaced,
        (Some(_), None) => PlacementChange::NoLongerPlaced,
        (Some((first, _)), Some((second, _))) if first.abs_diff(second) >= NO_DIFFERENCE => {
            if second < first {
                PlacementChange::Sooner
            } else {
                PlacementChange::Later
            }
        }
        (Some((_, first)), Some((_, second))) if first != second => PlacementChange::Elsewhere,
        _ => PlacementChange::Equal,
    }
}

const NO_DIFFERENCE: Duration = Duration::from_millis(100);
