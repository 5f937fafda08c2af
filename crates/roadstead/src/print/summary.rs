//! What a run came to, on a page.

use std::io::{self, Write};

use roadstead_sim::{
    Amount, Outcome, PodOutcome, Quantiles, Rejector, WaitingCounts, WaitingPlace,
};

use super::words::{amount, bar, columns, count, number, seconds, wrapped};

/// Prints what a run came to, and how it did.
pub(crate) fn summary(outcome: &Outcome, how: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}, {}: {} of virtual time in {}, {how}",
        count(outcome.nodes.len(), "node"),
        count(outcome.counts.total, "pod"),
        seconds(outcome.duration),
        count(usize::try_from(outcome.cycles).unwrap_or(usize::MAX), "scheduling cycle"),
    )?;
    writeln!(out)?;
    pod_counts(outcome, out)?;
    node_use(&outcome.resources, out)?;
    reasons(outcome, out)?;
    waiting_pods(outcome, out)
}

fn pod_counts(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let counts = &outcome.counts;
    let waiting = counts.waiting.total();
    let there = (counts.placed + waiting).max(1) as f64;
    let row = |name: &str, pods: usize, more: String| {
        let share = bar(pods as f64 / there, BAR);
        vec![name.to_owned(), share, number(pods as u64), more]
    };
    let mut rows = vec![row("placed", counts.placed, placed_in_words(outcome))];
    if waiting > 0 {
        rows.push(row("waiting", waiting, places_in_words(&counts.waiting)));
    }
    if counts.deleted > 0 {
        let preempted = match counts.preempted {
            0 => String::new(),
            preempted => format!("{} for more urgent ones", number(preempted as u64)),
        };
        let none = " ".repeat(BAR);
        rows.push(vec!["deleted".to_owned(), none, number(counts.deleted as u64), preempted]);
    }
    section("Pods", &rows, out)
}

fn placed_in_words(outcome: &Outcome) -> String {
    let mut words = Vec::new();
    if outcome.counts.finished > 0 {
        words.push(format!("{} finished", number(outcome.counts.finished as u64)));
    }
    if let Some(waits) = Quantiles::of_bound(&outcome.pods).filter(|waits| waits.max.get() > 0.0) {
        let (half, most) = (seconds(waits.p50), seconds(waits.max));
        words.push(format!("half of them within {half}, all within {most}"));
    }
    words.join("; ")
}

fn places_in_words(waiting: &WaitingCounts) -> String {
    let WaitingCounts { active, backoff, unschedulable, gated, binding, unclaimed } = *waiting;
    let places = [
        (WaitingPlace::Active, active),
        (WaitingPlace::Backoff, backoff),
        (WaitingPlace::Unschedulable, unschedulable),
        (WaitingPlace::Gated, gated),
        (WaitingPlace::Binding, binding),
        (WaitingPlace::Unclaimed, unclaimed),
    ];
    let there = places.iter().filter(|(_, pods)| *pods > 0);
    let words: Vec<_> =
        there.map(|(place, pods)| format!("{} {}", number(*pods as u64), place.name())).collect();
    words.join(", ")
}

fn node_use(resources: &[Amount], out: &mut dyn Write) -> io::Result<()> {
    let row = |of: &Amount| {
        let (requested, _) = amount(&of.resource, of.requested, of.allocatable);
        let (allocatable, unit) = amount(&of.resource, of.allocatable, of.allocatable);
        vec![
            of.resource.clone(),
            bar(of.share(), BAR),
            format!("{:.0}%", of.share() * 100.0),
            format!("{requested} of {allocatable}{unit}"),
        ]
    };
    let rows: Vec<_> = resources.iter().map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    section("Asked of the nodes", &rows, out)
}

fn reasons(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    if outcome.reasons.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nWhy pods wait")?;
    for reason in outcome.reasons.iter().take(MOST_REASONS) {
        let first = format!("  {:>6}  ", number(reason.pods as u64));
        writeln!(out, "{}", wrapped(&reason.reason, &first, "          ", WIDTH))?;
    }
    and_more(outcome.reasons.len(), MOST_REASONS, "reason", out)
}

fn waiting_pods(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let waiting: Vec<_> = outcome.waiting().collect();
    if waiting.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nWaiting pods, and what would wake them")?;
    for (pod, place) in waiting.iter().take(MOST_PODS) {
        waiting_pod(pod, *place, out)?;
    }
    and_more(waiting.len(), MOST_PODS, "pod", out)
}

fn waiting_pod(pod: &PodOutcome, place: WaitingPlace, out: &mut dyn Write) -> io::Result<()> {
    let tried = match pod.attempts {
        0 => "never tried".to_owned(),
        1 => "tried once".to_owned(),
        times => format!("tried {} times", number(u64::from(times))),
    };
    let waited = seconds(pod.waited);
    writeln!(out, "  {}/{}  {}, {tried}, waited {waited}", pod.namespace, pod.name, place.name())?;
    if let Some(reason) = &pod.reason {
        writeln!(out, "{}", wrapped(reason, "    ", "    ", WIDTH))?;
    }
    for Rejector { plugin, wakes_when } in &pod.rejectors {
        let events = match wakes_when.as_slice() {
            [] => "nothing but time".to_owned(),
            events => events.join("; "),
        };
        let text = format!("{plugin}: {events}");
        writeln!(out, "{}", wrapped(&text, "    → ", "      ", WIDTH))?;
    }
    Ok(())
}

fn section(title: &str, rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{title}")?;
    columns(rows).iter().try_for_each(|line| writeln!(out, "  {line}"))
}

fn and_more(all: usize, shown: usize, one: &str, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(out, "  and {} more", count(more, one)),
    }
}

const WIDTH: usize = 100;
const BAR: usize = 24;
const MOST_REASONS: usize = 10;
const MOST_PODS: usize = 20;
