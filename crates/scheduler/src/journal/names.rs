//! Words that many records share: events, reasons, nodes, other pods.

use std::fmt::{self, Write};
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// The number of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameId(u32);

impl NameId {
    /// No word, or one for which there was no room.
    pub(super) const NONE: Self = Self(0);
    /// The cause of most moves, which is always known.
    pub(super) const FAILURE: Self = Self(1);
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
    /// Words that were asked for lately, the last one first: few are asked for most.
    recent: Vec<Recent>,
    limit: usize,
    /// How many words were not kept since it was last tried to make room.
    refused: usize,
}

impl Names {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            words: [FIXED.map(|word| Some(Box::from(word)))].concat(),
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            free: Vec::new(),
            recent: Vec::new(),
            limit,
            refused: 0,
        }
    }

    /// The number of a word, if it is known or there is room.
    pub(super) fn id(&mut self, word: &str) -> Option<NameId> {
        if let Some(name) = self.recent([word, ""]) {
            return Some(name);
        }
        let name = NameId(self.find_or_keep(word)?);
        if let Some(recent) = Recent::new(word, name) {
            self.recent.truncate(MOST_RECENT - 1);
            self.recent.insert(0, recent);
        }
        Some(name)
    }

    fn find_or_keep(&mut self, word: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(word);
        let known = |id: &u32| self.words[*id as usize].as_deref() == Some(word);
        if let Some(id) = self.table.find(hash, known) {
            return Some(*id);
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
        Some(id)
    }

    /// The number of a word that consists of these halves, if it was asked for lately.
    pub(super) fn recent(&mut self, [first, second]: [&str; 2]) -> Option<NameId> {
        let at = self.recent.iter().position(|recent| recent.is([first, second]))?;
        self.recent.swap(0, at);
        Some(self.recent[0].name)
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
        self.recent.clear();
        for (id, word) in self.words.iter_mut().enumerate().skip(FIXED.len()) {
            if !is_used[id] {
                *word = None;
                self.free.push(id as u32);
            }
        }
    }
}

/// A short word with its letters beside its number: one line of the processor's caches.
#[repr(align(64))]
struct Recent {
    name: NameId,
    length: u8,
    letters: [u8; SHORT],
}

impl Recent {
    fn new(word: &str, name: NameId) -> Option<Self> {
        let mut letters = [0; SHORT];
        letters.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
        Some(Self { name, length: word.len() as u8, letters })
    }

    fn is(&self, [first, second]: [&str; 2]) -> bool {
        let length = usize::from(self.length);
        first.len() + second.len() == length
            && self.letters[..first.len()] == *first.as_bytes()
            && self.letters[first.len()..length] == *second.as_bytes()
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

/// By their numbers.
const FIXED: [&str; 2] = ["…", "ScheduleAttemptFailure"];

const MOST_RECENT: usize = 8;
const SHORT: usize = 59;
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
    fn halves_are_found_as_one_word_while_it_is_remembered() {
        let mut names = Names::new(100);
        let add = names.id("NodeAdd").unwrap();
        assert_eq!(names.recent(["Node", "Add"]), Some(add));
        assert_eq!(names.recent(["NodeA", "Add"]), None);
        for number in 0..2 * MOST_RECENT {
            names.id(&number.to_string()).unwrap();
            assert!(names.recent.len() <= MOST_RECENT);
        }
        assert_eq!((names.recent(["Node", "Add"]), names.id("NodeAdd")), (None, Some(add)));
    }

    #[test]
    fn what_does_not_fit_on_the_stack_is_left_out() {
        assert_eq!(Short::of(format_args!("{}/{}", "a", 1)).as_str(), "a/1");
        assert_eq!(Short::of("ä".repeat(400)).as_str().len(), LONGEST);
        assert_eq!(Short::of(format!("x{}", "ä".repeat(400))).as_str().len(), LONGEST - 1);
    }
}
