//! The first so many of a list, without sorting all of it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fmt;

/// In which order a list is, and whether from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sorted<S> {
    /// By what.
    pub by: S,
    /// From the last to the first.
    pub reversed: bool,
}

/// What things are sorted by, with their names between equals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<'a> {
    pub(super) value: Value<'a>,
    pub(super) reversed: bool,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value<'a> {
    Number(i128),
    Text(&'a str),
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_value = self.value.cmp(&other.value);
        let by_value = if self.reversed { by_value.reverse() } else { by_value };
        by_value
            .then_with(|| self.namespace.cmp(other.namespace))
            .then_with(|| self.name.cmp(other.name))
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key<'_> {}

/// The end of a page, from which the next one goes on. Its text is for whoever hands it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    number: Option<i128>,
    namespace: String,
    name: String,
}

impl Mark {
    /// Reads a mark; `None` if it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (number, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let number = match number {
            "" => None,
            number => Some(number.parse().ok()?),
        };
        Some(Self { number, namespace: namespace.to_owned(), name: name.to_owned() })
    }

    pub(super) fn of(key: &Key<'_>) -> Self {
        let number = match key.value {
            Value::Number(number) => Some(number),
            Value::Text(_) => None,
        };
        Self { number, namespace: key.namespace.to_owned(), name: key.name.to_owned() }
    }

    /// The key that it stands for, in a list of such keys; `None` if it is of another list.
    pub(super) fn key<'a>(
        &'a self,
        reversed: bool,
        text: impl Fn(&'a str, &'a str) -> Option<&'a str>,
    ) -> Option<Key<'a>> {
        let value = match (self.number, text(&self.namespace, &self.name)) {
            (Some(number), None) => Value::Number(number),
            (None, Some(text)) => Value::Text(text),
            (Some(_), Some(_)) | (None, None) => return None,
        };
        Some(Key { value, reversed, namespace: &self.namespace, name: &self.name })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.number {
            write!(f, "{number}")?;
        }
        write!(f, "/{}/{}", self.namespace, self.name)
    }
}

/// The first so many after a mark of all that is offered.
pub(super) struct First<'a, T> {
    limit: usize,
    after: Option<Key<'a>>,
    /// The last of them on top.
    found: BinaryHeap<Offer<'a, T>>,
    has_more: bool,
}

struct Offer<'a, T> {
    key: Key<'a>,
    thing: T,
}

impl<T> Ord for Offer<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T> PartialOrd for Offer<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Offer<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Offer<'_, T> {}

impl<'a, T> First<'a, T> {
    pub(super) fn new(limit: usize, after: Option<Key<'a>>) -> Self {
        Self { limit, after, found: BinaryHeap::new(), has_more: false }
    }

    pub(super) fn offer(&mut self, key: Key<'a>, thing: T) {
        if self.after.is_some_and(|after| key <= after) {
            return;
        }
        if self.found.len() >= self.limit {
            self.has_more = true;
            if self.found.peek().is_some_and(|last| last.key <= key) {
                return;
            }
            self.found.pop();
        }
        self.found.push(Offer { key, thing });
    }

    /// In order, with the mark of the last if there are more.
    pub(super) fn finish(self) -> (Vec<T>, Option<Mark>) {
        let found = self.found.into_sorted_vec();
        let mark = found.last().filter(|_| self.has_more).map(|last| Mark::of(&last.key));
        (found.into_iter().map(|offer| offer.thing).collect(), mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_make_the_sorted_list_whatever_the_limit() {
        let names: Vec<String> = (0..200).map(|number| format!("pod-{number:03}")).collect();
        for reversed in [false, true] {
            let key = |at: usize| Key {
                value: Value::Number((at * 7 % 13) as i128),
                reversed,
                namespace: "default",
                name: &names[at],
            };
            let mut expected: Vec<usize> = (0..names.len()).collect();
            expected.sort_by_key(|at| key(*at));
            for limit in [1, 7, 199, 200, 1000] {
                let (mut all, mut mark) = (Vec::new(), None::<Mark>);
                loop {
                    let text = mark.as_ref().map(ToString::to_string);
                    let read = text.map(|text| Mark::parse(&text).expect("it is a mark"));
                    assert_eq!(read, mark);
                    let after = mark.as_ref().and_then(|mark| mark.key(reversed, |_, _| None));
                    let mut first = First::new(limit, after);
                    for at in (0..names.len()).rev() {
                        first.offer(key(at), at);
                    }
                    let (page, next) = first.finish();
                    assert!(page.len() <= limit);
                    all.extend(page);
                    mark = next;
                    if mark.is_none() {
                        break;
                    }
                }
                assert_eq!(all, expected, "{limit}");
            }
        }
    }

    #[test]
    fn what_is_not_a_mark_is_not_read() {
        for text in ["", "x", "1/a", "x/a/b", "1/a/b/c", "1.5/a/b"] {
            assert_eq!(Mark::parse(text), None, "{text}");
        }
        assert!(Mark::parse("-5/default/web").is_some());
        assert!(Mark::parse("/default/web").is_some());
    }
}
