//! Causes and events by number.

use std::hash::{BuildHasher, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};
use roadstead_queue::Label;

/// The number of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct WordId(u16);

/// Words, each kept once. There are as many as kinds of events; should plugins make up more than
/// there is room for, the rest is one.
pub(super) struct Words {
    words: Vec<Box<str>>,
    table: HashTable<u16>,
    hasher: DefaultHashBuilder,
}

impl Words {
    pub(super) fn new() -> Self {
        Self {
            words: vec![Box::from("other")],
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    pub(super) fn of(&mut self, word: &str) -> WordId {
        self.of_halves([word, ""])
    }

    pub(super) fn of_label(&mut self, label: Label<'_>) -> WordId {
        self.of_halves(label.halves())
    }

    pub(super) fn word(&self, WordId(id): WordId) -> &str {
        &self.words[usize::from(id)]
    }

    /// The number of a word in two parts, which needs not be put together to be known.
    fn of_halves(&mut self, [first, second]: [&str; 2]) -> WordId {
        let Self { words, table, hasher } = self;
        let hash = |[first, second]: [&str; 2]| {
            let mut state = hasher.build_hasher();
            state.write_usize(first.len() + second.len());
            // Ends and lengths tell the few words there are apart well enough.
            for part in [first, second].into_iter().flat_map(str::bytes).rev().take(WORD_END) {
                state.write_u8(part);
            }
            state.finish()
        };
        let is_it = |id: &u16| words[usize::from(*id)].strip_prefix(first) == Some(second);
        let sum = hash([first, second]);
        if let Some(id) = table.find(sum, is_it) {
            return WordId(*id);
        }
        if words.len() >= MOST_WORDS {
            return WordId(0);
        }
        let id = words.len() as u16;
        words.push([first, second].concat().into());
        table.insert_unique(sum, id, |id| hash([&words[usize::from(*id)], ""]));
        WordId(id)
    }
}

const MOST_WORDS: usize = 256;
const WORD_END: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_one_number_however_it_is_cut() {
        let mut words = Words::new();
        let first = words.of("NodeAdd");
        assert_eq!(words.of_halves(["Node", "Add"]), first);
        assert_eq!(words.of_halves(["", "NodeAdd"]), first);
        assert_ne!(words.of_halves(["Node", "Delete"]), first);
        assert_eq!(words.word(first), "NodeAdd");
    }

    #[test]
    fn there_is_an_end_to_words() {
        let mut words = Words::new();
        let ids: Vec<_> = (0..1000).map(|number| words.of(&format!("Event{number}"))).collect();
        assert_eq!(words.words.len(), MOST_WORDS);
        assert_eq!(words.word(ids[999]), "other");
        assert_eq!(words.of("Event7"), ids[7]);
    }
}
