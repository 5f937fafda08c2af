//! Where an item is.

use crate::plugin::PluginId;
use crate::time::Time;

/// Where an item is. An item is in one place: there is nothing else that says where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Ready to be tried.
    Active,
    /// Waiting after a rejection. [`pop`](crate::Queue::pop) may take it early, if so configured.
    Backoff {
        /// The end of its backoff; `None` where it has none.
        until: Option<Time>,
    },
    /// Waiting after an error. Only time, or being activated, ends this.
    ErrorBackoff {
        /// The end of its backoff; `None` where it has none.
        until: Option<Time>,
    },
    /// Rejected, and waiting for an event.
    Unschedulable,
    /// Held by a gate.
    Gated {
        /// The gate.
        by: PluginId,
    },
    /// Being tried.
    InFlight,
}

impl Place {
    /// Whether the item is in the unschedulable pool, held by a gate or not.
    pub fn is_pool(self) -> bool {
        matches!(self, Self::Unschedulable | Self::Gated { .. })
    }

    /// Whether the item is in one of the two backoffs.
    pub fn is_backoff(self) -> bool {
        matches!(self, Self::Backoff { .. } | Self::ErrorBackoff { .. })
    }
}
