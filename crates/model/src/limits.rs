//! What a pod may use at most. No scheduling decision looks at it; who watches the cluster does.

use k8s_openapi::api::core::v1 as api;

use crate::requests::{at_once, is_pod_level};
use crate::resources::ResourceList;
use crate::{ModelError, Quantity, Text, World};

/// A pod's limits in thousandths by resource name, sorted, those of its containers summed up as its
/// requests are.
pub(crate) fn read(
    pod: &api::Pod,
    overhead: &ResourceList,
    world: &mut World,
) -> Result<Box<[(Text, i64)]>, ModelError> {
    let Some(spec) = &pod.spec else { return Ok(Box::default()) };
    let init = spec.init_containers.as_deref().unwrap_or_default();
    // Most pods have none, and there are many pods.
    let has_limits = |all: &Option<api::ResourceRequirements>| {
        all.as_ref().is_some_and(|all| all.limits.as_ref().is_some_and(|list| !list.is_empty()))
    };
    let mut containers = init.iter().chain(&spec.containers);
    if !has_limits(&spec.resources) && !containers.any(|own| has_limits(&own.resources)) {
        return Ok(Box::default());
    }
    let mut read = |field: &str, containers: &[api::Container]| {
        let limits = containers.iter().enumerate().map(|(i, container)| {
            let limits = container.resources.as_ref().and_then(|all| all.limits.as_ref());
            ResourceList::from_api(limits, world)
                .map_err(|e| e.at("resources.limits").at(format_args!("{field}[{i}]")).at("spec"))
        });
        limits.collect::<Result<Vec<_>, ModelError>>()
    };
    let containers = read("containers", &spec.containers)?;
    let init_limits = read("initContainers", init)?;
    let is_sidecar = init.iter().map(|c| c.restart_policy.as_deref() == Some("Always"));
    let mut limits = at_once(containers, is_sidecar.zip(init_limits));
    let own = spec.resources.as_ref().and_then(|all| all.limits.as_ref());
    let own = ResourceList::from_api(own, world).map_err(|e| e.at("spec.resources.limits"))?;
    for (name, quantity) in own.iter().filter(|(name, _)| is_pod_level(name)) {
        limits.set(name, *quantity);
    }
    // What is not limited is not limited by the overhead either.
    for (name, quantity) in overhead.iter() {
        if let Some(limit) = limits.get(name).filter(|limit| *limit != Quantity::ZERO) {
            limits.set(name, limit.plus(*quantity));
        }
    }
    Ok(limits.iter().map(|(name, quantity)| (name.clone(), quantity.milli_value())).collect())
}

#[cfg(test)]
mod tests {
    use crate::{World, testing};
    use serde_json::{Value, json};

    fn limits(spec: Value) -> Vec<(String, i64)> {
        let pod = testing::pod(&mut World::new(), json!({"spec": spec}));
        pod.spec().limits.iter().map(|(name, milli)| (name.to_string(), *milli)).collect()
    }

    #[test]
    fn limits_are_summed_up_as_requests_are() {
        let container = |limits: Value| json!({"name": "c", "resources": {"limits": limits}});
        let sidecar = |limits: Value| json!({"name": "s", "restartPolicy": "Always", "resources": {"limits": limits}});
        let cpu = |cpu: &str| json!({"cpu": cpu});
        #[rustfmt::skip]
        let rows = [
            ("none", json!({"containers": [{"name": "c"}]}), vec![]),
            ("containers run at once", json!({"containers": [container(cpu("1")), container(cpu("500m"))]}), vec![("cpu", 1500)]),
            ("one that has none counts nothing", json!({"containers": [container(cpu("1")), {"name": "d"}]}), vec![("cpu", 1000)]),
            ("init containers run before", json!({"initContainers": [container(cpu("3"))], "containers": [container(cpu("1"))]}), vec![("cpu", 3000)]),
            ("sidecars run beside", json!({"initContainers": [sidecar(cpu("1")), container(cpu("3"))], "containers": [container(cpu("1"))]}), vec![("cpu", 4000)]),
            ("overhead counts where there is a limit", json!({"overhead": {"cpu": "250m", "memory": "1"}, "containers": [container(cpu("1"))]}), vec![("cpu", 1250)]),
            ("the pod's own take the place of its containers'", json!({"resources": {"limits": {"cpu": "2", "example.com/gpu": "1"}}, "containers": [container(cpu("1"))]}), vec![("cpu", 2000)]),
            ("requests are no limits", json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}), vec![]),
        ];
        for (words, spec, expected) in rows {
            let expected: Vec<_> =
                expected.into_iter().map(|(name, milli)| (name.to_owned(), milli)).collect();
            assert_eq!(limits(spec), expected, "{words}");
        }
    }

    #[test]
    fn a_limit_that_is_no_quantity_is_named() {
        let api = json!({"metadata": {"name": "web"}, "spec": {"containers": [
            {"name": "c", "resources": {"limits": {"cpu": "much"}}}]}});
        let api = serde_json::from_value(api).expect("an API pod");
        let error = crate::Pod::from_api(&api, &mut World::new()).expect_err("it has no number");
        let text = error.to_string();
        assert!(text.starts_with("spec.containers[0].resources.limits[cpu]: "), "{text}");
    }
}
