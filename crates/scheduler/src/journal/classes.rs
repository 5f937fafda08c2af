//! What hints said of all pods of a class at once.

use std::collections::VecDeque;

use hashbrown::HashMap;
use roadstead_queue::PluginId;

use super::ClassKey;
use super::names::NameId;
use super::record::Record;

/// The last answers for each class, and between which moves they were given.
pub(super) struct Classes {
    most: usize,
    by_key: HashMap<ClassKey, VecDeque<Said>>,
    /// How often a pod came to the pool or left it: a clock that tells moments apart.
    moves: u32,
}

struct Said {
    moves: u32,
    record: Record,
}

impl Classes {
    pub(super) fn new(most: usize) -> Self {
        Self { most, by_key: HashMap::new(), moves: 0 }
    }

    /// A pod came to the pool or left it; how often that was so.
    pub(super) fn pool_moves(&mut self) -> u32 {
        self.moves = self.moves.wrapping_add(1);
        self.moves
    }

    pub(super) fn hint(&mut self, class: ClassKey, record: Record) {
        if !self.by_key.contains_key(&class) && self.by_key.len() >= self.most {
            let last = |said: &VecDeque<Said>| said.back().map(|said| said.record.until());
            let oldest = self.by_key.iter().min_by_key(|(class, said)| (last(said), **class));
            let Some(oldest) = oldest.map(|(class, _)| *class) else { return };
            self.by_key.remove(&oldest);
        }
        let moves = self.moves;
        let said = self.by_key.entry(class).or_default();
        let mut lately = said.iter_mut().rev().take_while(|said| said.moves == moves);
        if lately.any(|said| said.record.repeat(&record)) {
            return;
        }
        if said.len() >= ENTRIES {
            said.pop_front();
        }
        said.push_back(Said { moves, record });
    }

    /// What these plugins said of the class after the one move and before the other.
    pub(super) fn between<'a>(
        &'a self,
        class: ClassKey,
        from: u32,
        to: Option<u32>,
        plugins: &'a [Option<PluginId>],
    ) -> impl Iterator<Item = &'a Record> {
        let stay = to.unwrap_or(self.moves.wrapping_add(1)).wrapping_sub(from);
        let said = self.by_key.get(&class).into_iter().flatten();
        said.filter(move |said| said.moves.wrapping_sub(from) < stay)
            .map(|said| &said.record)
            .filter(|record| plugins.contains(&record.plugin))
    }

    /// Every word that anything speaks of.
    pub(super) fn words(&self) -> impl Iterator<Item = NameId> {
        self.by_key.values().flatten().map(|said| said.record.name)
    }
}

const ENTRIES: usize = 32;
