//! What kubelets say of the containers of a pod.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStatus,
    Pod,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;

/// All containers run; those that come first are done, unless they stay beside the others.
pub(super) fn report_start(pod: &mut Pod, now: &ApiTime) {
    let Some(spec) = &pod.spec else { return };
    let status = pod.status.get_or_insert_default();
    let first = spec.init_containers.iter().flatten().map(|container| {
        let stays = container.restart_policy.as_deref() == Some("Always");
        let state = if stays { running(now) } else { ended(now, now, 0) };
        report(container, state, stays)
    });
    status.init_container_statuses = Some(first.collect()).filter(|all: &Vec<_>| !all.is_empty());
    let all = spec.containers.iter().map(|container| report(container, running(now), true));
    status.container_statuses = Some(all.collect());
}

/// All containers have ended, with one code.
pub(super) fn report_end(pod: &mut Pod, now: &ApiTime, code: i32) {
    let Some(status) = &mut pod.status else { return };
    let first = status.init_container_statuses.iter_mut().flatten();
    for container in first.chain(status.container_statuses.iter_mut().flatten()) {
        let runs = container.state.as_ref().and_then(|state| state.running.as_ref());
        let Some(running) = runs else { continue };
        let started = running.started_at.clone().unwrap_or_else(|| now.clone());
        container.state = Some(ended(&started, now, code));
        container.ready = false;
        container.started = Some(false);
    }
}

fn report(container: &Container, state: ContainerState, runs: bool) -> ContainerStatus {
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        ready: true,
        started: Some(runs),
        state: Some(state),
        ..ContainerStatus::default()
    }
}

fn running(since: &ApiTime) -> ContainerState {
    let running = ContainerStateRunning { started_at: Some(since.clone()) };
    ContainerState { running: Some(running), ..ContainerState::default() }
}

fn ended(since: &ApiTime, now: &ApiTime, code: i32) -> ContainerState {
    let reason = if code == 0 { "Completed" } else { "Error" };
    let terminated = ContainerStateTerminated {
        exit_code: code,
        reason: Some(reason.to_owned()),
        started_at: Some(since.clone()),
        finished_at: Some(now.clone()),
        ..ContainerStateTerminated::default()
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}
