//! Nodes that agree in some labels, and the best of them.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use roadstead_model::Text;

use super::totals::Totals;
use crate::nodes::{NodeInfo, Nodes, Slot};

/// Nodes with totals, by the values of some labels. Plugins that look at nothing else of a node
/// need to be asked about one node of a cell only.
#[derive(Debug, Default)]
pub(super) struct Cells {
    /// The labels; none while nobody has asked.
    labels: Option<Vec<Text>>,
    numbers: HashMap<Vec<Option<Text>>, usize>,
    /// The totals of each cell's nodes, by the cell's number.
    cells: Vec<BTreeSet<(i64, usize)>>,
    /// Where each slot's total is, and which it is.
    by_slot: Vec<Option<(usize, i64)>>,
    /// Slots whose totals may have changed since.
    stale: Vec<Slot>,
    /// All of them may have.
    is_all_stale: bool,
}

/// A cell's best nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The first of them.
    pub(crate) slot: Slot,
    /// Their total.
    pub(crate) total: i64,
    /// How many nodes the cell has, the others included.
    pub(crate) nodes: usize,
}

impl Cells {
    /// The total of a node may be another than before, or the node may be another.
    pub(super) fn note(&mut self, slot: Slot) {
        if self.labels.is_none() || self.is_all_stale {
            return;
        }
        if self.stale.len() < self.by_slot.len() {
            self.stale.push(slot);
        } else {
            self.note_all();
        }
    }

    /// Any total may be another than before.
    pub(super) fn note_all(&mut self) {
        self.is_all_stale = true;
        self.stale.clear();
    }

    /// The cells by these labels that have any nodes, each with its best; of equals the first from
    /// `start` on and round. `None` if there are too many cells for that to be of use.
    pub(super) fn best(
        &mut self,
        labels: &[Text],
        nodes: &Nodes,
        totals: &Totals,
        start: Slot,
    ) -> Option<Vec<Cell>> {
        if self.labels.as_deref() != Some(labels) {
            *self = Self { labels: Some(labels.to_vec()), ..Self::default() };
            self.is_all_stale = true;
        } else if self.are_too_many() {
            return None;
        }
        self.follow(nodes, totals);
        if self.are_too_many() {
            // Whoever asks again for these labels is told at once.
            self.cells.iter_mut().for_each(BTreeSet::clear);
            self.by_slot = Vec::new();
            return None;
        }
        let best = |cell: &BTreeSet<(i64, usize)>| {
            let total = cell.last()?.0;
            let after = cell.range((total, start.index())..=(total, usize::MAX)).next();
            let (_, slot) = *after.or_else(|| cell.range((total, 0)..).next())?;
            Some(Cell { slot: Slot::new(slot), total, nodes: cell.len() })
        };
        Some(self.cells.iter().filter_map(best).collect())
    }

    fn follow(&mut self, nodes: &Nodes, totals: &Totals) {
        if std::mem::take(&mut self.is_all_stale) {
            self.numbers.clear();
            self.cells.clear();
            self.by_slot = vec![None; nodes.slots()];
            for slot in nodes.order() {
                self.place(*slot, nodes, totals);
                if self.are_too_many() {
                    return;
                }
            }
            return;
        }
        self.by_slot.resize(nodes.slots(), None);
        for slot in std::mem::take(&mut self.stale) {
            if let Some((cell, total)) = self.by_slot[slot.index()].take() {
                self.cells[cell].remove(&(total, slot.index()));
            }
            self.place(slot, nodes, totals);
        }
    }

    /// Puts a slot that is in no cell where it belongs.
    fn place(&mut self, slot: Slot, nodes: &Nodes, totals: &Totals) {
        let Some(total) = totals.of(slot.index()) else { return };
        let Some(node) = nodes.in_slot(slot) else { return };
        let cell = self.cell_of(node);
        self.cells[cell].insert((total, slot.index()));
        self.by_slot[slot.index()] = Some((cell, total));
    }

    fn cell_of(&mut self, node: &NodeInfo) -> usize {
        let labels = self.labels.as_deref().unwrap_or_default();
        let values = labels.iter().map(|label| node.node().labels.get(label).cloned()).collect();
        let cells = &mut self.cells;
        *self.numbers.entry(values).or_insert_with(|| {
            cells.push(BTreeSet::new());
            cells.len() - 1
        })
    }

    fn are_too_many(&self) -> bool {
        self.cells.len() > MOST_CELLS
    }
}

/// All of them are looked at in each cycle.
const MOST_CELLS: usize = 128;
