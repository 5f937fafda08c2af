//! Values kept once while somebody holds them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

/// Hands out the same `Arc` for equal values as long as one is held.
///
/// The table itself holds nothing alive: a value goes with its last holder, its slot at the next
/// sweep. Sweeps come as the table doubles, so slots stay within twice the largest number alive.
///
/// A slot is found by hash alone. Of two different values with one 64-bit hash only the first is
/// shared, the other is handed out anew each time: less sharing, never a wrong answer.
pub(crate) struct Pool<T> {
    slots: HashMap<u64, Weak<T>, BuildHasherDefault<Identity>>,
    sweep_at: usize,
}

impl<T> Pool<T> {
    pub(crate) fn new() -> Self {
        Self { slots: HashMap::default(), sweep_at: SMALLEST_SWEEP }
    }

    /// The value kept under `hash`, if it is alive and `is_same`.
    pub(crate) fn find(&self, hash: u64, is_same: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.slots.get(&hash)?.upgrade().filter(|value| is_same(value))
    }

    /// Keeps `value` under `hash`, unless another one lives there.
    pub(crate) fn keep(&mut self, hash: u64, value: &Arc<T>) {
        if self.slots.len() >= self.sweep_at {
            self.sweep();
        }
        let slot = self.slots.entry(hash).or_default();
        if slot.strong_count() == 0 {
            *slot = Arc::downgrade(value);
        }
    }

    /// Forgets the slots of values that nobody holds.
    pub(crate) fn sweep(&mut self) {
        self.slots.retain(|_, value| value.strong_count() > 0);
        self.slots.shrink_to(SMALLEST_SWEEP);
        self.sweep_at = (self.slots.len() * 2).max(SMALLEST_SWEEP);
    }

    /// How many slots there are, those of dead values included.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }
}

/// A hash that is the same in every run: nothing here may depend on a random seed.
pub(crate) fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The keys are hashes already.
#[derive(Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

const SMALLEST_SWEEP: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn share(pool: &mut Pool<String>, hash: u64, text: &str) -> Arc<String> {
        pool.find(hash, |kept| kept == text).unwrap_or_else(|| {
            let value = Arc::new(text.to_owned());
            pool.keep(hash, &value);
            value
        })
    }

    #[test]
    fn equal_values_are_shared_while_held() {
        let mut pool = Pool::new();
        let first = share(&mut pool, 1, "a");
        assert!(Arc::ptr_eq(&first, &share(&mut pool, 1, "a")));
    }

    #[test]
    fn of_two_values_with_one_hash_the_second_is_not_shared() {
        let mut pool = Pool::new();
        let first = share(&mut pool, 1, "a");
        let other = share(&mut pool, 1, "b");
        assert_eq!((first.as_str(), other.as_str()), ("a", "b"));
        assert!(!Arc::ptr_eq(&other, &share(&mut pool, 1, "b")));
        assert!(Arc::ptr_eq(&first, &share(&mut pool, 1, "a")));
    }

    #[test]
    fn the_table_does_not_grow_with_values_that_are_gone() {
        let mut pool = Pool::new();
        let held: Vec<_> = (0..100).map(|i| share(&mut pool, i, &i.to_string())).collect();
        for i in 100..100_000 {
            share(&mut pool, i, &i.to_string());
        }
        assert!(pool.len() <= 200, "{} slots", pool.len());
        pool.sweep();
        assert_eq!(pool.len(), held.len());
    }
}
