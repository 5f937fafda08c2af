//! One kind: listed, watched, and told.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{AsyncBufRead, AsyncBufReadExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::core::WatchEvent;
use kube::core::params::{ListParams, WatchParams};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use super::backoff::{Backoff, chance};
use super::decoding;
use super::failure::Failure;
use super::known::{Known, News};
use super::progress::{Progress, WatchPhase};
use super::{Input, WatchOptions};
use crate::object::WithType;
use crate::{Kind, Object, Resource};

pub(super) struct Feed {
    kind: Kind,
    client: Client,
    inputs: mpsc::Sender<Input>,
    options: WatchOptions,
    progress: Arc<Progress>,
    known: Known,
    /// The version up to which everything was told; none if a list has to say what is there.
    version: Option<String>,
    streams_lists: bool,
    /// Whether lists are cut in pages. One whose pages expire before they are all read is not.
    pages_lists: bool,
    backoff: Backoff,
    was_seen: bool,
    is_missing: bool,
}

impl Feed {
    pub(super) fn new(
        kind: Kind,
        client: Client,
        inputs: mpsc::Sender<Input>,
        options: WatchOptions,
        progress: Arc<Progress>,
    ) -> Self {
        Self {
            kind,
            client,
            inputs,
            streams_lists: options.streaming_lists,
            pages_lists: true,
            options,
            progress,
            known: Known::default(),
            version: None,
            backoff: Backoff::default(),
            was_seen: false,
            is_missing: false,
        }
    }

    /// Tells what is there and what happens, until nobody receives any more.
    pub(super) async fn run(mut self) {
        if self.kind == Kind::Pod {
            self.progress.others_seen().await;
        }
        loop {
            let mut session = Session { began: Instant::now(), is_useful: false };
            let end = self.listen(&mut session).await;
            let Some(pause) = self.pause_after(end, &session).await else { return };
            sleep(pause).await;
        }
    }

    /// Lists if there is no version to go on from, then watches. Ends well if the server ends the
    /// watch.
    async fn listen(&mut self, session: &mut Session) -> Result<(), Failure> {
        let resumes = self.version.is_some();
        if !resumes {
            self.begin_list();
            if !self.streams_lists {
                self.list_in_pages().await?;
            }
        }
        let seconds = self.options.watch_timeout.mul_f64(1.0 + chance()).as_secs().max(1);
        let lines = self.open(seconds).await?;
        if resumes {
            self.progress.update(self.kind, |status| status.resumed += 1);
        }
        let mut lines = std::pin::pin!(lines);
        let mut line = Vec::new();
        // The server ends a watch when its time is over. One that says nothing for longer than
        // that is dead.
        let longest_silence = Duration::from_secs(seconds) + MARGIN;
        while read_line(&mut lines, &mut line, longest_silence).await? {
            let is_listed = self.version.is_some();
            let event = decoding::event(self.kind, &line)
                .map_err(|error| Failure::other(format!("an event does not read: {error}")))?;
            self.hear(event).await?;
            if is_listed && !session.is_useful {
                session.is_useful = true;
                self.backoff.reset();
                self.progress.update(self.kind, |status| status.error = None);
            }
        }
        match self.version {
            Some(_) => Ok(()),
            // It takes lists as streams, and does not say where they end.
            None => Err(Failure::NotStreamed),
        }
    }

    /// How long to wait before trying again; `None` means not at all.
    async fn pause_after(
        &mut self,
        end: Result<(), Failure>,
        session: &Session,
    ) -> Option<Duration> {
        let kind = self.kind.name();
        let is_fine = session.is_useful || session.began.elapsed() >= SHORTEST;
        if is_fine {
            self.backoff.reset();
        }
        match end {
            Err(Failure::Closed) => return None,
            Ok(()) if is_fine => {
                debug!(kind, version = self.version, "the watch is over, and is taken up again");
                return Some(Duration::ZERO);
            }
            Ok(()) => debug!(kind, version = self.version, "the watch was over at once"),
            Err(Failure::NotStreamed) => {
                info!(kind, "the server streams no lists, or without an end: they come in pages");
                self.streams_lists = false;
                return Some(Duration::ZERO);
            }
            Err(Failure::Missing) => return self.miss().await.ok(),
            Err(Failure::Expired) => {
                info!(kind, version = self.version, "the version is too old, so all is listed");
                self.pages_lists &= self.version.is_some();
                self.version = None;
            }
            Err(Failure::Other { message, wait }) => {
                let is_cut = is_fine && self.version.is_some() && wait.is_zero();
                let pause = if is_cut { Duration::ZERO } else { self.backoff.next().max(wait) };
                if is_cut {
                    debug!(kind, version = self.version, error = message, "the watch was cut");
                } else {
                    warn!(kind, error = message, retry_after = ?pause, "watching failed");
                    self.progress.update(self.kind, |status| status.error = Some(message));
                }
                return Some(pause);
            }
        }
        Some(self.backoff.next())
    }

    /// The server does not have the kind: that is all there is to show of it.
    async fn miss(&mut self) -> Result<Duration, Failure> {
        self.version = None;
        if !self.is_missing {
            self.is_missing = true;
            let api = self.kind.api_version();
            warn!(kind = self.kind.name(), api, "the server does not have this kind");
            self.progress.update(self.kind, |status| status.phase = WatchPhase::Missing);
        }
        self.note_seen().await?;
        Ok(MISSING_RETRY.mul_f64(1.0 + chance()))
    }

    async fn open(&self, seconds: u64) -> Result<impl AsyncBufRead + use<>, Failure> {
        let params = WatchParams {
            field_selector: field_selector(self.kind),
            timeout: u32::try_from(seconds).ok(),
            send_initial_events: self.version.is_none(),
            ..WatchParams::default()
        };
        // Without a version, what is there is the newest that there is: no server that is behind
        // takes us back in time.
        let version = self.version.as_deref().unwrap_or_default();
        let request = kube::core::Request::new(path(self.kind)).watch(&params, version);
        let request = request.map_err(|error| Failure::other(error.to_string()))?;
        match timeout(self.options.request_timeout, self.client.request_stream(request)).await {
            Ok(Ok(lines)) => Ok(lines),
            Ok(Err(kube::Error::Api(status)))
                if self.version.is_none() && matches!(status.code, 400 | 422) =>
            {
                Err(Failure::NotStreamed)
            }
            Ok(Err(error)) => Err(Failure::of(self.kind, error)),
            Err(_) => Err(self.no_answer()),
        }
    }

    async fn list_in_pages(&mut self) -> Result<(), Failure> {
        let mut params = ListParams {
            field_selector: field_selector(self.kind),
            limit: self.pages_lists.then_some(self.options.page_size),
            ..ListParams::default()
        };
        loop {
            let request = kube::core::Request::new(path(self.kind)).list(&params);
            let request = request.map_err(|error| Failure::other(error.to_string()))?;
            let answer = self.client.request_text(request);
            let text = match timeout(self.options.request_timeout, answer).await {
                Ok(answer) => answer.map_err(|error| Failure::of(self.kind, error))?,
                Err(_) => return Err(self.no_answer()),
            };
            let page = decoding::page(self.kind, &text)
                .map_err(|error| Failure::other(format!("a list does not read: {error}")))?;
            drop(text);
            for object in page.objects {
                self.show(object).await?;
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                let version = page.metadata.resource_version.unwrap_or_default();
                return self.end_list(version).await;
            }
        }
    }

    async fn hear(&mut self, event: WatchEvent<Object>) -> Result<(), Failure> {
        let version = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let version = object.metadata().resource_version.clone();
                self.show(object).await?;
                version
            }
            WatchEvent::Deleted(object) => {
                let version = object.metadata().resource_version.clone();
                if self.known.remove(object.metadata()) {
                    self.tell(Input::Gone(object)).await?;
                }
                version
            }
            WatchEvent::Bookmark(mark) => {
                let meta = mark.metadata;
                if self.version.is_none() && meta.annotations.contains_key(END_OF_LIST) {
                    self.end_list(meta.resource_version.clone()).await?;
                }
                Some(meta.resource_version)
            }
            WatchEvent::Error(status) => return Err(Failure::of_status(self.kind, &status)),
        };
        // During a list the objects come in no order of versions.
        if self.version.is_some() {
            self.version = version.filter(|version| !version.is_empty()).or(self.version.take());
            let objects = self.known.len();
            self.progress.update(self.kind, |status| status.objects = objects);
        }
        Ok(())
    }

    fn begin_list(&mut self) {
        self.known.begin_list();
        if !self.is_missing {
            self.progress.update(self.kind, |status| status.phase = WatchPhase::Listing);
        }
    }

    async fn end_list(&mut self, version: String) -> Result<(), Failure> {
        if version.is_empty() {
            return Err(Failure::other("a list has no resource version to go on from"));
        }
        let gone = self.known.end_list();
        let (objects, deletions) = (self.known.len(), gone.len());
        for metadata in gone {
            self.tell(Input::Gone(bare(self.kind, metadata))).await?;
        }
        info!(kind = self.kind.name(), version, objects, gone = deletions, "listed");
        self.version = Some(version);
        self.pages_lists = true;
        self.is_missing = false;
        self.progress.update(self.kind, |status| {
            status.phase = WatchPhase::Watching;
            status.error = None;
            status.objects = objects;
            status.lists += 1;
        });
        self.note_seen().await
    }

    async fn note_seen(&mut self) -> Result<(), Failure> {
        if !std::mem::replace(&mut self.was_seen, true) && self.progress.seen_first() {
            info!("everything that is there has been shown");
            self.tell(Input::Synced).await?;
        }
        Ok(())
    }

    /// Tells that an object is there, unless that is no news.
    async fn show(&mut self, object: Object) -> Result<(), Failure> {
        match self.known.set(object.metadata()) {
            News::Old => return Ok(()),
            News::New => {}
            News::Replaced(old) => self.tell(Input::Gone(bare(self.kind, *old))).await?,
        }
        self.tell(Input::Set(object)).await
    }

    async fn tell(&self, input: Input) -> Result<(), Failure> {
        self.inputs.send(input).await.map_err(|_| Failure::Closed)
    }

    fn no_answer(&self) -> Failure {
        Failure::other(format!("no answer within {:?}", self.options.request_timeout))
    }
}

/// What came of trying once.
struct Session {
    began: Instant,
    /// Whether something was heard besides a list.
    is_useful: bool,
}

/// Reads a line, without its end; whether there was one. A line that is cut is none: it comes
/// again.
async fn read_line(
    lines: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    longest: Duration,
) -> Result<bool, Failure> {
    loop {
        line.clear();
        match timeout(longest, lines.read_until(b'\n', line)).await {
            Err(_) => return Err(Failure::other(format!("nothing was heard for {longest:?}"))),
            Ok(Err(error)) => return Err(Failure::other(error.to_string())),
            Ok(Ok(_)) if line.pop() != Some(b'\n') => return Ok(false),
            Ok(Ok(_)) if line.is_empty() => {}
            Ok(Ok(_)) => return Ok(true),
        }
    }
}

/// An object of which only the metadata is left.
fn bare(kind: Kind, metadata: ObjectMeta) -> Object {
    struct Bare(ObjectMeta);

    impl WithType for Bare {
        type Output = Object;

        fn with<T: Resource + Default + DeserializeOwned>(self) -> Object {
            let mut object = T::default();
            *object.metadata_mut() = self.0;
            object.into()
        }
    }
    kind.with_type(Bare(metadata))
}

fn path(kind: Kind) -> String {
    let root = if kind.group().is_empty() { "/api" } else { "/apis" };
    format!("{root}/{}/{}", kind.api_version(), kind.plural())
}

/// Pods that have come to their end take nothing from anybody: as soon as one has, the server
/// tells it as deleted.
fn field_selector(kind: Kind) -> Option<String> {
    (kind == Kind::Pod).then(|| "status.phase!=Succeeded,status.phase!=Failed".to_owned())
}

/// What the bookmark after a streamed list is marked with.
const END_OF_LIST: &str = "k8s.io/initial-events-end";
/// How much later than the server a client gives a watch up.
const MARGIN: Duration = Duration::from_secs(15);
/// A watch that ends earlier, and has told nothing, is no good.
const SHORTEST: Duration = Duration::from_secs(1);
/// How long a server that does not have a kind is left alone, at least.
const MISSING_RETRY: Duration = Duration::from_secs(60);
