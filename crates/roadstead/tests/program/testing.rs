//! Running the program, and folders for its files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the program said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the program in a folder.
pub(crate) fn run_in(folder: &Path, arguments: &[&str]) -> Said {
    run_with(folder, arguments, "")
}

/// Runs the program in the root of the workspace.
pub(crate) fn run(arguments: &[&str]) -> Said {
    run_in(&root(), arguments)
}

/// Runs the program with a text as standard input.
pub(crate) fn run_with(folder: &Path, arguments: &[&str], input: &str) -> Said {
    let mut child = program(folder, arguments).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A program that does not read its input may be gone before it is written.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
    Said {
        code: output.status.code().expect("the program was not killed"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// The program, ready to be started, with all its streams piped.
pub(crate) fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roadstead"));
    command.current_dir(folder).args(arguments).env_remove("RUST_LOG");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A folder of its own for a test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("the file can be written");
}

/// Compares a text with a file; with ROADSTEAD_BLESS set, writes it there instead.
pub(crate) fn assert_golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("ROADSTEAD_BLESS").is_some() {
        return std::fs::write(&file, text).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&file).expect("the file is there");
    assert_eq!(text, expected, "{name} is different; if it should be, set ROADSTEAD_BLESS=1");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
