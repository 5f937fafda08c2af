//! Resources in whole units: what pods ask for and nodes have.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::failure::Outcome;

/// Processor, memory and places for pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    /// Thousandths of a processor.
    pub(crate) cpu_milli: i64,
    /// Bytes.
    pub(crate) memory: i64,
    /// A pod is one.
    pub(crate) pods: i64,
}

impl Amounts {
    /// What a pod asks for.
    pub(crate) fn of_pod(pod: &Pod) -> Outcome<Amounts> {
        let mut amounts = Amounts { pods: 1, ..Amounts::default() };
        let Some(spec) = &pod.spec else { return Ok(amounts) };
        for container in &spec.containers {
            amounts.add(&of_container(container)?);
        }
        Ok(amounts)
    }

    /// What a node has for pods.
    pub(crate) fn of_node(node: &Node) -> Outcome<Amounts> {
        let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        let mut amounts = of_map(allocatable)?;
        let pods = allocatable.and_then(|map| map.get("pods"));
        amounts.pods = pods.map_or(Ok(0), |it| thousandths(&it.0))? / 1000;
        Ok(amounts)
    }

    /// Adds `other`.
    pub(crate) fn add(&mut self, other: &Amounts) {
        self.cpu_milli += other.cpu_milli;
        self.memory += other.memory;
        self.pods += other.pods;
    }

    /// Takes `other` away.
    pub(crate) fn subtract(&mut self, other: &Amounts) {
        self.cpu_milli -= other.cpu_milli;
        self.memory -= other.memory;
        self.pods -= other.pods;
    }

    /// Takes the greater of each.
    pub(crate) fn raise_to(&mut self, other: &Amounts) {
        self.cpu_milli = self.cpu_milli.max(other.cpu_milli);
        self.memory = self.memory.max(other.memory);
        self.pods = self.pods.max(other.pods);
    }

    /// Whether there is no more of anything than in `room`.
    pub(crate) fn fits_in(&self, room: &Amounts) -> bool {
        self.cpu_milli <= room.cpu_milli && self.memory <= room.memory && self.pods <= room.pods
    }
}

fn of_container(container: &Container) -> Outcome<Amounts> {
    of_map(container.resources.as_ref().and_then(|resources| resources.requests.as_ref()))
}

fn of_map(map: Option<&BTreeMap<String, Quantity>>) -> Outcome<Amounts> {
    let of = |name| map.and_then(|map| map.get(name)).map_or(Ok(0), |it| thousandths(&it.0));
    Ok(Amounts { cpu_milli: of("cpu")?, memory: of("memory")? / 1000, pods: 0 })
}

/// Reads a quantity, in thousandths. Only of the forms in which the cases write them.
fn thousandths(text: &str) -> Outcome<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor = match suffix {
        "m" => 1,
        "" => 1000,
        "k" => 1000 * 1000,
        "Ki" => 1000 << 10,
        "Mi" => 1000 << 20,
        "Gi" => 1000 << 30,
        _ => return Err(format!("quantity `{text}` is of a form that no case uses").into()),
    };
    let number: i64 = number.parse().map_err(|error| format!("quantity `{text}`: {error}"))?;
    Ok(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_in_thousandths() {
        let read = |text| thousandths(text).ok();

        assert_eq!(read("100m"), Some(100));
        assert_eq!(read("4"), Some(4000));
        assert_eq!(read("1Ki"), Some(1_024_000));
        assert_eq!(read("2Gi"), Some(2_147_483_648_000));
        assert_eq!(read("1.5"), None);
        assert_eq!(read("Mi"), None);
    }
}
