//! A cluster behind its API, a clock that tests turn, and short words for what they ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{FutureExt, Stream, StreamExt};
use http::Request;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::PostParams;
use kube::core::Status;
use kube::{Api, Client};
use roadstead_cluster::api::SharedCluster;
use roadstead_cluster::api::faults::{FaultConfig, FaultControl, Faults};
use roadstead_cluster::embedded::{Cluster, Config};
use roadstead_queue::Time;
use serde_json::{Value, json};

pub(crate) struct Server {
    pub(crate) cluster: SharedCluster,
    pub(crate) client: Client,
    clock: Arc<AtomicU64>,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(crate) fn with(config: Config) -> Self {
        let clock = Arc::new(AtomicU64::new(0));
        let hand = Arc::clone(&clock);
        let cluster = SharedCluster::new(Cluster::new(config), move || {
            Time::from_secs(hand.load(Ordering::Relaxed))
        });
        let client = Client::new(cluster.service(), "default");
        Self { cluster, client, clock }
    }

    /// Another client, whose requests fail at times.
    pub(crate) fn faulty(&self, config: FaultConfig) -> (Client, FaultControl) {
        let faults = Faults::new(self.cluster.service(), config);
        let control = faults.control();
        (Client::new(faults, "default"), control)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.client.clone())
    }

    pub(crate) fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    pub(crate) fn after(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::Relaxed);
        self.cluster.tick();
    }

    pub(crate) async fn make_pods<const N: usize>(&self, names: [&str; N]) -> [Pod; N] {
        let mut made = Vec::new();
        for name in names {
            made.push(self.pods().create(&PostParams::default(), &pod(name)).await.unwrap());
        }
        made.try_into().expect("as many as asked for")
    }

    pub(crate) async fn make_node(&self, name: &str) -> Node {
        let node = json!({
            "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}},
        });
        let node = serde_json::from_value(node).unwrap();
        self.nodes().create(&PostParams::default(), &node).await.unwrap()
    }

    /// What a raw request is answered with.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, Status> {
        let text = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json").body(text).unwrap();
        self.client.request(request).await.map_err(refusal)
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Status> {
        self.ask("GET", path, &Value::Null).await
    }

    pub(crate) fn version(&self) -> u64 {
        self.cluster.with(|cluster, _| cluster.version())
    }

    pub(crate) fn check(&self) {
        self.cluster.with(|cluster, _| cluster.check_invariants());
    }
}

/// What a client makes of a refusal.
pub(crate) fn refusal(error: kube::Error) -> Status {
    match error {
        kube::Error::Api(status) => *status,
        other => panic!("not an answer of the API: {other}"),
    }
}

/// The code, reason and message of a refusal.
pub(crate) fn told(status: &Status) -> (u16, &str, &str) {
    (status.code, &status.reason, &status.message)
}

/// The next item of a stream, if it comes without anything else happening.
pub(crate) async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    for _ in 0..1000 {
        if let Some(item) = stream.next().now_or_never() {
            return item;
        }
        tokio::task::yield_now().await;
    }
    panic!("nothing comes, and the stream does not end");
}

/// Whether a stream has nothing to say for now.
pub(crate) async fn is_quiet<S: Stream + Unpin>(stream: &mut S) -> bool {
    for _ in 0..100 {
        if stream.next().now_or_never().is_some() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

pub(crate) fn pod(name: &str) -> Pod {
    pod_with(name, json!({}))
}

/// A pod with more labels.
pub(crate) fn pod_with(name: &str, labels: Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    }))
    .unwrap()
}

pub(crate) fn names<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> Vec<String> {
    pods.into_iter().map(|pod| pod.metadata.name.clone().unwrap_or_default()).collect()
}

pub(crate) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

pub(crate) fn binding(pod: &str, node: &str) -> Value {
    json!({
        "kind": "Binding", "apiVersion": "v1", "metadata": {"name": pod},
        "target": {"kind": "Node", "name": node},
    })
}
