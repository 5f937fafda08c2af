//! From paths to text: the only part here that touches the world outside.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Manifests, Problem, parse};

/// Reads files, folders (their `*.yaml`, `*.yml` and `*.json`, and those of the folders in them,
/// by name), and `-` for `stdin`.
#[must_use]
pub fn read(paths: &[PathBuf], stdin: &mut dyn Read) -> Manifests {
    let mut all = Manifests::default();
    for path in paths {
        if path.as_os_str() == "-" {
            let mut text = String::new();
            let outcome = stdin.read_to_string(&mut text).map(|_| text);
            all.extend(parsed("standard input", outcome));
        } else if path.is_dir() {
            read_folder(path, 0, &mut all);
        } else {
            all.extend(parsed(&path.to_string_lossy(), fs::read_to_string(path)));
        }
    }
    all
}

fn read_folder(folder: &Path, depth: usize, all: &mut Manifests) {
    let name = folder.to_string_lossy();
    if depth > DEEPEST {
        let reason = format!("more than {DEEPEST} folders deep");
        return all.problems.push(unreadable(&name, reason));
    }
    let entries = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()
    });
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return all.problems.push(unreadable(&name, format!("cannot read: {error}"))),
    };
    entries.sort();
    for path in entries {
        if path.is_dir() {
            read_folder(&path, depth + 1, all);
        } else if is_manifest(&path) {
            all.extend(parsed(&path.to_string_lossy(), fs::read_to_string(&path)));
        }
    }
}

fn parsed(name: &str, text: io::Result<String>) -> Manifests {
    match text {
        Ok(text) => parse(name, &text),
        Err(error) => Manifests {
            problems: vec![unreadable(name, format!("cannot read: {error}"))],
            ..Manifests::default()
        },
    }
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|e| ["yaml", "yml", "json"].iter().any(|known| e == *known))
}

fn unreadable(name: &str, reason: String) -> Problem {
    Problem {
        file: name.to_owned(),
        document: 0,
        item: None,
        line: None,
        object: None,
        field: None,
        reason,
    }
}

/// Folders that link to each other would never end.
const DEEPEST: usize = 32;
