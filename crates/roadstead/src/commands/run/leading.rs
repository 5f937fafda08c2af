//! Who leads, as far as the rest of the program is concerned.

use std::time::{Duration, Instant};

use roadstead_cluster::kubernetes::election::{Leadership, Standing};
use roadstead_scheduler::config::LeaderElection;
use tokio::sync::watch::Sender;

use crate::driver::Orders;
use crate::serving::{Health, ProcessMetrics};

/// What probes are told of this process.
pub(super) fn health(elections: &LeaderElection) -> Health {
    if !elections.leader_elect {
        return Health::new();
    }
    let duration = elections.lease_duration.to_std().unwrap_or_default();
    Health::with_leader_election(&*elections.resource_name, duration)
}

/// Waits until this process leads.
pub(super) async fn wait(leadership: &Leadership) {
    let mut changes = leadership.changes();
    // It fails only if the election has ended, which `follow` tells.
    let _ = changes.wait_for(|standing| *standing != Standing::Standby).await;
}

/// Has pods scheduled while this process leads, and tells everybody. Ends when the lease is lost.
pub(super) async fn follow(
    leadership: &Leadership,
    elections: &LeaderElection,
    orders: &Sender<Orders>,
    health: &Health,
    process: &ProcessMetrics,
) {
    let name = &elections.resource_name;
    let mut changes = leadership.changes();
    let mut told = None;
    loop {
        let standing = *changes.borrow_and_update();
        if told != Some(standing) {
            told = Some(standing);
            let leads = standing == Standing::Leading;
            if elections.leader_elect {
                process.on_lease(name, leads);
                tracing::info!(lease = %name, "{}", words(standing));
            }
            match standing {
                Standing::Leading => drop(orders.send(Orders::Schedule)),
                Standing::Standby => drop(orders.send(Orders::Standby)),
                Standing::Lost => {
                    let _ = orders.send(Orders::Finish);
                    health.on_lease_lost();
                    return;
                }
            }
        }
        if elections.leader_elect {
            process.on_slow_renewals(name, leadership.slow_renewals());
        }
        if let Some(ago) = leadership.renewed_ago(Instant::now()) {
            health.on_lease_renewed(Instant::now().checked_sub(ago).unwrap_or_else(Instant::now));
        }
        tokio::select! {
            changed = changes.changed() => {
                if changed.is_err() {
                    return std::future::pending().await;
                }
            }
            () = tokio::time::sleep(BETWEEN_LOOKS) => {}
        }
    }
}

fn words(standing: Standing) -> &'static str {
    match standing {
        Standing::Leading => "this instance leads",
        Standing::Standby => "another instance leads, or none yet: standing by",
        Standing::Lost => "this instance leads no more",
    }
}

/// How often the time of the last renewal is looked at, for health checks.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
