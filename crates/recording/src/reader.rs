//! Reading a recording, whole or not.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use roadstead_queue::Time;

use crate::block::{HEAD, Head, LONGEST, MARKER};
use crate::bytes::Bytes;
use crate::encoding::{decode, skip};
use crate::error::ReadError;
use crate::header::{FORMAT, Header};
use crate::step::{Recorded, Step};

pub(crate) const MAGIC: [u8; 8] = *b"rdstead\n";

/// Reads a recording step by step, a block at a time.
pub struct Reader<R = BufReader<File>> {
    file: String,
    input: R,
    header: Header,
    /// Where the first block begins.
    begin: u64,
    /// How long the file is.
    length: u64,
    /// Where the next block begins.
    next: u64,
    /// The steps of this block, and how many of their bytes were read.
    raw: Vec<u8>,
    done: usize,
    /// The time of the last step of this block.
    last: Time,
    number: u64,
    ending: Option<Ending>,
}

/// How a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As whoever recorded meant it to.
    Complete,
    /// Where the process died, or the file was cut.
    Cut {
        /// How many bytes of it could be read.
        byte: u64,
        /// How long the file is.
        of: u64,
    },
}

impl Reader {
    /// Opens a recording.
    ///
    /// # Errors
    /// There is no such file, it is no recording, or one of another format.
    pub fn open(file: &Path) -> Result<Self, ReadError> {
        let name = file.to_string_lossy().into_owned();
        let opened = File::open(file);
        let input = opened.map_err(|error| ReadError::Unreadable { file: name.clone(), error })?;
        Self::new(name, BufReader::with_capacity(64 << 10, input))
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Reads a recording from its beginning. `file` is its name in messages.
    ///
    /// # Errors
    /// It is no recording, or one of another format.
    pub fn new(file: impl Into<String>, mut input: R) -> Result<Self, ReadError> {
        let file = file.into();
        let unreadable = |error| ReadError::Unreadable { file: file.clone(), error };
        let length = input.seek(SeekFrom::End(0)).map_err(unreadable)?;
        input.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        let mut magic = [0; MAGIC.len()];
        if !fill(&mut input, &mut magic).map_err(unreadable)? || magic != MAGIC {
            return Err(ReadError::NoRecording { file });
        }
        let mut words = [[0; 4]; 3];
        for word in &mut words {
            if !fill(&mut input, word).map_err(unreadable)? {
                return Err(ReadError::NoHeader { file });
            }
        }
        let [format, size, checksum] = words.map(u32::from_le_bytes);
        if format != FORMAT {
            return Err(ReadError::OtherFormat { file, found: format, known: FORMAT });
        }
        let begin = (MAGIC.len() + 12) as u64 + u64::from(size);
        if size > LONGEST || begin > length {
            return Err(ReadError::NoHeader { file });
        }
        let mut json = vec![0; size as usize];
        let is_whole = fill(&mut input, &mut json).map_err(unreadable)?;
        let header = serde_json::from_slice(&json).ok();
        let header = header.filter(|_| is_whole && crc32fast::hash(&json) == checksum);
        let Some(header) = header else { return Err(ReadError::NoHeader { file }) };
        Ok(Self {
            file,
            input,
            header,
            begin,
            length,
            next: begin,
            raw: Vec::new(),
            done: 0,
            last: Time::ZERO,
            number: 0,
            ending: None,
        })
    }

    /// What the recording is of.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Its name.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The next step; `None` at the end, which [`ending`](Self::ending) tells of.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged with more after the damage.
    pub fn next_step(&mut self) -> Result<Option<Recorded>, ReadError> {
        if self.ending.is_some() {
            return Ok(None);
        }
        while self.done == self.raw.len() {
            if !self.read_block()? {
                return Ok(None);
            }
        }
        let mut bytes = Bytes(&self.raw[self.done..]);
        let decoded = decode(&mut bytes, self.last);
        let (at, step) = decoded.map_err(|problem| ReadError::NotUnderstood {
            file: self.file.clone(),
            step: self.number,
            problem,
        })?;
        self.done = self.raw.len() - bytes.0.len();
        self.last = at;
        if matches!(step, Step::Ended { .. }) {
            self.ending = Some(Ending::Complete);
        }
        let number = self.number;
        self.number += 1;
        Ok(Some(Recorded { number, at, step }))
    }

    /// How it ends, once the end was reached.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// How many bytes follow the end of a complete recording, once that was reached. They are none
    /// of it.
    #[must_use]
    pub fn bytes_after_end(&self) -> u64 {
        match self.ending {
            Some(Ending::Complete) => self.length - self.next,
            Some(Ending::Cut { .. }) | None => 0,
        }
    }

    /// When the last step was that can be read, and begins again with the first. Much cheaper than
    /// reading all of them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn find_end(&mut self) -> Result<Time, ReadError> {
        self.rewind();
        let mut last = self.header.start();
        loop {
            match self.read_block() {
                Ok(true) => {}
                Ok(false) | Err(ReadError::Damaged { .. }) => break,
                Err(error) => return Err(error),
            }
            let (mut bytes, mut since) = (Bytes(&self.raw), Time::ZERO);
            while let Some(at) = skip(&mut bytes, since) {
                (last, since) = (last.max(at), at);
            }
        }
        self.rewind();
        Ok(last)
    }

    /// Begins again with the first step.
    pub fn rewind(&mut self) {
        (self.next, self.number, self.ending) = (self.begin, 0, None);
        self.raw.clear();
        self.done = 0;
    }

    /// Whether there was another block.
    fn read_block(&mut self) -> Result<bool, ReadError> {
        let at = self.next;
        let read = self.block_at(at).map_err(|error| self.unreadable(error))?;
        let Some((raw, next)) = read else {
            if at < self.length && self.is_more_after(at).map_err(|error| self.unreadable(error))? {
                return Err(ReadError::Damaged {
                    file: self.file.clone(),
                    byte: at,
                    of: self.length,
                    steps: self.number,
                    after: self.last - self.header.start(),
                });
            }
            self.ending = Some(Ending::Cut { byte: at, of: self.length });
            return Ok(false);
        };
        (self.raw, self.done, self.next, self.last) = (raw, 0, next, Time::ZERO);
        Ok(true)
    }

    /// The steps of the block that begins there, and where it ends; `None` if there is no whole
    /// one.
    fn block_at(&mut self, at: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
        self.input.seek(SeekFrom::Start(at))?;
        let mut head = [0; HEAD];
        if !fill(&mut self.input, &mut head)? {
            return Ok(None);
        }
        let end = |head: &Head| at + HEAD as u64 + u64::from(head.packed);
        let Some(head) = Head::read(&head).filter(|head| end(head) <= self.length) else {
            return Ok(None);
        };
        let mut packed = vec![0; head.packed as usize];
        if !fill(&mut self.input, &mut packed)? {
            return Ok(None);
        }
        Ok(head.unpack(&packed).map(|raw| (raw, end(&head))))
    }

    /// Whether a whole block follows anywhere: then something in between is damaged.
    fn is_more_after(&mut self, at: u64) -> io::Result<bool> {
        let mut from = at + 1;
        let mut window = vec![0; SEARCHED_AT_ONCE];
        while from < self.length {
            self.input.seek(SeekFrom::Start(from))?;
            let left = usize::try_from(self.length - from).unwrap_or(usize::MAX);
            let size = left.min(SEARCHED_AT_ONCE);
            if !fill(&mut self.input, &mut window[..size])? {
                return Ok(false);
            }
            let found = window[..size].windows(MARKER.len()).position(|four| four == MARKER);
            let Some(found) = found else {
                // A marker may lie across the end of the window.
                from += size.saturating_sub(MARKER.len() - 1).max(1) as u64;
                continue;
            };
            let candidate = from + found as u64;
            if self.block_at(candidate)?.is_some() {
                return Ok(true);
            }
            from = candidate + 1;
        }
        Ok(false)
    }

    fn unreadable(&self, error: io::Error) -> ReadError {
        ReadError::Unreadable { file: self.file.clone(), error }
    }
}

impl<R> std::fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, number, .. } = self;
        f.debug_struct("Reader").field("file", file).field("step", number).finish_non_exhaustive()
    }
}

/// Whether there was enough to fill it.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

const SEARCHED_AT_ONCE: usize = 64 << 10;
