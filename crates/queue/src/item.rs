//! What waits.

use std::hash::Hash;

/// Something that waits in the queue: a pod, a job, a build, a tenant.
///
/// Only [`key`](Self::key) must be written; everything else has a default that leaves the
/// corresponding part of the queue out.
///
/// Numbers, not strings, name classes, incarnations and nodes, so that the queue compares them
/// in a nanosecond. Intern what you have: equal things must get equal numbers, different things
/// different ones.
pub trait Item {
    /// The name of an item. Among those waiting a key occurs once.
    type Key: Eq + Hash + ToOwned + ?Sized;

    /// This item's name.
    fn key(&self) -> &Self::Key;

    /// How urgent the item is for [`PrioritySort`](crate::PrioritySort): higher goes first.
    fn priority(&self) -> i32 {
        0
    }

    /// Tells an item from an earlier one of the same name (in Kubernetes, the UID).
    fn incarnation(&self) -> u64 {
        0
    }

    /// The item's class: items of one class have equal scheduling needs.
    ///
    /// A hint that is asked [once a class](crate::Ask::Class) is shown any one item of it, so
    /// equal classes promise equal answers. `None` puts the item in a class of its own.
    fn class(&self) -> Option<u64> {
        None
    }

    /// Whose plugins, hints and gates apply to the item.
    fn profile(&self) -> Profile {
        Profile::DEFAULT
    }

    /// The node that the item itself says it is nominated to.
    fn nominated_node(&self) -> Option<NodeId> {
        None
    }
}

/// Which item is meant: a key, and where it matters which incarnation of it.
///
/// A plain reference to a key means whichever item goes by it.
#[derive(Debug)]
pub struct Name<'a, K: ?Sized> {
    /// The item's key.
    pub key: &'a K,
    /// The incarnation; `None` for any.
    pub incarnation: Option<u64>,
}

impl<'a, K: ?Sized> Name<'a, K> {
    /// One incarnation of the item called `key`.
    pub fn new(key: &'a K, incarnation: u64) -> Self {
        Self { key, incarnation: Some(incarnation) }
    }

    pub(crate) fn is_incarnation(&self, incarnation: u64) -> bool {
        self.incarnation.is_none_or(|meant| meant == incarnation)
    }
}

impl<'a, K: ?Sized> From<&'a K> for Name<'a, K> {
    fn from(key: &'a K) -> Self {
        Self { key, incarnation: None }
    }
}

/// The number of a profile: a set of plugins with their registrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Profile(pub u16);

impl Profile {
    /// The profile of items that do not name one.
    pub const DEFAULT: Self = Self(0);
}

impl Default for Profile {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The number of a node: a place that an item can be nominated to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);
