//! The arguments of `strait plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Create a target of your own, check that it is right, and pin its digest
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait plugin new my-npu --lang toml
  strait plugin check my-npu/my-npu.toml
  strait plugin lock deploy.toml")]
pub(crate) struct Plugin {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    Check(Check),
    Lock(Lock),
    New(New),
}

/// Check everything that can be wrong with a target
///
/// Checks its table, its kernels against their forms, how its code behaves, six small networks, and recorded vectors.
/// It fails if any line of the report fails.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait plugin check my-npu.toml
  strait plugin check my-npu.toml --vectors recorded.npz
  strait plugin check libmy_npu.so --json
  strait plugin check sima --option requantization_mode=tflite")]
pub(crate) struct Check {
    /// A table (.toml), a library (.so, .dylib, .dll, or recognized by its contents), or the id of a target in this
    /// program
    #[arg(value_name = "FILE|LIB|ID")]
    pub(crate) subject: String,
    /// Also compare it with recorded layers, in the layout of docs/plugins/silicon.md; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) vectors: Vec<PathBuf>,
    /// Value of an option of the target; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = option)]
    pub(crate) option: Vec<(String, String)>,
    /// Seconds that one call of the target's code may take
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) patience: u16,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses an option's name and value.
fn option(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("an option is NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Write the SHA-256 of each plugin into the configuration that names it
///
/// The digests are those of the files as they are now. If there is one for each platform, only that of this platform is
/// written. Everything else in the configuration stays as it is, including comments.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait plugin lock deploy.toml")]
pub(crate) struct Lock {
    /// The configuration
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Write the project of a new target: its table, its code, its tests and its README
///
/// The new project passes `strait plugin check` as it is. A folder that is not empty is not touched.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait plugin new my-npu --lang toml
  strait plugin new my-npu --lang rust --strait ../strait
  strait plugin new my-npu --lang c")]
pub(crate) struct New {
    /// Id of the target: lower-case letters and digits with single hyphens between them, a letter first
    #[arg(value_name = "NAME", value_parser = id)]
    pub(crate) name: String,
    /// Language of the target's code
    #[arg(long, value_name = "LANG")]
    pub(crate) lang: Language,
    /// Write to this folder instead of one with the target's name
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Where a target in Rust finds the crates of Strait: a checkout, or the address of a Git repository
    #[arg(long, value_name = "DIR|URL")]
    pub(crate) strait: Option<String>,
}

/// The languages that a target can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Only a table
    Toml,
    /// A table with kernels in Rust, a program of three lines that contains them, and a library with the same
    Rust,
    /// A table, and a library with the chip's arithmetic in C
    C,
}

/// Parses an id that tables, files and packages can have.
fn id(text: &str) -> Result<String, &'static str> {
    let part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let begins = text.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && text.len() <= 64 && text.split('-').all(part) {
        Ok(text.to_owned())
    } else {
        Err("a name is small letters and digits with single hyphens between them, a letter first, at most 64 of them")
    }
}
