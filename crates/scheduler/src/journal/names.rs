//! Words that many records share: events, reasons, nodes, other pods.

use std::fmt::{self, Write};

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The number of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameId(u32);

impl NameId {
    /// No word, or one for which there was no room.
    pub(super) const NONE: Self = Self(0);
}

/// Words by number, each kept once, so many and no more.
///
/// A word that is known costs no allocation. When there are too many, those that no record has are
/// forgotten; if that does not help, new ones are not kept.
pub(super) struct Names {
    words: Vec<Option<Box<str>>>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    free: Vec<u32>,
    limit: usize,
    /// How many words were not kept since it was last tried to make room.
    refused: usize,
}

impl Names {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            words: vec![Some(Box::from("…"))],
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            free: Vec::new(),
            limit,
            refused: 0,
        }
    }

    /// The number of a word, if it is known or there is room.
    pub(super) fn id(&mut self, word: &str) -> Option<NameId> {
        let hash = self.hasher.hash_one(word);
        let known = |id: &u32| self.words[*id as usize].as_deref() == Some(word);
        if let Some(id) = self.table.find(hash, known) {
            return Some(NameId(*id));
        }
        if self.table.len() >= self.limit {
            return None;
        }
        let word = Some(Box::from(word));
        let id = match self.free.pop() {
            Some(id) => {
                self.words[id as usize] = word;
                id
            }
            None => {
                self.words.push(word);
                (self.words.len() - 1) as u32
            }
        };
        let Self { words, table, hasher, .. } = self;
        table.insert_unique(hash, id, |id| {
            hasher.hash_one(words[*id as usize].as_deref().unwrap_or_default())
        });
        Some(NameId(id))
    }

    /// The word of that number.
    pub(super) fn word(&self, id: NameId) -> &str {
        self.words.get(id.0 as usize).and_then(|word| word.as_deref()).unwrap_or_default()
    }

    /// Whether it is worth looking for words that nobody has, now that one could not be kept.
    pub(super) fn wants_sweep(&mut self) -> bool {
        let is_due = self.refused == 0;
        self.refused = (self.refused + 1) % (self.limit / 4).max(1);
        is_due
    }

    /// Forgets all words but these.
    pub(super) fn keep(&mut self, used: impl Iterator<Item = NameId>) {
        let mut is_used = vec![false; self.words.len()];
        for NameId(id) in used {
            if let Some(used) = is_used.get_mut(id as usize) {
                *used = true;
            }
        }
        self.table.retain(|id| is_used[*id as usize]);
        self.free.clear();
        for (id, word) in self.words.iter_mut().enumerate().skip(1) {
            if !is_used[id] {
                *word = None;
                self.free.push(id as u32);
            }
        }
    }
}

/// A word put together on the stack. What does not fit is left out.
pub(super) struct Short {
    letters: [u8; LONGEST],
    length: usize,
}

impl Short {
    pub(super) fn of(word: impl fmt::Display) -> Self {
        let mut short = Self { letters: [0; LONGEST], length: 0 };
        // It fails when there is no more room, and what there is stays.
        let _ = write!(short, "{word}");
        short
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.letters[..self.length]).unwrap_or_default()
    }
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = (LONGEST - self.length).min(text.len());
        let fitting = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.letters[self.length..self.length + fitting]
            .copy_from_slice(&text.as_bytes()[..fitting]);
        self.length += fitting;
        if fitting == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// A namespace and a name, of which each has at most 253 letters.
const LONGEST: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_number_until_nobody_has_it() {
        let mut names = Names::new(2);
        let (a, b) = (names.id("a").unwrap(), names.id("b").unwrap());
        assert_eq!((names.id("a"), names.id("c")), (Some(a), None));

        names.keep([b].into_iter());
        let c = names.id("c").unwrap();
        assert_eq!((names.word(b), names.word(c)), ("b", "c"));
        assert_eq!(names.id("b"), Some(b));
    }

    #[test]
    fn what_does_not_fit_on_the_stack_is_left_out() {
        assert_eq!(Short::of(format_args!("{}/{}", "a", 1)).as_str(), "a/1");
        assert_eq!(Short::of("ä".repeat(400)).as_str().len(), LONGEST);
        assert_eq!(Short::of(format!("x{}", "ä".repeat(400))).as_str().len(), LONGEST - 1);
    }
}
