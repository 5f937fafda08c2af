//! Two profiles in one configuration, and pods of schedulers that are not ours.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::{Outcome, check};
use crate::objects::{create, create_all, pod};
use crate::scheduler::Settings;
use crate::world::World;

/// One profile spreads and the other packs.
pub(super) async fn two(world: &mut World) -> Outcome<String> {
    world.nodes(4, "4", "16Gi").await?;
    let packing = json!({
        "schedulerName": "packing",
        "pluginConfig": [{"name": "NodeResourcesFit", "args": {
            "scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]},
        }}],
        "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
    });
    let profiles = vec![json!({"schedulerName": "default-scheduler"}), packing];
    let settings = Settings { profiles, ..world.settings() };
    let _scheduler = world.scheduler_with("scheduler", &settings).await?;

    for index in 0..4 {
        create(&world.client, &pod(&format!("spread-{index}"), "200m", "100Mi")).await?;
        world.until_bound(index + 1, PATIENCE).await?;
    }
    for index in 0..4 {
        create(&world.client, &of_scheduler(&format!("packed-{index}"), "packing", "300m")).await?;
        world.until_bound(5 + index, PATIENCE).await?;
    }

    let book = world.ledger.book();
    let homes = |prefix: &str| -> BTreeSet<_> {
        (0..4).filter_map(|index| book.home(&format!("{prefix}-{index}"))).collect()
    };
    let (spread, packed) = (homes("spread"), homes("packed"));
    check(spread.len() == 4, || format!("the default profile did not spread: {spread:?}"))?;
    check(packed.len() == 1, || format!("the packing profile did not pack: {packed:?}"))?;
    Ok(String::new())
}

/// A pod of a scheduler that we do not know is left alone, and counted once it is on a node.
pub(super) async fn others(world: &mut World) -> Outcome<String> {
    world.nodes(1, "1", "4Gi").await?;
    let mut foreign = of_scheduler("foreign-bound", "somebody-else", "700m");
    foreign["spec"]["nodeName"] = "node-0".into();
    let _scheduler = world.scheduler().await?;
    let objects = [foreign, of_scheduler("foreign-waiting", "somebody-else", "100m")];
    create_all(&world.client, &objects).await?;
    world.until_bound(1, PATIENCE).await?;

    create(&world.client, &pod("too-large", "400m", "100Mi")).await?;
    create(&world.client, &pod("fits", "300m", "100Mi")).await?;
    let settled = |book: &crate::ledger::Book| {
        book.home("fits").is_some()
            && book
                .pod("too-large")
                .is_some_and(|pod| pod.scheduled_message().contains("Insufficient cpu"))
    };
    world.ledger.until("one fits and one does not", PATIENCE, settled).await?;

    let book = world.ledger.book();
    let foreign = book.pod("foreign-waiting");
    check(foreign.is_some_and(|pod| pod.node.is_none() && pod.conditions.is_empty()), || {
        format!("the pod of another scheduler was touched: {foreign:?}")
    })?;
    Ok(String::new())
}

fn of_scheduler(name: &str, scheduler: &str, cpu: &str) -> Value {
    let mut pod = pod(name, cpu, "100Mi");
    pod["spec"]["schedulerName"] = scheduler.into();
    pod
}

const PATIENCE: Duration = Duration::from_secs(20);
