//! Preemption: the victim is told why, the preemptor is nominated and lands there.

use std::time::Duration;

use kube::Client;
use serde_json::Value;

use crate::failure::{Outcome, check};
use crate::objects::{create, create_all, pod, priority_class, read};
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    let client = &world.client;
    world.nodes(2, "1", "4Gi").await?;
    let classes = [
        priority_class("low", 10, "PreemptLowerPriority"),
        priority_class("middle", 100, "PreemptLowerPriority"),
        priority_class("high", 1000, "PreemptLowerPriority"),
    ];
    create_all(client, &classes).await?;
    let _scheduler = world.scheduler().await?;
    create(client, &of_class("keeper", "middle")).await?;
    world.until_bound(1, PATIENCE).await?;
    create(client, &of_class("victim", "low")).await?;
    world.until_bound(2, PATIENCE).await?;
    let room = world.ledger.book().home("victim").map(str::to_owned);

    create(client, &of_class("preemptor", "high")).await?;
    let landed = |name: &'static str| {
        move |book: &crate::ledger::Book| book.home(name).is_some() && book.pods.len() == 2
    };
    world.ledger.until("the preemptor is bound", PATIENCE, landed("preemptor")).await?;

    wait_for_event(client, "victim", "Preempted").await?;
    let book = world.ledger.book();
    let told = book.disrupted.get("default/victim");
    check(
        told.is_some_and(|it| it.status == "True" && it.reason == "PreemptionByScheduler"),
        || format!("the victim's condition DisruptionTarget is {told:?}"),
    )?;
    let nominated = book.nominations.get("default/preemptor");
    check(nominated == room.as_ref(), || {
        format!("the preemptor was nominated for {nominated:?}, and the victim was on {room:?}")
    })?;
    check(book.home("preemptor") == room.as_deref(), || {
        format!("the preemptor landed on {:?} instead of {room:?}", book.home("preemptor"))
    })?;
    check(book.pod("keeper").is_some_and(|pod| !pod.deleting), || {
        "the pod of higher priority was preempted".to_owned()
    })?;
    Ok(String::new())
}

fn of_class(name: &str, class: &str) -> Value {
    let mut pod = pod(name, "800m", "1Gi");
    pod["spec"]["priorityClassName"] = class.into();
    pod
}

/// Events are written when there is time.
async fn wait_for_event(client: &Client, pod: &str, reason: &str) -> Outcome {
    for _ in 0..50 {
        let events = read(client, "/apis/events.k8s.io/v1/namespaces/default/events").await?;
        let mut events = events["items"].as_array().into_iter().flatten();
        if events.any(|event| event["regarding"]["name"] == pod && event["reason"] == reason) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(format!("no Event of pod {pod} has the reason {reason}").into())
}

const PATIENCE: Duration = Duration::from_secs(30);
