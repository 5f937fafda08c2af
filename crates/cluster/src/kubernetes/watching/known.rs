//! What was told of the objects of a kind.

use std::collections::BTreeMap;
use std::fmt::Write;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The objects that were told and not told to be gone: their names, uids and versions.
#[derive(Debug, Default)]
pub(super) struct Known {
    objects: BTreeMap<Box<str>, Entry>,
    /// Which list is under way: what it does not show is gone.
    round: u32,
}

#[derive(Debug)]
struct Entry {
    identity: Identity,
    /// The list that showed it last.
    round: u32,
}

/// What an object is to what was known.
#[derive(Debug)]
pub(super) enum News {
    /// It was told as it is.
    Old,
    /// It was not known, or in another version.
    New,
    /// Another object had its name, which is gone.
    Replaced(Box<ObjectMeta>),
}

impl Known {
    pub(super) fn begin_list(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// Notes that the object is there.
    pub(super) fn set(&mut self, meta: &ObjectMeta) -> News {
        let key = key(meta);
        let identity = Identity::of(meta);
        let round = self.round;
        let Some(entry) = self.objects.get_mut(&*key) else {
            self.objects.insert(key.into_boxed_str(), Entry { identity, round });
            return News::New;
        };
        entry.round = round;
        if entry.identity == identity {
            return News::Old;
        }
        let old = std::mem::replace(&mut entry.identity, identity);
        match old.is_same_object(&entry.identity) {
            true => News::New,
            false => News::Replaced(Box::new(bare(&key, &old))),
        }
    }

    /// Notes that the object is gone; whether it was known.
    pub(super) fn remove(&mut self, meta: &ObjectMeta) -> bool {
        self.objects.remove(&*key(meta)).is_some()
    }

    /// The list is complete: what it did not show is gone, and is returned.
    pub(super) fn end_list(&mut self) -> Vec<ObjectMeta> {
        let mut gone = Vec::new();
        self.objects.retain(|key, entry| {
            let is_there = entry.round == self.round;
            if !is_there {
                gone.push(bare(key, &entry.identity));
            }
            is_there
        });
        gone
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }
}

/// Which object it is, and in which version. Both are opaque to clients, but mostly a UUID and a
/// number, which take less room as such.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    Numbers { uid: [u8; 16], version: u64 },
    Texts(Box<(String, String)>),
}

impl Identity {
    fn of(meta: &ObjectMeta) -> Self {
        let uid = meta.uid.as_deref().unwrap_or_default();
        let version = meta.resource_version.as_deref().unwrap_or_default();
        match (parse_uid(uid), parse_version(version)) {
            (Some(uid), Some(version)) => Self::Numbers { uid, version },
            _ => Self::Texts(Box::new((uid.to_owned(), version.to_owned()))),
        }
    }

    fn is_same_object(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Numbers { uid, .. }, Self::Numbers { uid: other, .. }) => uid == other,
            _ => self.uid() == other.uid(),
        }
    }

    fn uid(&self) -> String {
        match self {
            Self::Numbers { uid, .. } => print_uid(uid),
            Self::Texts(texts) => texts.0.clone(),
        }
    }
}

/// A name is unique in its namespace, and neither has a slash.
fn key(meta: &ObjectMeta) -> String {
    let name = meta.name.as_deref().unwrap_or_default();
    match meta.namespace.as_deref().unwrap_or_default() {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

/// The metadata of an object of which only the identity is left.
fn bare(key: &str, identity: &Identity) -> ObjectMeta {
    let (namespace, name) = match key.split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name),
        None => (None, key),
    };
    ObjectMeta {
        namespace,
        name: Some(name.to_owned()),
        uid: Some(identity.uid()),
        ..ObjectMeta::default()
    }
}

/// Only what prints as it was written: another spelling is another uid.
fn parse_uid(text: &str) -> Option<[u8; 16]> {
    let (mut uid, mut digits) = ([0; 16], 0);
    for (i, byte) in text.bytes().enumerate() {
        if matches!(i, 8 | 13 | 18 | 23) {
            if byte != b'-' {
                return None;
            }
            continue;
        }
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        let place: &mut u8 = uid.get_mut(digits / 2)?;
        *place = *place << 4 | digit;
        digits += 1;
    }
    (digits == 32).then_some(uid)
}

fn print_uid(uid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (i, byte) in uid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn parse_version(text: &str) -> Option<u64> {
    if text.starts_with(['0', '+']) { None } else { text.parse().ok() }
}
