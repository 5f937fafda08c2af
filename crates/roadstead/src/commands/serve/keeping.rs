//! The thread that lets a cluster's time pass: controllers and kubelets work, what is to happen
//! happens, and files that change are read again.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use roadstead_cluster::api::SharedCluster;
use roadstead_sim::Timeline;

use super::files::{Files, Reloaded};
use crate::clock::Clock;
use crate::error::Error;

/// Keeps a cluster going. Dropped, it stops.
pub(super) struct Keeper {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Fills the cluster, and keeps it going from then on.
    pub(super) fn start(
        cluster: SharedCluster,
        clock: Clock,
        mut files: Files,
    ) -> Result<Self, Error> {
        let timeline = cluster.with(|cluster, now| files.begin(now, cluster));
        let (stop, stopped) = mpsc::channel();
        let keeping = Keeping { cluster, clock, files, timeline, stopped };
        let thread = thread::Builder::new()
            .name("cluster".to_owned())
            .spawn(|| keeping.keep())
            .map_err(Error::Threads)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been told.
            let _ = thread.join();
        }
    }
}

struct Keeping {
    cluster: SharedCluster,
    clock: Clock,
    files: Files,
    timeline: Box<dyn Timeline>,
    /// Nobody sends anything: it ends when the other side does.
    stopped: mpsc::Receiver<()>,
}

impl Keeping {
    fn keep(mut self) {
        let mut looked = Instant::now();
        loop {
            let Self { cluster, timeline, .. } = &mut self;
            let (next, troubles) = cluster.with(|cluster, now| {
                let troubles = match timeline.next() {
                    Some(due) if due <= now => timeline.act(now, cluster),
                    _ => Vec::new(),
                };
                (timeline.next(), troubles)
            });
            for trouble in troubles {
                tracing::warn!("{trouble}");
            }
            if looked.elapsed() >= BETWEEN_LOOKS {
                looked = Instant::now();
                self.look();
            }
            let due = [next, self.cluster.tick()].into_iter().flatten().min();
            let pause = due.map_or(TICK, |due| self.clock.until(due).clamp(SHORTEST, TICK));
            match self.stopped.recv_timeout(pause) {
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                _ => return,
            }
        }
    }

    /// Looks whether files have changed.
    fn look(&mut self) {
        if !self.files.have_changed() {
            return;
        }
        let Self { cluster, files, .. } = self;
        match cluster.with(|cluster, now| files.reload(now, cluster)) {
            Ok((Reloaded { created, updated, replaced, deleted, starts_over }, timeline)) => {
                match starts_over {
                    true => eprintln!("reloaded: a scenario has changed, and starts over"),
                    false => eprintln!(
                        "reloaded: {created} created, {updated} updated, {replaced} replaced, \
                         {deleted} deleted"
                    ),
                }
                if let Some(timeline) = timeline {
                    self.timeline = timeline;
                }
            }
            Err(error) => eprintln!("{error}\nnot reloaded: nothing has changed"),
        }
    }
}

/// Others act on the cluster as well, and what they plan is not waited for longer than this.
const TICK: Duration = Duration::from_millis(25);
const SHORTEST: Duration = Duration::from_millis(1);
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
