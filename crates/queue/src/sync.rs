//! The primitives that threads meet at. The model checker has its own.

#[cfg(shuttle)]
pub(crate) use shuttle::{
    sync::{Arc, Condvar, Mutex, MutexGuard, atomic::AtomicUsize},
    thread::yield_now as give_way,
};
#[cfg(not(shuttle))]
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, atomic::AtomicUsize};

/// Leaves the processor to others for a moment. To yield is not enough: a thread that yields and
/// asks again at once keeps a core busy that those who wait could use.
#[cfg(not(shuttle))]
pub(crate) fn give_way() {
    std::thread::park_timeout(std::time::Duration::from_micros(20));
}
