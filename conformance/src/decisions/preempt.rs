//! Who must go.

use std::collections::BTreeMap;
use std::sync::Arc;

use roadstead_model::Pod;
use roadstead_scheduler::framework::{CycleState, Framework, Nomination};
use roadstead_scheduler::plugins::DefaultPreemption;

use super::Verdict;
use super::case::{Cost, Preempt, PreemptOutcome};
use super::report::{Mismatch, compare};
use super::scene::Scene;

pub(super) fn replay(case: &Preempt) -> Result<Verdict, String> {
    let mut scene = Scene::new(&case.cluster, &case.pod).map_err(|error| error.to_string())?;
    let framework = match scene.framework(&case.args) {
        Ok(framework) => framework,
        Err(error) => {
            return Ok(Verdict::Different(Mismatch::new(NAME, "args", "accepted", error)));
        }
    };
    let compared = outcome(&framework, &scene).and_then(|got| compare_outcomes(&case.expect, &got));
    Ok(compared.into())
}

fn outcome(framework: &Framework, scene: &Scene) -> Result<PreemptOutcome, Mismatch> {
    let (context, mut state, pod) = (scene.context(), CycleState::new(), &scene.pod);
    let failed = |got: String| Mismatch::new("", "failure", "no node fits", got);
    let found = framework
        .candidates(&context, &mut state, pod)
        .map_err(|status| failed(format!("an error: {status}")))?;
    if let Some(node) = found.feasible.first() {
        return Err(failed(format!("{} fits", node.name())));
    }
    let diagnosis = found.diagnosis;
    let plugin = framework.get::<DefaultPreemption>();
    let plugin = plugin.ok_or_else(|| failed(format!("no {NAME} to ask")))?;
    let answer = framework.post_filter(&context, &state, pod, &diagnosis);

    // What the other PostFilter plugins say is not part of the plugin's own message.
    let message = answer.message.find("preemption: ").map(|at| &answer.message[at..]);
    let mut outcome = PreemptOutcome {
        message: message.unwrap_or_default().to_owned(),
        failure: answer.failure(&diagnosis),
        ..PreemptOutcome::default()
    };
    outcome.nomination = match answer.nomination {
        Nomination::Keep => "keep".into(),
        Nomination::Clear => "clear".into(),
        Nomination::Set(node) => {
            outcome.node = node.to_string();
            "set".into()
        }
    };
    if let Some(preemption) = answer.preemption {
        outcome.victims = names(&preemption.victims);
        outcome.unnominate = names(&preemption.unnominate);
        let candidates = plugin.candidates(framework, &context, &state, pod, &diagnosis);
        outcome.candidates = candidates
            .into_iter()
            .map(|candidate| {
                let victims = names(&candidate.victims);
                let cost = Cost { victims, pdb_violations: candidate.pdb_violations };
                (candidate.node.to_string(), cost)
            })
            .collect();
    }
    Ok(outcome)
}

fn compare_outcomes(expected: &PreemptOutcome, got: &PreemptOutcome) -> Result<(), Mismatch> {
    let nodes: BTreeMap<_, _> = expected.candidates.iter().chain(&got.candidates).collect();
    for node in nodes.into_keys() {
        let field = format!("candidates.{node}");
        compare(NAME, field, &expected.candidates.get(node), &got.candidates.get(node))?;
    }
    compare(NAME, "node", &expected.node, &got.node)?;
    compare(NAME, "victims", &expected.victims, &got.victims)?;
    compare(NAME, "nomination", &expected.nomination, &got.nomination)?;
    compare(NAME, "unnominate", &expected.unnominate, &got.unnominate)?;
    compare(NAME, "message", &expected.message, &got.message)?;
    compare(NAME, "failure", &expected.failure, &got.failure)
}

fn names(pods: &[Arc<Pod>]) -> Vec<String> {
    let mut names: Vec<String> =
        pods.iter().map(|pod| format!("{}/{}", pod.namespace(), pod.name)).collect();
    names.sort_unstable();
    names
}

const NAME: &str = "DefaultPreemption";

/// All that filter take part in a dry run, also where an outcome does not name them.
pub(super) const PLUGINS: [&str; 15] = [
    NAME,
    "DynamicResources",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeDeclaredFeatures",
    "NodeName",
    "NodePorts",
    "NodeResourcesFit",
    "NodeUnschedulable",
    "NodeVolumeLimits",
    "PodTopologySpread",
    "TaintToleration",
    "VolumeBinding",
    "VolumeRestrictions",
    "VolumeZone",
];
