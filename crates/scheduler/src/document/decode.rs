//! A deserializer that does not stop at the first error.
//!
//! A value of the wrong type and a field that does not exist are noted, with path and place, and
//! reading goes on as if they were absent: serde's derived code then fills in the default. Every
//! struct read through this needs `#[serde(default)]`, as in Go, where no field is ever missing.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, Error};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::duration::{self, Duration};
use super::problem::{Problems, nearest};
use super::tree::{Key, Node, Tree};

/// Reads a value from `node`, which stands at `path`. What is wrong goes to `problems`.
#[must_use]
pub fn decode<'a, T>(node: &'a Node, path: &str, problems: &'a Problems) -> T
where
    T: Deserialize<'a> + Default,
{
    let decoder = Decoder { node, path: Cow::Borrowed(path), problems };
    // Nothing below returns an error of its own; a type that does so is not lost silently.
    T::deserialize(decoder).unwrap_or_else(|error| {
        problems.mistyped(path, node.spot, format!("{path}: {error}"));
        T::default()
    })
}

struct Decoder<'a, 'p> {
    node: &'a Node,
    path: Cow<'p, str>,
    problems: &'a Problems,
}

impl<'a> Decoder<'a, '_> {
    fn refuse(&self, expected: &str) {
        let value = self.node.to_json();
        let message = format!("{}: Invalid value: {value}: {expected}", self.path);
        self.problems.mistyped(&self.path, self.node.spot, message);
    }

    /// A whole number; also one written as `1e3`, which YAML does not tell from 1000.
    fn integer(&self) -> Option<i128> {
        match self.node.tree {
            Tree::Null => Some(0),
            Tree::Integer(number) => Some(number),
            Tree::Float(number) if number.fract() == 0.0 => Some(number as i128),
            _ => None,
        }
    }

    fn child<'p>(&self, name: &str) -> Cow<'p, str> {
        match &*self.path {
            "" => Cow::Owned(name.to_owned()),
            path => Cow::Owned(format!("{path}.{name}")),
        }
    }

    /// The entries that `fields` knows and that say something; the others are noted.
    fn fields(&self, entries: &'a [(Key, Node)], fields: &[&'static str]) -> Vec<&'a (Key, Node)> {
        let mut known = Vec::with_capacity(entries.len());
        for entry in entries {
            let (key, node) = entry;
            if !fields.contains(&key.name.as_str()) {
                let path = self.child(&key.name);
                let message = format!("unknown field {path:?}");
                let hint = nearest(&key.name, fields.iter().copied());
                self.problems.unknown(&path, key.spot, message, hint);
            } else if !matches!(node.tree, Tree::Null) {
                known.push(entry);
            }
        }
        known
    }
}

impl<'a> Deserializer<'a> for Decoder<'a, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.tree {
            Tree::Null => visitor.visit_unit(),
            Tree::Bool(value) => visitor.visit_bool(*value),
            Tree::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_i64(number),
                (_, Ok(number)) => visitor.visit_u64(number),
                _ => visitor.visit_f64(*number as f64),
            },
            Tree::Float(number) => visitor.visit_f64(*number),
            Tree::Text(text) => visitor.visit_borrowed_str(text),
            Tree::List(_) => self.deserialize_seq(visitor),
            Tree::Map(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.tree {
            Tree::Bool(value) => visitor.visit_bool(value),
            Tree::Null => visitor.visit_bool(false),
            _ => {
                self.refuse("must be true or false");
                visitor.visit_bool(false)
            }
        }
    }

    fn deserialize_i32<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let number = self.integer();
        match number.map(i32::try_from) {
            Some(Ok(number)) => visitor.visit_i32(number),
            Some(Err(_)) => {
                self.refuse("must be a 32-bit integer");
                visitor.visit_i32(0)
            }
            None => {
                self.refuse("must be an integer");
                visitor.visit_i32(0)
            }
        }
    }

    fn deserialize_i64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.integer().map(i64::try_from) {
            Some(Ok(number)) => visitor.visit_i64(number),
            Some(Err(_)) => {
                self.refuse("must be a 64-bit integer");
                visitor.visit_i64(0)
            }
            None => {
                self.refuse("must be an integer");
                visitor.visit_i64(0)
            }
        }
    }

    fn deserialize_f64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.tree {
            Tree::Float(number) => visitor.visit_f64(number),
            Tree::Integer(number) => visitor.visit_f64(number as f64),
            _ => {
                self.refuse("must be a number");
                visitor.visit_f64(0.0)
            }
        }
    }

    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.tree {
            Tree::Text(text) => visitor.visit_borrowed_str(text),
            Tree::Null => visitor.visit_borrowed_str(""),
            _ => {
                self.refuse("must be a string");
                visitor.visit_borrowed_str("")
            }
        }
    }

    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.tree {
            Tree::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let items: &'a [Node] = match &self.node.tree {
            Tree::List(items) => items,
            Tree::Null => &[],
            _ => {
                self.refuse("must be a list");
                &[]
            }
        };
        visitor.visit_seq(Items { items: items.iter().enumerate(), of: self })
    }

    fn deserialize_map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let entries: Vec<&(Key, Node)> = match &self.node.tree {
            Tree::Map(entries) => entries.iter().collect(),
            Tree::Null => Vec::new(),
            _ => {
                self.refuse("must be an object");
                Vec::new()
            }
        };
        visitor.visit_map(Entries { entries: entries.into_iter(), value: None, of: self })
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let entries = match &self.node.tree {
            Tree::Map(entries) => self.fields(entries, fields),
            Tree::Null => Vec::new(),
            _ => {
                self.refuse("must be an object");
                Vec::new()
            }
        };
        visitor.visit_map(Entries { entries: entries.into_iter(), value: None, of: self })
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name != duration::NAME {
            return visitor.visit_newtype_struct(self);
        }
        let duration = match &self.node.tree {
            Tree::Text(text) => Duration::parse(text).unwrap_or_else(|error| {
                self.refuse(&error);
                Duration::ZERO
            }),
            Tree::Null => Duration::ZERO,
            _ => {
                self.refuse("must be a duration such as \"15s\"");
                Duration::ZERO
            }
        };
        visitor.visit_i64(duration.as_nanoseconds())
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        i8 i16 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple
        tuple_struct enum identifier ignored_any
    }
}

struct Items<'a, 'p> {
    items: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
    of: Decoder<'a, 'p>,
}

impl<'a> SeqAccess<'a> for Items<'a, '_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'a>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((index, node)) = self.items.next() else { return Ok(None) };
        let path = Cow::Owned(format!("{}[{index}]", self.of.path));
        seed.deserialize(Decoder { node, path, problems: self.of.problems }).map(Some)
    }
}

struct Entries<'a, 'p> {
    entries: std::vec::IntoIter<&'a (Key, Node)>,
    value: Option<&'a (Key, Node)>,
    of: Decoder<'a, 'p>,
}

impl<'a> MapAccess<'a> for Entries<'a, '_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'a>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        self.value = self.entries.next();
        let Some((key, _)) = self.value else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(&key.name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (key, node) = self.value.take().expect("serde asks for a value after its key");
        let path = self.of.child(&key.name);
        seed.deserialize(Decoder { node, path, problems: self.of.problems })
    }
}
