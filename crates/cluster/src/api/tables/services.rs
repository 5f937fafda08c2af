//! Rows of Services.

use k8s_openapi::api::core::v1::{Service, ServicePort};
use serde_json::Value;

use super::cells::{labels, none_if_empty};
use super::{AGE, Column, NAME, text, wide};

pub(super) const SERVICE: &[Column] = &[
    NAME,
    text("Type"),
    text("Cluster-IP"),
    text("External-IP"),
    text("Port(s)"),
    AGE,
    wide("Selector"),
];

pub(super) fn cells(service: &Service, age: &str) -> Vec<Value> {
    let spec = service.spec.clone().unwrap_or_default();
    let ports: Vec<String> = spec.ports.iter().flatten().map(port).collect();
    let cluster_ip = spec.cluster_ips.iter().flatten().next().or(spec.cluster_ip.as_ref());
    [
        service.metadata.name.clone().unwrap_or_default(),
        spec.type_.clone().unwrap_or_else(|| "ClusterIP".to_owned()),
        none_if_empty(cluster_ip.map_or("", |ip| ip)),
        external_ip(service),
        none_if_empty(&ports.join(",")),
        age.to_owned(),
        labels(spec.selector.as_ref()),
    ]
    .map(Value::from)
    .into()
}

fn external_ip(service: &Service) -> String {
    let spec = service.spec.clone().unwrap_or_default();
    let mut addresses: Vec<String> = Vec::new();
    match spec.type_.as_deref() {
        Some("ExternalName") => return spec.external_name.unwrap_or_default(),
        Some("LoadBalancer") => {
            let balancer = service.status.as_ref().and_then(|s| s.load_balancer.as_ref());
            for ingress in balancer.and_then(|b| b.ingress.as_ref()).into_iter().flatten() {
                addresses.extend(ingress.ip.clone().or_else(|| ingress.hostname.clone()));
            }
        }
        _ => {}
    }
    addresses.extend(spec.external_ips.into_iter().flatten());
    match (addresses.is_empty(), spec.type_.as_deref()) {
        (false, _) => addresses.join(","),
        (true, Some("LoadBalancer")) => "<pending>".to_owned(),
        (true, _) => "<none>".to_owned(),
    }
}

fn port(port: &ServicePort) -> String {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    match port.node_port.filter(|port| *port > 0) {
        Some(node_port) => format!("{}:{node_port}/{protocol}", port.port),
        None => format!("{}/{protocol}", port.port),
    }
}
