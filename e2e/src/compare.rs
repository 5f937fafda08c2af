//! Roadstead beside kube-scheduler on the same API server: `bench/compare cluster`.
//!
//! Each side gets a fresh control plane in each round. First all pods are there when the scheduler
//! starts: from the first binding to the last, that gives pods a second, and nobody but scheduler
//! and API server is at work. Then some more come one by one: that gives the time from creation
//! to binding. Processor time and memory are those of the scheduler's process over both.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::failure::{Outcome, check};
use crate::objects::{create, create_all, pod};
use crate::scheduler::{Kind, Programs};
use crate::world::World;

/// What to compare.
#[derive(Args)]
pub(crate) struct Options {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many nodes there are
    #[arg(long, default_value_t = 1000, value_name = "N")]
    nodes: usize,
    /// How many pods are there from the start
    #[arg(long, default_value_t = 5000, value_name = "N")]
    pods: usize,
    /// How many pods come one by one after that
    #[arg(long, default_value_t = 500, value_name = "N")]
    single_pods: usize,
    /// How often each side runs, in turn
    #[arg(long, default_value_t = 3, value_name = "N")]
    rounds: usize,
    /// Only this side
    #[arg(long, value_enum)]
    scheduler: Option<Kind>,
}

/// What one side did, or the medians of several rounds.
#[derive(Clone, Copy, Serialize)]
struct Figures {
    pods_per_second: f64,
    cpu_seconds: f64,
    peak_bytes: f64,
    p50_ms: f64,
    p99_ms: f64,
}

/// Runs both sides in turn and prints how they compare.
pub(crate) async fn run(options: Options, programs: &Programs) -> Outcome {
    check(options.nodes > 0 && options.pods > 1 && options.rounds > 0, || {
        "there must be a node, two pods and a round at least".to_owned()
    })?;
    let kinds = match options.scheduler {
        Some(kind) => vec![kind],
        None => vec![Kind::Roadstead, Kind::KubeScheduler],
    };
    let mut rounds: BTreeMap<&str, Vec<Figures>> = BTreeMap::new();
    for round in 1..=options.rounds {
        for &kind in &kinds {
            let figures = measure(kind, &options, programs).await?;
            eprintln!("round {round} of {}: {}", options.rounds, figures.line(name(kind)));
            rounds.entry(name(kind)).or_default().push(figures);
        }
    }
    let medians: BTreeMap<&str, Figures> =
        rounds.iter().map(|(&name, rounds)| (name, Figures::median(rounds))).collect();
    let pair = medians.get(name(Kind::Roadstead)).zip(medians.get(name(Kind::KubeScheduler)));
    let ratio = pair.map(|(ours, theirs)| ours.over(theirs));
    if options.json {
        let report = json!({
            "nodes": options.nodes,
            "pods": options.pods,
            "single_pods": options.single_pods,
            "rounds": rounds,
            "medians": medians,
            "ratio": ratio,
        });
        println!("{report:#}");
    } else {
        println!("{}", header(&options));
        for (name, figures) in &medians {
            println!("{}", figures.line(name));
        }
        if let Some(ratio) = ratio {
            println!("{}", ratio.ratio_line());
        }
    }
    Ok(())
}

async fn measure(kind: Kind, options: &Options, programs: &Programs) -> Outcome<Figures> {
    let directory = tempfile::Builder::new().prefix("roadstead-compare-").tempdir()?;
    let world = World::start(kind, programs, directory.path(), Duration::ZERO).await?;
    world.nodes(options.nodes, "32", "64Gi").await?;
    let pods: Vec<_> =
        (0..options.pods).map(|index| pod(&format!("pod-{index}"), "100m", "200Mi")).collect();
    create_all(&world.client, &pods).await?;
    let mut scheduler = world.scheduler().await?;
    world.until_bound(options.pods, PATIENCE).await?;
    let took = time_of_bindings(&world);

    let mut waits = Vec::with_capacity(options.single_pods);
    let mut tick = tokio::time::interval(BETWEEN_SINGLE_PODS);
    let mut created = Vec::with_capacity(options.single_pods);
    for index in 0..options.single_pods {
        tick.tick().await;
        let name = format!("single-{index}");
        created.push((name.clone(), Instant::now()));
        create(&world.client, &pod(&name, "100m", "200Mi")).await?;
    }
    world.until_bound(options.pods + options.single_pods, PATIENCE).await?;
    for (name, at) in created {
        let bound = world.ledger.book().pod(&name).and_then(|pod| pod.bound_at);
        waits.extend(bound.map(|bound| bound.duration_since(at).as_secs_f64() * 1000.0));
    }
    waits.sort_by(f64::total_cmp);

    scheduler.process.must_run()?;
    let usage = scheduler.process.usage()?;
    world.verify().await?;
    Ok(Figures {
        pods_per_second: options.pods as f64 / took.as_secs_f64(),
        cpu_seconds: usage.cpu_seconds,
        peak_bytes: usage.peak_bytes as f64,
        p50_ms: quantile(&waits, 0.50),
        p99_ms: quantile(&waits, 0.99),
    })
}

fn time_of_bindings(world: &World) -> Duration {
    let book = world.ledger.book();
    let times = || book.pods.values().filter_map(|pod| pod.bound_at);
    match (times().min(), times().max()) {
        (Some(first), Some(last)) => last.duration_since(first),
        _ => Duration::ZERO,
    }
}

impl Figures {
    fn median(rounds: &[Figures]) -> Figures {
        let of = |figure: fn(&Figures) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            quantile(&values, 0.5)
        };
        Figures {
            pods_per_second: of(|it| it.pods_per_second),
            cpu_seconds: of(|it| it.cpu_seconds),
            peak_bytes: of(|it| it.peak_bytes),
            p50_ms: of(|it| it.p50_ms),
            p99_ms: of(|it| it.p99_ms),
        }
    }

    fn over(&self, other: &Figures) -> Figures {
        Figures {
            pods_per_second: self.pods_per_second / other.pods_per_second,
            cpu_seconds: self.cpu_seconds / other.cpu_seconds,
            peak_bytes: self.peak_bytes / other.peak_bytes,
            p50_ms: self.p50_ms / other.p50_ms,
            p99_ms: self.p99_ms / other.p99_ms,
        }
    }

    fn line(&self, name: &str) -> String {
        format!(
            "{name:16} {:10.0} {:10.2} {:10.1} {:10.1} {:10.1}",
            self.pods_per_second,
            self.cpu_seconds,
            self.peak_bytes / 1e6,
            self.p50_ms,
            self.p99_ms
        )
    }

    fn ratio_line(&self) -> String {
        format!(
            "{:16} {:10.2} {:10.3} {:10.3} {:10.2} {:10.2}",
            "ratio",
            self.pods_per_second,
            self.cpu_seconds,
            self.peak_bytes,
            self.p50_ms,
            self.p99_ms
        )
    }
}

fn header(options: &Options) -> String {
    format!(
        "{} nodes, {} pods from the start, {} one by one; medians of {}\n{:16} {:>10} {:>10} {:>10} {:>10} {:>10}",
        options.nodes,
        options.pods,
        options.single_pods,
        options.rounds,
        "",
        "pods/s",
        "CPU s",
        "peak MB",
        "p50 ms",
        "p99 ms"
    )
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Roadstead => "roadstead",
        Kind::KubeScheduler => "kube-scheduler",
    }
}

/// The value below which `part` of the sorted values lie; 0 if there are none.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

const PATIENCE: Duration = Duration::from_secs(300);
const BETWEEN_SINGLE_PODS: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();

        assert_eq!(quantile(&sorted, 0.50), 50.0);
        assert_eq!(quantile(&sorted, 0.99), 99.0);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
