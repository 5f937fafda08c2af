//! What is wrong with each of many nodes, where few things are wrong with most of them.

use crate::framework::Status;
use crate::nodes::Slot;

/// What is wrong with each node. A status that many nodes share is kept once, and counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    rows: Vec<Row>,
    /// Rows that nobody has and nobody looks for.
    free: Vec<usize>,
    /// 0, or one more than the number of a row. It may end where nothing is wrong with the rest.
    by_slot: Vec<u32>,
    /// How many nodes there are.
    nodes: usize,
    /// How many of them something is wrong with.
    refused: usize,
}

/// A status, and how many nodes have it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) refusal: Refusal,
    pub(crate) nodes: usize,
}

/// A status, and at which place of the profile stands the filter that gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: Status,
    pub(crate) filter: usize,
}

impl Verdicts {
    /// Nothing is wrong with so many nodes.
    pub(crate) fn new(nodes: usize) -> Self {
        Self { nodes, ..Self::default() }
    }

    /// There are so many nodes now.
    pub(crate) fn set_nodes(&mut self, nodes: usize) {
        self.nodes = nodes;
    }

    /// Says what is wrong with a node, if anything is. A node that is gone has nothing wrong.
    pub(crate) fn set(&mut self, node: Slot, refusal: Option<Refusal>) {
        if let Some(row) = self.number(node).checked_sub(1) {
            self.leave(row as usize);
        }
        let number = refusal.map_or(FINE, |refusal| {
            let row = self.row(refusal);
            self.rows[row].nodes += 1;
            self.refused += 1;
            row as u32 + 1
        });
        if self.by_slot.len() <= node.index() && number != FINE {
            self.by_slot.resize(self.nodes.max(node.index() + 1), FINE);
        }
        if let Some(known) = self.by_slot.get_mut(node.index()) {
            *known = number;
        }
    }

    /// What is wrong with the node, if anything is.
    pub(crate) fn get(&self, node: Slot) -> Option<&Refusal> {
        let row = self.number(node).checked_sub(1)?;
        Some(&self.rows[row as usize].refusal)
    }

    pub(crate) fn is_fine(&self, node: Slot) -> bool {
        self.number(node) == FINE
    }

    /// How many nodes nothing is wrong with.
    pub(crate) fn fine(&self) -> usize {
        self.nodes - self.refused
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Every status that some node has, and how many have it.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.nodes > 0)
    }

    fn number(&self, node: Slot) -> u32 {
        self.by_slot.get(node.index()).copied().unwrap_or(FINE)
    }

    fn leave(&mut self, row: usize) {
        self.rows[row].nodes -= 1;
        self.refused -= 1;
        if self.rows[row].nodes == 0 && row >= MOST_SEARCHED {
            self.free.push(row);
        }
    }

    /// The row of that refusal, which may be new.
    fn row(&mut self, refusal: Refusal) -> usize {
        // Where every node has a status of its own, looking for equals would only cost time.
        let searched = &self.rows[..self.rows.len().min(MOST_SEARCHED)];
        if let Some(row) = searched.iter().position(|row| row.refusal == refusal) {
            return row;
        }
        let unused = searched.iter().position(|row| row.nodes == 0);
        let new = Row { refusal, nodes: 0 };
        match unused.or_else(|| self.free.pop()) {
            Some(row) => {
                self.rows[row] = new;
                row
            }
            None => {
                self.rows.push(new);
                self.rows.len() - 1
            }
        }
    }
}

const FINE: u32 = 0;
const MOST_SEARCHED: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: String) -> Option<Refusal> {
        Some(Refusal { status: Status::unschedulable(text), filter: 0 })
    }

    fn counts(verdicts: &Verdicts) -> Vec<(String, usize)> {
        verdicts.rows().map(|row| (row.refusal.status.message(), row.nodes)).collect()
    }

    #[test]
    fn what_many_say_is_kept_once_and_counted() {
        let mut verdicts = Verdicts::new(4);
        for (node, text) in [(0, "full"), (1, "tainted"), (2, "full"), (0, "tainted")] {
            verdicts.set(Slot::new(node), refusal(text.into()));
        }
        assert_eq!(verdicts.fine(), 1);
        assert_eq!(counts(&verdicts), [("full".into(), 1), ("tainted".into(), 2)]);

        verdicts.set(Slot::new(2), None);
        verdicts.set(Slot::new(3), refusal("cordoned".into()));
        assert_eq!(verdicts.rows.len(), 2, "a row that nobody has is taken over");
        assert_eq!(counts(&verdicts), [("cordoned".into(), 1), ("tainted".into(), 2)]);

        verdicts.set(Slot::new(3), None);
        verdicts.set_nodes(3);
        assert_eq!(verdicts.fine(), 1, "one of the two that were fine is gone");
    }

    #[test]
    fn nodes_that_all_differ_cost_no_search() {
        let mut verdicts = Verdicts::new(1_000);
        for round in 0..3 {
            for node in 0..1_000 {
                verdicts.set(Slot::new(node), refusal(format!("{round} on {node}")));
            }
        }
        assert_eq!(verdicts.rows().count(), 1_000);
        assert!(verdicts.rows.len() <= 1_001, "rows are used again");
        assert_eq!(verdicts.get(Slot::new(999)), refusal("2 on 999".into()).as_ref());
    }
}
