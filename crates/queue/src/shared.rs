//! The queue among threads and tasks.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::event::Event;
use crate::item::{Item, Name};
use crate::observer::Observer;
use crate::order::{PrioritySort, QueueSort};
use crate::place::Place;
use crate::policy::Policy;
use crate::queue::{Attempt, Finished, Queue, RejectError, Rejection};
use crate::sync::{Arc, AtomicUsize, Condvar, Mutex, MutexGuard, give_way};
use crate::time::Time;

/// A [`Queue`] behind a lock, for threads and tasks. Clones share it.
///
/// Every operation is one step under the lock: do what is due by the clock, call the queue, wake
/// who waits. Threads wait in [`pop`](Self::pop), tasks in [`pop_async`](Self::pop_async); both
/// get a guard that puts its item back, as after an error, if it is dropped.
///
/// Waiting threads see to the queue's timers themselves. Where only tasks wait, somebody must:
/// a thread in [`run_timers`](Self::run_timers), or a call of [`tick`](Self::tick) each second.
///
/// ```
/// # use roadstead_queue::{Config, Item, Plugins, Policy, Queue, SharedQueue};
/// # struct Job(&'static str);
/// # impl Clone for Job { fn clone(&self) -> Self { Self(self.0) } }
/// # impl Item for Job { type Key = str; fn key(&self) -> &str { self.0 } }
/// # struct NoRules;
/// # impl Policy for NoRules { type Item = Job; type Object = (); }
/// let queue = SharedQueue::new(Queue::new(Config::default(), Plugins::new(), NoRules));
/// std::thread::scope(|threads| {
///     threads.spawn(|| {
///         let attempt = queue.pop().expect("open, so it waits until there is something");
///         assert_eq!(attempt.item().0, "train");
///         attempt.finish();
///     });
///     queue.add(Job("train"));
/// });
/// ```
pub struct SharedQueue<P, S = PrioritySort, V = (), C = SystemClock>
where
    P: Policy,
    S: QueueSort<P::Item>,
{
    inner: Arc<Inner<P, S, V, C>>,
}

struct Inner<P: Policy, S: QueueSort<P::Item>, V, C> {
    state: Mutex<State<P, S, V>>,
    wake: Condvar,
    clock: C,
    /// How many threads ask for the lock.
    asking: AtomicUsize,
    /// How many events there were.
    events: AtomicUsize,
}

struct State<P: Policy, S: QueueSort<P::Item>, V> {
    queue: Queue<P, S, V>,
    /// Whether a thread sleeps that was not woken yet.
    sleeping: bool,
    wakers: Vec<(u64, Waker)>,
    /// Numbers the tasks that wait.
    tasks: u64,
}

impl<P: Policy, S: QueueSort<P::Item>, V: Observer<P::Item, P::Object>> SharedQueue<P, S, V> {
    /// Shares a queue, by the system's clock.
    pub fn new(queue: Queue<P, S, V>) -> Self {
        Self::with_clock(queue, SystemClock::new())
    }
}

impl<P, S, V, C> SharedQueue<P, S, V, C>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
    C: Clock,
{
    /// Shares a queue, by a clock of its own.
    pub fn with_clock(queue: Queue<P, S, V>, clock: C) -> Self {
        let state = State { queue, sleeping: false, wakers: Vec::new(), tasks: 0 };
        let inner = Inner {
            state: Mutex::new(state),
            wake: Condvar::new(),
            clock,
            asking: AtomicUsize::new(0),
            events: AtomicUsize::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Does something with the queue itself, and wakes whoever may go on.
    pub fn with<R>(&self, operate: impl FnOnce(&mut Queue<P, S, V>, Time) -> R) -> R {
        let mut state = self.lock();
        let now = self.inner.clock.now();
        state.queue.on_time(now);
        let result = operate(&mut state.queue, now);
        let ready = state.queue.has_next() || state.queue.is_closed();
        let wakers = if ready { std::mem::take(&mut state.wakers) } else { Vec::new() };
        let sleeping = ready && std::mem::take(&mut state.sleeping);
        drop(state);
        if sleeping {
            self.inner.wake.notify_all();
        }
        for (_, waker) in wakers {
            waker.wake();
        }
        result
    }

    /// Takes in a new item; see [`Queue::add`].
    pub fn add(&self, item: P::Item) -> Place {
        self.with(|queue, now| queue.add(item, now))
    }

    /// Tells that an item changed; see [`Queue::update`].
    pub fn update(
        &self,
        item: P::Item,
        changes: impl IntoIterator<Item = Event<P::Object>>,
    ) -> Place {
        self.with(|queue, now| queue.update(item, changes, now))
    }

    /// Tells that an item is gone; see [`Queue::delete`].
    pub fn delete<'a>(&self, name: impl Into<Name<'a, <P::Item as Item>::Key>>) -> Option<P::Item>
    where
        <P::Item as Item>::Key: 'a,
    {
        self.with(|queue, now| queue.delete(name, now))
    }

    /// Makes items active; see [`Queue::activate`].
    pub fn activate<'a>(
        &self,
        names: impl IntoIterator<Item = impl Into<Name<'a, <P::Item as Item>::Key>>>,
    ) where
        <P::Item as Item>::Key: 'a,
    {
        self.with(|queue, now| queue.activate(names, now));
    }

    /// Tells that something happened in the world; see [`Queue::on_event`].
    pub fn on_event(&self, event: Event<P::Object>) {
        self.with(|queue, now| queue.on_event(event, now));
        // Events come in storms, from one source that asks for the lock again at once, and a
        // lock goes to who asks first. Whoever pops or adds must not wait for a storm to pass.
        let events = self.inner.events.fetch_add(1, Relaxed);
        if events.is_multiple_of(BURST) && self.inner.asking.load(Relaxed) > 0 {
            give_way();
        }
    }

    /// Does what is due by the clock.
    pub fn tick(&self) {
        self.with(|_, _| ());
    }

    /// Closes the queue: whoever waits in a pop gets what is left, then nothing.
    pub fn close(&self) {
        self.with(|queue, _| queue.close());
    }

    /// Sees to the timers until the queue is closed; for a thread of its own, where only tasks
    /// wait in pops.
    pub fn run_timers(&self) {
        loop {
            self.tick();
            let state = self.lock();
            if state.queue.is_closed() {
                return;
            }
            drop(self.pause(state));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<P, S, V>> {
        // A policy that panicked leaves at worst the item that it was asked about in no place.
        // Everybody else must be able to go on.
        self.inner.asking.fetch_add(1, Relaxed);
        let state = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.inner.asking.fetch_sub(1, Relaxed);
        state
    }

    /// Sleeps until something happens, or until time alone may have changed something.
    fn pause<'a>(
        &self,
        mut state: MutexGuard<'a, State<P, S, V>>,
    ) -> MutexGuard<'a, State<P, S, V>> {
        state.sleeping = true;
        let now = self.inner.clock.now();
        let due = state.queue.next_wakeup().map_or(LONGEST_PAUSE, |next| next - now);
        let pause = due.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        match self.inner.wake.wait_timeout(state, pause) {
            Ok((state, _)) => state,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }
}

impl<P, S, V, C> SharedQueue<P, S, V, C>
where
    P: Policy,
    P::Item: Clone,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
    C: Clock,
{
    /// Waits for the most urgent item and opens an attempt on it. `None` once the queue is
    /// closed and nothing is left.
    pub fn pop(&self) -> Option<AttemptGuard<P, S, V, C>> {
        let mut state = self.lock();
        loop {
            if let Some(guard) = self.take(&mut state) {
                return Some(guard);
            }
            if state.queue.is_closed() {
                return None;
            }
            state = self.pause(state);
        }
    }

    /// Opens an attempt on the most urgent item, if there is one now.
    pub fn try_pop(&self) -> Option<AttemptGuard<P, S, V, C>> {
        self.take(&mut self.lock())
    }

    /// As [`pop`](Self::pop), for tasks of any runtime. Dropping the future is harmless.
    pub fn pop_async(&self) -> Pop<'_, P, S, V, C> {
        Pop { queue: self, task: None }
    }

    fn take(&self, state: &mut State<P, S, V>) -> Option<AttemptGuard<P, S, V, C>> {
        let now = self.inner.clock.now();
        state.queue.on_time(now);
        let attempt = state.queue.pop(now)?;
        let item = state.queue.item(&attempt)?.clone();
        Some(AttemptGuard { queue: self.clone(), attempt: Some(attempt), item })
    }
}

impl<P: Policy, S: QueueSort<P::Item>, V, C> Clone for SharedQueue<P, S, V, C> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

/// An attempt under way on an item of a [`SharedQueue`].
///
/// Dropped, it puts the item back with backoff, as after an error; unless the item was deleted
/// meanwhile.
#[must_use = "a dropped attempt puts its item back as after an error"]
pub struct AttemptGuard<P, S = PrioritySort, V = (), C = SystemClock>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
    C: Clock,
{
    queue: SharedQueue<P, S, V, C>,
    attempt: Option<Attempt>,
    item: P::Item,
}

impl<P, S, V, C> AttemptGuard<P, S, V, C>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
    C: Clock,
{
    /// The item, as it was when the attempt began.
    pub fn item(&self) -> &P::Item {
        &self.item
    }

    /// How many attempts there were on the item, this one included.
    pub fn number(&self) -> u32 {
        self.attempt.as_ref().map_or(0, Attempt::number)
    }

    /// Ends the attempt: the item leaves the queue. See [`Queue::finish`].
    pub fn finish(mut self) -> Option<Finished<P::Item>> {
        let attempt = self.attempt.take()?;
        self.queue.with(|queue, _| queue.finish(attempt))
    }

    /// Ends an attempt that failed: the item comes back. See [`Queue::reject`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::reject`].
    pub fn reject(mut self, rejection: Rejection<'_, P::Item>) -> Result<Place, RejectError> {
        let attempt = self.attempt.take().ok_or(RejectError::UnknownAttempt)?;
        self.queue.with(|queue, now| queue.reject(attempt, rejection, now))
    }
}

impl<P, S, V, C> Deref for AttemptGuard<P, S, V, C>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
    C: Clock,
{
    type Target = P::Item;

    fn deref(&self) -> &P::Item {
        &self.item
    }
}

impl<P, S, V, C> Drop for AttemptGuard<P, S, V, C>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
    C: Clock,
{
    fn drop(&mut self) {
        if let Some(attempt) = self.attempt.take() {
            // It fails only if the item is gone or another has its name: nothing to put back.
            let _ = self.queue.with(|queue, now| queue.reject(attempt, Rejection::error(), now));
        }
    }
}

/// Waits for an item; see [`SharedQueue::pop_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Pop<'a, P, S, V, C>
where
    P: Policy,
    S: QueueSort<P::Item>,
{
    queue: &'a SharedQueue<P, S, V, C>,
    task: Option<u64>,
}

impl<P, S, V, C> Future for Pop<'_, P, S, V, C>
where
    P: Policy,
    P::Item: Clone,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
    C: Clock,
{
    type Output = Option<AttemptGuard<P, S, V, C>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let queue = self.queue;
        let mut state = queue.lock();
        if let Some(guard) = queue.take(&mut state) {
            return Poll::Ready(Some(guard));
        }
        if state.queue.is_closed() {
            return Poll::Ready(None);
        }
        let task = *self.task.get_or_insert_with(|| {
            state.tasks += 1;
            state.tasks
        });
        let waker = context.waker().clone();
        match state.wakers.iter_mut().find(|(known, _)| *known == task) {
            Some((_, known)) => *known = waker,
            None => state.wakers.push((task, waker)),
        }
        Poll::Pending
    }
}

impl<P: Policy, S: QueueSort<P::Item>, V, C> Drop for Pop<'_, P, S, V, C> {
    fn drop(&mut self) {
        if let Some(task) = self.task {
            let state = self.queue.inner.state.lock();
            state
                .unwrap_or_else(PoisonError::into_inner)
                .wakers
                .retain(|(known, _)| *known != task);
        }
    }
}

/// How many events are handled in a row while others ask for the lock.
const BURST: usize = 4;
/// Timers are never late by more than this, whatever becomes due while a thread sleeps.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A clock that stands still must not keep a thread busy.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
