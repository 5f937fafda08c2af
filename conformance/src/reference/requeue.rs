//! Who hears an event, and what that means for a pod (sections 8 and 9).

use super::record::Record;
use crate::subject::{Change, Object};
use crate::trace::{Action, Event, Header, HintResult, Pod, Rule};

/// The PreEnqueue plugin that holds pods with scheduling gates.
pub(super) const GATES: &str = "SchedulingGates";

/// Where a pod goes. The greater wins where several events speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strategy {
    /// To the pool.
    Skip,
    /// To backoff while that lasts, else to active.
    AfterBackoff,
    /// To active.
    Immediately,
}

/// The whole table of who registered for what.
#[derive(Clone)]
pub(super) struct Registrations(Vec<Registration>);

#[derive(Clone)]
struct Registration {
    plugin: String,
    event: Event,
    hint: Hint,
}

#[derive(Clone)]
enum Hint {
    Rule(Rule),
    /// What `SchedulingGates` asks: is it the pod itself that changed?
    IsItself,
}

impl Registrations {
    /// The older way asks no hint: a registration is as good as `Queue`, and `SchedulingGates`
    /// has none.
    pub(super) fn new(header: &Header) -> Self {
        let always = Rule::Always { result: HintResult::Queue };
        let mut table = Vec::new();
        for hint in &header.hints {
            let rule = if header.queueing_hints { &hint.rule } else { &always };
            table.extend(hint.events.iter().map(|event| Registration {
                plugin: hint.plugin.clone(),
                event: event.clone(),
                hint: Hint::Rule(rule.clone()),
            }));
        }
        if header.queueing_hints {
            table.push(Registration {
                plugin: GATES.to_owned(),
                event: Event::new("Pod", Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
                hint: Hint::IsItself,
            });
        }
        Self(table)
    }

    /// 8.5.
    pub(super) fn is_of_interest(&self, event: &Event) -> bool {
        event.is_wildcard() || self.0.iter().any(|it| it.event.hears(event))
    }

    /// 7.10 step 2: whether an event is tried on a gated pod.
    pub(super) fn gate_hears(&self, event: &Event) -> bool {
        event.is_wildcard() || self.0.iter().any(|it| it.plugin == GATES && it.event.hears(event))
    }

    /// 9.1.
    pub(super) fn worth_requeueing(&self, record: &Record, change: &Change) -> Strategy {
        if !record.has_rejector() {
            return Strategy::AfterBackoff;
        }
        if change.event.is_wildcard() {
            let is_for_another = |new: &Object| new.uid.as_ref() != Some(&record.pod.uid);
            return match &change.new {
                Some(new) if is_for_another(new) => Strategy::Skip,
                _ => Strategy::AfterBackoff,
            };
        }
        let mut strategy = Strategy::Skip;
        for registration in self.0.iter().filter(|it| it.event.hears(&change.event)) {
            let is_pending = record.pending.contains(&registration.plugin);
            if !is_pending && !record.unschedulable.contains(&registration.plugin) {
                continue;
            }
            if registration.hint.ask(&record.pod, change) == HintResult::Queue {
                if is_pending {
                    return Strategy::Immediately;
                }
                strategy = Strategy::AfterBackoff;
            }
        }
        strategy
    }
}

impl Hint {
    fn ask(&self, pod: &Pod, change: &Change) -> HintResult {
        let new = change.new.as_ref();
        let may_help = match self {
            Self::Rule(Rule::Always { result }) => return *result,
            Self::Rule(Rule::Error {}) => true,
            Self::Rule(Rule::Label { key }) => {
                let label = pod.labels.get(key);
                label.is_some() && label == new.and_then(|it| it.labels.get(key))
            }
            Self::IsItself => new.is_some_and(|it| it.uid.as_ref() == Some(&pod.uid)),
        };
        if may_help { HintResult::Queue } else { HintResult::Skip }
    }
}
