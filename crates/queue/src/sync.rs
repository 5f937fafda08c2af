//! The primitives that threads meet at. The model checker has its own.

#[cfg(shuttle)]
pub(crate) use shuttle::{
    sync::{Arc, Condvar, Mutex, MutexGuard, atomic::AtomicUsize},
    thread::yield_now,
};
#[cfg(not(shuttle))]
pub(crate) use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, atomic::AtomicUsize},
    thread::yield_now,
};
