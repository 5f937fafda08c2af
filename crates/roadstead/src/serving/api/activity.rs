//! What goes on.

use axum::extract::State;
use axum::response::Response;
use roadstead_queue::Time;
use roadstead_scheduler::{ActivityDocument, Depths, HeldPods};

use super::parameters::Parameters;
use super::problem::Problem;
use super::{Api, ok};
use crate::observing::{self, Observed};

pub(super) async fn show(
    State(api): State<Api>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    parameters.allow(&[])?;
    Ok(ok(&api.stage.ask(document).await?))
}

pub(super) fn document(scheduler: &mut Observed, now: Time) -> ActivityDocument {
    let (counts, held) = (Depths::of(scheduler), HeldPods::of(scheduler));
    observing::activity_mut(scheduler).document(counts, held, now)
}
