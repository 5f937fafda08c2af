//! `queue -w` while accounts, leaders and schedulers come and go.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use tokio::process::{Child, Command};

use super::page::request;
use super::{PATIENCE, PODS, apply, endpoints, kubectl, of};
use crate::certificates::User;
use crate::failure::{Outcome, While, check};
use crate::objects::{create, delete};
use crate::pod_network::PodNetwork;
use crate::scheduler::{Scheduler, Settings};
use crate::world::World;

/// How long after the leader had gone the watch showed something new, and how long it went on
/// without any scheduler.
pub(super) async fn run(
    world: &World,
    network: &PodNetwork,
    settings: &Settings,
    leader: Scheduler,
    standby: Scheduler,
) -> Outcome<(Duration, Duration)> {
    let mut watch = Watch::start(world)?;
    watch.until_printed("large ").await?;
    create(&world.client, &of("second", "32")).await?;
    watch.until_printed("second ").await?;
    delete(&world.client, "/api/v1/namespaces/default/pods/second").await?;
    watch.until_line(&["second ", " left "]).await?;

    // The token is of an account that is gone: another is taken without a word.
    kubectl(world, "-n roadstead delete serviceaccount roadstead-viewer")?;
    kubectl(world, "apply -f deploy/manifests/serviceaccount.yaml")?;
    // Longer than the scheduler remembers whose token it is.
    tokio::time::sleep(Duration::from_secs(13)).await;
    create(&world.client, &of("third", "32")).await?;
    watch.until_printed("third ").await?;
    let said = watch.errors()?;
    check(said.is_empty(), || format!("a new token is nothing to speak of: {said}"))?;

    let took_over = end_leader(world, leader).await?;
    apply(world, "endpoints", &endpoints(&PODS[1..])).await?;
    create(&world.client, &of("fourth", "32")).await?;
    watch.until_printed("fourth ").await?;
    let answered = took_over.elapsed();

    let mut standby = standby;
    standby.process.kill()?;
    let gone = Instant::now();
    // It may have said the same when the leader went.
    let heard = watch.errors()?.len();
    watch.until_said("trying again for 5 minutes", heard).await?;
    let successor = world.scheduler_with("successor", settings).await?;
    network.route(&format!("{}:10259", PODS[1]), successor.port);
    watch.until_said("it answers again", heard).await?;
    let away = gone.elapsed();
    create(&world.client, &of("fifth", "32")).await?;
    watch.until_printed("fifth ").await?;
    watch.end().await?;
    Ok((answered, away))
}

/// Ends the leader while somebody listens to its stream: the stream ends, as it should, and so
/// does the leader, at once.
async fn end_leader(world: &World, mut leader: Scheduler) -> Outcome<Instant> {
    let client = world.plane.client(User::Onlooker).await?;
    let token = ["-n", "roadstead", "create", "token", "roadstead-viewer"];
    let token = format!("Bearer {}", world.kubectl(User::Onlooker, &token)?.trim());
    apply(world, "endpoints", &endpoints(&PODS[..1])).await?;
    let stream = async {
        let answer = client.send(request("/api/v1/stream", Some(&token))?).await?;
        check(answer.status().is_success(), || format!("the stream: {}", answer.status()))?;
        let mut body = answer.into_body();
        body.frame().await.ok_or("the stream is empty")??;
        Outcome::Ok(body)
    };
    let body = stream.await?;
    let began = Instant::now();
    let status = leader.process.terminate(Duration::from_secs(20)).await?;
    let took = began.elapsed();
    check(status.success(), || format!("after SIGTERM the leader ended with {status}"))?;
    check(took < Duration::from_secs(4), || format!("it took {took:?} to end with a listener"))?;
    let rest = tokio::time::timeout(PATIENCE, body.collect()).await;
    rest.during("the stream does not end")?.during("the stream was cut")?;
    Ok(began)
}

/// `roadstead queue -A -w`, and files with what it says.
struct Watch {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Watch {
    fn start(world: &World) -> Outcome<Watch> {
        let (out, err) = (world.directory.join("watch.out.log"), world.directory.join("watch.log"));
        let child = Command::new(&world.programs.roadstead)
            .args(["queue", "-A", "-w", "--via-cluster"])
            .env("KUBECONFIG", world.kubeconfig(User::Onlooker)?)
            .stdin(Stdio::null())
            .stdout(File::create(&out).during(out.display())?)
            .stderr(File::create(&err).during(err.display())?)
            .kill_on_drop(true)
            .spawn()
            .during("roadstead queue -w")?;
        Ok(Watch { child, out, err })
    }

    fn errors(&self) -> Outcome<String> {
        std::fs::read_to_string(&self.err).during(self.err.display())
    }

    async fn until_printed(&mut self, part: &str) -> Outcome {
        self.until_line(&[part]).await
    }

    /// Waits until one line has all these parts.
    async fn until_line(&mut self, parts: &[&str]) -> Outcome {
        let file = self.out.clone();
        self.until(&file, 0, parts).await
    }

    /// Waits until it has said this, beyond what was `heard` before.
    async fn until_said(&mut self, part: &str, heard: usize) -> Outcome {
        let file = self.err.clone();
        self.until(&file, heard, &[part]).await
    }

    async fn until(&mut self, file: &Path, from: usize, parts: &[&str]) -> Outcome {
        let began = Instant::now();
        loop {
            let text = std::fs::read_to_string(file).during(file.display())?;
            let new = text.get(from..).unwrap_or_default();
            if new.lines().any(|line| parts.iter().all(|part| line.contains(part))) {
                return Ok(());
            }
            let ended = self.child.try_wait().during("roadstead queue -w")?;
            let said = self.errors()?;
            check(ended.is_none(), || format!("the watch has ended ({ended:?}): {said}"))?;
            check(began.elapsed() < PATIENCE, || {
                format!("the watch did not say {parts:?}, but:\n{text}\nand: {said}")
            })?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn end(mut self) -> Outcome {
        self.child.kill().await.during("roadstead queue -w")
    }
}
