//! Prints a value as YAML, keys sorted, as Kubernetes' own tools do.

use serde_json::{Map, Value};

use crate::document::Duration;

/// A YAML document of block style that reads back as the same value.
#[must_use]
pub fn print(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => print_map(map, 0, &mut out),
        Value::Array(items) if !items.is_empty() => print_list(items, 0, &mut out),
        scalar => out.push_str(&inline(scalar)),
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// The entries of a map, the first where the text stands, the others `indent` further.
fn print_map(map: &Map<String, Value>, indent: usize, out: &mut String) {
    for (i, (key, value)) in map.iter().enumerate() {
        if i > 0 {
            pad(indent, out);
        }
        out.push_str(&text(key));
        out.push(':');
        match value {
            Value::Object(map) if !map.is_empty() => {
                out.push('\n');
                pad(indent + 2, out);
                print_map(map, indent + 2, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                pad(indent, out);
                print_list(items, indent, out);
            }
            scalar => {
                out.push(' ');
                out.push_str(&inline(scalar));
                out.push('\n');
            }
        }
    }
}

fn print_list(items: &[Value], indent: usize, out: &mut String) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            pad(indent, out);
        }
        out.push_str("- ");
        match item {
            Value::Object(map) if !map.is_empty() => print_map(map, indent + 2, out),
            Value::Array(items) if !items.is_empty() => print_list(items, indent + 2, out),
            scalar => {
                out.push_str(&inline(scalar));
                out.push('\n');
            }
        }
    }
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        // Of a number with a fraction of zero the fraction is left out, as in JSON from Go.
        Value::Number(number) => number.to_string().trim_end_matches(".0").to_owned(),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

/// Bare where that is a string without doubt, else in quotes.
fn text(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-'))
        && !OTHER_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    let is_duration = text.is_ascii() && text.ends_with('s') && Duration::parse(text).is_ok();
    if is_word || is_duration {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Words that YAML 1.1 takes for something else than a string.
const OTHER_WORDS: [&str; 12] =
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::Node;

    #[test]
    fn what_is_printed_reads_back() {
        let texts = [
            "",
            " ",
            "a",
            "a b",
            "yes",
            "No",
            "null",
            "~",
            "*",
            "&a",
            "10s",
            "10",
            "1e3",
            "0x1f",
            "1_0",
            ".5",
            "-",
            "- a",
            "a: b",
            "a #b",
            "#",
            "'",
            "\"",
            "\\",
            "é",
            "a\nb\n",
            "\t",
            "\u{7f}\u{85}\u{2028}\u{feff}\u{1}",
            "kubescheduler.config.k8s.io/v1",
            "{}",
            "[a]",
            "inf",
            "<<",
            "=",
            "2024-01-01",
            "1:30",
            "%a",
            "@a",
            "!a",
            "|",
            ">",
            "?",
            "a:",
            "1s",
        ];
        let mut values: Vec<Value> = texts.iter().map(|text| json!(text)).collect();
        values.extend([json!(null), json!(true), json!(-7), json!(u64::MAX), json!(0.25)]);
        values.extend([json!([]), json!({}), json!([[1, [2]], [], [{}]]), json!({"a": {"b": []}})]);
        values.push(json!({"a": [{"b": 1, "c": [1, 2]}, {"d": {"e": {"f": "g"}}}], "*": "h"}));
        for text in texts {
            values.push(json!({ text: text }));
        }
        values.push(Value::Array(values.clone()));
        for value in values {
            let printed = print(&value);
            let (read, error) = Node::parse(&printed);
            assert!(error.is_none(), "{value}: {error:?}\n{printed}");
            assert_eq!(read.unwrap().to_json(), value, "{printed}");
        }
    }

    #[test]
    fn it_looks_as_one_would_write_it() {
        let value = json!({
            "name": "a", "qps": 50.0, "empty": [], "time": "10m0s",
            "list": [{"name": "x", "weight": 1}, "*"],
            "map": {"on": "yes"},
        });
        let expected = "\
empty: []
list:
- name: x
  weight: 1
- \"*\"
map:
  \"on\": \"yes\"
name: a
qps: 50
time: 10m0s
";
        assert_eq!(print(&value), expected);
    }
}
