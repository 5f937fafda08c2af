//! A document with the place of everything in it.
//!
//! serde-saphyr has no tree of its own; this one is built through its `Spanned`, so that reading
//! can go on after an error and every later check can be traced back to a line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, Location, MessageFormatter, Spanned, UserMessageFormatter};

/// A value and where it stands.
#[derive(Debug)]
pub struct Node {
    /// Where it begins.
    pub spot: Spot,
    /// What it is.
    pub tree: Tree,
}

/// What a document is made of. The entries of a map are in the order of the document.
#[derive(Debug)]
pub enum Tree {
    /// Nothing, as good as absent.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// A string.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping.
    Map(Vec<(Key, Node)>),
}

/// A key of a map and where it stands.
#[derive(Debug)]
pub struct Key {
    /// Where it begins.
    pub spot: Spot,
    /// The key itself.
    pub name: String,
}

/// A place in a text, in characters from 1. Without a width it is the rest of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// How many characters.
    pub width: usize,
}

/// A document that is none, and where.
#[derive(Debug)]
pub struct SyntaxError {
    /// Where, if the parser knows.
    pub spot: Option<Spot>,
    /// Why.
    pub message: String,
}

impl Node {
    /// Reads YAML, of which JSON is a part. A key that is there twice is an error that still
    /// leaves a tree, with its first value.
    #[must_use]
    pub fn parse(text: &str) -> (Option<Self>, Option<SyntaxError>) {
        let read = |duplicate_keys| {
            let options = serde_saphyr::options! {
                duplicate_keys: duplicate_keys,
                // Of YAML 1.1, as Kubernetes reads it: `010` is eight.
                legacy_octal_numbers: true,
                with_snippet: false,
            };
            serde_saphyr::from_str_with_options::<Spanned<Tree>>(text, options)
        };
        match read(DuplicateKeyPolicy::Error) {
            Ok(root) => (Some(root.into()), None),
            Err(error) => {
                let is_duplicate = matches!(error, Error::DuplicateMappingKey { .. });
                let root = is_duplicate.then(|| read(DuplicateKeyPolicy::FirstWins).ok()).flatten();
                (root.map(Self::from), Some(SyntaxError::from(&error)))
            }
        }
    }

    /// The same without places.
    #[must_use]
    pub fn from_json(value: &Value) -> Self {
        let spot = Spot { line: 0, column: 0, width: 0 };
        let tree = match value {
            Value::Null => Tree::Null,
            Value::Bool(value) => Tree::Bool(*value),
            Value::Number(number) => match number.as_i128() {
                Some(number) => Tree::Integer(number),
                None => Tree::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Tree::Text(text.clone()),
            Value::Array(items) => Tree::List(items.iter().map(Self::from_json).collect()),
            Value::Object(entries) => {
                let entry = |(name, value): (&String, &Value)| {
                    (Key { spot, name: name.clone() }, Self::from_json(value))
                };
                Tree::Map(entries.iter().map(entry).collect())
            }
        };
        Self { spot, tree }
    }

    /// The same as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.tree {
            Tree::Null => Value::Null,
            Tree::Bool(value) => Value::Bool(*value),
            Tree::Integer(number) => Number::from_i128(*number).map_or(Value::Null, Value::Number),
            Tree::Float(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
            Tree::Text(text) => Value::String(text.clone()),
            Tree::List(items) => items.iter().map(Self::to_json).collect(),
            Tree::Map(entries) => {
                let entry = |(key, node): &(Key, Self)| (key.name.clone(), node.to_json());
                Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
            }
        }
    }

    /// The value under a key. Null is as good as nothing, as everywhere in Kubernetes.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Tree::Map(entries) = &self.tree else { return None };
        let (_, node) = entries.iter().find(|(key, _)| key.name == name)?;
        (!matches!(node.tree, Tree::Null)).then_some(node)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        let Tree::Map(entries) = &mut self.tree else { return None };
        entries.iter_mut().find(|(key, _)| key.name == name).map(|(_, node)| node)
    }

    /// The items of a list.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.tree {
            Tree::List(items) => items,
            _ => &[],
        }
    }

    /// The same, to be changed.
    pub fn items_mut(&mut self) -> &mut [Self] {
        match &mut self.tree {
            Tree::List(items) => items,
            _ => &mut [],
        }
    }

    /// The value under a key, cut out of the tree.
    pub fn take(&mut self, name: &str) -> Option<Self> {
        let Tree::Map(entries) = &mut self.tree else { return None };
        let index = entries.iter().position(|(key, _)| key.name == name)?;
        Some(entries.remove(index).1)
    }

    /// The place of a path such as `profiles[0].plugins`, or of as much of it as there is, and the
    /// rest. A list or a map is best known by its key.
    #[must_use]
    pub fn find<'p>(&self, path: &'p str) -> (Spot, &'p str) {
        self.find_below(path).unwrap_or((self.spot, path))
    }

    fn find_below<'p>(&self, path: &'p str) -> Option<(Spot, &'p str)> {
        match &self.tree {
            Tree::Map(entries) => {
                let path = path.strip_prefix('.').unwrap_or(path);
                entries.iter().find_map(|(key, node)| {
                    let rest = path.strip_prefix(key.name.as_str())?;
                    let is_whole = rest.is_empty() || rest.starts_with(['.', '[']);
                    let is_scalar = !matches!(node.tree, Tree::List(_) | Tree::Map(_) | Tree::Null);
                    let own = if is_scalar { node.spot } else { key.spot };
                    is_whole.then(|| node.find_below(rest).unwrap_or((own, rest)))
                })
            }
            Tree::List(items) => {
                let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
                let item = items.get(index.parse::<usize>().ok()?)?;
                Some(item.find(rest))
            }
            _ => None,
        }
    }
}

impl From<Spanned<Tree>> for Node {
    fn from(spanned: Spanned<Tree>) -> Self {
        Self { spot: spanned.referenced.into(), tree: spanned.value }
    }
}

impl From<Location> for Spot {
    fn from(location: Location) -> Self {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            line: number(location.line()),
            column: number(location.column()),
            width: number(location.span().len()),
        }
    }
}

impl From<&Error> for SyntaxError {
    fn from(error: &Error) -> Self {
        let message = match error {
            Error::DuplicateMappingKey { key: Some(key), .. } => {
                format!("duplicate field {key:?}")
            }
            Error::MultipleDocuments { .. } => {
                "there must be one document only, a KubeSchedulerConfiguration".to_owned()
            }
            error => UserMessageFormatter.format_message(error.without_snippet()).into_owned(),
        };
        Self { spot: error.location().map(Spot::from), message }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BuildTree)
    }
}

struct BuildTree;

impl<'de> Visitor<'de> for BuildTree {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Tree>>()? {
            list.push(item.into());
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Spanned<String>, Spanned<Tree>>()? {
            map.push((Key { spot: key.referenced.into(), name: key.value }, value.into()));
        }
        Ok(Tree::Map(map))
    }
}
