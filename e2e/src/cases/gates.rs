//! Scheduling gates: a pod waits until the last one is gone.

use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::{Outcome, check};
use crate::objects::{create, merge, pod};
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    world.nodes(1, "4", "16Gi").await?;
    let _scheduler = world.scheduler().await?;
    let mut gated = pod("gated", "100m", "100Mi");
    gated["spec"]["schedulingGates"] = gates(&["example.com/first", "example.com/second"]);
    create(&world.client, &gated).await?;
    // Once this is bound, the gated one would have had its turn too.
    create(&world.client, &pod("open-0", "100m", "100Mi")).await?;
    world.until_bound(1, PATIENCE).await?;

    merge(
        &world.client,
        GATED,
        &json!({"spec": {"schedulingGates": gates(&["example.com/second"])}}),
    )
    .await?;
    create(&world.client, &pod("open-1", "100m", "100Mi")).await?;
    world.until_bound(2, PATIENCE).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    {
        let book = world.ledger.book();
        let reason = book.pod("gated").and_then(|pod| pod.condition("PodScheduled"));
        check(reason.is_some_and(|it| it.reason == "SchedulingGated"), || {
            format!("the gated pod's condition is {reason:?}")
        })?;
        check(book.home("gated").is_none(), || "the gated pod was bound".to_owned())?;
    }

    merge(&world.client, GATED, &json!({"spec": {"schedulingGates": null}})).await?;
    world.until_bound(3, PATIENCE).await?;
    Ok(String::new())
}

fn gates(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

const GATED: &str = "/api/v1/namespaces/default/pods/gated";
const PATIENCE: Duration = Duration::from_secs(20);
