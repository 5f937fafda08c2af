//! Answers that are good for a while.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Remembers answers until they expire. Bounded: when it is full and nothing has expired, it
/// forgets everything, which costs questions and never a wrong answer.
#[derive(Debug)]
pub(super) struct Expiring<K, V> {
    answers: Mutex<HashMap<K, (Instant, V)>>,
}

const MOST: usize = 4096;

impl<K: Hash + Eq, V: Clone> Expiring<K, V> {
    pub(super) fn new() -> Self {
        Self { answers: Mutex::new(HashMap::new()) }
    }

    pub(super) fn get(&self, key: &K, now: Instant) -> Option<V> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(key).filter(|(until, _)| now < *until).map(|(_, answer)| answer.clone())
    }

    pub(super) fn put(&self, key: K, answer: V, now: Instant, good_for: Duration) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MOST {
            answers.retain(|_, (until, _)| now < *until);
            if answers.len() >= MOST {
                answers.clear();
            }
        }
        answers.insert(key, (now + good_for, answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_forgotten_when_its_time_is_over() {
        let (answers, start) = (Expiring::new(), Instant::now());
        answers.put("a", 1, start, Duration::from_secs(10));
        assert_eq!(answers.get(&"a", start + Duration::from_secs(9)), Some(1));
        assert_eq!(answers.get(&"a", start + Duration::from_secs(10)), None);
    }

    #[test]
    fn many_askers_do_not_fill_the_memory() {
        let (answers, start) = (Expiring::new(), Instant::now());
        for key in 0..3 * MOST {
            answers.put(key, (), start, Duration::from_secs(10));
        }
        let kept = answers.answers.lock().expect("nobody panicked").len();
        assert!(kept <= MOST, "{kept}");
        assert_eq!(answers.get(&(3 * MOST - 1), start), Some(()));
    }
}
