//! A scheduler that is told to stop gives up its lease and ends well.

use std::time::Duration;

use crate::failure::{Outcome, check};
use crate::objects::{create, pod, read};
use crate::scheduler::Settings;
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    world.nodes(1, "4", "16Gi").await?;
    let settings = Settings { lease_seconds: Some([15, 10, 2]), ..world.settings() };
    let mut scheduler = world.scheduler_with("scheduler", &settings).await?;
    create(&world.client, &pod("pod", "100m", "100Mi")).await?;
    world.until_bound(1, Duration::from_secs(30)).await?;

    let status = scheduler.process.terminate(Duration::from_secs(20)).await?;

    check(status.success(), || format!("after SIGTERM the scheduler ended with {status}"))?;
    let lease = read(&world.client, LEASE).await?;
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
    check(holder.is_empty(), || format!("the lease is still held by {holder}"))?;
    Ok(String::new())
}

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler";
