//! The arguments of `strait try`.

use std::{num::NonZeroU32, path::PathBuf};

use clap::Args;
use strait_driver::config::Override;

use super::Machine;

/// Change some keys of a configuration, and see what becomes better and what becomes worse
///
/// Compiles the configuration as it is and with the keys changed, from the same kept statistics, and writes no artifact.
/// Shows each metric of [evaluation] before and after, the SNR of each output on the first calibration samples, the size,
/// and the layers whose SNR, types or place have changed, with the largest change first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait try deploy.toml --set calibration.observer='\"mse\"'
  strait try deploy.toml --target sima --set quantize.params='\"tuned.toml\"'
  strait try deploy.toml --set 'quantize.rule=[{ layers=[\"/head/**\"], activations={ type=\"int16\" } }]' --json")]
pub(crate) struct Try {
    /// The configuration
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Change a key of the configuration, with a TOML value; may be given several times
    #[arg(long, value_name = "KEY=VALUE", required = true)]
    pub(crate) set: Vec<String>,
    /// Compile for this target; required if the configuration has several
    #[arg(long, value_name = "ID")]
    pub(crate) target: Option<String>,
    /// Show this many layers
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) layers: NonZeroU32,
    /// Compare the layers on the first N calibration samples
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) samples: NonZeroU32,
    /// Allow the commands that metrics of the configuration name to be run
    #[arg(long)]
    pub(crate) allow_commands: bool,
    /// Print one JSON object: the phases with their costs, and the comparison with all layers that changed
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

impl Try {
    /// The keys that hold for both versions, and those of the second one.
    pub(crate) fn overrides(&self) -> [Vec<Override>; 2] {
        let target = || self.target.clone().map(|id| Override::targets(vec![id]));
        let before: Vec<Override> = target().into_iter().collect();
        let after = target().into_iter().chain(self.set.iter().map(Override::set));
        [before, after.collect()]
    }
}
