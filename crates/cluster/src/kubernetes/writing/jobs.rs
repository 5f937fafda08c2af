//! How each write is done, from its first request to its answer.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use roadstead_model::{Pod, Text};
use roadstead_scheduler::framework::Write;
use serde_json::Value;
use tokio::time::Instant;

use super::super::Input;
use super::Shared;
use super::bodies;
use super::counts::Outcome;
use super::lanes::{Class, Job, Pushed, backoff};
use super::series::EventKey;
use super::settling::{NOT_LEADING, Settling, Step};
use super::status::StatusWrite;
use super::wire::{self, Refusal, Reply, WriteRequest};

impl Shared {
    /// Does a job and gives its answer.
    pub(super) async fn run(self: Arc<Self>, job: Job) {
        let class = job.class();
        let (pod, answer) = match job {
            Job::Bind { pod, node } => {
                let result = self.bind(&pod, &node).await;
                if result.is_ok() {
                    self.lanes().forget(&pod.uid);
                }
                (Some(pod.uid.clone()), Some(Input::Bound { pod: pod.uid.clone(), result }))
            }
            Job::Write { pod, write } => {
                let result = self.write_volume(&write).await;
                (None, Some(Input::Written { pod: pod.uid.clone(), result }))
            }
            Job::Evict { victim, preemptor } => {
                let result = self.evict(&victim, &preemptor).await;
                let preemptor = preemptor.uid.clone();
                (Some(victim.uid.clone()), Some(Input::Evicted { preemptor, result }))
            }
            Job::Status(write) => {
                let uid = write.pod.uid.clone();
                self.write_status(class, write).await;
                (Some(uid), None)
            }
            Job::Event(key) => {
                self.write_event(&key).await;
                (None, None)
            }
        };
        // The place is free before the answer is taken: who is slow to listen stops no writes.
        self.finish(class, pod.as_ref());
        if let Some(answer) = answer {
            // Nobody listens any more when the program ends.
            let _ = self.answers.send(answer).await;
        }
    }

    async fn bind(&self, pod: &Pod, node: &Text) -> Result<(), String> {
        let request = bodies::binding(pod, node);
        let path = bodies::pod_path(pod);
        let end = Instant::now() + self.limits.bind_patience;
        let timeout = self.limits.request_timeout;
        let mut settling = Settling::new(&pod.name, &pod.uid, node, end.into_std(), timeout);
        let mut step =
            settling.on_sent(Instant::now().into_std(), self.send(Class::Bind, &request).await);
        loop {
            step = match step {
                Step::Over(result) => return result,
                Step::Send(pause) => {
                    self.pause(pause).await;
                    let reply = self.send(Class::Bind, &request).await;
                    settling.on_sent(Instant::now().into_std(), reply)
                }
                Step::Look(pause) => {
                    self.pause(pause).await;
                    let found = self.look(Class::Bind, &path).await;
                    settling.on_look(Instant::now().into_std(), found)
                }
            };
        }
    }

    async fn evict(&self, victim: &Pod, preemptor: &Pod) -> Result<(), String> {
        let mark = bodies::disruption(victim, preemptor, Timestamp::now());
        let mut evicted = self.insist(Class::Evict, &mark).await;
        if evicted.is_ok() {
            self.turn().await;
            evicted = self.insist(Class::Evict, &bodies::deletion(victim)).await;
        }
        match evicted {
            // One that is gone needs nothing more.
            Err(refusal) if !refusal.is_not_found() && !refusal.is_of_another() => {
                Err(refusal.message)
            }
            _ => Ok(()),
        }
    }

    /// A volume or a claim is written with the version that the scheduler saw. Whether a conflict
    /// is with our own lost request is found out by looking; any other is the scheduler's to solve.
    async fn write_volume(&self, write: &Write) -> Result<(), String> {
        let (request, path) = match write {
            Write::BindVolume(volume) => (bodies::volume(volume), bodies::volume_path(volume)),
            Write::SelectNode(claim) => (bodies::claim(claim), bodies::claim_path(claim)),
        };
        let is_done = |found: &Value| match write {
            Write::BindVolume(volume) => bodies::is_volume_bound(found, volume),
            Write::SelectNode(claim) => bodies::is_node_selected(found, claim),
        };
        let version = match write {
            Write::BindVolume(volume) => &volume.version,
            Write::SelectNode(claim) => &claim.version,
        };
        let end = Instant::now() + self.limits.patience;
        let mut tries = 0;
        let mut reply = self.send(Class::Bind, &request).await;
        loop {
            let (pause, trouble) = match reply {
                Reply::Done => return Ok(()),
                Reply::Withheld => return Err(NOT_LEADING.to_owned()),
                Reply::Refused(refusal) if refusal.is_throttled() => {
                    (refusal.retry_after, refusal.message)
                }
                Reply::Refused(refusal) if !refusal.is_conflict() => return Err(refusal.message),
                Reply::Refused(Refusal { message, .. }) | Reply::Unclear(message) => {
                    match self.look_patiently(&path, end).await {
                        Ok(found) if is_done(&found) => return Ok(()),
                        Ok(found) if found["metadata"]["resourceVersion"] != version.as_str() => {
                            return Err(message);
                        }
                        Ok(_) => (None, message),
                        Err(message) => return Err(message),
                    }
                }
            };
            tries += 1;
            let pause = pause.unwrap_or_else(|| backoff(tries, LONGEST_PAUSE));
            if Instant::now() + pause >= end {
                return Err(trouble);
            }
            self.pause(pause).await;
            reply = self.send(Class::Bind, &request).await;
        }
    }

    /// Sends a status once. What came of it is dealt with by the lanes, where newer ones wait.
    async fn write_status(&self, class: Class, mut write: StatusWrite) {
        let uid = write.pod.uid.clone();
        let since = match self.since(class, &write).await {
            Since::Now => Some(Timestamp::now()),
            Since::Before => None,
            Since::Unchanged => {
                self.lanes().status_written(&write);
                return self.counts.pushed(class, Pushed::Unchanged);
            }
        };
        let asked = match self.send(class, &bodies::status(&write, since)).await {
            Reply::Done => return self.lanes().status_written(&write),
            Reply::Refused(refusal) if refusal.is_not_found() || refusal.is_of_another() => {
                return self.lanes().forget(&uid);
            }
            Reply::Refused(refusal) if refusal.is_throttled() || refusal.is_conflict() => {
                refusal.retry_after
            }
            Reply::Unclear(_) => None,
            Reply::Refused(_) | Reply::Withheld => {
                return self.counts.pushed(class, Pushed::Dropped);
            }
        };
        write.tries += 1;
        let pause = asked.unwrap_or_else(|| backoff(write.tries, LONGEST_PAUSE));
        let pushed = match write.tries < STATUS_TRIES {
            true => self.lanes().retry_status((Instant::now() + pause).into_std(), write),
            false => Pushed::Dropped,
        };
        self.counts.pushed(class, pushed);
    }

    /// Since when the pod's condition is false. Of a pod that was there before us another may have
    /// said so, with a time that stays.
    async fn since(&self, class: Class, write: &StatusWrite) -> Since {
        let Some(condition) = &write.condition else { return Since::Before };
        if self.lanes().has_condition(&write.pod.uid) {
            return Since::Before;
        }
        let term = self.leadership.since();
        if write.pod.created.is_some_and(|created| created.as_micros() >= term) {
            return Since::Now;
        }
        let found = self.look(class, &bodies::pod_path(&write.pod)).await;
        self.turn().await;
        let Ok(pod) = found else { return Since::Now };
        let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
        let shown = conditions.into_iter().flatten().find(|it| it["type"] == "PodScheduled");
        let Some(shown) = shown.filter(|it| it["status"] == "False") else { return Since::Now };
        let nominated = pod.pointer("/status/nominatedNodeName").and_then(Value::as_str);
        let is_nominated = write
            .nominated_node
            .as_ref()
            .is_none_or(|node| *node == *nominated.unwrap_or_default());
        let is_same = shown["reason"] == condition.reason && shown["message"] == *condition.message;
        if is_same && is_nominated { Since::Unchanged } else { Since::Before }
    }

    async fn write_event(&self, key: &EventKey) {
        let Some(draft) = self.lanes().event(key) else { return };
        let mut reply = match draft.is_written && draft.series.is_some() {
            true => self.send(Class::Event, &bodies::event_again(&draft)).await,
            false => self.send(Class::Event, &bodies::event_is_new(&draft, &self.hostname)).await,
        };
        // The server forgets Events after a while.
        if draft.is_written && matches!(&reply, Reply::Refused(refusal) if refusal.is_not_found()) {
            self.turn().await;
            reply = self.send(Class::Event, &bodies::event_is_new(&draft, &self.hostname)).await;
        }
        // The name is our own: an answer was lost, of an Event that was no series yet.
        if draft.series.is_some() && matches!(&reply, Reply::Refused(refusal) if refusal.is_taken())
        {
            self.turn().await;
            reply = self.send(Class::Event, &bodies::event_again(&draft)).await;
        }
        let now = Instant::now();
        let asked = match reply {
            Reply::Done => return self.lanes().event_written(now.into_std(), key),
            Reply::Unclear(_) => None,
            Reply::Refused(refusal) if refusal.is_taken() => {
                return self.lanes().event_written(now.into_std(), key);
            }
            Reply::Refused(refusal) if refusal.is_throttled() || refusal.is_conflict() => {
                refusal.retry_after
            }
            Reply::Refused(_) | Reply::Withheld => {
                self.lanes().event_dropped(key);
                return self.counts.pushed(Class::Event, Pushed::Dropped);
            }
        };
        let pause = asked.unwrap_or_else(|| backoff(draft.tries + 1, LONGEST_PAUSE));
        let pushed = self.lanes().retry_event((now + pause).into_std(), key);
        self.counts.pushed(Class::Event, pushed);
    }

    /// Sends a request that may be done twice until it is known to be done, or refused, or it has
    /// taken too long.
    async fn insist(&self, class: Class, request: &WriteRequest) -> Result<(), Refusal> {
        let end = Instant::now() + self.limits.patience;
        let mut tries = 0;
        loop {
            let refusal = match self.send(class, request).await {
                Reply::Done => return Ok(()),
                Reply::Refused(refusal) => refusal,
                Reply::Unclear(message) => Refusal { code: 500, message, retry_after: None },
                Reply::Withheld => {
                    let message = NOT_LEADING.to_owned();
                    return Err(Refusal { code: 403, message, retry_after: None });
                }
            };
            let is_passing = refusal.is_throttled()
                || refusal.code >= 500
                || refusal.is_conflict() && !refusal.is_of_another();
            tries += 1;
            let pause = refusal.retry_after.unwrap_or_else(|| backoff(tries, LONGEST_PAUSE));
            if !is_passing || Instant::now() + pause >= end {
                return Err(refusal);
            }
            self.pause(pause).await;
        }
    }

    /// Reads an object until it is read.
    async fn look_patiently(&self, path: &str, end: Instant) -> Result<Value, String> {
        let mut tries = 0;
        loop {
            self.turn().await;
            let message = match self.look(Class::Bind, path).await {
                Ok(found) => return Ok(found),
                Err(Reply::Refused(refusal)) if !refusal.is_throttled() => {
                    return Err(refusal.message);
                }
                Err(Reply::Refused(Refusal { message, .. }) | Reply::Unclear(message)) => message,
                Err(Reply::Done | Reply::Withheld) => String::new(),
            };
            tries += 1;
            let pause = backoff(tries, LONGEST_PAUSE);
            if Instant::now() + pause >= end {
                return Err(message);
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn send(&self, class: Class, request: &WriteRequest) -> Reply {
        let timeout = self.limits.request_timeout;
        let reply = wire::write(&self.client, &self.leadership, timeout, request).await;
        let outcome = match &reply {
            Reply::Done => Outcome::Done,
            Reply::Refused(refusal) if refusal.is_throttled() => Outcome::Throttled,
            Reply::Refused(_) => Outcome::Refused,
            Reply::Unclear(_) => Outcome::Unclear,
            Reply::Withheld => Outcome::Withheld,
        };
        self.counts.sent(class, outcome);
        reply
    }

    async fn look(&self, class: Class, path: &str) -> Result<Value, Reply> {
        self.counts.looked(class);
        wire::read(&self.client, self.limits.request_timeout, path).await
    }

    /// Waits, and then for the rate to allow another request.
    async fn pause(&self, pause: Duration) {
        tokio::time::sleep(pause).await;
        self.turn().await;
    }

    /// Waits for the rate to allow another request.
    async fn turn(&self) {
        let now = Instant::now();
        let at = Instant::from_std(self.lanes().reserve(now.into_std()));
        if at > now {
            tokio::time::sleep_until(at).await;
        }
        wire::note_wait(at.saturating_duration_since(now));
    }
}

/// Since when a condition is what it will be.
enum Since {
    Now,
    Before,
    /// There is nothing to write.
    Unchanged,
}

const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How often a status is sent before it is given up; the next attempt brings another.
const STATUS_TRIES: u32 = 8;
