//! Objects by kind, namespace and name, in this order.
//!
//! Three maps in each other, not one by key: looking up compares one name a step, and most clusters
//! have few namespaces and many names.

use std::collections::BTreeMap;

use crate::{Key, Kind, Object};

#[derive(Clone, Debug, Default)]
pub(super) struct Shelves {
    kinds: BTreeMap<Kind, Namespaces>,
}

type Namespaces = BTreeMap<String, BTreeMap<String, Object>>;

impl Shelves {
    /// Puts an object into its place, and says what was there.
    pub(super) fn insert(&mut self, key: &Key, object: Object) -> Option<Object> {
        let namespaces = self.kinds.entry(key.kind).or_default();
        let names = match namespaces.get_mut(&key.namespace) {
            Some(names) => names,
            None => namespaces.entry(key.namespace.clone()).or_default(),
        };
        match names.get_mut(&key.name) {
            Some(place) => Some(std::mem::replace(place, object)),
            None => names.insert(key.name.clone(), object),
        }
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Object> {
        let namespaces = self.kinds.get_mut(&key.kind)?;
        let names = namespaces.get_mut(&key.namespace)?;
        let object = names.remove(&key.name);
        if names.is_empty() {
            namespaces.remove(&key.namespace);
        }
        object
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Object> {
        self.kinds.get(&key.kind)?.get(&key.namespace)?.get(&key.name)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Object> {
        self.kinds.values().flat_map(BTreeMap::values).flat_map(BTreeMap::values)
    }

    pub(super) fn list(&self, kind: Kind) -> impl Iterator<Item = &Object> + use<'_> {
        self.kinds.get(&kind).into_iter().flat_map(BTreeMap::values).flat_map(BTreeMap::values)
    }

    pub(super) fn list_in(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &Object> {
        let names = self.kinds.get(&kind).and_then(|namespaces| namespaces.get(namespace));
        names.into_iter().flat_map(BTreeMap::values)
    }

    /// The objects of the key's kind, from the key on.
    pub(super) fn from<'a>(&'a self, key: &Key) -> impl Iterator<Item = &'a Object> + use<'a> {
        let Key { kind, namespace, name } = key.clone();
        let namespaces = self.kinds.get(&kind).into_iter();
        let namespaces = namespaces.flat_map(move |all| all.range(namespace.clone()..));
        let mut first = Some((key.namespace.clone(), name));
        namespaces.flat_map(move |(namespace, names)| {
            // Names count in the key's own namespace, which is the first if it is there at all.
            let from = first.take().filter(|(wanted, _)| wanted == namespace);
            names.range(from.map(|(_, name)| name).unwrap_or_default()..).map(|(_, object)| object)
        })
    }

    /// Whatever is in a namespace, of any kind.
    pub(super) fn inside(&self, namespace: &str) -> impl Iterator<Item = &Object> {
        let names = self.kinds.values().filter_map(move |all| all.get(namespace));
        names.flat_map(BTreeMap::values)
    }
}
