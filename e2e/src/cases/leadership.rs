//! Two schedulers, one lease.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::failure::{Outcome, check};
use crate::objects::{create_all, pod, read};
use crate::scheduler::{Scheduler, Settings};
use crate::world::World;

/// Kills the leader amid its work.
pub(super) async fn killed(world: &mut World) -> Outcome<String> {
    let (mut leader, mut standby) = pair(world).await?;
    let pods = pods("pod", 1500);
    let creation = create_all(&world.client, &pods);
    let kill = async {
        world.until_bound(400, PATIENCE).await?;
        leader.process.kill()?;
        let bound = world.ledger.book().bound();
        check(bound < pods.len(), || "the kill came too late".to_owned())?;
        let killed = Instant::now();
        let dead = holder(world).await?;
        while holder(world).await? == dead {
            check(killed.elapsed() < PATIENCE, || "the lease was not taken over".to_owned())?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok((killed, killed.elapsed()))
    };
    let ((), (killed, taken_over)) = futures::try_join!(creation, kill)?;
    world.until_bound(pods.len(), PATIENCE).await?;
    standby.process.must_run()?;
    Ok(format!(
        "the standby led after {:.1} s (lease of {} s), all pods were bound after {:.1} s",
        taken_over.as_secs_f64(),
        LEASE[0],
        killed.elapsed().as_secs_f64()
    ))
}

/// Freezes the leader amid its work until another leads, and wakes it.
pub(super) async fn frozen(world: &mut World) -> Outcome<String> {
    let (leader, mut standby) = pair(world).await?;
    let first = holder(world).await?;
    let (before, during, after) = (pods("before", 1000), pods("during", 300), pods("after", 300));
    let creation = create_all(&world.client, &before);
    let freeze = async {
        world.until_bound(400, PATIENCE).await?;
        leader.process.signal(Signal::STOP)?;
        Ok(Instant::now())
    };
    let ((), froze) = futures::try_join!(creation, freeze)?;
    create_all(&world.client, &during).await?;
    world.until_bound(before.len() + during.len(), PATIENCE).await?;
    let taken_over = froze.elapsed();
    let second = holder(world).await?;
    check(first != second, || format!("the frozen leader {first} still has the lease"))?;

    leader.process.signal(Signal::CONT)?;
    create_all(&world.client, &after).await?;
    world.until_bound(before.len() + during.len() + after.len(), PATIENCE).await?;
    // Time enough for one that does not know better to write.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let third = holder(world).await?;
    check(second == third, || format!("the lease went from {second} to {third} on waking"))?;
    standby.process.must_run()?;
    Ok(format!(
        "frozen, the pods were bound by the standby after {:.1} s",
        taken_over.as_secs_f64()
    ))
}

/// Starts one that leads, and then one that waits.
async fn pair(world: &World) -> Outcome<(Scheduler, Scheduler)> {
    world.nodes(60, "4", "32Gi").await?;
    let settings = Settings { lease_seconds: Some(LEASE), ..world.settings() };
    let leader = world.scheduler_with("leader", &settings).await?;
    let began = Instant::now();
    while holder(world).await.is_err() {
        check(began.elapsed() < PATIENCE, || "nobody took the lease".to_owned())?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let standby = world.scheduler_with("standby", &settings).await?;
    Ok((leader, standby))
}

async fn holder(world: &World) -> Outcome<String> {
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler";
    let lease = read(&world.client, path).await?;
    match lease["spec"]["holderIdentity"].as_str() {
        Some(holder) if !holder.is_empty() => Ok(holder.to_owned()),
        _ => Err("nobody holds the lease".into()),
    }
}

fn pods(prefix: &str, count: usize) -> Vec<Value> {
    (0..count).map(|index| pod(&format!("{prefix}-{index}"), "100m", "100Mi")).collect()
}

/// Lease, renewal and retry, in seconds.
const LEASE: [u32; 3] = [8, 6, 1];
const PATIENCE: Duration = Duration::from_secs(90);
