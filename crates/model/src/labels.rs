//! Label sets, each kept once.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::Text;

/// A set of labels, sorted by key and shared with all equal sets of its
/// [`World`](crate::World).
#[derive(Clone)]
pub struct Labels(Arc<LabelSet>);

pub(crate) struct LabelSet {
    hash: u64,
    pairs: Box<[(Text, Text)]>,
}

impl LabelSet {
    /// `pairs` are sorted and no key is there twice.
    pub(crate) fn new(hash: u64, pairs: Box<[(Text, Text)]>) -> Self {
        debug_assert!(pairs.is_sorted_by(|a, b| a.0 < b.0));
        Self { hash, pairs }
    }

    pub(crate) fn pairs(&self) -> &[(Text, Text)] {
        &self.pairs
    }
}

impl Labels {
    pub(crate) fn new(set: Arc<LabelSet>) -> Self {
        Self(set)
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &Text) -> Option<&Text> {
        // A text is told from another in a register, so a walk beats a search on real sets.
        self.0.pairs.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// The value of a key that is not at hand as a text.
    #[must_use]
    pub fn get_str(&self, key: &str) -> Option<&Text> {
        let index = self.0.pairs.binary_search_by(|(k, _)| k.as_str().cmp(key)).ok()?;
        Some(&self.0.pairs[index].1)
    }

    /// Whether there is a label `key`.
    #[must_use]
    pub fn has(&self, key: &Text) -> bool {
        self.get(key).is_some()
    }

    /// Whether every label here is also in `other`, with the same value.
    #[must_use]
    pub fn is_subset_of(&self, other: &Labels) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.iter().all(|(key, value)| other.get(key) == Some(value))
    }

    /// All labels, sorted by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Text, &Text)> {
        self.0.pairs.iter().map(|(key, value)| (key, value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.pairs.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.pairs.is_empty()
    }

    /// The labels as the API writes them.
    #[must_use]
    pub fn to_map(&self) -> BTreeMap<String, String> {
        self.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }
}

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.hash == other.0.hash && self.0.pairs == other.0.pairs)
    }
}

impl Eq for Labels {}

impl Hash for Labels {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;

    #[test]
    fn equal_sets_are_one_allocation_and_are_found_by_key() {
        let mut world = World::new();
        let set =
            BTreeMap::from([("b".to_owned(), "2".to_owned()), ("a".to_owned(), "1".to_owned())]);
        let (one, again) = (world.labels(&set), world.labels(&set));
        assert!(Arc::ptr_eq(&one.0, &again.0));
        assert_eq!(one.to_map(), set);
        assert_eq!(one.get(&world.text("b")).unwrap(), "2");
        assert_eq!(one.get_str("a").unwrap(), "1");
        assert_eq!(one.get(&world.text("c")), None);
        assert_eq!(one.get_str("c"), None);
    }

    #[test]
    fn sets_of_different_worlds_compare_by_content() {
        let set = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        assert_eq!(World::new().labels(&set), World::new().labels(&set));
        assert_ne!(World::new().labels(&set), World::new().labels(&BTreeMap::new()));
    }

    #[test]
    fn a_subset_has_every_pair() {
        let mut world = World::new();
        let mut labels = |pairs: &[(&str, &str)]| {
            world.labels(&pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect())
        };
        let all = labels(&[("a", "1"), ("b", "2")]);
        assert!(labels(&[("b", "2")]).is_subset_of(&all));
        assert!(labels(&[]).is_subset_of(&all));
        assert!(!labels(&[("b", "1")]).is_subset_of(&all));
        assert!(!all.is_subset_of(&labels(&[("b", "2")])));
    }
}
