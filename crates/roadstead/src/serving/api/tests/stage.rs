//! A scheduler to ask, and ways to ask it.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use hyper::body::Body as _;
use k8s_openapi::api::core::v1 as api;
use roadstead_model::{Node, Pod, Text, World};
use roadstead_queue::Time;
use roadstead_scheduler::{Command, JournalLimits, Scheduler, Setup};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::driver::Question;
use crate::observing::{self, Observed};
use crate::serving::api::{
    Applied, Change, Changes, Epoch, Manifests, Mode, Refusal, Replay, Span, Stage, Standing,
};
use crate::serving::{Answer, Unavailable};

/// A scheduler that is asked at once, in place of one on a thread of its own.
pub(in crate::serving) struct TestStage {
    scheduler: Arc<Mutex<Observed>>,
    pub(super) now: Mutex<Time>,
    pub(super) can_change: bool,
    pub(super) is_gone: Mutex<bool>,
    pub(super) leads: Mutex<bool>,
    pub(super) applied: Arc<Mutex<Vec<Manifests>>>,
    /// How many questions were put.
    pub(super) asked: AtomicUsize,
}

impl TestStage {
    /// Two nodes, a pod on one, some that wait in each place, and one that is gone.
    pub(in crate::serving) fn crowded(can_change: bool) -> Arc<Self> {
        let Setup { mut world, profiles, queue } = Setup::default();
        let observers = observing::observers(JournalLimits::default());
        let mut scheduler = Scheduler::new(queue, profiles, observers, 0);
        let start = Time::from_secs(1_000);
        for (name, cpu) in [("pier", 1), ("quay", 2)] {
            let node = json!({
                "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": "north"}},
                "status": {"allocatable": {"cpu": cpu.to_string(), "memory": "8Gi", "pods": "110"},
                           "conditions": [{"type": "Ready", "status": "True"}]},
            });
            let node: api::Node = serde_json::from_value(node).expect("it is a node");
            let node = Node::from_api(&node, &mut world).expect("it compiles");
            scheduler.node_set(Arc::new(node), start);
        }
        let mut set = |scheduler: &mut Observed, name: &str, more: Value, now: Time| {
            let mut pod = json!({
                "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
                "spec": {"schedulerName": "default-scheduler", "containers": [
                    {"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
            });
            for (field, value) in more.as_object().into_iter().flatten() {
                pod["spec"][field] = value.clone();
            }
            let pod: api::Pod = serde_json::from_value(pod).expect("it is a pod");
            let pod = Pod::from_api(&pod, &mut world).expect("it compiles");
            scheduler.pod_set(Arc::new(pod), now);
        };
        let asks = |cpu: &str| json!({"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]});
        set(&mut scheduler, "web-0", asks("500m"), start);
        set(&mut scheduler, "gone", asks("500m"), start);
        set(&mut scheduler, "large", asks("16"), start);
        set(&mut scheduler, "larger", asks("32"), start);
        let gates = json!({"schedulingGates": [{"name": "example.com/wait"}]});
        set(&mut scheduler, "held", gates, start);
        obey(&mut scheduler, start);
        let later = start + Duration::from_secs(5);
        scheduler.on_time(later);
        scheduler.pod_gone(&crate::explained::key("default", "gone"), later);
        obey(&mut scheduler, later);
        for name in ["next-0", "next-1", "next-2"] {
            set(&mut scheduler, name, json!({"priority": 7}), later);
        }
        Arc::new(Self {
            scheduler: Arc::new(Mutex::new(scheduler)),
            now: Mutex::new(later + Duration::from_millis(500)),
            can_change,
            is_gone: Mutex::new(false),
            leads: Mutex::new(true),
            applied: Arc::default(),
            asked: AtomicUsize::new(0),
        })
    }

    /// Lets something happen to the scheduler.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut Observed, Time) -> R) -> R {
        let now = *self.now.lock().expect("nobody panicked");
        act(&mut self.scheduler.lock().expect("nobody panicked"), now)
    }

    /// So many more pods come, which are called `{name}-{number}` and ask for too much.
    pub(super) fn add(&self, name: &str, numbers: Range<usize>) {
        let mut world = World::new();
        for number in numbers {
            let pod = json!({
                "metadata": {"name": format!("{name}-{number}"), "namespace": "crowd",
                             "uid": format!("uid-{name}-{number}")},
                "spec": {"schedulerName": "default-scheduler", "priority": number % 5, "containers": [
                    {"name": "main", "resources": {"requests": {"cpu": "16"}}}]},
            });
            let pod: api::Pod = serde_json::from_value(pod).expect("it is a pod");
            let pod = Arc::new(Pod::from_api(&pod, &mut world).expect("it compiles"));
            self.with(|scheduler, now| scheduler.pod_set(pod, now));
        }
    }

    pub(super) fn later(&self, by: Duration) {
        let mut now = self.now.lock().expect("nobody panicked");
        *now = *now + by;
    }
}

fn obey(scheduler: &mut Observed, now: Time) {
    while scheduler.schedule_one(now) {
        for command in scheduler.commands().collect::<Vec<_>>() {
            if let Command::Bind { pod, node } = command {
                scheduler.bound(&pod.uid, Ok(()), now);
                let mut bound = (*pod).clone();
                bound.node_name = Some(node);
                scheduler.pod_set(Arc::new(bound), now);
            }
        }
    }
}

impl Stage for TestStage {
    fn put(&self, question: Question) -> Answer<()> {
        if *self.is_gone.lock().expect("nobody panicked") {
            return Box::pin(async { Err(Unavailable("the scheduler has stopped".to_owned())) });
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.with(question);
        Box::pin(async { Ok(()) })
    }

    fn standing(&self) -> Standing {
        let mode = if self.can_change { Mode::Serve } else { Mode::Run };
        let leads = *self.leads.lock().expect("nobody panicked");
        Standing { mode, epoch: Epoch::Start, speed: 1.0, leads }
    }

    fn changes(&self) -> Option<Arc<dyn Changes>> {
        let changes = TestChanges(self.applied.clone(), self.scheduler.clone());
        self.can_change.then(|| Arc::new(changes) as Arc<dyn Changes>)
    }

    fn replay(&self) -> Option<Arc<dyn Replay>> {
        self.can_change.then(|| Arc::new(TestReplay) as Arc<dyn Replay>)
    }
}

struct TestChanges(Arc<Mutex<Vec<Manifests>>>, Arc<Mutex<Observed>>);

impl Changes for TestChanges {
    fn apply(&self, manifests: Manifests) -> Change<Applied> {
        let (Manifests::Yaml(text) | Manifests::Json(text)) = &manifests;
        let problems = match text.contains("wrong") {
            true => vec!["line 1: this is wrong".to_owned(), "line 2: this too".to_owned()],
            false => Vec::new(),
        };
        if problems.is_empty() {
            self.0.lock().expect("nobody panicked").push(manifests);
        }
        Box::pin(async move {
            if !problems.is_empty() {
                return Err(Refusal::Wrong(problems));
            }
            Ok(Applied { created: vec!["Pod default/new".to_owned()], ..Applied::default() })
        })
    }

    fn delete_node(&self, name: &str) -> Change<String> {
        let mut scheduler = self.1.lock().expect("nobody panicked");
        let done = match scheduler.node_detail(name, 0) {
            Some(_) => {
                scheduler.node_gone(&Text::unshared(name), Time::from_secs(1_006));
                Ok(format!("Node {name}"))
            }
            None => Err(Refusal::NotFound(format!("there is no node {name}"))),
        };
        Box::pin(async { done })
    }

    fn delete_pod(&self, namespace: &str, name: &str) -> Change<String> {
        let mut scheduler = self.1.lock().expect("nobody panicked");
        let (key, pod) = (crate::explained::key(namespace, name), format!("{namespace}/{name}"));
        let done = match pod.as_str() {
            "default/web-0" => Err(Refusal::Conflict("it is being bound".to_owned())),
            _ if scheduler.known_pods().any(|known| *known == key) => {
                scheduler.pod_gone(&key, Time::from_secs(1_006));
                Ok(format!("Pod {pod}"))
            }
            _ => Err(Refusal::NotFound(format!("there is no pod {pod}"))),
        };
        Box::pin(async { done })
    }
}

struct TestReplay;

impl Replay for TestReplay {
    fn span(&self) -> Span {
        Span { from: 1000.0, to: 2000.0, at: 1005.5 }
    }

    fn seek(&self, _: Time) -> Change<()> {
        Box::pin(async { Ok(()) })
    }
}

/// What was answered.
pub(super) struct Said {
    pub(super) status: u16,
    pub(super) head: http::HeaderMap,
    pub(super) body: Value,
}

impl Said {
    pub(super) fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap_or_default()
    }
}

pub(super) fn router(can_change: bool) -> Router {
    crate::serving::shown(TestStage::crowded(can_change))
}

pub(super) async fn send(router: &Router, request: Request<Body>) -> Response<Body> {
    let Ok(response) = router.clone().oneshot(request).await;
    response
}

pub(super) async fn get(router: &Router, path: &str) -> Said {
    ask(router, "GET", path, None).await
}

/// Asks with a body of a kind, or without one.
pub(super) async fn ask(
    router: &Router,
    method: &str,
    path: &str,
    body: Option<(&str, &str)>,
) -> Said {
    let mut request = Request::builder().method(method).uri(path);
    if let Some((kind, _)) = body {
        request = request.header("content-type", kind);
    }
    let text = body.map(|(_, text)| text.to_owned()).unwrap_or_default();
    let request = request.body(Body::from(text)).expect("it is a request");
    let response = send(router, request).await;
    let (status, head) = (response.status().as_u16(), response.headers().clone());
    let bytes = bytes(response.into_body()).await;
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        panic!("{method} {path}: {error}: {}", String::from_utf8_lossy(&bytes))
    });
    Said { status, head, body }
}

async fn bytes(mut body: Body) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(part) = next(&mut body).await {
        all.extend(part);
    }
    all
}

/// The next part of a body.
pub(super) async fn next(body: &mut Body) -> Option<Vec<u8>> {
    let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut *body).poll_frame(context));
    let frame = frame.await?.expect("it is whole");
    Some(frame.into_data().expect("it is data").to_vec())
}
