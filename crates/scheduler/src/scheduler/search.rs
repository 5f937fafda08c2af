//! The search for a node.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::sync::Arc;

use hashbrown::HashSet;
use roadstead_model::{Pod, Text};

use super::laps::{self, Laps, name};
use crate::diagnosis::{Diagnosis, Refusal, Verdicts};
use crate::framework::{
    Code, Context, CycleState, Feasible, Framework, PreFiltered, Reaches, Status,
};
use crate::memory::{Remembered, Unrememberable};
use crate::nodes::{NodeInfo, Slot};

/// A search for a node, after PreFilter.
///
/// There are two ways to go. [`afresh`](Self::afresh) asks every plugin about every node.
/// [`by_memory`](Self::by_memory) asks node-local plugins only about nodes that changed, and
/// the others only about what is left; where there are no others, it looks at no other node at all.
/// Both come to the same.
pub(super) struct Search<'a> {
    pub(super) framework: &'a Framework,
    pub(super) context: &'a Context<'a>,
    pub(super) pod: &'a Arc<Pod>,
    pub(super) filtered: &'a PreFiltered,
    /// Decides between equally good nodes.
    pub(super) tie_breaker: u64,
    /// Where to start, if not all nodes are looked at.
    pub(super) start: usize,
    pub(super) laps: &'a Laps,
}

/// What a search came to.
pub(super) struct Searched {
    pub(super) outcome: Outcome,
    /// How many nodes were looked at.
    pub(super) visited: usize,
}

pub(super) enum Outcome {
    Node(Text),
    Nowhere(Diagnosis),
}

/// Nodes that were looked at one by one, by their places.
struct Listed {
    feasible: Vec<Slot>,
    /// What others than node-local filters refused, or what was not remembered.
    refused: Vec<(Slot, Refusal)>,
    visited: usize,
}

/// What ends a search from memory.
enum Halt {
    /// Something went wrong.
    Failed(Status),
    /// It must be made afresh.
    Afresh,
}

impl<'a> Search<'a> {
    /// The node that the pod was promised, if it fits there: its score does not matter.
    pub(super) fn promised_node(&self, state: &CycleState) -> Option<Text> {
        let name = self.pod.nominated_node.as_ref()?;
        let node = self.context.nodes.get(name)?;
        let ask = || self.framework.filter_with_nominated(self.context, state, self.pod, node);
        // The search itself comes to its end, whatever is said of the node.
        let judged = self.laps.run("Filter", || Ok::<_, Status>(ask()), laps::name).ok()?;
        judged.ok().map(|()| name.clone())
    }

    /// Looks for the best node.
    pub(super) fn run(
        &self,
        state: &mut CycleState,
        remembered: Option<&mut Remembered>,
    ) -> Result<Searched, Status> {
        // What is remembered is about pods that are as their class says.
        let is_resized = !std::ptr::eq(self.pod.requests(), &self.pod.spec().requests);
        let Some(remembered) = remembered.filter(|_| self.filtered.nodes.is_none() && !is_resized)
        else {
            return self.afresh(state);
        };
        match self.by_memory(state, remembered) {
            Ok(searched) => Ok(searched),
            Err(Halt::Failed(status)) => Err(status),
            Err(Halt::Afresh) => {
                *remembered = Remembered::default();
                self.afresh(state)
            }
        }
    }

    fn afresh(&self, state: &mut CycleState) -> Result<Searched, Status> {
        let Self { framework, context, pod, filtered, .. } = *self;
        let left = filtered.left(context.nodes);
        let enough = framework.enough(left.len());
        let order = self.order(&left, enough);
        let found = self.laps.run(
            "Filter",
            || framework.filter_each(context, state, pod, filtered, order, enough),
            name,
        )?;
        let visited = found.feasible.len() + found.diagnosis.refused();
        let outcome = match found.feasible.as_slice() {
            [] => Outcome::Nowhere(found.diagnosis),
            [only] => Outcome::Node(only.name().clone()),
            several => {
                let list = || several.to_vec();
                self.laps.run(
                    "PreScore",
                    || framework.pre_score(context, state, pod, &Feasible::new(&list)),
                    name,
                )?;
                let scores = self.laps.run(
                    "Score",
                    || framework.score_prepared(context, state, pod, several),
                    name,
                )?;
                let slots = several.iter().map(|node| node.slot());
                self.node(self.best(slots.zip(scores.iter().map(|score| score.total))))?
            }
        };
        Ok(Searched { outcome, visited })
    }

    fn by_memory(
        &self,
        state: &mut CycleState,
        remembered: &mut Remembered,
    ) -> Result<Searched, Halt> {
        let Self { framework, context, pod, .. } = *self;
        let nodes = context.nodes;
        let reaches = framework.filter_reaches(context, state, pod);
        let Reaches { local, wide, must_ask_all, .. } = &reaches;
        let filters = || local.iter().map(|local| local.at);
        self.laps.run(
            "Filter",
            || {
                remembered.follow(nodes, local, |node| {
                    framework.judge(filters(), context, state, pod, node)
                })
            },
            |_| "Error",
        )?;
        let verdicts = Arc::clone(remembered.verdicts());
        let are_all_looked_at = framework.enough(nodes.len()) == nodes.len();
        if wide.is_empty() && are_all_looked_at {
            let visited = nodes.len();
            let fine = || nodes.order().iter().copied().filter(|slot| verdicts.is_fine(*slot));
            let feasible = || fine().collect();
            let outcome = match verdicts.fine() {
                0 => Outcome::Nowhere(Diagnosis::new(Arc::clone(&verdicts), self.filtered)),
                1 => self.node(fine().next())?,
                _ => self.best_remembered(state, remembered, &feasible, Some(&verdicts))?,
            };
            return Ok(Searched { outcome, visited });
        }
        let mut listed = None;
        if are_all_looked_at && !*must_ask_all && verdicts.fine() > 1 {
            match self.best_first(state, remembered, &verdicts, &reaches)? {
                Ok(best) => {
                    let visited = nodes.len();
                    return Ok(Searched { outcome: self.node(Some(best))?, visited });
                }
                Err(list) => listed = list,
            }
        }
        let listed = listed.map_or_else(|| self.list(state, &verdicts, wide), Ok)?;
        let Listed { feasible, refused, visited } = listed;
        let outcome = match feasible.as_slice() {
            [] => {
                let mut verdicts = Arc::unwrap_or_clone(verdicts);
                for (slot, refusal) in refused {
                    verdicts.set(slot, Some(refusal));
                }
                Outcome::Nowhere(Diagnosis::new(Arc::new(verdicts), self.filtered))
            }
            [only] => self.node(Some(*only))?,
            _ => self.best_remembered(state, remembered, &|| feasible.clone(), None)?,
        };
        Ok(Searched { outcome, visited })
    }

    /// Asks filters that reach further than the node about one node of each kind, or about the best
    /// nodes first: where one of them fits, the others need not be asked. `Err` if that does not
    /// decide, with the list of nodes that fit if it had to be made.
    fn best_first(
        &self,
        state: &mut CycleState,
        remembered: &mut Remembered,
        verdicts: &Verdicts,
        reaches: &Reaches,
    ) -> Result<Result<Slot, Option<Listed>>, Halt> {
        let Self { framework, context, pod, .. } = *self;
        let wide = &reaches.wide;
        let before = state.clone();
        let listed = OnceCell::new();
        let list = || {
            let list = listed.get_or_init(|| self.list(&before, verdicts, wide));
            let feasible = list.as_ref().map_or(&[][..], |list| &list.feasible);
            feasible.iter().filter_map(|slot| context.nodes.in_slot(*slot)).collect()
        };
        let prepared = self.laps.run(
            "PreScore",
            || framework.pre_score(context, state, pod, &Feasible::new(&list)),
            name,
        );
        if let Some(listed) = listed.into_inner() {
            return Ok(Err(Some(listed?)));
        }
        // What is wrong is told only if there are several nodes to score, which is not known yet.
        if prepared.is_err() {
            return Ok(Err(None));
        }
        let scores = self.follow_scores(state, remembered)?;
        if !remembered.are_totals_fixed() {
            return Ok(Err(None));
        }
        let nominated = self.nominated(wide);
        if nominated.is_empty()
            && let Some(best) = self.best_of_cells(state, remembered, verdicts, reaches, &scores)?
        {
            return Ok(Ok(best));
        }
        if !scores.wide.is_empty() {
            return Ok(Err(None));
        }
        let mut below = None;
        for _ in 0..MOST_LEVELS {
            let Some((total, slots)) = remembered.best(below, self.first()) else { break };
            for slot in slots {
                if self.ask_wide(slot, state, verdicts, wide, &nominated) == Ok(true) {
                    return Ok(Ok(slot));
                }
            }
            below = Some(total);
        }
        Ok(Err(None))
    }

    /// The best node, where filters and scores that reach further than the node look at nothing but
    /// some labels of it: one node stands for all that agree in them. `None` if that does not
    /// decide.
    fn best_of_cells(
        &self,
        state: &CycleState,
        remembered: &mut Remembered,
        verdicts: &Verdicts,
        filters: &Reaches,
        scores: &Reaches,
    ) -> Result<Option<Slot>, Halt> {
        let Self { framework, context, pod, .. } = *self;
        let nodes = context.nodes;
        let Some(labels) = filters.labels_with(scores) else { return Ok(None) };
        let Some(mut cells) = remembered.best_of_cells(nodes, &labels, self.first()) else {
            return Ok(None);
        };
        let nobody = HashSet::new();
        cells.retain(|cell| {
            self.ask_wide(cell.slot, state, verdicts, &filters.wide, &nobody) == Ok(true)
        });
        let mut totals: Vec<i64> = cells.iter().map(|cell| cell.total).collect();
        let best: Vec<_> = cells.iter().filter_map(|cell| nodes.in_slot(cell.slot)).collect();
        if cells.iter().map(|cell| cell.nodes).sum::<usize>() > 1 {
            framework.add_scores(&scores.wide, context, state, pod, &best, &mut totals)?;
        }
        Ok(self.best(cells.iter().map(|cell| cell.slot).zip(totals)))
    }

    /// Asks filters that reach further than the node about nodes that node-local ones let pass.
    fn list(
        &self,
        state: &CycleState,
        verdicts: &Verdicts,
        wide: &[usize],
    ) -> Result<Listed, Status> {
        let nominated = self.nominated(wide);
        let nodes = self.context.nodes.order();
        let enough = self.framework.enough(nodes.len());
        let mut listed = Listed { feasible: Vec::new(), refused: Vec::new(), visited: 0 };
        for slot in self.order(nodes, enough) {
            match self.ask_wide(slot, state, verdicts, wide, &nominated) {
                Ok(true) if listed.feasible.len() == enough => break,
                Ok(true) => listed.feasible.push(slot),
                Ok(false) => {}
                Err(refusal) if refusal.status.code() == Code::Error => return Err(refusal.status),
                Err(refusal) => listed.refused.push((slot, refusal)),
            }
            listed.visited += 1;
        }
        Ok(listed)
    }

    /// Whether the node fits, as far as filters know that reach further. `Ok(false)` if what is
    /// remembered of it holds.
    fn ask_wide(
        &self,
        slot: Slot,
        state: &CycleState,
        verdicts: &Verdicts,
        wide: &[usize],
        nominated: &HashSet<Slot>,
    ) -> Result<bool, Refusal> {
        let Self { framework, context, pod, .. } = *self;
        let Some(node) = context.nodes.in_slot(slot) else { return Ok(false) };
        if nominated.contains(&slot) {
            let filters = framework.active_filters(state);
            return framework.judge(filters, context, state, pod, node).map(|()| true);
        }
        // Who stands before the one that has refused is heard first.
        let known = verdicts.get(slot);
        let last = known.map_or(usize::MAX, |refusal| refusal.filter);
        let filters = wide.iter().copied().take_while(|filter| *filter < last);
        framework.ask(filters, context, state, pod, node).map(|()| known.is_none())
    }

    /// The nodes with nominated pods: what filters that reach further say with those pods on a
    /// node is not remembered.
    fn nominated(&self, wide: &[usize]) -> HashSet<Slot> {
        let Context { nodes, nominations, .. } = self.context;
        let names = if wide.is_empty() { Vec::new() } else { nominations.nodes() };
        names.iter().filter_map(|name| nodes.slot(name)).collect()
    }

    /// The best of several nodes that fit, by what is remembered of them and what plugins say that
    /// reach further. With the verdicts of node-local filters, if they are all that these let pass.
    fn best_remembered(
        &self,
        state: &mut CycleState,
        remembered: &mut Remembered,
        feasible: &dyn Fn() -> Vec<Slot>,
        all: Option<&Verdicts>,
    ) -> Result<Outcome, Halt> {
        let Self { framework, context, pod, .. } = *self;
        let list =
            || feasible().into_iter().filter_map(|slot| context.nodes.in_slot(slot)).collect();
        self.laps.run(
            "PreScore",
            || framework.pre_score(context, state, pod, &Feasible::new(&list)),
            name,
        )?;
        let scores = self.follow_scores(state, remembered)?;
        if all.is_some() && scores.wide.is_empty() {
            let best = remembered.best(None, self.first()).and_then(|(_, mut best)| best.next());
            return Ok(self.node(best)?);
        }
        if let Some(verdicts) = all
            && let Some(best) =
                self.best_of_cells(state, remembered, verdicts, &Reaches::none(), &scores)?
        {
            return Ok(self.node(Some(best))?);
        }
        let feasible = feasible();
        let mut totals = remembered.totals_among(&feasible);
        framework.add_scores(&scores.wide, context, state, pod, &list(), &mut totals)?;
        Ok(self.node(self.best(feasible.into_iter().zip(totals)))?)
    }

    /// Has node-local plugins score the nodes that changed. How far all plugins reach is returned.
    fn follow_scores(
        &self,
        state: &CycleState,
        remembered: &mut Remembered,
    ) -> Result<Reaches, Unrememberable> {
        let Self { framework, context, pod, .. } = *self;
        let reaches = framework.score_reaches(context, state, pod);
        let local = &reaches.local;
        self.laps.run(
            "Score",
            || {
                remembered.follow_scores(context.nodes, local, &framework.scales(local), |node| {
                    framework.score_locally(local, context, state, pod, node)
                })
            },
            |_| "Error",
        )?;
        Ok(reaches)
    }

    /// These nodes in the order in which they are looked at.
    fn order<'n>(&self, nodes: &'n [Slot], enough: usize) -> impl Iterator<Item = Slot> + use<'n> {
        // Where all are looked at, their order is that of the cluster.
        let start = if enough < nodes.len() { self.start % nodes.len() } else { 0 };
        nodes[start..].iter().chain(&nodes[..start]).copied()
    }

    /// The node with the highest total: of equals the first after a slot that is another in each
    /// cycle, so that they take turns. Who knows totals in advance need not look at all of them
    /// to find it.
    fn best(&self, totals: impl Iterator<Item = (Slot, i64)>) -> Option<Slot> {
        let first = self.first().index();
        let rank = |slot: Slot| (slot.index() >= first, Reverse(slot.index()));
        totals.max_by_key(|(slot, total)| (*total, rank(*slot))).map(|(slot, _)| slot)
    }

    /// The slot from which on the first of equal nodes is chosen.
    fn first(&self) -> Slot {
        let slots = self.context.nodes.slots().max(1) as u64;
        Slot::new((mixed(self.tie_breaker) % slots) as usize)
    }

    fn node(&self, slot: Option<Slot>) -> Result<Outcome, Status> {
        let node = slot.and_then(|slot| self.context.nodes.in_slot(slot)).map(NodeInfo::name);
        node.cloned().map(Outcome::Node).ok_or_else(|| Status::error("no node was scored"))
    }
}

impl From<Status> for Halt {
    fn from(status: Status) -> Self {
        Self::Failed(status)
    }
}

impl From<Unrememberable> for Halt {
    fn from(_: Unrememberable) -> Self {
        Self::Afresh
    }
}

/// How many totals are tried, from the best down, before all nodes are looked at.
const MOST_LEVELS: usize = 8;

/// The splitmix64 of a number: neighbours become unlike.
pub(super) fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
