//! What is shared between objects: texts, label sets, pod classes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::labels::LabelSet;
use crate::pod_spec::Classed;
use crate::pool::{Pool, hash_of};
use crate::text::Interner;
use crate::{Class, ClassId, Labels, PodSpec, Text};

/// The tables through which objects share what is equal.
///
/// A caller owns one and passes it to every `from_api`. Nothing in it keeps an object's parts
/// alive: what the last object drops is gone, and the tables shrink as they are used.
pub struct World {
    texts: Interner,
    label_sets: Pool<LabelSet>,
    classes: Pool<Classed>,
    next_class: u64,
}

impl World {
    /// A world in which nothing is shared yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            texts: Interner::new(),
            label_sets: Pool::new(),
            classes: Pool::new(),
            next_class: 0,
        }
    }

    /// The one text with these letters.
    pub fn text(&mut self, text: &str) -> Text {
        self.texts.text(text)
    }

    /// The one label set with these pairs.
    pub fn labels(&mut self, pairs: &BTreeMap<String, String>) -> Labels {
        let pairs = pairs.iter().map(|(key, value)| (self.text(key), self.text(value))).collect();
        self.label_set(pairs)
    }

    /// The class of pods that look like this to a scheduler.
    pub fn class(&mut self, spec: PodSpec) -> Class {
        let hash = hash_of(&spec);
        if let Some(class) = self.classes.find(hash, |kept| kept.spec == spec) {
            return Class::new(class);
        }
        let class = Arc::new(Classed { id: ClassId(self.next_class), spec });
        self.next_class += 1;
        self.classes.keep(hash, &class);
        Class::new(class)
    }

    /// Gives back the table entries of everything that is no longer held. Never needed for
    /// correctness, and done by itself as tables grow.
    pub fn sweep(&mut self) {
        self.classes.sweep();
        self.label_sets.sweep();
        self.texts.sweep();
    }

    /// How many entries the tables have, those of things no longer held included until the next
    /// sweep.
    #[must_use]
    pub fn size(&self) -> WorldSize {
        WorldSize {
            texts: self.texts.len(),
            label_sets: self.label_sets.len(),
            classes: self.classes.len(),
        }
    }

    pub(crate) fn texts<'a>(&mut self, list: impl IntoIterator<Item = &'a String>) -> Box<[Text]> {
        list.into_iter().map(|text| self.text(text)).collect()
    }

    pub(crate) fn optional_text(&mut self, text: Option<&String>) -> Option<Text> {
        text.filter(|text| !text.is_empty()).map(|text| self.text(text))
    }

    pub(crate) fn optional_labels(&mut self, pairs: Option<&BTreeMap<String, String>>) -> Labels {
        match pairs {
            Some(pairs) => self.labels(pairs),
            None => self.label_set(Box::default()),
        }
    }

    fn label_set(&mut self, pairs: Box<[(Text, Text)]>) -> Labels {
        let hash = hash_of(&pairs);
        if let Some(set) = self.label_sets.find(hash, |kept| *kept.pairs() == *pairs) {
            return Labels::new(set);
        }
        let set = Arc::new(LabelSet::new(hash, pairs));
        self.label_sets.keep(hash, &set);
        Labels::new(set)
    }
}

/// The number of entries in a [`World`]'s tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldSize {
    /// Different texts.
    pub texts: usize,
    /// Different label sets.
    pub label_sets: usize,
    /// Different pod classes.
    pub classes: usize,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.size(), f)
    }
}
