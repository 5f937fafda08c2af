//! The cases, in the order in which they run.

mod asking;
mod deletion;
mod deployed;
mod faults;
mod gates;
mod leadership;
mod placement;
mod plugins;
mod preemption;
mod priority_order;
mod profiles;
mod soak;
mod stopping;
mod texts;
mod volumes;

use std::time::Duration;

use futures::future::LocalBoxFuture;

use crate::failure::Outcome;
use crate::world::World;

/// One case.
pub(crate) struct Case {
    /// What to call it by.
    pub(crate) name: &'static str,
    /// What it checks.
    pub(crate) about: &'static str,
    /// Runs it; what it says is printed beside its time.
    pub(crate) run: for<'a> fn(&'a mut World) -> LocalBoxFuture<'a, Outcome<String>>,
    /// When it has failed at the latest.
    pub(crate) limit: Duration,
    /// Runs as long as it is told, and only when it is named.
    pub(crate) is_soak: bool,
}

macro_rules! case {
    ($name:literal, $run:path, $about:literal) => {
        Case {
            name: $name,
            about: $about,
            run: |world| Box::pin($run(world)),
            limit: Duration::from_secs(240),
            is_soak: false,
        }
    };
}

/// All of them.
pub(crate) const CASES: &[Case] = &[
    case!("placement", placement::run, "1,000 pods on 100 nodes, evenly"),
    case!("plugins", plugins::run, "every default plugin once, from e2e/manifests"),
    case!(
        "same-texts",
        texts::run,
        "conditions, Events and `kubectl describe` as of kube-scheduler"
    ),
    case!("gates", gates::run, "a gated pod waits until its last gate is gone"),
    case!("preemption", preemption::run, "victim told, preemptor nominated and bound there"),
    case!("priority-order", priority_order::run, "the urgent get the room, whoever came first"),
    case!("volumes", volumes::run, "volumes that wait for their first consumer"),
    case!("two-profiles", profiles::two, "two profiles of one configuration differ"),
    case!("other-schedulers", profiles::others, "pods of others are counted and left alone"),
    case!("deletion", deletion::run, "pods deleted while being scheduled leave nothing behind"),
    case!("stopping", stopping::run, "SIGTERM gives up the lease and ends with 0"),
    case!("deployed", deployed::run, "the manifests of deploy/ are taken, and allow enough"),
    case!("asking", asking::run, "`queue` and `explain` through the API server's proxy"),
    case!("scheduler-killed", faults::scheduler_killed, "kill -9 amid 5,000 pods, and a restart"),
    case!("api-server-stopped", faults::api_server_stopped, "no API server for 20 s"),
    case!("etcd-stopped", faults::etcd_stopped, "no etcd for 10 s"),
    case!("connections-cut", faults::connections_cut, "all connections cut again and again"),
    case!(
        "writes-refused",
        faults::writes_refused,
        "half of all writes get 409, 429, 500 or no answer"
    ),
    case!("leader-killed", leadership::killed, "the standby takes over from a killed leader"),
    case!("leader-frozen", leadership::frozen, "a leader wakes up after its lease has passed on"),
    Case {
        is_soak: true,
        ..case!("soak", soak::run, "churn for 20 minutes (--minutes N); only when it is named")
    },
];
