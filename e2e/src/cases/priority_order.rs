//! Under scarcity the urgent get the room, whoever came first.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::failure::{Outcome, check};
use crate::objects::{create, create_all, pod, priority_class};
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    let client = &world.client;
    world.nodes(1, "5", "64Gi").await?;
    let classes: Vec<Value> =
        (0..CLASSES).map(|it| priority_class(&format!("class-{it}"), it * 100, "Never")).collect();
    create_all(client, &classes).await?;
    // The least urgent first, all before there is a scheduler.
    for class in 0..CLASSES {
        for index in 0..PODS_PER_CLASS {
            let mut pod = pod(&format!("pod-{class}-{index}"), "1", "100Mi");
            pod["spec"]["priorityClassName"] = format!("class-{class}").into();
            create(client, &pod).await?;
        }
    }
    let _scheduler = world.scheduler().await?;

    let tried = |book: &crate::ledger::Book| {
        book.bound() == ROOM && book.waiting().all(|(_, why)| why.contains("Insufficient cpu"))
    };
    world.ledger.until("five are bound and the others told why not", PATIENCE, tried).await?;
    let book = world.ledger.book();
    let bound: BTreeSet<&str> = book
        .pods
        .iter()
        .filter(|(_, pod)| pod.node.is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    // Four of the highest class, and of the next the one that came first.
    let expected: BTreeSet<&str> = [
        "default/pod-3-0",
        "default/pod-3-1",
        "default/pod-3-2",
        "default/pod-3-3",
        "default/pod-2-0",
    ]
    .into();
    check(bound == expected, || format!("bound are {bound:?} instead of {expected:?}"))?;
    Ok(String::new())
}

const CLASSES: i32 = 4;
const PODS_PER_CLASS: i32 = 4;
const ROOM: usize = 5;
const PATIENCE: Duration = Duration::from_secs(30);
