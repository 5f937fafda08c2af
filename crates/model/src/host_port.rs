//! Ports that pods take on their nodes.

use k8s_openapi::api::core::v1 as api;

use crate::{Text, World};

/// A port of the node that a pod takes for itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// The port's number, above 0.
    pub port: i32,
    /// `TCP` if the pod does not say.
    pub protocol: Text,
    /// The address on the node; `0.0.0.0` if the pod does not say, which is all of them.
    pub ip: Text,
}

impl HostPort {
    /// `None` for a port that is not taken from the node.
    pub(crate) fn from_api(port: &api::ContainerPort, world: &mut World) -> Option<Self> {
        let or = |text: Option<&String>, default| {
            text.filter(|t| !t.is_empty()).map_or(default, String::as_str).to_owned()
        };
        Some(Self {
            port: port.host_port.filter(|port| *port > 0)?,
            protocol: world.text(&or(port.protocol.as_ref(), "TCP")),
            ip: world.text(&or(port.host_ip.as_ref(), ANY_IP)),
        })
    }

    /// Whether one node cannot give both. Addresses are compared as they are written, so `::` is
    /// just an address.
    #[must_use]
    pub fn conflicts_with(&self, other: &HostPort) -> bool {
        self.port == other.port
            && self.protocol == other.protocol
            && (self.ip == other.ip || self.ip == ANY_IP || other.ip == ANY_IP)
    }
}

const ANY_IP: &str = "0.0.0.0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts() {
        let rows = [
            ("UDP/127.0.0.1/8080", "UDP/127.0.0.1/9090", false),
            ("UDP/127.0.0.1/8080", "UDP/127.0.0.1/8080", true),
            ("TCP/127.0.0.2/8080", "TCP/127.0.0.1/8080", false),
            ("UDP/127.0.0.1/8080", "TCP/127.0.0.1/8080", false),
            ("TCP/0.0.0.0/8001", "TCP/127.0.0.1/8001", true),
            ("//8001", "TCP/127.0.0.1/8001", true),
            ("TCP/::/8001", "TCP/127.0.0.1/8001", false),
        ];
        let mut world = World::new();
        let mut port = |text: &str| {
            let [protocol, ip, port] = text.split('/').collect::<Vec<_>>()[..] else {
                panic!("{text}")
            };
            let (protocol, host_ip) = (Some(protocol.to_owned()), Some(ip.to_owned()));
            let host_port = Some(port.parse().unwrap());
            let api = api::ContainerPort { protocol, host_ip, host_port, ..Default::default() };
            HostPort::from_api(&api, &mut world).unwrap()
        };
        for (one, two, expected) in rows {
            let (a, b) = (port(one), port(two));
            assert_eq!(
                (a.conflicts_with(&b), b.conflicts_with(&a)),
                (expected, expected),
                "{one} and {two}"
            );
        }
    }

    #[test]
    fn a_container_port_alone_takes_nothing() {
        let api =
            api::ContainerPort { container_port: 80, host_port: Some(0), ..Default::default() };
        assert_eq!(HostPort::from_api(&api, &mut World::new()), None);
    }
}
