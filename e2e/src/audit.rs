//! What the API server itself wrote down.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::failure::{Outcome, While};

/// How many bindings of each pod were accepted, after the first `passed` lines of the log, and
/// how many lines there are.
///
/// The log has no identity of a pod but its name, which may return.
pub(crate) fn bindings(log: &Path, passed: usize) -> Outcome<(BTreeMap<String, usize>, usize)> {
    let text = fs::read_to_string(log).during(log.display())?;
    let mut times = BTreeMap::new();
    for line in text.lines().skip(passed) {
        // A server that was killed may have left half a line.
        let Ok(entry) = serde_json::from_str::<Entry>(line) else { continue };
        if (200..300).contains(&entry.response_status.code) {
            let pod = format!("{}/{}", entry.object_ref.namespace, entry.object_ref.name);
            *times.entry(pod).or_default() += 1;
        }
    }
    Ok((times, text.lines().count()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    object_ref: ObjectReference,
    response_status: ResponseStatus,
}

#[derive(Deserialize)]
struct ObjectReference {
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct ResponseStatus {
    code: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_accepted_bindings_are_counted_and_half_a_line_is_passed_over() {
        let line = |name: &str, code: u16| {
            format!(
                r#"{{"verb":"create","objectRef":{{"namespace":"a","name":"{name}"}},"responseStatus":{{"code":{code}}}}}"#
            )
        };
        let text = [line("x", 201), line("x", 409), line("y", 201), line("y", 201), "{\"ve".into()];
        let directory = tempfile::tempdir().expect("a temporary directory");
        let log = directory.path().join("audit.log");
        fs::write(&log, text.join("\n")).expect("a file");

        let counted = bindings(&log, 0).expect("a readable log");
        let (later, _) = bindings(&log, 3).expect("a readable log");

        assert_eq!(counted.0, BTreeMap::from([("a/x".to_owned(), 1), ("a/y".to_owned(), 2)]));
        assert_eq!(counted.1, 5);
        assert_eq!(later, BTreeMap::from([("a/y".to_owned(), 1)]));
    }
}
