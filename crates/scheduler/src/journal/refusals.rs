//! Why a pod was rejected, in few enough words to be kept.

use crate::diagnosis::Diagnosis;

/// Reasons of a rejection with the numbers of nodes, on the stack: the first few, and the rest
/// as one.
#[derive(Default)]
pub(super) struct Refusals<'a> {
    known: [Option<(&'static str, &'a str, u32)>; MOST_REASONS],
    length: usize,
    /// On how many nodes there were other reasons.
    others: u32,
}

impl<'a> Refusals<'a> {
    pub(super) fn read(&mut self, diagnosis: &'a Diagnosis) {
        for (status, nodes) in diagnosis.statuses() {
            for reason in status.reasons() {
                let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
                self.add(status.plugin(), reason, nodes);
            }
        }
    }

    fn add(&mut self, plugin: &'static str, reason: &'a str, nodes: u32) {
        for (own, known, number) in self.known[..self.length].iter_mut().flatten() {
            if *own == plugin && *known == reason {
                *number = number.saturating_add(nodes);
                return;
            }
        }
        match self.known.get_mut(self.length) {
            Some(free) => {
                *free = Some((plugin, reason, nodes));
                self.length += 1;
            }
            None => self.others = self.others.saturating_add(nodes),
        }
    }

    /// Plugins, their reasons, and on how many nodes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &'a str, u32)> {
        let others = ("", "node(s) had other reasons", self.others);
        let known = self.known[..self.length].iter().flatten().copied();
        known.chain((self.others > 0).then_some(others))
    }
}

/// How many reasons of one rejection are told apart.
const MOST_REASONS: usize = 6;
