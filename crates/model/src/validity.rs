//! What Kubernetes takes for a label key or value, and its words when it does not.

/// What is wrong with a label key (the API's "qualified name"), or nothing.
#[must_use]
pub fn label_key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut parts = key.split('/');
    let name = match (parts.next().unwrap_or_default(), parts.next(), parts.next()) {
        (name, None, _) => name,
        (prefix, Some(name), None) => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors.extend(
                    subdomain_errors(prefix).into_iter().map(|e| format!("prefix part {e}")),
                );
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                name_error()
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name(name) {
        errors.push(format!("name part {}", name_error()));
    }
    errors
}

/// What is wrong with a label value, or nothing.
pub(crate) fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 63 {
        errors.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_name(value) {
        errors.push(pattern_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
             and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

/// A refused field in the API server's words.
pub(crate) fn invalid(path: &str, value: &str, detail: &str) -> String {
    format!("{path}: Invalid value: {value:?}: {detail}")
}

/// The same for a list, which Go prints as source.
pub(crate) fn invalid_list(path: &str, values: &[String], detail: &str) -> String {
    let list = match values {
        [] => "[]string(nil)".to_owned(),
        _ => format!("[]string{{{}}}", quoted(values.iter().map(String::as_str))),
    };
    format!("{path}: Invalid value: {list}: {detail}")
}

/// A refused enumeration value in the API server's words.
pub(crate) fn not_supported(path: &str, value: &str, supported: &[&str]) -> String {
    let supported = quoted(supported.iter().copied());
    format!("{path}: Unsupported value: {value:?}: supported values: {supported}")
}

/// Several errors as one, as Kubernetes prints an aggregate: each message once.
pub(crate) fn aggregate(errors: &[String]) -> String {
    let mut seen: Vec<&str> = Vec::with_capacity(errors.len());
    for error in errors {
        if !seen.contains(&error.as_str()) {
            seen.push(error);
        }
    }
    match seen.as_slice() {
        [only] => (*only).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}

fn quoted<'a>(values: impl Iterator<Item = &'a str>) -> String {
    values.map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", ")
}

fn subdomain_errors(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > 253 {
        errors.push("must be no more than 253 bytes".to_owned());
    }
    if !name.split('.').all(is_dns_label) {
        errors.push(pattern_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
             and must start and end with an alphanumeric character",
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    errors
}

fn is_dns_label(label: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    matches!(label.as_bytes(), [first, ..] if inner(*first))
        && label.bytes().last().is_some_and(inner)
        && label.bytes().all(|c| inner(c) || c == b'-')
}

fn is_name(name: &str) -> bool {
    matches!(name.as_bytes(), [first, ..] if first.is_ascii_alphanumeric())
        && name.bytes().last().is_some_and(|last| last.is_ascii_alphanumeric())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
}

fn name_error() -> String {
    pattern_error(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character",
        "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
        &["MyName", "my.name", "123-abc"],
    )
}

fn pattern_error(message: &str, pattern: &str, examples: &[&str]) -> String {
    // The double space before "or" is upstream's.
    let examples = examples.iter().map(|e| format!("'{e}', ")).collect::<Vec<_>>().join(" or ");
    format!("{message} (e.g. {examples}regex used for validation is '{pattern}')")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_keys() {
        for good in ["a", "app", "app.kubernetes.io/name", "A_b.c-9", "x.y/0", &"k".repeat(63)] {
            assert_eq!(label_key_errors(good), Vec::<String>::new(), "{good}");
        }
        for bad in [
            "",
            "/",
            "a/",
            "/a",
            "-a",
            "a-",
            "a b",
            "A.B/c",
            "a/b/c",
            "ä",
            "a..b/c",
            &"k".repeat(64),
        ] {
            assert_ne!(label_key_errors(bad), Vec::<String>::new(), "{bad}");
        }
    }

    #[test]
    fn label_values() {
        for good in ["", "a", "0204", "a_b.c-9", &"v".repeat(63)] {
            assert_eq!(label_value_errors(good), Vec::<String>::new(), "{good}");
        }
        for bad in ["-1", "a/b", "{{.bad}}", "a ", &"v".repeat(64)] {
            assert_ne!(label_value_errors(bad), Vec::<String>::new(), "{bad}");
        }
    }

    #[test]
    fn the_words_are_upstreams() {
        assert_eq!(
            invalid("values[0][a]", "-1", &label_value_errors("-1").join("; ")),
            "values[0][a]: Invalid value: \"-1\": a valid label must be an empty string or consist of \
             alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
             (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        );
        assert_eq!(aggregate(&["a".into(), "a".into()]), "a");
        assert_eq!(aggregate(&["a".into(), "b".into()]), "[a, b]");
    }
}
