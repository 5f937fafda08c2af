//! What came of a binding: settled by looking, never by guessing.
//!
//! ```text
//!        ┌──────────────────────── again ───────────────────────┐
//!        ▼                                                      │
//!      send ── 2xx ─────────────────────────────► bound         │
//!        │ ─── 429 ── pause ─► send                             │
//!        │ ─── 404 ─────────────────────────────► failed        │
//!        │ ─── other 4xx, nothing unclear ──────► failed        │
//!        │ ─── 409, 5xx, lost, too late ─► look                 │
//!        ▼                                                      │
//!      look ── on our node ─────────────────────► bound         │
//!        │ ─── on another node, gone, replaced ─► failed        │
//!        │ ─── no node, refused, nothing unclear ► failed       │
//!        │ ─── no node, refused, something unclear ─ pause ─► look
//!        │ ─── no node, not refused ─ pause ────────────────────┘
//!        │ ─── no answer ─ pause ─► look
//!        ▼
//!      after its patience: failed, and said that nobody knows
//! ```
//!
//! *Unclear* is a request that was sent and not answered: it may still be done. Sending it again
//! does no harm, for a bound pod is refused with 409 and then looked at. It stops being unclear
//! when the server has given it up, too, which is some time after us.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::lanes::backoff;
use super::wire::{Refusal, Reply};

/// A binding that is being made.
#[derive(Debug)]
pub(super) struct Settling {
    pod: String,
    uid: String,
    node: String,
    /// When we stop trying.
    end: Instant,
    /// How long a request may be under way.
    timeout: Duration,
    /// Until when a request may still be done that was not answered.
    unclear_until: Option<Instant>,
    /// Why it was last refused, or not sent.
    refused: Option<String>,
    tries: u32,
    last_trouble: String,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Ask for the binding, after a pause.
    Send(Duration),
    /// Read the pod, after a pause.
    Look(Duration),
    /// It is known what came of it.
    Over(Result<(), String>),
}

impl Settling {
    pub(super) fn new(pod: &str, uid: &str, node: &str, end: Instant, timeout: Duration) -> Self {
        let [pod, uid, node] = [pod, uid, node].map(str::to_owned);
        Self {
            pod,
            uid,
            node,
            end,
            timeout,
            unclear_until: None,
            refused: None,
            tries: 0,
            last_trouble: String::new(),
        }
    }

    /// The request to bind was answered, or was not.
    pub(super) fn on_sent(&mut self, now: Instant, reply: Reply) -> Step {
        self.refused = None;
        match reply {
            Reply::Done => Step::Over(Ok(())),
            Reply::Refused(refusal) if refusal.is_throttled() => self.throttled(now, &refusal),
            Reply::Refused(refusal) if refusal.is_not_found() => Step::Over(Err(refusal.message)),
            Reply::Refused(refusal) => {
                let must_look = refusal.is_conflict() || self.is_unclear(now);
                let message = refusal.message;
                self.refused = Some(message.clone());
                if must_look { Step::Look(Duration::ZERO) } else { Step::Over(Err(message)) }
            }
            Reply::Unclear(why) => {
                self.unclear_until = Some(now + self.timeout);
                self.last_trouble = why;
                Step::Look(Duration::ZERO)
            }
            Reply::Withheld => {
                let message = NOT_LEADING.to_owned();
                self.refused = Some(message.clone());
                if self.is_unclear(now) {
                    Step::Look(Duration::ZERO)
                } else {
                    Step::Over(Err(message))
                }
            }
        }
    }

    /// The pod was read, or could not be.
    pub(super) fn on_look(&mut self, now: Instant, found: Result<Value, Reply>) -> Step {
        let pod = match found {
            Ok(pod) => pod,
            Err(Reply::Refused(refusal)) if refusal.is_not_found() => {
                return Step::Over(Err(refusal.message));
            }
            Err(Reply::Refused(refusal)) => {
                self.last_trouble = refusal.message;
                return self.pause(now, Step::Look, refusal.retry_after);
            }
            Err(Reply::Unclear(why)) => {
                self.last_trouble = why;
                return self.pause(now, Step::Look, None);
            }
            Err(Reply::Done | Reply::Withheld) => return self.pause(now, Step::Look, None),
        };
        let text = |path| pod.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let name = &self.pod;
        if text("/metadata/uid") != self.uid {
            let gone = format!("pods \"{name}\" not found");
            return Step::Over(Err(self.refused.take().unwrap_or(gone)));
        }
        let is_deleting = !text("/metadata/deletionTimestamp").is_empty();
        match text("/spec/nodeName") {
            node if node == self.node => Step::Over(Ok(())),
            // The server refuses to bind it from now on, whatever is still on its way.
            "" if is_deleting => {
                let why = format!(
                    "Operation cannot be fulfilled on pods/binding \"{name}\": pod {name} is being \
                     deleted, cannot be assigned to a host"
                );
                Step::Over(Err(why))
            }
            "" => match self.refused.clone() {
                Some(why) if !self.is_unclear(now) => Step::Over(Err(why)),
                Some(_) => self.pause(now, Step::Look, None),
                None => self.pause(now, Step::Send, None),
            },
            other => {
                let why = format!(
                    "Operation cannot be fulfilled on pods/binding \"{name}\": pod {name} is \
                     already assigned to node \"{other}\""
                );
                Step::Over(Err(why))
            }
        }
    }

    fn throttled(&mut self, now: Instant, refusal: &Refusal) -> Step {
        self.last_trouble.clone_from(&refusal.message);
        self.pause(now, Step::Send, refusal.retry_after)
    }

    fn pause(&mut self, now: Instant, then: fn(Duration) -> Step, asked: Option<Duration>) -> Step {
        let pause = asked.unwrap_or_else(|| backoff(self.tries, LONGEST_PAUSE));
        self.tries += 1;
        if now + pause < self.end {
            return then(pause);
        }
        Step::Over(Err(match self.unclear_until {
            None => std::mem::take(&mut self.last_trouble),
            Some(_) => format!("whether the pod was bound is not known: {}", self.last_trouble),
        }))
    }

    fn is_unclear(&self, now: Instant) -> bool {
        self.unclear_until.is_some_and(|until| now < until)
    }
}

pub(super) const NOT_LEADING: &str = "not sent: this scheduler does not hold the leader lease";

const LONGEST_PAUSE: Duration = Duration::from_secs(2);
