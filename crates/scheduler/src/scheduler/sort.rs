//! The order of the queue, as the profiles' plugin has it.

use std::sync::Arc;

use roadstead_model::Text;
use roadstead_queue::Time;

use super::QueuedPod;
use crate::framework::{Framework, QueueSort, Rank};
use crate::plugins::PrioritySort;

/// The order of the queue. All profiles share it.
pub struct Sort(Arc<dyn QueueSort>);

impl Sort {
    /// That of the profiles, which configurations are checked to agree on; kube-scheduler's where
    /// they say nothing.
    pub(super) fn of(profiles: &[(Text, Framework)]) -> Self {
        let sort = profiles.iter().find_map(|(_, framework)| framework.queue_sort());
        Self(sort.cloned().unwrap_or_else(|| Arc::new(PrioritySort)))
    }
}

impl roadstead_queue::QueueSort<QueuedPod> for Sort {
    type Rank = Rank;

    fn rank(&self, item: &QueuedPod, queued_at: Time) -> Rank {
        self.0.rank(item.pod(), queued_at)
    }
}
