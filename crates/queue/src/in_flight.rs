//! Attempts under way, and what happened meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::event::Event;
use crate::plugin::Interest;
use crate::slab::Slab;

/// One log of events with a marker for every attempt: an attempt has seen what the log holds
/// behind its marker. An event is kept while some marker stands before it.
pub(crate) struct InFlight<O> {
    events: VecDeque<Logged<O>>,
    /// The number of the log's first event; the events ever logged are numbered from zero.
    start: u64,
    markers: Slab<Marker>,
    /// Markers in the order of their attempts, hence of what they have seen.
    oldest: Option<u32>,
    newest: Option<u32>,
    limit: usize,
}

/// Something that happened while attempts were under way.
pub(crate) enum Logged<O> {
    /// An event, and who hears of it.
    Event(Event<O>, Arc<Interest>),
    /// The item in this slot was activated during its own attempt.
    Activated(u32),
}

struct Marker {
    seen_from: u64,
    older: Option<u32>,
    newer: Option<u32>,
}

impl<O> InFlight<O> {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            events: VecDeque::new(),
            start: 0,
            markers: Slab::new(),
            oldest: None,
            newest: None,
            limit,
        }
    }

    /// An attempt begins: what happens from now on is kept for it.
    pub(crate) fn begin(&mut self) -> u32 {
        let seen_from = self.start + self.events.len() as u64;
        let older = self.newest;
        let marker = self.markers.insert(Marker { seen_from, older, newer: None });
        match older {
            Some(older) => self.markers[older].newer = Some(marker),
            None => self.oldest = Some(marker),
        }
        self.newest = Some(marker);
        marker
    }

    /// An attempt needs no more events. What only it needed is forgotten.
    pub(crate) fn end(&mut self, marker: u32) {
        let Some(Marker { older, newer, .. }) = self.markers.remove(marker) else { return };
        match older {
            Some(older) => self.markers[older].newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => self.markers[newer].older = older,
            None => self.newest = older,
        }
        let needed_from = match self.oldest {
            Some(oldest) => self.markers[oldest].seen_from,
            None => self.start + self.events.len() as u64,
        };
        self.forget_before(needed_from);
    }

    /// Keeps what happened, if anybody is under way who might want it.
    pub(crate) fn record(&mut self, logged: Logged<O>) {
        if self.markers.len() == 0 {
            return;
        }
        self.events.push_back(logged);
        if self.events.len() > self.limit {
            self.forget_before(self.start + 1);
        }
    }

    /// What happened since the marker was set, oldest first. [`Seen::lost`] where some of it was
    /// forgotten because the log was full.
    pub(crate) fn since(&self, marker: u32) -> Seen<impl Iterator<Item = &Logged<O>>> {
        let seen_from = self.markers.get(marker).map_or(u64::MAX, |marker| marker.seen_from);
        let known = usize::try_from(seen_from.saturating_sub(self.start)).unwrap_or(usize::MAX);
        Seen { lost: seen_from < self.start, events: self.events.iter().skip(known) }
    }

    /// Attempts for which events are kept.
    pub(crate) fn attempts(&self) -> usize {
        self.markers.len()
    }

    /// Events that are kept.
    pub(crate) fn events(&self) -> impl ExactSizeIterator<Item = &Logged<O>> {
        self.events.iter()
    }

    pub(crate) fn check_invariants(&self) -> Result<(), &'static str> {
        let mut seen_from = self.start;
        let mut at = self.oldest;
        let mut count = 0;
        while let Some(marker) = at {
            count += 1;
            if self.markers[marker].seen_from < seen_from && count > 1 {
                return Err("markers are not in the order of their attempts");
            }
            seen_from = self.markers[marker].seen_from;
            at = self.markers[marker].newer;
        }
        if count != self.markers.len() {
            return Err("a marker is not on the list");
        }
        if self.events.len() > self.limit || (count == 0 && !self.events.is_empty()) {
            return Err("the log keeps events that nobody needs");
        }
        let oldest = self.oldest.map(|marker| self.markers[marker].seen_from);
        if oldest.is_some_and(|oldest| oldest > self.start) {
            return Err("the log was not pruned");
        }
        Ok(())
    }

    fn forget_before(&mut self, number: u64) {
        let gone = usize::try_from(number.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let gone = gone.min(self.events.len());
        self.events.drain(..gone);
        self.start += gone as u64;
        // A burst must not keep its memory for ever.
        if self.events.is_empty() && self.events.capacity() > 1_024 {
            self.events = VecDeque::new();
        }
    }
}

/// What an attempt has seen.
pub(crate) struct Seen<I> {
    pub(crate) lost: bool,
    pub(crate) events: I,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(limit: usize) -> InFlight<()> {
        InFlight::new(limit)
    }

    fn numbers(
        seen: Seen<impl Iterator<Item = impl std::ops::Deref<Target = Logged<()>>>>,
    ) -> Vec<u32> {
        seen.events
            .map(|logged| match &*logged {
                Logged::Activated(number) => *number,
                Logged::Event(..) => u32::MAX,
            })
            .collect()
    }

    #[test]
    fn an_attempt_sees_what_came_after_it_began() {
        let mut log = log(100);
        log.record(Logged::Activated(0));
        let a = log.begin();
        log.record(Logged::Activated(1));
        let b = log.begin();
        log.record(Logged::Activated(2));
        assert_eq!(numbers(log.since(a)), [1, 2]);
        assert_eq!(numbers(log.since(b)), [2]);

        log.end(b);
        assert_eq!(log.events().len(), 2, "the older attempt still needs both");
        log.end(a);
        assert_eq!(log.events().len(), 0);
        log.check_invariants().unwrap();
    }

    #[test]
    fn the_end_of_the_oldest_prunes_up_to_the_next() {
        let mut log = log(100);
        let markers: Vec<_> = (0..4)
            .map(|number| {
                let marker = log.begin();
                log.record(Logged::Activated(number));
                marker
            })
            .collect();
        log.end(markers[1]);
        assert_eq!(log.events().len(), 4);
        log.end(markers[0]);
        assert_eq!(log.events().len(), 2);
        assert_eq!(numbers(log.since(markers[3])), [3]);
        log.check_invariants().unwrap();
    }

    #[test]
    fn a_full_log_forgets_the_oldest_and_says_so() {
        let mut log = log(3);
        let early = log.begin();
        log.record(Logged::Activated(0));
        let late = log.begin();
        for number in 1..=3 {
            log.record(Logged::Activated(number));
        }
        assert!(log.since(early).lost);
        assert!(!log.since(late).lost);
        assert_eq!(numbers(log.since(late)), [1, 2, 3]);
        log.check_invariants().unwrap();
    }
}
