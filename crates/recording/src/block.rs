//! Blocks: steps in a row, compressed, with a length and a checksum.
//!
//! ```text
//! marker (4) | length of what follows the checksum (4) | length of the steps (4) | CRC-32 (4) | …
//! ```
//! The checksum is of the two lengths and of the compressed steps.

use std::io::{self, Read};

use flate2::Compression;
use flate2::read::{DeflateDecoder, DeflateEncoder};

pub(crate) const MARKER: [u8; 4] = *b"\x9eblk";
pub(crate) const HEAD: usize = 16;
/// No block is longer: the API takes no object of more than a few MiB.
pub(crate) const LONGEST: u32 = 64 << 20;

/// How a block begins.
pub(crate) struct Head {
    pub(crate) packed: u32,
    pub(crate) raw: u32,
    checksum: u32,
}

impl Head {
    /// `None` if it is no block.
    pub(crate) fn read(bytes: &[u8; HEAD]) -> Option<Self> {
        let word = |at: usize| {
            let bytes = bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let head = Self { packed: word(4)?, raw: word(8)?, checksum: word(12)? };
        let is_one = bytes.starts_with(&MARKER) && head.packed <= LONGEST && head.raw <= LONGEST;
        is_one.then_some(head)
    }

    /// The steps, if the block is whole.
    pub(crate) fn unpack(&self, packed: &[u8]) -> Option<Vec<u8>> {
        if checksum(self.packed, self.raw, packed) != self.checksum {
            return None;
        }
        let mut raw = Vec::with_capacity(self.raw as usize);
        let decoder = DeflateDecoder::new(packed).take(u64::from(self.raw) + 1);
        let read = { decoder }.read_to_end(&mut raw).ok()?;
        (read == self.raw as usize).then_some(raw)
    }
}

/// A block of these steps.
pub(crate) fn pack(raw: &[u8]) -> io::Result<Vec<u8>> {
    let mut block = vec![0; HEAD];
    DeflateEncoder::new(raw, Compression::new(LEVEL)).read_to_end(&mut block)?;
    let length = |length: usize| {
        let length = u32::try_from(length).ok().filter(|length| *length <= LONGEST);
        length.ok_or_else(|| io::Error::other("an object is too long to be recorded"))
    };
    let (packed, raw) = (length(block.len() - HEAD)?, length(raw.len())?);
    let checksum = checksum(packed, raw, &block[HEAD..]);
    let words = [u32::from_le_bytes(MARKER), packed, raw, checksum];
    for (place, word) in block.chunks_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    Ok(block)
}

fn checksum(packed: u32, raw: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&packed.to_le_bytes());
    hasher.update(&raw.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// Of what higher levels save, most costs more time than a busy scheduler has to spare.
const LEVEL: u32 = 6;
