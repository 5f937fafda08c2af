//! Plugin arguments: read strictly, completed and checked, as far as that is done with the file.

use k8s_openapi::api::core::v1 as api;
use roadstead_model::{NodeSelector, World};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::known::Gates;
use crate::document::{Duration, Node, Problems, decode};

/// The arguments of one of kube-scheduler's own plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    DefaultPreemption,
    DynamicResources,
    InterPodAffinity,
    NodeAffinity,
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
    PodTopologySpread,
    VolumeBinding,
}

impl Kind {
    /// Reads the arguments at `path`, fills in what they leave out and checks them. What comes
    /// back is what a plugin's constructor is given.
    pub(super) fn read(self, node: &Node, path: &str, gates: &Gates, problems: &Problems) -> Value {
        let to = Context { path, gates, problems };
        match self {
            Self::DefaultPreemption => to.read::<DefaultPreemptionArgs>(node),
            Self::DynamicResources => to.read::<DynamicResourcesArgs>(node),
            Self::InterPodAffinity => to.read::<InterPodAffinityArgs>(node),
            Self::NodeAffinity => to.read::<NodeAffinityArgs>(node),
            Self::NodeResourcesBalancedAllocation => {
                to.read::<NodeResourcesBalancedAllocationArgs>(node)
            }
            Self::NodeResourcesFit => to.read::<NodeResourcesFitArgs>(node),
            Self::PodTopologySpread => to.read::<PodTopologySpreadArgs>(node),
            Self::VolumeBinding => to.read::<VolumeBindingArgs>(node),
        }
    }
}

/// Arguments of one kind.
trait Arguments: DeserializeOwned + Default + Serialize {
    /// Fills in what depends on more than the field itself.
    fn complete(&mut self, _: &Gates) {}

    fn check(&self, to: &Context<'_>);
}

/// Where arguments stand, and where to say what is wrong with them.
struct Context<'a> {
    path: &'a str,
    gates: &'a Gates,
    problems: &'a Problems,
}

impl Context<'_> {
    fn read<A: Arguments>(&self, node: &Node) -> Value {
        let mut arguments: A = decode(node, self.path, self.problems);
        arguments.complete(self.gates);
        arguments.check(self);
        serde_json::to_value(arguments).expect("arguments are plain data")
    }

    fn field(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    fn check_range(&self, name: &str, value: i32, range: std::ops::RangeInclusive<i32>) {
        if !range.contains(&value) {
            let (least, most) = (range.start(), range.end());
            let detail = format!("not in valid range [{least}, {most}]");
            self.problems.invalid(&self.field(name), value, detail);
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DefaultPreemptionArgs {
    min_candidate_nodes_percentage: i32,
    min_candidate_nodes_absolute: i32,
}

impl Default for DefaultPreemptionArgs {
    fn default() -> Self {
        Self { min_candidate_nodes_percentage: 10, min_candidate_nodes_absolute: 100 }
    }
}

impl Arguments for DefaultPreemptionArgs {
    fn check(&self, to: &Context<'_>) {
        const PERCENTAGE: &str = "minCandidateNodesPercentage";
        const ABSOLUTE: &str = "minCandidateNodesAbsolute";
        to.check_range(PERCENTAGE, self.min_candidate_nodes_percentage, 0..=100);
        let absolute = self.min_candidate_nodes_absolute;
        if absolute < 0 {
            to.problems.invalid(&to.field(ABSOLUTE), absolute, "not in valid range [0, inf)");
        }
        if self.min_candidate_nodes_percentage == 0 && absolute == 0 {
            for (one, other) in [(PERCENTAGE, ABSOLUTE), (ABSOLUTE, PERCENTAGE)] {
                let detail = format!("cannot be zero at the same time as {other}");
                to.problems.invalid(&to.field(one), 0, detail);
            }
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DynamicResourcesArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    filter_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binding_timeout: Option<Duration>,
}

fn has_binding_timeout(gates: &Gates) -> bool {
    gates.dra_device_binding_conditions && gates.dra_resource_claim_device_status
}

impl Arguments for DynamicResourcesArgs {
    fn complete(&mut self, gates: &Gates) {
        if gates.dra_scheduler_filter_timeout {
            self.filter_timeout.get_or_insert(Duration::from_seconds(10));
        }
        if has_binding_timeout(gates) {
            self.binding_timeout.get_or_insert(Duration::from_seconds(600));
        }
    }

    fn check(&self, to: &Context<'_>) {
        if let Some(timeout) = self.filter_timeout {
            let path = to.field("filterTimeout");
            if !to.gates.dra_scheduler_filter_timeout {
                // The name of the gate is misspelt upstream.
                let detail = "DRASchedulingFilterTimeout feature gate is disabled";
                to.problems.at(&path, format!("Forbidden: {detail}"));
            } else if timeout < Duration::ZERO {
                to.problems.invalid(&path, timeout, "must be zero or positive");
            }
        }
        if let Some(timeout) = self.binding_timeout {
            let path = to.field("bindingTimeout");
            if !has_binding_timeout(to.gates) {
                let detail = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled";
                to.problems.at(&path, format!("Forbidden: {detail}"));
            } else if timeout < Duration::from_seconds(1) {
                to.problems.invalid(&path, timeout, "must be at least 1 second");
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct InterPodAffinityArgs {
    hard_pod_affinity_weight: i32,
    ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodAffinityArgs {
    fn default() -> Self {
        Self { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

impl Arguments for InterPodAffinityArgs {
    fn check(&self, to: &Context<'_>) {
        to.check_range("hardPodAffinityWeight", self.hard_pod_affinity_weight, 0..=100);
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeAffinityArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    added_affinity: Option<api::NodeAffinity>,
}

impl Arguments for NodeAffinityArgs {
    fn check(&self, to: &Context<'_>) {
        let Some(affinity) = &self.added_affinity else { return };
        let path = to.field("addedAffinity");
        if let Some(required) = &affinity.required_during_scheduling_ignored_during_execution {
            let path = format!("{path}.requiredDuringSchedulingIgnoredDuringExecution");
            for (i, term) in required.node_selector_terms.iter().enumerate() {
                check_term(term, &format!("{path}.nodeSelectorTerms[{i}]"), to.problems);
            }
        }
        let preferred = affinity.preferred_during_scheduling_ignored_during_execution.iter();
        for (i, term) in preferred.flatten().enumerate().filter(|(_, term)| term.weight != 0) {
            let path =
                format!("{path}.preferredDuringSchedulingIgnoredDuringExecution[{i}].preference");
            check_term(&term.preference, &path, to.problems);
        }
    }
}

/// Lets the model, which knows the rules of node selectors, refuse each requirement by itself.
fn check_term(term: &api::NodeSelectorTerm, path: &str, problems: &Problems) {
    let check = |path: String, term: api::NodeSelectorTerm| {
        for error in term_errors(term) {
            // `matchExpressions[0].key: Invalid value: …`, of which the first part is not ours.
            let (field, reason) = error
                .split_once("]")
                .map_or(("", &*error), |(_, rest)| rest.split_once(": ").unwrap_or(("", rest)));
            problems.at(&format!("{path}{field}"), reason);
        }
    };
    for (i, expression) in term.match_expressions.iter().flatten().enumerate() {
        let match_expressions = Some(vec![expression.clone()]);
        let alone = api::NodeSelectorTerm { match_expressions, match_fields: None };
        check(format!("{path}.matchExpressions[{i}]"), alone);
    }
    for (i, field) in term.match_fields.iter().flatten().enumerate() {
        let match_fields = Some(vec![field.clone()]);
        let alone = api::NodeSelectorTerm { match_expressions: None, match_fields };
        check(format!("{path}.matchFields[{i}]"), alone);
    }
}

/// What is wrong with a term, each with its path from the term.
fn term_errors(term: api::NodeSelectorTerm) -> Vec<String> {
    const PREFIX: &str = "nodeSelectorTerms[0].";
    let selector = api::NodeSelector { node_selector_terms: vec![term] };
    let selector = NodeSelector::from_api(&selector, &mut World::new());
    let Some(errors) = selector.error() else { return Vec::new() };
    // Several come as `[a, b]`.
    let errors = match errors.strip_prefix('[').and_then(|errors| errors.strip_suffix(']')) {
        Some(several) if several.starts_with(PREFIX) => several,
        _ => errors,
    };
    let errors = errors.strip_prefix(PREFIX).unwrap_or(errors);
    errors.split(&format!(", {PREFIX}")).map(str::to_owned).collect()
}

/// What is wrong with a label name, in the API's words. The model has the rules, and shows them
/// only through a selector.
pub(super) fn label_name_errors(name: &str) -> Vec<String> {
    let key = api::NodeSelectorRequirement {
        key: name.to_owned(),
        operator: "Exists".to_owned(),
        values: None,
    };
    let term = api::NodeSelectorTerm { match_expressions: Some(vec![key]), match_fields: None };
    let prefix = format!("matchExpressions[0].key: Invalid value: {name:?}: ");
    let errors = term_errors(term);
    let reasons = errors.iter().filter_map(|error| error.strip_prefix(&prefix));
    reasons.flat_map(|reasons| reasons.split("; ")).map(str::to_owned).collect()
}

#[derive(Clone, Serialize, Deserialize)]
struct Resource {
    #[serde(default)]
    name: String,
    #[serde(default)]
    weight: i64,
}

/// None are cpu and memory; a weight of 0 is 1.
fn complete_resources(resources: &mut Vec<Resource>) {
    if resources.is_empty() {
        let default = |name: &str| Resource { name: name.to_owned(), weight: 1 };
        resources.extend(["cpu", "memory"].map(default));
    }
    for resource in resources.iter_mut().filter(|resource| resource.weight == 0) {
        resource.weight = 1;
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct NodeResourcesBalancedAllocationArgs {
    resources: Vec<Resource>,
}

impl Arguments for NodeResourcesBalancedAllocationArgs {
    fn complete(&mut self, _: &Gates) {
        complete_resources(&mut self.resources);
    }

    fn check(&self, to: &Context<'_>) {
        for (i, resource) in self.resources.iter().enumerate() {
            let path = to.field(&format!("resources[{i}]"));
            if self.resources[..i].iter().any(|earlier| earlier.name == resource.name) {
                to.problems
                    .at(&format!("{path}.name"), format!("Duplicate value: {:?}", resource.name));
            }
            if resource.weight != 1 {
                to.problems.invalid(&format!("{path}.weight"), resource.weight, "must be 1");
            }
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeResourcesFitArgs {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored_resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored_resource_groups: Vec<String>,
    scoring_strategy: Option<ScoringStrategy>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ScoringStrategy {
    #[serde(rename = "type")]
    kind: String,
    resources: Vec<Resource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_to_capacity_ratio: Option<RequestedToCapacityRatio>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct RequestedToCapacityRatio {
    shape: Vec<ShapePoint>,
}

impl Arguments for NodeResourcesFitArgs {
    fn complete(&mut self, _: &Gates) {
        let default =
            || ScoringStrategy { kind: "LeastAllocated".to_owned(), ..ScoringStrategy::default() };
        let strategy = self.scoring_strategy.get_or_insert_with(default);
        complete_resources(&mut strategy.resources);
    }

    /// The values are checked only when the plugin is built: upstream has listed the check under
    /// a name that no plugin has.
    fn check(&self, _: &Context<'_>) {}
}

#[derive(Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodTopologySpreadArgs {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    default_constraints: Vec<api::TopologySpreadConstraint>,
    defaulting_type: String,
}

impl Default for PodTopologySpreadArgs {
    fn default() -> Self {
        Self { default_constraints: Vec::new(), defaulting_type: SYSTEM.to_owned() }
    }
}

const SYSTEM: &str = "System";

impl Arguments for PodTopologySpreadArgs {
    fn complete(&mut self, _: &Gates) {
        if self.defaulting_type.is_empty() {
            SYSTEM.clone_into(&mut self.defaulting_type);
        }
    }

    fn check(&self, to: &Context<'_>) {
        let (kind, path) = (&*self.defaulting_type, to.field("defaultingType"));
        match kind {
            SYSTEM if !self.default_constraints.is_empty() => to.problems.invalid(
                &path,
                format_args!("{kind:?}"),
                "when .defaultConstraints are not empty",
            ),
            SYSTEM | "List" => {}
            _ => to.problems.unsupported(&path, kind, &[SYSTEM, "List"]),
        }
        for (i, constraint) in self.default_constraints.iter().enumerate() {
            let path = to.field(&format!("defaultConstraints[{i}]"));
            check_constraint(constraint, &path, to.problems);
            let (key, action) = (&constraint.topology_key, &constraint.when_unsatisfiable);
            let is_same = |other: &api::TopologySpreadConstraint| {
                other.topology_key == *key && other.when_unsatisfiable == *action
            };
            if self.default_constraints[..i].iter().any(is_same) {
                to.problems.at(&path, format!("Duplicate value: \"{{{key}, {action}}}\""));
            }
        }
    }
}

fn check_constraint(constraint: &api::TopologySpreadConstraint, path: &str, problems: &Problems) {
    if constraint.max_skew <= 0 {
        let path = format!("{path}.maxSkew");
        problems.invalid(&path, constraint.max_skew, "not in valid range (0, inf)");
    }
    let (key, key_path) = (&constraint.topology_key, format!("{path}.topologyKey"));
    if key.is_empty() {
        problems.required(&key_path, "can not be empty");
    } else {
        for error in label_name_errors(key) {
            problems.invalid(&key_path, format_args!("{key:?}"), error);
        }
    }
    let action_path = format!("{path}.whenUnsatisfiable");
    match &*constraint.when_unsatisfiable {
        "" => problems.required(&action_path, "can not be empty"),
        "DoNotSchedule" | "ScheduleAnyway" => {}
        other => problems.unsupported(&action_path, other, &["DoNotSchedule", "ScheduleAnyway"]),
    }
    if constraint.label_selector.is_some() {
        let detail = "constraint must not define a selector, as they deduced for each pod";
        problems.at(&format!("{path}.labelSelector"), format!("Forbidden: {detail}"));
    }
}

#[derive(Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct VolumeBindingArgs {
    bind_timeout_seconds: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<ShapePoint>>,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
struct ShapePoint {
    utilization: i32,
    score: i32,
}

impl Default for VolumeBindingArgs {
    fn default() -> Self {
        Self { bind_timeout_seconds: 600, shape: None }
    }
}

impl Arguments for VolumeBindingArgs {
    fn complete(&mut self, gates: &Gates) {
        let is_empty = self.shape.as_ref().is_none_or(Vec::is_empty);
        if gates.storage_capacity_scoring && is_empty {
            let point = |utilization, score| ShapePoint { utilization, score };
            self.shape = Some(vec![point(0, 10), point(100, 0)]);
        }
    }

    fn check(&self, to: &Context<'_>) {
        let timeout = self.bind_timeout_seconds;
        if timeout < 0 {
            let detail = "invalid BindTimeoutSeconds, should not be a negative value";
            to.problems.invalid(&to.field("bindTimeoutSeconds"), timeout, detail);
        }
        let path = to.field("shape");
        match &self.shape {
            Some(shape) if to.gates.storage_capacity_scoring => {
                check_shape(shape, &path, to.problems);
            }
            Some(shape) => to.problems.invalid(
                &path,
                json!(shape),
                "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
            ),
            None => {}
        }
    }
}

fn check_shape(shape: &[ShapePoint], path: &str, problems: &Problems) {
    let is_unsorted = |i: &usize| shape[i - 1].utilization >= shape[*i].utilization;
    if let Some(i) = (1..shape.len()).find(is_unsorted) {
        let path = format!("{path}[{i}].utilization");
        let detail = "values must be sorted in increasing order";
        problems.invalid(&path, shape[i].utilization, detail);
    }
    for (i, point) in shape.iter().enumerate() {
        let fields = [("utilization", point.utilization, 100), ("score", point.score, 10)];
        for (name, value, most) in fields {
            if !(0..=most).contains(&value) {
                let detail = format!("not in valid range [0, {most}]");
                problems.invalid(&format!("{path}[{i}].{name}"), value, detail);
            }
        }
    }
}
