//! Evicting: deleting with the consent of the disruption budgets.

use std::sync::Arc;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use roadstead_queue::Time;

use super::binding::condition;
use super::deletion::DeleteOptions;
use super::store::is_ready;
use super::{Cluster, is_finished, phase_of};
use crate::{ApiError, Key, Kind, Resource};

impl Cluster {
    /// Deletes a pod if the disruption budgets allow it: `pods/eviction` of the API.
    ///
    /// # Errors
    /// [`ApiError::NotFound`]; [`ApiError::Conflict`] for another uid or version;
    /// [`ApiError::TooManyRequests`] if a budget is used up; [`ApiError::Unsupported`] if more than
    /// one covers the pod.
    pub fn evict(
        &mut self,
        now: Time,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<(), ApiError> {
        self.advance(now);
        self.settle();
        let key = Kind::Pod.key(namespace, name);
        let mut pod = self.pod_for(&key, options.uid.as_deref())?;
        let runs = !is_finished(&pod) && phase_of(&pod) != "Pending";
        if runs && pod.metadata.deletion_timestamp.is_none() {
            self.ask_budgets(&key, is_ready(&pod))?;
        }
        if runs {
            let status = Arc::make_mut(&mut pod).status.get_or_insert_default();
            let mut target = condition("DisruptionTarget", "True");
            target.reason = Some("EvictionByEvictionAPI".to_owned());
            target.message = Some("Eviction API: evicting".to_owned());
            self.set_condition(status, target);
            self.commit(pod.into());
        }
        self.delete(now, &key, options)
    }

    fn ask_budgets(&self, pod: &Key, is_ready: bool) -> Result<(), ApiError> {
        let mut covering = self.budgets.iter().filter(|(_, members)| members.contains(pod));
        let (Some((budget, _)), second) = (covering.next(), covering.next()) else { return Ok(()) };
        if second.is_some() {
            let reason = "This pod has more than one PodDisruptionBudget, which the eviction \
                          subresource does not support.";
            return Err(ApiError::Unsupported { key: pod.clone(), reason: reason.to_owned() });
        }
        let Some(budget) = self.store.get(budget).and_then(PodDisruptionBudget::of) else {
            return Ok(());
        };
        let status = budget.status.clone().unwrap_or_default();
        let [healthy, desired] =
            [status.current_healthy, status.desired_healthy].map(Option::unwrap_or_default);
        let always = budget.spec.as_ref().and_then(|s| s.unhealthy_pod_eviction_policy.as_deref())
            == Some("AlwaysAllow");
        // A pod that is not ready is no loss while enough others are.
        if !is_ready && (always || healthy >= desired && desired > 0) {
            return Ok(());
        }
        if status.disruptions_allowed.unwrap_or(0) > 0 {
            return Ok(());
        }
        let name = budget.metadata.name.as_deref().unwrap_or_default();
        let reason = format!(
            "The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        );
        Err(ApiError::TooManyRequests { key: pod.clone(), reason })
    }
}
