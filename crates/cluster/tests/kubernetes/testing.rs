//! A cluster behind its API, watched through whatever a test puts in between.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Either, Full};
use kube::Client;
use kube::client::Body;
use roadstead_cluster::api::faults::{FaultConfig, FaultControl, Faults, FaultyBody};
use roadstead_cluster::api::{ApiService, SharedCluster};
use roadstead_cluster::embedded::{Cluster, Config, DeleteOptions};
use roadstead_cluster::kubernetes::{Input, KindStatus, WatchOptions, Watching, watch};
use roadstead_cluster::{Key, Kind, Notice, Object, manifests};
use roadstead_queue::Time;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Another cluster, and what a scheduler hears of it.
pub(crate) struct Harness {
    pub(crate) cluster: SharedCluster,
    pub(crate) faults: FaultControl,
    pub(crate) guard: Guard,
    pub(crate) watching: Watching,
    pub(crate) inputs: mpsc::Receiver<Input>,
    clock: Arc<AtomicU64>,
}

impl Harness {
    /// Watches a cluster with these objects in it.
    pub(crate) fn new(manifests: &str) -> Self {
        Setup::default().start(manifests)
    }

    /// What is heard next, in short.
    pub(crate) async fn next(&mut self) -> String {
        short(&self.next_input().await)
    }

    pub(crate) async fn next_input(&mut self) -> Input {
        let next = timeout(Duration::from_secs(200), self.inputs.recv()).await;
        next.expect("something comes").expect("the watches go on")
    }

    /// What is heard from now on, in short, until nothing more is.
    pub(crate) async fn news(&mut self) -> Vec<String> {
        let mut news = Vec::new();
        while let Ok(Some(input)) = timeout(QUIET, self.inputs.recv()).await {
            news.push(short(&input));
        }
        news
    }

    /// What is heard from now on of pods, in short, until nothing more is.
    pub(crate) async fn news_of_pods(&mut self) -> Vec<String> {
        let news = self.news().await.into_iter();
        news.filter(|news| news.starts_with("+Pod") || news.starts_with("-Pod")).collect()
    }

    /// Takes in everything up to and with the end of the beginning.
    pub(crate) async fn sync(&mut self) -> Vec<Input> {
        let mut heard = Vec::new();
        loop {
            heard.push(self.next_input().await);
            if matches!(heard.last(), Some(Input::Synced)) {
                return heard;
            }
        }
    }

    pub(crate) fn load(&self, text: &str) {
        self.cluster.with(|cluster, now| load(cluster, now, text));
    }

    pub(crate) fn create(&self, object: impl Into<Object>) {
        self.cluster.with(|cluster, now| cluster.create(now, object)).expect("it is fine");
    }

    pub(crate) fn delete(&self, kind: Kind, name: &str) {
        let key = kind.key("default", name);
        self.cluster
            .with(|cluster, now| cluster.delete(now, &key, &DeleteOptions::default()))
            .expect("it is there");
    }

    /// Changes an object, in a way that does not matter.
    pub(crate) fn touch(&self, kind: Kind, name: &str) {
        let key = kind.key("default", name);
        self.cluster.with(|cluster, now| {
            let mut object = cluster.object(&key).expect("it is there").clone();
            let count = cluster.version().to_string();
            let labels = object.metadata_mut().labels.get_or_insert_default();
            labels.insert("touched".to_owned(), count);
            cluster.update(now, object).expect("it is fine");
        });
    }

    /// Forgets what happened so far: watches have to list anew.
    pub(crate) fn forget(&self) {
        self.cluster.with(|cluster, _| cluster.forget_changes(cluster.version()));
    }

    /// Lets time pass for the cluster.
    pub(crate) fn after(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::Relaxed);
        self.cluster.tick();
    }

    pub(crate) fn status(&self, kind: Kind) -> KindStatus {
        let statuses = self.watching.statuses().into_iter();
        statuses.into_iter().find(|status| status.kind == kind).expect("it is watched")
    }

    /// The objects that a scheduler should know of.
    pub(crate) fn there(&self) -> BTreeMap<Key, Object> {
        self.cluster.with(|cluster, _| {
            let all = Notice::KINDS.iter().flat_map(|kind| cluster.objects(*kind));
            let unfinished = all.filter(|object| {
                let status = object.as_pod().and_then(|pod| pod.status.as_ref());
                let phase = status.and_then(|status| status.phase.as_deref());
                !matches!(phase, Some("Succeeded" | "Failed"))
            });
            unfinished.map(|object| (object.key(), object.clone())).collect()
        })
    }
}

/// How a cluster is watched.
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) options: WatchOptions,
    pub(crate) faults: FaultConfig,
    pub(crate) room: usize,
    pub(crate) guard: Guard,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: Config::default(),
            options: WatchOptions::default(),
            faults: FaultConfig::default(),
            room: 1000,
            guard: Guard::default(),
        }
    }
}

impl Setup {
    pub(crate) fn start(self, manifests: &str) -> Harness {
        let mut cluster = Cluster::new(self.config);
        load(&mut cluster, Time::ZERO, manifests);
        // Kubelets have started what is on their nodes.
        cluster.on_time(Time::from_secs(60));
        let clock = Arc::new(AtomicU64::new(60));
        let hand = Arc::clone(&clock);
        let cluster =
            SharedCluster::new(cluster, move || Time::from_secs(hand.load(Ordering::Relaxed)));
        let faults = Faults::new(cluster.service(), self.faults);
        let control = faults.control();
        let guarded = Guarded { inner: faults, guard: self.guard.clone() };
        let (sender, inputs) = mpsc::channel(self.room);
        let watching = watch(Client::new(guarded, "default"), sender, self.options);
        Harness { cluster, faults: control, guard: self.guard, watching, inputs, clock }
    }
}

/// Streamed lists, and lists in small pages.
pub(crate) fn both_ways() -> [WatchOptions; 2] {
    let pages = WatchOptions { streaming_lists: false, page_size: 2, ..WatchOptions::default() };
    [WatchOptions::default(), pages]
}

/// Answers some requests in place of the cluster, and counts all of them.
#[derive(Clone, Default)]
pub(crate) struct Guard {
    state: Arc<Mutex<GuardState>>,
}

#[derive(Default)]
struct GuardState {
    rule: Option<Box<dyn FnMut(&str) -> Option<(u16, String)> + Send>>,
    requests: Vec<String>,
}

impl Guard {
    /// From now on, requests for which the rule has a status and a body are answered with them.
    pub(crate) fn answer(&self, rule: impl FnMut(&str) -> Option<(u16, String)> + Send + 'static) {
        self.state.lock().unwrap().rule = Some(Box::new(rule));
    }

    pub(crate) fn let_pass(&self) {
        self.state.lock().unwrap().rule = None;
    }

    /// The paths and queries of the requests since this was last asked.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }
}

pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> (u16, String) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": message,
    });
    (code, status.to_string())
}

/// An object as the API may show it, with more in its metadata.
pub(crate) fn object(kind: Kind, name: &str, metadata: Value) -> Value {
    let mut object = json!({"metadata": metadata});
    object["metadata"]["name"] = name.into();
    object["kind"] = kind.name().into();
    object["apiVersion"] = kind.api_version().into();
    object
}

#[derive(Clone)]
struct Guarded {
    inner: Faults<ApiService>,
    guard: Guard,
}

impl tower_service::Service<Request<Body>> for Guarded {
    type Response = Response<Either<FaultyBody, Full<Bytes>>>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let asked = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let mut state = self.guard.state.lock().unwrap();
        let answer = state.rule.as_mut().and_then(|rule| rule(&asked));
        state.requests.push(asked);
        drop(state);
        if let Some((code, body)) = answer {
            let body = Either::Right(Full::new(body.into()));
            return Box::pin(async move { Ok(Response::builder().status(code).body(body)?) });
        }
        let answer = self.inner.call(request);
        Box::pin(async move { Ok(answer.await?.map(Either::Left)) })
    }
}

pub(crate) fn load(cluster: &mut Cluster, now: Time, text: &str) {
    let report = cluster.load(now, manifests::parse("test.yaml", text));
    let problems: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new());
}

/// An input, in short: `+` is there, `-` is gone.
pub(crate) fn short(input: &Input) -> String {
    let name = |object: &Object| format!("{} {}", object.kind().name(), object.name());
    match input {
        Input::Set(object) => format!("+{}", name(object)),
        Input::Gone(object) => format!("-{}", name(object)),
        Input::Synced => "synced".to_owned(),
        other => panic!("a watch does not say {other:?}"),
    }
}

pub(crate) fn pods<const N: usize>(names: [&str; N]) -> String {
    names.map(|name| format!("---\nkind: Pod\napiVersion: v1\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: main, image: app}}]}}\n")).concat()
}

/// One object at least of every kind that a scheduler looks at.
pub(crate) const EVERYTHING: &str = "
{kind: Namespace, apiVersion: v1, metadata: {name: team}}
---
{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: fast}, provisioner: disks}
---
{kind: CSIDriver, apiVersion: storage.k8s.io/v1, metadata: {name: disks}, spec: {}}
---
{kind: Node, apiVersion: v1, metadata: {name: pier}, status: {allocatable: {cpu: 4, pods: 110}}}
---
{kind: CSINode, apiVersion: storage.k8s.io/v1, metadata: {name: pier}, spec: {drivers: []}}
---
kind: CSIStorageCapacity
apiVersion: storage.k8s.io/v1
metadata: {name: here, namespace: default}
storageClassName: fast
capacity: 1Gi
---
kind: PersistentVolume
apiVersion: v1
metadata: {name: disk}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: disks, volumeHandle: d}}
---
kind: PersistentVolumeClaim
apiVersion: v1
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: fast}
---
kind: VolumeAttachment
apiVersion: storage.k8s.io/v1
metadata: {name: attached}
spec: {attacher: disks, nodeName: pier, source: {persistentVolumeName: disk}}
---
{kind: Service, apiVersion: v1, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
---
kind: PodDisruptionBudget
apiVersion: policy/v1
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
kind: ReplicationController
apiVersion: v1
metadata: {name: old}
spec: {replicas: 0, selector: {app: old}, template: {metadata: {labels: {app: old}}, spec: {containers: [{name: main, image: app}]}}}
---
kind: ReplicaSet
apiVersion: apps/v1
metadata: {name: web}
spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: app}]}}}
---
kind: StatefulSet
apiVersion: apps/v1
metadata: {name: db}
spec: {replicas: 0, serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: main, image: app}]}}}
---
{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: main, image: app}]}}
---
{kind: Pod, apiVersion: v1, metadata: {name: b}, spec: {nodeName: pier, containers: [{name: main, image: app}]}}
---
{kind: Pod, apiVersion: v1, metadata: {name: c}, spec: {containers: [{name: main, image: app}]}}
";

/// Longer than the longest wait after one failure or two.
pub(crate) const QUIET: Duration = Duration::from_secs(10);
