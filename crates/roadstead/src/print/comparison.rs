//! What another configuration would have changed, on a page.

use std::io::{self, Write};

use roadstead_sim::{
    Baseline, ChangeCounts, Comparison, Placement, PlacementChange, PodComparison,
};

use super::words::{columns, number, seconds};

/// Prints what another configuration would have changed.
pub(crate) fn comparison(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let ChangeCounts { sooner, later, elsewhere, newly_placed, no_longer_placed, .. } =
        compared.counts;
    let ChangeCounts { equal, waiting, .. } = compared.counts;
    let row = |name: &str, pods: usize, what: &str| {
        vec![name.to_owned(), number(pods as u64), what.to_owned()]
    };
    let rows = [
        row("sooner", sooner, ""),
        row("later", later, ""),
        row("elsewhere", elsewhere, "at the same time, on another node"),
        row("newly placed", newly_placed, ""),
        row("no longer placed", no_longer_placed, ""),
        row("equal", equal, ""),
        row("waiting", waiting, "in both"),
    ];
    let duration = seconds(compared.duration);
    writeln!(out, "{duration} under another configuration: how pods would have been placed")?;
    columns(&rows).iter().try_for_each(|line| writeln!(out, "  {}", line.trim_end()))?;
    let [recorded, other] =
        [compared.recorded_evictions, compared.other_evictions].map(|pods| number(pods as u64));
    if recorded != "0" || other != "0" {
        writeln!(out, "Evicted for more urgent ones: {recorded} as recorded, {other} otherwise")?;
    }
    baselines(compared, out)?;
    changes(compared, out)
}

/// What the comparison is worth.
fn baselines(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let words = |Baseline { changed, pods, evictions }: Baseline| {
        let [changed, pods, evictions] = [changed, pods, evictions].map(|it| number(it as u64));
        format!("{changed} of {pods} pods would differ already, {evictions} be evicted")
    };
    let [unchanged, other_seed] = [compared.unchanged, compared.other_seed].map(words);
    writeln!(
        out,
        "With the recorded configuration unchanged, {unchanged}: so far these rules can"
    )?;
    writeln!(out, "be trusted. With it and another seed, {other_seed}: so much")?;
    writeln!(out, "comes of chance, and of what these rules cannot know.")
}

/// The pods for which most would have changed.
fn changes(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let is_change = |pod: &&PodComparison| {
        !matches!(pod.change, PlacementChange::Equal | PlacementChange::Waiting)
    };
    let titles = ["NAMESPACE", "NAME", "CHANGE", "CAME", "PLACED", "NODE", "OTHERWISE", "NODE"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    let changed: Vec<_> = compared.pods.iter().filter(is_change).collect();
    if changed.is_empty() {
        return Ok(());
    }
    rows.extend(changed.iter().take(MOST_PODS).map(|pod| row(pod)));
    writeln!(out)?;
    columns(&rows).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    match changed.len().saturating_sub(MOST_PODS) {
        0 => Ok(()),
        more => writeln!(out, "and {} more; -o json has all", number(more as u64)),
    }
}

fn row(pod: &PodComparison) -> Vec<String> {
    let change = match pod.change {
        PlacementChange::Sooner => "sooner",
        PlacementChange::Later => "later",
        PlacementChange::Elsewhere => "elsewhere",
        PlacementChange::NewlyPlaced => "newly placed",
        PlacementChange::NoLongerPlaced => "no longer placed",
        PlacementChange::Equal => "equal",
        PlacementChange::Waiting => "waiting",
    };
    let cells = |placement: &Option<Placement>| match placement {
        Some(Placement { at, node }) => [seconds(*at), node.clone()],
        None => [NONE.to_owned(), NONE.to_owned()],
    };
    let mut row = vec![pod.namespace.clone(), pod.name.clone(), change.to_owned()];
    row.push(seconds(pod.created));
    row.extend(cells(&pod.recorded));
    row.extend(cells(&pod.other));
    row
}

const NONE: &str = "-";
const MOST_PODS: usize = 20;
