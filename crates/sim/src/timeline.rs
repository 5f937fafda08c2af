//! What happens to a cluster from outside, and when.

use roadstead_cluster::embedded::Cluster;
use roadstead_queue::Time;

/// What happens to a cluster from outside: objects come, change and go at their times.
///
/// A timeline is a state machine as everything else here: it is asked when it wants to act, and
/// acts when that time has come.
pub trait Timeline: Send {
    /// When it next wants to act; `None` when it has nothing left to do.
    fn next(&self) -> Option<Time>;

    /// Does everything that is due by `now`, after which [`next`](Self::next) is later than `now`.
    ///
    /// Returns what did not work, in words. The run goes on, and its outcome tells.
    fn act(&mut self, now: Time, cluster: &mut Cluster) -> Vec<String>;
}

/// Nothing happens from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uneventful;

impl Timeline for Uneventful {
    fn next(&self) -> Option<Time> {
        None
    }

    fn act(&mut self, _: Time, _: &mut Cluster) -> Vec<String> {
        Vec::new()
    }
}

impl<T: Timeline + ?Sized> Timeline for Box<T> {
    fn next(&self) -> Option<Time> {
        (**self).next()
    }

    fn act(&mut self, now: Time, cluster: &mut Cluster) -> Vec<String> {
        (**self).act(now, cluster)
    }
}

/// A timeline whose beginning is not that of time.
#[derive(Clone, Copy, Debug)]
pub struct StartingAt<T> {
    start: Time,
    timeline: T,
}

impl<T> StartingAt<T> {
    /// What the timeline does at some time happens so long after `start`.
    pub fn new(start: Time, timeline: T) -> Self {
        Self { start, timeline }
    }
}

impl<T: Timeline> Timeline for StartingAt<T> {
    fn next(&self) -> Option<Time> {
        self.timeline.next().map(|next| self.start + (next - Time::ZERO))
    }

    /// The cluster's own clock is ahead of the time that the timeline is told, and counts.
    fn act(&mut self, now: Time, cluster: &mut Cluster) -> Vec<String> {
        self.timeline.act(Time::ZERO + (now - self.start), cluster)
    }
}

/// Two timelines, side by side; what both do at one time the first does first.
impl<A: Timeline, B: Timeline> Timeline for (A, B) {
    fn next(&self) -> Option<Time> {
        [self.0.next(), self.1.next()].into_iter().flatten().min()
    }

    fn act(&mut self, now: Time, cluster: &mut Cluster) -> Vec<String> {
        let mut troubles = self.0.act(now, cluster);
        troubles.extend(self.1.act(now, cluster));
        troubles
    }
}
