//! PreScore, Score and normalisation over the nodes that passed the filters.

use roadstead_model::Pod;

use super::{Code, Context, CycleState, Framework, PreScoreAnswer, Status, Weighted};
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

impl Framework {
    /// Scores nodes; the result is in their order.
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
        for plugin in &self.pre_score {
            let name = plugin.name();
            match plugin.pre_score(context, state, pod, nodes) {
                Ok(PreScoreAnswer::Proceed) => {}
                Ok(PreScoreAnswer::Skip) => state.skip_score.push(name),
                Err(status) => {
                    let text = format!("running PreScore plugin \"{name}\": {status}");
                    return Err(Status::error(text).from_plugin(name));
                }
            }
        }
        let mut all = vec![NodeScores::default(); nodes.len()];
        for Weighted { plugin, weight } in &self.score {
            let name = plugin.name();
            if state.skip_score.contains(&name) {
                continue;
            }
            let scores: Result<Vec<i64>, Status> =
                nodes.iter().map(|node| plugin.score(context, state, pod, node)).collect();
            let failed = |status: Status| {
                let text = format!("plugin \"{name}\" failed with: {status}");
                Status::new(Code::Error, vec![text.into()]).from_plugin(name)
            };
            let mut scores = scores.map_err(failed)?;
            plugin.normalize(context, state, pod, nodes, &mut scores).map_err(failed)?;
            for (node, score) in all.iter_mut().zip(scores) {
                if !(0..=MAX_SCORE).contains(&score) {
                    let text = format!(
                        "plugin \"{name}\" returns an invalid score {score}, it should in the \
                         range of [0, {MAX_SCORE}] after normalizing"
                    );
                    return Err(Status::error(text).from_plugin(name));
                }
                node.plugins.push((name, score));
                node.total += score * weight;
            }
        }
        Ok(all)
    }
}

/// Scales scores so that the highest becomes 100; reversed, so that it becomes 0.
pub(crate) fn default_normalize(scores: &mut [i64], reverse: bool) {
    let max = scores.iter().copied().max().unwrap_or(0).max(0);
    for score in scores {
        *score = match max {
            0 if reverse => MAX_SCORE,
            0 => *score,
            max => {
                let scaled = MAX_SCORE * *score / max;
                if reverse { MAX_SCORE - scaled } else { scaled }
            }
        };
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
            default_normalize(&mut scores, reverse);
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
