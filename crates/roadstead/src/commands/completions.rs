//! `roadstead completions`: what a shell needs to complete commands and options.

use std::io::Write;

use clap_complete::Shell;

use crate::FINE;
use crate::error::Error;

/// Print what a shell needs to complete commands and options.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  source <(roadstead completions bash)
  roadstead completions zsh > \"${fpath[1]}/_roadstead\"
  roadstead completions fish > ~/.config/fish/completions/roadstead.fish";

impl Completions {
    pub(crate) fn run(
        &self,
        program: &mut clap::Command,
        out: &mut dyn Write,
    ) -> Result<u8, Error> {
        // In memory first: the generator panics where it cannot write.
        let mut text = Vec::new();
        clap_complete::generate(self.shell, program, "roadstead", &mut text);
        out.write_all(&text)?;
        Ok(FINE)
    }
}
