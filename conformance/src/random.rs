//! Sequences of operations that nobody recorded, made up from small numbers.
//!
//! One generator serves random tests and fuzzing: it asks a [`Source`] for numbers below some
//! bound and makes an operation of them. It knows what it may do next because it runs a reference
//! queue along, so whatever the numbers are, the sequence is one that the real queue could have
//! been driven with, and no two pods ever get the same timestamp. It never asks for a pod in two
//! places (D1): a pod is made anew with another uid, and an update that would end so is not made.

mod generator;
mod header;
mod pods;

use crate::trace::{Header, Op};

/// A queue's configuration and what to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The configuration.
    pub header: Header,
    /// What to do, in order.
    pub ops: Vec<Op>,
}

/// The sequence of `ops` operations or a few more that belongs to a seed.
pub fn from_seed(seed: u64, ops: usize) -> Sequence {
    let mut sequence = sequence(&mut SplitMix64::new(seed), ops);
    sequence.header.name = format!("seed-{seed}");
    sequence
}

/// The sequence that arbitrary bytes stand for: any bytes are one, and it is not longer than they
/// are, give or take a few operations.
pub fn from_bytes(bytes: &[u8]) -> Sequence {
    sequence(&mut Bytes::new(bytes), bytes.len())
}

/// Makes up a sequence until the source is spent or there are `ops` operations.
///
/// There may be a few more than that: what belongs together is not torn apart.
pub fn sequence(source: &mut dyn Source, ops: usize) -> Sequence {
    let header = header::header(source);
    let ops = generator::operations(source, &header, ops);
    Sequence { header, ops }
}

/// Where small numbers come from.
pub trait Source {
    /// A number less than `bound`; 0 if the source is spent or the bound is 0.
    fn below(&mut self, bound: u32) -> u32;

    /// Whether nothing but zeros will follow.
    fn is_spent(&self) -> bool;
}

impl dyn Source + '_ {
    /// One of several things.
    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        self.index(from).map(|index| &from[index])
    }

    /// The index of one of several things.
    fn index<T>(&mut self, from: &[T]) -> Option<usize> {
        let bound = u32::try_from(from.len()).unwrap_or(u32::MAX);
        (bound > 0).then(|| self.below(bound) as usize)
    }

    /// One of several things that are always there.
    fn one_of<T: Copy, const N: usize>(&mut self, from: [T; N]) -> T {
        const { assert!(N > 0 && N <= 256, "there is something to choose, and a byte chooses it") };
        from[self.below(N as u32) as usize]
    }

    /// Yes, so many times out of a hundred.
    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// A number from `low` to `high`, both included.
    fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }
}

/// Sebastiano Vigna's SplitMix64: small, good enough, and the same everywhere.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The numbers that belong to a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Source for SplitMix64 {
    fn below(&mut self, bound: u32) -> u32 {
        // The upper half of the product: no bias worth speaking of for bounds this small.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }

    fn is_spent(&self) -> bool {
        false
    }
}

/// Numbers out of bytes, as few bytes for each as its bound needs.
#[derive(Clone, Debug)]
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// The numbers that these bytes stand for.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl Source for Bytes<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        let mut number = 0_u64;
        let mut reach = 1_u64;
        while reach < u64::from(bound) {
            let Some((first, rest)) = self.0.split_first() else {
                break;
            };
            self.0 = rest;
            number = number << 8 | u64::from(*first);
            reach <<= 8;
        }
        number.checked_rem(u64::from(bound)).unwrap_or(0) as u32
    }

    fn is_spent(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_numbers() {
        let mut numbers = SplitMix64::new(1234567);
        assert_eq!(numbers.next(), 6457827717110365317);
        assert_eq!(numbers.next(), 3203168211198807973);
        assert_eq!(numbers.next(), 9817491932198370423);
    }

    #[test]
    fn bytes_give_numbers_below_any_bound_and_zeros_when_spent() {
        let mut bytes = Bytes::new(&[255, 1, 2, 7]);
        assert_eq!(bytes.below(10), 5);
        assert_eq!(bytes.below(1), 0, "takes no byte");
        assert_eq!(bytes.below(0), 0, "takes no byte");
        assert_eq!(bytes.below(60_000), 258);
        assert!(!bytes.is_spent());
        assert_eq!(bytes.below(300), 7);
        assert!(bytes.is_spent());
        assert_eq!(bytes.below(300), 0);
    }
}
