//! Runs cases one after the other, says how each went, and counts.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;

use crate::cases::{CASES, Case};
use crate::failure::{Outcome, While};
use crate::scheduler::{Kind, Programs};
use crate::world::World;

/// What to run.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these cases; all but the soak if none is named
    cases: Vec<String>,
    /// The scheduler under test
    #[arg(long, value_enum, default_value = "roadstead")]
    scheduler: Kind,
    /// Print the cases and what they check
    #[arg(long)]
    list: bool,
    /// Keep the directory with configurations, data and logs
    #[arg(long)]
    keep: bool,
    /// How long the soak goes on
    #[arg(long, default_value_t = 20, value_name = "N")]
    minutes: u64,
}

/// Runs the cases; `true` if all passed.
pub(crate) async fn run(options: Options, programs: &Programs) -> Outcome<bool> {
    if options.list {
        for case in CASES {
            println!("{:22} {}", case.name, case.about);
        }
        return Ok(true);
    }
    let cases = chosen(&options.cases)?;
    let root = tempfile::Builder::new().prefix("roadstead-e2e-").tempdir()?;
    let (mut passed, mut failed) = (0, 0);
    for case in cases {
        let directory = root.path().join(case.name);
        let began = Instant::now();
        let outcome = run_case(case, &options, programs, &directory).await;
        let seconds = began.elapsed().as_secs_f64();
        match outcome {
            Ok(note) => {
                passed += 1;
                println!("{:22} passed {seconds:6.1} s  {note}", case.name);
            }
            Err(error) => {
                failed += 1;
                println!("{:22} FAILED {seconds:6.1} s  {error}", case.name);
                print_logs(&directory);
            }
        }
        if !options.keep {
            // A few hundred megabytes of etcd in all, were they left to the end.
            let _ = fs::remove_dir_all(&directory);
        }
    }
    if options.keep {
        println!("kept: {}", root.keep().display());
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

async fn run_case(
    case: &Case,
    options: &Options,
    programs: &Programs,
    directory: &Path,
) -> Outcome<String> {
    let soak = Duration::from_secs(options.minutes * 60);
    let work = async {
        let mut world = World::start(options.scheduler, programs, directory, soak).await?;
        let note = (case.run)(&mut world).await?;
        world.verify().await?;
        Ok(note)
    };
    let limit = case.limit + if case.is_soak { soak } else { Duration::ZERO };
    match tokio::time::timeout(limit, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("not done after {} s", limit.as_secs()).into()),
    }
}

fn chosen(names: &[String]) -> Outcome<Vec<&'static Case>> {
    if names.is_empty() {
        return Ok(CASES.iter().filter(|case| !case.is_soak).collect());
    }
    names
        .iter()
        .map(|name| {
            CASES
                .iter()
                .find(|case| case.name == name)
                .ok_or_else(|| format!("no case is called `{name}`; --list names all").into())
        })
        .collect()
}

fn print_logs(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        if is_log && !path.ends_with("audit.log") {
            match tail(&path) {
                Ok(text) => println!("--- the end of {}\n{text}", path.display()),
                Err(error) => println!("--- {error}"),
            }
        }
    }
}

fn tail(path: &Path) -> Outcome<String> {
    let text = String::from_utf8_lossy(&fs::read(path).during(path.display())?).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    let cut: Vec<String> =
        last.iter().map(|line| line.chars().take(TAIL_COLUMNS).collect()).collect();
    Ok(cut.join("\n"))
}

const TAIL_LINES: usize = 10;
const TAIL_COLUMNS: usize = 300;
