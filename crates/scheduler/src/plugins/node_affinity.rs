//! Keeps a pod to the nodes that it selects, and prefers those that it would rather have.

mod explain;

use k8s_openapi::api::core::v1 as api;
use roadstead_model::{Labels, Node, NodeSelector, Pod, PreferredNodeTerms, Text, World};
use roadstead_queue::{Action, Ask, Hint, HintError};
use serde::Deserialize;
use serde_json::Value;

use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies};
use crate::framework::{
    Context, CycleState, Extensions, Feasible, Filter, Joining, Plugin, PreFilter, PreFilterAnswer,
    PreScore, PreScoreAnswer, Reach, Registration, Scaling, Score, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;
use crate::plugins::ArgumentError;

/// Keeps a pod to the nodes that its node selector and node affinity allow, and prefers those
/// that its affinity prefers. A profile may add an affinity that holds for every pod.
pub struct NodeAffinity {
    added_required: Option<NodeSelector>,
    added_preferred: Option<PreferredNodeTerms>,
}

impl NodeAffinity {
    /// The plugin with its points; its argument is `addedAffinity`.
    ///
    /// # Errors
    ///
    /// An affinity that cannot be read.
    pub fn extensions(arguments: &Value, world: &mut World) -> Result<Extensions, ArgumentError> {
        let added = added_affinity(arguments)?;
        let required = added.required_during_scheduling_ignored_during_execution;
        let preferred = added.preferred_during_scheduling_ignored_during_execution;
        let required = required.map(|selector| NodeSelector::from_api(&selector, world));
        let preferred = preferred
            .filter(|terms| !terms.is_empty())
            .map(|terms| PreferredNodeTerms::from_api(&terms, world));

        let errors = [
            (REQUIRED, required.as_ref().and_then(|selector| selector.error())),
            (PREFERRED, preferred.as_ref().and_then(|terms| terms.error.as_deref())),
        ];
        for (field, error) in errors {
            if let Some(message) = error {
                return Err(wrong(&format!("{ADDED}.{field}"), message));
            }
        }
        let plugin = Self { added_required: required, added_preferred: preferred };
        Ok(Joining::new(plugin).pre_filter().filter().pre_score().score().done())
    }

    /// Whether the profile lets any pod run there.
    fn admits(&self, node: &Node) -> bool {
        let matches = |added: &NodeSelector| added.matches(&node.labels, Some(&node.name));
        self.added_required.as_ref().is_none_or(matches)
    }
}

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }

    fn events(&self) -> Vec<Registration> {
        let new_labels = Action::ADD | events::UPDATE_NODE_LABEL;
        vec![Registration::new(events::NODE, new_labels, Ask::Class)]
    }

    /// A node helps if it fits now and did not before.
    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let (old, Some(new)) = events::nodes(event)? else { return Ok(Hint::Queue) };
        if !self.admits(new) || !selects(pod, new)? {
            return Ok(Hint::Skip);
        }
        let Some(old) = old else { return Ok(Hint::Queue) };
        // D6: upstream forgets the added affinity here, so a pod that it alone kept off the
        // node would sleep through the change that lets it in.
        let fitted = selects(pod, old)? && self.admits(old);
        Ok(if fitted { Hint::Skip } else { Hint::Queue })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        self.remedies(refusal)
    }
}

impl PreFilter for NodeAffinity {
    fn pre_filter(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        let spec = pod.spec();
        let Some(required) = &spec.required_node_affinity else {
            let is_free = self.added_required.is_none() && spec.node_selector.is_empty();
            return Ok(if is_free { PreFilterAnswer::Skip } else { PreFilterAnswer::AnyNode });
        };
        match required.node_names() {
            None => Ok(PreFilterAnswer::AnyNode),
            Some([]) => Err(Status::unresolvable(CONFLICT)),
            Some(names) => Ok(PreFilterAnswer::OnlyNodes(names.iter().cloned().collect())),
        }
    }
}

impl Filter for NodeAffinity {
    fn filter(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        if !self.admits(node.node()) {
            return Err(Status::unresolvable(NOT_ADMITTED));
        }
        // An affinity that cannot be read is one that does not match.
        if !selects(pod, node.node()).unwrap_or(false) {
            return Err(Status::unresolvable(NOT_SELECTED));
        }
        Ok(())
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }
}

impl PreScore for NodeAffinity {
    fn pre_score(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        pod: &Pod,
        _: &Feasible<'_>,
    ) -> Result<PreScoreAnswer, Status> {
        let preferred = &pod.spec().preferred_node_affinity;
        if let Some(error) = preferred.as_ref().and_then(|terms| terms.error.as_deref()) {
            return Err(Status::error(error.to_owned()));
        }
        let is_indifferent = preferred.is_none() && self.added_preferred.is_none();
        Ok(if is_indifferent { PreScoreAnswer::Skip } else { PreScoreAnswer::Proceed })
    }
}

impl Score for NodeAffinity {
    fn score(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let (labels, name): (&Labels, &Text) = (&node.node().labels, node.name());
        let terms = [&self.added_preferred, &pod.spec().preferred_node_affinity];
        Ok(terms.into_iter().flatten().map(|terms| terms.score(labels, name)).sum())
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }

    fn scaling(&self) -> Scaling {
        Scaling::ByHighest { reverse: false }
    }
}

/// Whether the pod itself may run there. `Err` if nothing matches and some term cannot be read:
/// then it might match, were it written rightly.
fn selects<'a>(pod: &'a Pod, node: &Node) -> Result<bool, &'a str> {
    let spec = pod.spec();
    if !spec.node_selector.is_subset_of(&node.labels) {
        return Ok(false);
    }
    let Some(required) = &spec.required_node_affinity else { return Ok(true) };
    if required.matches(&node.labels, Some(&node.name)) {
        return Ok(true);
    }
    required.error().map_or(Ok(false), Err)
}

const NOT_ADMITTED: &str = "node(s) didn't match scheduler-enforced node affinity";
const NOT_SELECTED: &str = "node(s) didn't match Pod's node affinity/selector";
const CONFLICT: &str = "pod affinity terms conflict";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Arguments {
    added_affinity: Value,
}

fn added_affinity(arguments: &Value) -> Result<api::NodeAffinity, ArgumentError> {
    let given = Option::<Arguments>::deserialize(arguments).map_err(|e| wrong("", e))?;
    let given = given.unwrap_or_default().added_affinity;
    let added = Option::<api::NodeAffinity>::deserialize(&given).map_err(|e| wrong(ADDED, e))?;
    let added = added.unwrap_or_default();
    // API types pass over fields that they do not know. Here a misspelt one would let pods go
    // where the profile means to keep them out.
    let understood = serde_json::to_value(&added).map_err(|e| wrong(ADDED, e))?;
    match unknown_field(&given, &understood, ADDED) {
        Some(path) => Err(wrong(&path, "unknown field")),
        None => Ok(added),
    }
}

/// The first field that was given, but not understood.
fn unknown_field(given: &Value, understood: &Value, path: &str) -> Option<String> {
    match (given, understood) {
        (Value::Object(given), Value::Object(understood)) => {
            given.iter().filter(|(_, value)| !value.is_null()).find_map(|(field, value)| {
                let path = format!("{path}.{field}");
                match understood.get(field) {
                    Some(understood) => unknown_field(value, understood, &path),
                    None => Some(path),
                }
            })
        }
        (Value::Array(given), Value::Array(understood)) => {
            let items = given.iter().zip(understood).enumerate();
            items.into_iter().find_map(|(i, (given, understood))| {
                unknown_field(given, understood, &format!("{path}[{i}]"))
            })
        }
        _ => None,
    }
}

fn wrong(path: &str, message: impl ToString) -> ArgumentError {
    ArgumentError { path: path.to_owned(), message: message.to_string() }
}

const ADDED: &str = "addedAffinity";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, FITS};
    use serde_json::json;

    const POD: &str =
        "UnschedulableAndUnresolvable: node(s) didn't match Pod's node affinity/selector";
    const PROFILE: &str =
        "UnschedulableAndUnresolvable: node(s) didn't match scheduler-enforced node affinity";
    const LEFT_OUT: &str =
        "UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [NodeAffinity]";
    const CONTRADICTION: &str = "UnschedulableAndUnresolvable: pod affinity terms conflict";

    /// One condition: key, operator and values, separated by blanks.
    fn condition(text: &str) -> Value {
        let mut words = text.split(' ');
        let (key, operator) = (words.next().unwrap(), words.next().unwrap());
        json!({"key": key, "operator": operator, "values": words.collect::<Vec<_>>()})
    }

    /// A term: its conditions, separated by commas; those on `metadata.name` are about fields.
    fn term(text: &str) -> Value {
        let parts = text.split(", ").filter(|part| !part.is_empty());
        let (fields, labels): (Vec<&str>, Vec<&str>) =
            parts.partition(|part| part.starts_with("metadata."));
        let conditions = |parts: Vec<&str>| parts.into_iter().map(condition).collect::<Vec<_>>();
        json!({"matchExpressions": conditions(labels), "matchFields": conditions(fields)})
    }

    fn required(terms: &[&str]) -> Value {
        let terms: Vec<Value> = terms.iter().map(|text| term(text)).collect();
        json!({REQUIRED: {"nodeSelectorTerms": terms}})
    }

    fn preferred(terms: &[(i32, &str)]) -> Value {
        let term =
            |(weight, text): &(i32, &str)| json!({"weight": weight, "preference": term(text)});
        json!({PREFERRED: terms.iter().map(term).collect::<Vec<_>>()})
    }

    fn affine(affinity: Value) -> Value {
        json!({"spec": {"containers": [], "affinity": {"nodeAffinity": affinity}}})
    }

    fn selecting(labels: Value) -> Value {
        json!({"spec": {"containers": [], "nodeSelector": labels}})
    }

    fn labelled(labels: Value) -> Value {
        json!({"metadata": {"labels": labels}})
    }

    #[test]
    fn a_pod_runs_where_it_selects() {
        let on_name = |value: &str| format!("metadata.name In {value}");
        let both = json!({"spec": {"containers": [], "nodeSelector": {"a": "c"},
            "affinity": {"nodeAffinity": required(&["a In b"])}}});
        let contradiction = on_name("node-1") + ", " + &on_name("node-2");
        let rows = [
            // node-1 has the label a=b, kernel=0206 and GPU=v
            ("nothing", json!({}), FITS),
            ("a label that it has", selecting(json!({"a": "b"})), FITS),
            ("a label that it lacks", selecting(json!({"x": "y"})), POD),
            ("another value", selecting(json!({"a": "c"})), POD),
            ("no terms", affine(required(&[])), POD),
            ("an empty term", affine(required(&[""])), POD),
            ("the second term", affine(required(&["a In c", "a In b"])), FITS),
            ("two conditions", affine(required(&["GPU Exists, GPU NotIn v"])), POD),
            ("a greater number", affine(required(&["kernel Gt 0204"])), FITS),
            ("a lesser number", affine(required(&["kernel Lt 0204"])), POD),
            ("a number that is none", affine(required(&["a Gt 1"])), POD),
            ("a number that is absent", affine(required(&["x Gt 1"])), POD),
            ("not a value, absent", affine(required(&["x NotIn y"])), FITS),
            ("affinity, but no selector", both, POD),
            ("an invalid value", affine(required(&["a In {{.bad}}"])), POD),
            ("an invalid term, a good one", affine(required(&["a In {{.bad}}", "a In b"])), FITS),
            ("its name", affine(required(&[&on_name("node-1")])), FITS),
            ("another name", affine(required(&[&on_name("node-2")])), LEFT_OUT),
            ("a name or a label", affine(required(&[&on_name("node-2"), "a In b"])), FITS),
            ("a name or another", affine(required(&[&on_name("x"), &on_name("node-1")])), FITS),
            ("two names at once", affine(required(&[&contradiction])), CONTRADICTION),
            ("that, or a name", affine(required(&[&contradiction, &on_name("x")])), LEFT_OUT),
            ("one entry, two names", affine(required(&[&on_name("node-1 x")])), POD),
        ];
        for (what, pod, expected) in rows {
            let node = labelled(json!({"a": "b", "kernel": "0206", "GPU": "v"}));
            let mut cluster = testing::nodes(json!([node]));
            let plugin = cluster.plugin(NodeAffinity::extensions, Value::Null);
            let pod = cluster.pod(pod);
            assert_eq!(cluster.filter(&plugin, &pod), [expected], "{what}");
        }
    }

    #[test]
    fn a_profile_may_ask_for_more() {
        let rows = [
            ("neither", required(&["a In c"]), affine(required(&["x In y"])), PROFILE),
            ("only the pod", required(&["a In c"]), json!({}), PROFILE),
            ("only the profile", required(&["a In b"]), affine(required(&["x In y"])), POD),
            ("both", required(&["a In b"]), affine(required(&["a Exists"])), FITS),
            ("a name, and the pod has none", required(&["metadata.name In x"]), json!({}), PROFILE),
        ];
        for (what, added, pod, expected) in rows {
            let mut cluster = testing::nodes(json!([labelled(json!({"a": "b"}))]));
            let plugin = cluster.plugin(NodeAffinity::extensions, json!({"addedAffinity": added}));
            let pod = cluster.pod(pod);
            assert_eq!(cluster.filter(&plugin, &pod), [expected], "{what}");
        }
    }

    #[test]
    fn preferences_add_up() {
        let words = "Error: running PreScore plugin \"NodeAffinity\": \
            [0].matchExpressions[0].key: Invalid value: \"-\": ";
        let three = preferred(&[(2, "t1 Exists"), (4, "t2 Exists"), (5, "t3 Exists")]);
        let rows = [
            ("nobody asks", json!(null), json!({}), Ok(None)),
            ("the pod", json!(null), affine(three.clone()), Ok(Some(vec![18, 100, 36]))),
            ("the profile", three.clone(), json!({}), Ok(Some(vec![18, 100, 36]))),
            ("both", preferred(&[(9, "t1 Exists")]), affine(three), Ok(Some(vec![55, 100, 20]))),
            (
                "one term twice",
                json!(null),
                affine(preferred(&[(1, "t3 Exists"), (1, "t2 Exists"), (1, "t2 Exists")])),
                Ok(Some(vec![0, 100, 66])),
            ),
            (
                "nothing in particular",
                json!(null),
                affine(preferred(&[(5, "")])),
                Ok(Some(vec![0; 3])),
            ),
            ("an empty list", preferred(&[]), affine(preferred(&[])), Ok(None)),
            (
                "no weight, invalid",
                json!(null),
                affine(preferred(&[(0, "- Exists")])),
                Ok(Some(vec![0; 3])),
            ),
            ("invalid", json!(null), affine(preferred(&[(2, "- Exists")])), Err(words.to_owned())),
        ];
        for (what, added, pod, expected) in rows {
            let mut cluster = testing::nodes(json!([
                labelled(json!({"t1": ""})),
                labelled(json!({"t1": "", "t2": "", "t3": ""})),
                labelled(json!({"t2": ""}))
            ]));
            let plugin = cluster.plugin(NodeAffinity::extensions, json!({"addedAffinity": added}));
            let pod = cluster.pod(pod);
            match (cluster.scores(&plugin, &pod), expected) {
                (Err(message), Err(start)) => assert!(message.starts_with(&start), "{message}"),
                (scores, expected) => assert_eq!(scores, expected, "{what}"),
            }
        }
    }

    #[test]
    fn a_node_helps_once_it_is_selected() {
        let (add, update) = (Action::ADD, events::UPDATE_NODE_LABEL);
        let null = Value::Null;
        let (good, bad) = (json!({"a": "b"}), json!({"a": "c"}));
        let (wants, added) = (required(&["a In b"]), required(&["a In b"]));
        let invalid = required(&["a In {{.bad}}"]);
        let rows = [
            // added affinity, the pod's, what happens, old and new labels
            ("a new one", &null, &wants, add, &null, &good, "Queue"),
            ("a new one that is not selected", &null, &wants, add, &null, &bad, "Skip"),
            ("it is now", &null, &wants, update, &bad, &good, "Queue"),
            ("it was before", &null, &wants, update, &good, &good, "Skip"),
            ("it is no more", &null, &wants, update, &good, &bad, "Skip"),
            ("it cannot be said", &null, &invalid, add, &null, &good, "Error"),
            ("the profile keeps pods off", &added, &invalid, add, &null, &bad, "Skip"),
            ("the profile lets it in", &added, &null, update, &bad, &good, "Queue"),
            ("the profile did before", &added, &null, update, &good, &good, "Skip"),
            ("other news", &null, &wants, events::UPDATE_NODE_CONDITION, &bad, &good, "deaf"),
        ];
        for (what, added, wants, action, old, new, expected) in rows {
            let node = |labels: &Value| match labels {
                Value::Null => Value::Null,
                labels => labelled(labels.clone()),
            };
            let mut cluster = testing::nodes(json!([]));
            let plugin = cluster.plugin(NodeAffinity::extensions, json!({"addedAffinity": added}));
            let pod = cluster.pod(affine(wants.clone()));
            let event = cluster.event(events::NODE, action, node(old), node(new));
            assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{what}");
        }
    }

    #[test]
    fn an_object_of_another_kind_is_an_error() {
        let mut cluster = testing::nodes(json!([]));
        let plugin = cluster.plugin(NodeAffinity::extensions, Value::Null);
        let pod = cluster.pod(json!({}));
        let event = testing::stranger(&mut cluster.world, events::NODE, Action::ADD);
        assert_eq!(cluster.hint(&plugin, &pod, &event), "Error");
    }

    #[test]
    fn arguments_that_cannot_be_read_are_named() {
        let misspelt = json!({"nodeSelectorTerms": [{"matchExpression": []}]});
        let rows = [
            (json!({"addedAfinity": {}}), "", "unknown field `addedAfinity`"),
            (json!({"addedAffinity": {"required": {}}}), "addedAffinity.required", "unknown field"),
            (
                json!({"addedAffinity": {REQUIRED: misspelt}}),
                "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution\
                 .nodeSelectorTerms[0].matchExpression",
                "unknown field",
            ),
            (json!({"addedAffinity": 3}), "addedAffinity", "invalid type"),
            (
                json!({"addedAffinity": required(&["- Exists"])}),
                "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                "nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: \"-\"",
            ),
            (
                json!({"addedAffinity": preferred(&[(1, "- Exists")])}),
                "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution",
                "[0].matchExpressions[0].key: Invalid value: \"-\"",
            ),
        ];
        for (arguments, path, message) in rows {
            let Err(error) = NodeAffinity::extensions(&arguments, &mut World::new()) else {
                panic!("{arguments} were taken")
            };
            assert_eq!(error.path, path, "{arguments}");
            assert!(error.message.starts_with(message), "{}", error.message);
        }
    }
}
