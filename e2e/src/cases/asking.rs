//! `roadstead queue` and `roadstead explain` as somebody runs them who may only look: through the
//! API server's proxy to schedulers that run as deployed.

mod following;
mod page;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::certificates::User;
use crate::failure::{Outcome, While, check};
use crate::ledger::Book;
use crate::objects::{create, pod, read};
use crate::pod_network::PodNetwork;
use crate::scheduler::{Kind, Scheduler, Settings};
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    if world.kind == Kind::KubeScheduler {
        return Ok("only Roadstead's".to_owned());
    }
    let network = PodNetwork::start(&world.directory)?;
    world.plane.reach_pods_through(&network).await?;
    let (config, _) = world.deploy()?;
    let settings = Settings {
        user: User::Account,
        config_file: Some(config),
        lease_seconds: Some(LEASE_SECONDS),
        ..world.settings()
    };
    world.nodes(1, "1", "4Gi").await?;
    for address in PODS {
        create(&world.client, &instance(address)).await?;
    }
    let leader = world.scheduler_with("leader", &settings).await?;
    until_somebody_leads(world).await?;
    let standby = world.scheduler_with("standby", &settings).await?;
    network.route(&format!("{}:10259", PODS[0]), leader.port);
    network.route(&format!("{}:10259", PODS[1]), standby.port);
    apply(world, "endpoints", &endpoints(&PODS)).await?;
    create(&world.client, &of("web", "100m")).await?;
    create(&world.client, &of("large", "64")).await?;
    let has_home = |book: &Book| book.home("web").is_some();
    world.ledger.until("the pod that fits is bound", PATIENCE, has_home).await?;

    rights(world).await?;
    answers(world).await?;
    forbidden_by_scheduler(world).await?;
    directly(world, &leader, &standby).await?;
    page::run(world).await?;
    let (answered, away) = following::run(world, &network, &settings, leader, standby).await?;
    Ok(format!(
        "a watch went on {:.1} s after the leader went, and after {:.1} s without a scheduler",
        answered.as_secs_f64(),
        away.as_secs_f64()
    ))
}

/// Without rights it is said which are missing; with those that the messages name, it works.
async fn rights(world: &World) -> Outcome {
    let asked = ["queue", "-A", "--via-cluster"];
    let said = roadstead(world, &asked).await?;
    said.must_fail(&["cannot create resource \"serviceaccounts/token\"", THE_ROLE])?;

    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "tokens-only", "namespace": "roadstead"},
        "rules": [{"apiGroups": [""], "resources": ["serviceaccounts/token"],
                   "resourceNames": ["roadstead-viewer"], "verbs": ["create"]}],
    });
    apply(world, "tokens-only", &role).await?;
    let some = "-n roadstead create rolebinding some --role=tokens-only --user=onlooker";
    kubectl(world, some)?;
    let said = until(world, &asked, |said| said.err.contains("services/proxy\" in")).await?;
    said.must_fail(&["cannot get resource \"services/proxy\"", THE_ROLE])?;
    kubectl(world, "-n roadstead delete rolebinding some")?;

    kubectl(world, &THE_ROLE.replace("kubectl ", "").replace("NAME", "onlooker"))?;
    until(world, &asked, |said| said.code == 0).await.map(drop)
}

/// What is asked is answered, each time by the one that leads.
async fn answers(world: &World) -> Outcome {
    let waits = |said: &Said| said.out.contains("unschedulable");
    until(world, &["queue", "--via-cluster"], waits).await?;
    for _ in 0..10 {
        let said = roadstead(world, &["queue", "-A", "-o", "json", "--via-cluster"]).await?;
        said.must_print(&[])?;
        let listed: Value = serde_json::from_str(&said.out).during("queue -o json")?;
        let (total, item) = (&listed["total"], &listed["items"][0]);
        let is_leaders = item["place"] == "unschedulable" && item["attempts"].as_u64() >= Some(1);
        check(*total == 1 && item["name"] == "large" && is_leaders, || {
            format!("the queue is not the leader's: {listed}")
        })?;
    }
    let said = roadstead(world, &["queue", "-A", "-o", "wide", "--via-cluster"]).await?;
    said.must_print(&["NAMESPACE", "large", "NodeResourcesFit", "1 Insufficient cpu"])?;
    let said = roadstead(world, &["explain", "large", "--via-cluster"]).await?;
    said.must_print(&["default/large waits for an event", "Insufficient cpu", "less cpu"])?;
    let said = roadstead(world, &["explain", "default/web", "--via-cluster"]).await?;
    said.must_print(&["default/web is on node-0"])?;
    let said = roadstead(world, &["explain", "larg", "--via-cluster"]).await?;
    said.must_fail(&["there is no pod default/larg; did you mean default/large?"])?;
    let said = roadstead(world, &["queue", "--via-cluster", "--service", "other"]).await?;
    // It has no right to that one, nor to know whether it is there.
    said.must_fail(&["other-viewer", "--role=other-viewer"])
}

/// The account that asks loses its role: the scheduler says no, and how to mend it.
async fn forbidden_by_scheduler(world: &World) -> Outcome {
    kubectl(world, "delete clusterrolebinding roadstead-viewer")?;
    let asked = ["queue", "-A", "--via-cluster"];
    let said = until(world, &asked, |said| said.code != 0).await?;
    said.must_fail(&[
        "system:serviceaccount:roadstead:roadstead-viewer may not get /roadstead/api/v1/queue",
        "needs the ClusterRole roadstead-viewer",
    ])?;
    let way_out = said.err.split('`').nth(1).unwrap_or_default();
    kubectl(world, way_out.trim_start_matches("kubectl "))?;
    until(world, &asked, |said| said.code == 0).await.map(drop)
}

/// With a token of that account and no API server in between; a standby is asked as it is.
async fn directly(world: &World, leader: &Scheduler, standby: &Scheduler) -> Outcome {
    let file = world.directory.join("token");
    let token = ["-n", "roadstead", "create", "token", "roadstead-viewer"];
    let token = world.kubectl(User::Onlooker, &token)?;
    std::fs::write(&file, token).during(file.display())?;
    let file = file.display().to_string();
    let address = |scheduler: &Scheduler| format!("https://127.0.0.1:{}", scheduler.port);

    let server = address(leader);
    let said = roadstead(world, &["queue", "--server", &server, "--token-file", &file]).await?;
    said.must_fail(&["its certificate is not trusted", "--certificate-authority"])?;
    let asked = ["queue", "-A", "--insecure-skip-tls-verify", "--server", &server];
    let said = roadstead(world, &asked).await?;
    said.must_fail(&["system:anonymous may not get /roadstead/api/v1/queue", "roadstead-viewer"])?;
    let said = roadstead(world, &[&asked[..], &["--token-file", &file]].concat()).await?;
    said.must_print(&["large", "unschedulable"])?;
    check(said.err.is_empty(), || format!("the leader was asked, and yet: {}", said.err))?;

    let server = address(standby);
    let asked = ["queue", "--insecure-skip-tls-verify", "--server", &server, "--token-file", &file];
    let said = roadstead(world, &asked).await?;
    said.must_print(&["large"])?;
    check(said.err.contains("does not lead"), || format!("a standby says so: {said:?}"))
}

/// What the program said.
#[derive(Debug)]
struct Said {
    line: String,
    code: i32,
    out: String,
    err: String,
}

impl Said {
    fn must_print(&self, parts: &[&str]) -> Outcome {
        check(self.code == 0, || format!("{} failed: {}", self.line, self.err))?;
        let missing = parts.iter().find(|part| !self.out.contains(*part));
        check(missing.is_none(), || format!("no {missing:?} in what it printed: {self:?}"))
    }

    fn must_fail(&self, parts: &[&str]) -> Outcome {
        check(self.code == 1 && self.out.is_empty(), || format!("it should fail: {self:?}"))?;
        let missing = parts.iter().find(|part| !self.err.contains(*part));
        check(missing.is_none(), || format!("no {missing:?} in the error: {self:?}"))
    }
}

/// Runs the program with the onlooker's kubeconfig as the one of the environment.
async fn roadstead(world: &World, arguments: &[&str]) -> Outcome<Said> {
    let line = format!("roadstead {}", arguments.join(" "));
    let run = Command::new(&world.programs.roadstead)
        .args(arguments)
        .env("KUBECONFIG", world.kubeconfig(User::Onlooker)?)
        .env_remove("ROADSTEAD_SERVER")
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(PATIENCE, run).await.during(&line)?.during(&line)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Said {
        line,
        code: output.status.code().unwrap_or(-1),
        out: text(&output.stdout),
        err: text(&output.stderr),
    })
}

/// Runs it until what it says is so: decisions about rights are remembered for some seconds.
async fn until(world: &World, arguments: &[&str], is_so: fn(&Said) -> bool) -> Outcome<Said> {
    let began = Instant::now();
    loop {
        let said = roadstead(world, arguments).await?;
        if is_so(&said) {
            return Ok(said);
        }
        check(began.elapsed() < PATIENCE, || format!("it goes on to say {said:?}"))?;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

fn kubectl(world: &World, line: &str) -> Outcome {
    world.kubectl(User::Admin, &line.split(' ').collect::<Vec<_>>()).map(drop)
}

async fn apply(world: &World, name: &str, object: &Value) -> Outcome {
    let file = world.directory.join(format!("{name}.json"));
    std::fs::write(&file, object.to_string()).during(file.display())?;
    world.kubectl(User::Admin, &["apply", "-f", &file.display().to_string()]).map(drop)
}

/// What the controllers of a cluster make of the service and its pods; it is what the API server
/// chooses from.
fn endpoints(addresses: &[&str]) -> Value {
    let addresses = addresses.iter().map(|address| {
        let pod = json!({"kind": "Pod", "namespace": "roadstead", "name": pod_at(address)});
        json!({"ip": address, "targetRef": pod})
    });
    json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": {"name": "roadstead", "namespace": "roadstead"},
        "subsets": [{
            "addresses": addresses.collect::<Vec<_>>(),
            "ports": [{"name": "https", "port": 10259, "protocol": "TCP"}],
        }],
    })
}

/// A pod of the scheduler, as a kubelet would tell of it: the API server proxies to no address
/// that is not a pod's.
fn instance(address: &str) -> Value {
    let mut pod = pod(&pod_at(address), "1m", "1Mi");
    pod["metadata"]["namespace"] = "roadstead".into();
    pod["spec"]["nodeName"] = "node-0".into();
    pod["status"] = json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]});
    pod
}

fn pod_at(address: &str) -> String {
    format!("roadstead-{}", address.replace('.', "-"))
}

fn of(name: &str, cpu: &str) -> Value {
    let mut pod = pod(name, cpu, "100Mi");
    pod["spec"]["schedulerName"] = "roadstead".into();
    pod
}

async fn until_somebody_leads(world: &World) -> Outcome {
    let began = Instant::now();
    loop {
        let lease = read(&world.client, LEASE).await.unwrap_or_default();
        if lease["spec"]["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty()) {
            return Ok(());
        }
        check(began.elapsed() < PATIENCE, || "nobody took the lease".to_owned())?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Made-up addresses of the scheduler's pods.
const PODS: [&str; 2] = ["10.1.0.1", "10.1.0.2"];
const THE_ROLE: &str =
    "kubectl -n roadstead create rolebinding look --role=roadstead-viewer --user=NAME";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/roadstead/leases/roadstead";
/// Lease, renewal and retry.
const LEASE_SECONDS: [u32; 3] = [8, 6, 1];
const PATIENCE: Duration = Duration::from_secs(40);
