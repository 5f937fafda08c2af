//! Rows of pods: what a pod's many states come to in one word.

use k8s_openapi::api::core::v1::{
    ContainerStateTerminated, ContainerStatus, Pod, PodSpec, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;
use serde_json::Value;

use super::cells::{Clock, none_if_empty};
use super::{AGE, Column, NAME, text, wide};

pub(super) const COLUMNS: &[Column] = &[
    NAME,
    text("Ready"),
    text("Status"),
    text("Restarts"),
    AGE,
    wide("IP"),
    wide("Node"),
    wide("Nominated Node"),
    wide("Readiness Gates"),
];

pub(super) fn cells(pod: &Pod, clock: Clock) -> Vec<Value> {
    let (none, idle) = (PodSpec::default(), PodStatus::default());
    let spec = pod.spec.as_ref().unwrap_or(&none);
    let status = pod.status.as_ref().unwrap_or(&idle);
    let seen = Seen::of(pod, spec, status);
    let total = spec.containers.len()
        + spec
            .init_containers
            .iter()
            .flatten()
            .filter(|c| is_sidecar(c.restart_policy.as_ref()))
            .count();
    let restarts = match seen.restarts.last {
        Some(last) if seen.restarts.count != 0 => {
            format!("{} ({} ago)", seen.restarts.count, clock.since(Some(last)))
        }
        _ => seen.restarts.count.to_string(),
    };
    let ip = status.pod_ips.iter().flatten().next().map(|ip| &*ip.ip);
    let or_none = |text: Option<&str>| none_if_empty(text.unwrap_or_default());
    [
        pod.metadata.name.clone().unwrap_or_default(),
        format!("{}/{total}", seen.ready),
        seen.reason,
        restarts,
        clock.age(&pod.metadata),
        or_none(ip),
        or_none(spec.node_name.as_deref()),
        or_none(status.nominated_node_name.as_deref()),
        gates(spec, status),
    ]
    .map(Value::from)
    .into()
}

fn gates(spec: &PodSpec, status: &PodStatus) -> String {
    let gates = spec.readiness_gates.as_deref().unwrap_or_default();
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| is_true(status, &gate.condition_type)).count();
    format!("{open}/{}", gates.len())
}

/// What the containers of a pod come to.
struct Seen<'a> {
    reason: String,
    ready: usize,
    restarts: Restarts<'a>,
}

#[derive(Default)]
struct Restarts<'a> {
    count: i32,
    last: Option<&'a ApiTime>,
}

impl<'a> Restarts<'a> {
    fn add(&mut self, container: &'a ContainerStatus) {
        self.count += container.restart_count;
        let ended = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
        let ended = ended.and_then(|ended| ended.finished_at.as_ref());
        self.last = self.last.max(ended);
    }
}

impl<'a> Seen<'a> {
    fn of(pod: &Pod, spec: &PodSpec, status: &'a PodStatus) -> Self {
        let phase = status.phase.as_deref().unwrap_or_default();
        let named = status.reason.as_deref().filter(|reason| !reason.is_empty());
        let mut seen = Self {
            reason: named.unwrap_or(phase).to_owned(),
            ready: 0,
            restarts: Restarts::default(),
        };
        let conditions = || status.conditions.iter().flatten();
        let is_gated = conditions()
            .any(|c| c.type_ == "PodScheduled" && c.reason.as_deref() == Some("SchedulingGated"));
        if is_gated {
            seen.reason = "SchedulingGated".to_owned();
        }
        let mut of_sidecars = Restarts::default();
        let initializing = seen.look_at_init(spec, status, &mut of_sidecars);
        if !initializing || is_true(status, "Initialized") {
            seen.restarts = of_sidecars;
            seen.look_at_containers(status);
        }
        let is_over = matches!(phase, "Succeeded" | "Failed");
        if pod.metadata.deletion_timestamp.is_some() {
            if named == Some("NodeLost") {
                seen.reason = "Unknown".to_owned();
            } else if !is_over {
                seen.reason = "Terminating".to_owned();
            }
        }
        seen
    }

    /// Whether an init container is still to be waited for.
    fn look_at_init(
        &mut self,
        spec: &PodSpec,
        status: &'a PodStatus,
        of_sidecars: &mut Restarts<'a>,
    ) -> bool {
        let containers = spec.init_containers.as_deref().unwrap_or_default();
        for (i, container) in status.init_container_statuses.iter().flatten().enumerate() {
            self.restarts.add(container);
            let its_spec = containers.iter().find(|c| c.name == container.name);
            let is_sidecar = its_spec.is_some_and(|c| is_sidecar(c.restart_policy.as_ref()));
            if is_sidecar {
                of_sidecars.add(container);
            }
            let state = container.state.clone().unwrap_or_default();
            let waits_for = state.waiting.as_ref().and_then(|waiting| waiting.reason.as_deref());
            self.reason = match (&state.terminated, waits_for) {
                (Some(ended), _) if ended.exit_code == 0 => continue,
                _ if is_sidecar && container.started == Some(true) => {
                    self.ready += usize::from(container.ready);
                    continue;
                }
                (Some(ended), _) => format!("Init:{}", end_of(ended)),
                (None, Some(reason)) if !matches!(reason, "" | "PodInitializing") => {
                    format!("Init:{reason}")
                }
                _ => format!("Init:{i}/{}", containers.len()),
            };
            return true;
        }
        false
    }

    fn look_at_containers(&mut self, status: &'a PodStatus) {
        let (mut runs, mut failed) = (false, None);
        for container in status.container_statuses.iter().flatten().rev() {
            self.restarts.add(container);
            let Some(state) = &container.state else { continue };
            let waits_for = state.waiting.as_ref().and_then(|waiting| waiting.reason.as_deref());
            match (waits_for.filter(|reason| !reason.is_empty()), &state.terminated) {
                (Some(reason), _) => reason.clone_into(&mut self.reason),
                (None, Some(ended)) => {
                    self.reason = end_of(ended);
                    if ended.exit_code != 0 {
                        failed = Some(self.reason.clone());
                    }
                }
                (None, None) if container.ready && state.running.is_some() => {
                    runs = true;
                    self.ready += 1;
                }
                _ => {}
            }
        }
        if self.reason == "Completed" {
            // One that still runs counts for more than one that is done.
            if runs && is_true(status, "Ready") {
                self.reason = "Running".to_owned();
            } else if let Some(failed) = failed {
                self.reason = failed;
            } else if runs {
                self.reason = "NotReady".to_owned();
            }
        }
    }
}

fn end_of(ended: &ContainerStateTerminated) -> String {
    match (ended.reason.as_deref().unwrap_or_default(), ended.signal.unwrap_or(0)) {
        ("", 0) => format!("ExitCode:{}", ended.exit_code),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_true(status: &PodStatus, condition: &str) -> bool {
    let conditions = status.conditions.iter().flatten();
    conditions.into_iter().any(|c| c.type_ == condition && c.status == "True")
}

/// An init container that goes on beside the others.
fn is_sidecar(restart_policy: Option<&String>) -> bool {
    restart_policy.is_some_and(|policy| policy == "Always")
}
