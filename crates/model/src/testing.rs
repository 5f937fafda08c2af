//! Objects for tests, from the parts that a test is about.

use serde_json::{Value, json};

use crate::{Node, Pod, World};

/// A pod; name and uid are filled in where the test does not care.
pub(crate) fn pod(world: &mut World, api: Value) -> Pod {
    Pod::from_api(&serde_json::from_value(named(api)).expect("an API pod"), world).expect("a pod")
}

/// A node likewise.
pub(crate) fn node(world: &mut World, api: Value) -> Node {
    Node::from_api(&serde_json::from_value(named(api)).expect("an API node"), world)
        .expect("a node")
}

fn named(mut api: Value) -> Value {
    for (field, value) in [("name", "test"), ("namespace", "default"), ("uid", "uid-test")] {
        if api["metadata"][field].is_null() {
            api["metadata"][field] = json!(value);
        }
    }
    api
}
