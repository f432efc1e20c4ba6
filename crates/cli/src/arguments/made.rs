//! The arguments of the commands whose output is made from the command line itself: `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Print a script with which a shell completes commands, options, files and the ids of targets
///
/// PowerShell only completes commands and options.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait completions bash > ~/.local/share/bash-completion/completions/strait
  strait completions zsh  > \"${fpath[1]}/_strait\"
  strait completions fish > ~/.config/fish/completions/strait.fish
  strait completions powershell >> $PROFILE")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Write the man pages: one for the program, and one for each command
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  strait man ~/.local/share/man/man1 && man strait-compile")]
pub(crate) struct Man {
    /// Write to this folder, which is made if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
