//! Pods that have a node and wait for permission to be bound to it.

use std::time::Duration;

use roadstead_model::Text;
use roadstead_queue::{Attempt, Time};

use super::binding::Placed;
use super::{Scheduler, Trial};
use crate::config;
use crate::framework::{Permission, Status, Verdict, Waiting};
use crate::observer::{Happening, Observer};

/// A pod that waits for permission. Its attempt is open: what happens meanwhile counts for it.
pub(super) struct Permitting {
    pub(super) placed: Placed,
    pub(super) attempt: Attempt,
    pub(super) waits: Vec<Wait>,
    pub(super) since: Time,
}

/// A permission that is waited for.
pub(super) struct Wait {
    plugin: &'static str,
    timeout: Duration,
    until: Time,
}

/// However long a plugin wants to take, no pod waits longer.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

impl Wait {
    /// What is to be waited for, if anything.
    pub(super) fn of(plugin: &'static str, permission: Permission, now: Time) -> Option<Self> {
        let Permission::Wait(timeout) = permission else { return None };
        let timeout = timeout.min(LONGEST_WAIT);
        Some(Self { plugin, timeout, until: now + timeout })
    }
}

impl Permitting {
    pub(super) fn waiting(&self) -> Waiting {
        Waiting {
            pod: self.placed.pod.clone(),
            node: self.placed.node.clone(),
            plugins: self.waits.iter().map(|wait| wait.plugin).collect(),
        }
    }
}

impl<V: Observer> Scheduler<V> {
    /// The pods that have a node and wait for permission to be bound to it.
    pub fn waiting_for_permission(&self) -> impl Iterator<Item = Waiting> {
        self.permits.values().map(Permitting::waiting)
    }

    /// Whose permission the pod waits for, and until when the first of them may take; `None` if it
    /// waits for none.
    pub(crate) fn permit_wait(&self, pod: &Text) -> Option<(Vec<&'static str>, Time)> {
        let waits = &self.permits.get(pod)?.waits;
        let until = waits.iter().map(|wait| wait.until).min()?;
        Some((waits.iter().map(|wait| wait.plugin).collect(), until))
    }

    /// A plugin answers what becomes of a pod that waits for its permission: for whatever of the
    /// plugin lives outside of its calls.
    pub fn answer_permit(&mut self, pod: &Text, plugin: &str, verdict: Verdict, now: Time) {
        let known = self.permits.get(pod).and_then(|permitting| {
            permitting.waits.iter().map(|wait| wait.plugin).find(|known| *known == plugin)
        });
        if let Some(plugin) = known {
            self.permission_answered(pod, plugin, verdict, now);
            self.settle(now);
        }
    }

    pub(super) fn wait_for_permission(&mut self, permitting: Permitting) {
        let uid = permitting.placed.pod.uid.clone();
        for wait in &permitting.waits {
            self.timers.insert((wait.until, uid.clone()));
        }
        self.permits.insert(uid, permitting);
    }

    pub(super) fn permission_answered(
        &mut self,
        pod: &Text,
        plugin: &'static str,
        verdict: Verdict,
        now: Time,
    ) {
        let Some(permitting) = self.permits.get_mut(pod) else { return };
        if !permitting.waits.iter().any(|wait| wait.plugin == plugin) {
            return;
        }
        match verdict {
            Verdict::Allow => {
                permitting.waits.retain(|wait| wait.plugin != plugin);
                if permitting.waits.is_empty()
                    && let Some(Permitting { placed, attempt, since, .. }) =
                        self.permits.remove(pod)
                {
                    self.waited_for_permission("Success", now - since);
                    self.start_binding(attempt, placed, now);
                }
            }
            Verdict::Reject(reason) => {
                self.permission_refused(
                    pod,
                    Status::unschedulable(reason).from_plugin(plugin),
                    now,
                );
            }
        }
    }

    /// A permission has not come in time. Whether the pod waited for any.
    pub(super) fn permission_due(&mut self, pod: &Text, now: Time) -> bool {
        let Some(permitting) = self.permits.get(pod) else { return false };
        let due = permitting.waits.iter().find(|wait| wait.until <= now);
        if let Some(Wait { plugin, timeout, .. }) = due {
            let waited = config::Duration::from(*timeout);
            let reason =
                format!("rejected due to timeout after waiting {waited} at plugin {plugin}");
            let status = Status::unschedulable(reason).from_plugin(plugin);
            self.permission_refused(pod, status, now);
        }
        true
    }

    /// The pod is deleted while it waits.
    pub(super) fn removed_while_waiting(&mut self, pod: &Text, now: Time) {
        self.permission_refused(pod, Status::unschedulable("removed"), now);
    }

    /// A more important pod takes its node while it waits: to be tried again. Whether it waited.
    pub(super) fn preempted_while_waiting(&mut self, pod: &Text, now: Time) -> bool {
        let Some(Permitting { mut placed, attempt, since, .. }) = self.permits.remove(pod) else {
            return false;
        };
        self.waited_for_permission("Error", now - since);
        self.release(&mut placed, now);
        let status = Status::error("waiting on permit for pod: preempted");
        let trial = Trial { attempt, began: placed.began };
        self.went_wrong(trial, &placed.pod, &status, now);
        true
    }

    fn permission_refused(&mut self, pod: &Text, status: Status, now: Time) {
        let Some(Permitting { mut placed, attempt, since, .. }) = self.permits.remove(pod) else {
            return;
        };
        self.waited_for_permission(status.code().name(), now - since);
        let released = self.abandon(&mut placed, now);
        let trial = Trial { attempt, began: placed.began };
        self.not_let(trial, &placed.pod, &status, now);
        if let Some(released) = released {
            self.tell_released_to_others(&released, now);
        }
    }

    fn waited_for_permission(&mut self, status: &'static str, waited: Duration) {
        self.tell_observer(&Happening::PermitWaited { status, waited });
    }
}
