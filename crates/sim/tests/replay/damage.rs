//! Recordings that were cut or damaged.

use std::io::Cursor;

use roadstead_recording::{Ending, ReadError, Reader, Recorded};

use crate::churn::Random;
use crate::testing::{header, reader, record, replay, seeds};

#[test]
fn a_recording_that_is_cut_anywhere_replays_up_to_the_cut_and_says_so() {
    for seed in seeds(4) {
        let (_, bytes) = record("cut", seed);
        let steps = all_steps(bytes.clone());
        let begin = bytes.len() - blocks_length(&bytes);
        let mut random = Random::new(seed ^ 0xc07);
        for _ in 0..25 {
            let cut = begin + random.below((bytes.len() - begin) as u64) as usize;
            let mut replayed = replay(bytes[..cut].to_vec());
            replayed.run_to(None, &mut |_| ()).expect("a cut is no error");
            let Some(Ending::Cut { byte, of }) = replayed.ending() else {
                panic!("seed {seed}: cut at {cut} of {}", bytes.len());
            };
            assert_eq!(of, cut as u64, "seed {seed}");
            assert!(byte <= of, "seed {seed}: {byte} of {of}");
            assert_eq!(replayed.difference(), None, "seed {seed}, cut at {cut}");
            let read = all_steps(bytes[..cut].to_vec());
            assert_eq!(read, steps[..read.len()], "seed {seed}, cut at {cut}");
        }
    }
}

#[test]
fn a_recording_that_is_cut_in_its_header_is_refused() {
    let (_, bytes) = record("header", 1);
    let begin = bytes.len() - blocks_length(&bytes);
    for cut in 0..begin {
        let error = Reader::new("run.rec", Cursor::new(bytes[..cut].to_vec())).err();
        match error {
            Some(ReadError::NoRecording { .. }) if cut < 8 => {}
            Some(ReadError::NoHeader { .. }) if cut >= 8 => {}
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn a_flipped_byte_is_found_and_nothing_wrong_is_replayed() {
    let (mut cut, mut damaged) = (0, 0);
    for seed in seeds(4) {
        let (_, bytes) = record("flipped", seed);
        let steps = all_steps(bytes.clone());
        let begin = bytes.len() - blocks_length(&bytes);
        let mut random = Random::new(seed ^ 0xf11b);
        for _ in 0..25 {
            let at = begin + random.below((bytes.len() - begin) as u64) as usize;
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << random.below(8);
            let mut reader = reader(flipped);
            let mut read: Vec<Recorded> = Vec::new();
            let ended = loop {
                match reader.next_step() {
                    Ok(Some(recorded)) => read.push(recorded),
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            assert!(read.len() < steps.len(), "seed {seed}: byte {at} was not noticed");
            assert_eq!(read, steps[..read.len()], "seed {seed}, byte {at}");
            match ended {
                Ok(()) => cut += 1,
                Err(ReadError::Damaged { byte, of, .. }) => {
                    assert!(byte <= at as u64 && of == bytes.len() as u64, "{byte} {at} {of}");
                    damaged += 1;
                }
                Err(error) => panic!("seed {seed}, byte {at}: {error}"),
            }
        }
    }
    assert!(cut + damaged > 0, "nothing was tried");
}

#[test]
fn what_is_no_recording_or_one_of_another_format_is_refused_with_the_way_out() {
    let refused = |bytes: &[u8]| {
        let error = Reader::new("run.rec", Cursor::new(bytes.to_vec())).err();
        error.expect("it is refused").to_string()
    };
    assert!(refused(b"apiVersion: v1").contains("this is no recording"));
    assert!(refused(b"").contains("this is no recording"));
    let (_, mut bytes) = record("format", 2);
    bytes[8] = 7;
    let said = refused(&bytes);
    assert!(said.contains("a recording of format 7, and this program reads format 1"), "{said}");
    bytes[8] = 1;
    bytes[30] ^= 1;
    assert!(refused(&bytes).contains("the header is cut or damaged"));
}

fn all_steps(bytes: Vec<u8>) -> Vec<Recorded> {
    let mut reader = reader(bytes);
    std::iter::from_fn(|| reader.next_step().expect("no damage in the middle")).collect()
}

/// How long a recording is without its header.
fn blocks_length(bytes: &[u8]) -> usize {
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes"));
    let header = serde_json::to_vec(&header(0)).expect("plain data");
    // Seeds differ in their digits only.
    assert!(header.len().abs_diff(length as usize) < 20);
    bytes.len() - 20 - length as usize
}
