//! Arguments of `strait plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Begin a target of your own, know that it is right, and vouch for it
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

/// Hold a target against everything by which it can be wrong
///
/// Its table, its kernels against their forms, how its code behaves, six small networks, and recorded vectors. It fails where
/// one line of the report does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait plugin check my-npu.toml
  strait plugin check my-npu.toml --vectors recorded.npz
  strait plugin check libmy_npu.so --json
  strait plugin check sima --option requantization_mode=tflite")]
pub(crate) struct Check {
    /// A table (.toml), a library (.so, .dylib, .dll, or known by its content), or the id of a target of this program
    #[arg(value_name = "FILE|LIB|ID")]
    pub(crate) subject: String,
    /// Also hold it against recorded layers, of the layout of docs/plugins/silicon.md; may be given several times
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

/// The name of an option, and its value.
fn option(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("an option is NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Write the SHA-256 of each plugin that a configuration names into it
///
/// The digests of the files as they are now; where there is one for each platform, that of this one. Everything else of the
/// configuration stays as it is, comments too.
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
/// It passes the kit as it is. A folder that is not empty is left alone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait plugin new my-npu --lang toml
  strait plugin new my-npu --lang rust --strait ../strait
  strait plugin new my-npu --lang c")]
pub(crate) struct New {
    /// The target's id: small letters and digits with single hyphens between them, a letter first
    #[arg(value_name = "NAME", value_parser = id)]
    pub(crate) name: String,
    /// Language of the target's code
    #[arg(long, value_name = "LANG")]
    pub(crate) lang: Language,
    /// Write to this folder instead of one of the target's name
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// The Strait on whose crates a target in Rust depends: a checkout, or the address of a Git repository
    #[arg(long, value_name = "DIR|URL")]
    pub(crate) strait: Option<String>,
}

/// Languages of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// A table and nothing else
    Toml,
    /// A table with kernels in Rust, a program of three lines with them in it, and the same in a library
    Rust,
    /// A table with the chip's arithmetic in C, in a library
    C,
}

/// An id that tables, files and packages can have.
fn id(text: &str) -> Result<String, &'static str> {
    let part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let begins = text.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && text.len() <= 64 && text.split('-').all(part) {
        Ok(text.to_owned())
    } else {
        Err("a name is small letters and digits with single hyphens between them, a letter first, at most 64 of them")
    }
}
