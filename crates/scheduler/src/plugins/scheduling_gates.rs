//! Holds a pod until its scheduling gates are gone.

use roadstead_model::{Pod, Text};
use roadstead_queue::{Ask, Hint, HintError};

use crate::events::{self, ClusterEvent};
use crate::explain::words::joined;
use crate::explain::{Refusal, Remedies};
use crate::framework::{Extensions, Joining, Plugin, PreEnqueue, Registration, Status};
use crate::listers::Listers;

/// Holds a pod until its scheduling gates are gone.
pub struct SchedulingGates;

impl SchedulingGates {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions() -> Extensions {
        Joining::new(Self).pre_enqueue().done()
    }
}

impl Plugin for SchedulingGates {
    fn name(&self) -> &'static str {
        "SchedulingGates"
    }

    /// The event is raised when the last gate goes, not before.
    fn events(&self) -> Vec<Registration> {
        let last_gone = events::UPDATE_POD_SCHEDULING_GATES_ELIMINATED;
        vec![Registration::new(events::POD, last_gone, Ask::Item)]
    }

    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let (_, new) = events::pods(event)?;
        let is_own = new.is_none_or(|new| new.uid == pod.uid);
        Ok(if is_own { Hint::Queue } else { Hint::Skip })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        let gates = &refusal.pod.spec().scheduling_gates;
        if !gates.is_empty() {
            // One that is left holds it as all of them do.
            let all = if gates.len() == 1 { "gate" } else { "gates" };
            let names = joined(gates, "and");
            remedies.cluster(format!("{all} {names} removed"));
            let words = format!("{all} {names} were removed");
            let change = refusal.change(words, 0, |spec| spec.scheduling_gates = Box::default());
            remedies.of_pod.push(change);
        }
        remedies
    }
}

impl PreEnqueue for SchedulingGates {
    fn pre_enqueue(&self, _: &Listers, pod: &Pod) -> Result<(), Status> {
        match &*pod.spec().scheduling_gates {
            [] => Ok(()),
            gates => Err(Status::unresolvable(waiting_for(gates))),
        }
    }
}

fn waiting_for(gates: &[Text]) -> String {
    let names: Vec<&str> = gates.iter().map(Text::as_str).collect();
    format!("waiting for scheduling gates: [{}]", names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, FITS};
    use serde_json::{Value, json};

    fn pod(name: &str, gates: &[&str]) -> Value {
        let gates: Vec<Value> = gates.iter().map(|gate| json!({"name": gate})).collect();
        json!({"metadata": {"name": name}, "spec": {"containers": [], "schedulingGates": gates}})
    }

    #[test]
    fn a_gate_holds_the_pod() {
        let rows: [(&[&str], &str); 3] = [
            (&[], FITS),
            (&["foo"], "UnschedulableAndUnresolvable: waiting for scheduling gates: [foo]"),
            (
                &["foo", "bar"],
                "UnschedulableAndUnresolvable: waiting for scheduling gates: [foo bar]",
            ),
        ];
        for (gates, expected) in rows {
            let mut cluster = testing::nodes(json!([]));
            let pod = cluster.pod(pod("waiting", gates));
            let answer = SchedulingGates.pre_enqueue(&cluster.listers, &pod);
            let answer = answer.map_or_else(|status| testing::words(&status), |()| FITS.into());
            assert_eq!(answer, expected, "{gates:?}");
        }
    }

    #[test]
    fn the_last_gate_gone_frees_the_pod_that_had_it() {
        let gone = events::UPDATE_POD_SCHEDULING_GATES_ELIMINATED;
        let rows = [
            ("its own gate", "waiting", gone, "Queue"),
            ("another pod's gate", "other", gone, "Skip"),
            ("its own toleration", "waiting", events::UPDATE_POD_TOLERATION, "deaf"),
        ];
        for (what, name, action, expected) in rows {
            let mut cluster = testing::nodes(json!([]));
            let waiting = cluster.pod(pod("waiting", &[]));
            let (old, new) = (pod(name, &["foo"]), pod(name, &[]));
            let event = cluster.event(events::UNSCHEDULABLE_POD, action, old, new);
            let answer = cluster.hint(&SchedulingGates::extensions(), &waiting, &event);
            assert_eq!(answer, expected, "{what}");
        }
    }

    #[test]
    fn an_object_of_another_kind_is_an_error() {
        let mut cluster = testing::nodes(json!([]));
        let pod = cluster.pod(json!({}));
        let gone = events::UPDATE_POD_SCHEDULING_GATES_ELIMINATED;
        let event = testing::stranger(&mut cluster.world, events::UNSCHEDULABLE_POD, gone);
        assert_eq!(cluster.hint(&SchedulingGates::extensions(), &pod, &event), "Error");
    }
}
