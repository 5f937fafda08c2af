//! What happened to a pod, in a few bytes each, the newest so many.

use roadstead_queue::{Place, PluginId, Time};

use super::names::NameId;

/// Something that happened to a pod. What the fields mean is for its kind to say.
// As small as it can be: many are kept for every waiting pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) at: Time,
    /// Milliseconds after `at`: the last repetition, or the end of a backoff.
    pub(super) until_ms: u32,
    pub(super) number: u32,
    pub(super) name: NameId,
    pub(super) plugin: Option<PluginId>,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `name` is the event.
    Queued,
    /// `plugin` holds it; `name` is the cause.
    Gated,
    /// `number` is the attempt.
    Popped,
    /// The same, before the backoff had ended.
    PoppedEarly,
    /// `plugin` refused it for the reason `name` on `number` nodes.
    Refused,
    /// `name` is what went wrong.
    Failed,
    /// `plugin` was asked about the event `name`, `number` times.
    HintQueue,
    HintSkip,
    HintError,
    /// The place that it came to; `name` is the cause, `until_ms` the end of a backoff.
    MovedToActive,
    MovedToBackoff,
    MovedToErrorBackoff,
    MovedToUnschedulable,
    /// `name` is the node.
    Nominated,
    /// `number` others are to leave the node `name` for it.
    Preempting,
    /// It is to leave its node for the pod `name`.
    PreemptedBy,
    /// A node was found: it waits no more.
    Placed,
    /// `name` is the node, `number` the attempts.
    Bound,
    Deleted,
}

impl Kind {
    pub(super) fn is_hint(self) -> bool {
        matches!(self, Self::HintQueue | Self::HintSkip | Self::HintError)
    }

    /// Whether an attempt begins.
    fn is_pop(self) -> bool {
        matches!(self, Self::Popped | Self::PoppedEarly)
    }
}

impl Record {
    pub(super) const fn new(kind: Kind, at: Time) -> Self {
        Self { at, until_ms: 0, number: 0, name: NameId::NONE, plugin: None, kind }
    }

    /// A move to that place, which is one to wait in.
    pub(super) fn of_move(to: Place, at: Time) -> Self {
        let ms = |until: Option<Time>| until.map_or(0, |until| millis(at, until));
        let moved = |kind, until_ms| Self { until_ms, ..Self::new(kind, at) };
        match to {
            Place::Active | Place::InFlight => moved(Kind::MovedToActive, 0),
            Place::Backoff { until } => moved(Kind::MovedToBackoff, ms(until)),
            Place::ErrorBackoff { until } => moved(Kind::MovedToErrorBackoff, ms(until)),
            Place::Unschedulable => moved(Kind::MovedToUnschedulable, 0),
            Place::Gated { by } => Self { plugin: Some(by), ..Self::new(Kind::Gated, at) },
        }
    }

    pub(super) fn until(&self) -> Time {
        self.at + std::time::Duration::from_millis(self.until_ms.into())
    }

    /// Whether the other says the same again.
    fn is_repeated_by(&self, other: &Record) -> bool {
        self.kind == other.kind && self.plugin == other.plugin && self.name == other.name
    }
}

fn millis(from: Time, to: Time) -> u32 {
    u32::try_from((to - from).as_millis()).unwrap_or(u32::MAX)
}

/// The newest records, so many and no more. Memory is taken for a few at first, which most pods
/// need, and then for all; never by an attempt that begins.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    records: Box<[Record]>,
    /// How many there may be.
    most: u16,
    /// Where the oldest is.
    start: u16,
    length: u16,
    dropped: u32,
}

impl Ring {
    /// Room for so many; at least one.
    pub(super) fn new(room: usize) -> Self {
        let most = u16::try_from(room.max(1)).unwrap_or(u16::MAX);
        let records = vec![EMPTY; usize::from(most.min(AT_FIRST))].into();
        Self { records, most, start: 0, length: 0, dropped: 0 }
    }

    /// Takes memory for all that there may be.
    fn grow(&mut self) {
        let mut records = vec![EMPTY; usize::from(self.most)];
        for (to, from) in records.iter_mut().zip(self.iter()) {
            *to = *from;
        }
        (self.records, self.start) = (records.into(), 0);
    }

    /// Gives its memory back. It must be made anew before it is used again.
    pub(super) fn release(&mut self) {
        self.clear();
        self.records = Box::default();
    }

    pub(super) fn is_released(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn clear(&mut self) {
        (self.start, self.length, self.dropped) = (0, 0, 0);
    }

    /// Adds a record; the oldest goes if there is no room.
    pub(super) fn push(&mut self, record: Record) {
        // The next may be an attempt that begins: it must find room.
        let needed = (usize::from(self.length) + 2).min(usize::from(self.most));
        if needed > self.records.len() && !record.kind.is_pop() {
            self.grow();
        }
        let room = self.records.len();
        let end = (usize::from(self.start) + usize::from(self.length)) % room;
        self.records[end] = record;
        if usize::from(self.length) < room {
            self.length += 1;
        } else {
            self.start = (usize::from(self.start) + 1).checked_rem(room).unwrap_or(0) as u16;
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Adds what a hint said, or counts it with what it said before, if nothing but hints came in
    /// between.
    pub(super) fn push_hint(&mut self, hint: Record) {
        let room = self.records.len();
        for back in 1..=usize::from(self.length) {
            let at = (usize::from(self.start) + usize::from(self.length) - back) % room;
            let known = &mut self.records[at];
            if known.is_repeated_by(&hint) {
                known.number = known.number.saturating_add(hint.number);
                known.until_ms = millis(known.at, hint.at);
                return;
            }
            if !known.kind.is_hint() {
                break;
            }
        }
        self.push(hint);
    }

    /// The records, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Record> {
        let room = self.records.len();
        let at = move |index| (usize::from(self.start) + index) % room;
        (0..usize::from(self.length)).map(move |index| &self.records[at(index)])
    }

    /// How many had to go.
    pub(super) fn dropped(&self) -> u32 {
        self.dropped
    }
}

/// As many as a pod has that is placed at once, and one attempt more.
const AT_FIRST: u16 = 6;

const EMPTY: Record = Record::new(Kind::Queued, Time::ZERO);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_begin_take_no_memory_and_nothing_is_lost_before_there_are_too_many() {
        let mut ring = Ring::new(26);
        for second in 0..26 {
            let kind = if second % 2 == 1 { Kind::Popped } else { Kind::Refused };
            let before = ring.records.len();
            ring.push(record(second, kind));
            assert!(kind != Kind::Popped || ring.records.len() == before);
            let kept: Vec<_> = ring.iter().map(|record| record.at.as_millis() / 1000).collect();
            assert_eq!((kept, ring.dropped()), ((0..=second).collect(), 0));
        }
        ring.push(record(26, Kind::Popped));
        assert_eq!((ring.iter().count(), ring.dropped()), (26, 1));
    }

    fn record(second: u64, kind: Kind) -> Record {
        Record { number: 1, ..Record::new(kind, Time::from_secs(second)) }
    }

    #[test]
    fn the_oldest_goes_first_and_is_counted() {
        let mut ring = Ring::new(3);
        for second in 0..5 {
            ring.push(record(second, Kind::Popped));
        }
        let kept: Vec<_> = ring.iter().map(|record| record.at.as_millis() / 1000).collect();
        assert_eq!((kept, ring.dropped()), (vec![2, 3, 4], 2));
    }

    #[test]
    fn hints_are_counted_together_until_something_else_happens() {
        let mut ring = Ring::new(8);
        for (second, kind) in
            [(0, Kind::HintSkip), (1, Kind::HintQueue), (2, Kind::HintSkip), (3, Kind::HintSkip)]
        {
            ring.push_hint(record(second, kind));
        }
        ring.push(record(4, Kind::Popped));
        ring.push_hint(record(5, Kind::HintSkip));
        let kept: Vec<_> =
            ring.iter().map(|r| (r.kind, r.number, r.until().as_millis() / 1000)).collect();
        let expected = [
            (Kind::HintSkip, 3, 3),
            (Kind::HintQueue, 1, 1),
            (Kind::Popped, 1, 4),
            (Kind::HintSkip, 1, 5),
        ];
        assert_eq!(kept, expected);
    }

    #[test]
    fn a_record_is_small() {
        assert_eq!(size_of::<Record>(), 24);
    }
}
