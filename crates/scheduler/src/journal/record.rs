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
    /// `plugin` holds it; `name` is the cause, `number` as of moves.
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
    /// The place that it came to; `name` is the cause, `plugin` found it worth a retry, `until_ms`
    /// is the end of a backoff. `number` is how often pods had come to the pool or
    /// left it.
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
    /// `number` is the attempts; the node is kept beside it.
    Bound,
    Deleted,
}

impl Kind {
    pub(super) fn is_hint(self) -> bool {
        matches!(self, Self::HintQueue | Self::HintSkip | Self::HintError)
    }

    /// Whether the pod came to the pool.
    pub(super) fn is_stay(self) -> bool {
        matches!(self, Self::Gated | Self::MovedToUnschedulable)
    }

    /// Whether the pod is no longer where it was in the pool.
    pub(super) fn ends_stay(self) -> bool {
        use Kind::{Deleted, MovedToActive, MovedToBackoff, MovedToErrorBackoff};
        let moves = [MovedToActive, MovedToBackoff, MovedToErrorBackoff, Deleted];
        self.is_stay() || moves.contains(&self)
    }

    /// Whether the pod has left the queue: no attempt begins unless something else comes before.
    fn is_end(self) -> bool {
        matches!(self, Self::Placed | Self::Bound | Self::Deleted)
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

    /// A move to that place, which is one to wait in, for that plugin's word.
    pub(super) fn of_move(to: Place, by: Option<PluginId>, at: Time) -> Self {
        let ms = |until: Option<Time>| until.map_or(0, |until| millis(at, until));
        let moved = |kind, until_ms| Self { until_ms, plugin: by, ..Self::new(kind, at) };
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

    /// Counts what a hint said with what it said before, if it is the same.
    pub(super) fn repeat(&mut self, hint: &Record) -> bool {
        let is_same =
            self.kind == hint.kind && self.plugin == hint.plugin && self.name == hint.name;
        if is_same {
            self.number = self.number.saturating_add(hint.number);
            self.until_ms = millis(self.at, hint.at);
        }
        is_same
    }
}

fn millis(from: Time, to: Time) -> u32 {
    u32::try_from((to - from).as_millis()).unwrap_or(u32::MAX)
}

/// The newest records, so many and no more.
///
/// The first few, which is all that most pods ever need, lie within it; memory for more is taken
/// in two steps, never by an attempt that begins.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// How many there may be.
    most: u16,
    /// How many there is memory for.
    room: u16,
    /// Where the oldest is.
    start: u16,
    length: u16,
    dropped: u32,
    first: [Record; FIRST as usize],
    /// All of them, once there were too many for that.
    more: Vec<Record>,
}

impl Ring {
    /// Room for so many; at least one.
    pub(super) fn new(most: usize) -> Self {
        let most = u16::try_from(most.max(1)).unwrap_or(u16::MAX).min(MOST);
        Self {
            first: [EMPTY; FIRST as usize],
            more: Vec::new(),
            most,
            room: most.min(FIRST),
            start: 0,
            length: 0,
            dropped: 0,
        }
    }

    /// Takes memory for some more, or for all that there may be.
    fn grow(&mut self) {
        let room = if self.room < SECOND { SECOND.min(self.most) } else { self.most };
        let mut records = Vec::with_capacity(room.into());
        records.extend(self.iter());
        (self.more, self.room, self.start) = (records, room, 0);
    }

    /// Forgets all of them and gives their memory back.
    pub(super) fn release(&mut self) {
        self.clear();
        (self.more, self.room) = (Vec::new(), self.most.min(FIRST));
    }

    pub(super) fn clear(&mut self) {
        self.more.clear();
        (self.start, self.length, self.dropped) = (0, 0, 0);
    }

    /// Adds a record; the oldest goes if there is no room.
    pub(super) fn push(&mut self, record: Record) {
        if self.length + 2 > self.room {
            self.provide(record.kind);
        }
        let end = if self.length < self.room {
            self.length += 1;
            // Nothing had to go yet, so the oldest is where it was.
            usize::from(self.length - 1)
        } else {
            let oldest = self.start;
            self.start = self.at(1);
            self.dropped = self.dropped.saturating_add(1);
            usize::from(oldest)
        };
        if self.room <= FIRST {
            self.first[end] = record;
        } else if let Some(oldest) = self.more.get_mut(end) {
            *oldest = record;
        } else {
            self.more.push(record);
        }
    }

    /// Takes memory before there is none left. An attempt that begins must find some, so whatever
    /// may come before one provides it.
    #[cold]
    fn provide(&mut self, kind: Kind) {
        let needed = self.length + if kind.is_end() { 1 } else { 2 };
        if needed.min(self.most) > self.room && !kind.is_pop() {
            self.grow();
        }
    }

    /// Adds what a hint said, or counts it with what it said before, if nothing but hints came in
    /// between.
    pub(super) fn push_hint(&mut self, hint: Record) {
        for back in 1..=self.length {
            let at = self.at(self.length - back);
            let records = if self.room <= FIRST { &mut self.first[..] } else { &mut self.more };
            let known = &mut records[at as usize];
            if known.repeat(&hint) {
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
        let records = if self.room <= FIRST { &self.first[..] } else { &self.more };
        (0..self.length).map(move |index| &records[self.at(index) as usize])
    }

    /// Where the record is that has so many before it.
    fn at(&self, index: u16) -> u16 {
        let at = u32::from(self.start) + u32::from(index);
        let room = u32::from(self.room);
        // Less than twice the room, so this is the remainder.
        (if at < room { at } else { at - room }) as u16
    }

    /// How many had to go.
    pub(super) fn dropped(&self) -> u32 {
        self.dropped
    }
}

/// As many as a pod has that is placed at once, or that waits after its first attempt and is about
/// to begin another.
const FIRST: u16 = 4;
/// As many as a pod has after some attempts.
const SECOND: u16 = 12;

/// More than anybody would read.
const MOST: u16 = 10_000;

const EMPTY: Record = Record::new(Kind::Deleted, Time::ZERO);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_begin_take_no_memory_and_nothing_is_lost_before_there_are_too_many() {
        let mut ring = Ring::new(26);
        for second in 0..26 {
            let kind = if second % 2 == 1 { Kind::Popped } else { Kind::Refused };
            let before = ring.more.capacity();
            ring.push(record(second, kind));
            assert!(kind != Kind::Popped || ring.more.capacity() == before);
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
