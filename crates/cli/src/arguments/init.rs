//! The arguments of `strait init`.

use std::path::PathBuf;

use clap::Args;

use super::Machine;

/// Write a first configuration for a model, with comments on what was guessed
///
/// Looks at the inputs of the model and at the samples, if there are some yet: layout, sizes, and the usual normalization with
/// which the model's answers tell the samples apart best. An existing file is not replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait init model.onnx
  strait init model.onnx --data photos/ --target sima --target generic-int8
  strait init model.onnx --data calib.npy --out configs/first.toml")]
pub(crate) struct Init {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// A target to compile for; may be given several times [default: all]
    #[arg(long, value_name = "ID")]
    pub(crate) target: Vec<String>,
    /// Samples: an .npy or .npz, a folder of arrays named after the inputs, or a folder of images
    #[arg(long, value_name = "PATH")]
    pub(crate) data: Option<PathBuf>,
    /// The file to write; `-` prints the configuration
    #[arg(long, value_name = "FILE", default_value = "deploy.toml")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) machine: Machine,
}
