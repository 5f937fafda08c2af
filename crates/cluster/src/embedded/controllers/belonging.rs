//! Which set manages what: sets adopt what they select and nobody manages, and let go of what they
//! no longer select.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::super::store::{Change, ChangeKind};
use super::super::{Cluster, is_finished};
use super::managed_by;
use crate::object::{controller_of, owner_key};
use crate::selector::selects;
use crate::{Key, Kind, Object};

impl Cluster {
    /// Notes what may have got another owner.
    pub(in super::super) fn on_belonging(&mut self, change: &Change, key: &Key) {
        let object = &change.object;
        if change.kind == ChangeKind::Added && selector_of(object).is_some() {
            let adoptable = adopted_by(key.kind);
            let first = adoptable.key(&key.namespace, "");
            let orphans = self.orphans.range(first..);
            let here =
                |orphan: &&Key| orphan.kind == adoptable && orphan.namespace == key.namespace;
            self.strays.extend(orphans.take_while(here).cloned());
        }
        if adopters(key.kind).is_empty() {
            return;
        }
        let is_gone = change.kind == ChangeKind::Deleted;
        let is_orphan = !is_gone && controller_of(object.metadata()).is_none();
        let was_orphan =
            change.old.as_ref().is_some_and(|old| controller_of(old.metadata()).is_none());
        if is_orphan && !was_orphan {
            self.orphans.insert(key.clone());
        } else if was_orphan && !is_orphan {
            self.orphans.remove(key);
        }
        let old = change.old.as_ref();
        let is_relabelled =
            old.is_some_and(|old| old.metadata().labels != object.metadata().labels);
        // One that was let go of is not taken back until its labels or the sets change.
        let is_new_orphan = is_orphan && old.is_none();
        let adopters = adopters(key.kind).iter();
        let mut sets = adopters.flat_map(|kind| self.store.list_in(*kind, &key.namespace));
        if !is_gone && (is_relabelled || is_new_orphan) && sets.next().is_some() {
            self.strays.insert(key.clone());
        }
    }

    /// Gives an object the owner that selects it, or takes away one that does not.
    pub(super) fn settle_stray(&mut self, key: &Key) {
        let Some(object) = self.store.get(key).cloned() else { return };
        let labels = object.metadata().labels.as_ref();
        if object.is_being_deleted() || object.as_pod().is_some_and(|pod| is_finished(pod)) {
            return;
        }
        let Some(owner) = controller_of(object.metadata()) else {
            let kinds = adopters(key.kind).iter();
            let sets = kinds.flat_map(|kind| self.store.list_in(*kind, &key.namespace));
            let chosen = sets
                .filter(|set| !set.is_being_deleted())
                .find(|set| selector_of(set).is_some_and(|selector| selects(&selector, labels)));
            if let Some(set) = chosen.filter(|set| takes_name(set, key)) {
                let reference = managed_by(set);
                let mut adopted = object.clone();
                adopted.metadata_mut().owner_references.get_or_insert_default().push(reference);
                self.commit(adopted);
            }
            return;
        };
        let set = owner_key(owner, &key.namespace).and_then(|owner| self.store.get(&owner));
        let selector = set.filter(|set| set.uid() == owner.uid).and_then(selector_of);
        if selector.is_some_and(|selector| !selects(&selector, labels)) {
            let uid = owner.uid.clone();
            let mut released = object.clone();
            if let Some(owners) = &mut released.metadata_mut().owner_references {
                owners.retain(|owner| owner.uid != uid);
            }
            self.commit(released);
        }
    }

    /// Panics if the orphans are not those that nobody manages. For tests.
    pub(in super::super) fn check_orphans(&self) {
        let adoptable = Kind::ALL.iter().filter(|kind| !adopters(**kind).is_empty());
        let objects = adoptable.flat_map(|kind| self.store.list(*kind));
        let orphans = objects.filter(|object| controller_of(object.metadata()).is_none());
        assert_eq!(self.orphans, orphans.map(Object::key).collect(), "what nobody manages");
    }
}

/// The kinds that adopt objects of a kind.
fn adopters(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Pod => {
            &[Kind::ReplicaSet, Kind::ReplicationController, Kind::StatefulSet, Kind::DaemonSet]
        }
        Kind::ReplicaSet => &[Kind::Deployment],
        _ => &[],
    }
}

fn adopted_by(kind: Kind) -> Kind {
    if kind == Kind::Deployment { Kind::ReplicaSet } else { Kind::Pod }
}

/// What a set manages, by label.
fn selector_of(set: &Object) -> Option<Cow<'_, LabelSelector>> {
    let selector = match set {
        Object::ReplicationController(it) => {
            let match_labels = it.spec.as_ref()?.selector.clone().filter(|s| !s.is_empty())?;
            let selector =
                LabelSelector { match_labels: Some(match_labels), match_expressions: None };
            return Some(Cow::Owned(selector));
        }
        Object::ReplicaSet(set) => set.spec.as_ref().map(|spec| &spec.selector),
        Object::StatefulSet(set) => set.spec.as_ref().map(|spec| &spec.selector),
        Object::DaemonSet(set) => set.spec.as_ref().map(|spec| &spec.selector),
        Object::Deployment(set) => set.spec.as_ref().map(|spec| &spec.selector),
        _ => None,
    };
    selector.map(Cow::Borrowed)
}

/// A stateful set knows its pods by their names, too.
fn takes_name(set: &Object, key: &Key) -> bool {
    let number = key.name.strip_prefix(set.name()).and_then(|rest| rest.strip_prefix('-'));
    set.kind() != Kind::StatefulSet || number.is_some_and(|number| number.parse::<u32>().is_ok())
}
