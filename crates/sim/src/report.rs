//! A run as one page of HTML that needs nothing else: no network, no fonts, and no scripts for what
//! matters.
//!
//! Charts are SVG that is drawn here; a script of a few lines adds what is under the pointer.
//! Everything that comes from outside (names, messages) is escaped where it is written.

mod chart;
mod scale;
mod tables;
mod words;

use std::fmt::Write as _;

use self::chart::{Chart, Line, Shape};
use self::words::{count, escape, percent, plural, span};
use crate::outcome::{Outcome, Point, Quantiles};

/// The page.
///
/// ```
/// # use roadstead_cluster::embedded::{self, Cluster};
/// # use roadstead_sim::{Config, Setup, Simulation, Uneventful};
/// # let cluster = Cluster::new(embedded::Config::default());
/// # let mut simulation = Simulation::new(cluster, Setup::default(), Config::default());
/// # simulation.run(&mut Uneventful, &mut |_| ())?;
/// let page = roadstead_sim::report::html(&simulation.outcome());
/// assert!(page.starts_with("<!doctype html>"));
/// # Ok::<(), roadstead_sim::RunError>(())
/// ```
#[must_use]
pub fn html(outcome: &Outcome) -> String {
    let mut page = String::with_capacity(64 * 1024);
    let headline = headline(outcome);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{headline} · Roadstead</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    );
    header(&mut page, outcome, &headline);
    summary(&mut page, outcome);
    for (i, chart) in charts(outcome).iter().enumerate() {
        chart.write(&mut page, i);
    }
    tables::waiting(&mut page, outcome);
    tables::longest_waits(&mut page, outcome);
    tables::nodes(&mut page, outcome);
    tables::troubles(&mut page, outcome);
    let _ = write!(
        page,
        "</main>\n<footer>Made by Roadstead {}. Times are virtual.</footer>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    page
}

fn headline(outcome: &Outcome) -> String {
    let counts = &outcome.counts;
    match (counts.total, counts.waiting.total()) {
        (0, _) => "No pods".to_owned(),
        (1, 0) => "No pod waits".to_owned(),
        (total, 0) => format!("None of {} pods waits", count(total)),
        (total, 1) => format!("1 of {} waits", plural(total, "pod")),
        (total, waiting) => format!("{} of {} wait", count(waiting), plural(total, "pod")),
    }
}

fn header(page: &mut String, outcome: &Outcome, headline: &str) {
    let _ = writeln!(
        page,
        "<header>\n<p class=\"brand\">Roadstead</p>\n<h1>{headline}</h1>\n\
         <p class=\"lead\">After {} of virtual time, {} and {}.</p>\n</header>",
        span(outcome.duration.get()),
        plural(usize::try_from(outcome.cycles).unwrap_or(usize::MAX), "scheduling cycle"),
        plural(outcome.nodes.len(), "node"),
    );
}

/// The numbers that one looks for first.
fn summary(page: &mut String, outcome: &Outcome) {
    let counts = &outcome.counts;
    let waits = Quantiles::of_bound(&outcome.pods);
    let mut facts = vec![
        ("Placed", count(counts.placed), format!("{} of them finished", count(counts.finished))),
        ("Waiting", count(counts.waiting.total()), waiting_places(outcome)),
    ];
    if counts.deleted > 0 {
        let preempted = match counts.preempted {
            0 => "none of them preempted".to_owned(),
            preempted => format!("{} of them preempted", count(preempted)),
        };
        facts.push(("Deleted", count(counts.deleted), preempted));
    }
    if let Some(waits) = waits {
        let rest = format!("99 of 100 within {}", span(waits.p99.get()));
        facts.push(("Median wait", span(waits.p50.get()), rest));
    }
    // What was asked for most says how full the cluster was.
    let amounts = outcome.series.points.iter().flat_map(|point| &point.nodes);
    let used = amounts.filter(|amount| amount.resource != "pods");
    if let Some(fullest) = used.max_by(|a, b| a.share().total_cmp(&b.share())) {
        let note = format!("of {} was asked for", escape(&fullest.resource));
        facts.push(("Fullest", percent(fullest.share()), note));
    }
    page.push_str("<dl class=\"facts\">\n");
    for (name, value, note) in facts {
        let _ = writeln!(
            page,
            "<div><dt>{name}</dt><dd><strong>{value}</strong><span>{note}</span></dd></div>"
        );
    }
    page.push_str("</dl>\n");
}

fn waiting_places(outcome: &Outcome) -> String {
    let waiting = &outcome.counts.waiting;
    let places = [
        (waiting.active, "active"),
        (waiting.backoff, "backing off"),
        (waiting.unschedulable, "unschedulable"),
        (waiting.gated, "gated"),
        (waiting.binding, "binding"),
        (waiting.unclaimed, "for no scheduler here"),
    ];
    let named = places.into_iter().filter(|(pods, _)| *pods > 0);
    let named: Vec<String> = named.map(|(pods, name)| format!("{} {name}", count(pods))).collect();
    if named.is_empty() { "nothing is left to place".to_owned() } else { named.join(", ") }
}

fn charts(outcome: &Outcome) -> Vec<Chart> {
    let points = &outcome.series.points;
    let width = outcome.series.width.get();
    let ends: Vec<f64> = points.iter().map(|point| point.at.get()).collect();
    let chart = |title, note: String, lines, unit| Chart {
        title,
        note,
        starts: ends.clone(),
        width,
        lines,
        unit,
    };
    let of = |value: fn(&Point) -> f64| -> Vec<Option<f64>> {
        points.iter().map(|point| Some(value(point))).collect()
    };
    let wait = |value: fn(&Quantiles) -> f64| -> Vec<Option<f64>> {
        points.iter().map(|point| point.waited.as_ref().map(value)).collect()
    };
    let depth = vec![
        Line::new("active", of(|point| point.active as f64)),
        Line::new("backoff", of(|point| point.backoff as f64)),
        Line::new("unschedulable", of(|point| point.unschedulable as f64)),
        Line::new("gated", of(|point| point.gated as f64)),
    ];
    let (rate, per) = rate_unit(points, width);
    let throughput = vec![
        Line {
            shape: Shape::Area,
            ..Line::new("bound", points.iter().map(|p| Some(p.bindings as f64 * rate)).collect())
        },
        Line::new("tried", points.iter().map(|p| Some(p.attempts as f64 * rate)).collect()),
    ];
    let spots = |name, values| Line { shape: Shape::Spots, ..Line::new(name, values) };
    let waits = vec![
        spots("median", wait(|waited| waited.p50.get())),
        spots("90 of 100", wait(|waited| waited.p90.get())),
        spots("99 of 100", wait(|waited| waited.p99.get())),
    ];
    vec![
        chart(
            "Queue depth",
            "How many pods were in each place of the queue, at most, at each time.".to_owned(),
            depth,
            scale::Unit::Count,
        ),
        chart(
            "Throughput",
            format!("Pods bound and pods tried, per {per}."),
            throughput,
            scale::Unit::Count,
        ),
        chart(
            "Wait",
            "How long pods had waited when they were bound.".to_owned(),
            waits,
            scale::Unit::Seconds,
        ),
        chart(
            "Node use",
            "What pods on nodes ask for, of what all nodes together have.".to_owned(),
            use_lines(points),
            scale::Unit::Share,
        ),
    ]
}

/// The unit of time in which a rate is a number that can be read, and what pods in one stretch are
/// multiplied by.
fn rate_unit(points: &[Point], width: f64) -> (f64, &'static str) {
    let most = points.iter().map(|point| point.bindings.max(1)).max().unwrap_or(1) as f64;
    let units = [(1.0, "second"), (60.0, "minute"), (3600.0, "hour"), (86400.0, "day")];
    let width = if width > 0.0 { width } else { 1.0 };
    let fits = |(seconds, _): &&(f64, &str)| most / width * seconds >= 2.0;
    let (seconds, name) = units.iter().find(fits).unwrap_or(&units[3]);
    (seconds / width, name)
}

/// One line for each resource that is ever there. Pods are no resource that people mean.
fn use_lines(points: &[Point]) -> Vec<Line> {
    let mut names: Vec<&str> = Vec::new();
    for amount in points.iter().flat_map(|point| &point.nodes) {
        if amount.resource != "pods" && !names.contains(&&*amount.resource) {
            names.push(&amount.resource);
        }
    }
    let share = |point: &Point, name: &str| {
        let amount = point.nodes.iter().find(|amount| amount.resource == name)?;
        (amount.allocatable > 0.0).then(|| amount.share())
    };
    let line = |name: &&str| Line::new(name, points.iter().map(|p| share(p, name)).collect());
    names.iter().map(line).collect()
}

const STYLE: &str = include_str!("report/page.css");
const SCRIPT: &str = include_str!("report/page.js");
