//! A cluster as manifests.

use std::io::Write;

use roadstead_cluster::Kind;
use roadstead_cluster::embedded::Cluster;
use roadstead_scheduler::config::print_yaml;
use serde_json::Value;

use crate::error::Error;

/// Prints every object as one `List`, in the order in which they need each other, as
/// `kubectl get -o yaml` would. Loading it again gives the same cluster.
pub(crate) fn manifests(cluster: &Cluster, out: &mut dyn Write) -> Result<(), Error> {
    out.write_all(b"apiVersion: v1\nitems:\n")?;
    for object in Kind::ALL.iter().flat_map(|kind| cluster.objects(*kind)) {
        // One by one: a large cluster need not be in memory as text.
        let item = Value::Array(vec![object.to_json()?]);
        out.write_all(print_yaml(&item).as_bytes())?;
    }
    out.write_all(b"kind: List\n")?;
    Ok(())
}
