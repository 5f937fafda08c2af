//! Things that go wrong around a scheduler: afterwards every pod that fits is bound, once.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use serde_json::Value;

use crate::certificates::User;
use crate::failure::{Outcome, check};
use crate::objects::{create_all, create_all_patiently, delete, pod, priority_class};
use crate::proxy::Proxy;
use crate::scheduler::{Kind, Settings};
use crate::world::World;

/// Kills the scheduler amid 5,000 pods and starts it again.
pub(super) async fn scheduler_killed(world: &mut World) -> Outcome<String> {
    world.nodes(200, "4", "32Gi").await?;
    let mut scheduler = world.scheduler().await?;
    let pods = pods("pod", 5000);
    let creation = create_all(&world.client, &pods);
    let killing = async {
        world.until_bound(1500, PATIENCE).await?;
        scheduler.process.kill()?;
        let bound = world.ledger.book().bound();
        check(bound < pods.len(), || "the kill came too late".to_owned())?;
        let restarted = Instant::now();
        let scheduler = world.scheduler_with("scheduler-again", &world.settings()).await?;
        Ok((scheduler, restarted, bound))
    };
    let ((), (_scheduler, restarted, bound)) = futures::try_join!(creation, killing)?;
    world.until_bound(pods.len(), PATIENCE).await?;
    Ok(format!(
        "killed after {bound} pods, the rest bound {:.1} s after the restart",
        restarted.elapsed().as_secs_f64()
    ))
}

/// Takes the API server away for 20 s while pods are being created.
pub(super) async fn api_server_stopped(world: &mut World) -> Outcome<String> {
    world.nodes(100, "4", "32Gi").await?;
    let mut scheduler = world.scheduler().await?;
    let pods = pods("pod", 3000);
    let client = world.client.clone();
    let creation = create_all_patiently(&client, &pods);
    let stop = async {
        world.until_bound(500, PATIENCE).await?;
        world.plane.kill_api_server()?;
        tokio::time::sleep(Duration::from_secs(20)).await;
        world.plane.start_api_server().await?;
        Ok(Instant::now())
    };
    let ((), back) = futures::try_join!(creation, stop)?;
    world.until_bound(pods.len(), PATIENCE).await?;
    scheduler.process.must_run()?;
    Ok(format!("all bound {:.1} s after the API server was back", back.elapsed().as_secs_f64()))
}

/// Takes etcd away for 10 s: the API server stays, and answers errors.
pub(super) async fn etcd_stopped(world: &mut World) -> Outcome<String> {
    world.nodes(100, "4", "32Gi").await?;
    let mut scheduler = world.scheduler().await?;
    let pods = pods("pod", 3000);
    let client = world.client.clone();
    let creation = create_all_patiently(&client, &pods);
    let stop = async {
        world.until_bound(500, PATIENCE).await?;
        world.plane.kill_etcd()?;
        tokio::time::sleep(Duration::from_secs(10)).await;
        world.plane.start_etcd()?;
        world.plane.wait_until_ready().await?;
        Ok(Instant::now())
    };
    let ((), back) = futures::try_join!(creation, stop)?;
    world.until_bound(pods.len(), PATIENCE).await?;
    scheduler.process.must_run()?;
    Ok(format!("all bound {:.1} s after etcd was back", back.elapsed().as_secs_f64()))
}

/// Cuts every connection of the scheduler again and again while pods come and go.
pub(super) async fn connections_cut(world: &mut World) -> Outcome<String> {
    // Room for exactly as many pods as there are in the end.
    world.nodes(25, "4", "32Gi").await?;
    let (proxy, settings) = behind_proxy(world).await?;
    let mut scheduler = world.scheduler_with("scheduler", &settings).await?;
    let client = &world.client;
    let coming_and_going = async {
        create_all(client, &pods("first", 1000)).await?;
        stream::iter(0..400)
            .map(|index| async move {
                delete(client, &format!("/api/v1/namespaces/default/pods/first-{index}")).await
            })
            .buffer_unordered(8)
            .try_for_each(|()| async { Ok(()) })
            .await?;
        create_all(client, &pods("second", 400)).await
    };
    let cutting = async {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(250)).await;
            proxy.cut_connections();
        }
        Ok(Instant::now())
    };
    let ((), last) = futures::try_join!(coming_and_going, cutting)?;
    world.until_bound(1000, PATIENCE).await?;
    let took = last.elapsed().as_secs_f64();
    scheduler.process.must_run()?;
    let cut = proxy.counts().cut.load(Ordering::Relaxed);
    check(cut >= 20, || format!("only {cut} connections were cut"))?;
    Ok(format!("{cut} connections cut, all bound {took:.1} s after the last cut"))
}

/// Lets half of all writes go wrong, preemptions among them.
pub(super) async fn writes_refused(world: &mut World) -> Outcome<String> {
    // It takes a binding for failed when its answer was lost, and gives the room to another.
    world.may_overfill = world.kind == Kind::KubeScheduler;
    let client = &world.client;
    world.nodes(20, "4", "32Gi").await?;
    create_all(client, &[priority_class("high", 1000, "PreemptLowerPriority")]).await?;
    let (proxy, settings) = behind_proxy(world).await?;
    let mut scheduler = world.scheduler_with("scheduler", &settings).await?;
    proxy.set_fault_percent(50);

    let began = Instant::now();
    create_all(client, &pods("pod", 800)).await?;
    world.until_bound(800, PATIENCE).await?;
    let bound = began.elapsed().as_secs_f64();

    // There is no room left: each takes the place of four.
    let urgent: Vec<Value> = (0..10)
        .map(|index| {
            let mut pod = pod(&format!("urgent-{index}"), "400m", "100Mi");
            pod["spec"]["priorityClassName"] = "high".into();
            pod
        })
        .collect();
    create_all(client, &urgent).await?;
    let landed = |book: &crate::ledger::Book| {
        (0..10).all(|index| book.home(&format!("urgent-{index}")).is_some())
    };
    world.ledger.until("the urgent pods are bound", PATIENCE, landed).await?;
    let preempted = began.elapsed().as_secs_f64() - bound;

    scheduler.process.must_run()?;
    let counts = proxy.counts();
    let refused = counts.refused.load(Ordering::Relaxed);
    let unanswered = counts.unanswered.load(Ordering::Relaxed);
    let passed = counts.passed.load(Ordering::Relaxed);
    check(refused > 100 && unanswered > 50, || format!("too few faults: {counts:?}"))?;
    Ok(format!(
        "800 bound in {bound:.1} s, 10 preemptors in {preempted:.1} s; of {} writes {refused} were refused, {unanswered} not answered",
        refused + unanswered + passed,
    ))
}

async fn behind_proxy(world: &World) -> Outcome<(Proxy, Settings)> {
    let upstream = world.plane.client(User::Scheduler).await?;
    let proxy = Proxy::start(&world.plane.authority, upstream, 5).await?;
    let settings = Settings { url: proxy.url(), ..world.settings() };
    Ok((proxy, settings))
}

fn pods(prefix: &str, count: usize) -> Vec<Value> {
    (0..count).map(|index| pod(&format!("{prefix}-{index}"), "100m", "100Mi")).collect()
}

const PATIENCE: Duration = Duration::from_secs(150);
