//! What dry runs found on stretches of nodes: those where nothing has changed are passed over at
//! once, however many there are.

use std::cmp::Ordering;

use super::memory::CostId;
use crate::nodes::{Nodes, Slot};

/// The order of nodes, cut into stretches, with what was found on each.
#[derive(Default)]
pub(super) struct Stretches {
    /// Which order it is.
    order: u64,
    /// By slot, the place in the order.
    places: Vec<u32>,
    found: Vec<Option<Summary>>,
}

/// The candidates of a stretch, and the cheapest of them.
#[derive(Clone, Copy, Default)]
pub(super) struct Summary {
    pub(super) harmless: Group,
    pub(super) violating: Group,
}

/// How many candidates there are, and the first of the cheapest.
#[derive(Clone, Copy, Default)]
pub(super) struct Group {
    pub(super) count: usize,
    pub(super) cheapest: Option<(Slot, CostId)>,
}

impl Stretches {
    /// Learns the order of nodes. Another order than before, and nothing is known any more.
    pub(super) fn follow(&mut self, nodes: &Nodes) {
        if self.order == nodes.order_number() && self.places.len() == nodes.slots() {
            return;
        }
        self.order = nodes.order_number();
        self.places.clear();
        self.places.resize(nodes.slots(), u32::MAX);
        for (place, slot) in (0..).zip(nodes.order()) {
            self.places[slot.index()] = place;
        }
        self.found.clear();
        self.found.resize(nodes.len().div_ceil(LENGTH), None);
    }

    /// The node in that slot is to be looked at again.
    pub(super) fn forget(&mut self, slot: Slot) {
        let place = self.places.get(slot.index()).map_or(usize::MAX, |place| *place as usize);
        if let Some(found) = self.found.get_mut(place / LENGTH) {
            *found = None;
        }
    }

    /// What was found on a stretch, if nothing has changed there.
    pub(super) fn found(&self, number: usize) -> Option<&Summary> {
        self.found.get(number)?.as_ref()
    }

    pub(super) fn keep(&mut self, number: usize, summary: Summary) {
        if let Some(found) = self.found.get_mut(number) {
            *found = Some(summary);
        }
    }
}

impl Summary {
    pub(super) fn count(&self) -> usize {
        self.harmless.count + self.violating.count
    }

    pub(super) fn group_mut(&mut self, violates_budgets: bool) -> &mut Group {
        if violates_budgets { &mut self.violating } else { &mut self.harmless }
    }

    /// Adds what was found further on.
    pub(super) fn extend(&mut self, more: &Self, cmp: impl Fn(CostId, CostId) -> Ordering) {
        self.harmless.extend(&more.harmless, &cmp);
        self.violating.extend(&more.violating, &cmp);
    }
}

impl Group {
    pub(super) fn of(slot: Slot, cost: CostId) -> Self {
        Self { count: 1, cheapest: Some((slot, cost)) }
    }

    pub(super) fn extend(&mut self, more: &Self, cmp: impl Fn(CostId, CostId) -> Ordering) {
        self.count += more.count;
        let Some((_, cost)) = more.cheapest else { return };
        let is_less = |(_, least): (Slot, CostId)| least != cost && cmp(cost, least).is_lt();
        if self.cheapest.is_none_or(is_less) {
            self.cheapest = more.cheapest;
        }
    }
}

/// Short enough that a node that changed has few others looked at, long enough that there are few.
/// In tests even small clusters have several.
pub(super) const LENGTH: usize = if cfg!(test) { 3 } else { 64 };
