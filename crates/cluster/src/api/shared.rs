//! A cluster among tasks: a lock, a clock and a wake-up.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roadstead_queue::Time;

use super::ApiService;
use super::sleepers::Sleepers;
use crate::embedded::Cluster;

/// A cluster that requests and its owner share. Cloning one is cheap: the clones share it, too.
#[derive(Clone)]
pub struct SharedCluster {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    clock: Box<dyn Fn() -> Time + Send + Sync>,
}

/// What the lock is about.
pub(super) struct State {
    pub(super) cluster: Cluster,
    /// The watches that have told everything so far.
    pub(super) sleepers: Sleepers,
}

impl SharedCluster {
    /// Shares a cluster. `clock` says what time it is; it must not call back into the cluster.
    #[must_use]
    pub fn new(cluster: Cluster, clock: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        let state = State { cluster, sleepers: Sleepers::default() };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), clock: Box::new(clock) }) }
    }

    /// The API of the cluster.
    #[must_use]
    pub fn service(&self) -> ApiService {
        ApiService::new(self.clone())
    }

    /// Does something to the cluster, with controllers and kubelets up to date before and after,
    /// and tells watches what happened.
    pub fn with<R>(&self, act: impl FnOnce(&mut Cluster, Time) -> R) -> R {
        let mut state = self.lock();
        let now = self.now();
        let before = state.cluster.version();
        state.cluster.on_time(now);
        let result = act(&mut state.cluster, now);
        state.cluster.on_time(now);
        let woken =
            if state.cluster.version() == before { Vec::new() } else { state.sleepers.take() };
        drop(state);
        woken.into_iter().for_each(std::task::Waker::wake);
        result
    }

    /// Lets time pass: controllers and kubelets do what is due, and watches look at the clock.
    /// Returns when there will be something to do.
    ///
    /// Who owns the clock calls it then, and while there are watches about once a second, or
    /// timeouts and bookmarks come late.
    pub fn tick(&self) -> Option<Time> {
        let mut state = self.lock();
        let now = self.now();
        state.cluster.on_time(now);
        let next = state.cluster.next_wakeup();
        let woken = state.sleepers.take();
        drop(state);
        woken.into_iter().for_each(std::task::Waker::wake);
        next
    }

    pub(super) fn now(&self) -> Time {
        (self.shared.clock)()
    }

    /// A panic in a request is a bug that its caller sees; the cluster stays usable for others.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SharedCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedCluster").finish_non_exhaustive()
    }
}
