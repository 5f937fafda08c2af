//! The thread that owns the scheduler.
//!
//! It is told what happens in the cluster, runs scheduling cycles while there are pods to be tried,
//! hands on what is to be done, and answers questions in between. Nobody else touches the
//! scheduler, so there is nothing to lock.

#[cfg(test)]
mod tests;

use std::thread::{self, JoinHandle};
use std::time::Duration;

use roadstead_cluster::kubernetes::Input;
use roadstead_cluster::kubernetes::writing::{Class, Writer};
use roadstead_cluster::{Notice, Object};
use roadstead_model::World;
use roadstead_queue::Time;
use roadstead_recording::Step;
use roadstead_scheduler::Command;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::clock::Clock;
use crate::observing::Observed;
use crate::recording::Recording;

/// Carries out what a scheduler wants done.
pub(crate) trait Hands: Send + 'static {
    /// Takes a command, and returns at once.
    fn take(&self, command: Command);

    /// Whether so much waits to be done that no more pods should be placed for now.
    fn are_full(&self) -> bool;
}

impl Hands for Writer {
    fn take(&self, command: Command) {
        self.send(command);
    }

    fn are_full(&self) -> bool {
        self.counts(Class::Bind).waiting >= MOST_WAITING_BINDS
    }
}

/// What the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orders {
    /// Follow the cluster, with a queue that is ready to be scheduled from.
    Standby,
    /// Schedule.
    Schedule,
    /// Try no more pods; see to those that are being bound.
    Finish,
}

/// What the driver is made of.
pub(crate) struct Driver<H> {
    pub(crate) scheduler: Observed,
    pub(crate) world: World,
    pub(crate) clock: Clock,
    pub(crate) hands: H,
    /// What the cluster shows and answers. The driver ends when nobody sends any more.
    pub(crate) inputs: mpsc::Receiver<Input>,
    pub(crate) orders: watch::Receiver<Orders>,
    /// Called once everything that was there at the start has been shown.
    pub(crate) on_synced: Option<Box<dyn FnOnce() + Send>>,
    /// Whether a sample of sleeping pods is tried out now and then.
    pub(crate) verifies_wakeups: bool,
    /// Takes down every call on the scheduler that changes anything.
    pub(crate) recording: Recording,
}

/// The way to a running driver. Cloning one is cheap: the clones lead to the same.
#[derive(Clone)]
pub(crate) struct Questions {
    sender: mpsc::Sender<Question>,
}

/// Something to be found out on the scheduler's thread; it sends what it finds itself.
pub(crate) type Question = Box<dyn FnOnce(&mut Observed, Time) + Send>;

impl Questions {
    /// Asks the scheduler, between two cycles. `None` if it has stopped, or is too busy.
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Observed, Time) -> R + Send + 'static,
    ) -> Option<R> {
        let (sender, receiver) = oneshot::channel();
        let question: Question = Box::new(|scheduler, now| {
            // Whoever asked may not wait any more.
            let _ = sender.send(question(scheduler, now));
        });
        let answer = async {
            self.put(question).await?;
            receiver.await.ok()
        };
        timeout(PATIENCE, answer).await.ok().flatten()
    }

    /// Hands over a question that answers by itself. `None` if the scheduler has stopped.
    pub(crate) async fn put(&self, question: Question) -> Option<()> {
        self.sender.send(question).await.ok()
    }
}

impl<H: Hands> Driver<H> {
    /// Starts the thread.
    pub(crate) fn start(self) -> std::io::Result<(Questions, JoinHandle<()>)> {
        let (sender, questions) = mpsc::channel(WAITING_QUESTIONS);
        // Only for its timer: it drives this one task.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let thread = thread::Builder::new()
            .name("scheduler".to_owned())
            .spawn(move || runtime.block_on(self.run(questions)))?;
        Ok((Questions { sender }, thread))
    }

    async fn run(mut self, questions: mpsc::Receiver<Question>) {
        self.drive(questions).await;
        self.recording.end(self.clock.now());
    }

    async fn drive(&mut self, mut questions: mpsc::Receiver<Question>) {
        let mut verification = self.clock.now() + BETWEEN_SAMPLES;
        loop {
            let orders = *self.orders.borrow_and_update();
            let was_told = self.hear_what_is_there();
            for _ in 0..QUESTIONS_AT_ONCE {
                let Ok(question) = questions.try_recv() else { break };
                question(&mut self.scheduler, self.clock.now());
            }
            self.on_time();
            let has_tried = orders == Orders::Schedule && self.try_pods();
            if self.verifies_wakeups
                && orders == Orders::Schedule
                && self.clock.now() >= verification
            {
                self.verify_wakeups();
                verification = self.clock.now() + BETWEEN_SAMPLES;
            }
            self.hand_on();
            if was_told || has_tried {
                continue;
            }
            let alarm = self.alarm(orders == Orders::Schedule);
            tokio::select! {
                input = self.inputs.recv() => match input {
                    Some(input) => self.hear(input),
                    None => return,
                },
                Some(question) = questions.recv() => {
                    question(&mut self.scheduler, self.clock.now());
                }
                changed = self.orders.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = tokio::time::sleep(alarm) => {}
            }
        }
    }

    /// For how long to wait if nobody says anything.
    fn alarm(&self, schedules: bool) -> Duration {
        let pods_wait = schedules && self.scheduler.queue().counts().active > 0;
        // They wait for others to be bound, of which nobody tells the driver.
        let longest = if pods_wait { WHILE_HANDS_ARE_FULL } else { LONGEST_WAIT };
        let due = self.scheduler.next_wakeup().map(|due| self.clock.until(due));
        due.map_or(longest, |due| due.min(longest))
    }

    /// Takes some of what has arrived. Whether there was anything.
    fn hear_what_is_there(&mut self) -> bool {
        for heard in 0..INPUTS_AT_ONCE {
            match self.inputs.try_recv() {
                Ok(input) => self.hear(input),
                Err(_) => return heard > 0,
            }
        }
        true
    }

    fn on_time(&mut self) {
        let now = self.clock.now();
        if self.scheduler.is_due(now) {
            self.recording.step(now, || Step::OnTime);
            self.scheduler.on_time(now);
        }
    }

    fn hear(&mut self, input: Input) {
        let now = self.clock.now();
        if self.recording.is_on()
            && let Some(step) = step(&input)
        {
            self.recording.step(now, || step);
        }
        match input {
            Input::Set(object) => {
                if let Some(notice) = self.read(&object) {
                    notice.tell(&mut self.scheduler, now);
                }
            }
            Input::Gone(object) => {
                if let Some(notice) = self.read(&object) {
                    notice.tell_gone(&mut self.scheduler, now);
                }
            }
            Input::Synced => {
                if let Some(on_synced) = self.on_synced.take() {
                    on_synced();
                }
            }
            Input::Bound { pod, result } => self.scheduler.bound(&pod, result, now),
            Input::Written { pod, result } => self.scheduler.written(&pod, result, now),
            Input::Evicted { preemptor, result } => {
                self.scheduler.evicted(&preemptor, &result, now);
            }
        }
    }

    fn read(&mut self, object: &Object) -> Option<Notice> {
        let notice = Notice::of(object, &mut self.world);
        let log = |error| tracing::warn!("{} is not understood: {error}", object.key());
        notice.map_err(log).ok().flatten()
    }

    /// Tries some pods, if everything is known and there is a place for what comes of it. Whether
    /// there were any.
    fn try_pods(&mut self) -> bool {
        let is_synced = self.on_synced.is_none();
        if !is_synced || self.hands.are_full() {
            return false;
        }
        for tried in 0..PODS_AT_ONCE {
            if !self.scheduler.queue().has_next() {
                return tried > 0;
            }
            let now = self.clock.now();
            self.recording.step(now, || Step::Cycle);
            if !self.scheduler.schedule_one(now) {
                return tried > 0;
            }
        }
        true
    }

    fn verify_wakeups(&mut self) {
        let now = self.clock.now();
        self.recording.step(now, || Step::Verify { budget: 1 });
        for missed in self.scheduler.verify_wakeups(1, now) {
            let (namespace, name) = (missed.pod.namespace(), &missed.pod.name);
            let (plugins, events) = (missed.rejectors.join(", "), missed.events.join(", "));
            tracing::error!(
                "pod {namespace}/{name} slept though {} would take it: {plugins} rejected it and \
                 should have heard of one of these: {events}",
                missed.node
            );
        }
    }

    fn hand_on(&mut self) {
        let commands: Vec<Command> = self.scheduler.commands().collect();
        self.recording.decided(self.clock.now(), &commands);
        for command in commands {
            self.hands.take(command);
        }
    }
}

/// What is recorded of something that was heard; `None` if the scheduler is not told of it.
fn step(input: &Input) -> Option<Step> {
    Some(match input {
        Input::Set(object) => Step::Set(object.clone()),
        Input::Gone(object) => Step::Gone(object.clone()),
        Input::Synced => return None,
        Input::Bound { pod, result } => Step::Bound { uid: pod.clone(), result: result.clone() },
        Input::Written { pod, result } => {
            Step::Written { uid: pod.clone(), result: result.clone() }
        }
        Input::Evicted { preemptor, result } => {
            Step::Evicted { preemptor: preemptor.clone(), result: result.clone() }
        }
    })
}

/// How many bindings may wait until no more pods are placed: enough to keep every connection busy,
/// and few enough that an urgent pod does not wait long behind them.
const MOST_WAITING_BINDS: usize = 512;
/// How much is heard before pods are tried, and the other way round.
const INPUTS_AT_ONCE: usize = 256;
const PODS_AT_ONCE: usize = 64;
/// How many questions are answered before pods are tried, however many are asked.
const QUESTIONS_AT_ONCE: usize = 4;
const WHILE_HANDS_ARE_FULL: Duration = Duration::from_millis(5);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
const BETWEEN_SAMPLES: Duration = Duration::from_secs(1);
const WAITING_QUESTIONS: usize = 64;
/// How long whoever asks waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
