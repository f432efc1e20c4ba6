//! The arguments of `strait analyze`.

use std::{num::NonZeroU32, path::PathBuf};

use clap::Args;
use strait_driver::config::Override;

use super::{Instead, Machine, Sharing};

/// Find out where a compiled model loses accuracy, and try rules against it
///
/// Compiles for one target as the configuration describes, but writes nothing. Shows how many points of each metric of
/// [evaluation] go to weights, activations, biases, the host, tables and fusions; the layers that cost most, with a
/// reason where the statistics tell it; and what rules against the losses bring, each compiled and measured.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait analyze configs/generic-int8.toml
  strait analyze deploy.toml --target sima --layers 20 --json")]
pub(crate) struct Analyze {
    /// The configuration
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Compile for this target; required if the configuration has several
    #[arg(long, value_name = "ID")]
    pub(crate) target: Option<String>,
    /// Show this many layers
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) layers: NonZeroU32,
    /// Measure the layers on the first N calibration samples [default: 8, or fewer if the model needs many operations]
    #[arg(long, value_name = "N")]
    pub(crate) samples: Option<NonZeroU32>,
    /// Try this many rules
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) rules: u32,
    #[command(flatten)]
    pub(crate) instead: Instead,
    /// Allow the commands that metrics of the configuration name to be run
    #[arg(long)]
    pub(crate) allow_commands: bool,
    /// Print one JSON object: the phases with their costs, and the analysis with all layers
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) sharing: Sharing,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

impl Analyze {
    /// The keys of the configuration that arguments set.
    pub(crate) fn overrides(&self) -> Vec<Override> {
        let target = self.target.clone().map(|id| Override::targets(vec![id]));
        target.into_iter().chain(self.instead.overrides()).collect()
    }
}
