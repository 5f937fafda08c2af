//! Churn for a long time: memory stays flat, and in the end no pod waits that fits.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use crate::amounts::Amounts;
use crate::failure::{Outcome, check};
use crate::ledger::Book;
use crate::objects::{create_all, delete, merge, pod};
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    world.nodes(NODES, "8", "32Gi").await?;
    let mut scheduler = world.scheduler().await?;
    let mut churn = Churn::new();
    let mut resident = Vec::new();
    let began = Instant::now();
    let mut tick = tokio::time::interval(Duration::from_millis(250));
    while began.elapsed() < world.soak {
        tick.tick().await;
        churn.step(world).await?;
        scheduler.process.must_run()?;
        resident.push(scheduler.process.usage()?.resident_bytes);
    }

    // Past the longest backoff, and far from the time at which all are tried again anyway.
    tokio::time::sleep(SETTLING).await;
    let parked = parked_that_fit(world).await?;
    check(parked.is_empty(), || format!("these pods wait and would fit: {parked:?}"))?;
    let waiting = world.ledger.book().waiting().count();
    churn.lift_all(world).await?;
    let only_giants = |book: &Book| book.waiting().all(|(name, _)| name.contains("giant"));
    world.ledger.until("all that fit are bound", Duration::from_secs(60), only_giants).await?;

    let (second, last) = (peak_of_quarter(&resident, 1), peak_of_quarter(&resident, 3));
    check(last as f64 <= second as f64 * MOST_GROWTH, || {
        format!("memory grew from {second} bytes in the second quarter to {last} in the last")
    })?;
    Ok(format!(
        "{} pods created, {} resized, {waiting} waiting before all taints were lifted; memory {:.1} MB in the second quarter, {:.1} MB in the last",
        churn.created,
        churn.resized,
        second as f64 / 1e6,
        last as f64 / 1e6
    ))
}

struct Churn {
    random: fastrand::Rng,
    created: usize,
    resized: usize,
    steps: usize,
    alive: VecDeque<String>,
}

impl Churn {
    fn new() -> Churn {
        Churn {
            random: fastrand::Rng::with_seed(11),
            created: 0,
            resized: 0,
            steps: 0,
            alive: VecDeque::new(),
        }
    }

    /// Some pods come, some go, one shrinks, and now and then a node changes.
    async fn step(&mut self, world: &World) -> Outcome {
        self.steps += 1;
        let pods: Vec<Value> = (0..PODS_A_STEP).map(|_| self.next_pod()).collect();
        create_all(&world.client, &pods).await?;
        let mut going = Vec::new();
        while self.alive.len() > MOST_ALIVE {
            let index = self.random.usize(0..self.alive.len());
            going.extend(self.alive.swap_remove_back(index));
        }
        stream::iter(&going)
            .map(|name| delete(&world.client, name))
            .buffer_unordered(8)
            .try_for_each(|()| async { Ok(()) })
            .await?;
        self.shrink_one(world).await?;
        if self.steps.is_multiple_of(4) {
            self.change_node(world).await?;
        }
        Ok(())
    }

    /// Most are small, some need a pool, and a few fit nowhere.
    fn next_pod(&mut self) -> Value {
        self.created += 1;
        let number = self.created;
        let (name, cpu) = match self.random.u32(0..50) {
            0 => (format!("giant-{number}"), "16".to_owned()),
            _ => (format!("pod-{number}"), format!("{}m", self.random.u32(2..30) * 10)),
        };
        let mut pod = pod(&name, &cpu, "64Mi");
        if self.random.u32(0..5) == 0 {
            pod["spec"]["nodeSelector"] = json!({"pool": self.pool()});
        }
        self.alive.push_back(format!("{PODS}/{name}"));
        pod
    }

    fn pool(&mut self) -> &'static str {
        POOLS[self.random.usize(0..POOLS.len())]
    }

    /// Only ever less: nobody here would refuse to let a pod outgrow its node.
    async fn shrink_one(&mut self, world: &World) -> Outcome {
        let index = self.random.usize(0..self.alive.len().max(1));
        let Some(path) = self.alive.get(index).cloned() else { return Ok(()) };
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_bound = world.ledger.book().home(name).is_some();
        if !is_bound {
            return Ok(());
        }
        let container = json!({"name": "main", "resources": {"requests": {"cpu": "10m"}}});
        let patch = json!({"spec": {"containers": [container]}});
        strategic(world, &format!("{path}/resize"), &patch).await?;
        self.resized += 1;
        Ok(())
    }

    async fn change_node(&mut self, world: &World) -> Outcome {
        let path = format!("/api/v1/nodes/node-{}", self.random.usize(0..NODES));
        let patch = match self.random.u32(0..4) {
            0 => json!({"metadata": {"labels": {"pool": self.pool()}}}),
            1 => json!({"metadata": {"labels": {"pool": null}}}),
            2 => {
                json!({"spec": {"taints": [{"key": "example.com/repair", "effect": "NoSchedule"}]}})
            }
            _ => json!({"spec": {"taints": null}}),
        };
        merge(&world.client, &path, &patch).await
    }

    /// Leaves no reason to wait but size.
    async fn lift_all(&self, world: &World) -> Outcome {
        for index in 0..NODES {
            let pool = POOLS[index % POOLS.len()];
            let patch = json!({"metadata": {"labels": {"pool": pool}}, "spec": {"taints": null}});
            merge(&world.client, &format!("/api/v1/nodes/node-{index}"), &patch).await?;
        }
        Ok(())
    }
}

/// Pods that wait though a node would take them, by a check that knows nothing of schedulers.
async fn parked_that_fit(world: &World) -> Outcome<Vec<String>> {
    let nodes: Api<Node> = Api::all(world.client.clone());
    let nodes = nodes.list(&ListParams::default()).await?.items;
    let book = world.ledger.book();
    let mut found = Vec::new();
    for (name, pod) in book.pods.iter().filter(|(_, pod)| pod.node.is_none()) {
        for node in &nodes {
            if takes(node, &pod.selector, &pod.requests, &book.used_on(&node.name_any()))? {
                found.push(format!("{name} on {}", node.name_any()));
                break;
            }
        }
    }
    Ok(found)
}

fn takes(
    node: &Node,
    selector: &[(String, String)],
    requests: &Amounts,
    used: &Amounts,
) -> Outcome<bool> {
    let is_tainted = node.spec.as_ref().is_some_and(|spec| spec.taints.is_some());
    let labels = node.labels();
    let matches = selector.iter().all(|(key, value)| labels.get(key) == Some(value));
    let mut sum = *used;
    sum.add(requests);
    Ok(!is_tainted && matches && sum.fits_in(&Amounts::of_node(node)?))
}

async fn strategic(world: &World, path: &str, patch: &Value) -> Outcome {
    let request = http::Request::patch(path)
        .header("content-type", "application/strategic-merge-patch+json")
        .body(serde_json::to_vec(patch)?)?;
    world.client.request::<Value>(request).await?;
    Ok(())
}

fn peak_of_quarter(samples: &[u64], quarter: usize) -> u64 {
    let length = samples.len() / 4;
    samples.iter().skip(quarter * length).take(length).copied().max().unwrap_or_default()
}

const NODES: usize = 50;
const PODS_A_STEP: usize = 5;
const MOST_ALIVE: usize = 1500;
const POOLS: [&str; 3] = ["red", "green", "blue"];
const PODS: &str = "/api/v1/namespaces/default/pods";
const SETTLING: Duration = Duration::from_secs(25);
const MOST_GROWTH: f64 = 1.15;
