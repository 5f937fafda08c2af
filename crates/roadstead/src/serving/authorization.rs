//! What a user may ask for.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use super::expiring::Expiring;
use super::options::ServingOptions;
use super::reviews::Reviews;
use super::user::User;

/// Asks the cluster whether a user may do something with a path, and remembers the answer.
pub(super) struct Authorization {
    always_allowed: Vec<String>,
    reviews: Option<Api<SubjectAccessReview>>,
    known: Expiring<Question, Decision>,
    allowed_for: Duration,
    denied_for: Duration,
    budget: Reviews,
}

/// The URL by which the cluster knows a path. Every cluster lets all its users get whatever is below
/// `/api`, so that they find its resources (the role `system:discovery`): what we have there would
/// be everybody's if it had no other name.
pub(super) fn non_resource_url(path: &str) -> Cow<'_, str> {
    match path == "/api" || path.starts_with("/api/") {
        true => format!("/roadstead{path}").into(),
        false => path.into(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    user: User,
    verb: String,
    path: String,
}

/// What the cluster says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Allowed,
    /// With the reason, which may be empty.
    Denied(String),
}

impl Authorization {
    pub(super) fn new(options: &ServingOptions, cluster: Option<Client>, budget: Reviews) -> Self {
        Self {
            always_allowed: options.authorization_always_allow_paths.clone(),
            reviews: cluster.map(Api::all),
            known: Expiring::new(),
            allowed_for: options.authorization_webhook_cache_authorized_ttl,
            denied_for: options.authorization_webhook_cache_unauthorized_ttl,
            budget,
        }
    }

    /// Nobody is asked about these: probes come without a name.
    pub(super) fn is_always_allowed(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        self.always_allowed.iter().map(|allowed| allowed.trim_start_matches('/')).any(|allowed| {
            match allowed.strip_suffix('*') {
                Some(prefix) => path.starts_with(prefix),
                None => path == allowed,
            }
        })
    }

    pub(super) async fn decide(
        &self,
        user: &User,
        verb: &str,
        path: &str,
    ) -> Result<Decision, String> {
        if user.is_master() {
            return Ok(Decision::Allowed);
        }
        let Some(reviews) = &self.reviews else { return Ok(Decision::Denied(String::new())) };
        let (user, verb, path) = (user.clone(), verb.to_owned(), path.to_owned());
        let question = Question { user, verb, path };
        if let Some(known) = self.known.get(&question, Instant::now()) {
            return Ok(known);
        }
        let parameters = PostParams::default();
        let review = question.review();
        let asked = self.budget.ask(reviews.create(&parameters, &review)).await?;
        let status = asked.status.unwrap_or_default();
        let (decision, good_for) = if status.allowed && status.denied != Some(true) {
            (Decision::Allowed, self.allowed_for)
        } else {
            (Decision::Denied(status.reason.unwrap_or_default()), self.denied_for)
        };
        self.known.put(question, decision.clone(), Instant::now(), good_for);
        Ok(decision)
    }
}

impl Question {
    fn review(&self) -> SubjectAccessReview {
        let User { name, uid, groups, extra } = self.user.clone();
        SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(name),
                uid: Some(uid).filter(|uid| !uid.is_empty()),
                groups: Some(groups),
                extra: Some(extra).filter(|extra| !extra.is_empty()),
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(self.path.clone()),
                    verb: Some(self.verb.clone()),
                }),
                resource_attributes: None,
            },
            ..SubjectAccessReview::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_is_not_among_what_clusters_show_to_everybody() {
        for (path, url) in [
            ("/api/v1/queue", "/roadstead/api/v1/queue"),
            ("/api", "/roadstead/api"),
            ("/", "/"),
            ("/assets/page.js", "/assets/page.js"),
            ("/metrics", "/metrics"),
        ] {
            assert_eq!(non_resource_url(path), url);
        }
    }
}
