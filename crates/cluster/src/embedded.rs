//! A Kubernetes cluster in memory.
//!
//! [`Cluster`] is a state machine: requests and the time are method calls, changes are pulled. It
//! does no I/O, starts no thread and reads no clock, and its names and uids come from a seed, so a
//! run can be repeated.

mod admission;
mod applying;
mod binding;
mod containers;
mod controllers;
mod deletion;
mod events;
mod eviction;
mod kubelet;
mod loading;
mod names;
mod requests;
mod routing;
mod shelves;
mod store;
mod tainting;
mod updates;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;
use k8s_openapi::jiff::Timestamp;
use roadstead_queue::Time;

pub use self::applying::Applied;
pub use self::binding::{Binding, PodStatusPatch};
use self::controllers::daemon_set::{DaemonWork, Fleet};
pub use self::deletion::{DeleteOptions, Propagation};
use self::kubelet::Task;
pub use self::kubelet::{EXIT_CODE, RUN_SECONDS};
pub use self::loading::LoadReport;
use self::names::Names;
use self::store::Store;
pub use self::store::{Change, ChangeKind, Watch};
use crate::{ApiError, Key, Kind, Object, Resource};

/// A Kubernetes cluster in memory.
///
/// - **Requests**: [`load`](Self::load), [`apply`](Self::apply), [`create`](Self::create), [`update`](Self::update),
///   [`patch_pod_status`](Self::patch_pod_status), [`bind`](Self::bind), [`delete`](Self::delete),
///   [`evict`](Self::evict).
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
    /// What is to be done, by time and in the order in which it was planned.
    tasks: BTreeMap<(Time, u64), Task>,
    planned: u64,
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
    /// Finished pods in the order in which they finished, and the place of each in it.
    finished: BTreeMap<u64, Key>,
    finished_at: BTreeMap<Key, u64>,
    troubles: BTreeMap<Key, ApiError>,
    /// What nobody manages and a set might adopt.
    orphans: BTreeSet<Key>,
    /// What may have got another owner.
    strays: BTreeSet<Key>,
    /// What each daemon set has, and what of it has to be looked at.
    fleets: BTreeMap<Key, Fleet>,
    daemon_work: BTreeSet<(Key, DaemonWork)>,
    /// The Events by the version that they were written in, and when that was.
    events: BTreeMap<u64, (Time, Key)>,
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
    /// Whether kubelets report on each container of a pod, as `kubectl get pods` needs it for its
    /// READY column. It takes a few hundred bytes a running pod, and no scheduler looks at it.
    /// Default no.
    pub reports_containers: bool,
    /// How long pods stay that are bound to a node that does not exist. Default 40 s.
    pub orphan_delay: Duration,
    /// How long a pod without a toleration of its own stays on a node that is not ready or not
    /// reachable. Default 5 min.
    pub default_toleration: Duration,
    /// How many changes are kept for watchers. Default 1 000 000.
    pub changes_kept: usize,
    /// How many finished pods are kept. Default 12 500.
    pub finished_pods_kept: usize,
    /// How many Events are kept. Default 10 000.
    pub events_kept: usize,
    /// How long an Event is kept after it was last written. Default 1 h.
    pub events_kept_for: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            start_delay: Duration::from_secs(1),
            stop_delay: Duration::from_secs(1),
            reports_containers: false,
            orphan_delay: Duration::from_secs(40),
            default_toleration: Duration::from_secs(300),
            changes_kept: 1_000_000,
            finished_pods_kept: 12_500,
            events_kept: 10_000,
            events_kept_for: Duration::from_secs(3600),
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
            tasks: BTreeMap::new(),
            planned: 0,
            dirty: BTreeSet::new(),
            garbage: BTreeSet::new(),
            expired: BTreeSet::new(),
            budgets: BTreeMap::new(),
            unbound: BTreeSet::new(),
            revisions: BTreeMap::new(),
            finished: BTreeMap::new(),
            finished_at: BTreeMap::new(),
            troubles: BTreeMap::new(),
            orphans: BTreeSet::new(),
            strays: BTreeSet::new(),
            fleets: BTreeMap::new(),
            daemon_work: BTreeSet::new(),
            events: BTreeMap::new(),
        };
        for object in admission::built_in() {
            cluster.admit_new(object).expect("what every cluster has is valid");
        }
        cluster
    }

    /// Lets controllers and kubelets do what is due by `now`, each at its own time.
    pub fn on_time(&mut self, now: Time) {
        self.settle();
        while let Some(at) = self.next_task().filter(|at| *at <= now) {
            self.advance(at);
            // Controllers look once at all that happens at one time.
            while self.next_task() == Some(at)
                && let Some((_, task)) = self.tasks.pop_first()
            {
                self.perform(&task);
            }
            self.settle();
        }
        self.advance(now);
    }

    /// When [`on_time`](Self::on_time) has something to do; a time that has passed means now.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Time> {
        let is_settled = self.dirty.is_empty()
            && self.garbage.is_empty()
            && self.expired.is_empty()
            && self.strays.is_empty()
            && self.daemon_work.is_empty();
        if !is_settled {
            return Some(self.now);
        }
        self.next_task()
    }

    /// What time it is in the cluster: the latest that it was told.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    fn next_task(&self) -> Option<Time> {
        self.tasks.first_key_value().map(|((at, _), _)| *at)
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
        self.store.changes(watch, usize::MAX)
    }

    /// Like [`changes`](Self::changes), but looks at no more than `most` changes at once: fewer, or
    /// none, may be of the kinds that are watched. The watch's
    /// [`version`](Watch::version) says how far it has come.
    ///
    /// # Errors
    /// As [`changes`](Self::changes).
    pub fn next_changes(&self, watch: &mut Watch, most: usize) -> Result<Vec<Change>, ApiError> {
        self.store.changes(watch, most)
    }

    /// The objects of `from`'s kind as they were at a version, from that key on, in order.
    ///
    /// # Errors
    /// [`ApiError::Expired`] when the cluster no longer knows.
    pub fn objects_at<'a>(
        &'a self,
        version: u64,
        from: &Key,
    ) -> Result<impl Iterator<Item = &'a Object> + use<'a>, ApiError> {
        self.store.as_of(version, from)
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
        self.check_fleets();
        self.check_orphans();
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
        let key = object.key();
        if let Some(old) = self.store.get(&key) {
            object.metadata_mut().resource_version.clone_from(&old.metadata().resource_version);
            if *old == object {
                return old.clone();
            }
        }
        let change = self.store.put(&key, object);
        self.route(&change, &key);
        change.object
    }

    /// Takes an object away and tells everyone whom it concerns.
    fn erase(&mut self, key: &Key) {
        if let Some(change) = self.store.remove(key) {
            self.route(&change, key);
        }
    }

    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.expire_events();
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
