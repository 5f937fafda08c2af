//! Prefers nodes whose resources the pod leaves in more even use.

use roadstead_model::{Pod, World};
use serde::Deserialize;
use serde_json::Value;

use super::ArgumentError;
use super::resource_allocation::{Resource, ResourceArgument, balance};
use crate::framework::{
    Context, CycleState, Extensions, Feasible, Joining, Plugin, PreScore, PreScoreAnswer, Reach,
    Registration, Scaling, Score, Status,
};
use crate::nodes::NodeInfo;

/// Prefers nodes whose resources the pod leaves in more even use.
pub struct NodeResourcesBalancedAllocation {
    resources: Box<[Resource]>,
}

impl NodeResourcesBalancedAllocation {
    /// The plugin with its points.
    ///
    /// # Errors
    ///
    /// Resources named twice, or with a weight other than 1.
    pub fn extensions(arguments: &Value, world: &mut World) -> Result<Extensions, ArgumentError> {
        let arguments = Option::<Arguments>::deserialize(arguments)
            .map_err(|error| wrong(String::new(), error.to_string()))?
            .unwrap_or_default();
        let resources = ResourceArgument::weights(arguments.resources);
        for (at, (name, weight)) in resources.iter().enumerate() {
            if resources[..at].iter().any(|(earlier, _)| earlier == name) {
                return Err(wrong(
                    format!("resources[{at}].name"),
                    format!("Duplicate value: {name:?}"),
                ));
            }
            if *weight != 1 {
                return Err(wrong(
                    format!("resources[{at}].weight"),
                    format!("Invalid value: {weight}: must be 1"),
                ));
            }
        }
        let resources = resources.iter().map(|(name, _)| Resource::named(name, world)).collect();
        Ok(Joining::new(Self { resources }).pre_score().score().done())
    }

    fn counts_nothing_of(&self, pod: &Pod) -> bool {
        !self.resources.iter().any(|resource| resource.is_asked_for(pod.requests()))
    }
}

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> &'static str {
        "NodeResourcesBalancedAllocation"
    }

    /// It rejects nobody.
    fn events(&self) -> Vec<Registration> {
        Vec::new()
    }
}

impl PreScore for NodeResourcesBalancedAllocation {
    fn pre_score(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        pod: &Pod,
        _: &Feasible<'_>,
    ) -> Result<PreScoreAnswer, Status> {
        // A pod that asks for nothing would crowd the one node that is in most even use.
        Ok(if self.counts_nothing_of(pod) { PreScoreAnswer::Skip } else { PreScoreAnswer::Proceed })
    }
}

impl Score for NodeResourcesBalancedAllocation {
    fn score(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        // Only in a profile without the plugin's PreScore.
        if self.counts_nothing_of(pod) {
            return Ok(0);
        }
        let asked = &pod.requests().total;
        let parts = |with_pod: bool| {
            self.resources.iter().filter_map(move |resource| {
                let own = resource.of(asked);
                let allocatable = resource.counted_on(node.node(), own)?;
                let before = resource.of(node.requested());
                let requested = if with_pod { before.wrapping_add(own) } else { before };
                Some(requested as f64 / allocatable as f64)
            })
        };
        Ok(50 + (50 + balance(parts(true)) - balance(parts(false))) / 2)
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }

    fn scaling(&self) -> Scaling {
        Scaling::Unscaled
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Arguments {
    resources: Option<Vec<ResourceArgument>>,
}

fn wrong(path: String, message: String) -> ArgumentError {
    ArgumentError { path, message }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{amounts, cluster, container};

    #[test]
    fn scores() {
        let default = "cpu memory";
        #[rustfmt::skip]
        let rows = [
            // what, resources counted, the pod asks for, node has, in use there, score
            ("nothing asked for",            default,          "",                  "cpu=4 memory=10000",         "",                       None),
            ("zeros are nothing",            default,          "cpu=0 memory=0",    "cpu=4 memory=10000",         "",                       None),
            ("nothing that counts",          default,          "gpu=1",             "cpu=4 gpu=10",               "",                       None),
            ("100 to 87",                    default,          "cpu=3 memory=5000", "cpu=4 memory=10000",         "",                       Some(68)),
            ("100 to 100",                   default,          "cpu=3 memory=5000", "cpu=6 memory=10000",         "",                       Some(75)),
            ("85 to 82",                     default,          "cpu=3 memory=5000", "cpu=10 memory=20000",        "cpu=3",                  Some(73)),
            ("97 to 95",                     default,          "cpu=3 memory=5000", "cpu=10 memory=20000",        "cpu=3 memory=5000",      Some(74)),
            ("90 to 80",                     default,          "cpu=3 memory=5000", "cpu=10 memory=50000",        "cpu=3 memory=5000",      Some(70)),
            ("50 to 100",                    default,          "memory=5000",       "cpu=3 memory=5000",          "cpu=3",                  Some(100)),
            ("100 to 50",                    default,          "memory=5000",       "cpu=3 memory=5000",          "",                       Some(50)),
            ("75 to 50",                     default,          "cpu=3",             "cpu=6 memory=10000",         "cpu=3",                  Some(62)),
            ("100 to 75",                    default,          "cpu=3",             "cpu=6 memory=10000",         "cpu=3 memory=5000",      Some(62)),
            ("no part is above 1",           default,          "cpu=9 memory=10000", "cpu=6 memory=10000",        "",                       Some(75)),
            ("a node without memory",        default,          "cpu=3",             "cpu=6",                      "cpu=1",                  Some(75)),
            ("a third resource, 69 to 70",   "cpu memory gpu", "gpu=1",             "cpu=3.5 memory=40000 gpu=8", "cpu=3 memory=5000 gpu=3", Some(75)),
            ("a third resource, 62 to 65",   "cpu memory gpu", "gpu=1",             "cpu=3.5 memory=40000 gpu=8", "cpu=3 memory=5000",      Some(76)),
            ("a third one not asked for",    "cpu memory gpu", "memory=5000",       "cpu=3 memory=5000 gpu=8",    "gpu=8",                  Some(50)),
            ("asked for, but never counted", "storage",        "storage=1",         "storage=9",                  "",                       Some(75)),
        ];
        for (what, counted, asked, has, used, expected) in rows {
            let mut cluster = cluster(json!({
                "nodes": [{"status": {"allocatable": amounts(has)}}],
                "pods": [{"spec": {"nodeName": "node-1", "containers": [container(used)]}}],
            }));
            let name = |name| if name == "gpu" { crate::testing::GPU } else { name };
            let counted: Vec<Value> =
                counted.split(' ').map(|counted| json!({"name": name(counted)})).collect();
            let arguments = json!({"resources": counted});
            let plugin = cluster.plugin(NodeResourcesBalancedAllocation::extensions, arguments);
            let pod = cluster.pod(json!({"spec": {"containers": [container(asked)]}}));
            let scores = cluster.scores(&plugin, &pod).expect("scores");
            assert_eq!(scores, expected.map(|score| vec![score]), "{what}");
        }
    }

    #[test]
    fn cpu_and_memory_are_the_default() {
        let mut cluster =
            cluster(json!({"nodes": [{"status": {"allocatable": amounts("cpu=4 memory=10000")}}]}));
        let asked = json!({"spec": {"containers": [container("cpu=3 memory=5000")]}});
        let pod = cluster.pod(asked);
        for arguments in [Value::Null, json!({}), json!({"resources": []})] {
            let plugin = cluster.plugin(NodeResourcesBalancedAllocation::extensions, arguments);
            assert_eq!(cluster.scores(&plugin, &pod), Ok(Some(vec![68])));
        }
    }

    #[test]
    fn bad_arguments() {
        #[rustfmt::skip]
        let rows = [
            (json!({"resources": [{"name": "cpu", "weight": 2}]}),     "resources[0].weight: Invalid value: 2: must be 1"),
            (json!({"resources": [{"name": "cpu", "weight": -1}]}),    "resources[0].weight: Invalid value: -1: must be 1"),
            (json!({"resources": [{"name": "cpu"}, {"name": "cpu"}]}), "resources[1].name: Duplicate value: \"cpu\""),
            (json!({"resource": []}),                                  ": unknown field `resource`, expected `resources`"),
        ];
        for (arguments, expected) in rows {
            let error =
                NodeResourcesBalancedAllocation::extensions(&arguments, &mut World::new()).err();
            let error = error.expect("an error");
            assert_eq!(format!("{}: {}", error.path, error.message), expected, "{arguments}");
        }
    }
}
