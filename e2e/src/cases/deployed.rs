//! The manifests of `deploy/`: an API server takes them, and what they allow is enough.

use std::time::Duration;

use serde_json::Value;

use crate::certificates::User;
use crate::failure::{Outcome, While, check};
use crate::objects::{create, create_all, pod, priority_class, read};
use crate::scheduler::{Kind, Settings};
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    if world.kind == Kind::KubeScheduler {
        return Ok("only Roadstead's".to_owned());
    }
    let (config, objects) = world.deploy()?;
    world.nodes(2, "1", "4Gi").await?;
    let client = &world.client;
    let classes = [("low", 10), ("high", 1000)];
    let classes = classes.map(|(name, value)| priority_class(name, value, "PreemptLowerPriority"));
    create_all(client, &classes).await?;
    let settings = Settings { user: User::Account, config_file: Some(config), ..world.settings() };
    let mut scheduler = world.scheduler_with("scheduler", &settings).await?;
    for name in ["one", "two"] {
        create(client, &of(name, "low")).await?;
    }
    world.until_bound(2, PATIENCE).await?;
    create(client, &of("urgent", "high")).await?;
    let has_room = |book: &crate::ledger::Book| book.home("urgent").is_some();
    world.ledger.until("the urgent pod is bound", PATIENCE, has_room).await?;
    let lease = read(client, LEASE).await?;
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
    check(!holder.is_empty(), || "nobody holds the lease of the manifests".to_owned())?;
    let status = scheduler.process.terminate(Duration::from_secs(20)).await?;
    check(status.success(), || format!("after SIGTERM the scheduler ended with {status}"))?;

    let log = world.directory.join("scheduler.log");
    let log = std::fs::read_to_string(&log).during(log.display())?;
    let refused = log.lines().find(|line| line.contains("forbidden") || line.contains("403"));
    check(refused.is_none(), || format!("its account may not do all it does: {refused:?}"))?;
    Ok(format!("{objects} objects applied"))
}

fn of(name: &str, class: &str) -> Value {
    let mut pod = pod(name, "800m", "1Gi");
    pod["spec"]["priorityClassName"] = class.into();
    pod["spec"]["schedulerName"] = "roadstead".into();
    pod
}

const PATIENCE: Duration = Duration::from_secs(30);
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/roadstead/leases/roadstead";
