//! Strings that are compared: cheap to clone, compared by address and hash.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use crate::pool::{Pool, hash_of};

/// A string that is cheap to clone, compare and hash.
///
/// Texts of one [`World`](crate::World) are told apart without looking at their letters. Texts of
/// different worlds compare correctly too, but equal ones cost a string comparison. The order is
/// that of the letters.
#[derive(Clone)]
pub struct Text {
    hash: u64,
    letters: Arc<Letters>,
}

impl Text {
    /// A text of its own, for what is unique anyway: the names and uids of pods.
    #[must_use]
    pub fn unshared(text: &str) -> Self {
        Self { hash: hash_of(text), letters: Arc::new(Letters(text.into())) }
    }

    /// The letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.letters.0
    }
}

/// Keeps one copy of each text that somebody holds.
pub(crate) struct Interner {
    texts: Pool<Letters>,
}

impl Interner {
    pub(crate) fn new() -> Self {
        Self { texts: Pool::new() }
    }

    pub(crate) fn text(&mut self, text: &str) -> Text {
        let hash = hash_of(text);
        if let Some(letters) = self.texts.find(hash, |kept| &*kept.0 == text) {
            return Text { hash, letters };
        }
        let letters = Arc::new(Letters(text.into()));
        self.texts.keep(hash, &letters);
        Text { hash, letters }
    }

    pub(crate) fn sweep(&mut self) {
        self.texts.sweep();
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }
}

struct Letters(Box<str>);

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && (Arc::ptr_eq(&self.letters, &other.letters) || self.letters.0 == other.letters.0)
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.letters, &other.letters) {
            return Ordering::Equal;
        }
        self.as_str().cmp(other.as_str())
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_of_one_interner_are_one_allocation() {
        let mut interner = Interner::new();
        let (first, again, other) =
            (interner.text("zone"), interner.text("zone"), interner.text("rack"));
        assert!(Arc::ptr_eq(&first.letters, &again.letters));
        assert_eq!(first, again);
        assert_ne!(first, other);
        assert!(other < first);
    }

    #[test]
    fn texts_of_different_interners_compare_by_their_letters() {
        let (mut one, mut two) = (Interner::new(), Interner::new());
        assert_eq!(one.text("zone"), two.text("zone"));
        assert_ne!(one.text("zone"), two.text("rack"));
        assert_eq!(one.text("web-0"), Text::unshared("web-0"));
        assert_eq!(hash_of(&one.text("zone")), hash_of(&two.text("zone")));
    }

    #[test]
    fn ever_new_texts_do_not_pile_up() {
        let mut interner = Interner::new();
        let held = interner.text("held");
        for i in 0..100_000 {
            interner.text(&i.to_string());
        }
        assert!(interner.len() <= 128, "{} slots", interner.len());
        assert!(Arc::ptr_eq(&held.letters, &interner.text("held").letters));
    }

    #[test]
    fn a_handle_is_two_words() {
        assert_eq!(size_of::<Text>(), 16);
        assert_eq!(size_of::<Option<Text>>(), 16);
    }
}
