//! Refuses pods that need devices to be allocated, which Roadstead does not do yet.

use std::sync::Arc;

use roadstead_model::{Pod, Text, World};
use roadstead_queue::{Action, Ask, Hint, HintError};
use serde::Deserialize;
use serde_json::Value;

use super::ArgumentError;
use crate::diagnosis::Diagnosis;
use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies, WITHOUT};
use crate::framework::{
    Context, CycleState, Extensions, Filter, Framework, Joining, Nomination, Plugin, PostFilter,
    PostFilterAnswer, PreFilter, PreFilterAnswer, Registration, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;

/// Refuses pods with resource claims, and keeps pods whose extended resources would have to come
/// from devices off the nodes that do not offer these resources themselves.
///
/// For all other pods, which are most, it says what upstream's plugin says.
pub struct DynamicResources;

const NAME: &str = "DynamicResources";

impl DynamicResources {
    /// The plugin with its points.
    ///
    /// # Errors
    ///
    /// Arguments that are not `DynamicResourcesArgs`.
    pub fn extensions(arguments: &Value, _: &mut World) -> Result<Extensions, ArgumentError> {
        Arguments::check(arguments)?;
        Ok(Joining::new(Self).pre_filter().filter().post_filter().done())
    }
}

impl Plugin for DynamicResources {
    fn name(&self) -> &'static str {
        NAME
    }

    fn events(&self) -> Vec<Registration> {
        let node = Action::ADD | events::UPDATE_NODE_LABEL | events::UPDATE_NODE_ALLOCATABLE;
        let class = Action::ADD | Action::DELETE | Action::UPDATE;
        vec![
            Registration::new(events::NODE, node, Ask::Class),
            Registration::new(events::DEVICE_CLASS, class, Ask::Class),
        ]
    }

    /// Nothing helps a pod with claims.
    fn hint(&self, _: &Listers, pod: &Pod, _: &ClusterEvent) -> Result<Hint, HintError> {
        let has_claims = !pod.spec().resource_claims.is_empty();
        Ok(if has_claims { Hint::Skip } else { Hint::Queue })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        let claims = &refusal.pod.spec().resource_claims;
        if !claims.is_empty() {
            let class = [Action::ADD, Action::DELETE, Action::UPDATE];
            let node = [Action::ADD, events::UPDATE_NODE_LABEL, events::UPDATE_NODE_ALLOCATABLE];
            remedies.never(events::DEVICE_CLASS, &class);
            remedies.never(events::NODE, &node);
        }
        for claim in claims {
            let words = format!("it did not use resource claim {}", claim.name);
            remedies.of_pod.push(refusal.change(words, WITHOUT, |spec| {
                spec.resource_claims =
                    claims.iter().filter(|other| *other != claim).cloned().collect();
            }));
        }
        for name in from_devices(refusal.context.listers, refusal.pod).iter() {
            remedies.cluster(format!("a node that offers {name} itself"));
            let asked = refusal.pod.spec().requests.total.scalar(name);
            let words = format!("it asked for no {name}");
            remedies.of_pod.push(refusal.change(words, WITHOUT, |spec| {
                spec.requests.total.reduce(name, asked);
            }));
        }
        remedies
    }
}

impl PreFilter for DynamicResources {
    fn pre_filter(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        let from_devices = from_devices(context.listers, pod);
        let is_skipped = from_devices.is_empty();
        // Kept even if there is nothing to keep: PostFilter must know that PreFilter got here.
        state.put(NAME, from_devices);
        if !pod.spec().resource_claims.is_empty() {
            return Err(Status::unresolvable(NO_CLAIMS));
        }
        Ok(if is_skipped { PreFilterAnswer::Skip } else { PreFilterAnswer::AnyNode })
    }
}

/// Extended resources that a pod asks for and that a device class stands behind.
type FromDevices = Arc<[Text]>;

fn from_devices(listers: &Listers, pod: &Pod) -> FromDevices {
    if listers.device_classes.is_empty() {
        return FromDevices::default();
    }
    let is_backed = |name: &Text| {
        let mut classes = listers.device_classes.values();
        classes.any(|class| {
            class.extended_resource.as_ref() == Some(name) || class.implicit_resource == *name
        })
    };
    let requested = pod.requests().total.scalars().iter().filter(|(_, amount)| *amount != 0);
    requested.map(|(name, _)| name).filter(|name| is_backed(name)).cloned().collect()
}

impl Filter for DynamicResources {
    fn filter(
        &self,
        _: &Context<'_>,
        state: &CycleState,
        _: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let Some(wanted) = state.get::<FromDevices>(NAME) else {
            return Err(Status::error("not found"));
        };
        // Where the node offers the resource itself, NodeResourcesFit has counted it.
        let allocatable = &node.node().allocatable;
        if wanted.iter().any(|name| allocatable.scalar(name) == 0) {
            return Err(Status::unresolvable(NO_DEVICES));
        }
        Ok(())
    }
}

impl PostFilter for DynamicResources {
    fn post_filter(
        &self,
        _: &Framework,
        _: &Context<'_>,
        state: &CycleState,
        pod: &Arc<Pod>,
        _: &Diagnosis,
    ) -> PostFilterAnswer {
        let status = match state.get::<FromDevices>(NAME) {
            // An earlier plugin's PreFilter has ended the cycle.
            None => Status::error("not found"),
            Some(from_devices)
                if from_devices.is_empty() && pod.spec().resource_claims.is_empty() =>
            {
                Status::unschedulable("no new claims to deallocate")
            }
            Some(_) => Status::unschedulable("still not schedulable"),
        };
        PostFilterAnswer { nomination: Nomination::Keep, result: Err(status), preemption: None }
    }
}

const NO_CLAIMS: &str = "pod has resource claims, and Roadstead does not allocate devices yet";
const NO_DEVICES: &str =
    "node(s) had no such extended resource, and Roadstead does not allocate devices yet";

/// Timeouts of an allocation that does not take place; they are only checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Arguments {
    filter_timeout: String,
    binding_timeout: String,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { filter_timeout: "10s".to_owned(), binding_timeout: "600s".to_owned() }
    }
}

impl Arguments {
    fn check(arguments: &Value) -> Result<(), ArgumentError> {
        if arguments.is_null() {
            return Ok(());
        }
        let Self { filter_timeout, binding_timeout } = Self::deserialize(arguments)
            .map_err(|error| ArgumentError { path: String::new(), message: error.to_string() })?;
        let rows = [
            ("filterTimeout", filter_timeout, 0.0, "must be zero or greater"),
            ("bindingTimeout", binding_timeout, 1.0, "must be at least 1 second"),
        ];
        for (field, text, least, why) in rows {
            let why = match seconds(&text) {
                None => "not a duration",
                Some(seconds) if seconds < least => why,
                Some(_) => continue,
            };
            let message = format!("Invalid value: {text:?}: {why}");
            return Err(ArgumentError { path: field.to_owned(), message });
        }
        Ok(())
    }
}

/// A duration as Go writes it: `1m30s`, `-1.5h`, `0`.
fn seconds(text: &str) -> Option<f64> {
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    if rest == "0" {
        return Some(0.0);
    }
    let mut sum = 0.0;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = rest.split_at(digits);
        let end = unit.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(unit.len());
        let (unit, others) = unit.split_at(end);
        let factor = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * factor;
        if others.is_empty() {
            return Some(sign * sum);
        }
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, FITS};
    use serde_json::json;

    #[test]
    fn whoever_needs_no_devices_is_let_through() {
        let asking = |resource: &str| json!({"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1", resource: "1"}}}]}});
        let claiming = json!({"spec": {"containers": [], "resourceClaims": [{"name": "gpu", "resourceClaimName": "mine"}]}});
        let implicit = "deviceclass.resource.kubernetes.io/gpu";
        let no_claims = format!("UnschedulableAndUnresolvable: {NO_CLAIMS}");
        let no_devices = format!("UnschedulableAndUnresolvable: {NO_DEVICES}");
        let (no_claims, no_devices) = (&*no_claims, &*no_devices);
        #[rustfmt::skip]
        let rows = [
            ("a plain pod",                 json!({}),                    [FITS, FITS]),
            ("a pod with a claim",          claiming,                     [no_claims, no_claims]),
            ("a resource of another kind",  asking("example.com/other"),  [FITS, FITS]),
            ("a resource behind a class",   asking("example.com/gpu"),    [no_devices, FITS]),
            ("a class's own resource",      asking(implicit),             [no_devices, no_devices]),
        ];
        for (words, pod, expected) in rows {
            let mut cluster = testing::cluster(json!({
                "nodes": [{}, {"status": {"allocatable": {"example.com/gpu": "4"}}}],
                "deviceClasses": [{"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}}],
            }));
            let plugin = cluster.plugin(DynamicResources::extensions, Value::Null);
            let pod = cluster.pod(pod);
            assert_eq!(cluster.filter(&plugin, &pod), expected, "{words}");
        }
    }

    #[test]
    fn post_filter_speaks_of_claims_only() {
        let mut cluster = testing::nodes(json!([{}]));
        let pod = cluster.pod(json!({}));
        let framework =
            Framework::new([(cluster.plugin(DynamicResources::extensions, Value::Null), 2)]);
        let context = cluster.context();
        let diagnosis = Diagnosis::one(Status::unschedulable("full"));

        let mut state = CycleState::new();
        let early = framework.post_filter(&context, &state, &pod, &diagnosis);
        assert_eq!((&*early.message, early.is_error), ("not found", true));

        framework.pre_filter(&context, &mut state, &pod).expect("it passes");
        let found = framework.post_filter(&context, &state, &pod, &diagnosis);
        assert_eq!(&*found.message, "no new claims to deallocate");
        assert_eq!(found.nomination, Nomination::Keep);
    }

    #[test]
    fn timeouts_are_checked() {
        #[rustfmt::skip]
        let rows = [
            (json!(null),                        ""),
            (json!({}),                          ""),
            (json!({"filterTimeout": "0"}),      ""),
            (json!({"filterTimeout": "1m0.5s"}), ""),
            (json!({"bindingTimeout": "1s"}),    ""),
            (json!({"filterTimeout": "-1s"}),    "filterTimeout"),
            (json!({"filterTimeout": "10"}),     "filterTimeout"),
            (json!({"filterTimeout": ""}),       "filterTimeout"),
            (json!({"bindingTimeout": "999ms"}), "bindingTimeout"),
        ];
        for (arguments, path) in rows {
            let made = Arguments::check(&arguments);
            assert_eq!(made.err().map_or(String::new(), |e| e.path), path, "{arguments}");
        }
        assert!(Arguments::check(&json!({"timeout": "1s"})).is_err(), "an unknown field");
    }
}
