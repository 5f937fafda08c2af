//! What an activity has to show, as data.

use roadstead_queue::{PluginId, Time};
use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};

use super::Activity;
use super::flows::{Counted, FlowKey};
use super::held::HeldPods;
use super::wakes::Tally;
use crate::journal::seconds;

/// What goes on in a scheduler.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivityDocument {
    /// When this was true.
    #[serde(serialize_with = "seconds")]
    pub now: Time,
    /// How many pods are in each place.
    pub counts: Depths,
    /// What keeps the unschedulable and the gated ones; most frequent first.
    pub held: Vec<HeldPods>,
    /// What happened in all.
    pub totals: Totals,
    /// Moves from place to place, by cause; most frequent first.
    pub flows: Vec<Flow>,
    /// What happened in each of the last seconds that have ended; absent if it was taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// The busiest events.
    pub events: Vec<EventActivity>,
    /// The busiest hints.
    pub hints: Vec<HintActivity>,
    /// The last moves of some of the pods that moved lately, oldest first.
    pub recent: Vec<RecentMove>,
}

/// How many pods are in each place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "they are called after the places of the queue")]
pub struct Depths {
    pub active: usize,
    /// After rejections and errors.
    pub backoff: usize,
    pub unschedulable: usize,
    pub gated: usize,
    pub in_flight: usize,
    /// Those that have a node and are not bound yet.
    pub binding: usize,
}

/// What happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Attempts that came to their end.
    pub attempts: u64,
    /// Pods that were bound.
    pub bound: u64,
    /// Attempts that ended in a rejection.
    pub unschedulable: u64,
    /// Attempts in which something went wrong.
    pub errors: u64,
    /// Pods that were chosen to make room for others.
    pub preempted: u64,
    /// Moves from place to place, coming and going included.
    pub moves: u64,
}

/// How often pods moved from one place to another for one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// A place, or `new`.
    pub from: &'static str,
    /// A place, `bound` or `gone`.
    pub to: &'static str,
    /// Why.
    pub cause: String,
    /// How often.
    pub count: u64,
    /// How often a second lately: in the last few seconds if that is many, and else in the last
    /// minute, or since all began.
    pub rate: f64,
}

/// Records of seconds that have ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Seconds from one to the next.
    pub step: u32,
    /// The beginning of the first.
    pub start: u64,
    /// Oldest first, without gaps.
    pub samples: Vec<Sample>,
}

/// What happened in a second, and how many pods were where at its end. It is written as a list, in
/// this order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "they are called after the places of the queue, and the totals")]
pub struct Sample {
    pub active: usize,
    pub backoff: usize,
    pub unschedulable: usize,
    pub gated: usize,
    pub in_flight: usize,
    pub attempts: u32,
    pub bound: u32,
    pub moves: u32,
    /// For how long half of the pods that were bound in the minute up to then had waited, in
    /// seconds.
    pub wait_p50: Option<f32>,
    pub wait_p99: Option<f32>,
}

impl Serialize for Sample {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_tuple(10)?;
        let depths = [self.active, self.backoff, self.unschedulable, self.gated, self.in_flight];
        for depth in depths {
            list.serialize_element(&depth)?;
        }
        for number in [self.attempts, self.bound, self.moves] {
            list.serialize_element(&number)?;
        }
        for wait in [self.wait_p50, self.wait_p99] {
            // A bound of a bucket: three digits are more than it is worth.
            let rounded = wait.map(|wait| (f64::from(wait) * 1000.0).round() / 1000.0);
            list.serialize_element(&rounded)?;
        }
        list.end()
    }
}

/// What came of an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventActivity {
    /// Its name.
    pub event: String,
    /// How often it was dealt with.
    pub seen: u64,
    /// How many pods it woke.
    pub woke: u64,
    /// How many of them were placed by the attempt that followed.
    pub placed: u64,
    /// The share of those among the woken pods that were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// What dealing with it took.
    pub seconds: f64,
    /// What the attempts took that followed and placed nobody.
    pub wasted: f64,
}

/// What came of a plugin's word on an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HintActivity {
    /// The plugin; absent for pods that the event woke without asking any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The event.
    pub event: String,
    /// How often it was asked; one answer may hold for many pods that are alike.
    pub asked: u64,
    /// How often it said that the event may help.
    pub queue: u64,
    /// How often that it cannot.
    pub skip: u64,
    /// How often it failed.
    pub error: u64,
    /// How many pods its word woke.
    pub woke: u64,
    /// How many of them were placed by the attempt that followed.
    pub placed: u64,
    /// The share of those among the woken pods that were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// What asking it took.
    pub seconds: f64,
    /// What the attempts took that followed and placed nobody.
    pub wasted: f64,
}

/// A pod's move from one place to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecentMove {
    /// When.
    #[serde(serialize_with = "seconds")]
    pub at: Time,
    /// The pod's namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// A place, or `new`.
    pub from: &'static str,
    /// A place, `bound` or `gone`.
    pub to: &'static str,
    /// Why.
    pub cause: String,
}

impl Activity {
    /// All that is known at that time, with so many pods in each place, held by that.
    pub fn document(&mut self, counts: Depths, held: Vec<HeldPods>, now: Time) -> ActivityDocument {
        self.at(now);
        ActivityDocument {
            now,
            counts,
            held,
            totals: self.totals,
            flows: self.flows(now),
            series: Some(self.seconds.series()),
            events: self.events(),
            hints: self.hints(),
            recent: self.recent(),
        }
    }

    fn flows(&self, now: Time) -> Vec<Flow> {
        let mut flows: Vec<_> = self.flows.iter().collect();
        flows.sort_by_key(|(key, counted)| (std::cmp::Reverse(counted.count), *key));
        let began = self.seconds.first();
        let flow = |(key, counted): (FlowKey, &Counted)| Flow {
            from: key.from.name(),
            to: key.to.name(),
            cause: self.words.word(key.cause).to_owned(),
            count: counted.count,
            rate: (counted.rate(now, began) * 1e4).round() / 1e4,
        };
        flows.into_iter().map(flow).collect()
    }

    fn events(&self) -> Vec<EventActivity> {
        let mut events: Vec<_> = self.wakes.events().collect();
        events.sort_by_key(|(event, tally)| (std::cmp::Reverse(busy(tally)), *event));
        events.truncate(MOST_EVENTS);
        let event = |(event, tally): (_, &Tally)| EventActivity {
            event: self.words.word(event).to_owned(),
            seen: tally.seen,
            woke: tally.woke,
            placed: tally.placed,
            precision: tally.precision(),
            seconds: tally.cost as f64 / 1e9,
            wasted: tally.wasted as f64 / 1e9,
        };
        events.into_iter().map(event).collect()
    }

    fn hints(&self) -> Vec<HintActivity> {
        let mut hints: Vec<_> = self.wakes.hints().collect();
        hints.sort_by_key(|(plugin, event, tally)| {
            (std::cmp::Reverse(busy(tally)), *event, plugin.map(|plugin| self.plugins.name(plugin)))
        });
        hints.truncate(MOST_HINTS);
        let hint = |(plugin, event, tally): (Option<PluginId>, _, &Tally)| HintActivity {
            plugin: plugin.map(|plugin| self.plugins.name(plugin).to_owned()),
            event: self.words.word(event).to_owned(),
            asked: tally.asked,
            queue: tally.queue,
            skip: tally.skip,
            error: tally.error,
            woke: tally.woke,
            placed: tally.placed,
            precision: tally.precision(),
            seconds: tally.cost as f64 / 1e9,
            wasted: tally.wasted as f64 / 1e9,
        };
        hints.into_iter().map(hint).collect()
    }

    fn recent(&self) -> Vec<RecentMove> {
        let moved = |step: &super::recent::Move| RecentMove {
            at: step.at,
            namespace: step.key.namespace.to_string(),
            name: step.key.name.to_string(),
            from: step.from.name(),
            to: step.to.name(),
            cause: self.words.word(step.cause).to_owned(),
        };
        self.recent.iter().map(moved).collect()
    }
}

/// How much there was to do.
fn busy(tally: &Tally) -> u64 {
    tally.seen + tally.asked + tally.woke
}

const MOST_EVENTS: usize = 20;
const MOST_HINTS: usize = 40;
