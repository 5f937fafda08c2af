//! Higher priority first, then who was queued earlier.

use roadstead_model::Pod;
use roadstead_queue::Time;

use crate::framework::{Extensions, Joining, Plugin, QueueSort, Rank, Registration};

/// Higher priority first, then who was queued earlier.
pub struct PrioritySort;

impl PrioritySort {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions() -> Extensions {
        Joining::new(Self).queue_sort().done()
    }
}

impl Plugin for PrioritySort {
    fn name(&self) -> &'static str {
        "PrioritySort"
    }

    /// It rejects nobody.
    fn events(&self) -> Vec<Registration> {
        Vec::new()
    }
}

impl QueueSort for PrioritySort {
    fn rank(&self, pod: &Pod, queued_at: Time) -> Rank {
        let urgency = i64::from(i32::MAX) - i64::from(pod.spec().priority);
        Rank::by(urgency.unsigned_abs(), queued_at.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    #[test]
    fn priority_comes_before_time() {
        let mut cluster = testing::nodes(json!([]));
        let [top, normal, none, negative, bottom] =
            [Some(i32::MAX), Some(1), None, Some(-1), Some(i32::MIN)]
                .map(|priority| cluster.pod(json!({"spec": {"priority": priority}})));
        #[rustfmt::skip]
        let rows = [
            ("higher priority, though later", &top,    9, &normal,   1, true),
            ("none is zero",                  &none,   9, &negative, 1, true),
            ("zero is below one",             &normal, 9, &none,     1, true),
            ("the lowest of all",             &bottom, 1, &negative, 9, false),
            ("as urgent, and earlier",        &normal, 1, &normal,   2, true),
            ("as urgent, and later",          &normal, 2, &normal,   1, false),
            ("alike",                         &normal, 1, &normal,   1, false),
        ];
        for (words, a, a_at, b, b_at, expected) in rows {
            let rank = |pod, at| PrioritySort.rank(pod, Time::from_secs(at));
            assert_eq!(rank(a, a_at) < rank(b, b_at), expected, "{words}");
        }
    }
}
