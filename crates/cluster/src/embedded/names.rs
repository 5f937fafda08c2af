//! Names and uids, drawn from a seed.

use std::fmt::Write;

/// Draws what an API server draws at random, always the same from the same seed.
#[derive(Clone, Debug)]
pub(super) struct Names {
    state: u64,
}

impl Names {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The five letters after a generated name.
    pub(super) fn suffix(&mut self) -> String {
        letters(self.draw(), 5)
    }

    pub(super) fn uid(&mut self) -> String {
        let (high, low) = (self.draw(), self.draw());
        let mut uid = String::with_capacity(36);
        // The bits that say "version 4" and "variant 1" are where every reader expects them.
        let _ = write!(
            uid,
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff
        );
        uid
    }

    /// Splitmix64: small, and good enough for names.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// What a template is called by: equal texts, equal names.
pub(super) fn hash(text: &str) -> String {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    letters(text.bytes().fold(0xcbf2_9ce4_8422_2325, fnv), 9)
}

fn letters(mut number: u64, count: usize) -> String {
    let base = SAFE.len() as u64;
    (0..count)
        .map(|_| {
            let letter = SAFE[(number % base) as usize];
            number /= base;
            char::from(letter)
        })
        .collect()
}

/// Kubernetes' letters for names: no vowels and nothing that looks like one.
const SAFE: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
