//! Runs one sequence on two queues side by side.

use std::fmt;

use crate::caller::Caller;
use crate::difference::{self, Difference};
use crate::random::Sequence;
use crate::subject::Subject;
use crate::trace::Op;

/// Runs a sequence on `A` and `B` and returns where they first part: in what an operation
/// returned, in the state after it, or in what is left at the end.
pub fn compare<A: Subject, B: Subject>(sequence: &Sequence) -> Option<Divergence> {
    let mut a = Caller::<A>::open(&sequence.header);
    let mut b = Caller::<B>::open(&sequence.header);
    let part = |ops: &[Op], is_at_end, differences: Vec<Difference>| {
        (!differences.is_empty()).then(|| Divergence {
            sequence: Sequence { header: sequence.header.clone(), ops: ops.to_vec() },
            is_at_end,
            names: [A::NAME, B::NAME],
            differences,
        })
    };
    for (index, op) in sequence.ops.iter().enumerate() {
        let mut differences = difference::outcomes(&a.apply(op), &b.apply(op));
        differences.extend(difference::states(&a.state(), &b.state()));
        let parted = part(&sequence.ops[..=index], false, differences);
        if parted.is_some() {
            return parted;
        }
    }
    part(&sequence.ops, true, difference::ends(&a.end(), &b.end()))
}

/// Where two queues part.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The sequence up to the operation at which they do: what reproduces it.
    pub sequence: Sequence,
    /// Whether all operations went alike, and only the end record differs.
    pub is_at_end: bool,
    /// The fields that differ.
    pub differences: Vec<Difference>,
    names: [&'static str; 2],
}

impl fmt::Display for Divergence {
    /// The header and the operations as lines of a trace, then what differs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = serde_json::to_string(&self.sequence.header).map_err(|_| fmt::Error)?;
        write!(f, "{{\"header\":{header}}}")?;
        for op in &self.sequence.ops {
            write!(f, "\n{op}")?;
        }
        let count = self.sequence.ops.len();
        let place = if self.is_at_end { "at the end" } else { "at the last one" };
        write!(f, "\n  after {count} operations, {place}:")?;
        difference::write(f, &self.differences, self.names)
    }
}
