//! The arguments of `strait config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Instead;

/// Show what a configuration says
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  strait config show deploy.toml --target sima")]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    Show(Show),
}

/// Show the value that each key has, and where the value comes from
///
/// A value comes from a line of the file, from an option such as --set, from the target's table, from the preset of
/// [optimize], or is the default. Nothing is compiled, and neither the model nor the samples are read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait config show deploy.toml
  strait config show deploy.toml --target sima --set calibration.samples=64
  strait config show --target generic-int8 --json")]
pub(crate) struct Show {
    /// The configuration; without it, the values are those of an empty configuration
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Show the values for this target instead of those for the configuration's; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) target: Vec<String>,
    #[command(flatten)]
    pub(crate) instead: Instead,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
