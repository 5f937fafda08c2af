//! What goes on, as it goes on: Server-Sent Events.
//!
//! One sampler asks the scheduler for all who listen, and only while somebody does. It leaves what
//! it found in one place; whoever is slow finds the latest there and never has more waiting for
//! them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use hyper::body::{Bytes, Frame};
use roadstead_scheduler::Series;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::parameters::Parameters;
use super::problem::Problem;
use super::stage::Stage;
use super::{Api, activity};
use crate::serving::listening::Stopping;

/// Everybody who listens.
pub(super) struct Streams {
    latest: watch::Sender<Option<Arc<Moment>>>,
    places: Arc<Semaphore>,
    /// Whether a sampler runs.
    is_sampled: Mutex<bool>,
}

/// What was found at one time.
struct Moment {
    /// The document without its series and its first brace.
    rest: String,
    series: Series,
}

impl Streams {
    pub(super) fn new() -> Self {
        Self {
            latest: watch::Sender::new(None),
            places: Arc::new(Semaphore::new(MOST_STREAMS)),
            is_sampled: Mutex::new(false),
        }
    }

    /// Listens; the sampler is started if nobody did.
    fn subscribe(self: &Arc<Self>, stage: &Arc<dyn Stage>) -> watch::Receiver<Option<Arc<Moment>>> {
        let mut is_sampled = self.is_sampled.lock().unwrap_or_else(PoisonError::into_inner);
        let mut receiver = self.latest.subscribe();
        if !*is_sampled {
            *is_sampled = true;
            // What is there is of the time when somebody last listened.
            receiver.mark_unchanged();
            tokio::spawn(self.clone().sample(stage.clone()));
        } else {
            receiver.mark_changed();
        }
        receiver
    }

    async fn sample(self: Arc<Self>, stage: Arc<dyn Stage>) {
        loop {
            // Who is busy or gone is asked again: it may be back, and clients see that nothing
            // comes.
            if let Ok(mut document) = stage.ask(activity::document).await
                && let Some(series) = document.series.take()
                && let Ok(text) = serde_json::to_string(&document)
            {
                let rest = text.trim_start_matches('{').to_owned();
                self.latest.send_replace(Some(Arc::new(Moment { rest, series })));
            }
            sleep(BETWEEN_SAMPLES).await;
            let mut is_sampled = self.is_sampled.lock().unwrap_or_else(PoisonError::into_inner);
            if self.latest.receiver_count() == 0 {
                *is_sampled = false;
                self.latest.send_replace(None);
                return;
            }
        }
    }
}

pub(super) async fn open(
    State(api): State<Api>,
    stopping: Option<Extension<Stopping>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    parameters.allow(&[])?;
    let place = api.streams.places.clone().try_acquire_owned().map_err(|_| {
        Problem::unavailable(format!("{MOST_STREAMS} streams are open; ask /api/v1/activity"))
    })?;
    let latest = api.streams.subscribe(&api.stage);
    let (sender, receiver) = mpsc::channel(1);
    let stopping = stopping.map(|Extension(stopping)| stopping).unwrap_or_default();
    tokio::spawn(async move {
        tokio::select! {
            () = tell(latest, sender, place) => {}
            () = stopping.stopped() => {}
        }
    });
    let mut response = Response::new(Body::new(Messages(receiver)));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// Tells a client of each moment that it is ready for, until it goes.
async fn tell(
    mut latest: watch::Receiver<Option<Arc<Moment>>>,
    client: mpsc::Sender<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    // The first second that it has not been told of.
    let mut next = 0;
    // There is room once the last message is on its way: only then is it decided what to say.
    while let Ok(room) = client.reserve().await {
        let changed = tokio::select! {
            changed = timeout(HEARTBEAT, latest.changed()) => changed,
            () = client.closed() => return,
        };
        let moment = match changed {
            Ok(Ok(())) => latest.borrow_and_update().clone(),
            Ok(Err(_)) => return,
            Err(_) => None,
        };
        let Some(moment) = moment else {
            room.send(Bytes::from_static(b": still here\n\n"));
            continue;
        };
        room.send(Bytes::from(message(&moment, next)));
        next = moment.series.start + moment.series.samples.len() as u64;
    }
}

/// A moment with the seconds from that one on.
fn message(moment: &Moment, next: u64) -> String {
    let Series { step, start, samples } = &moment.series;
    // A replay that went back is told from its beginning.
    let next = if next > start + samples.len() as u64 { 0 } else { next };
    let known = usize::try_from(next.saturating_sub(*start)).unwrap_or(usize::MAX);
    let new = samples.get(known..).unwrap_or_default();
    let start = start + (samples.len() - new.len()) as u64;
    let series = Series { step: *step, start, samples: new.to_vec() };
    // Samples are numbers, which can always be written.
    let series = serde_json::to_string(&series).unwrap_or_default();
    format!("event: activity\ndata: {{\"series\":{series},{}\n\n", moment.rest)
}

/// What a client is sent.
struct Messages(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Messages {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|message| message.map(|bytes| Ok(Frame::data(bytes))))
    }
}

const MOST_STREAMS: usize = 64;
const BETWEEN_SAMPLES: Duration = Duration::from_millis(250);
const HEARTBEAT: Duration = Duration::from_secs(15);
