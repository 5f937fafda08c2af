//! Every pod as the API server tells of it, watched from the start, and the two rules that no
//! fault excuses: a pod is bound once, and no node is ever overfull.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod, PodCondition};
use kube::api::{Api, DeleteParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::amounts::Amounts;
use crate::failure::{Outcome, check};

/// Follows all pods, and plays kubelet for those that are being deleted.
pub(crate) struct Ledger {
    book: Arc<Mutex<Book>>,
    changed: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

/// What is known of all pods.
#[derive(Default)]
pub(crate) struct Book {
    /// Those that exist, by namespace and name.
    pub(crate) pods: BTreeMap<String, Seen>,
    /// The condition `DisruptionTarget` of those that have or had it.
    pub(crate) disrupted: BTreeMap<String, Condition>,
    /// The node for which a pod was last nominated, if it ever was.
    pub(crate) nominations: BTreeMap<String, String>,
    homes: HashMap<String, String>,
    used: BTreeMap<String, Amounts>,
    most_used: BTreeMap<String, Amounts>,
    broken: Vec<String>,
}

/// One pod.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    uid: String,
    /// Where it is bound.
    pub(crate) node: Option<String>,
    /// When that was first seen.
    pub(crate) bound_at: Option<Instant>,
    /// Where preemption made room for it.
    pub(crate) nominated: Option<String>,
    /// Its conditions, but for times.
    pub(crate) conditions: Vec<Condition>,
    /// Whether its deletion has begun.
    pub(crate) deleting: bool,
    /// What it asks for.
    pub(crate) requests: Amounts,
    /// The labels of the nodes it wants.
    pub(crate) selector: Vec<(String, String)>,
}

/// A condition without its times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Condition {
    /// `PodScheduled` and the like.
    pub(crate) kind: String,
    /// `True`, `False` or `Unknown`.
    pub(crate) status: String,
    /// One word.
    pub(crate) reason: String,
    /// Words for people.
    pub(crate) message: String,
    /// Which generation of the pod it speaks of.
    pub(crate) observed_generation: Option<i64>,
}

impl Ledger {
    /// Begins to watch, and returns when the first list is here.
    pub(crate) async fn open(client: Client) -> Outcome<Ledger> {
        let book = Arc::new(Mutex::new(Book::default()));
        let (tell, changed) = watch::channel(0);
        let task = tokio::spawn(follow(client, Arc::clone(&book), tell));
        let mut ledger = Ledger { book, changed, task };
        tokio::time::timeout(Duration::from_secs(30), ledger.changed.changed()).await??;
        Ok(ledger)
    }

    /// The book as it is now.
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.book)
    }

    /// Waits until `met` holds. Fails after `patience`, with `what` and how far it got, and at
    /// once when a rule is broken.
    pub(crate) async fn until(
        &self,
        what: &str,
        patience: Duration,
        met: impl Fn(&Book) -> bool,
    ) -> Outcome {
        let mut changed = self.changed.clone();
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            {
                let book = self.book();
                if let Some(broken) = book.broken.first() {
                    return Err(broken.clone().into());
                }
                if met(&book) {
                    return Ok(());
                }
            }
            match tokio::time::timeout_at(deadline, changed.changed()).await {
                Ok(told) => told?,
                Err(_) => {
                    let book = self.book();
                    let (bound, all) = (book.bound(), book.pods.len());
                    let waiting: Vec<_> = book.waiting().take(5).collect();
                    return Err(format!(
                        "not within {} s: {what}; {bound} of {all} pods are bound; waiting: {waiting:?}",
                        patience.as_secs()
                    )
                    .into());
                }
            }
        }
    }

    /// Checks that no rule was broken since the start.
    pub(crate) fn verify(&self, nodes: &[Node]) -> Outcome {
        let book = self.book();
        if let Some(broken) = book.broken.first() {
            return Err(broken.clone().into());
        }
        for node in nodes {
            let name = node.name_any();
            let allocatable = Amounts::of_node(node)?;
            if let Some(most) = book.most_used.get(&name) {
                check(most.fits_in(&allocatable), || {
                    format!("node {name} was overfull: {most:?} of {allocatable:?}")
                })?;
            }
        }
        Ok(())
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Book {
    /// How many pods are bound.
    pub(crate) fn bound(&self) -> usize {
        self.pods.values().filter(|pod| pod.node.is_some()).count()
    }

    /// Pods that are not bound, with what the scheduler says of them.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pods.iter().filter(|(_, pod)| pod.node.is_none()).map(|(name, pod)| {
            (name.as_str(), pod.condition("PodScheduled").map_or("", |it| it.message.as_str()))
        })
    }

    /// The pod `name` of the default namespace.
    pub(crate) fn pod(&self, name: &str) -> Option<&Seen> {
        self.pods.get(&format!("default/{name}"))
    }

    /// Where the pod `name` of the default namespace is bound.
    pub(crate) fn home(&self, name: &str) -> Option<&str> {
        self.pod(name)?.node.as_deref()
    }

    /// What the pods on a node ask for together.
    pub(crate) fn used_on(&self, node: &str) -> Amounts {
        self.used.get(node).copied().unwrap_or_default()
    }

    /// Forgets what is past: nodes and pods are about to be replaced by others of their names.
    pub(crate) fn forget(&mut self) {
        self.most_used.clear();
        self.disrupted.clear();
        self.nominations.clear();
    }

    fn note(&mut self, pod: &Pod) {
        let key = key(pod);
        let mut seen = match Seen::of(pod) {
            Ok(seen) => seen,
            Err(error) => {
                self.broken.push(format!("pod {key} cannot be read: {error}"));
                return;
            }
        };
        let home = self.homes.get(&seen.uid);
        if let Some(home) = home
            && seen.node.as_ref() != Some(home)
        {
            self.broken.push(format!("pod {key} was on {home}, and is now on {:?}", seen.node));
        }
        if let Some(node) = &seen.node {
            self.homes.insert(seen.uid.clone(), node.clone());
            let before = self.pods.get(&key).and_then(|before| before.bound_at);
            seen.bound_at = before.or_else(|| Some(Instant::now()));
        }
        if let Some(condition) = seen.condition("DisruptionTarget") {
            self.disrupted.insert(key.clone(), condition.clone());
        }
        if let Some(node) = &seen.nominated {
            self.nominations.insert(key.clone(), node.clone());
        }
        self.remove(&key);
        self.count(&seen);
        self.pods.insert(key, seen);
    }

    fn remove(&mut self, key: &str) {
        if let Some(gone) = self.pods.remove(key)
            && let Some(node) = &gone.node
            && let Some(used) = self.used.get_mut(node)
        {
            used.subtract(&gone.requests);
        }
    }

    fn count(&mut self, pod: &Seen) {
        if let Some(node) = &pod.node {
            let used = self.used.entry(node.clone()).or_default();
            used.add(&pod.requests);
            self.most_used.entry(node.clone()).or_default().raise_to(used);
        }
    }

    fn keep_only(&mut self, listed: &BTreeSet<String>) {
        let gone: Vec<String> =
            self.pods.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        for key in gone {
            self.remove(&key);
        }
    }
}

impl Seen {
    fn of(pod: &Pod) -> Outcome<Seen> {
        let status = pod.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_ref());
        let selector = pod.spec.as_ref().and_then(|spec| spec.node_selector.clone());
        Ok(Seen {
            uid: pod.uid().unwrap_or_default(),
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
            bound_at: None,
            nominated: status.and_then(|status| status.nominated_node_name.clone()),
            conditions: conditions.into_iter().flatten().map(Condition::of).collect(),
            deleting: pod.metadata.deletion_timestamp.is_some(),
            requests: Amounts::of_pod(pod)?,
            selector: selector.into_iter().flatten().collect(),
        })
    }

    /// The condition of this kind.
    pub(crate) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// What the scheduler wrote into the condition `PodScheduled`.
    pub(crate) fn scheduled_message(&self) -> &str {
        self.condition("PodScheduled").map_or("", |condition| condition.message.as_str())
    }
}

impl Condition {
    fn of(condition: &PodCondition) -> Condition {
        Condition {
            kind: condition.type_.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone().unwrap_or_default(),
            message: condition.message.clone().unwrap_or_default(),
            observed_generation: condition.observed_generation,
        }
    }
}

async fn follow(client: Client, book: Arc<Mutex<Book>>, tell: watch::Sender<u64>) {
    let api: Api<Pod> = Api::all(client.clone());
    let mut stream = watcher(api, watcher::Config::default()).default_backoff().boxed();
    let mut listed = BTreeSet::new();
    let mut finishing = BTreeSet::new();
    while let Some(event) = stream.next().await {
        // The server is away: the watcher comes back by itself.
        let Ok(event) = event else { continue };
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(pod) => {
                listed.insert(key(&pod));
                lock(&book).note(&pod);
                finish(&client, &pod, &mut finishing);
            }
            Event::InitDone => lock(&book).keep_only(&listed),
            Event::Apply(pod) => {
                lock(&book).note(&pod);
                finish(&client, &pod, &mut finishing);
            }
            Event::Delete(pod) => lock(&book).remove(&key(&pod)),
        }
        tell.send_modify(|changes| *changes += 1);
    }
}

/// Does what a kubelet does with a pod that is being deleted, after a moment.
fn finish(client: &Client, pod: &Pod, finishing: &mut BTreeSet<String>) {
    let uid = pod.uid().unwrap_or_default();
    if pod.metadata.deletion_timestamp.is_none() || !finishing.insert(uid.clone()) {
        return;
    }
    let api: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    tokio::spawn(async move {
        let now = DeleteParams::default()
            .grace_period(0)
            .preconditions(kube::api::Preconditions { uid: Some(uid), resource_version: None });
        for _ in 0..60 {
            tokio::time::sleep(KUBELET_DELAY).await;
            match api.delete(&name, &now).await {
                Ok(_) => return,
                Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => return,
                Err(_) => {}
            }
        }
    });
}

fn key(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any())
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    // A panic in a case must not hide behind a poisoned lock.
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

const KUBELET_DELAY: Duration = Duration::from_millis(300);
