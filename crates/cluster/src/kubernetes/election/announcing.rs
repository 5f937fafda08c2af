//! Events of who leads, about the lease: what `kubectl describe lease` shows.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};

/// Who records Events of an election.
#[derive(Clone)]
pub(super) struct Announcer {
    pub(super) client: Client,
    /// The scheduler that reports, as kube-scheduler the name of its first profile.
    pub(super) reporter: String,
    pub(super) identity: String,
}

impl Announcer {
    /// Records that we became leader, or stopped leading. Nobody waits long for it, and nothing
    /// depends on it: it is sent once.
    pub(super) async fn announce(self, lease: Lease, what: &'static str) {
        let event = self.event(&lease, what);
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let events: Api<Event> = Api::namespaced(self.client, &namespace);
        let parameters = PostParams::default();
        match tokio::time::timeout(PATIENCE, events.create(&parameters, &event)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "an event was not recorded: {what}"),
            Err(_) => tracing::warn!("an event was not recorded in time: {what}"),
        }
    }

    fn event(&self, lease: &Lease, what: &str) -> Event {
        let about = &lease.metadata;
        let name = about.name.clone().unwrap_or_default();
        let now = Timestamp::now();
        let host = super::hostname();
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                namespace: about.namespace.clone(),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(now)),
            action: Some(REASON.to_owned()),
            reason: Some(REASON.to_owned()),
            type_: Some("Normal".to_owned()),
            note: Some(format!("{} {what}", self.identity)),
            regarding: Some(ObjectReference {
                api_version: Some("coordination.k8s.io/v1".to_owned()),
                kind: Some("Lease".to_owned()),
                name: Some(name),
                namespace: about.namespace.clone(),
                uid: about.uid.clone(),
                resource_version: about.resource_version.clone(),
                ..ObjectReference::default()
            }),
            reporting_controller: Some(self.reporter.clone()),
            reporting_instance: Some(format!("{}-{host}", self.reporter)),
            ..Event::default()
        }
    }
}

const REASON: &str = "LeaderElection";
const PATIENCE: Duration = Duration::from_secs(2);
