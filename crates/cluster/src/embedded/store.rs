//! The objects, their versions, and what happened to them.

use std::collections::{BTreeMap, BTreeSet, VecDeque, vec_deque};

use k8s_openapi::api::core::v1::Pod;

use super::shelves::Shelves;
use super::{is_finished, node_of, phase_of};
use crate::object::{controller_of, owner_key};
use crate::{ApiError, Key, Kind, Object};

/// What happened to an object.
#[derive(Clone, Debug)]
pub struct Change {
    /// The version of the cluster that it made. Each change has its own.
    pub version: u64,
    /// Whether the object came, changed or went.
    pub kind: ChangeKind,
    /// The object as it is now; one that went, as it was last.
    pub object: Object,
    /// The object as it was before, if it was there.
    pub old: Option<Object>,
}

/// Whether an object came, changed or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It was there, and is.
    Modified,
    /// It is gone.
    Deleted,
}

/// A reader of changes, and where it is.
#[derive(Clone, Debug)]
pub struct Watch {
    kinds: Vec<Kind>,
    after: u64,
}

impl Watch {
    /// What happens to objects of these kinds after a version.
    #[must_use]
    pub fn new(kinds: &[Kind], after: u64) -> Self {
        Self { kinds: kinds.to_vec(), after }
    }

    /// The version up to which it has read.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.after
    }
}

#[derive(Clone, Debug)]
pub(super) struct Store {
    objects: Shelves,
    version: u64,
    /// The last changes, one a version.
    log: VecDeque<Change>,
    log_bound: usize,
    /// What each controller manages, by the controller's uid.
    broods: BTreeMap<String, Brood>,
    on_node: BTreeMap<String, BTreeSet<Key>>,
}

/// What a controller manages.
#[derive(Clone, Debug, Default)]
struct Brood {
    members: BTreeSet<Key>,
    tally: Tally,
}

/// The pods that a controller manages, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Pods that have not finished.
    pub(super) present: usize,
    /// Of these, those that are not being deleted.
    pub(super) alive: usize,
    /// Of these, the ready ones.
    pub(super) ready: usize,
    /// Pods that have ever succeeded: those that are gone count, too.
    pub(super) succeeded: usize,
    /// Pods that have ever failed.
    pub(super) failed: usize,
}

impl Store {
    pub(super) fn new(log_bound: usize) -> Self {
        Self {
            objects: Shelves::default(),
            version: 0,
            log: VecDeque::new(),
            log_bound,
            broods: BTreeMap::new(),
            on_node: BTreeMap::new(),
        }
    }

    pub(super) fn put(&mut self, key: &Key, mut object: Object) -> Change {
        self.version += 1;
        object.metadata_mut().resource_version = Some(self.version.to_string());
        let old = self.objects.insert(key, object.clone());
        let kind = if old.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.index(key, old.as_ref(), Some(&object));
        self.log(Change { version: self.version, kind, object, old })
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Change> {
        let old = self.objects.remove(key)?;
        self.version += 1;
        self.index(key, Some(&old), None);
        let mut object = old.clone();
        object.metadata_mut().resource_version = Some(self.version.to_string());
        let kind = ChangeKind::Deleted;
        Some(self.log(Change { version: self.version, kind, object, old: Some(old) }))
    }

    /// Forgets what a controller that is gone had made, and says what it was.
    pub(super) fn disown(&mut self, uid: &str) -> BTreeSet<Key> {
        self.broods.remove(uid).map(|brood| brood.members).unwrap_or_default()
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Object> {
        self.objects.get(key)
    }

    pub(super) fn list(&self, kind: Kind) -> impl Iterator<Item = &Object> + use<'_> {
        self.objects.list(kind)
    }

    /// The objects of a kind in a namespace.
    pub(super) fn list_in(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &Object> {
        self.objects.list_in(kind, namespace)
    }

    /// Whatever is in a namespace.
    pub(super) fn inside(&self, namespace: &str) -> impl Iterator<Item = &Object> {
        self.objects.inside(namespace)
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn tally(&self, uid: &str) -> Tally {
        self.broods.get(uid).map(|brood| brood.tally).unwrap_or_default()
    }

    pub(super) fn members(&self, uid: &str) -> impl Iterator<Item = &Object> {
        let keys = self.broods.get(uid).into_iter().flat_map(|brood| &brood.members);
        keys.filter_map(|key| self.objects.get(key))
    }

    pub(super) fn pods_on(&self, node: &str) -> impl Iterator<Item = &Key> {
        self.on_node.get(node).into_iter().flatten()
    }

    /// What happened since the watch was last asked, of the next `most` changes of any kind.
    pub(super) fn changes(&self, watch: &mut Watch, most: usize) -> Result<Vec<Change>, ApiError> {
        let news = self.since(watch.after)?.take(most);
        let mut after = watch.after;
        let wanted = news.inspect(|change| after = change.version);
        let wanted = wanted.filter(|change| watch.kinds.contains(&change.object.kind()));
        let changes = wanted.cloned().collect();
        watch.after = after;
        Ok(changes)
    }

    /// The objects of a kind as they were at a version, from a key on: those that are there, with
    /// what happened since undone.
    pub(super) fn as_of<'a>(
        &'a self,
        version: u64,
        from: &Key,
    ) -> Result<impl Iterator<Item = &'a Object> + use<'a>, ApiError> {
        let mut undone: BTreeMap<Key, Option<&Object>> = BTreeMap::new();
        for change in self.since(version)?.rev() {
            if change.object.kind() == from.kind && change.object.key() >= *from {
                undone.insert(change.object.key(), change.old.as_ref());
            }
        }
        let mut past = undone.clone().into_iter().peekable();
        let mut present = self.objects.from(from);
        let mut present = std::iter::from_fn(move || {
            present.find(|object| undone.is_empty() || !undone.contains_key(&object.key()))
        })
        .peekable();
        let both = std::iter::from_fn(move || {
            let past_first = match (past.peek(), present.peek()) {
                (Some((past, _)), Some(present)) => *past < present.key(),
                (past, _) => past.is_some(),
            };
            if past_first {
                past.next().map(|(_, object)| object)
            } else {
                present.next().map(Some)
            }
        });
        Ok(both.flatten())
    }

    fn since(&self, version: u64) -> Result<vec_deque::Iter<'_, Change>, ApiError> {
        let kept_after = self.version - self.log.len() as u64;
        let Some(skip) = version.checked_sub(kept_after) else {
            return Err(ApiError::Expired { requested: version, oldest: kept_after });
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(self.log.len());
        Ok(self.log.range(skip..))
    }

    pub(super) fn forget_changes(&mut self, through: u64) {
        while self.log.front().is_some_and(|change| change.version <= through) {
            self.log.pop_front();
        }
    }

    pub(super) fn check_invariants(&self) {
        let mut again = Self::new(self.log_bound);
        for object in self.objects.all() {
            let key = object.key();
            assert_eq!(self.get(&key), Some(object), "an object is kept under its key");
            assert!((1..=self.version).contains(&object.version()), "{key} is from the future");
            again.index(&key, None, Some(object));
        }
        assert_eq!(self.on_node, again.on_node, "the pods on each node");
        let owners: BTreeSet<&str> = self.objects.all().map(Object::uid).collect();
        // The brood of an owner that is gone was disowned, and is on its way out.
        for (uid, brood) in again.broods.iter().filter(|(uid, _)| owners.contains(&***uid)) {
            let kept = &self.broods[uid];
            assert_eq!(kept.members, brood.members, "what {uid} manages");
            let now = |tally: Tally| (tally.present, tally.alive, tally.ready);
            assert_eq!(now(kept.tally), now(brood.tally), "pods of {uid}");
        }
        assert!(self.log.iter().is_sorted_by_key(|change| change.version), "versions grow");
    }

    /// Forgets an empty brood whose owner is not there: nobody will ask for it.
    fn drop_orphaned_brood(&mut self, member: &Object) {
        let Some(owner) = controller_of(member.metadata()) else { return };
        let is_empty = self.broods.get(&owner.uid).is_some_and(|brood| brood.members.is_empty());
        let found = owner_key(owner, &member.key().namespace).and_then(|key| self.get(&key));
        if is_empty && found.is_none_or(|found| found.uid() != owner.uid) {
            self.broods.remove(&owner.uid);
        }
    }

    fn log(&mut self, change: Change) -> Change {
        if self.log.len() >= self.log_bound {
            self.log.pop_front();
        }
        if self.log_bound > 0 {
            self.log.push_back(change.clone());
        }
        change
    }

    fn index(&mut self, key: &Key, old: Option<&Object>, new: Option<&Object>) {
        let owner = |object: &Object| Some(controller_of(object.metadata())?.uid.clone());
        if let Some(old) = old {
            // A brood that was disowned has forgotten its members.
            if let Some(brood) = owner(old).and_then(|uid| self.broods.get_mut(&uid))
                && brood.members.remove(key)
            {
                brood.tally.remove(old);
            }
            if new.is_none() {
                self.drop_orphaned_brood(old);
            }
            if let Some(node) = place(old).filter(|old| Some(*old) != new.and_then(place))
                && let Some(pods) = self.on_node.get_mut(node)
            {
                pods.remove(key);
                if pods.is_empty() {
                    self.on_node.remove(node);
                }
            }
        }
        if let Some(new) = new {
            if let Some(uid) = owner(new) {
                let brood = self.broods.entry(uid).or_default();
                brood.members.insert(key.clone());
                brood.tally.add(new, old);
            }
            if let Some(node) = place(new).filter(|new| Some(*new) != old.and_then(place)) {
                self.on_node.entry(node.to_owned()).or_default().insert(key.clone());
            }
        }
    }
}

impl Tally {
    fn add(&mut self, new: &Object, old: Option<&Object>) {
        let Some(pod) = new.as_pod() else { return };
        self.present += usize::from(!is_finished(pod));
        self.alive += usize::from(is_alive(pod));
        self.ready += usize::from(is_alive(pod) && is_ready(pod));
        if !old.and_then(Object::as_pod).is_some_and(|old| is_finished(old)) {
            self.succeeded += usize::from(phase_of(pod) == "Succeeded");
            self.failed += usize::from(phase_of(pod) == "Failed");
        }
    }

    fn remove(&mut self, old: &Object) {
        let Some(pod) = old.as_pod() else { return };
        self.present -= usize::from(!is_finished(pod));
        self.alive -= usize::from(is_alive(pod));
        self.ready -= usize::from(is_alive(pod) && is_ready(pod));
    }
}

fn place(object: &Object) -> Option<&str> {
    object.as_pod().and_then(|pod| node_of(pod))
}

/// Whether a workload counts the pod.
pub(super) fn is_alive(pod: &Pod) -> bool {
    !is_finished(pod) && pod.metadata.deletion_timestamp.is_none()
}

pub(super) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|s| s.conditions.iter().flatten());
    conditions.into_iter().any(|c| c.type_ == "Ready" && c.status == "True")
}
