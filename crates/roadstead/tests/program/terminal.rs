//! The program on a terminal, which `script` pretends to be.

use std::process::{Command, Stdio};

use crate::testing::{folder, write};

#[test]
fn a_terminal_is_told_no_more_than_a_file() {
    let folder = folder("terminal");
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, \
               spec: {containers: [{name: main, image: web}]}}\n---\n\
               {apiVersion: example.com/v1, kind: Boat, metadata: {name: tug}}\n";
    write(&folder, "pod.yaml", pod);
    let command = format!("'{}' sim --exit-zero pod.yaml", env!("CARGO_BIN_EXE_roadstead"));
    let said = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(&folder)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .output();
    // Not every machine has it.
    let Ok(said) = said else { return };
    let text = String::from_utf8(said.stdout).expect("it is text");
    assert!(said.status.success(), "{text}");
    assert!(text.contains("WARN objects of a kind that is not simulated are left out"), "{text}");
    assert!(text.contains("1 pod:"), "{text}");
    for unwanted in ["tracing-subscriber", "panicked", "\u{1b}[3"] {
        assert!(!text.contains(unwanted), "{unwanted:?} is in {text}");
    }
}
