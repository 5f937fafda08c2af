//! An explanation in words.

use std::fmt::{self, Display, Formatter};

use super::words::{counted, joined, list};
use super::{Explanation, RejectorExplanation, Whereabouts};
use crate::journal::span;

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} ", self.namespace, self.name)?;
        self.place(f)?;
        if !self.whereabouts.is_waiting() {
            return Ok(());
        }
        if let Some(node) = &self.nominated_node {
            writeln!(f, "{node} is kept for it until those who make room there are gone.")?;
        }
        match (&self.message, self.fits) {
            (Some(message), _) => writeln!(f, "{message}")?,
            // A gate holds it, and is spoken of below.
            (None, 0) => {}
            (None, fits) => writeln!(f, "{} would take it now.", counted(fits, "node"))?,
        }
        for rejector in &self.rejectors {
            rejector.write(self.nodes, f)?;
        }
        if let Some(at) = self.retried_at.filter(|at| *at > self.at) {
            writeln!(f, "Tried again in any case in about {}.", span(at - self.at))?;
        }
        self.remedies(f)
    }
}

impl Explanation {
    fn place(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ago = self.since.map(|since| self.at - since).filter(|ago| !ago.is_zero());
        let waited = ago.map_or(String::new(), |ago| format!(" for {}", span(ago)));
        let tried = match self.attempts {
            0 => ", not tried yet".to_owned(),
            attempts => format!(", after {}", counted(attempts as usize, "attempt")),
        };
        let ends = |until: &Option<_>| match until {
            Some(until) if *until > self.at => {
                format!("; its backoff ends in {}", span(*until - self.at))
            }
            _ => "; its backoff has ended".to_owned(),
        };
        match &self.whereabouts {
            Whereabouts::Active { before: 0 } => {
                writeln!(f, "is ready{waited}{tried}; it is tried next.")
            }
            Whereabouts::Active { before: 1 } => {
                writeln!(f, "is ready{waited}{tried}; 1 pod is tried before it.")
            }
            Whereabouts::Active { before } => {
                writeln!(f, "is ready{waited}{tried}; {before} pods are tried before it.")
            }
            Whereabouts::Backoff { until } => {
                writeln!(f, "backs off{waited}{tried}{}.", ends(until))
            }
            Whereabouts::ErrorBackoff { until } => {
                writeln!(f, "backs off after an error{waited}{tried}{}.", ends(until))
            }
            Whereabouts::Unschedulable => writeln!(f, "waits for an event{waited}{tried}."),
            Whereabouts::Gated { by } => writeln!(f, "is held by {by}{waited}{tried}."),
            Whereabouts::InFlight => writeln!(f, "is being tried."),
            Whereabouts::Permit { node, plugins, until } => writeln!(
                f,
                "may go to {node} and waits for permission by {}; it is rejected in {} if that \
                 does not come.",
                joined(plugins, "and"),
                span(*until - self.at)
            ),
            Whereabouts::Binding { node } => writeln!(f, "is being bound to {node}."),
            Whereabouts::Bound { node } => writeln!(f, "is on {node}."),
            Whereabouts::NotOurs { scheduler } => {
                writeln!(f, "waits for scheduler {scheduler}, which is none of the profiles here.")
            }
        }
    }

    fn remedies(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.fits > 0 {
            return Ok(());
        }
        for change in &self.changes {
            writeln!(f, "Fits on {} if {}.", counted(change.nodes, "node"), change.change)?;
        }
        match (self.changes.len(), self.tried) {
            (0, 0) if self.nodes > 0 && self.untried == 0 => {
                writeln!(f, "No single change of the pod would place it.")?;
            }
            (0, 1) => writeln!(f, "The one change of the pod that was tried would not place it.")?,
            (0, tried @ 2..) => {
                writeln!(f, "None of {tried} single changes that were tried would place it.")?;
            }
            _ => {}
        }
        match self.untried {
            0 => Ok(()),
            1 => writeln!(f, "1 more was not tried."),
            untried => writeln!(f, "{untried} more were not tried."),
        }
    }
}

impl RejectorExplanation {
    fn write(&self, nodes: usize, f: &mut Formatter<'_>) -> fmt::Result {
        let reasons: Vec<_> = match self.reasons.as_slice() {
            [one] => vec![one.reason.clone()],
            several => several.iter().map(|it| format!("{} {}", it.nodes, it.reason)).collect(),
        };
        let refused = self.refuses;
        match &self.gate {
            Some(why) => writeln!(f, "{} holds it: {why}", self.plugin)?,
            None if refused == 0 => writeln!(f, "{} refuses no node now", self.plugin)?,
            None => {
                let all = counted(nodes, "node");
                writeln!(f, "{} refuses {refused} of {all}: {}", self.plugin, list(&reasons))?;
            }
        }
        for satisfied in &self.satisfied_by {
            writeln!(f, "  needs {satisfied}")?;
        }
        if !self.is_waited_for {
            return Ok(());
        }
        let words = |is_asked: bool| -> Vec<&str> {
            let news = self.retried_on.iter().filter(|news| news.if_it_may_help == is_asked);
            news.map(|news| news.words.as_str()).collect()
        };
        match (words(false).as_slice(), words(true).as_slice()) {
            ([], []) => {}
            (sure, []) => writeln!(f, "  tried again when {}", list(sure))?,
            ([], asked) => writeln!(f, "  tried again, if that may help, when {}", list(asked))?,
            (sure, asked) => writeln!(
                f,
                "  tried again when {}; and, if that may help, when {}",
                list(sure),
                list(asked)
            )?,
        }
        Ok(())
    }
}
