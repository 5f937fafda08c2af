//! Finding, building and running the programs that are compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// One measurement, as both sides print it.
#[derive(Debug, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) work: String,
    pub(crate) depth: usize,
    /// Nanoseconds; bytes where the work says so.
    pub(crate) ns: f64,
}

/// The project's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Builds a benchmark of one of our crates and returns the program.
pub(crate) fn build_bench(package: &str, bench: &str) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["bench", "--no-run", "--message-format=json", "-p", package, "--bench", bench])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("the benchmark `{bench}` of {package} does not build"));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut executables = messages.lines().rev().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == bench;
        message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
    });
    executables.next().ok_or_else(|| format!("cargo named no program for the benchmark `{bench}`"))
}

/// Whether there is a Go toolchain.
pub(crate) fn has_go() -> bool {
    let mut version = Command::new("go");
    version.arg("version").stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Builds a Go peer and returns the program.
pub(crate) fn build_go(peer: &str) -> Result<PathBuf, String> {
    let folder = root().join("bench/peers").join(peer);
    let program = root().join("target/peers").join(peer);
    eprintln!("building {peer}; the first time this takes some minutes");
    let status = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(&folder)
        .status()
        .map_err(|error| format!("go does not start: {error}"))?;
    if !status.success() {
        return Err(format!("the Go peer in {} does not build", folder.display()));
    }
    Ok(program)
}

/// Runs a program to its end and reads the measurements that it prints.
pub(crate) fn run(program: &Path, arguments: &[String]) -> Result<Vec<Measurement>, String> {
    let name = program.display();
    let output = Command::new(program)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{name} does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} failed: {}", output.status));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    lines
        .lines()
        .map(|line| {
            serde_json::from_str(line).map_err(|error| format!("{name}: `{line}`: {error}"))
        })
        .collect()
}
