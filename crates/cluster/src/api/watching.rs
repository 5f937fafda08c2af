//! Watches: what is there, then what happens, as long as someone listens.

use std::fmt::Write;
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec;

use bytes::Bytes;
use roadstead_queue::Time;
use serde_json::{Value, json};

use super::accepting::Form;
use super::listing::as_of;
use super::query::{Included, Match, Query, Version};
use super::routing::Target;
use super::selection::Selection;
use super::status::Refusal;
use super::tables::table;
use super::{Answer, Call, SharedCluster, body};
use crate::embedded::{Change, ChangeKind, Cluster, Watch};
use crate::{ApiError, Object};

pub(super) fn watch(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    check_options(&call.query)?;
    let selection = Selection::of(call)?;
    let (initial, after) = cluster.with(|cluster, _| begin(cluster, &call.query, &selection))?;
    let now = cluster.now();
    let timeout = call.query.timeout_seconds.filter(|seconds| *seconds > 0);
    let kind = selection.kind;
    Ok(body::events(WatchStream {
        place: cluster.lock().sleepers.place(),
        cluster: cluster.clone(),
        target: call.target.clone(),
        tables: (call.form == Form::Table).then_some(call.query.included),
        selection,
        initial: initial.into_iter(),
        marks_end: call.query.initial_events == Some(true) && call.query.bookmarks,
        watch: Watch::new(&[kind], after),
        bookmarks: call.query.bookmarks,
        told: after,
        next_bookmark: now + BOOKMARK_PERIOD,
        until: now + timeout.map_or(LONGEST, Duration::from_secs),
        is_over: false,
    }))
}

fn check_options(query: &Query) -> Result<(), Refusal> {
    let why = match (query.initial_events, query.version_match) {
        (Some(_), Some(Match::NotOlderThan)) | (None, None) => return Ok(()),
        (Some(_), _) => "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        (None, Some(_)) => {
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        }
    };
    let message =
        format!("ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: {why}");
    Err(Refusal::new(422, "Invalid", message))
}

/// What is told first, and the version after which changes are told.
fn begin(
    cluster: &Cluster,
    query: &Query,
    selection: &Selection,
) -> Result<(Vec<Object>, u64), Refusal> {
    let tells_state = match (query.initial_events, query.version) {
        (Some(asked), _) => asked,
        (None, version) => !matches!(version, Version::Numbered(_)),
    };
    match query.version {
        _ if tells_state => {
            let version = as_of(cluster, query.version, None)?;
            let all = cluster.objects(selection.kind);
            Ok((all.filter(|object| selection.has(object)).cloned().collect(), version))
        }
        Version::Numbered(after) => Ok((Vec::new(), after)),
        Version::Unset | Version::Any => Ok((Vec::new(), cluster.version())),
    }
}

/// The events of a watch, as they are asked for.
///
/// It keeps a place in the cluster's changes and no events: one that is read too slowly falls
/// behind, and is told to list anew.
pub(super) struct WatchStream {
    cluster: SharedCluster,
    place: u64,
    target: Target,
    /// Whether each event has its object as a table, and with how much of it beside the row.
    tables: Option<Included>,
    selection: Selection,
    /// Objects that were there, and are still to be told.
    initial: vec::IntoIter<Object>,
    /// Whether the end of the initial objects is still to be told.
    marks_end: bool,
    watch: Watch,
    bookmarks: bool,
    /// The last version that the client has heard of.
    told: u64,
    next_bookmark: Time,
    until: Time,
    is_over: bool,
}

impl WatchStream {
    /// The next events, each on its line; none when the watch is over.
    pub(super) fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if self.is_over {
                return Poll::Ready(None);
            }
            if let Some(events) = self.initial_events() {
                return Poll::Ready(Some(events.into()));
            }
            let changes = match self.next_changes(cx) {
                Ok(Some(changes)) => changes,
                Ok(None) => return Poll::Pending,
                Err(last) => return Poll::Ready(last.map(Into::into)),
            };
            let mut events = String::new();
            for change in &changes {
                if let Some((kind, object)) = self.seen(change) {
                    push_event(&mut events, kind, &self.shown(&object));
                    self.told = change.version;
                }
            }
            if self.bookmarks && self.watch.version() > self.told && self.is_bookmark_due() {
                events.push_str(&self.bookmark(false));
            }
            if !events.is_empty() {
                return Poll::Ready(Some(events.into()));
            }
        }
    }

    fn initial_events(&mut self) -> Option<String> {
        let mut events = String::new();
        let initial: Vec<Object> = self.initial.by_ref().take(BATCH).collect();
        for object in &initial {
            push_event(&mut events, "ADDED", &self.shown(object));
        }
        if self.initial.len() == 0 && std::mem::take(&mut self.marks_end) {
            events.push_str(&self.bookmark(true));
        }
        (!events.is_empty()).then_some(events)
    }

    /// What happened since the last time. `None` if nothing did: then the task is woken when
    /// something does. An error ends the watch, with what is left to say.
    fn next_changes(&mut self, cx: &Context<'_>) -> Result<Option<Vec<Change>>, Option<String>> {
        let cluster = self.cluster.clone();
        let mut state = cluster.lock();
        let before = self.watch.version();
        match state.cluster.next_changes(&mut self.watch, BATCH) {
            Err(error) => {
                self.is_over = true;
                return Err(Some(error_event(error)));
            }
            Ok(changes) if self.watch.version() > before => return Ok(Some(changes)),
            Ok(_) => {}
        }
        let now = cluster.now();
        if now >= self.until {
            self.is_over = true;
            let has_news = self.bookmarks && self.watch.version() > self.told;
            return Err(has_news.then(|| self.bookmark(false)));
        }
        if self.bookmarks && self.watch.version() > self.told && now >= self.next_bookmark {
            return Ok(Some(Vec::new()));
        }
        // Under the lock that every change is made under: none is missed between looking and
        // sleeping.
        state.sleepers.sleep(self.place, cx.waker());
        Ok(None)
    }

    /// What a change means for those who see the selected objects only.
    fn seen(&self, change: &Change) -> Option<(&'static str, Object)> {
        let was = change.old.as_ref().filter(|old| self.selection.has(old));
        let is = change.kind != ChangeKind::Deleted && self.selection.has(&change.object);
        match (was, is) {
            (None, true) => Some(("ADDED", change.object.clone())),
            (Some(_), true) => Some(("MODIFIED", change.object.clone())),
            (Some(_), false) if change.kind == ChangeKind::Deleted => {
                Some(("DELETED", change.object.clone()))
            }
            // To this client it is gone: as it last saw it, at the version of the change.
            (Some(old), false) => {
                let mut old = old.clone();
                old.metadata_mut().resource_version = Some(change.version.to_string());
                Some(("DELETED", old))
            }
            (None, false) => None,
        }
    }

    /// An object as the client wants it. API types can be written as JSON: nothing is lost here.
    fn shown(&self, object: &Object) -> Value {
        let shown = match self.tables {
            Some(included) => {
                let metadata = json!({ "resourceVersion": object.version().to_string() });
                let (now, objects) = (self.cluster.now(), std::slice::from_ref(object));
                table(&self.target, objects, included, now, &metadata)
            }
            None => self.target.json_of(object),
        };
        shown.unwrap_or_default()
    }

    fn is_bookmark_due(&self) -> bool {
        self.cluster.now() >= self.next_bookmark
    }

    fn bookmark(&mut self, is_end_of_initial: bool) -> String {
        self.told = self.watch.version();
        self.next_bookmark = self.cluster.now() + BOOKMARK_PERIOD;
        let mut metadata = json!({ "resourceVersion": self.told.to_string() });
        if is_end_of_initial {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let object = match self.tables {
            Some(_) => json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                "columnDefinitions": [], "rows": [],
            }),
            None => json!({
                "kind": self.target.kind.name(), "apiVersion": self.target.version,
                "metadata": metadata,
            }),
        };
        let mut event = String::new();
        push_event(&mut event, "BOOKMARK", &object);
        event
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        self.cluster.lock().sleepers.leave(self.place);
    }
}

fn error_event(error: ApiError) -> String {
    let mut event = String::new();
    push_event(&mut event, "ERROR", &Refusal::from(error).to_json());
    event
}

fn push_event(events: &mut String, kind: &str, object: &Value) {
    let _ = writeln!(events, "{{\"type\":\"{kind}\",\"object\":{object}}}");
}

/// How many changes are looked at, or objects told, at once.
const BATCH: usize = 256;
/// As an API server's.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// How long a watch lasts that does not say: the least that an API server gives it.
const LONGEST: Duration = Duration::from_secs(1800);
