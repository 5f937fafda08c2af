//! What is remembered of one class of pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use roadstead_model::Text;

use super::cells::{Cell, Cells};
use super::totals::Totals;
use crate::diagnosis::{Refusal, Verdicts};
use crate::framework::{Code, Local, LocalScore, Scale};
use crate::nodes::{NodeInfo, Nodes, Slot};

/// What node-local filters and scores said of each node to one class of pods. All lists are by
/// slot, so that nodes that come and go leave the others where they are.
#[derive(Default)]
pub(crate) struct Remembered {
    /// Whose verdicts these are.
    filters: Option<Vec<Local>>,
    verdicts: Arc<Verdicts>,
    /// The nodes' clock when they were last looked at.
    seen: u64,
    /// Whose scores these are.
    scorers: Vec<Local>,
    /// Of nodes that fit and have been scored since they changed.
    scores: Vec<Option<i64>>,
    /// Nodes that fit, and have not.
    unscored: Vec<Slot>,
    columns: Vec<Column>,
    totals: Totals,
    cells: Cells,
}

/// Scores of one plugin that count by how they compare with the highest.
struct Column {
    scale: Scale,
    scores: Vec<i64>,
    /// How many nodes have each score.
    counts: BTreeMap<i64, usize>,
    /// The highest score when totals were last made.
    highest: i64,
}

/// A plugin failed, or gave what it must not: then nothing is remembered, and all is asked anew.
#[derive(Debug)]
pub(crate) struct Unrememberable;

impl Remembered {
    /// Asks these filters about the nodes that changed since this was last called, or about all if
    /// they are not the same filters.
    pub(crate) fn follow(
        &mut self,
        nodes: &Nodes,
        filters: &[Local],
        mut judge: impl FnMut(&NodeInfo) -> Result<(), Refusal>,
    ) -> Result<(), Unrememberable> {
        if self.filters.as_deref() != Some(filters) {
            *self = Self { filters: Some(filters.to_vec()), ..Self::default() };
        }
        self.make_room(nodes.slots());
        let verdicts = Arc::make_mut(&mut self.verdicts);
        verdicts.set_nodes(nodes.len());
        for slot in nodes.changed_since(self.seen) {
            let node = nodes.in_slot(slot);
            let refusal = node.and_then(|node| judge(node).err());
            if refusal.as_ref().is_some_and(|refusal| refusal.status.code() == Code::Error) {
                return Err(Unrememberable);
            }
            if node.is_some() && refusal.is_none() {
                self.unscored.push(slot);
            }
            verdicts.set(slot, refusal);
            if self.scores[slot.index()].take().is_some() {
                self.columns.iter_mut().for_each(|column| column.uncount(slot));
                self.totals.set(slot.index(), None);
                self.cells.note(slot);
            }
        }
        self.seen = nodes.clock();
        // One class may be refused or find one node for ever, and never have any scored.
        if self.unscored.len() > 2 * self.slots() {
            self.unscored.sort_unstable_by_key(|slot| slot.index());
            self.unscored.dedup();
        }
        Ok(())
    }

    /// Asks these plugins to score the nodes that fit and were not scored since they changed, or
    /// all if they are not the same plugins.
    pub(crate) fn follow_scores(
        &mut self,
        nodes: &Nodes,
        scorers: &[Local],
        scales: &[Scale],
        mut score: impl FnMut(&NodeInfo) -> Option<LocalScore>,
    ) -> Result<(), Unrememberable> {
        if self.scorers != scorers {
            self.scorers = scorers.to_vec();
            self.columns = scales.iter().map(|scale| Column::new(*scale, self.slots())).collect();
            self.scores.fill(None);
            let fine = nodes.order().iter().filter(|slot| self.verdicts.is_fine(**slot));
            self.unscored = fine.copied().collect();
            self.totals = Totals::new(vec![None; self.slots()]);
            self.cells.note_all();
        }
        let mut scored = std::mem::take(&mut self.unscored);
        scored.retain(|slot| self.scores[slot.index()].is_none() && self.verdicts.is_fine(*slot));
        for &slot in &scored {
            // One that changed twice is listed twice, and one that is gone is listed still.
            let is_scored = self.scores[slot.index()].is_some();
            let Some(node) = nodes.in_slot(slot).filter(|_| !is_scored) else { continue };
            let LocalScore { sum, unscaled } = score(node).ok_or(Unrememberable)?;
            self.scores[slot.index()] = Some(sum);
            for (column, score) in self.columns.iter_mut().zip(unscaled) {
                column.count(slot, score);
            }
        }
        self.total_up(&scored);
        scored.clear();
        self.unscored = scored;
        Ok(())
    }

    /// What is wrong with each node.
    pub(crate) fn verdicts(&self) -> &Arc<Verdicts> {
        &self.verdicts
    }

    /// How many slots there are to remember something of.
    pub(crate) fn slots(&self) -> usize {
        self.scores.len()
    }

    /// The nodes with the highest total, from `start` on and round; below a limit, if there is one.
    /// With them the total.
    pub(crate) fn best(
        &self,
        below: Option<i64>,
        start: Slot,
    ) -> Option<(i64, impl Iterator<Item = Slot>)> {
        let total = self.totals.highest_below(below)?;
        Some((total, self.totals.places_of(total, start.index()).map(Slot::new)))
    }

    /// The best nodes among those that agree in these labels, for each of their values; of equals
    /// the first from `start` on and round. `None` if there are too many values.
    pub(crate) fn best_of_cells(
        &mut self,
        nodes: &Nodes,
        labels: &[Text],
        start: Slot,
    ) -> Option<Vec<Cell>> {
        self.cells.best(labels, nodes, &self.totals, start)
    }

    /// Whether totals are what they are, whichever nodes fit besides.
    pub(crate) fn are_totals_fixed(&self) -> bool {
        self.columns.iter().all(|column| column.counts.len() <= 1)
    }

    /// The totals of these nodes as if there were no others that fit.
    pub(crate) fn totals_among(&self, nodes: &[Slot]) -> Vec<i64> {
        let score = |slot: &Slot| self.scores[slot.index()].unwrap_or_default();
        let mut totals: Vec<i64> = nodes.iter().map(score).collect();
        for column in &self.columns {
            let scores = || nodes.iter().map(|slot| column.scores[slot.index()]);
            let highest = scores().max().unwrap_or(0);
            for (total, score) in totals.iter_mut().zip(scores()) {
                *total += column.scale.weighted(score, highest);
            }
        }
        totals
    }

    /// Brings totals up to date after these nodes were scored, and others were taken out.
    fn total_up(&mut self, scored: &[Slot]) {
        let mut is_scaled_anew = false;
        for column in &mut self.columns {
            let highest = column.counts.keys().next_back().copied().unwrap_or(0);
            is_scaled_anew |= std::mem::replace(&mut column.highest, highest) != highest;
        }
        if is_scaled_anew || scored.len() > self.slots() / 8 {
            self.totals = Totals::new((0..self.slots()).map(|at| self.total(at)).collect());
            self.cells.note_all();
        } else {
            for slot in scored {
                self.totals.set(slot.index(), self.total(slot.index()));
                self.cells.note(*slot);
            }
        }
    }

    fn total(&self, at: usize) -> Option<i64> {
        let columns = self.columns.iter();
        let scaled = columns.map(|column| column.scale.weighted(column.scores[at], column.highest));
        Some(self.scores[at]? + scaled.sum::<i64>())
    }

    fn make_room(&mut self, slots: usize) {
        if slots > self.slots() {
            self.scores.resize(slots, None);
            self.columns.iter_mut().for_each(|column| column.scores.resize(slots, 0));
            self.totals.resize(slots);
        }
    }
}

impl Column {
    fn new(scale: Scale, slots: usize) -> Self {
        Self { scale, scores: vec![0; slots], counts: BTreeMap::new(), highest: 0 }
    }

    fn count(&mut self, slot: Slot, score: i64) {
        self.scores[slot.index()] = score;
        *self.counts.entry(score).or_default() += 1;
    }

    fn uncount(&mut self, slot: Slot) {
        let score = self.scores[slot.index()];
        if let Some(count) = self.counts.get_mut(&score) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&score);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Status;
    use crate::testing;
    use roadstead_model::Text;
    use serde_json::json;

    /// Nodes have a number that stands for all that is said of them, and come and go.
    #[test]
    fn what_is_remembered_is_what_would_be_said_now() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut cluster = testing::nodes(json!((0..40).map(|_| json!({})).collect::<Vec<_>>()));
        let mut said: BTreeMap<Text, u64> =
            cluster.nodes.iter().map(|node| (node.name().clone(), 0)).collect();
        let mut gone: Vec<NodeInfo> = Vec::new();
        let mut remembered = Remembered::default();
        let local = [Local { at: 0, version: 0 }];
        let scales = [Scale::new(true, 3), Scale::new(false, 2)];
        let refusal = |said: u64| said.is_multiple_of(3).then(|| format!("no, {}", said % 5));
        let score = |said: u64| LocalScore {
            sum: (said % 4) as i64,
            unscaled: vec![(said % 7) as i64, (said % 2) as i64],
        };
        for _ in 0..2_000 {
            match random(12) {
                0 if cluster.nodes.len() > 2 => {
                    let at = random(cluster.nodes.len() as u64) as usize;
                    let name = cluster.nodes.iter().nth(at).expect("a node").name().clone();
                    gone.extend(cluster.nodes.remove(&name));
                }
                1 => {
                    if let Some(node) = gone.pop() {
                        cluster.nodes.insert(node);
                    }
                }
                _ => {
                    let at = random(cluster.nodes.len() as u64) as usize;
                    let name = cluster.nodes.iter().nth(at).expect("a node").name().clone();
                    cluster.nodes.touch(&name);
                    said.insert(name, random(1_000));
                }
            }
            if random(2) == 0 {
                continue;
            }
            let nodes = &cluster.nodes;
            let judge = |node: &NodeInfo| match refusal(said[node.name()]) {
                None => Ok(()),
                Some(text) => Err(Refusal { status: Status::unschedulable(text), filter: 0 }),
            };
            remembered.follow(nodes, &local, judge).expect("nothing fails");
            let give = |node: &NodeInfo| Some(score(said[node.name()]));
            remembered.follow_scores(nodes, &local, &scales, give).expect("nothing fails");

            let said = |slot: Slot| said[nodes.in_slot(slot).expect("a node").name()];
            let mut slots = nodes.order().to_vec();
            slots.sort_unstable_by_key(|slot| slot.index());
            for slot in &slots {
                let known = remembered.verdicts().get(*slot).map(|known| known.status.message());
                assert_eq!(known, refusal(said(*slot)));
            }
            let mut fine = slots;
            fine.retain(|slot| refusal(said(*slot)).is_none());
            assert_eq!(remembered.verdicts().fine(), fine.len());
            let highest = |column: usize| {
                fine.iter().map(|slot| score(said(*slot)).unscaled[column]).max().unwrap_or(0)
            };
            let total = |slot: Slot| {
                let LocalScore { sum, unscaled } = score(said(slot));
                sum + scales[0].weighted(unscaled[0], highest(0))
                    + scales[1].weighted(unscaled[1], highest(1))
            };
            let totals: Vec<i64> = fine.iter().map(|slot| total(*slot)).collect();
            assert_eq!(remembered.totals_among(&fine), totals);
            let best = totals.iter().max().copied();
            let first = fine.iter().find(|slot| Some(total(**slot)) == best).copied();
            let found =
                remembered.best(None, Slot::new(0)).map(|(total, mut at)| (Some(total), at.next()));
            assert_eq!(found.unwrap_or_default(), (best, first));
        }
    }
}
