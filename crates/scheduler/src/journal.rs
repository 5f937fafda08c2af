//! What happened to each pod: an observer with a good memory, and not too much of it.

mod entry;
mod names;
mod record;

use std::collections::VecDeque;
use std::fmt;

use hashbrown::HashMap;
use roadstead_model::Pod;
use roadstead_queue::{
    Cause, GateVerdict, HintVerdict, Item, Place, PluginId, Plugins, Time, Transition, Verdict,
};

use crate::diagnosis::Diagnosis;
use crate::events::Object;
use crate::framework::Reason;
use crate::observer::{Happening, Observer};
use crate::scheduler::{PodKey, QueuedPod};
pub use entry::{Destination, Entry, HintWord, History, What};
pub(crate) use entry::{optional_seconds, seconds, span};
use names::{NameId, Names, Short};
use record::{Kind, Record, Ring};

/// How much a [`Journal`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLimits {
    /// How many entries there are for a pod; the oldest go first. Default 26: with it a waiting
    /// pod takes less than 1 KiB.
    pub entries: usize,
    /// Of how many pods anything is kept, finished ones included. Default 200,000.
    pub pods: usize,
    /// How many of them may have left the queue; those that left first are forgotten first.
    /// Default 2,000.
    pub finished: usize,
    /// For how many classes of pods it is kept what hints said of all of them at once. Default
    /// 1,000.
    pub classes: usize,
    /// How many different events, reasons, nodes and other pods entries may speak of. Default
    /// 50,000.
    pub names: usize,
}

impl Default for JournalLimits {
    fn default() -> Self {
        Self { entries: 26, pods: 200_000, finished: 2_000, classes: 1_000, names: 50_000 }
    }
}

/// Keeps what happened to every waiting pod, and to some that have left the queue.
///
/// Everything it keeps has a [limit](JournalLimits). Memory for a pod is taken when the pod comes
/// and once more when much has happened to it, never when an attempt begins.
pub struct Journal {
    limits: JournalLimits,
    plugins: Plugins,
    names: Names,
    by_key: HashMap<PodKey, u32>,
    pods: Vec<Kept>,
    /// Numbers of pods that nobody has, whose memory is used again.
    free: Vec<u32>,
    /// Pods that have left, in this order. One that came back since has another stamp.
    left: VecDeque<(u32, u32)>,
    stamps: u32,
    /// What hints said of all pods of a class at once.
    classes: HashMap<ClassKey, Ring>,
    untold: u64,
}

/// A profile and a class.
type ClassKey = (u16, u64);

/// What is kept of one pod.
struct Kept {
    key: PodKey,
    incarnation: u64,
    class: ClassKey,
    queued: Time,
    /// When it last came to the pool.
    pooled: Time,
    /// When it left it; the end of time while it is there.
    unpooled: Time,
    /// 0 while it is in the queue or tried.
    left: u32,
    attempts: u32,
    ring: Ring,
}

impl Default for Journal {
    fn default() -> Self {
        Self::new(JournalLimits::default())
    }
}

impl Journal {
    /// An empty journal that keeps at most so much.
    #[must_use]
    pub fn new(limits: JournalLimits) -> Self {
        Self {
            limits,
            plugins: Plugins::new(),
            names: Names::new(limits.names),
            by_key: HashMap::new(),
            pods: Vec::new(),
            free: Vec::new(),
            left: VecDeque::new(),
            stamps: 0,
            classes: HashMap::new(),
            untold: 0,
        }
    }

    /// What happened to the pod of that name, if it is known: of several the latest.
    #[must_use]
    pub fn history(&self, key: &PodKey) -> Option<History> {
        let kept = &self.pods[*self.by_key.get(key)? as usize];
        let mut entries: Vec<Entry> =
            kept.ring.iter().map(|record| self.entry(record, false)).collect();
        entries.extend(self.of_class(kept).map(|record| self.entry(record, true)));
        // Stable: what happened at one time stays in its order.
        entries.sort_by_key(|entry| entry.at);
        Some(History {
            namespace: kept.key.namespace.to_string(),
            name: kept.key.name.to_string(),
            queued: kept.queued,
            dropped: kept.ring.dropped(),
            entries,
        })
    }

    /// When the pod of that name was first queued.
    #[must_use]
    pub fn queued(&self, key: &PodKey) -> Option<Time> {
        Some(self.pods[*self.by_key.get(key)? as usize].queued)
    }

    /// Why the pod of that name was last rejected, or what went wrong with it: of its last attempt
    /// that is kept.
    #[must_use]
    pub fn last_word(&self, key: &PodKey) -> Option<String> {
        let kept = &self.pods[*self.by_key.get(key)? as usize];
        let mut words: Vec<String> = Vec::new();
        for record in kept.ring.iter().rev() {
            let name = self.names.word(record.name);
            match record.kind {
                Kind::Failed if words.is_empty() => return Some(name.to_owned()),
                Kind::Refused => words.push(format!("{} {name}", record.number)),
                Kind::Popped | Kind::PoppedEarly if !words.is_empty() => break,
                _ => {}
            }
        }
        words.reverse();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The pods of which anything is kept, in no particular order.
    pub fn pods(&self) -> impl Iterator<Item = &PodKey> {
        self.by_key.keys()
    }

    /// How many pods came for which there was no room.
    #[must_use]
    pub fn untold(&self) -> u64 {
        self.untold
    }

    /// What hints said of the pod's class while it was in the pool, by plugins that refused it.
    fn of_class<'a>(&'a self, kept: &'a Kept) -> impl Iterator<Item = &'a Record> {
        let told = self.classes.get(&kept.class).into_iter().flat_map(Ring::iter);
        let refused = |plugin: Option<PluginId>| {
            let refusals = |record: &&Record| matches!(record.kind, Kind::Refused | Kind::Gated);
            kept.ring.iter().filter(refusals).any(|record| record.plugin == plugin)
        };
        told.filter(|record| record.until() >= kept.pooled && record.at <= kept.unpooled)
            .filter(move |record| refused(record.plugin))
    }

    fn entry(&self, record: &Record, for_class: bool) -> Entry {
        let name = || self.names.word(record.name).to_owned();
        let plugin = || record.plugin.map_or("", |plugin| self.plugins.name(plugin)).to_owned();
        let hint = |verdict| What::Hint {
            event: name(),
            plugin: plugin(),
            verdict,
            times: record.number,
            until: record.until(),
            for_class,
        };
        let moved = |to, until| What::Moved { to, cause: name(), until };
        let backoff = Some(record.until()).filter(|_| record.until_ms > 0);
        let what = match record.kind {
            Kind::Queued => What::Queued { event: name() },
            Kind::Gated => What::Gated { by: plugin(), cause: name() },
            Kind::Popped => What::Popped { attempt: record.number, early: false },
            Kind::PoppedEarly => What::Popped { attempt: record.number, early: true },
            Kind::Refused => {
                What::Refused { plugin: plugin(), reason: name(), nodes: record.number }
            }
            Kind::Failed => What::Failed { message: name() },
            Kind::HintQueue => hint(HintWord::Queue),
            Kind::HintSkip => hint(HintWord::Skip),
            Kind::HintError => hint(HintWord::Error),
            Kind::MovedToActive => moved(Destination::Active, None),
            Kind::MovedToBackoff => moved(Destination::Backoff, backoff),
            Kind::MovedToErrorBackoff => moved(Destination::ErrorBackoff, backoff),
            Kind::MovedToUnschedulable => moved(Destination::Unschedulable, None),
            Kind::Nominated => What::Nominated { node: name() },
            Kind::Preempting => What::Preempting { node: name(), victims: record.number },
            Kind::PreemptedBy => What::PreemptedBy { pod: name() },
            Kind::Placed => What::Placed,
            Kind::Bound => What::Bound { node: name(), attempts: record.number },
            Kind::Deleted => What::Deleted,
        };
        Entry { at: record.at, what }
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("pods", &self.by_key.len()).finish_non_exhaustive()
    }
}

impl roadstead_queue::Observer<QueuedPod, Object> for Journal {
    fn transition(&mut self, step: &Transition<'_, QueuedPod>) {
        let Some(id) = self.kept(step) else { return };
        let at = step.at;
        let kept = &mut self.pods[id as usize];
        if step.to.is_some_and(Place::is_pool) {
            (kept.pooled, kept.unpooled) = (at, Time::from_nanos(u64::MAX));
        } else if step.from.is_some_and(Place::is_pool) {
            kept.unpooled = at;
        }
        match (step.to, step.cause) {
            (_, Cause::Popped | Cause::PoppedFromBackoff) => {
                let early = step.cause == Cause::PoppedFromBackoff;
                let kind = if early { Kind::PoppedEarly } else { Kind::Popped };
                kept.attempts = kept.attempts.saturating_add(1);
                let number = kept.attempts;
                kept.ring.push(Record { number, ..Record::new(kind, at) });
            }
            (Some(to), cause) => {
                let name = self.name(Short::of(cause.label()).as_str());
                let kept = &mut self.pods[id as usize];
                let is_new = step.from.is_none() && matches!(cause, Cause::Added(_));
                if is_new {
                    kept.ring.push(Record { name, ..Record::new(Kind::Queued, at) });
                }
                if !(is_new && to == Place::Active) {
                    kept.ring.push(Record { name, ..Record::of_move(to, at) });
                }
            }
            (None, cause) => {
                let kind = if cause == Cause::Finished { Kind::Placed } else { Kind::Deleted };
                kept.ring.push(Record::new(kind, at));
                self.leave(id);
            }
        }
    }

    fn hint(&mut self, verdict: &HintVerdict<'_, QueuedPod, Object>) {
        let kind = match verdict.verdict {
            Verdict::Queue => Kind::HintQueue,
            Verdict::Skip => Kind::HintSkip,
            Verdict::Error(_) => Kind::HintError,
        };
        let name = self.name(Short::of(verdict.event.label()).as_str());
        let plugin = Some(verdict.plugin);
        let record = Record { number: 1, name, plugin, ..Record::new(kind, verdict.at) };
        if verdict.items > 1 {
            return self.hint_for_class(class_of(verdict.item), record);
        }
        if let Some(id) = self.by_key.get(verdict.item.key()) {
            self.pods[*id as usize].ring.push_hint(record);
        }
    }

    /// What a gate says shows in where the pod comes to.
    fn gate(&mut self, _: &GateVerdict<'_, QueuedPod>) {}
}

impl Observer for Journal {
    fn happened(&mut self, happening: &Happening<'_>) {
        match *happening {
            Happening::Rejected { pod, diagnosis, at } => self.rejected(pod, diagnosis, at),
            Happening::Failed { pod, message, at } => {
                let name = self.name(message);
                self.note(pod, Record { name, ..Record::new(Kind::Failed, at) });
            }
            Happening::Nominated { pod, node, at } => {
                let name = self.name(node);
                self.note(pod, Record { name, ..Record::new(Kind::Nominated, at) });
            }
            Happening::Preempted { pod, node, victims, at } => {
                let (name, number) = (self.name(node), count(victims.len()));
                self.note(pod, Record { name, number, ..Record::new(Kind::Preempting, at) });
                let preemptor = Short::of(format_args!("{}/{}", pod.namespace(), pod.name));
                let name = self.name(preemptor.as_str());
                for victim in victims.iter().filter(|victim| !victim.is_terminating()) {
                    self.note(victim, Record { name, ..Record::new(Kind::PreemptedBy, at) });
                }
            }
            Happening::Scheduled { pod, node, attempts: number, at, .. } => {
                let name = self.name(node);
                self.note(pod, Record { name, number, ..Record::new(Kind::Bound, at) });
            }
            _ => {}
        }
    }

    fn start(&mut self, plugins: &Plugins) {
        self.plugins = plugins.clone();
    }
}

impl Journal {
    /// The number of the pod that a step is about, if anything is kept of it. A new one gets its
    /// memory here.
    fn kept(&mut self, step: &Transition<'_, QueuedPod>) -> Option<u32> {
        let (key, incarnation) = (step.item.key(), step.item.incarnation());
        let Some(&id) = self.by_key.get(key) else {
            step.to?;
            return self.keep(step);
        };
        let kept = &mut self.pods[id as usize];
        if incarnation < kept.incarnation {
            return None;
        }
        if incarnation > kept.incarnation {
            kept.renew(step);
        }
        kept.class = class_of(step.item);
        if step.to.is_some() {
            kept.left = 0;
        }
        Some(id)
    }

    fn keep(&mut self, step: &Transition<'_, QueuedPod>) -> Option<u32> {
        if self.by_key.len() >= self.limits.pods {
            self.forget_first();
        }
        if self.by_key.len() >= self.limits.pods {
            self.untold += u64::from(matches!(step.cause, Cause::Added(_)));
            return None;
        }
        let id = match self.free.pop() {
            Some(id) => {
                let kept = &mut self.pods[id as usize];
                kept.key = step.item.key().clone();
                if kept.ring.is_released() {
                    kept.ring = Ring::new(self.limits.entries);
                }
                id
            }
            None => {
                self.pods.push(Kept {
                    key: step.item.key().clone(),
                    incarnation: 0,
                    class: (0, 0),
                    queued: step.at,
                    pooled: step.at,
                    unpooled: step.at,
                    left: 0,
                    attempts: 0,
                    ring: Ring::new(self.limits.entries),
                });
                u32::try_from(self.pods.len() - 1).ok()?
            }
        };
        self.pods[id as usize].renew(step);
        self.by_key.insert(step.item.key().clone(), id);
        Some(id)
    }

    /// The pod has left the queue; it may come back.
    fn leave(&mut self, id: u32) {
        self.stamps = self.stamps.wrapping_add(1).max(1);
        self.pods[id as usize].left = self.stamps;
        self.left.push_back((id, self.stamps));
        // Those that came back are still in the list.
        if self.left.len() > self.limits.finished.saturating_mul(2).saturating_add(64) {
            let pods = &self.pods;
            self.left.retain(|(id, stamp)| pods[*id as usize].left == *stamp);
        }
        while self.left.len() > self.limits.finished {
            self.forget_first();
        }
    }

    /// Forgets the pod that left first, if any did.
    fn forget_first(&mut self) {
        while let Some((id, stamp)) = self.left.pop_front() {
            let kept = &mut self.pods[id as usize];
            if kept.left == stamp {
                kept.left = 0;
                self.by_key.remove(&kept.key);
                // After a rush most of it would lie idle.
                if self.free.len() >= self.limits.finished {
                    kept.ring.release();
                }
                self.free.push(id);
                return;
            }
        }
    }

    fn rejected(&mut self, pod: &Pod, diagnosis: &Diagnosis, at: Time) {
        let Some(&id) = self.by_key.get(&PodKey::of(pod)) else { return };
        let mut refusals = Refusals::default();
        for (status, nodes) in diagnosis.statuses() {
            for reason in status.reasons() {
                refusals.add(status.plugin(), reason, count(nodes));
            }
        }
        for (plugin, reason, number) in refusals.iter() {
            let (name, plugin) = (self.name(reason), self.plugins.id(plugin));
            let record = Record { name, plugin, number, ..Record::new(Kind::Refused, at) };
            self.pods[id as usize].ring.push(record);
        }
    }

    fn note(&mut self, pod: &Pod, record: Record) {
        if let Some(&id) = self.by_key.get(&PodKey::of(pod)) {
            self.pods[id as usize].ring.push(record);
        }
    }

    fn hint_for_class(&mut self, class: ClassKey, record: Record) {
        if let Some(ring) = self.classes.get_mut(&class) {
            return ring.push_hint(record);
        }
        if self.classes.len() >= self.limits.classes {
            let last = |ring: &Ring| ring.iter().map(Record::until).max();
            let oldest = self.classes.iter().min_by_key(|(class, ring)| (last(ring), **class));
            let Some(oldest) = oldest.map(|(class, _)| *class) else { return };
            self.classes.remove(&oldest);
        }
        let mut ring = Ring::new(CLASS_ENTRIES);
        ring.push_hint(record);
        self.classes.insert(class, ring);
    }

    /// The number of a word. Where there is no room, words are forgotten that nobody has any more.
    fn name(&mut self, word: &str) -> NameId {
        if let Some(id) = self.names.id(word) {
            return id;
        }
        if !self.names.wants_sweep() {
            return NameId::NONE;
        }
        let of_pods = self.by_key.values().map(|id| &self.pods[*id as usize].ring);
        let rings = of_pods.chain(self.classes.values());
        self.names.keep(rings.flat_map(Ring::iter).map(|record| record.name));
        self.names.id(word).unwrap_or(NameId::NONE)
    }
}

impl Kept {
    /// It is another pod from now on.
    fn renew(&mut self, step: &Transition<'_, QueuedPod>) {
        self.incarnation = step.item.incarnation();
        self.class = class_of(step.item);
        (self.queued, self.pooled, self.unpooled) = (step.at, step.at, step.at);
        (self.left, self.attempts) = (0, 0);
        self.ring.clear();
    }
}

/// Reasons of a rejection with the numbers of nodes, on the stack: the first few, and the rest
/// as one.
#[derive(Default)]
struct Refusals<'a> {
    known: [(&'static str, &'a str, u32); MOST_REASONS],
    length: usize,
}

impl<'a> Refusals<'a> {
    fn add(&mut self, plugin: &'static str, reason: &'a Reason, nodes: u32) {
        let reason: &str = reason;
        let known = &mut self.known[..self.length];
        if let Some((_, _, number)) =
            known.iter_mut().find(|(own, known, _)| *own == plugin && *known == reason)
        {
            *number = number.saturating_add(nodes);
        } else if self.length < MOST_REASONS {
            self.known[self.length] = (plugin, reason, nodes);
            self.length += 1;
        } else {
            let (last, words, number) = &mut self.known[MOST_REASONS - 1];
            (*last, *words) = ("", "node(s) had other reasons");
            *number = number.saturating_add(nodes);
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&'static str, &'a str, u32)> {
        self.known[..self.length].iter().copied()
    }
}

fn class_of(item: &QueuedPod) -> ClassKey {
    (item.profile().0, item.class().unwrap_or_default())
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// How many reasons of one rejection are told apart.
const MOST_REASONS: usize = 6;
const CLASS_ENTRIES: usize = 16;
