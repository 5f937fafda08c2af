//! Any bytes are a sequence of operations; the queue and the reference must agree on it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roadstead_conformance::{Reference, Roadstead, compare, from_bytes};

fuzz_target!(|bytes: &[u8]| {
    if let Some(divergence) = compare::<Reference, Roadstead>(&from_bytes(bytes)) {
        panic!("{divergence}");
    }
});
