//! A server or scheduler as a process of its own, ended at the latest when its owner is dropped.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::{Outcome, While, check};

/// A child process.
pub(crate) struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// Starts `program`, its output appended to `log`.
    pub(crate) fn start<A: AsRef<OsStr>>(
        name: &str,
        program: &Path,
        arguments: &[A],
        log: &Path,
    ) -> Outcome<Process> {
        let output = File::options().create(true).append(true).open(log).during(log.display())?;
        let errors = output.try_clone().during(log.display())?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            // Out of reach of the terminal's Ctrl-C: whoever drops this ends it.
            .process_group(0)
            .spawn()
            .during(format_args!("cannot start {}", program.display()))?;
        Ok(Process { name: name.to_owned(), child })
    }

    /// Sends `signal`.
    pub(crate) fn signal(&self, signal: Signal) -> Outcome {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).during(format_args!("cannot signal {}", self.name))
    }

    /// Ends it at once, as `kill -9` does.
    pub(crate) fn kill(&mut self) -> Outcome {
        self.child.kill().during(format_args!("cannot kill {}", self.name))?;
        self.child.wait().during(format_args!("cannot wait for {}", self.name))?;
        Ok(())
    }

    /// Asks it to end, and says how it did.
    pub(crate) async fn terminate(&mut self, patience: Duration) -> Outcome<ExitStatus> {
        self.signal(Signal::TERM)?;
        let began = Instant::now();
        loop {
            if let Some(status) = self.exit_status()? {
                return Ok(status);
            }
            check(began.elapsed() < patience, || {
                format!("{} goes on {} s after SIGTERM", self.name, patience.as_secs())
            })?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// How it ended, if it has.
    pub(crate) fn exit_status(&mut self) -> Outcome<Option<ExitStatus>> {
        self.child.try_wait().during(&self.name)
    }

    /// Fails if it has ended by itself.
    pub(crate) fn must_run(&mut self) -> Outcome {
        match self.exit_status()? {
            None => Ok(()),
            Some(status) => Err(format!("{} ended by itself: {status}", self.name).into()),
        }
    }

    /// What it has used so far.
    pub(crate) fn usage(&self) -> Outcome<Usage> {
        let id = self.child.id();
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).during(&self.name)?;
        let status = fs::read_to_string(format!("/proc/{id}/status")).during(&self.name)?;
        Usage::parse(&stat, &status)
            .ok_or_else(|| format!("{}: /proc/{id} is not as expected", self.name).into())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processor time and memory of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    /// User and system time.
    pub(crate) cpu_seconds: f64,
    /// Resident memory.
    pub(crate) resident_bytes: u64,
    /// The most resident memory there ever was.
    pub(crate) peak_bytes: u64,
}

impl Usage {
    fn parse(stat: &str, status: &str) -> Option<Usage> {
        // The second field is the program's name in brackets, and may hold spaces.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 =
            fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        let kilobytes = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix(" kB")?.parse().ok()
        };
        Some(Usage {
            cpu_seconds: ticks as f64 / TICKS_PER_SECOND,
            resident_bytes: kilobytes("VmRSS:")? * 1024,
            peak_bytes: kilobytes("VmHWM:")? * 1024,
        })
    }
}

/// Linux shows times to programs in hundredths of a second, whatever its own clock does.
const TICKS_PER_SECOND: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_past_a_name_with_spaces_and_brackets() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 100 0 0";
        let status = "Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";

        let usage = Usage::parse(stat, status);

        let expected = Usage { cpu_seconds: 3.0, resident_bytes: 1 << 20, peak_bytes: 2 << 20 };
        assert_eq!(usage, Some(expected));
    }
}
