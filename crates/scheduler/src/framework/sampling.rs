//! How many nodes that fit are enough.

use super::Framework;

/// What share of the nodes a profile wants scored, in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodesToScore(i32);

impl Default for NodesToScore {
    /// All of them: what is remembered of a node costs nothing.
    fn default() -> Self {
        Self(100)
    }
}

impl Framework {
    /// The same framework, which looks for fitting nodes only until so many per cent of all have
    /// been found: `percentageOfNodesToScore`. 0 lets the cluster's size decide, as
    /// kube-scheduler does.
    #[must_use]
    pub fn with_percentage_of_nodes_to_score(mut self, percentage: i32) -> Self {
        self.nodes_to_score = NodesToScore(percentage);
        self
    }

    /// How many nodes that fit are enough, of so many: upstream's numFeasibleNodesToFind.
    pub(crate) fn enough(&self, nodes: usize) -> usize {
        if self.score.is_empty() {
            return 1;
        }
        self.nodes_to_score.of(nodes)
    }
}

impl NodesToScore {
    fn of(self, nodes: usize) -> usize {
        if nodes < FEWEST {
            return nodes;
        }
        let percentage = match usize::try_from(self.0).unwrap_or(0) {
            0 => 50_usize.saturating_sub(nodes / 125).max(5),
            percentage => percentage,
        };
        (nodes * percentage / 100).max(FEWEST).min(nodes)
    }
}

const FEWEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_a_cluster_the_smaller_the_share() {
        let rows = [
            // percentage, nodes, enough
            (0, 10, 10),
            (0, 99, 99),
            (0, 100, 100),
            (0, 1_000, 420),
            (0, 5_000, 500),
            (0, 6_000, 300),
            (0, 100_000, 5_000),
            (40, 99, 99),
            (40, 1_000, 400),
            (1, 1_000, 100),
            (100, 5_000, 5_000),
        ];
        for (percentage, nodes, enough) in rows {
            assert_eq!(NodesToScore(percentage).of(nodes), enough, "{percentage} % of {nodes}");
        }
    }
}
