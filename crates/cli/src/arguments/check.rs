//! The arguments of `strait check`.

use std::path::PathBuf;

use clap::Args;
use strait_driver::config::Override;

use super::Machine;

/// Find out where the layers of a model would run, and what they cost, without any samples
///
/// For each target: the layers on the accelerator, and the layers on the host with the reasons. Ranges are measured on one
/// random sample, so a layer whose scales do not fit the target's arithmetic may still move to the host when the model is
/// compiled with real samples.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait check deploy.toml
  strait check --model model.onnx --target sima --target ascend
  strait check deploy.toml --target sima --set model.outputs='[\"/head/Conv\"]' --all")]
pub(crate) struct CheckModel {
    /// The configuration; not needed with --model and --target
    #[arg(value_name = "FILE", required_unless_present_all = ["model", "target"])]
    pub(crate) file: Option<PathBuf>,
    /// Use this model instead
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<String>,
    /// Check for this target instead of those of the configuration; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) target: Vec<String>,
    /// Set any key of the configuration, with a TOML value; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print each layer too
    #[arg(long, conflicts_with = "json")]
    pub(crate) all: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

impl CheckModel {
    /// The keys of the configuration that arguments set.
    pub(crate) fn overrides(&self) -> Vec<Override> {
        let targets = (!self.target.is_empty()).then(|| Override::targets(self.target.clone()));
        let model = self.model.as_ref().map(Override::model);
        // Nothing is written, but a configuration names a folder.
        let out = self.file.is_none().then(|| Override::output("build/{target}"));
        let set = self.set.iter().map(Override::set);
        targets.into_iter().chain(model).chain(out).chain(set).collect()
    }
}
