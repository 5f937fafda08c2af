//! A Kubernetes cluster in memory.
//!
//! [`Cluster`] is a state machine: requests and the time are method calls, changes are pulled. It
//! does no I/O, starts no thread and reads no clock, and its names and uids come from a seed, so a
//! run can be repeated.

mod admission;
mod binding;
mod controllers;
mod deletion;
mod kubelet;
mod loading;
mod names;
mod requests;
mod routing;
mod store;
mod updates;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;
use k8s_openapi::jiff::Timestamp;
use roadstead_queue::Time;

pub use self::binding::{Binding, PodStatusPatch};
pub use self::deletion::DeleteOptions;
pub use self::kubelet::RUN_SECONDS;
use self::kubelet::Task;
pub use self::loading::LoadReport;
use self::names::Names;
use self::store::Store;
pub use self::store::{Change, ChangeKind, Watch};
use crate::{ApiError, Key, Kind, Object, Resource};

/// A Kubernetes cluster in memory.
///
/// - **Requests**: [`load`](Self::load), [`create`](Self::create), [`update`](Self::update),
///   [`patch_pod_status`](Self::patch_pod_status), [`bind`](Self::bind), [`delete`](Self::delete).
/// - **Questions**: [`get`](Self::get), [`list`](Self::list), [`changes`](Self::changes).
/// - **Time**: controllers and kubelets work in [`on_time`](Self::on_time);
///   [`next_wakeup`](Self::next_wakeup) says when to call it.
///
/// Times are those since the Unix epoch, as far as timestamps of objects are concerned.
#[derive(Clone, Debug)]
pub struct Cluster {
    config: Config,
    now: Time,
    store: Store,
    names: Names,
    tasks: BTreeSet<Task>,
    /// Objects whose controller has to look at them.
    dirty: BTreeSet<Key>,
    /// Objects whose owner is gone.
    garbage: BTreeSet<Key>,
    /// Finished pods that are too many.
    expired: BTreeSet<Key>,
    /// The pods that each budget is about.
    budgets: BTreeMap<Key, BTreeSet<Key>>,
    /// Claims without a volume.
    unbound: BTreeSet<Key>,
    /// The last template of each stateful set, by uid, and what its revision is called.
    revisions: BTreeMap<String, (String, String)>,
    /// Finished pods in the order in which they finished.
    finished: BTreeSet<(u64, Key)>,
    troubles: BTreeMap<Key, ApiError>,
}

/// How a [`Cluster`] behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// What names and uids are drawn from. Default 0.
    pub seed: u64,
    /// From binding to `Running`. Default 1 s.
    pub start_delay: Duration,
    /// From the request to delete a running pod until its kubelet has stopped it, at most the
    /// pod's grace period. Default 1 s.
    pub stop_delay: Duration,
    /// How long pods stay that are bound to a node that does not exist. Default 40 s.
    pub orphan_delay: Duration,
    /// How many changes are kept for watchers. Default 1 000 000.
    pub changes_kept: usize,
    /// How many finished pods are kept. Default 12 500.
    pub finished_pods_kept: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            start_delay: Duration::from_secs(1),
            stop_delay: Duration::from_secs(1),
            orphan_delay: Duration::from_secs(40),
            changes_kept: 1_000_000,
            finished_pods_kept: 12_500,
        }
    }
}

impl Cluster {
    /// A cluster with the namespaces and priority classes that every cluster has, and no nodes.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut cluster = Self {
            store: Store::new(config.changes_kept),
            names: Names::new(config.seed),
            config,
            now: Time::ZERO,
            tasks: BTreeSet::new(),
            dirty: BTreeSet::new(),
            garbage: BTreeSet::new(),
            expired: BTreeSet::new(),
            budgets: BTreeMap::new(),
            unbound: BTreeSet::new(),
            revisions: BTreeMap::new(),
            finished: BTreeSet::new(),
            troubles: BTreeMap::new(),
        };
        for object in admission::built_in() {
            cluster.admit_new(object).expect("what every cluster has is valid");
        }
        cluster
    }

    /// Lets controllers and kubelets do what is due by `now`, each at its own time.
    pub fn on_time(&mut self, now: Time) {
        self.settle();
        while let Some(task) = self.tasks.first()
            && task.at <= now
        {
            let task = self.tasks.pop_first().expect("there is a first one");
            self.advance(task.at);
            self.perform(&task);
            self.settle();
        }
        self.advance(now);
    }

    /// When [`on_time`](Self::on_time) has something to do; a time that has passed means now.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Time> {
        if !(self.dirty.is_empty() && self.garbage.is_empty() && self.expired.is_empty()) {
            return Some(self.now);
        }
        self.tasks.first().map(|task| task.at)
    }

    /// The object of a key.
    #[must_use]
    pub fn object(&self, key: &Key) -> Option<&Object> {
        self.store.get(key)
    }

    /// The object of a type. The namespace counts only where the kind has one.
    #[must_use]
    pub fn get<T: Resource>(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.store.get(&T::IN.key(namespace, name)).and_then(T::of)
    }

    /// A pod.
    #[must_use]
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&Arc<Pod>> {
        self.get(namespace, name)
    }

    /// Every object of a type, by namespace and name.
    pub fn list<T: Resource + 'static>(&self) -> impl Iterator<Item = &Arc<T>> {
        self.store.list(T::IN).filter_map(T::of)
    }

    /// Every object of a kind, by namespace and name.
    pub fn objects(&self, kind: Kind) -> impl Iterator<Item = &Object> {
        self.store.list(kind)
    }

    /// The version of the last change: what a list is as of, and what to watch from.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.store.version()
    }

    /// What happened since this watch was last asked, oldest first.
    ///
    /// # Errors
    /// [`ApiError::Expired`] when the cluster no longer has all of it: list, and start a new watch
    /// at [`version`](Self::version).
    pub fn changes(&self, watch: &mut Watch) -> Result<Vec<Change>, ApiError> {
        self.store.changes(watch)
    }

    /// Lets go of the changes up to a version, that of the slowest watch, say. A watch that has not
    /// read them has to list.
    pub fn forget_changes(&mut self, through: u64) {
        self.store.forget_changes(through);
    }

    /// Workloads that could not make a pod or claim, and why.
    pub fn troubles(&self) -> impl Iterator<Item = (&Key, &ApiError)> {
        self.troubles.iter()
    }

    /// Panics if what is indexed is not what is kept. For tests.
    #[doc(hidden)]
    pub fn check_invariants(&self) {
        self.store.check_invariants();
        for (key, members) in &self.budgets {
            assert!(self.store.get(key).is_some(), "{key} is gone, and its pods are counted");
            for pod in members {
                assert!(self.store.get(pod).is_some(), "{pod} is gone, and counted for {key}");
            }
        }
        for key in &self.unbound {
            assert!(self.store.get(key).is_some(), "{key} is gone, and waits for a volume");
        }
    }

    /// Writes an object and tells everyone whom it concerns. One that changes nothing is no write.
    fn commit(&mut self, mut object: Object) -> Object {
        if let Some(old) = self.store.get(&object.key()) {
            object.metadata_mut().resource_version.clone_from(&old.metadata().resource_version);
            if *old == object {
                return old.clone();
            }
        }
        let change = self.store.put(object);
        self.route(&change);
        change.object
    }

    /// Takes an object away and tells everyone whom it concerns.
    fn erase(&mut self, key: &Key) {
        if let Some(change) = self.store.remove(key) {
            self.route(&change);
        }
    }

    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    fn timestamp(&self) -> ApiTime {
        timestamp(self.now)
    }
}

/// A time as objects have it: whole seconds.
fn timestamp(time: Time) -> ApiTime {
    let seconds = i64::try_from(time.as_millis() / 1000).unwrap_or(i64::MAX);
    ApiTime(Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX))
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

fn phase_of(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

fn is_finished(pod: &Pod) -> bool {
    matches!(phase_of(pod), "Succeeded" | "Failed")
}
