//! Replays traces and says where a subject does something else than the real queue did.

use std::fmt;

use crate::caller::Caller;
use crate::difference::{self, Difference};
use crate::subject::Subject;
use crate::trace::{Op, Quirk, Trace, TraceError, Traces};

/// Replays all traces of a file, in order, each against a subject of its own.
///
/// A trace is left at its first difference: what comes after it follows from it. An error ends
/// the file.
pub fn replay<S: Subject>(traces: Traces) -> Result<Report, TraceError> {
    let file = traces.file().to_owned();
    let mut report = Report::default();
    for trace in traces {
        let trace = trace?;
        if let Some(quirk) = trace.header.quirk {
            report.left_out.push(LeftOut { trace: trace.header.name, quirk });
            continue;
        }
        report.traces += 1;
        match first_difference::<S>(&trace) {
            (operations, None) => report.operations += operations,
            (operations, Some(found)) => {
                report.operations += operations;
                let Trace { header, line, .. } = trace;
                let about = header.about;
                let failing =
                    Failing { file: file.clone(), line, trace: header.name, about, found };
                report.failing.push(failing);
            }
        }
    }
    Ok(report)
}

/// What came of replaying.
#[derive(Debug, Default)]
pub struct Report {
    /// How many traces were replayed.
    pub traces: usize,
    /// How many operations were done.
    pub operations: usize,
    /// The traces that did not go as recorded.
    pub failing: Vec<Failing>,
    /// The traces that were not replayed.
    pub left_out: Vec<LeftOut>,
}

impl Report {
    /// Adds the report of another file.
    pub fn add(&mut self, other: Report) {
        self.traces += other.traces;
        self.operations += other.operations;
        self.failing.extend(other.failing);
        self.left_out.extend(other.left_out);
    }
}

/// A trace that did not go as recorded, and where it first did not.
#[derive(Clone, Debug)]
pub struct Failing {
    /// The file.
    pub file: String,
    /// The line of the trace's header.
    pub line: usize,
    /// The trace's name.
    pub trace: String,
    /// What the trace is there to show.
    pub about: Option<String>,
    found: Found,
}

#[derive(Clone, Debug)]
struct Found {
    line: usize,
    /// `None`: it is the end record that differs.
    op: Option<Op>,
    /// The record is on the left.
    differences: Vec<Difference>,
}

impl Failing {
    /// The fields that differ; the record is on the left.
    pub fn differences(&self) -> &[Difference] {
        &self.found.differences
    }

    /// The line of the step, or of the end record, that differs.
    pub fn differs_on_line(&self) -> usize {
        self.found.line
    }
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace `{}` ({}:{})", self.trace, self.file, self.line)?;
        if let Some(about) = &self.about {
            write!(f, ": {about}")?;
        }
        write!(f, "\n  line {}: ", self.found.line)?;
        match &self.found.op {
            Some(op) => write!(f, "{op}")?,
            None => write!(f, "end")?,
        }
        difference::write(f, &self.found.differences, ["expected", "got"])
    }
}

/// A trace that was not replayed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The trace's name.
    pub trace: String,
    /// The mistake of the real queue that it shows.
    pub quirk: Quirk,
}

impl LeftOut {
    /// The deviation that this is, under the number that the project's documents give it.
    pub fn reason(&self) -> &'static str {
        match self.quirk {
            Quirk::TwoPlaces => "D1 two places",
        }
    }
}

/// Replays a trace to its first difference; says how many operations that took.
fn first_difference<S: Subject>(trace: &Trace) -> (usize, Option<Found>) {
    let mut caller = Caller::<S>::open(&trace.header);
    for (index, step) in trace.steps.iter().enumerate() {
        let outcome = caller.apply(&step.op);
        let mut differences = difference::outcomes(&step.outcome, &outcome);
        differences.extend(difference::states(&step.state, &caller.state()));
        if !differences.is_empty() {
            let found = Found { line: step.line, op: Some(step.op.clone()), differences };
            return (index + 1, Some(found));
        }
    }
    let differences = difference::ends(&trace.end, &caller.end());
    let found = Found { line: trace.end_line, op: None, differences };
    (trace.steps.len(), Some(found).filter(|found| !found.differences.is_empty()))
}
