//! What node-local plugins said of each node, remembered for each class of pods.

mod cells;
mod class;
mod totals;

use hashbrown::HashMap;
use roadstead_model::ClassId;
use roadstead_queue::Profile;

pub(crate) use class::{Remembered, Unrememberable};

/// What is remembered of classes of pods, in each profile. What was not used for longest goes
/// first when there is too much.
pub(crate) struct Memory {
    classes: HashMap<(Profile, ClassId), Kept>,
    uses: u64,
    most_nodes: usize,
}

struct Kept {
    remembered: Remembered,
    last_use: u64,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self { classes: HashMap::new(), uses: 0, most_nodes: MOST_NODES }
    }

    /// What is remembered of the class; nothing, if it is new.
    pub(crate) fn of(&mut self, profile: Profile, class: ClassId) -> &mut Remembered {
        self.uses += 1;
        let key = (profile, class);
        if !self.classes.contains_key(&key) {
            self.make_room();
        }
        let new = || Kept { remembered: Remembered::default(), last_use: 0 };
        let kept = self.classes.entry(key).or_insert_with(new);
        kept.last_use = self.uses;
        &mut kept.remembered
    }

    fn make_room(&mut self) {
        let nodes = |kept: &Kept| kept.remembered.slots();
        let mut total: usize = self.classes.values().map(nodes).sum();
        while total > self.most_nodes || self.classes.len() >= MOST_CLASSES {
            let Some((&oldest, kept)) = self.classes.iter().min_by_key(|(_, kept)| kept.last_use)
            else {
                return;
            };
            total -= nodes(kept);
            self.classes.remove(&oldest);
        }
    }
}

/// Of all classes together: some fifty megabytes.
const MOST_NODES: usize = 1 << 20;
/// Small enough to be looked through when a class comes.
const MOST_CLASSES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use roadstead_model::World;
    use serde_json::json;

    #[test]
    fn what_was_used_last_is_kept() {
        let cluster = testing::nodes(json!([{}, {}]));
        let world = &mut World::new();
        let mut class = |cpu: i32| {
            let asks = testing::container(&format!("cpu={cpu}"));
            testing::pod(world, json!({"spec": {"containers": [asks]}})).class.id()
        };
        let [a, b, c] = [1, 2, 3].map(&mut class);
        let mut memory = Memory { most_nodes: 3, ..Memory::new() };
        let profile = Profile(0);
        let mut use_it = |class| {
            let remembered = memory.of(profile, class);
            let is_new = remembered.slots() == 0;
            remembered.follow(&cluster.nodes, &[], |_| Ok(())).expect("all nodes fit");
            is_new
        };
        assert_eq!([a, b, a].map(&mut use_it), [true, true, false]);
        assert!(use_it(c), "there are two nodes too many");
        assert!(!use_it(a), "but it was used after the other");
        assert!(use_it(b));
    }
}
