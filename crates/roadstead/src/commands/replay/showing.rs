//! A recording in a browser: the dashboard, at any moment of it.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roadstead_queue::Time;
use roadstead_recording::{Header, Reader};
use roadstead_scheduler::{JournalLimits, Registry, Setup};
use roadstead_sim::{Replay, setup_of};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::driver::Question;
use crate::error::Error;
use crate::observing::{self, Watchers};
use crate::serving::api::{Change, Epoch, Mode, Refusal, Replay as Seek, Span, Stage, Standing};
use crate::serving::{
    self, Answer, Health, Ports, ProcessMetrics, Served, Serving, Source, Unavailable,
};
use crate::{FINE, stopping};

/// Serves the dashboard until a signal comes.
pub(super) fn show(
    mut reader: Reader,
    at: Option<Time>,
    port: u16,
    registry: &Registry,
    out: &mut dyn Write,
) -> Result<u8, Error> {
    let header = reader.header().clone();
    let file = reader.file().to_owned();
    let end = reader.find_end().map_err(Error::Recording)?;
    let setup = || setup_of(&header, &file, registry).map_err(Error::Replay);
    let watchers = || observing::watchers(limits());
    let mut replay = Replay::new(reader, setup()?, watchers());
    replay.run_to(at.or(Some(end)), &mut |_| ()).map_err(Error::Recording)?;

    let (sender, mut messages) = mpsc::channel(WAITING_MESSAGES);
    let span = Span { from: seconds(header.start()), to: seconds(end), at: seconds(replay.now()) };
    let showing = Showing { sender, span: Arc::new(Mutex::new(span)), header: header.clone() };
    let span = showing.span.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(Error::Threads)?;
    let (serving, mut stop) = runtime.block_on(open(showing, port))?;
    if let Some(address) = serving.insecure_address() {
        writeln!(out, "dashboard  http://{address}/")?;
        if at.is_some_and(|at| at > end) {
            let length = crate::print::duration(end - header.start());
            writeln!(out, "{}", super::told::ends_before(length))?;
        }
        out.flush()?;
    }
    // The replay stays on this thread: it is the scheduler's.
    loop {
        let message = runtime.block_on(async {
            tokio::select! {
                message = messages.recv() => message,
                () = stop.wait() => None,
            }
        });
        match message {
            None => break,
            Some(Message::Ask(question)) => {
                let now = replay.now();
                question(replay.scheduler_mut(), now);
            }
            Some(Message::Seek(to, answer)) => {
                let went = go(&mut replay, to, &setup, &watchers);
                span.lock().unwrap_or_else(PoisonError::into_inner).at = seconds(replay.now());
                // Whoever asked may not wait any more.
                let _ = answer.send(went.map_err(|error| Refusal::Conflict(error.to_string())));
            }
        }
    }
    // Those who still ask are told that nobody answers.
    drop(messages);
    runtime.block_on(serving.shutdown());
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(FINE)
}

/// Goes to a moment: on, or from the start if it is past.
fn go(
    replay: &mut Replay<Watchers>,
    to: Time,
    setup: &impl Fn() -> Result<Setup, Error>,
    watchers: &impl Fn() -> Watchers,
) -> Result<(), Error> {
    if to < replay.now() {
        replay.begin_again(setup()?, watchers());
    }
    replay.run_to(Some(to), &mut |_| ()).map_err(Error::Recording)
}

async fn open(showing: Showing, port: u16) -> Result<(Serving, stopping::Signals), Error> {
    let stop = stopping::Signals::listen().map_err(Error::Signals)?;
    let showing = Arc::new(showing);
    let health = Health::new();
    health.on_handlers_synced();
    let served = Served {
        source: showing.clone(),
        health: Arc::new(health),
        process: Arc::new(ProcessMetrics::default()),
        more: serving::shown(showing),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let ports = Ports::on_loopback(address).await.map_err(Error::Serving)?;
    Ok((ports.serve(served), stop))
}

/// The way to the thread that replays.
struct Showing {
    sender: mpsc::Sender<Message>,
    span: Arc<Mutex<Span>>,
    header: Header,
}

enum Message {
    Ask(Question),
    Seek(Time, oneshot::Sender<Result<(), Refusal>>),
}

impl Stage for Showing {
    fn put(&self, question: Question) -> Answer<()> {
        let sender = self.sender.clone();
        Box::pin(async move { sender.send(Message::Ask(question)).await.map_err(|_| ended()) })
    }

    fn standing(&self) -> Standing {
        let is_virtual = self.header.start() == Time::ZERO;
        let epoch = if is_virtual { Epoch::Start } else { Epoch::Unix };
        Standing { mode: Mode::Replay, epoch, speed: 0.0, leads: true }
    }

    fn replay(&self) -> Option<Arc<dyn Seek>> {
        Some(Arc::new(Seeker { sender: self.sender.clone(), span: self.span.clone() }))
    }
}

impl Source for Showing {
    fn metrics(&self) -> Answer<String> {
        self.answer(|scheduler, _| observing::metrics(scheduler).expose(scheduler))
    }

    fn reset_metrics(&self) -> Answer<()> {
        Box::pin(async { Err(Unavailable("a recording cannot be changed".to_owned())) })
    }

    fn resource_metrics(&self) -> Answer<String> {
        self.answer(|scheduler, _| roadstead_scheduler::expose_pod_resources(scheduler))
    }

    fn configuration(&self) -> Value {
        self.header.configuration.clone()
    }
}

impl Showing {
    fn answer<R: Send + 'static>(
        &self,
        question: impl FnOnce(&mut observing::Observed, Time) -> R + Send + 'static,
    ) -> Answer<R> {
        let (sender, receiver) = oneshot::channel();
        let put = self.put(Box::new(move |scheduler, now| {
            // Whoever asked may not wait any more.
            let _ = sender.send(question(scheduler, now));
        }));
        Box::pin(async move {
            put.await?;
            receiver.await.map_err(|_| ended())
        })
    }
}

/// Goes to and fro.
struct Seeker {
    sender: mpsc::Sender<Message>,
    span: Arc<Mutex<Span>>,
}

impl Seek for Seeker {
    fn span(&self) -> Span {
        *self.span.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seek(&self, at: Time) -> Change<()> {
        let sender = self.sender.clone();
        Box::pin(async move {
            let gone = || Refusal::Unavailable(ended().0);
            let (answer, answered) = oneshot::channel();
            sender.send(Message::Seek(at, answer)).await.map_err(|_| gone())?;
            answered.await.map_err(|_| gone())?
        })
    }
}

fn ended() -> Unavailable {
    Unavailable("the replay has ended".to_owned())
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// As much as a run keeps, and more of those that are gone: nothing else is there to look at.
fn limits() -> JournalLimits {
    JournalLimits { finished: 100_000, ..JournalLimits::default() }
}

const WAITING_MESSAGES: usize = 64;
