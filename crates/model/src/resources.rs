//! Amounts of resources as the scheduler counts them: whole numbers.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use crate::validity::label_key_errors;
use crate::{ModelError, Quantity, Text, World};

/// What a pod asks for or a node has, rounded up: CPU in thousandths, the rest in units.
///
/// Arithmetic wraps, as Go's does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// `cpu`, in thousandths of a core.
    pub milli_cpu: i64,
    /// `memory`, in bytes.
    pub memory: i64,
    /// `ephemeral-storage`, in bytes.
    pub ephemeral_storage: i64,
    /// `pods`: how many a node takes.
    pub pods: i64,
    scalars: Box<[(Text, i64)]>,
}

impl Resources {
    /// Adds `other` to this, `pods` included.
    pub fn add(&mut self, other: &Resources) {
        self.combine(other, i64::wrapping_add);
    }

    /// Takes `other` off this, `pods` included. A scalar that falls to zero stays listed.
    pub fn sub(&mut self, other: &Resources) {
        self.combine(other, i64::wrapping_sub);
    }

    /// Takes so much off one resource, which is counted here: CPU in thousandths, the rest in
    /// units.
    pub fn reduce(&mut self, name: &str, by: i64) {
        let amount = match name {
            "cpu" => &mut self.milli_cpu,
            "memory" => &mut self.memory,
            "ephemeral-storage" => &mut self.ephemeral_storage,
            "pods" => &mut self.pods,
            other => match self.scalars.iter_mut().find(|(own, _)| *own == other) {
                Some((_, amount)) => amount,
                None => return,
            },
        };
        *amount = amount.wrapping_sub(by);
    }

    /// Extended resources, huge pages and attachable volumes, sorted by name. Zeros are listed.
    #[must_use]
    pub fn scalars(&self) -> &[(Text, i64)] {
        &self.scalars
    }

    /// The amount of a scalar resource, 0 if it is not listed.
    #[must_use]
    pub fn scalar(&self, name: &Text) -> i64 {
        self.scalars.iter().find(|(own, _)| own == name).map_or(0, |(_, amount)| *amount)
    }

    /// Whether the scalar resource is listed, with any amount.
    #[must_use]
    pub fn has_scalar(&self, name: &Text) -> bool {
        self.scalars.iter().any(|(own, _)| own == name)
    }

    /// Whether `self` asks for nothing: no CPU, memory or ephemeral storage, and no scalar listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.milli_cpu == 0
            && self.memory == 0
            && self.ephemeral_storage == 0
            && self.scalars.is_empty()
    }

    /// Whether `self`, on top of `used`, is within `available`. A resource of which nothing is
    /// asked is not looked at, and neither is `pods`.
    #[must_use]
    pub fn fits(&self, used: &Resources, available: &Resources) -> bool {
        let fits =
            |ask: i64, used: i64, available: i64| ask == 0 || ask <= available.wrapping_sub(used);
        fits(self.milli_cpu.max(0), used.milli_cpu, available.milli_cpu)
            && fits(self.memory.max(0), used.memory, available.memory)
            && fits(
                self.ephemeral_storage.max(0),
                used.ephemeral_storage,
                available.ephemeral_storage,
            )
            && self
                .scalars
                .iter()
                .all(|(name, ask)| fits(*ask, used.scalar(name), available.scalar(name)))
    }

    pub(crate) fn from_list(list: &ResourceList) -> Self {
        let mut resources = Self::default();
        let mut scalars = Vec::new();
        for (name, quantity) in list.iter() {
            match name.as_str() {
                "cpu" => resources.milli_cpu = quantity.milli_value(),
                "memory" => resources.memory = quantity.value(),
                "ephemeral-storage" => resources.ephemeral_storage = quantity.value(),
                "pods" => resources.pods = quantity.value(),
                other if is_scalar_resource(other) => {
                    scalars.push((name.clone(), quantity.value()))
                }
                _ => {}
            }
        }
        resources.scalars = scalars.into();
        resources
    }

    fn combine(&mut self, other: &Resources, apply: fn(i64, i64) -> i64) {
        self.milli_cpu = apply(self.milli_cpu, other.milli_cpu);
        self.memory = apply(self.memory, other.memory);
        self.ephemeral_storage = apply(self.ephemeral_storage, other.ephemeral_storage);
        self.pods = apply(self.pods, other.pods);
        for (name, amount) in &other.scalars {
            match self.scalars.iter_mut().find(|(own, _)| own == name) {
                Some((_, own)) => *own = apply(*own, *amount),
                None => {
                    let mut scalars = std::mem::take(&mut self.scalars).into_vec();
                    let index = scalars.partition_point(|(own, _)| own < name);
                    scalars.insert(index, (name.clone(), apply(0, *amount)));
                    self.scalars = scalars.into();
                }
            }
        }
    }
}

/// Whether the scheduler counts a resource of this name among its scalars.
#[must_use]
pub fn is_scalar_resource(name: &str) -> bool {
    name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
        || is_extended_resource(name)
}

/// Whether this names an extended resource: one outside Kubernetes' own domain.
#[must_use]
pub fn is_extended_resource(name: &str) -> bool {
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && label_key_errors(&format!("requests.{name}")).is_empty()
}

/// Exact amounts by name, sorted: what requests are computed with, and what allocatables are
/// compared by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ResourceList(Vec<(Text, Quantity)>);

impl ResourceList {
    pub(crate) fn from_api(
        list: Option<&BTreeMap<String, ApiQuantity>>,
        world: &mut World,
    ) -> Result<Self, ModelError> {
        let mut amounts = Vec::with_capacity(list.map_or(0, BTreeMap::len));
        for (name, quantity) in list.into_iter().flatten() {
            let quantity = parse(quantity).map_err(|e| e.at(format_args!("[{name}]")))?;
            amounts.push((world.text(name), quantity));
        }
        Ok(Self(amounts))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Text, Quantity)> {
        self.0.iter()
    }

    pub(crate) fn get(&self, name: &Text) -> Option<Quantity> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, quantity)| *quantity)
    }

    pub(crate) fn set(&mut self, name: &Text, quantity: Quantity) {
        match self.0.binary_search_by(|(own, _)| own.cmp(name)) {
            Ok(index) => self.0[index].1 = quantity,
            Err(index) => self.0.insert(index, (name.clone(), quantity)),
        }
    }

    /// Adds every amount of `other`.
    pub(crate) fn add(&mut self, other: &Self) {
        for (name, quantity) in other.iter() {
            let own = self.get(name).unwrap_or(Quantity::ZERO);
            self.set(name, own.plus(*quantity));
        }
    }

    /// Raises every amount to that of `other`.
    pub(crate) fn raise(&mut self, other: &Self) {
        for (name, quantity) in other.iter() {
            if self.get(name).is_none_or(|own| own < *quantity) {
                self.set(name, *quantity);
            }
        }
    }
}

/// Reads an API quantity; like the API server, it takes blanks around it.
pub(crate) fn parse(quantity: &ApiQuantity) -> Result<Quantity, ModelError> {
    Quantity::parse(quantity.0.trim())
        .map_err(|error| ModelError::new(format!("{:?} is no quantity: {error}", quantity.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn resources(world: &mut World, api: serde_json::Value) -> Resources {
        let api = serde_json::from_value(api).unwrap();
        Resources::from_list(&ResourceList::from_api(Some(&api), world).unwrap())
    }

    #[test]
    fn one_resource_is_reduced_and_the_others_stay() {
        let mut world = World::new();
        let all = json!({"cpu": "2", "memory": "10", "ephemeral-storage": "10", "pods": "10", "example.com/gpu": "10"});
        let mut left = resources(&mut world, all);
        for (name, by) in [
            ("cpu", 500),
            ("memory", 1),
            ("ephemeral-storage", 2),
            ("pods", 3),
            ("example.com/gpu", 4),
            ("other", 5),
        ] {
            left.reduce(name, by);
        }
        let expected = json!({"cpu": "1500m", "memory": "9", "ephemeral-storage": "8", "pods": "7", "example.com/gpu": "6"});
        assert_eq!(left, resources(&mut world, expected));
    }

    #[test]
    fn names_fall_into_classes() {
        let rows = [
            // name, scalar, extended
            ("cpu", false, false),
            ("storage", false, false),
            ("foo", false, false),
            ("hugepages-2Mi", true, false),
            ("attachable-volumes-csi-x", true, false),
            ("kubernetes.io/batman", true, false),
            ("deviceclass.resource.kubernetes.io/gpu", true, false),
            ("example.com/gpu", true, true),
            ("requests.example.com/gpu", false, false),
            ("example.com/g p u", false, false),
            ("example.com/a/b", false, false),
        ];
        for (name, scalar, extended) in rows {
            assert_eq!(is_scalar_resource(name), scalar, "{name} scalar");
            assert_eq!(is_extended_resource(name), extended, "{name} extended");
        }
    }

    #[test]
    fn amounts_are_rounded_up_and_unknown_names_ignored() {
        let mut world = World::new();
        let all = resources(
            &mut world,
            json!({"cpu": "0.5m", "memory": "1500m", "ephemeral-storage": "1Ki", "pods": "110",
                   "example.com/gpu": "2", "hugepages-2Mi": "4Mi", "storage": "1Gi", "foo": "7"}),
        );
        assert_eq!((all.milli_cpu, all.memory, all.ephemeral_storage, all.pods), (1, 2, 1024, 110));
        let scalars: Vec<_> =
            all.scalars().iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
        assert_eq!(scalars, [("example.com/gpu", 2), ("hugepages-2Mi", 4 << 20)]);
    }

    #[test]
    fn adding_and_taking_off_are_inverse() {
        let mut world = World::new();
        let one = resources(&mut world, json!({"cpu": "1", "memory": "5", "b/x": "1", "d/x": "1"}));
        let two = resources(
            &mut world,
            json!({"cpu": "500m", "pods": "3", "a/x": "2", "b/x": "2", "c/x": "0"}),
        );
        let mut sum = one.clone();
        sum.add(&two);
        assert_eq!((sum.milli_cpu, sum.memory, sum.pods), (1500, 5, 3));
        let scalars: Vec<_> = sum.scalars().iter().map(|(n, a)| (n.as_str(), *a)).collect();
        assert_eq!(scalars, [("a/x", 2), ("b/x", 3), ("c/x", 0), ("d/x", 1)]);
        assert!(sum.has_scalar(&world.text("c/x")) && !sum.has_scalar(&world.text("e/x")));
        sum.sub(&two);
        assert_eq!((sum.milli_cpu, sum.memory, sum.pods), (1000, 5, 0));
        assert_eq!((sum.scalar(&world.text("a/x")), sum.scalar(&world.text("b/x"))), (0, 1));
    }

    #[test]
    fn fitting() {
        let rows = [
            // asks, used, fits into cpu 10m, memory 20, a/x 5
            (json!({}), json!({"cpu": "20m", "memory": "40"}), true),
            (json!({"cpu": "5m", "memory": "1"}), json!({"cpu": "5m", "memory": "19"}), true),
            (json!({"cpu": "6m"}), json!({"cpu": "5m"}), false),
            (json!({"memory": "2"}), json!({"memory": "19"}), false),
            (json!({"ephemeral-storage": "1"}), json!({}), false),
            (json!({"a/x": "3"}), json!({"a/x": "2"}), true),
            (json!({"a/x": "4"}), json!({"a/x": "2"}), false),
            (json!({"a/x": "0"}), json!({"a/x": "9"}), true),
            (json!({"b/x": "1"}), json!({}), false),
            (json!({"a/x": "1"}), json!({"cpu": "99"}), true),
        ];
        for (ask, used, expected) in rows {
            let mut world = World::new();
            let node = resources(&mut world, json!({"cpu": "10m", "memory": "20", "a/x": "5"}));
            let fits = resources(&mut world, ask.clone())
                .fits(&resources(&mut world, used.clone()), &node);
            assert_eq!(fits, expected, "{ask} beside {used}");
        }
    }

    #[test]
    fn a_bad_quantity_is_named() {
        let api = serde_json::from_value(json!({"cpu": "1", "memory": "lots"})).unwrap();
        let error = ResourceList::from_api(Some(&api), &mut World::new()).unwrap_err();
        assert_eq!(error.path(), "[memory]");
        assert!(
            error.message().starts_with("\"lots\" is no quantity: quantities must match"),
            "{error}"
        );
    }
}
