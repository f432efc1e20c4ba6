//! The arguments of `strait explain`.

use clap::Args;

/// Say what a code means, show what leads to it, and say what to do
///
/// Errors and warnings begin with a code, as in `error[C003]`. Reasons and lints in reports end with one, as in
/// `[not-observed]`. Without CODE, the command lists all codes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait explain
  strait explain M003
  strait explain accumulator-overflow")]
pub(crate) struct Explain {
    /// The code, as it stands between the brackets
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
