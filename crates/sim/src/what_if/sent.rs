//! What the recorded scheduler wanted done, and what came of each.

use std::time::Duration;

use hashbrown::HashMap;
use roadstead_model::Text;
use roadstead_queue::Time;
use roadstead_recording::Answer;
use roadstead_scheduler::Condition;

/// The commands of a recorded run: those of a kind for a pod in their order.
#[derive(Default)]
pub(super) struct SentCommands(HashMap<(Asked, String), Vec<Sent>>);

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    /// That a pod is bound.
    Bind,
    /// That something is written for a pod.
    Write,
    /// That a pod's status is changed.
    Patch,
    /// That a pod makes room for this one.
    Evict,
}

/// A command.
pub(super) struct Sent {
    pub(super) at: Time,
    /// The node, of a binding or a nomination.
    pub(super) node: Option<Text>,
    condition: Option<(&'static str, String)>,
    /// When it was answered, and what.
    pub(super) answered: Option<(Came, Answer)>,
    /// When the cluster showed that it was done.
    pub(super) shown: Option<Came>,
}

/// When something came.
#[derive(Clone, Copy)]
pub(super) struct Came {
    /// How long after what it followed from.
    pub(super) after: Duration,
    /// The number of the step, which decides what comes first at one time.
    pub(super) step: u64,
}

impl Sent {
    pub(super) fn new(at: Time, node: Option<Text>, condition: Option<&Condition>) -> Self {
        let condition = condition.map(|it| (it.reason, it.message.clone()));
        Self { at, node, condition, answered: None, shown: None }
    }

    fn is_shown_by(&self, node: Option<&str>, condition: Option<(&str, &str)>) -> bool {
        let nominates = self.node.as_deref().map(|node| Some(node).filter(|it| !it.is_empty()));
        let says = self.condition.as_ref().map(|(reason, message)| (*reason, message.as_str()));
        nominates.is_none_or(|nominated| nominated == node)
            && says.is_none_or(|_| says == condition)
    }
}

impl SentCommands {
    pub(super) fn send(&mut self, asked: Asked, uid: &str, sent: Sent) {
        self.0.entry((asked, uid.to_owned())).or_default().push(sent);
    }

    /// The first that was not yet answered is.
    pub(super) fn answer(
        &mut self,
        asked: Asked,
        uid: &str,
        (at, step): (Time, u64),
        what: &Answer,
    ) {
        let sent = self.0.get_mut(&(asked, uid.to_owned()));
        let first = sent.and_then(|all| all.iter_mut().find(|sent| sent.answered.is_none()));
        if let Some(sent) = first {
            sent.answered = Some((Came { after: at - sent.at, step }, what.clone()));
        }
    }

    /// A pod was shown on the node that it was last to be bound to.
    pub(super) fn show_bound(&mut self, uid: &str, (at, step): (Time, u64)) {
        let sent = self.0.get_mut(&(Asked::Bind, uid.to_owned()));
        if let Some(sent) = sent.and_then(|all| all.last_mut()) {
            sent.shown = Some(Came { after: at - sent.at, step });
        }
    }

    /// A pod that waits was shown with this nomination and this condition. What was asked before
    /// that is shown by it as well, or never.
    pub(super) fn show_status(
        &mut self,
        uid: &str,
        (at, step): (Time, u64),
        node: Option<&str>,
        condition: Option<(&str, &str)>,
    ) {
        let Some(sent) = self.0.get_mut(&(Asked::Patch, uid.to_owned())) else { return };
        let last = sent.iter_mut().rev().take_while(|sent| sent.shown.is_none());
        if let Some(sent) = last.into_iter().find(|sent| sent.is_shown_by(node, condition)) {
            sent.shown = Some(Came { after: at - sent.at, step });
        }
    }

    /// The command of that number, from 0, of a kind for a pod.
    pub(super) fn get(&self, asked: Asked, uid: &str, number: usize) -> Option<&Sent> {
        self.0.get(&(asked, uid.to_owned()))?.get(number)
    }

    /// How long it took by the median until such commands were answered with success.
    pub(super) fn usual_answer(&self, asked: Asked) -> Option<Duration> {
        let answers = self.all(asked).filter_map(|sent| sent.answered.as_ref());
        median(answers.filter(|(_, what)| what.is_ok()).map(|(came, _)| came.after).collect())
    }

    /// How long it took by the median until the cluster showed that such commands were done.
    pub(super) fn usual_showing(&self, asked: Asked) -> Option<Duration> {
        let shown = self.all(asked).filter_map(|sent| sent.shown);
        median(shown.map(|came| came.after).collect())
    }

    fn all(&self, asked: Asked) -> impl Iterator<Item = &Sent> {
        let of_kind = self.0.iter().filter(move |((kind, _), _)| *kind == asked);
        of_kind.flat_map(|(_, sent)| sent)
    }
}

pub(super) fn median(mut samples: Vec<Duration>) -> Option<Duration> {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied()
}
