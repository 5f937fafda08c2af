//! Keeps pods off nodes with taints that they do not tolerate, hard or soft.

use roadstead_model::{Node, Pod, Taint, TaintEffect, Toleration, TolerationOperator};
use roadstead_queue::{Action, Ask, Hint, HintError};

use crate::events::{self, ClusterEvent};
use crate::explain::{Change, Refusal, Remedies, TOLERATION, most_frequent, words};
use crate::framework::{
    Context, CycleState, Extensions, Feasible, Filter, Joining, Plugin, PreScore, PreScoreAnswer,
    Reach, Registration, Scaling, Score, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;

/// Keeps pods off nodes with taints that they do not tolerate, and prefers nodes with few taints
/// that only ask them to stay away.
pub struct TaintToleration;

impl TaintToleration {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions() -> Extensions {
        Joining::new(Self).filter().pre_score().score().done()
    }
}

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::new(events::NODE, Action::ADD | events::UPDATE_NODE_TAINT, Ask::Class),
            Registration::new(events::POD, events::UPDATE_POD_TOLERATION, Ask::Item),
        ]
    }

    /// A node helps if it keeps the pod away no longer; a new toleration always might.
    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let helps = if event.resource == events::NODE {
            let (old, new) = events::nodes(event)?;
            let was_kept_away = old.is_none_or(|old| is_kept_away(pod, old));
            was_kept_away && new.is_none_or(|new| !is_kept_away(pod, new))
        } else {
            let (_, new) = events::pods(event)?;
            new.is_none_or(|new| new.uid == pod.uid)
        };
        Ok(if helps { Hint::Queue } else { Hint::Skip })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        let unwelcome = |node: &Node| -> Vec<Taint> {
            let hard = node.taints.iter().filter(|taint| taint.effect.is_hard());
            hard.filter(|taint| !tolerates(refusal.pod, taint)).cloned().collect()
        };
        let sets: Vec<Vec<Taint>> =
            refusal.nodes.iter().map(|(node, _)| unwelcome(node.node())).collect();
        let names = |set: &Vec<Taint>| set.iter().map(words::taint).collect::<Vec<_>>();
        for (set, nodes) in most_frequent(sets.iter().map(names)) {
            let taints = if set.len() == 1 { "taint" } else { "taints" };
            let set = words::joined(&set, "and");
            let has = if nodes == 1 { "has" } else { "have" };
            let nodes = words::counted(nodes, "node");
            remedies.cluster(format!("a node without {taints} {set}, which {nodes} {has}"));
        }
        for taint in sets.iter().filter(|set| set.len() == 1).flatten() {
            remedies.of_pod.push(toleration_of(taint, refusal));
        }
        remedies
    }
}

impl Filter for TaintToleration {
    fn filter(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        if is_kept_away(pod, node.node()) {
            return Err(Status::unresolvable(UNTOLERATED));
        }
        Ok(())
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }
}

/// Upstream sorts out the tolerations of hard taints here. Since a toleration covers a taint only
/// of its own effect, there is nothing to prepare; but profiles may name the point.
impl PreScore for TaintToleration {
    fn pre_score(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        _: &Pod,
        _: &Feasible<'_>,
    ) -> Result<PreScoreAnswer, Status> {
        Ok(PreScoreAnswer::Proceed)
    }
}

impl Score for TaintToleration {
    fn score(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let soft = |taint: &&Taint| taint.effect == TaintEffect::PreferNoSchedule;
        let unwelcome = node.node().taints.iter().filter(soft).filter(|t| !tolerates(pod, t));
        Ok(unwelcome.map(|_| 1).sum())
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }

    fn scaling(&self) -> Scaling {
        Scaling::ByHighest { reverse: true }
    }
}

/// The pod with a toleration of that taint.
pub(super) fn toleration_of(taint: &Taint, refusal: &Refusal<'_>) -> Change {
    let toleration = Toleration {
        key: Some(taint.key.clone()),
        operator: TolerationOperator::Equal,
        value: taint.value.clone(),
        effect: Some(taint.effect.clone()),
        seconds: None,
    };
    let words = format!("it tolerated {}", words::taint(taint));
    refusal.change(words, TOLERATION, |spec| {
        let known = std::mem::take(&mut spec.tolerations);
        spec.tolerations = known.into_iter().chain([toleration]).collect();
    })
}

fn is_kept_away(pod: &Pod, node: &Node) -> bool {
    node.taints.iter().any(|taint| taint.effect.is_hard() && !tolerates(pod, taint))
}

fn tolerates(pod: &Pod, taint: &Taint) -> bool {
    pod.spec().tolerations.iter().any(|toleration| toleration.tolerates(taint))
}

const UNTOLERATED: &str = "node(s) had untolerated taint(s)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, FITS};
    use serde_json::{Value, json};

    const REFUSED: &str = "UnschedulableAndUnresolvable: node(s) had untolerated taint(s)";

    /// Taints as `kubectl` writes them: `key=value:effect`.
    fn node(taints: &[&str]) -> Value {
        let taint = |text: &&str| {
            let (key, rest) = text.split_once('=').unwrap();
            let (value, effect) = rest.split_once(':').unwrap();
            json!({"key": key, "value": value, "effect": effect})
        };
        json!({"spec": {"taints": taints.iter().map(taint).collect::<Vec<_>>()}})
    }

    /// Tolerations as `key operator value effect`, with `-` for what is left out.
    fn pod(name: &str, tolerations: &[&str]) -> Value {
        let toleration = |text: &&str| {
            let fields = ["key", "operator", "value", "effect"].into_iter();
            let given = fields.zip(text.split(' ')).filter(|(_, value)| *value != "-");
            given.map(|(field, value)| (field.to_owned(), json!(value))).collect()
        };
        let tolerations: Vec<Value> = tolerations.iter().map(toleration).collect();
        json!({"metadata": {"name": name}, "spec": {"containers": [], "tolerations": tolerations}})
    }

    #[test]
    fn a_hard_taint_keeps_away_who_does_not_tolerate_it() {
        let rows: [(&str, &[&str], &[&str], &str); 13] = [
            ("no tolerations", &["dedicated=a:NoSchedule"], &[], REFUSED),
            (
                "the same value",
                &["dedicated=a:NoSchedule"],
                &["dedicated Equal a NoSchedule"],
                FITS,
            ),
            ("another value", &["dedicated=a:NoSchedule"], &["dedicated Equal b -"], REFUSED),
            ("any value", &["foo=bar:NoSchedule"], &["foo Exists - NoSchedule"], FITS),
            (
                "another effect",
                &["foo=bar:NoSchedule"],
                &["foo Equal bar PreferNoSchedule"],
                REFUSED,
            ),
            ("any effect", &["foo=bar:NoSchedule"], &["foo Equal bar -"], FITS),
            ("a soft taint", &["dedicated=x:PreferNoSchedule"], &["other Exists - -"], FITS),
            ("everything", &["a=b:NoSchedule", "c=d:NoExecute"], &["- Exists - -"], FITS),
            ("no operator, no value", &["foo=:NoSchedule"], &["foo - - -"], FITS),
            ("any key with the value", &["foo=bar:NoSchedule"], &["- Equal bar -"], FITS),
            ("one of two", &["a=b:NoSchedule", "c=d:NoExecute"], &["a Exists - -"], REFUSED),
            ("comparison, gate off", &["sla=950:NoSchedule"], &["sla Gt 900 -"], REFUSED),
            ("an effect of the future", &["a=b:Later"], &[], FITS),
        ];
        for (what, taints, tolerations, expected) in rows {
            let mut cluster = testing::nodes(json!([node(taints)]));
            let pod = cluster.pod(pod("waiting", tolerations));
            let answer = cluster.filter(&TaintToleration::extensions(), &pod);
            assert_eq!(answer, [expected], "{what}");
        }
    }

    #[test]
    fn a_cordon_alone_is_no_taint() {
        let mut cluster = testing::nodes(json!([{"spec": {"unschedulable": true}}]));
        let pod = cluster.pod(json!({}));
        assert_eq!(cluster.filter(&TaintToleration::extensions(), &pod), [FITS]);
    }

    #[test]
    fn fewer_soft_taints_are_better() {
        let soft = ["a=1:PreferNoSchedule", "b=1:PreferNoSchedule"];
        type Row<'a> = (&'a str, [&'a [&'a str]; 3], &'a [&'a str], [i64; 3]);
        let rows: [Row<'_>; 5] = [
            ("none, one, two", [&[], &soft[..1], &soft], &[], [100, 50, 0]),
            ("all tolerated", [&[], &soft[..1], &soft], &["- Exists - -"], [100, 100, 100]),
            (
                "one tolerated",
                [&[], &soft[..1], &soft],
                &["a Exists - PreferNoSchedule"],
                [100, 100, 0],
            ),
            (
                "a toleration of the hard taint covers no soft one",
                [&[], &["a=1:NoSchedule"], &["a=1:NoSchedule", "a=1:PreferNoSchedule"]],
                &["a Exists - NoSchedule"],
                [100, 100, 0],
            ),
            (
                "hard ones do not count",
                [&["a=1:NoSchedule"], &["b=1:NoExecute"], &[]],
                &[],
                [100; 3],
            ),
        ];
        for (what, taints, tolerations, expected) in rows {
            let mut cluster = testing::nodes(taints.map(node).into_iter().collect());
            let pod = cluster.pod(pod("waiting", tolerations));
            let scores = cluster.scores(&TaintToleration::extensions(), &pod);
            assert_eq!(scores, Ok(Some(expected.to_vec())), "{what}");
        }
    }

    #[test]
    fn a_node_helps_once_it_keeps_the_pod_away_no_longer() {
        let (add, update) = (Action::ADD, events::UPDATE_NODE_TAINT);
        let (bad, good) = (node(&["a=1:NoExecute"]), node(&["b=1:NoSchedule"]));
        let rows = [
            ("a new node that is not tolerated", add, json!(null), bad.clone(), "Skip"),
            ("a new node that is tolerated", add, json!(null), good.clone(), "Queue"),
            ("not tolerated, tolerated", update, bad.clone(), good.clone(), "Queue"),
            ("tolerated, tolerated", update, good.clone(), node(&[]), "Skip"),
            ("tolerated, not tolerated", update, good.clone(), bad.clone(), "Skip"),
            ("not tolerated, not tolerated", update, bad.clone(), bad.clone(), "Skip"),
            ("other news", events::UPDATE_NODE_LABEL, bad, good, "deaf"),
        ];
        for (what, action, old, new, expected) in rows {
            let mut cluster = testing::nodes(json!([]));
            let pod = cluster.pod(pod("waiting", &["b Exists - -"]));
            let event = cluster.event(events::NODE, action, old, new);
            let answer = cluster.hint(&TaintToleration::extensions(), &pod, &event);
            assert_eq!(answer, expected, "{what}");
        }
    }

    #[test]
    fn a_toleration_of_its_own_helps() {
        let rows = [("its own", "waiting", "Queue"), ("another pod's", "other", "Skip")];
        for (what, name, expected) in rows {
            let mut cluster = testing::nodes(json!([]));
            let waiting = cluster.pod(pod("waiting", &[]));
            let (old, new) = (pod(name, &[]), pod(name, &["a Exists - -"]));
            let action = events::UPDATE_POD_TOLERATION;
            let event = cluster.event(events::UNSCHEDULABLE_POD, action, old, new);
            let answer = cluster.hint(&TaintToleration::extensions(), &waiting, &event);
            assert_eq!(answer, expected, "{what}");
        }
    }

    #[test]
    fn an_object_of_another_kind_is_an_error() {
        let mut cluster = testing::nodes(json!([]));
        let pod = cluster.pod(json!({}));
        let rows =
            [(events::NODE, Action::ADD), (events::ASSIGNED_POD, events::UPDATE_POD_TOLERATION)];
        for (resource, action) in rows {
            let event = testing::stranger(&mut cluster.world, resource.clone(), action);
            let answer = cluster.hint(&TaintToleration::extensions(), &pod, &event);
            assert_eq!(answer, "Error", "{}", resource.name());
        }
    }
}
