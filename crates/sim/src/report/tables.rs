//! What waits and why, who waited longest, and how full each node is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::words::{amount, count, escape, natural, percent, plural, span};
use crate::outcome::{NodeOutcome, Outcome, PodOutcome, PodState, WaitingPlace};

/// Pods that wait, by reason, with what would wake them.
pub(super) fn waiting(page: &mut String, outcome: &Outcome) {
    let mut groups: BTreeMap<(WaitingPlace, &str), Vec<&PodOutcome>> = BTreeMap::new();
    for pod in &outcome.pods {
        if let PodState::Waiting(place) = pod.state {
            groups.entry((place, pod.reason.as_deref().unwrap_or(""))).or_default().push(pod);
        }
    }
    if groups.is_empty() {
        return;
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, pods)| std::cmp::Reverse(pods.len()));
    page.push_str(
        "<section>\n<h2>What waits, and what would wake it</h2>\n\
         <p class=\"note\">Pods at the end of the run, by the last reason that they were given.</p>\n",
    );
    for ((place, reason), pods) in groups.iter().take(MOST_REASONS) {
        let reason = if reason.is_empty() { "It has not been tried yet." } else { reason };
        let _ = write!(
            page,
            "<article class=\"reason\">\n<h3>{} <span class=\"tag\">{}</span></h3>\n<p>{}</p>\n",
            plural(pods.len(), "pod"),
            place.name(),
            escape(reason)
        );
        wakers(page, pods);
        names(page, pods);
        page.push_str("</article>\n");
    }
    left_out(page, groups.len(), MOST_REASONS, "reason");
    page.push_str("</section>\n");
}

fn wakers(page: &mut String, pods: &[&PodOutcome]) {
    let mut wakers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for rejector in pods.iter().flat_map(|pod| &pod.rejectors) {
        let known = wakers.entry(&rejector.plugin).or_default();
        for event in &rejector.wakes_when {
            if !known.contains(&&**event) {
                known.push(event);
            }
        }
    }
    if wakers.is_empty() {
        return;
    }
    page.push_str("<dl class=\"wakers\">\n");
    for (plugin, events) in wakers {
        let events = if events.is_empty() {
            "nothing: only a change of the pod itself".to_owned()
        } else {
            events.iter().map(|event| escape(event)).collect::<Vec<_>>().join("; ")
        };
        let _ = writeln!(
            page,
            "<div><dt>{}</dt><dd>looks again when: {events}</dd></div>",
            escape(plugin)
        );
    }
    page.push_str("</dl>\n");
}

fn names(page: &mut String, pods: &[&PodOutcome]) {
    let is_short = pods.len() <= FEW_NAMES;
    if !is_short {
        page.push_str("<details>\n<summary>Which</summary>\n");
    }
    page.push_str("<p class=\"names\">");
    for (i, pod) in pods.iter().take(MOST_NAMES).enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        let _ = write!(page, "{comma}{}/{}", escape(&pod.namespace), escape(&pod.name));
    }
    if let Some(more) = pods.len().checked_sub(MOST_NAMES).filter(|more| *more > 0) {
        let _ = write!(page, " and {} more", count(more));
    }
    page.push_str(if is_short { "</p>\n" } else { "</p>\n</details>\n" });
}

/// The pods that waited longest, placed or not.
pub(super) fn longest_waits(page: &mut String, outcome: &Outcome) {
    let mut pods: Vec<&PodOutcome> =
        outcome.pods.iter().filter(|pod| pod.waited.get() > 0.0).collect();
    if pods.is_empty() {
        return;
    }
    // Stable: those that waited as long stay by name.
    pods.sort_by(|a, b| b.waited.get().total_cmp(&a.waited.get()));
    page.push_str(
        "<section>\n<h2>Longest waits</h2>\n<div class=\"wide\"><table>\n<thead><tr>\
         <th scope=\"col\">Pod</th><th scope=\"col\" class=\"n\">Waited</th>\
         <th scope=\"col\" class=\"n\">Tried</th><th scope=\"col\" class=\"n\">Priority</th>\
         <th scope=\"col\">Became</th></tr></thead>\n<tbody>\n",
    );
    for pod in pods.iter().take(MOST_WAITS) {
        let became = match (pod.state, &pod.node) {
            (PodState::Waiting(place), _) => place.name().to_owned(),
            (PodState::Deleted, None) => "deleted before it was placed".to_owned(),
            (PodState::Deleted, Some(node)) => format!("deleted from {}", escape(node)),
            (PodState::Finished, Some(node)) => format!("finished on {}", escape(node)),
            (_, Some(node)) => format!("on {}", escape(node)),
            (_, None) => "–".to_owned(),
        };
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}/{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td>{became}</td></tr>",
            escape(&pod.namespace),
            escape(&pod.name),
            span(pod.waited.get()),
            pod.attempts,
            pod.priority,
        );
    }
    page.push_str("</tbody>\n</table></div>\n</section>\n");
}

/// Every node at the end, and how full it is.
pub(super) fn nodes(page: &mut String, outcome: &Outcome) {
    if outcome.nodes.is_empty() {
        return;
    }
    let names: Vec<&str> = outcome.resources.iter().map(|amount| &*amount.resource).collect();
    page.push_str(
        "<section>\n<h2>Nodes</h2>\n\
         <p class=\"note\">At the end of the run: what pods ask for, of what each node has.</p>\n\
         <div class=\"wide\"><table class=\"nodes\">\n<thead><tr><th scope=\"col\">Node</th>",
    );
    for name in &names {
        let _ = write!(page, "<th scope=\"col\">{}</th>", escape(name));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    let mut nodes: Vec<&NodeOutcome> = outcome.nodes.iter().collect();
    nodes.sort_by(|a, b| natural(&a.name, &b.name));
    for node in nodes.into_iter().take(MOST_NODES) {
        node_row(page, node, &names);
    }
    page.push_str("</tbody>\n</table></div>\n");
    left_out(page, outcome.nodes.len(), MOST_NODES, "node");
    page.push_str("</section>\n");
}

fn node_row(page: &mut String, node: &NodeOutcome, names: &[&str]) {
    let _ = write!(page, "<tr><th scope=\"row\">{}</th>", escape(&node.name));
    for name in names {
        let Some(of) = node.resources.iter().find(|amount| amount.resource == *name) else {
            page.push_str("<td class=\"none\">–</td>");
            continue;
        };
        let bar = (of.share() * 100.0).clamp(0.0, 100.0);
        let _ = write!(
            page,
            "<td><span class=\"bar\" aria-hidden=\"true\"><i style=\"width:{bar:.0}%\"></i></span>\
             {} <small>{} of {}</small></td>",
            percent(of.share()),
            amount(name, of.requested),
            amount(name, of.allocatable)
        );
    }
    page.push_str("</tr>\n");
}

/// What went wrong without ending the run.
pub(super) fn troubles(page: &mut String, outcome: &Outcome) {
    if outcome.troubles.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>What did not work</h2>\n<ul class=\"troubles\">\n");
    for trouble in outcome.troubles.iter().take(MOST_TROUBLES) {
        let _ = writeln!(page, "<li>{}</li>", escape(trouble));
    }
    page.push_str("</ul>\n");
    left_out(page, outcome.troubles.len(), MOST_TROUBLES, "thing");
    page.push_str("</section>\n");
}

fn left_out(page: &mut String, all: usize, shown: usize, name: &str) {
    if let Some(more) = all.checked_sub(shown).filter(|more| *more > 0) {
        let _ = writeln!(page, "<p class=\"note\">And {} more.</p>", plural(more, name));
    }
}

// A page of ten thousand rows helps nobody; `-o json` has them all.
const MOST_REASONS: usize = 30;
const FEW_NAMES: usize = 6;
const MOST_NAMES: usize = 100;
const MOST_WAITS: usize = 10;
const MOST_NODES: usize = 300;
const MOST_TROUBLES: usize = 50;
