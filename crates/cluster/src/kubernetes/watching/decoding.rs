//! The API's answers, as objects.
//!
//! `metadata.managedFields` is most of what the API says of many objects, and a scheduler looks at
//! none of it: it is skipped while the text is read, and never built.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::core::WatchEvent;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};

use crate::object::WithType;
use crate::{Kind, Object, Resource};

/// A page of a list.
pub(super) struct Page {
    pub(super) metadata: ListMeta,
    pub(super) objects: Vec<Object>,
}

/// Reads a line of a watch.
pub(super) fn event(kind: Kind, line: &[u8]) -> serde_json::Result<WatchEvent<Object>> {
    kind.with_type(ReadEvent(line))
}

/// Reads the answer to a list.
pub(super) fn page(kind: Kind, text: &str) -> serde_json::Result<Page> {
    kind.with_type(ReadPage(text))
}

struct ReadEvent<'a>(&'a [u8]);

impl WithType for ReadEvent<'_> {
    type Output = serde_json::Result<WatchEvent<Object>>;

    fn with<T: Resource + Default + DeserializeOwned>(self) -> Self::Output {
        Ok(match serde_json::from_slice::<WatchEvent<Lean<T>>>(self.0)? {
            WatchEvent::Added(object) => WatchEvent::Added(object.0.into()),
            WatchEvent::Modified(object) => WatchEvent::Modified(object.0.into()),
            WatchEvent::Deleted(object) => WatchEvent::Deleted(object.0.into()),
            WatchEvent::Bookmark(bookmark) => WatchEvent::Bookmark(bookmark),
            WatchEvent::Error(status) => WatchEvent::Error(status),
        })
    }
}

struct ReadPage<'a>(&'a str);

impl WithType for ReadPage<'_> {
    type Output = serde_json::Result<Page>;

    fn with<T: Resource + Default + DeserializeOwned>(self) -> Self::Output {
        /// Go prints a list without items as `null`.
        #[derive(Deserialize)]
        #[serde(bound = "T: DeserializeOwned")]
        struct List<T> {
            metadata: ListMeta,
            items: Option<Vec<Lean<T>>>,
        }
        let List { metadata, items } = serde_json::from_str::<List<T>>(self.0)?;
        let objects = items.into_iter().flatten().map(|object| object.0.into()).collect();
        Ok(Page { metadata, objects })
    }
}

/// An object without its managed fields.
struct Lean<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lean<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(Whole(deserializer)).map(Self)
    }
}

/// Stands around what reads an object, to find its metadata.
struct Whole<T>(T);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Whole<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Whole(visitor))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Whole<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<V::Value, M::Error> {
        self.0.visit_map(WholeFields { map, is_metadata: false })
    }
}

struct WholeFields<M> {
    map: M,
    is_metadata: bool,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for WholeFields<M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, M::Error> {
        let Some(key) = self.map.next_key()? else { return Ok(None) };
        self.is_metadata = key == "metadata";
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, M::Error> {
        match self.is_metadata {
            true => self.map.next_value_seed(Metadata(seed)),
            false => self.map.next_value_seed(seed),
        }
    }
}

/// Stands around what reads the metadata, to leave its managed fields out.
struct Metadata<T>(T);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Metadata<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Metadata(deserializer))
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Metadata<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Metadata(visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Metadata(visitor))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Metadata<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Metadata(deserializer))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<V::Value, M::Error> {
        self.0.visit_map(MetadataFields(map))
    }
}

struct MetadataFields<M>(M);

impl<'de, M: MapAccess<'de>> MapAccess<'de> for MetadataFields<M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, M::Error> {
        loop {
            match self.0.next_key()? {
                None => return Ok(None),
                Some("managedFields") => drop(self.0.next_value::<IgnoredAny>()?),
                Some(key) => return seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some),
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, M::Error> {
        self.0.next_value_seed(seed)
    }
}
