//! Plain placement of many pods.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::failure::{Outcome, check};
use crate::objects::{create_all, pod};
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    world.nodes(NODES, "4", "16Gi").await?;
    let _scheduler = world.scheduler().await?;

    let began = Instant::now();
    let pods: Vec<_> =
        (0..PODS).map(|index| pod(&format!("pod-{index}"), "100m", "200Mi")).collect();
    create_all(&world.client, &pods).await?;
    world.until_bound(PODS, Duration::from_secs(120)).await?;
    let took = began.elapsed();

    let mut on_node = BTreeMap::<String, usize>::new();
    for pod in world.ledger.book().pods.values() {
        *on_node.entry(pod.node.clone().unwrap_or_default()).or_default() += 1;
    }
    let (least, most) = (on_node.values().min(), on_node.values().max());
    let even = on_node.len() == NODES && least >= Some(&5) && most <= Some(&15);
    check(even, || format!("pods are spread unevenly: {on_node:?}"))?;
    Ok(format!("{PODS} pods bound in {:.1} s", took.as_secs_f64()))
}

const NODES: usize = 100;
const PODS: usize = 1000;
