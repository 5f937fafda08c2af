//! Filter and score.

use roadstead_scheduler::framework::{CycleState, Framework};
use roadstead_scheduler::{Diagnosis, NodeInfo};

use super::case::Place;
use super::outcome::{Outcome, Refusal};
use super::report::Mismatch;
use super::scene::Scene;
use super::{Selection, Verdict};

pub(super) fn replay(case: &Place, selection: &Selection) -> Result<Verdict, String> {
    let mut scene = Scene::new(&case.cluster, &case.pod).map_err(|error| error.to_string())?;
    let framework = match &selection.only {
        Some(plugin) => scene.framework_of(plugin, &case.args),
        None => scene.framework(&case.args),
    };
    let framework = match framework {
        Ok(framework) => framework,
        Err(error) => {
            return Ok(Verdict::Different(Mismatch::new("", "args", "accepted", error)));
        }
    };
    let compared = match &selection.only {
        Some(plugin) => {
            // The plugin's scores depend on the nodes that it is asked about, and others have
            // a say in those.
            // Not the scored ones: where scoring failed there are none.
            let fits = |node: &&NodeInfo| {
                matches!(case.expect.filter.get(node.name().as_str()), Some(None))
            };
            let got = outcome(&framework, &scene, Some(scene.nodes.iter().filter(fits).collect()));
            case.expect.compare_part(&got, plugin)
        }
        None => case.expect.compare(&outcome(&framework, &scene, None)),
    };
    Ok(compared.into())
}

/// What the framework says; these nodes are scored, or those that it finds fit.
fn outcome(framework: &Framework, scene: &Scene, scored: Option<Vec<&NodeInfo>>) -> Outcome {
    let context = scene.context();
    let mut state = CycleState::new();
    let mut outcome = Outcome::default();
    let candidates = match framework.candidates(&context, &mut state, &scene.pod) {
        Ok(candidates) => candidates,
        Err(status) => return Outcome { message: Some(status.message()), ..outcome },
    };
    let diagnosis = candidates.diagnosis;
    match diagnosis.pre_filter_status() {
        Some(status) => outcome.pre_filter = Some(status.into()),
        None => note_filters(&mut outcome, scene, &candidates.feasible, &diagnosis),
    }
    let scored = scored.unwrap_or_else(|| candidates.feasible.clone());
    if candidates.feasible.is_empty() {
        outcome.message = Some(diagnosis.message());
        let rejectors = diagnosis.rejectors().iter().map(|&name| name.to_owned());
        outcome.rejected_by = Some(rejectors.collect());
    }
    if scored.is_empty() {
        return outcome;
    }
    match framework.score(&context, &mut state, &scene.pod, &scored) {
        Ok(scores) => {
            for (node, scores) in scored.iter().zip(scores) {
                let by_plugin = scores.plugins.into_iter().filter(|(name, _)| *name != NO_SCORE);
                let by_plugin = by_plugin.map(|(name, score)| (name.to_owned(), score)).collect();
                outcome.scores.insert(node.name().to_string(), by_plugin);
                outcome.totals.insert(node.name().to_string(), scores.total);
            }
        }
        Err(status) => outcome.message = Some(status.message()),
    }
    outcome
}

fn note_filters(
    outcome: &mut Outcome,
    scene: &Scene,
    feasible: &[&NodeInfo],
    diagnosis: &Diagnosis,
) {
    for node in scene.nodes.iter() {
        let fits = feasible.iter().any(|known| known.name() == node.name());
        let refusal = (!fits).then(|| Refusal::from(diagnosis.status(node)));
        outcome.filter.insert(node.name().to_string(), refusal);
    }
}

/// Its score, always 0, is not in the record.
const NO_SCORE: &str = "DynamicResources";
