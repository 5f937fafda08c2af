//! `bench/scheduler`: the whole scheduler in process, in the cases of upstream's scheduler_perf.

mod anchors;
mod cases;
mod cluster;
mod observed;
mod report;

use std::alloc::System;
use std::process::ExitCode;

use cap::Cap;

use cases::{CASES, Case};
use observed::Observed;
use report::{Cost, Row, Scaling};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match Options::read(&arguments) {
        Ok(options) => options.run(),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

struct Options {
    cases: Vec<&'static Case>,
    json: bool,
    scaling: bool,
    cost: bool,
    nodes: usize,
    rounds: usize,
    observed: Observed,
    /// As they were named.
    observers: Option<String>,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            cases: Vec::new(),
            json: false,
            scaling: false,
            cost: false,
            nodes: 5_000,
            rounds: 3,
            observed: Observed::default(),
            observers: None,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| format!("`{argument}` needs a value"));
            let mut number = || {
                let text = value()?;
                let number = text.parse().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("`{text}` is not a positive number"))
            };
            match argument.as_str() {
                "--json" => options.json = true,
                "--scaling" => options.scaling = true,
                "--cost" => options.cost = true,
                "--nodes" => options.nodes = number()?,
                "--rounds" => options.rounds = number()?,
                "--observer" => {
                    let text = value()?;
                    let observed = Observed::read(text)
                        .ok_or_else(|| format!("`{text}`: observers are {OBSERVERS}"));
                    options.observed = observed?;
                    options.observers = Some(text.clone());
                }
                option if option.starts_with('-') => {
                    return Err(format!("unknown option `{option}`; see `bench/scheduler --help`"));
                }
                name => {
                    let names = || CASES.each_ref().map(|case| case.name).join(", ");
                    let case = CASES.iter().find(|case| case.name == name);
                    options.cases.push(
                        case.ok_or_else(|| format!("no case is called `{name}`: {}", names()))?,
                    );
                }
            }
        }
        // Some cases want a node of its own for every pod.
        if options.nodes < SMALL {
            return Err(format!("{} nodes are too few: at least {SMALL}", options.nodes));
        }
        if options.cases.is_empty() {
            options.cases = CASES.iter().collect();
        }
        Ok(options)
    }

    fn run(&self) {
        if self.cost {
            let rows = self.cases.iter().flat_map(|case| self.costs(case));
            return report::costs(rows, self.json);
        }
        if self.scaling {
            let rows = self.cases.iter().map(|case| Scaling {
                case: case.name,
                small: self.median(case, SMALL),
                large: self.median(case, LARGE),
            });
            return report::scaling(rows, self.json);
        }
        let rows = self.cases.iter().map(|case| self.median(case, self.nodes));
        report::cases(rows, self.json);
    }

    /// What observers cost: each beside none, in turn, so that what else goes on on the machine
    /// meets all of them. The ratio is the median of the rounds'.
    fn costs(&self, case: &'static Case) -> Vec<Cost> {
        let all = ["metrics", "journal", "activity", "all", "all,dashboard", "all,recording"];
        let names: Vec<String> = match &self.observers {
            Some(names) => vec![names.clone()],
            None => all.map(str::to_owned).to_vec(),
        };
        let mut ratios = vec![Vec::new(); names.len()];
        for round in 0..self.rounds as u64 {
            for (name, ratios) in names.iter().zip(&mut ratios) {
                let observed = Observed::read(name).unwrap_or_default();
                let speed = |observed| case.run(self.nodes, round, observed).pods_per_second;
                // Whoever is second finds memory as the first has left it.
                let ratio = match round % 2 {
                    0 => {
                        let without = speed(Observed::default());
                        speed(observed) / without
                    }
                    _ => speed(observed) / speed(Observed::default()),
                };
                ratios.push(ratio);
            }
        }
        let row = |(observers, mut ratios): (String, Vec<f64>)| {
            ratios.sort_by(f64::total_cmp);
            Cost { case: case.name, observers, throughput: ratios[ratios.len() / 2] }
        };
        names.into_iter().zip(ratios).map(row).collect()
    }

    /// The round of median throughput.
    fn median(&self, case: &'static Case, nodes: usize) -> Row {
        let mut rounds: Vec<Row> =
            (0..self.rounds).map(|round| case.run(nodes, round as u64, self.observed)).collect();
        rounds.sort_by(|a, b| a.pods_per_second.total_cmp(&b.pods_per_second));
        rounds.swap_remove(rounds.len() / 2)
    }
}

/// Bytes in use.
fn allocated() -> usize {
    ALLOCATOR.allocated()
}

const SMALL: usize = 1_000;
const LARGE: usize = 15_000;

const OBSERVERS: &str = "none, metrics, journal, activity, all, dashboard, recording";

const HELP: &str = "\
Drives the scheduler in process, in the cases of upstream's scheduler_perf, and prints pods a
second, the time of a scheduling cycle and bytes a pod, beside figures of kube-scheduler v1.36.4.
Bindings are answered at once, and victims go at once.

Usage: bench/scheduler [CASE…] [--json] [--nodes N] [--rounds N] [--scaling] [--cost]
                       [--observer WHO[,WHO…]]

  CASE         only these cases: SchedulingBasic, SchedulingPodAntiAffinity,
               SchedulingPodAffinity, TopologySpreading, PreemptionBasic, Unschedulable,
               MixedChurn, SchedulingWithNodeInclusionPolicy, Starvation
  --json       a list of objects, one a case
  --nodes N    so many nodes, at least 1000; 5000 by default
  --rounds N   the median of so many runs; 3 by default
  --observer WHO
               who hears of everything: none (the default), metrics, journal, activity, all;
               dashboard: somebody looks at it; recording: everything is recorded
  --cost       the throughput with each of them, or with those named, beside that without, in
               turn
  --scaling    compare 1,000 with 15,000 nodes, both with the same pods
  -h, --help   print this";
