//! As much of JSON Schema as the description of the API uses. What it does not know it refuses, so
//! that nothing is thought to be checked that is not.

use serde_json::{Map, Value};

/// What is wrong with a value, by the schema of that name or by this one.
pub(super) fn problems(description: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Check { description, found: &mut found }.check(schema, value, "$");
    found
}

struct Check<'a> {
    description: &'a Value,
    found: &'a mut Vec<String>,
}

impl Check<'_> {
    fn check(&mut self, schema: &Value, value: &Value, at: &str) {
        let schema = schema.as_object().expect("a schema is an object");
        for (keyword, wanted) in schema {
            self.keyword(keyword, wanted, schema, value, at);
        }
    }

    fn keyword(
        &mut self,
        keyword: &str,
        wanted: &Value,
        schema: &Map<String, Value>,
        value: &Value,
        at: &str,
    ) {
        let is_fine = match keyword {
            "description" | "default" | "properties" | "prefixItems" => true,
            "$ref" => {
                let name = wanted.as_str().and_then(|name| name.strip_prefix('#'));
                let pointed = self.description.pointer(name.expect("it points into the file"));
                let pointed = pointed.expect("it is there").clone();
                self.check(&pointed, value, at);
                true
            }
            "type" => match wanted {
                Value::Array(kinds) => kinds.iter().any(|kind| is_of(value, kind)),
                kind => is_of(value, kind),
            },
            "enum" => wanted.as_array().expect("a list").contains(value),
            "const" => value == wanted,
            "minimum" => number(value).is_none_or(|own| own >= number(wanted).expect("a number")),
            "maximum" => number(value).is_none_or(|own| own <= number(wanted).expect("a number")),
            "minItems" => length(value).is_none_or(|own| own >= wanted.as_u64().expect("a number")),
            "maxItems" => length(value).is_none_or(|own| own <= wanted.as_u64().expect("a number")),
            "required" => {
                let names = wanted.as_array().expect("a list");
                let has = |name: &Value| value.get(name.as_str().expect("a name")).is_some();
                !value.is_object() || names.iter().all(has)
            }
            "additionalProperties" => {
                assert_eq!(*wanted, Value::Bool(false), "nothing else is known of it");
                self.properties(schema, value, at);
                let known = schema.get("properties").and_then(Value::as_object);
                let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
                value.as_object().is_none_or(|own| own.keys().all(is_known))
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.check(wanted, item, &format!("{at}[{index}]"));
                }
                true
            }
            other => panic!("{other} is not a keyword that is checked here"),
        };
        if keyword == "prefixItems" {
            for (index, (schema, item)) in wanted
                .as_array()
                .into_iter()
                .flatten()
                .zip(value.as_array().into_iter().flatten())
                .enumerate()
            {
                self.check(schema, item, &format!("{at}[{index}]"));
            }
        }
        if keyword == "properties" && !schema.contains_key("additionalProperties") {
            self.properties(schema, value, at);
        }
        if !is_fine {
            self.found.push(format!("{at}: {keyword} {wanted} is not so of {value}"));
        }
    }

    fn properties(&mut self, schema: &Map<String, Value>, value: &Value, at: &str) {
        let known = schema.get("properties").and_then(Value::as_object);
        for (name, schema) in known.into_iter().flatten() {
            if let Some(own) = value.get(name) {
                self.check(schema, own, &format!("{at}.{name}"));
            }
        }
    }
}

fn is_of(value: &Value, kind: &Value) -> bool {
    match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        _ => panic!("{kind} is not a type"),
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}
