//! What is always true.

use super::Queue;
use crate::entry::Spot;
use crate::item::Item;
use crate::order::QueueSort;
use crate::policy::Policy;

impl<P: Policy, S: QueueSort<P::Item>, V> Queue<P, S, V> {
    /// Checks everything that the queue promises of its own structures; for tests. It takes
    /// time in proportion to all that waits.
    ///
    /// # Errors
    ///
    /// The promise that was broken, in words.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.active.check_invariants()?;
        self.backoff.check_invariants()?;
        self.error_backoff.check_invariants()?;
        self.pool.check_invariants()?;
        self.in_flight.check_invariants()?;
        self.nominator.check_invariants()?;

        let listed = self.active.iter().map(|ranked| ranked.id);
        let listed = listed.chain(self.backoff.iter().map(|due| due.ranked.id));
        let listed = listed.chain(self.error_backoff.iter().map(|due| due.ranked.id));
        let mut listed: Vec<u32> = listed.chain(self.pool.items()).collect();
        let waiting = self.entries.iter().filter(|(_, entry)| entry.is_waiting()).count();
        if listed.len() != waiting {
            return Err("an item waits in no place, or in two".into());
        }
        listed.sort_unstable();
        listed.dedup();
        if listed.len() != waiting || self.index.len() != self.entries.len() {
            return Err("an item is listed twice, or not in the index".into());
        }
        let mut held = 0;
        let mut watched = 0;
        for (id, entry) in self.entries.iter() {
            let rejectors = self.rejections.get(entry.record.rejection);
            held += usize::from(!rejectors.is_empty());
            let gated = entry.record.gate.is_some();
            let right = match entry.spot {
                Spot::Nowhere => false,
                Spot::Active { .. } => !gated,
                Spot::Backoff { .. } => !(gated && self.config.pop_from_backoff),
                Spot::ErrorBackoff { .. } => !gated && rejectors.is_empty(),
                Spot::Pool(seat) => {
                    let described = (self.bucket_key(entry), entry.item.class());
                    self.pool.is_seated(id, seat)
                        && self.pool.describes(seat) == described
                        && !rejectors.is_empty()
                }
                Spot::InFlight { marker, .. } => {
                    watched += usize::from(marker.get().is_some());
                    true
                }
            };
            if !right {
                return Err(format!("an item is not as its place demands: {:?}", entry.spot));
            }
            if entry.record.gate.is_some_and(|gate| !rejectors.unschedulable().contains(&gate)) {
                return Err("a gate that holds an item is not among its rejectors".into());
            }
            if entry.is_waiting() && self.waiting_id(entry.item.key()) != Some(id) {
                return Err("two items wait under one key".into());
            }
        }
        if held != self.rejections.holders() {
            return Err("sets of rejectors are held by nobody".into());
        }
        if watched != self.in_flight.attempts() {
            return Err("a marker in the log belongs to no attempt".into());
        }
        if self.move_request_cycle.is_some_and(|latest| latest > self.scheduling_cycle) {
            return Err("a move request is from a cycle to come".into());
        }
        Ok(())
    }
}
