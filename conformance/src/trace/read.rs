//! Reads traces from `.jsonl` and `.jsonl.gz` files.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Op, Outcome, Step, Trace};

/// The traces of one file, read one at a time.
///
/// After an error there is nothing more: what follows a broken line cannot be trusted.
pub struct Traces {
    file: String,
    lines: Box<dyn BufRead>,
    line: usize,
    is_broken: bool,
}

impl Traces {
    /// Opens a file; one whose name ends in `.gz` is unpacked while it is read.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file = path.display().to_string();
        let opened = File::open(path).map_err(|error| TraceError {
            file: file.clone(),
            line: 0,
            what: error.to_string(),
        })?;
        let lines: Box<dyn BufRead> = if path.extension().is_some_and(|it| it == "gz") {
            Box::new(BufReader::new(MultiGzDecoder::new(BufReader::new(opened))))
        } else {
            Box::new(BufReader::new(opened))
        };
        Ok(Self::from_lines(file, lines))
    }

    /// Reads from anything that has lines; `file` is how errors call it.
    pub fn from_lines(file: impl Into<String>, lines: impl BufRead + 'static) -> Self {
        Self { file: file.into(), lines: Box::new(lines), line: 0, is_broken: false }
    }

    /// How errors call the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    fn read_trace(&mut self) -> Result<Option<Trace>, String> {
        let header = match self.read_line()? {
            None => return Ok(None),
            Some(Line::Header(header)) => header,
            Some(_) => return Err("expected a header before the first operation".to_owned()),
        };
        let line = self.line;
        let mut steps = Vec::new();
        loop {
            match self.read_line()? {
                Some(Line::Step(step)) => steps.push(Step { line: self.line, ..*step }),
                Some(Line::End(end)) => {
                    let end_line = self.line;
                    return Ok(Some(Trace { header: *header, line, steps, end, end_line }));
                }
                Some(Line::Header(_)) => {
                    return Err(format!("a header before the end of trace `{}`", header.name));
                }
                None => return Err(format!("trace `{}` has no end", header.name)),
            }
        }
    }

    /// The next line that is not blank, or `None` after the last.
    fn read_line(&mut self) -> Result<Option<Line>, String> {
        let mut text = String::new();
        loop {
            text.clear();
            self.line += 1;
            match self.lines.read_line(&mut text) {
                Ok(0) => return Ok(None),
                Ok(_) if text.trim().is_empty() => {}
                Ok(_) => return Line::parse(&text).map(Some),
                Err(error) => return Err(unreadable(&error)),
            }
        }
    }
}

impl Iterator for Traces {
    type Item = Result<Trace, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_broken {
            return None;
        }
        let read = self.read_trace().transpose()?;
        self.is_broken = read.is_err();
        Some(read.map_err(|what| TraceError { file: self.file.clone(), line: self.line, what }))
    }
}

/// What is wrong with a file of traces, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceError {
    /// The file.
    pub file: String,
    /// The line, counted from 1; 0 where the file could not be opened.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.what),
            line => write!(f, "{}:{line}: {}", self.file, self.what),
        }
    }
}

impl std::error::Error for TraceError {}

enum Line {
    Header(Box<super::Header>),
    Step(Box<Step>),
    End(super::End),
}

impl Line {
    fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| syntax(&error))?;
        let Value::Object(mut fields) = value else {
            return Err("expected a JSON object".to_owned());
        };
        if fields.contains_key("op") {
            return Self::parse_step(fields);
        }
        let line = if let Some(header) = fields.remove("header") {
            Self::Header(Box::new(typed("header", header)?))
        } else if let Some(end) = fields.remove("end") {
            Self::End(typed("end", end)?)
        } else {
            return Err("expected `header`, `op` or `end`".to_owned());
        };
        match fields.keys().next() {
            Some(unknown) => Err(format!("unknown field `{unknown}`")),
            None => Ok(line),
        }
    }

    fn parse_step(mut fields: Map<String, Value>) -> Result<Self, String> {
        let result = fields.remove("result").ok_or("missing field `result`")?;
        let state = fields.remove("state").ok_or("missing field `state`")?;
        let op: Op = typed("operation", Value::Object(fields))?;
        let outcome = Outcome::read(&op, result).map_err(|what| format!("result: {what}"))?;
        // The reader knows the line, and fills it in.
        let step = Step { line: 0, op, outcome, state: typed("state", state)? };
        Ok(Self::Step(Box::new(step)))
    }
}

fn typed<T: DeserializeOwned>(place: &str, value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("{place}: {error}"))
}

/// The parser sees a line at a time, so the line number in its message is always 1 and misleads.
fn syntax(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("column {}: {what}", error.column())
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"header":{"name":"t","start_ms":0,"initial_backoff_ms":1,"max_backoff_ms":2,"max_in_unschedulable_ms":3,"queueing_hints":true,"pop_from_backoff":true,"gates":[],"hints":[]}}"#;
    const STATE: &str = r#"{"active":[],"backoff":[],"unschedulable":[],"gated":[],"in_flight":[],"in_flight_events":0,"cycle":0,"move_cycle":-1,"pods":{}}"#;
    const END: &str = r#"{"end":{"drained":[],"incoming":{},"pending":{"active":0,"backoff":0,"unschedulable":0,"gated":0}}}"#;

    fn read(text: String) -> Result<Vec<Trace>, TraceError> {
        Traces::from_lines("t.jsonl", io::Cursor::new(text)).collect()
    }

    /// A trace whose one operation has these fields besides its state.
    fn with_op(fields: &str) -> String {
        format!("{HEADER}\n{{{fields},\"state\":{STATE}}}\n{END}\n")
    }

    #[test]
    fn many_traces_share_a_file() {
        let one = with_op(r#""op":"pop","result":"ns/a""#);
        let traces = read(format!("{one}\n{one}")).unwrap();
        assert_eq!(traces.len(), 2);
        assert_eq!(traces[1].line, 5, "the blank line counts");
        assert_eq!(traces[1].steps[0].line, 6);
        assert_eq!(traces[1].end_line, 7);
    }

    #[test]
    fn a_malformed_line_is_named_with_what_is_wrong() {
        #[rustfmt::skip]
        let table = [
            (with_op(r#""op":"fly","result":null"#),                         2, "unknown variant `fly`"),
            (with_op(r#""op":"pop","result":null,"why":1"#),                 2, "unknown field `why`"),
            (with_op(r#""op":"add","result":null"#),                         2, "missing field `pod`"),
            (with_op(r#""op":"pop""#),                                       2, "missing field `result`"),
            (with_op(r#""op":"pop","result":3"#),                            2, "result: invalid type"),
            (with_op(r#""op":"pop","result":"a""#),                          2, "pod name `a`, expected `namespace/name`"),
            (with_op(r#""op":"done","pod":"ns/a","result":"ns/a""#),         2, "result: expected null"),
            (with_op(r#""op":"nominated","node":"n","result":null"#),        2, "result: expected a list"),
            (with_op(r#""op":"advance","ms":-1,"result":null"#),             2, "operation: invalid value"),
            (with_op(r#""op":"add","pod":{"name":"a","namespace":"ns","uid":"u","size":1},"result":null"#), 2, "unknown field `size`"),
            (with_op(r#""op":"event","event":{"resource":"Node","action":["Paint"]},"result":null"#), 2, "unknown action `Paint`"),
            (with_op(r#""op":"reject","pod":"ns/a","unschedulable":[],"pending":[],"result":"already-gone""#), 2, "unknown variant `already-gone`"),
            (HEADER.replace("\"gates\"", "\"doors\""),                       1, "unknown field `doors`"),
            (HEADER.replace("\"name\"", "\"quirk\":\"odd\",\"name\""),       1, "unknown variant `odd`"),
            (format!("{HEADER}\n{{\"op\":\"pop\",\"result\":null,\"state\":{{}}}}"), 2, "state: missing field `active`"),
            (format!("{HEADER}\n{{\"op\":"),                                 2, "column 6: EOF"),
            (format!("{HEADER}\n[]"),                                        2, "expected a JSON object"),
            (format!("{HEADER}\n{{}}"),                                      2, "expected `header`, `op` or `end`"),
            (format!("{HEADER}\n{HEADER}"),                                  2, "before the end of trace `t`"),
            (HEADER.to_owned(),                                              2, "trace `t` has no end"),
            (END.to_owned(),                                                 1, "expected a header"),
        ];
        for (text, line, what) in table {
            let error = read(text).expect_err(what);
            assert_eq!((error.file.as_str(), error.line), ("t.jsonl", line), "{error}");
            assert!(error.what.contains(what), "{error}\nshould say: {what}");
        }
    }

    #[test]
    fn what_is_not_text_is_an_error_too() {
        let bytes = io::Cursor::new(vec![b'{', 0xff, 0xfe, b'\n']);
        let error = Traces::from_lines("t.jsonl", bytes).next().unwrap().unwrap_err();
        assert!(error.to_string().starts_with("t.jsonl:1: cannot be read"), "{error}");

        let packed = BufReader::new(MultiGzDecoder::new(io::Cursor::new(b"not packed")));
        let error = Traces::from_lines("t.jsonl.gz", packed).next().unwrap().unwrap_err();
        assert!(error.to_string().starts_with("t.jsonl.gz:1: cannot be read"), "{error}");
    }

    #[test]
    fn nothing_follows_a_broken_line() {
        let text = format!("[]\n{HEADER}\n{END}\n");
        let mut traces = Traces::from_lines("t.jsonl", io::Cursor::new(text));
        assert!(traces.next().unwrap().is_err());
        assert!(traces.next().is_none());
    }
}
