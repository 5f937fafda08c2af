//! Bodies in protobuf: `kubectl create` and other clients of Kubernetes send them unasked.
//!
//! They are read into the JSON that the same object would be; answers are always JSON, which these
//! clients take. `protobuf/fields.txt` says what the fields are called and how they are written.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};

/// How clients call it.
pub(super) const MEDIA: &str = "application/vnd.kubernetes.protobuf";

/// Reads an object with its kind.
///
/// # Errors
/// What is wrong with the bytes, or that the kind is not known here.
pub(super) fn read(bytes: &[u8]) -> Result<Value, String> {
    let envelope = bytes.strip_prefix(b"k8s\0").ok_or("it does not begin with `k8s` and a zero")?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Fields(envelope) {
        match field? {
            (1, Wire::Bytes(described)) => {
                for field in Fields(described) {
                    match field? {
                        (1, Wire::Bytes(text)) => api_version = read_text(text)?,
                        (2, Wire::Bytes(text)) => kind = read_text(text)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(object)) => raw = object,
            (3, Wire::Bytes(encoding)) if !encoding.is_empty() => {
                return Err("its contents are encoded once more".to_owned());
            }
            _ => {}
        }
    }
    let message = message_of(&api_version, &kind);
    let message = message.filter(|message| MESSAGES.contains_key(&**message)).ok_or_else(|| {
        format!("{kind} of `{api_version}` is not known in protobuf here; send it as JSON")
    })?;
    let mut object = read_message(&message, raw, 0)?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

fn message_of(api_version: &str, kind: &str) -> Option<String> {
    // It goes by the version of what is deleted.
    if kind == "DeleteOptions" {
        return Some("meta.DeleteOptions".to_owned());
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let package = group.split('.').next()?;
    (version == "v1").then(|| format!("{package}.{kind}"))
}

fn read_message(name: &str, bytes: &[u8], depth: usize) -> Result<Map<String, Value>, String> {
    if depth > DEEPEST {
        return Err(format!("messages in messages, more than {DEEPEST}"));
    }
    let known = MESSAGES.get(name).ok_or_else(|| format!("the message {name} is not known"))?;
    let mut object = Map::new();
    for field in Fields(bytes) {
        let (number, wire) = field?;
        // A client that is newer than the table knows fields that are not in it; an API server
        // passes over them, too.
        let Some(field) = known.get(&number) else { continue };
        let told = |why: String| format!("{name}.{}: {why}", field.name);
        let value = read_value(&field.kind, wire, depth).map_err(told)?;
        match (&field.kind, field.mark, value) {
            (_, Mark::Inlined, Value::Object(inner)) => object.extend(inner),
            (_, _, Value::Null) => {}
            (_, Mark::Omitted, value) if is_zero(&value) => {}
            (Kind::List(_), _, value) => {
                let list = object.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut().into_iter().for_each(|list| list.push(value.clone()));
            }
            (Kind::Map(_), _, Value::Object(entry)) => {
                let map = object.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
                map.as_object_mut().into_iter().for_each(|map| map.extend(entry.clone()));
            }
            (_, _, value) => drop(object.insert(field.name.to_owned(), value)),
        }
    }
    Ok(object)
}

fn read_value(kind: &Kind, wire: Wire<'_>, depth: usize) -> Result<Value, String> {
    match (kind, wire) {
        (Kind::Text, Wire::Bytes(bytes)) => read_text(bytes).map(Value::from),
        (Kind::Flag, Wire::Number(number)) => Ok((number != 0).into()),
        (Kind::Number, Wire::Number(number)) => Ok(number.cast_signed().into()),
        (Kind::Message(name), Wire::Bytes(bytes)) => {
            read_message(name, bytes, depth + 1).map(Value::Object)
        }
        (Kind::List(inner), wire) => read_value(inner, wire, depth),
        (Kind::Map(inner), Wire::Bytes(bytes)) => {
            let (mut key, mut value) = (String::new(), Value::Null);
            for field in Fields(bytes) {
                match field? {
                    (1, Wire::Bytes(text)) => key = read_text(text)?,
                    (2, wire) => value = read_value(inner, wire, depth)?,
                    _ => {}
                }
            }
            // An empty text is the one value that may not be written at all.
            let value = if value.is_null() { "".into() } else { value };
            Ok(Value::Object(Map::from_iter([(key, value)])))
        }
        (Kind::Quantity, Wire::Bytes(bytes)) => match Fields(bytes).next() {
            Some(field) => match field? {
                (1, Wire::Bytes(text)) => read_text(text).map(Value::from),
                _ => Err("not a quantity".to_owned()),
            },
            None => Ok("0".into()),
        },
        (Kind::Time, Wire::Bytes(bytes)) => read_time(bytes),
        (Kind::IntOrString, Wire::Bytes(bytes)) => {
            let (mut is_text, mut number, mut text) = (false, 0, String::new());
            for field in Fields(bytes) {
                match field? {
                    (1, Wire::Number(kind)) => is_text = kind == 1,
                    (2, Wire::Number(value)) => number = value.cast_signed(),
                    (3, Wire::Bytes(value)) => text = read_text(value)?,
                    _ => {}
                }
            }
            Ok(if is_text { text.into() } else { number.into() })
        }
        // Who manages which field is not kept.
        (Kind::Raw, _) => Ok(Value::Null),
        _ => Err("it is written as another type".to_owned()),
    }
}

/// A time that is nothing is written as nothing.
fn read_time(bytes: &[u8]) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    for field in Fields(bytes) {
        match field? {
            (1, Wire::Number(value)) => seconds = value.cast_signed(),
            (2, Wire::Number(value)) => nanos = i32::try_from(value).unwrap_or(0),
            _ => {}
        }
    }
    let time = Timestamp::new(seconds, nanos).map_err(|error| error.to_string())?;
    Ok(time.to_string().into())
}

fn read_text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "not UTF-8".to_owned())
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// The fields of a message, by number.
struct Fields<'a>(&'a [u8]);

enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Of a width that no field here has.
    Other,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Wire<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or_else(|| "it is cut off".to_owned()))
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Wire<'a>)> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => self.take(8).map(|_| Wire::Other)?,
            2 => {
                let length = self.varint()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Wire::Other)?,
            _ => return None,
        };
        Some((tag >> 3, wire))
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

struct Field {
    mark: Mark,
    name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Mark {
    /// Said as it is.
    Kept,
    /// Left out when it is zero: Go writes it all the same.
    Omitted,
    /// Its fields are those of the message around it.
    Inlined,
}

enum Kind {
    Text,
    Flag,
    Number,
    Quantity,
    Time,
    IntOrString,
    Raw,
    Message(&'static str),
    List(Box<Kind>),
    Map(Box<Kind>),
}

impl Kind {
    fn of(text: &'static str) -> Self {
        match text {
            "text" => Self::Text,
            "flag" => Self::Flag,
            "number" => Self::Number,
            "quantity" => Self::Quantity,
            "time" => Self::Time,
            "int-or-string" => Self::IntOrString,
            "raw" => Self::Raw,
            _ => match text.split_once(':') {
                Some(("list", inner)) => Self::List(Box::new(Self::of(inner))),
                Some((_, inner)) => Self::Map(Box::new(Self::of(inner))),
                None => Self::Message(text),
            },
        }
    }
}

type Messages = BTreeMap<&'static str, BTreeMap<u64, Field>>;

static MESSAGES: LazyLock<Messages> = LazyLock::new(|| {
    let mut messages = Messages::new();
    let mut last = "";
    for line in include_str!("protobuf/fields.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [message] => {
                last = message;
                messages.entry(message).or_default();
            }
            [number, mark, name, kind] => {
                let mark = match mark {
                    "?" => Mark::Omitted,
                    "-" => Mark::Inlined,
                    _ => Mark::Kept,
                };
                let number = number.parse().expect("the table is part of the program");
                let field = Field { mark, name, kind: Kind::of(kind) };
                messages.entry(last).or_default().insert(number, field);
            }
            _ => unreachable!("the table is part of the program"),
        }
    }
    messages
});

/// Objects of the API are not half as deep.
const DEEPEST: usize = 64;
