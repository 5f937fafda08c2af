//! Keeps a pod off nodes where a port that it wants is taken.

use std::collections::BTreeMap;

use roadstead_model::{HostPort, Pod};
use roadstead_queue::{Action, Ask, Hint, HintError};

use crate::events::{self, ClusterEvent};
use crate::explain::{LESS, Refusal, Remedies, most_frequent, words};
use crate::framework::{
    Context, CycleState, Extensions, Filter, Joining, Plugin, PreFilter, PreFilterAnswer, Reach,
    Registration, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;

/// Keeps a pod off nodes where a port that it wants is taken.
pub struct NodePorts;

impl NodePorts {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions() -> Extensions {
        Joining::new(Self).pre_filter().filter().done()
    }
}

impl Plugin for NodePorts {
    fn name(&self) -> &'static str {
        "NodePorts"
    }

    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::new(events::POD, Action::DELETE, Ask::Class),
            Registration::new(events::NODE, Action::ADD, Ask::Nobody),
        ]
    }

    /// A pod that goes helps if it held or was to get a node, and with it a port in question.
    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let (Some(gone), _) = events::pods(event)? else { return Ok(Hint::Queue) };
        let had_node = gone.node_name.is_some() || gone.nominated_node.is_some();
        let helps = had_node && conflict(&pod.spec().host_ports, &gone.spec().host_ports);
        Ok(if helps { Hint::Queue } else { Hint::Skip })
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        let wanted = &refusal.pod.spec().host_ports;
        let is_taken =
            |port: &HostPort, taken: &[HostPort]| conflict(std::slice::from_ref(port), taken);
        let taken = |taken: &[HostPort]| -> Vec<String> {
            wanted.iter().filter(|port| is_taken(port, taken)).map(words::port).collect()
        };
        let mut places: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
        for (node, _) in &refusal.nodes {
            places.entry(taken(node.used_ports())).or_default().push(node.name().to_string());
        }
        let sets = most_frequent(refusal.nodes.iter().map(|(node, _)| taken(node.used_ports())));
        for (ports, _) in sets.into_iter().filter(|(ports, _)| !ports.is_empty()) {
            let what = if ports.len() == 1 { "port" } else { "ports" };
            let nodes = words::any_of(places.remove(&ports).unwrap_or_default());
            let ports = words::joined(&ports, "and");
            remedies.cluster(format!("host {what} {ports} free on {nodes}"));
        }
        for port in wanted
            .iter()
            .filter(|port| refusal.nodes.iter().any(|(node, _)| is_taken(port, node.used_ports())))
        {
            let words = format!("it did not take host port {}", words::port(port));
            remedies.of_pod.push(refusal.change(words, LESS, |spec| {
                spec.host_ports = wanted.iter().filter(|other| *other != port).cloned().collect();
            }));
        }
        remedies
    }
}

impl PreFilter for NodePorts {
    fn pre_filter(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        if pod.spec().host_ports.is_empty() {
            return Ok(PreFilterAnswer::Skip);
        }
        Ok(PreFilterAnswer::AnyNode)
    }
}

impl Filter for NodePorts {
    fn filter(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        if conflict(&pod.spec().host_ports, node.used_ports()) {
            return Err(Status::unschedulable(TAKEN));
        }
        Ok(())
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }
}

fn conflict(wanted: &[HostPort], taken: &[HostPort]) -> bool {
    wanted.iter().any(|port| taken.iter().any(|other| port.conflicts_with(other)))
}

const TAKEN: &str = "node(s) didn't have free ports for the requested pod ports";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, FITS};
    use serde_json::{Value, json};

    const REFUSED: &str =
        "Unschedulable: node(s) didn't have free ports for the requested pod ports";

    /// Ports as `protocol/ip/port`, each part of which may be left out.
    fn container(ports: &[&str]) -> Value {
        let port = |text: &&str| {
            let parts: Vec<&str> = text.split('/').collect();
            let number: i32 = parts[2].parse().unwrap();
            json!({"protocol": parts[0], "hostIP": parts[1], "hostPort": number,
                "containerPort": 1})
        };
        json!({"name": "main", "ports": ports.iter().map(port).collect::<Vec<_>>()})
    }

    fn pod(ports: &[&str]) -> Value {
        json!({"spec": {"containers": [container(ports)]}})
    }

    fn running(ports: &[&str]) -> Value {
        json!({"spec": {"nodeName": "node-1", "containers": [container(ports)]}})
    }

    #[test]
    fn a_port_is_given_once() {
        let rows: [(&str, &[&str], &[&str], &str); 11] = [
            ("nothing wanted", &[], &["UDP/127.0.0.1/8080"], FITS),
            ("another port", &["UDP/127.0.0.1/8080"], &["UDP/127.0.0.1/9090"], FITS),
            ("the same", &["UDP/127.0.0.1/8080"], &["UDP/127.0.0.1/8080"], REFUSED),
            ("another address", &["TCP/127.0.0.2/8080"], &["TCP/127.0.0.1/8080"], FITS),
            ("another protocol", &["UDP/127.0.0.1/8080"], &["TCP/127.0.0.1/8080"], FITS),
            ("all addresses wanted", &["TCP/0.0.0.0/8001"], &["TCP/127.0.0.1/8001"], REFUSED),
            ("all addresses taken", &["TCP/127.0.0.1/8001"], &["TCP/0.0.0.0/8001"], REFUSED),
            ("nothing said", &["//8001"], &["TCP/127.0.0.1/8001"], REFUSED),
            ("the second", &["TCP//1", "TCP//2"], &["TCP//2", "TCP//3"], REFUSED),
            ("another address family", &["TCP/::/8001"], &["TCP/127.0.0.1/8001"], FITS),
            ("no port of the node", &["TCP//0"], &["TCP//0"], FITS),
        ];
        for (what, wanted, taken, expected) in rows {
            let lists = json!({"nodes": [{}, {}], "pods": [running(taken)]});
            let mut cluster = testing::cluster(lists);
            let pod = cluster.pod(pod(wanted));
            let answer = cluster.filter(&NodePorts::extensions(), &pod);
            assert_eq!(answer, [expected, FITS], "{what}");
        }
    }

    #[test]
    fn of_init_containers_only_sidecars_hold_ports() {
        let init = |policy: Value| {
            let mut container = container(&["TCP/127.0.0.1/8001"]);
            container["restartPolicy"] = policy;
            json!({"containers": [], "initContainers": [container], "nodeName": "node-1"})
        };
        let rows = [("ordinary", json!(null), FITS), ("sidecar", json!("Always"), REFUSED)];
        for (what, policy, expected) in rows {
            let mut cluster =
                testing::cluster(json!({"nodes": [{}], "pods": [{"spec": init(policy)}]}));
            let wants = cluster.pod(pod(&["TCP/127.0.0.1/8001"]));
            assert_eq!(cluster.filter(&NodePorts::extensions(), &wants), [expected], "{what}");
        }
    }

    #[test]
    fn of_two_pods_with_one_port_either_frees_it() {
        let twins = json!([running(&["TCP//80"]), running(&["TCP//80"])]);
        let mut cluster = testing::cluster(json!({"nodes": [{}], "pods": twins}));
        let wants = cluster.pod(pod(&["TCP//80"]));
        assert_eq!(cluster.filter(&NodePorts::extensions(), &wants), [REFUSED]);

        let (node, gone) = (cluster.world.text("node-1"), cluster.world.text("pod-1"));
        assert!(cluster.nodes.remove_pod(&node, &gone));
        assert_eq!(cluster.filter(&NodePorts::extensions(), &wants), [FITS]);
    }

    #[test]
    fn a_pod_without_host_ports_is_not_filtered() {
        let rows: [(&str, &[&str], PreFilterAnswer); 2] = [
            ("none", &["TCP//0"], PreFilterAnswer::Skip),
            ("one", &["TCP//80"], PreFilterAnswer::AnyNode),
        ];
        for (what, wanted, expected) in rows {
            let mut cluster = testing::nodes(json!([]));
            let pod = cluster.pod(pod(wanted));
            let answer = NodePorts.pre_filter(&cluster.context(), &mut CycleState::new(), &pod);
            assert_eq!(answer, Ok(expected), "{what}");
        }
    }

    #[test]
    fn a_deleted_pod_helps_if_it_had_the_port() {
        let with = |mut pod: Value, node: &str, nominated: &str| {
            pod["spec"]["nodeName"] = json!(node);
            pod["status"] = json!({"nominatedNodeName": nominated});
            pod
        };
        let (same, other) = (pod(&["TCP//80"]), pod(&["TCP//81"]));
        let rows = [
            ("waited for no node", with(same.clone(), "", ""), "Skip"),
            ("was nominated", with(same.clone(), "", "n"), "Queue"),
            ("ran", with(same.clone(), "n", ""), "Queue"),
            ("ran with another port", with(other, "n", ""), "Skip"),
            ("ran without ports", with(pod(&[]), "n", ""), "Skip"),
        ];
        for (what, gone, expected) in rows {
            let mut cluster = testing::nodes(json!([]));
            let waiting = cluster.pod(pod(&["TCP/10.0.0.1/80"]));
            let event = cluster.event(events::ASSIGNED_POD, Action::DELETE, gone, Value::Null);
            let answer = cluster.hint(&NodePorts::extensions(), &waiting, &event);
            assert_eq!(answer, expected, "{what}");
        }
    }

    #[test]
    fn a_new_node_helps_and_an_object_of_another_kind_is_an_error() {
        let mut cluster = testing::nodes(json!([]));
        let pod = cluster.pod(pod(&["TCP//80"]));
        let node = cluster.event(events::NODE, Action::ADD, Value::Null, json!({}));
        let stranger = testing::stranger(&mut cluster.world, events::ASSIGNED_POD, Action::DELETE);
        for (event, expected) in [(node, "Queue"), (stranger, "Error")] {
            assert_eq!(cluster.hint(&NodePorts::extensions(), &pod, &event), expected);
        }
    }
}
