//! A scenario as it is written. What a field means and when it will do is said where it is checked.

use std::collections::BTreeMap;

use roadstead_scheduler::document::Duration;
use serde::Deserialize;
use serde_json::Value;

/// What can be of several shapes is kept as it stands.
type Map<T> = BTreeMap<String, T>;

macro_rules! written {
    ($($name:ident { $($field:ident: $type:ty),* $(,)? })*) => {
        $(
            #[derive(Debug, Default, Deserialize)]
            #[serde(default, rename_all = "camelCase")]
            pub(super) struct $name {
                $(pub(super) $field: $type,)*
            }
        )*
    };
}

written! {
    Document {
        api_version: String,
        kind: String,
        metadata: Metadata,
        spec: Spec,
    }

    Metadata {
        name: String,
        labels: Map<String>,
        annotations: Map<String>,
    }

    Spec {
        seed: Option<i64>,
        stop: Stop,
        fleets: Vec<Fleet>,
        workloads: Vec<Workload>,
        timeline: Vec<Entry>,
    }

    Stop {
        after: Option<Duration>,
        at_quiet: Option<bool>,
    }

    Fleet {
        name: String,
        count: Option<i64>,
        at: Duration,
        zones: Vec<String>,
        capacity: Map<Value>,
        labels: Map<String>,
        taints: Vec<Value>,
    }

    Workload {
        name: String,
        start: Duration,
        stop: Option<Duration>,
        count: Option<i64>,
        arrivals: Option<Arrivals>,
        template: Option<Template>,
        templates: Vec<WeighedTemplate>,
        sizes: Vec<Size>,
        runs: Option<Runs>,
    }

    Template {
        metadata: Value,
        spec: Value,
    }

    WeighedTemplate {
        weight: Option<i64>,
        metadata: Value,
        spec: Value,
    }

    Arrivals {
        constant: Option<Steady>,
        poisson: Option<Steady>,
        burst: Option<Burst>,
    }

    Steady {
        rate: Value,
    }

    Burst {
        size: Option<i64>,
        every: Option<Duration>,
    }

    Size {
        weight: Option<i64>,
        requests: Map<Value>,
    }

    Runs {
        constant: Option<Duration>,
        uniform: Option<Uniform>,
        exponential: Option<Exponential>,
        lognormal: Option<Lognormal>,
    }

    Uniform {
        min: Duration,
        max: Option<Duration>,
    }

    Exponential {
        mean: Option<Duration>,
        max: Option<Duration>,
    }

    Lognormal {
        median: Option<Duration>,
        sigma: Option<f64>,
        max: Option<Duration>,
    }

    Range {
        min: Value,
        max: Value,
        step: Value,
    }

    Entry {
        at: Option<Duration>,
        every: Option<Duration>,
        apply: Option<Apply>,
        delete: Option<Target>,
        scale: Option<Scale>,
        cordon: Option<Nodes>,
        uncordon: Option<Nodes>,
        drain: Option<Drain>,
        fail_node: Option<FailNode>,
        label: Option<Label>,
        unlabel: Option<Keys>,
        taint: Option<Taint>,
        untaint: Option<Keys>,
    }

    Apply {
        file: Option<String>,
        objects: Vec<Value>,
    }

    Target {
        kind: String,
        namespace: Option<String>,
        name: String,
    }

    Scale {
        kind: String,
        namespace: Option<String>,
        name: String,
        replicas: Option<i32>,
    }

    Nodes {
        node: Option<String>,
        nodes: Vec<String>,
        selector: Map<String>,
    }

    Drain {
        node: Option<String>,
        nodes: Vec<String>,
        selector: Map<String>,
        timeout: Option<Duration>,
    }

    FailNode {
        node: Option<String>,
        nodes: Vec<String>,
        selector: Map<String>,
        recover_after: Option<Duration>,
    }

    Label {
        node: Option<String>,
        nodes: Vec<String>,
        selector: Map<String>,
        set: Map<String>,
    }

    Keys {
        node: Option<String>,
        nodes: Vec<String>,
        selector: Map<String>,
        keys: Vec<String>,
    }

    Taint {
        node: Option<String>,
        nodes: Vec<String>,
        selector: Map<String>,
        taints: Vec<Value>,
    }
}
