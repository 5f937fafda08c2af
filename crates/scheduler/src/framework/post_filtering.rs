//! PostFilter: what can still be done for a pod that fits nowhere.

use std::sync::Arc;

use roadstead_model::Pod;

use super::{Code, Context, CycleState, Framework, Nomination, Preemption, status_name};
use crate::diagnosis::Diagnosis;

/// What PostFilter came to, all plugins together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostFiltered {
    /// What becomes of the pod's nomination.
    pub nomination: Nomination,
    /// Whom to evict, and where.
    pub preemption: Option<Preemption>,
    /// What PostFilter adds to the failure message; empty where it has found a way.
    pub message: String,
    /// Whether something went wrong, of which the message then speaks.
    pub is_error: bool,
}

impl PostFiltered {
    fn refused(nomination: Nomination, message: String) -> Self {
        Self { nomination, preemption: None, message, is_error: false }
    }

    /// What came of it, as metrics call it.
    pub(crate) fn status_name(&self) -> &'static str {
        match self {
            Self { is_error: true, .. } => Code::Error.name(),
            Self { message, .. } if message.is_empty() => "Success",
            _ => Code::Unschedulable.name(),
        }
    }

    /// The whole failure message of a pod that fits nowhere.
    #[must_use]
    pub fn failure(&self, diagnosis: &Diagnosis) -> String {
        let mut failure = diagnosis.message();
        if !self.message.is_empty() {
            failure.push(' ');
            failure.push_str(&self.message);
        }
        failure
    }
}

impl Framework {
    /// Asks the PostFilter plugins in order, until one has found a way, knows that there is
    /// none, or fails. Without any such plugin the pod's nomination ends.
    #[must_use]
    pub fn post_filter(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Arc<Pod>,
        diagnosis: &Diagnosis,
    ) -> PostFiltered {
        if self.post_filter.is_empty() {
            return PostFiltered::refused(Nomination::Clear, String::new());
        }
        let mut nomination = Nomination::Keep;
        let mut reasons: Vec<String> = Vec::new();
        for plugin in &self.post_filter {
            let began = state.begin();
            let answer = plugin.post_filter(self, context, state, pod, diagnosis);
            state.ran(began, "PostFilter", plugin.name(), || status_name(&answer.result));
            let wanted = answer.nomination;
            let Err(status) = answer.result else {
                let preemption = answer.preemption;
                return PostFiltered { preemption, ..PostFiltered::refused(wanted, String::new()) };
            };
            match status.code() {
                // What others said before is lost, and so is what they wanted.
                Code::Error => {
                    let failed = PostFiltered::refused(Nomination::Keep, status.message());
                    return PostFiltered { is_error: true, ..failed };
                }
                Code::UnschedulableAndUnresolvable => {
                    return PostFiltered::refused(wanted, status.message());
                }
                Code::Unschedulable | Code::Pending => {
                    if wanted != Nomination::Keep {
                        nomination = wanted;
                    }
                    reasons.extend(status.reasons().iter().map(ToString::to_string));
                }
            }
        }
        PostFiltered::refused(nomination, reasons.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::{Extensions, Joining, Plugin, PostFilter, PostFilterAnswer, Status};
    use crate::testing;
    use serde_json::json;

    /// Says always the same.
    struct Says(&'static str, PostFilterAnswer);

    impl Plugin for Says {
        fn name(&self) -> &'static str {
            self.0
        }
    }

    impl PostFilter for Says {
        fn post_filter(
            &self,
            _: &Framework,
            _: &Context<'_>,
            _: &CycleState,
            _: &Arc<Pod>,
            _: &Diagnosis,
        ) -> PostFilterAnswer {
            self.1.clone()
        }
    }

    fn says(nomination: Nomination, result: Result<(), Status>) -> Extensions {
        let answer = PostFilterAnswer { nomination, result, preemption: None };
        Joining::new(Says("Test", answer)).post_filter().done()
    }

    #[test]
    fn plugins_are_asked_until_one_knows_more() {
        use Nomination::{Clear, Keep};
        let no = |text: &'static str| Err(Status::unschedulable(text));
        let never = || Err(Status::unresolvable("never"));
        let broken = || Err(Status::error("broken"));
        #[rustfmt::skip]
        let rows = [
            ("no plugins",                  vec![],                                            Clear, ""),
            ("one that only talks",         vec![says(Keep, no("a"))],                         Keep,  "a"),
            ("words are joined",            vec![says(Keep, no("a")), says(Keep, no("b"))],    Keep,  "a, b"),
            ("the last wish counts",        vec![says(Keep, no("a")), says(Clear, no("b"))],   Clear, "a, b"),
            ("no wish is no wish",          vec![says(Clear, no("a")), says(Keep, no("b"))],   Clear, "a, b"),
            ("success ends it",             vec![says(Clear, no("a")), says(Keep, Ok(()))],    Keep,  ""),
            ("nobody is asked after it",    vec![says(Keep, Ok(())), says(Clear, broken())],   Keep,  ""),
            ("hopeless ends it",            vec![says(Keep, never()), says(Clear, no("b"))],   Keep,  "never"),
            ("an error ends it",            vec![says(Clear, broken()), says(Clear, no("b"))], Keep,  "broken"),
            ("an error drops what was said", vec![says(Clear, no("a")), says(Keep, broken())], Keep,  "broken"),
        ];
        for (words, plugins, nomination, message) in rows {
            let mut cluster = testing::nodes(json!([{}]));
            let pod = cluster.pod(json!({}));
            let framework = Framework::new(plugins.into_iter().map(|plugin| (plugin, 0)));
            let diagnosis = Diagnosis::one(Status::unschedulable("full"));
            let found =
                framework.post_filter(&cluster.context(), &CycleState::new(), &pod, &diagnosis);
            assert_eq!((found.nomination, &*found.message), (nomination, message), "{words}");
            assert_eq!(found.is_error, message == "broken", "{words}");
        }
    }
}
