//! Taints of nodes, and the tolerations of pods.

use k8s_openapi::api::core::v1 as api;

use crate::{Text, Timestamp, World};

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TaintEffect {
    /// No new pod is placed on the node.
    NoSchedule,
    /// No new pod is placed on the node if there is another one.
    PreferNoSchedule,
    /// No new pod is placed on the node, and running ones are evicted.
    NoExecute,
    /// An effect this release does not know.
    Other(Text),
}

impl TaintEffect {
    /// Whether an untolerated taint with this effect keeps a pod off the node.
    #[must_use]
    pub fn is_hard(&self) -> bool {
        matches!(self, Self::NoSchedule | Self::NoExecute)
    }

    /// The effect as the API writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Other(effect) => effect,
        }
    }

    fn from_api(effect: &str, world: &mut World) -> Self {
        match effect {
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            other => Self::Other(world.text(other)),
        }
    }
}

/// A mark on a node that keeps pods away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Taint {
    /// Its key.
    pub key: Text,
    /// Its value, often empty.
    pub value: Text,
    /// What it does.
    pub effect: TaintEffect,
    /// When it was added: a change of it counts as a change of the taint.
    pub added: Option<Timestamp>,
}

impl Taint {
    /// A taint that nobody put on a node, such as the one that a cordoned node stands for.
    pub fn new(key: &str, value: &str, effect: TaintEffect, world: &mut World) -> Self {
        Self { key: world.text(key), value: world.text(value), effect, added: None }
    }

    pub(crate) fn from_api(taint: &api::Taint, world: &mut World) -> Self {
        Self {
            key: world.text(&taint.key),
            value: world.text(taint.value.as_deref().unwrap_or_default()),
            effect: TaintEffect::from_api(&taint.effect, world),
            added: taint.time_added.as_ref().map(Timestamp::from_api),
        }
    }
}

/// A pod's consent to some taints.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// The taint's key; `None` is any key.
    pub key: Option<Text>,
    /// How the taint's value is looked at.
    pub operator: TolerationOperator,
    /// The value for the operator.
    pub value: Text,
    /// The taint's effect; `None` is any effect.
    pub effect: Option<TaintEffect>,
    /// How long a pod stays after a `NoExecute` taint. No scheduling decision looks at it, but
    /// tolerations that differ in it are different tolerations.
    pub seconds: Option<i64>,
}

/// How a toleration looks at a taint's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TolerationOperator {
    /// The values are the same.
    Equal,
    /// Any value.
    Exists,
    /// The taint's value is less, as a number. Needs the gate TaintTolerationComparisonOperators.
    Lt,
    /// The taint's value is greater, as a number. Needs the same gate.
    Gt,
    /// An operator this release does not know: it accepts nothing.
    Other(Text),
}

impl Toleration {
    pub(crate) fn from_api(toleration: &api::Toleration, world: &mut World) -> Self {
        let effect = toleration.effect.as_deref().filter(|effect| !effect.is_empty());
        Self {
            key: world.optional_text(toleration.key.as_ref()),
            operator: match toleration.operator.as_deref() {
                None | Some("" | "Equal") => TolerationOperator::Equal,
                Some("Exists") => TolerationOperator::Exists,
                Some("Lt") => TolerationOperator::Lt,
                Some("Gt") => TolerationOperator::Gt,
                Some(other) => TolerationOperator::Other(world.text(other)),
            },
            value: world.text(toleration.value.as_deref().unwrap_or_default()),
            effect: effect.map(|effect| TaintEffect::from_api(effect, world)),
            seconds: toleration.toleration_seconds,
        }
    }

    /// Whether it covers `taint`. `Lt` and `Gt` cover nothing here: their gate is off by default.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let accepted = match self.operator {
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Exists => true,
            TolerationOperator::Lt | TolerationOperator::Gt | TolerationOperator::Other(_) => false,
        };
        accepted && self.concerns(taint)
    }

    /// Whether it covers `taint` with the gate TaintTolerationComparisonOperators on.
    #[must_use]
    pub fn tolerates_comparing(&self, taint: &Taint) -> bool {
        let compare = |holds: fn(i64, i64) -> bool| {
            matches!((canonical_integer(&taint.value), canonical_integer(&self.value)),
                (Some(taint), Some(own)) if holds(taint, own))
        };
        match self.operator {
            TolerationOperator::Lt => compare(|taint, own| taint < own) && self.concerns(taint),
            TolerationOperator::Gt => compare(|taint, own| taint > own) && self.concerns(taint),
            _ => self.tolerates(taint),
        }
    }

    fn concerns(&self, taint: &Taint) -> bool {
        self.effect.as_ref().is_none_or(|effect| *effect == taint.effect)
            && self.key.as_ref().is_none_or(|key| *key == taint.key)
    }
}

/// A number without `+`, leading zeros or `-0`.
fn canonical_integer(value: &str) -> Option<i64> {
    let number: i64 = value.parse().ok()?;
    (number.to_string() == value).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tolerating() {
        let rows = [
            // taint, toleration, tolerated, tolerated with comparison operators
            (
                "dedicated=user1:NoSchedule",
                json!({"key": "dedicated", "operator": "Equal", "value": "user1", "effect": "NoSchedule"}),
                true,
                true,
            ),
            (
                "dedicated=user1:NoSchedule",
                json!({"key": "dedicated", "operator": "Equal", "value": "user2"}),
                false,
                false,
            ),
            (
                "foo=bar:NoSchedule",
                json!({"key": "foo", "operator": "Exists", "effect": "NoSchedule"}),
                true,
                true,
            ),
            (
                "foo=bar:NoSchedule",
                json!({"key": "foo", "operator": "Equal", "value": "bar", "effect": "PreferNoSchedule"}),
                false,
                false,
            ),
            ("foo=bar:NoSchedule", json!({"key": "foo", "value": "bar"}), true, true),
            ("foo=bar:NoExecute", json!({"operator": "Exists"}), true, true),
            (
                "foo=bar:NoExecute",
                json!({"key": "", "operator": "Exists", "effect": ""}),
                true,
                true,
            ),
            ("foo=:NoSchedule", json!({"key": "foo"}), true, true),
            ("foo=bar:NoSchedule", json!({"value": "bar"}), true, true),
            (
                "foo=bar:NoSchedule",
                json!({"key": "foo", "operator": "Sometimes", "value": "bar"}),
                false,
                false,
            ),
            (
                "sla=950:NoSchedule",
                json!({"key": "sla", "operator": "Gt", "value": "900"}),
                false,
                true,
            ),
            (
                "sla=900:NoSchedule",
                json!({"key": "sla", "operator": "Gt", "value": "900"}),
                false,
                false,
            ),
            (
                "sla=850:NoSchedule",
                json!({"key": "sla", "operator": "Lt", "value": "900"}),
                false,
                true,
            ),
            (
                "other=850:NoSchedule",
                json!({"key": "sla", "operator": "Lt", "value": "900"}),
                false,
                false,
            ),
            (
                "sla=007:NoSchedule",
                json!({"key": "sla", "operator": "Gt", "value": "1"}),
                false,
                false,
            ),
            (
                "sla=high:NoSchedule",
                json!({"key": "sla", "operator": "Gt", "value": "1"}),
                false,
                false,
            ),
        ];
        for (text, api, plain, comparing) in rows {
            let mut world = World::new();
            let (key, rest) = text.split_once('=').unwrap();
            let (value, effect) = rest.split_once(':').unwrap();
            let effect = TaintEffect::from_api(effect, &mut world);
            let taint = Taint::new(key, value, effect, &mut world);
            let toleration =
                Toleration::from_api(&serde_json::from_value(api.clone()).unwrap(), &mut world);
            assert_eq!(toleration.tolerates(&taint), plain, "{text} by {api}");
            assert_eq!(
                toleration.tolerates_comparing(&taint),
                comparing,
                "{text} by {api}, comparing"
            );
        }
    }

    #[test]
    fn only_two_effects_keep_a_pod_away() {
        let mut world = World::new();
        let hard = |effect: &str, world: &mut World| TaintEffect::from_api(effect, world).is_hard();
        assert!(hard("NoSchedule", &mut world) && hard("NoExecute", &mut world));
        assert!(!hard("PreferNoSchedule", &mut world) && !hard("Later", &mut world));
    }
}
