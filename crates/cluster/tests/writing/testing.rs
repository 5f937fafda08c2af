//! A cluster behind a bad network, a writer on it, and time that passes by itself.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use k8s_openapi::api::core::v1 as api;
use kube::api::{DeleteParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use roadstead_cluster::api::SharedCluster;
use roadstead_cluster::api::faults::{FaultConfig, FaultControl, Faults, FaultyBody};
use roadstead_cluster::embedded::{Binding, Cluster, Config};
use roadstead_cluster::kubernetes::Input;
use roadstead_cluster::kubernetes::election::Leadership;
use roadstead_cluster::kubernetes::writing::{Limits, Writer};
use roadstead_model::{Pod, Text, World};
use roadstead_queue::Time;
use roadstead_scheduler::{Command, Condition, Record};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) struct Server {
    pub(crate) cluster: SharedCluster,
    /// Without faults.
    pub(crate) client: Client,
    pub(crate) faults: FaultControl,
    pub(crate) network: Network,
    pub(crate) writer: Writer,
    pub(crate) answers: mpsc::Receiver<Input>,
    world: World,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(Limits { qps: -1.0, ..Limits::default() })
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self::led(limits, Leadership::always())
    }

    pub(crate) fn led(limits: Limits, leadership: Leadership) -> Self {
        let cluster = cluster();
        let client = Client::new(cluster.service(), "default");
        let bad = Faults::new(cluster.service(), FaultConfig::default());
        let faults = bad.control();
        let network = Network::default();
        let bad = Client::new(Line { inner: bad, network: network.clone() }, "default");
        let (sender, answers) = mpsc::channel(100);
        let writer = Writer::start(bad, sender, limits, leadership);
        let world = World::new();
        Self { cluster, client, faults, network, writer, answers, world }
    }

    pub(crate) fn pods(&self) -> Api<api::Pod> {
        Api::default_namespaced(self.client.clone())
    }

    /// Makes a pod, and shows it as a scheduler sees it.
    pub(crate) async fn make_pod(&mut self, name: &str) -> Arc<Pod> {
        let pod = json!({
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "main", "image": "app"}]},
        });
        let pod = serde_json::from_value(pod).unwrap();
        let made = self.pods().create(&PostParams::default(), &pod).await.unwrap();
        Arc::new(Pod::from_api(&made, &mut self.world).unwrap())
    }

    /// Lets a pod go at once, and another take its name.
    pub(crate) async fn replace_pod(&mut self, name: &str) -> Arc<Pod> {
        self.delete_pod(name).await;
        self.make_pod(name).await
    }

    pub(crate) async fn delete_pod(&self, name: &str) {
        self.pods().delete(name, &DeleteParams::default().grace_period(0)).await.unwrap();
    }

    pub(crate) fn bind_elsewhere(&self, pod: &str, node: &str) {
        let binding = Binding::new("default", pod, node);
        self.cluster.with(|cluster, now| cluster.bind(now, &binding)).unwrap();
    }

    pub(crate) fn pod(&self, name: &str) -> Value {
        self.cluster.with(|cluster, _| {
            let pod = cluster.pod("default", name);
            pod.map_or(Value::Null, |pod| serde_json::to_value(&**pod).unwrap())
        })
    }

    pub(crate) fn node_of(&self, pod: &str) -> Option<String> {
        self.pod(pod)["spec"]["nodeName"].as_str().map(str::to_owned)
    }

    pub(crate) fn condition(&self, pod: &str, kind: &str) -> Value {
        let pod = self.pod(pod);
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|it| it["type"] == kind).unwrap_or_default()
    }

    /// Sends a bind and waits for what comes of it.
    pub(crate) async fn bind(&mut self, pod: &Arc<Pod>, node: &str) -> Result<(), String> {
        self.writer.send(bind(pod, node));
        match self.answer().await {
            Input::Bound { pod: uid, result } => {
                assert_eq!(uid, pod.uid);
                result
            }
            other => panic!("not what came of a binding: {other:?}"),
        }
    }

    pub(crate) async fn answer(&mut self) -> Input {
        let answer = tokio::time::timeout(Duration::from_secs(600), self.answers.recv()).await;
        answer.expect("it takes ten minutes").expect("the writer is there")
    }

    /// Lets everything happen that happens within this time.
    pub(crate) async fn after(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.client.request(Request::get(path).body(Vec::new()).unwrap()).await.unwrap()
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) -> Value {
        let body = object.to_string().into_bytes();
        let request = Request::post(path).header("content-type", "application/json").body(body);
        self.client.request(request.unwrap()).await.unwrap()
    }

    pub(crate) async fn events(&self) -> Vec<Value> {
        let list = self.get("/apis/events.k8s.io/v1/namespaces/default/events").await;
        list["items"].as_array().cloned().unwrap()
    }

    pub(crate) fn world(&mut self) -> &mut World {
        &mut self.world
    }
}

pub(crate) fn cluster() -> SharedCluster {
    let start = Instant::now();
    SharedCluster::new(Cluster::new(Config::default()), move || {
        Time::from_millis(u64::try_from(start.elapsed().as_millis()).unwrap())
    })
}

pub(crate) fn bind(pod: &Arc<Pod>, node: &str) -> Command {
    Command::Bind { pod: pod.clone(), node: Text::unshared(node) }
}

pub(crate) fn unschedulable(pod: &Arc<Pod>, message: &str) -> Command {
    Command::PatchStatus {
        pod: pod.clone(),
        condition: Some(Condition {
            reason: "Unschedulable",
            message: message.to_owned(),
            observed_generation: 1,
        }),
        nominated_node: None,
    }
}

pub(crate) fn nominate(pod: &Arc<Pod>, node: &str) -> Command {
    let nominated_node = Some(Text::unshared(node));
    Command::PatchStatus { pod: pod.clone(), condition: None, nominated_node }
}

pub(crate) fn failed_event(pod: &Arc<Pod>, note: &str) -> Command {
    Command::RecordEvent(Record {
        regarding: pod.clone(),
        related: None,
        is_warning: true,
        reason: "FailedScheduling",
        action: "Scheduling",
        note: note.to_owned(),
    })
}

/// A pod that no server knows.
pub(crate) fn unmade(name: &str, world: &mut World) -> Arc<Pod> {
    let pod = json!({
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-of-{name}")},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    });
    Arc::new(Pod::from_api(&serde_json::from_value(pod).unwrap(), world).unwrap())
}

/// What a request meets with on its way that a server cannot do to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// Nothing.
    Not,
    /// It never arrives, and nobody says so.
    Before,
    /// It is done, and the answer never comes.
    After,
    /// It arrives after these seconds, whether or not somebody still waits for it.
    Late(u64),
}

/// What was sent, and what happens to what will be.
#[derive(Clone, Default)]
pub(crate) struct Network {
    shared: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Method and path of each request.
    log: Vec<String>,
    /// For the next writes.
    stalls: VecDeque<Stall>,
}

impl Network {
    pub(crate) fn stall_next_write(&self, stall: Stall) {
        self.shared.lock().unwrap().stalls.push_back(stall);
    }

    /// Method and path of what was sent, without what all have in common.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.shared.lock().unwrap().log.clone()
    }
}

#[derive(Clone)]
struct Line {
    inner: Faults<roadstead_cluster::api::ApiService>,
    network: Network,
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl tower_service::Service<Request<Body>> for Line {
    type Response = Response<FaultyBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        tower_service::Service::<Request<Body>>::poll_ready(&mut self.inner, cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let stall = {
            let mut state = self.network.shared.lock().unwrap();
            let path = request.uri().path();
            let path =
                path.trim_start_matches("/api/v1/").trim_start_matches("/apis/events.k8s.io/v1/");
            let path = path.trim_start_matches("namespaces/default/");
            let is_write = request.method() != http::Method::GET;
            let line = format!("{} {path}", request.method());
            state.log.push(line);
            if is_write { state.stalls.pop_front() } else { None }
        };
        let mut inner = self.inner.clone();
        Box::pin(async move {
            match stall {
                None | Some(Stall::Not) => inner.call(request).await,
                Some(Stall::Before) => std::future::pending().await,
                Some(Stall::After) => {
                    inner.call(request).await?;
                    std::future::pending().await
                }
                Some(Stall::Late(seconds)) => {
                    tokio::spawn(async move {
                        tokio::time::sleep(Duration::from_secs(seconds)).await;
                        inner.call(request).await
                    });
                    Err("connection reset by peer".into())
                }
            }
        })
    }
}
