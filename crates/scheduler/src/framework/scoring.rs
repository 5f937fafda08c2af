//! PreScore, Score and normalisation over the nodes that passed the filters.

use std::cell::OnceCell;

use roadstead_model::Pod;

use super::calls::{Asked, SKIP, status_name};
use super::{
    Code, Context, CycleState, Framework, Local, PreScoreAnswer, Reach, Reaches, Scaling, Status,
    Weighted,
};
use crate::nodes::NodeInfo;

/// One node's scores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeScores {
    /// Each plugin's score, normalised, before its weight. Plugins that sat out are not listed.
    pub plugins: Vec<(&'static str, i64)>,
    /// The weighted sum.
    pub total: i64,
}

/// The highest score that a plugin may give.
pub(crate) const MAX_SCORE: i64 = 100;

/// What can be scaled without overflow.
const MAX_UNSCALED: i64 = i64::MAX / MAX_SCORE;

/// The nodes that passed the filters, listed only if somebody asks for them.
pub struct Feasible<'a> {
    list: OnceCell<Vec<&'a NodeInfo>>,
    make: &'a dyn Fn() -> Vec<&'a NodeInfo>,
}

impl<'a> Feasible<'a> {
    /// The nodes that `make` lists.
    pub(crate) fn new(make: &'a dyn Fn() -> Vec<&'a NodeInfo>) -> Self {
        Self { list: OnceCell::new(), make }
    }

    /// They, in order.
    #[must_use]
    pub fn list(&self) -> &[&'a NodeInfo] {
        self.list.get_or_init(self.make)
    }
}

impl Framework {
    /// Runs PreScore, and scores nodes; the result is in their order.
    ///
    /// # Errors
    ///
    /// Something went wrong.
    pub fn score(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        nodes: &[&NodeInfo],
    ) -> Result<Vec<NodeScores>, Status> {
        self.pre_score(context, state, pod, &Feasible::new(&|| nodes.to_vec()))?;
        self.score_prepared(context, state, pod, nodes)
    }

    /// Scores nodes after PreScore; the result is in their order.
    ///
    /// # Errors
    ///
    /// Something went wrong.
    pub(crate) fn score_prepared(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        nodes: &[&NodeInfo],
    ) -> Result<Vec<NodeScores>, Status> {
        let mut all = vec![NodeScores::default(); nodes.len()];
        for at in self.active_scores(state) {
            let Weighted { plugin, weight } = &self.score[at];
            let scores = self.scores_of(at, context, state, pod, nodes)?;
            for (node, score) in all.iter_mut().zip(scores) {
                node.plugins.push((plugin.name(), score));
                node.total += score * weight;
            }
        }
        Ok(all)
    }

    /// Runs PreScore.
    ///
    /// # Errors
    ///
    /// Something went wrong.
    pub(crate) fn pre_score(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        nodes: &Feasible<'_>,
    ) -> Result<(), Status> {
        state.skip_score.clear();
        for (at, plugin) in self.pre_score.iter().enumerate() {
            let name = plugin.name();
            let began = state.begin();
            let answer = plugin.pre_score(context, state, pod, nodes);
            let skips = matches!(answer, Ok(PreScoreAnswer::Skip));
            state.count(Asked::PreScore, at, u64::from(!skips));
            state.ran(began, "PreScore", name, || if skips { SKIP } else { status_name(&answer) });
            match answer {
                Ok(PreScoreAnswer::Proceed) => {}
                Ok(PreScoreAnswer::Skip) => state.skip_score.push(name),
                Err(status) => {
                    let text = format!("running PreScore plugin \"{name}\": {status}");
                    return Err(Status::error(text).from_plugin(name));
                }
            }
        }
        Ok(())
    }

    /// Adds to the nodes' totals what the plugins at these places of Score give them.
    ///
    /// # Errors
    ///
    /// Something went wrong.
    pub(crate) fn add_scores(
        &self,
        plugins: &[usize],
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        nodes: &[&NodeInfo],
        totals: &mut [i64],
    ) -> Result<(), Status> {
        for &at in plugins {
            let scores = self.scores_of(at, context, state, pod, nodes)?;
            for (total, score) in totals.iter_mut().zip(scores) {
                *total += score * self.score[at].weight;
            }
        }
        Ok(())
    }

    /// The places of the plugins that Score asks in this cycle.
    fn active_scores(&self, state: &CycleState) -> impl Iterator<Item = usize> {
        let names = self.score.iter().map(|weighted| weighted.plugin.name()).enumerate();
        names.filter(|(_, name)| !state.skip_score.has(name)).map(|(at, _)| at)
    }

    /// How far the plugins reach that Score asks in this cycle.
    pub(crate) fn score_reaches(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
    ) -> Reaches {
        let reach = |at: usize| match self.score[at].plugin.scaling() {
            Scaling::Own => Reach::Unknown,
            Scaling::Unscaled | Scaling::ByHighest { .. } => {
                self.score[at].plugin.reach(context, state, pod)
            }
            // Of one node alone nothing follows.
            Scaling::BySet => match self.score[at].plugin.reach(context, state, pod) {
                Reach::Node { .. } => Reach::Cluster,
                further => further,
            },
        };
        Reaches::of(self.active_scores(state), reach)
    }

    /// The scales of those of these plugins that are scaled, in order.
    pub(crate) fn scales(&self, plugins: &[Local]) -> Vec<Scale> {
        let scale = |local: &Local| {
            let Weighted { plugin, weight } = &self.score[local.at];
            match plugin.scaling() {
                Scaling::ByHighest { reverse } => Some(Scale { reverse, weight: *weight }),
                Scaling::Unscaled | Scaling::BySet | Scaling::Own => None,
            }
        };
        plugins.iter().filter_map(scale).collect()
    }

    /// What these plugins give a node: the sum of what needs no scaling, and what is to be scaled
    /// of the others. `None` if one fails or gives what it must not.
    pub(crate) fn score_locally(
        &self,
        plugins: &[Local],
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Option<LocalScore> {
        let mut score = LocalScore::default();
        for local in plugins {
            let Weighted { plugin, weight } = &self.score[local.at];
            state.count(Asked::Score, local.at, 1);
            let began = state.begin();
            let given = plugin.score(context, state, pod, node);
            state.ran(began, "Score", plugin.name(), || status_name(&given));
            let given = given.ok()?;
            match plugin.scaling() {
                Scaling::ByHighest { .. } if (0..=MAX_UNSCALED).contains(&given) => {
                    score.unscaled.push(given);
                }
                Scaling::Unscaled if (0..=MAX_SCORE).contains(&given) => {
                    score.sum += given * weight;
                }
                _ => return None,
            }
        }
        Some(score)
    }

    /// A plugin's scores, scaled.
    fn scores_of(
        &self,
        at: usize,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        nodes: &[&NodeInfo],
    ) -> Result<Vec<i64>, Status> {
        let plugin = &self.score[at].plugin;
        let name = plugin.name();
        let failed = |status: Status| {
            let text = format!("plugin \"{name}\" failed with: {status}");
            Status::new(Code::Error, vec![text.into()]).from_plugin(name)
        };
        let mut calls = 0;
        let score = |node: &&NodeInfo| {
            calls += 1;
            let began = state.begin();
            let given = plugin.score(context, state, pod, node);
            state.ran(began, "Score", name, || status_name(&given));
            given
        };
        let scores: Result<Vec<i64>, Status> = nodes.iter().map(score).collect();
        state.count(Asked::Score, at, calls);
        let mut scores = scores.map_err(failed)?;
        let began = state.begin();
        let normalized = plugin.normalize(context, state, pod, nodes, &mut scores);
        state.ran(began, "ScoreExtensionNormalize", name, || status_name(&normalized));
        normalized.map_err(failed)?;
        match scores.iter().find(|score| !(0..=MAX_SCORE).contains(*score)) {
            None => Ok(scores),
            Some(score) => {
                let text = format!(
                    "plugin \"{name}\" returns an invalid score {score}, it should in the range \
                     of [0, {MAX_SCORE}] after normalizing"
                );
                Err(Status::error(text).from_plugin(name))
            }
        }
    }
}

/// What plugins that reach no further than the node give it.
#[derive(Default)]
pub(crate) struct LocalScore {
    /// The weighted sum of what needs no scaling.
    pub(crate) sum: i64,
    /// What is to be scaled, one of each [`Scale`].
    pub(crate) unscaled: Vec<i64>,
}

/// How a plugin's scores count once the highest is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    reverse: bool,
    weight: i64,
}

impl Scale {
    #[cfg(test)]
    pub(crate) fn new(reverse: bool, weight: i64) -> Self {
        Self { reverse, weight }
    }

    /// What a score adds to a node's total.
    pub(crate) fn weighted(self, score: i64, highest: i64) -> i64 {
        scaled(score, highest, self.reverse) * self.weight
    }
}

/// Scales scores so that the highest becomes 100; reversed, so that it becomes 0.
pub(super) fn scale_by_highest(scores: &mut [i64], reverse: bool) {
    let highest = scores.iter().copied().max().unwrap_or(0).max(0);
    for score in scores {
        *score = scaled(*score, highest, reverse);
    }
}

fn scaled(score: i64, highest: i64, reverse: bool) -> i64 {
    match highest {
        0 if reverse => MAX_SCORE,
        0 => score,
        highest => {
            let scaled = MAX_SCORE * score / highest;
            if reverse { MAX_SCORE - scaled } else { scaled }
        }
    }
}

/// A line through points, level before the first and after the last.
#[derive(Clone, Debug)]
pub(crate) struct BrokenLine(Vec<(i64, i64)>);

impl BrokenLine {
    /// Through these points, in order of their first numbers.
    pub(crate) fn new(points: Vec<(i64, i64)>) -> Self {
        Self(points)
    }

    pub(crate) fn at(&self, x: i64) -> i64 {
        let points = &self.0;
        let Some(next) = points.iter().position(|(known, _)| x <= *known) else {
            return points.last().map_or(0, |(_, y)| *y);
        };
        let (x1, y1) = points[next];
        let Some((x0, y0)) = next.checked_sub(1).map(|before| points[before]) else { return y1 };
        y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalising_follows_the_table() {
        let rows: [(&[i64], bool, &[i64]); 7] = [
            (&[1, 2, 3, 4], false, &[25, 50, 75, 100]),
            (&[1000, 10, 20, 30], false, &[100, 1, 2, 3]),
            (&[1000, 1, 1, 1], false, &[100, 0, 0, 0]),
            (&[0, 0, 0], false, &[0, 0, 0]),
            (&[1, 2, 3, 4], true, &[75, 50, 25, 0]),
            (&[0, 1, 1], true, &[100, 0, 0]),
            (&[0, 0, 0], true, &[100, 100, 100]),
        ];
        for (input, reverse, expected) in rows {
            let mut scores = input.to_vec();
            scale_by_highest(&mut scores, reverse);
            assert_eq!(scores, expected, "{input:?} {reverse}");
        }
    }

    #[test]
    fn a_broken_line_is_level_at_its_ends() {
        let line = BrokenLine::new(vec![(10, 1), (90, 9)]);
        for (x, y) in [(9, 1), (10, 1), (19, 1), (20, 2), (89, 8), (90, 9), (100, 9)] {
            assert_eq!(line.at(x), y, "at {x}");
        }
    }
}
