//! The driver with watches and a writer, on the API of a cluster in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use roadstead_cluster::api::SharedCluster;
use roadstead_cluster::embedded::{self, Cluster};
use roadstead_cluster::kubernetes::election::Leadership;
use roadstead_cluster::kubernetes::writing::Limits;
use roadstead_cluster::kubernetes::{WatchOptions, Watching, watch};
use roadstead_cluster::manifests;
use roadstead_recording::{Ending, Header, Reader, Recorder, Source};
use roadstead_scheduler::config::SchedulerConfiguration;
use roadstead_scheduler::{Journal, JournalLimits, PodKey, Registry, Scheduler, Setup};
use roadstead_sim::{Replay, setup_of};
use tokio::time::{Instant, sleep};

use super::*;
use crate::observing;

#[tokio::test]
async fn the_pods_of_a_cluster_are_bound_through_its_api() {
    let (cluster, running) = run(Orders::Schedule);
    cluster.load(&nodes(10));
    cluster.load(&pods("first", 60));
    cluster.wait_until("all are bound", |c| c.bound() == 60).await;
    cluster.load(&pods("more", 40));
    cluster.wait_until("all are bound", |c| c.bound() == 100).await;
    let waiting = running.questions.ask(|scheduler, _| scheduler.queue().counts().waiting()).await;
    assert_eq!(waiting, Some(0));
    assert!(running.is_synced.load(Ordering::Acquire));
    running.end().await;
}

#[tokio::test]
async fn one_that_stands_by_places_nothing_and_then_goes_on_at_once() {
    let (cluster, running) = run(Orders::Standby);
    cluster.load(&nodes(2));
    cluster.load(&pods("pod", 10));
    let is_warm = |running: &Running| {
        let questions = running.questions.clone();
        async move { questions.ask(|scheduler, _| scheduler.queue().counts().active).await }
    };
    let until = Instant::now() + PATIENCE;
    while is_warm(&running).await != Some(10) {
        assert!(Instant::now() < until, "its queue fills");
        sleep(Duration::from_millis(5)).await;
    }
    sleep(Duration::from_millis(100)).await;
    assert_eq!(cluster.bound(), 0);
    running.orders.send(Orders::Schedule).expect("it runs");
    cluster.wait_until("all are bound", |c| c.bound() == 10).await;
    running.end().await;
}

#[tokio::test]
async fn pods_are_tried_between_questions_however_many_are_asked() {
    let (cluster, running) = run(Orders::Standby);
    cluster.load(&nodes(2));
    cluster.load(&pods("pod", 10));
    let active = |scheduler: &mut Observed, _: Time| scheduler.queue().counts().active;
    let until = Instant::now() + PATIENCE;
    while running.questions.ask(active).await != Some(10) {
        assert!(Instant::now() < until, "its queue fills");
        sleep(Duration::from_millis(5)).await;
    }
    let (let_go, held) = std::sync::mpsc::channel::<()>();
    let hold: Question = Box::new(move |_, _| {
        let _ = held.recv_timeout(PATIENCE);
    });
    running.questions.put(hold).await.expect("it runs");
    let (answer, answers) = std::sync::mpsc::channel();
    for _ in 0..40 {
        let answer = answer.clone();
        let ask: Question = Box::new(move |scheduler, now| {
            answer.send(active(scheduler, now)).expect("the test waits");
        });
        running.questions.put(ask).await.expect("it runs");
    }
    drop(answer);
    running.orders.send(Orders::Schedule).expect("it runs");
    let_go.send(()).expect("it is held");
    cluster.wait_until("all are bound", |c| c.bound() == 10).await;
    let saw_all_wait = answers.into_iter().filter(|active| *active == 10).count();
    // Those of one turn before the orders were read, and of one after.
    assert!(saw_all_wait <= 2 * QUESTIONS_AT_ONCE, "{saw_all_wait} questions came first");
    running.end().await;
}

#[tokio::test]
async fn one_that_finishes_tries_no_more_pods() {
    let (cluster, running) = run(Orders::Schedule);
    cluster.load(&nodes(2));
    cluster.load(&pods("before", 5));
    cluster.wait_until("they are bound", |c| c.bound() == 5).await;
    running.orders.send(Orders::Finish).expect("it runs");
    // A question is answered after the orders were read.
    running.questions.ask(|_, _| ()).await.expect("it runs");
    cluster.load(&pods("after", 5));
    sleep(Duration::from_millis(200)).await;
    assert_eq!(cluster.bound(), 5);
    running.end().await;
}

#[tokio::test]
async fn a_pod_that_fits_nowhere_is_told_why_and_bound_once_there_is_room() {
    let (cluster, running) = run(Orders::Schedule);
    cluster.load(&pods("pod", 1));
    let reason = |c: &Shared| {
        let condition = |pod: &Pod| {
            let conditions =
                pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            conditions
                .clone()
                .find(|it| it.type_ == "PodScheduled")
                .and_then(|it| it.message.clone())
        };
        c.cluster.with(|cluster, _| cluster.list::<Pod>().find_map(|pod| condition(pod)))
    };
    let said = "no nodes available to schedule pods";
    cluster.wait_until("it is told", |c| reason(c).as_deref() == Some(said)).await;
    cluster.load(&nodes(1));
    cluster.wait_until("it is bound", |c| c.bound() == 1).await;
    running.end().await;
}

#[tokio::test]
async fn what_is_recorded_replays_to_the_same_decisions_and_journal() {
    let file = std::env::temp_dir().join(format!("roadstead-driver-{}.rec", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let clock = Clock::new();
    let configuration = SchedulerConfiguration::new(Registry::default().known());
    let header = Header::new(Source::Run, configuration.to_json(), 0).starting(clock.now());
    let recorder = Recorder::create(&file, &header).expect("a new file");
    let (cluster, running) = run_recorded(Orders::Schedule, clock, Recording::new(Some(recorder)));
    cluster.load(&pods("early", 20));
    cluster.load(&nodes(1));
    cluster.load(&pods("pod", 150));
    cluster.wait_until("one node is full", |c| c.bound() == 110).await;
    // Explanations in between are no part of it.
    let explain = |scheduler: &mut Observed, now| {
        let keys: Vec<_> = scheduler.known_pods().cloned().collect();
        keys.iter().filter_map(|key| scheduler.explain(key, now)).count()
    };
    assert_eq!(running.questions.ask(explain).await, Some(170));
    cluster.load(&nodes(2).replace("node-0", "another"));
    cluster.wait_until("all are bound", |c| c.bound() == 170).await;
    let histories = |scheduler: &mut Observed, _| {
        let journal = observing::journal(scheduler);
        journal.histories()
    };
    let until = Instant::now() + PATIENCE;
    while running.questions.ask(|scheduler, _| scheduler.bindings()).await != Some(0) {
        assert!(Instant::now() < until, "the bindings are answered");
        sleep(Duration::from_millis(5)).await;
    }
    let recorded = running.questions.ask(histories).await.expect("it runs");
    running.end().await;

    let reader = Reader::open(&file).expect("it was recorded");
    let setup = setup_of(reader.header(), reader.file(), &Registry::default()).expect("defaults");
    let journal = Journal::new(JournalLimits::default());
    let mut replayed = Replay::new(reader, setup, Some(journal));
    replayed.run_to(None, &mut |_| ()).expect("it is whole");
    assert_eq!(replayed.difference(), None);
    assert_eq!(replayed.ending(), Some(Ending::Complete));
    assert!(replayed.decisions() >= 170, "{} decisions", replayed.decisions());
    assert_eq!(replayed.outcome().counts.placed, 170);
    assert_eq!(recorded.len(), 170);
    for history in recorded {
        let text = roadstead_model::Text::unshared;
        let key = PodKey { namespace: text(&history.namespace), name: text(&history.name) };
        assert_eq!(replayed.history(&key), Some(history));
    }
    std::fs::remove_file(&file).expect("it is ours");
}

struct Shared {
    cluster: SharedCluster,
}

impl Shared {
    fn load(&self, text: &str) {
        let report = self
            .cluster
            .with(|cluster, now| cluster.load(now, manifests::parse("test.yaml", text)));
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }

    fn bound(&self) -> usize {
        let has_node = |pod: &&Arc<Pod>| pod.spec.as_ref().is_some_and(|it| it.node_name.is_some());
        self.cluster.with(|cluster, _| cluster.list::<Pod>().filter(has_node).count())
    }

    async fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < until, "{what}: {} are bound", self.bound());
            sleep(Duration::from_millis(5)).await;
        }
    }
}

struct Running {
    questions: Questions,
    orders: watch::Sender<Orders>,
    is_synced: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    watching: Watching,
    writer: Writer,
}

impl Running {
    async fn end(self) {
        let Self { orders, thread, watching, writer, .. } = self;
        drop((orders, watching, writer));
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        joined.expect("the thread is waited for").expect("it did not panic");
    }
}

fn run(orders: Orders) -> (Shared, Running) {
    run_recorded(orders, Clock::new(), Recording::default())
}

fn run_recorded(orders: Orders, clock: Clock, recording: Recording) -> (Shared, Running) {
    let cluster = Cluster::new(embedded::Config::default());
    let cluster = SharedCluster::new(cluster, move || clock.now());
    let client = Client::new(cluster.service(), "default");
    let (inputs, heard) = mpsc::channel(64);
    let (orders, ordered) = watch::channel(orders);
    let limits = Limits { qps: 0.0, ..Limits::default() };
    let writer = Writer::start(client.clone(), inputs.clone(), limits, Leadership::always());
    let Setup { world, profiles, queue } = Setup::default();
    let is_synced = Arc::new(AtomicBool::new(false));
    let synced = Arc::clone(&is_synced);
    let driver = Driver {
        scheduler: Scheduler::new(
            queue,
            profiles,
            observing::observers(JournalLimits::default()),
            0,
        ),
        world,
        clock,
        hands: writer.clone(),
        inputs: heard,
        orders: ordered,
        on_synced: Some(Box::new(move || synced.store(true, Ordering::Release))),
        verifies_wakeups: true,
        recording,
    };
    let (questions, thread) = driver.start().expect("a thread");
    let watching = watch(client, inputs, WatchOptions::default());
    (Shared { cluster }, Running { questions, orders, is_synced, thread, watching, writer })
}

fn nodes(number: usize) -> String {
    let node = |at| {
        format!(
            "{{kind: Node, apiVersion: v1, metadata: {{name: node-{at}}},\n \
             status: {{allocatable: {{cpu: 100, pods: 110}}}}}}\n"
        )
    };
    (0..number).map(node).collect::<Vec<_>>().join("---\n")
}

fn pods(name: &str, number: usize) -> String {
    let pod = |at| {
        format!(
            "{{kind: Pod, apiVersion: v1, metadata: {{name: {name}-{at}}},\n \
             spec: {{containers: [{{name: main, image: nginx, \
             resources: {{requests: {{cpu: 100m}}}}}}]}}}}\n"
        )
    };
    (0..number).map(pod).collect::<Vec<_>>().join("---\n")
}

const PATIENCE: Duration = Duration::from_secs(30);
