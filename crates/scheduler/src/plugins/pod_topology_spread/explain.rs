//! What would let a pod keep its spread, or break it.

use roadstead_model::{SpreadConstraint, WhenUnsatisfiable};

use super::{NO_DOMAIN, TOO_MANY};
use crate::explain::words::pods;
use crate::explain::{MOST_TOLD, Refusal, Remedies, WITHOUT};

/// `hard` are the constraints that the pod must keep, its own or those of the cluster.
pub(super) fn remedies(hard: &[SpreadConstraint], refusal: &Refusal<'_>) -> Remedies {
    let mut remedies = Remedies::default();
    for constraint in hard {
        let key = &constraint.topology_key;
        let has_key = |(node, _): &(&crate::NodeInfo, _)| node.node().labels.has(key);
        if refusal.has(NO_DOMAIN) && !refusal.nodes.iter().all(has_key) {
            remedies.cluster(format!("a node labelled {key}"));
        }
        if refusal.has(TOO_MANY) {
            let what = pods(&constraint.selector, "pods", "labelled");
            let skew = constraint.max_skew;
            remedies.cluster(format!(
                "{what} spread over {key} with a skew of at most {skew}: fewer where it may go, or \
                 more elsewhere"
            ));
        }
    }
    let own = refusal.pod.spec().spread_constraints.iter().enumerate();
    let is_hard = |c: &SpreadConstraint| c.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule;
    for (at, constraint) in own.filter(|(_, constraint)| is_hard(constraint)) {
        let key = &constraint.topology_key;
        for more in 1..=MOST_TOLD as i32 {
            let Some(skew) = constraint.max_skew.checked_add(more) else { break };
            let words = format!("it allowed a skew of {skew} over {key}");
            let change = refusal.change(words, SKEW + more.unsigned_abs(), |spec| {
                spec.spread_constraints[at].max_skew = skew;
            });
            remedies.of_pod.push(change.in_series(format!("skew over {key}")));
        }
        let words = format!("it were scheduled anyway where it spreads badly over {key}");
        remedies.of_pod.push(refusal.change(words, WITHOUT, |spec| {
            spec.spread_constraints[at].when_unsatisfiable = WhenUnsatisfiable::ScheduleAnyway;
        }));
    }
    remedies
}

/// A little more skew is less than doing without the constraint.
const SKEW: u32 = 500;
