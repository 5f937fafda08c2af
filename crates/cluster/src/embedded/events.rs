//! Events: kept for a while, and not too many of them.
//!
//! An API server gives them a lease and forgets them; nobody deletes them. They do not wake the
//! cluster: those that are over go when something else happens.

use super::Cluster;
use super::store::{Change, ChangeKind};
use crate::{Key, Object};

impl Cluster {
    pub(super) fn route_event(&mut self, change: &Change, key: &Key) {
        if let Some(old) = &change.old {
            self.events.remove(&old.version());
        }
        if change.kind == ChangeKind::Deleted {
            return;
        }
        self.events.insert(change.version, (self.now, key.clone()));
        if self.events.len() > self.config.events_kept {
            self.forget_oldest_event();
        }
    }

    pub(super) fn expire_events(&mut self) {
        while let Some((_, (written, _))) = self.events.first_key_value()
            && *written + self.config.events_kept_for <= self.now
        {
            self.forget_oldest_event();
        }
    }

    fn forget_oldest_event(&mut self) {
        if let Some((_, (_, key))) = self.events.pop_first() {
            debug_assert!(matches!(self.store.get(&key), Some(Object::Event(_))));
            self.erase(&key);
        }
    }
}
