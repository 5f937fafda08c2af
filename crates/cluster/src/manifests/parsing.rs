//! From text to objects.

use std::ops::Range;

use serde_json::Value;

use super::{Document, Manifests, OwnDocument, Problem};
use crate::{Kind, Object};

/// Reads the manifests in a text: YAML or JSON, of any number of documents.
///
/// `file` is what problems call it. A name that ends in `.json` is read as JSON alone.
#[must_use]
pub fn parse(file: &str, text: &str) -> Manifests {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader { file, found: Manifests::default() };
    let is_json = file.ends_with(".json");
    if is_json || text.trim_start().starts_with('{') {
        match read_json(text) {
            Ok(values) => {
                for (i, (value, range)) in values.into_iter().enumerate() {
                    reader.document(i + 1, &value, || placed(text, range));
                }
                return reader.found;
            }
            Err((document, error)) if is_json => {
                reader.problem(At { document, item: None }, Some(error.line()), error.to_string());
                return reader.found;
            }
            // A YAML mapping in braces looks like JSON at first.
            Err(_) => {}
        }
    }
    for (i, chunk) in split(text).into_iter().enumerate() {
        let at = At { document: i + 1, item: None };
        match read_yaml(&chunk.text) {
            Ok(value) => reader.document(at.document, &value, || chunk.placed()),
            Err((line, reason)) => reader.problem(at, line.map(|line| line + chunk.before), reason),
        }
    }
    reader.found
}

/// A YAML document and the number of lines before it.
struct Chunk {
    text: String,
    before: usize,
}

impl Chunk {
    /// The text with the lines that are before it, empty.
    fn placed(&self) -> String {
        "\n".repeat(self.before) + &self.text
    }
}

/// Cuts a stream into its documents, so that one that does not parse leaves the others readable.
/// At the start of a line `---` always begins a document, even inside a quoted text.
fn split(text: &str) -> Vec<Chunk> {
    let mut chunks = vec![Chunk { text: String::new(), before: 0 }];
    for (number, line) in text.lines().enumerate() {
        let rest = line.strip_prefix("---").filter(|r| r.is_empty() || r.starts_with([' ', '\t']));
        if let Some(rest) = rest {
            chunks.push(Chunk { text: String::new(), before: number });
            // Blanks for the dashes: what stands behind them keeps its column.
            push_line(&mut chunks, &format!("   {rest}"));
        } else {
            push_line(&mut chunks, line);
        }
    }
    chunks.retain(|chunk| chunk.text.lines().any(has_content));
    chunks
}

fn push_line(chunks: &mut [Chunk], line: &str) {
    if let Some(chunk) = chunks.last_mut() {
        chunk.text.push_str(line);
        chunk.text.push('\n');
    }
}

fn has_content(line: &str) -> bool {
    let line = line.trim();
    !(line.is_empty() || line.starts_with('#') || line.starts_with('%') || line == "...")
}

fn read_yaml(text: &str) -> Result<Value, (Option<usize>, String)> {
    // A dump of a large cluster is larger than any budget for strangers' texts; what aliases may
    // blow up to stays bounded.
    let options = serde_saphyr::options! { budget: None, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().and_then(|at| usize::try_from(at.line()).ok());
        let reason = match &error {
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                format!("duplicate field `{key}`")
            }
            error => error.to_string(),
        };
        (line, reason)
    })
}

/// The values of a stream, and where each stands.
fn read_json(text: &str) -> Result<Vec<(Value, Range<usize>)>, (usize, serde_json::Error)> {
    let mut values = Vec::new();
    let mut stream = serde_json::Deserializer::from_str(text).into_iter();
    let mut start = 0;
    while let Some(value) = stream.next() {
        let value = value.map_err(|error| (values.len() + 1, error))?;
        values.push((value, start..stream.byte_offset()));
        start = stream.byte_offset();
    }
    Ok(values)
}

/// A part of a text, with blanks for what is before it.
fn placed(text: &str, part: Range<usize>) -> String {
    let before = text[..part.start].chars();
    let blanks = before.map(|c| if c == '\n' { c } else { ' ' });
    blanks.collect::<String>() + &text[part]
}

/// Whether the group of an API version is one of Roadstead's.
fn is_own(api_version: &str) -> bool {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    group.strip_suffix("roadstead.dev").is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[derive(Clone, Copy)]
struct At {
    document: usize,
    item: Option<usize>,
}

struct Reader<'a> {
    file: &'a str,
    found: Manifests,
}

impl Reader<'_> {
    fn document(&mut self, document: usize, value: &Value, text: impl FnOnce() -> String) {
        let at = At { document, item: None };
        let field = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (field("apiVersion"), field("kind"));
        if is_own(api_version) {
            let file = self.file.to_owned();
            let [api_version, kind] = [api_version, kind].map(str::to_owned);
            let own = OwnDocument { file, document, api_version, kind, text: text() };
            return self.found.own.push(own);
        }
        let Some(of) = kind.strip_suffix("List") else { return self.object(at, value) };
        let Some(items) = value.get("items").and_then(Value::as_array) else {
            return self.field(at, None, "items", "required value: a list of objects");
        };
        for (i, item) in items.iter().enumerate() {
            let at = At { document, item: Some(i + 1) };
            let typed = !of.is_empty() && item.get("kind").is_none();
            if let (true, Value::Object(fields)) = (typed, item) {
                let mut fields = fields.clone();
                fields.insert("kind".to_owned(), of.into());
                let version = value.get("apiVersion").cloned().unwrap_or_default();
                fields.insert("apiVersion".to_owned(), version);
                self.object(at, &Value::Object(fields));
            } else {
                self.object(at, item);
            }
        }
    }

    fn object(&mut self, at: At, value: &Value) {
        if !value.is_object() {
            let reason = "expected an object with apiVersion and kind".to_owned();
            return self.problem(at, None, reason);
        }
        let text = |field: &str| value.get(field).and_then(Value::as_str).filter(|t| !t.is_empty());
        let Some(kind_name) = text("kind") else {
            return self.field(at, None, "kind", "required value");
        };
        let Some(api_version) = text("apiVersion") else {
            return self.field(at, Some(kind_name.to_owned()), "apiVersion", "required value");
        };
        let Some(kind) = Kind::from_type(api_version, kind_name) else {
            let name = format!("{api_version} {kind_name}");
            if !self.found.unknown_kinds.contains(&name) {
                self.found.unknown_kinds.push(name.clone());
                let reason = "objects of this kind are not kept".to_owned();
                let left_out = Problem { object: Some(name), ..self.blank(at, reason) };
                self.found.left_out.push(left_out);
            }
            return;
        };
        let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let label = format!("{kind_name} {name}").trim_end().to_owned();
        match Object::from_json(kind, value) {
            Ok(object) => self.accept(at, value, object, label),
            Err(error) => {
                let path = error.path().to_string();
                let mut reason = error.into_inner().to_string();
                // YAML reads `n`, `yes` and `1` as something else.
                if reason.starts_with("invalid type: ")
                    && ["boolean", "integer", "floating"]
                        .iter()
                        .any(|it| reason[14..].starts_with(it))
                    && reason.ends_with(", expected a string")
                {
                    reason.push_str("; quote it");
                }
                self.field(at, Some(label), &path, &reason);
            }
        }
    }

    fn accept(&mut self, at: At, value: &Value, object: Object, label: String) {
        let mut unknown = Vec::new();
        if let Ok(kept) = object.to_json() {
            find_unknown(value, &kept, "", &mut unknown);
        }
        if object.uid().is_empty() && !unknown.is_empty() {
            for field in unknown {
                self.field(at, Some(label.clone()), &field, "unknown field");
            }
            return;
        }
        // Printed by a cluster, maybe a newer one: not the reader's mistake.
        for field in unknown {
            let name = format!("{} {}", object.kind().name(), without_indices(&field));
            if !self.found.ignored_fields.contains(&name) {
                self.found.ignored_fields.push(name);
            }
        }
        let file = self.file.to_owned();
        self.found.documents.push(Document { file, document: at.document, item: at.item, object });
    }

    fn field(&mut self, at: At, object: Option<String>, field: &str, reason: &str) {
        let field = Some(field.to_owned()).filter(|field| field != ".");
        let problem = Problem { object, field, ..self.blank(at, reason.to_owned()) };
        self.found.problems.push(problem);
    }

    fn problem(&mut self, at: At, line: Option<usize>, reason: String) {
        let problem = Problem { line, ..self.blank(at, reason) };
        self.found.problems.push(problem);
    }

    fn blank(&self, at: At, reason: String) -> Problem {
        Problem {
            file: self.file.to_owned(),
            document: at.document,
            item: at.item,
            line: None,
            object: None,
            field: None,
            reason,
        }
    }
}

/// The fields that were given and that the API type did not keep. Status is what a cluster says:
/// what is unknown there has no effect.
fn find_unknown(given: &Value, kept: &Value, path: &str, unknown: &mut Vec<String>) {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => {
            for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                let field = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match kept.get(name) {
                    _ if field == "status" => {}
                    Some(kept) => find_unknown(value, kept, &field, unknown),
                    None => unknown.push(field),
                }
            }
        }
        (Value::Array(given), Value::Array(kept)) => {
            for (i, (given, kept)) in given.iter().zip(kept).enumerate() {
                find_unknown(given, kept, &format!("{path}[{i}]"), unknown);
            }
        }
        _ => {}
    }
}

fn without_indices(path: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    path.split('[').map(|part| part.trim_start_matches(is_digit)).collect::<Vec<_>>().join("[")
}
