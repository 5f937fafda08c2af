//! What a pod costs the embedded cluster: to make, to bind, to start, to tell, and to keep.
//!
//! `cargo bench -p roadstead-bench --bench pods [-- PODS]` prints microseconds and bytes for each pod.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use roadstead_cluster::embedded::{Binding, Cluster, Config, DeleteOptions, Watch};
use roadstead_cluster::{Kind, Object, manifests};
use roadstead_queue::Time;

fn main() {
    let pods: usize = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(10_000);
    let nodes = 5_000;
    let mut cluster = Cluster::new(Config::default());
    for i in 0..nodes {
        let text = NODE.replace("NAME", &format!("node-{i}"));
        cluster.create(Time::ZERO, one(&text)).expect("a node");
    }
    let template = one(POD);
    let template = template.as_pod().expect("a pod");
    let mut watch = Watch::new(&[Kind::Pod], cluster.version());
    let before = resident_bytes();

    let made = timed("create", pods, || {
        let mut made = Vec::with_capacity(pods);
        for i in 0..pods {
            let mut pod: Pod = (**template).clone();
            pod.metadata.name = Some(format!("pod-{i}"));
            made.push(cluster.create(Time::ZERO, pod).expect("a pod"));
        }
        made
    });
    let waiting = resident_bytes();
    timed("changes", pods, || cluster.changes(&mut watch).expect("they are kept").len());
    let now = Time::from_secs(1);
    timed("bind", pods, || {
        for (i, pod) in made.iter().enumerate() {
            let node = format!("node-{}", i % nodes);
            let binding = Binding::new("default", pod.name(), &node).only(pod.uid());
            cluster.bind(now, &binding).expect("it waits");
        }
    });
    drop(made);
    timed("start", pods, || cluster.on_time(Time::from_secs(2)));
    timed("changes", 2 * pods, || cluster.changes(&mut watch).expect("they are kept").len());
    let running = resident_bytes();
    cluster.forget_changes(cluster.version());
    let settled = resident_bytes();
    timed("delete", pods, || {
        let keys: Vec<_> = cluster.objects(Kind::Pod).map(Object::key).collect();
        for key in keys {
            let options =
                DeleteOptions { grace_period: Some(Duration::ZERO), ..DeleteOptions::default() };
            cluster.delete(now, &key, &options).expect("it is there");
        }
        cluster.on_time(Time::from_secs(3));
    });
    let each = |bytes: usize| bytes.saturating_sub(before) / pods;
    println!("bytes a pod: {} waiting, {} running with its history", each(waiting), each(running));
    println!("bytes a pod: {} resident after the history is forgotten", each(settled));
}

fn timed<R>(what: &str, count: usize, act: impl FnOnce() -> R) -> R {
    let (start, running) = (Instant::now(), running_time());
    let result = act();
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    let processor = running_time().saturating_sub(running);
    println!(
        "{what:8} {:7.2} µs each, {:7.2} µs of processor",
        each(start.elapsed()),
        each(processor)
    );
    result
}

/// How long this thread has run, without what it waited for others; 0 where the system does not
/// say.
fn running_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0);
    Duration::from_nanos(nanos)
}

fn one(text: &str) -> Object {
    manifests::parse("bench.yaml", text).documents.remove(0).object
}

/// What the process has in memory; 0 where the system does not say.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0) * 4096
}

const NODE: &str = "
apiVersion: v1
kind: Node
metadata: {name: NAME, labels: {zone: a}}
status: {allocatable: {cpu: 32, memory: 128Gi, pods: 110}}
";

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: x, labels: {app: web, tier: front}}
spec:
  containers:
  - name: main
    image: app
    resources: {requests: {cpu: 100m, memory: 500Mi}}
";
