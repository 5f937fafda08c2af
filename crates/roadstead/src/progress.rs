//! How far a long run is, on a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use roadstead_queue::Time;
use roadstead_sim::Progress;

use crate::print::{bar, duration, number};

/// A line on standard error that is drawn over and over, if that is a terminal and the run is
/// long enough for somebody to wonder.
pub(crate) struct ProgressLine {
    is_shown: bool,
    until: Option<Time>,
    next: Instant,
    is_drawn: bool,
}

impl ProgressLine {
    pub(crate) fn new(until: Option<Time>) -> Self {
        Self {
            is_shown: io::stderr().is_terminal(),
            until,
            next: Instant::now() + PATIENCE,
            is_drawn: false,
        }
    }

    pub(crate) fn update(&mut self, progress: &Progress) {
        if !self.is_shown || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + INTERVAL;
        self.is_drawn = true;
        let time = duration(progress.now - Time::ZERO);
        let done = self.until.map_or(String::new(), |until| {
            let [now, until] = [progress.now, until].map(|time| time.as_nanos() as f64);
            format!("{} ", bar(now / until.max(1.0), 20))
        });
        let [bound, waiting, cycles] =
            [progress.bound as u64, progress.waiting as u64, progress.cycles].map(number);
        // A terminal that cannot be written to does not keep the run from its end.
        let _ = write!(
            io::stderr(),
            "\r\x1b[K{done}{time}  {bound} bound  {waiting} waiting  {cycles} cycles"
        );
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_drawn {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// How long a run goes on before the first line.
const PATIENCE: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_millis(100);
