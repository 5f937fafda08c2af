//! A cluster behind a bad network: what a client has to survive, on demand or by chance.
//!
//! [`Faults`] stands before an [`ApiService`](super::ApiService) or another service and lets some
//! requests fail. Which ones comes from a seed, so a run can be repeated; [`FaultControl`] asks
//! for single faults in tests that want one at a certain place.

use std::collections::VecDeque;
use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Frame;
use serde_json::json;

use super::body::ApiBody;
use super::sleepers::Sleepers;
use super::status::Refusal;

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It does not arrive: the connection is reset.
    Dropped,
    /// It is done, and the answer is lost: the connection is reset.
    Lost,
    /// It is not done: 409, as if somebody else had been faster.
    Conflict,
    /// It is not done: 429, to be repeated after these seconds.
    Throttled {
        /// What `Retry-After` says.
        retry_after_seconds: u32,
    },
    /// It is not done: 500.
    Failed,
}

/// How often what goes wrong. Each is a chance from 0 to 1, of one request; 0 by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chances {
    /// Of [`Fault::Dropped`].
    pub dropped: f64,
    /// Of [`Fault::Lost`].
    pub lost: f64,
    /// Of [`Fault::Conflict`].
    pub conflict: f64,
    /// Of [`Fault::Throttled`], for a second.
    pub throttled: f64,
    /// Of [`Fault::Failed`].
    pub failed: f64,
}

/// What goes wrong by chance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultConfig {
    /// What chance is drawn from.
    pub seed: u64,
    /// For requests that change something.
    pub writes: Chances,
    /// For gets, lists and the beginning of watches.
    pub reads: Chances,
    /// The chance that a watch is cut, each time that it tells something.
    pub cut: f64,
}

/// A service some of whose requests fail.
#[derive(Clone, Debug)]
pub struct Faults<S> {
    inner: S,
    control: FaultControl,
}

impl<S> Faults<S> {
    /// Lets requests to `inner` fail as `config` says.
    #[must_use]
    pub fn new(inner: S, config: FaultConfig) -> Self {
        let plan = Plan {
            random: config.seed,
            config,
            next: VecDeque::new(),
            cuts: 0,
            struck: 0,
            sleepers: Sleepers::default(),
        };
        Self { inner, control: FaultControl { plan: Arc::new(Mutex::new(plan)) } }
    }

    /// What asks for single faults.
    #[must_use]
    pub fn control(&self) -> FaultControl {
        self.control.clone()
    }
}

/// Asks for faults. Cloning one is cheap: the clones ask the same service.
#[derive(Clone, Debug)]
pub struct FaultControl {
    plan: Arc<Mutex<Plan>>,
}

#[derive(Debug)]
struct Plan {
    config: FaultConfig,
    random: u64,
    /// Faults of the next writes.
    next: VecDeque<Fault>,
    /// How often all watches were cut.
    cuts: u64,
    struck: usize,
    /// The watches, to be woken when they are cut.
    sleepers: Sleepers,
}

impl FaultControl {
    /// Lets the next request that changes something fail; those asked for before come first.
    pub fn strike_next_write(&self, fault: Fault) {
        self.lock().next.push_back(fault);
    }

    /// Cuts every watch that is open.
    pub fn cut_watches(&self) {
        let mut plan = self.lock();
        plan.cuts += 1;
        let woken = plan.sleepers.take();
        drop(plan);
        woken.into_iter().for_each(std::task::Waker::wake);
    }

    /// Changes what goes wrong by chance from now on.
    pub fn configure(&self, config: FaultConfig) {
        let mut plan = self.lock();
        plan.random = config.seed;
        plan.config = config;
    }

    /// How many requests failed so far.
    #[must_use]
    pub fn struck(&self) -> usize {
        self.lock().struck
    }

    fn lock(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plan {
    fn fault(&mut self, is_write: bool) -> Option<Fault> {
        let asked = if is_write { self.next.pop_front() } else { None };
        let fault = asked.or_else(|| self.by_chance(is_write));
        self.struck += usize::from(fault.is_some());
        fault
    }

    fn by_chance(&mut self, is_write: bool) -> Option<Fault> {
        let mut left = self.draw();
        let chances = if is_write { &self.config.writes } else { &self.config.reads };
        let faults = [
            (chances.dropped, Fault::Dropped),
            (chances.lost, Fault::Lost),
            (chances.conflict, Fault::Conflict),
            (chances.throttled, Fault::Throttled { retry_after_seconds: 1 }),
            (chances.failed, Fault::Failed),
        ];
        faults.into_iter().find_map(|(chance, fault)| {
            left -= chance;
            (left < 0.0).then_some(fault)
        })
    }

    /// A number from 0 to 1, without 1.
    fn draw(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl<S, B> tower_service::Service<Request<B>> for Faults<S>
where
    S: tower_service::Service<Request<B>, Response = Response<ApiBody>>,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<FaultyBody>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let is_write = request.method() != Method::GET;
        let fault = self.control.lock().fault(is_write);
        let refusal = match fault {
            None | Some(Fault::Lost) => None,
            Some(Fault::Dropped) => return Box::pin(async { Err(reset().into()) }),
            Some(Fault::Conflict) => Some(Refusal::new(
                409,
                "Conflict",
                "Operation cannot be fulfilled: the object has been modified; please apply your \
                 changes to the latest version and try again",
            )),
            Some(Fault::Throttled { retry_after_seconds }) => Some(
                Refusal::new(
                    429,
                    "TooManyRequests",
                    "the server has received too many requests and has asked us to try again later",
                )
                .with("retryAfterSeconds", json!(retry_after_seconds)),
            ),
            Some(Fault::Failed) => Some(Refusal::internal("a fault was asked for")),
        };
        if let Some(refusal) = refusal {
            return Box::pin(async move { Ok(refusal.response().map(FaultyBody::whole)) });
        }
        let control = self.control.clone();
        let is_watch = is_watch(&request);
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into)?;
            if fault == Some(Fault::Lost) {
                return Err(reset().into());
            }
            Ok(answer.map(|body| match is_watch {
                true => FaultyBody::cuttable(body, control),
                false => FaultyBody::whole(body),
            }))
        })
    }
}

/// A body that may be cut off.
#[derive(Debug)]
pub struct FaultyBody {
    inner: ApiBody,
    cut: Option<Cut>,
}

#[derive(Debug)]
struct Cut {
    control: FaultControl,
    place: u64,
    /// How often all watches had been cut when this one began.
    cuts: u64,
    is_cut: bool,
}

impl FaultyBody {
    fn whole(inner: ApiBody) -> Self {
        Self { inner, cut: None }
    }

    fn cuttable(inner: ApiBody, control: FaultControl) -> Self {
        let mut plan = control.lock();
        let (place, cuts) = (plan.sleepers.place(), plan.cuts);
        drop(plan);
        Self { inner, cut: Some(Cut { control, place, cuts, is_cut: false }) }
    }
}

impl http_body::Body for FaultyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(cut) = &self.cut {
            let mut plan = cut.control.lock();
            if cut.is_cut || plan.cuts > cut.cuts {
                return Poll::Ready(Some(Err(reset())));
            }
            plan.sleepers.sleep(cut.place, cx.waker());
        }
        let frame = std::task::ready!(Pin::new(&mut self.inner).poll_frame(cx));
        if let (Some(cut), Some(_)) = (&mut self.cut, &frame) {
            let mut plan = cut.control.lock();
            if plan.draw() < plan.config.cut {
                cut.is_cut = true;
                return Poll::Ready(Some(Err(reset())));
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(|never| match never {})))
    }
}

impl Drop for FaultyBody {
    fn drop(&mut self) {
        if let Some(cut) = &self.cut {
            cut.control.lock().sleepers.leave(cut.place);
        }
    }
}

fn is_watch<B>(request: &Request<B>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .any(|(name, value)| name == "watch" && matches!(&*value, "" | "1" | "true"))
}

fn reset() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer")
}
