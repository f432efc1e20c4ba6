//! The arguments of `strait params`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use strait_driver::imported::From;

/// Work with files of scales and zero points
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait params import model_torch.encodings -o params.toml")]
pub(crate) struct Params {
    #[command(subcommand)]
    pub(crate) command: ParamsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ParamsCommand {
    Import(Import),
}

/// Make a params.toml of the scales in another tool's file
///
/// Reads encodings of AIMET (JSON, versions 0.6.1 and 1.0.0), calibration caches of TensorRT, and ONNX models with pairs of
/// QuantizeLinear and DequantizeLinear. `[quantize] params` of a configuration takes the file that is written. What is not
/// taken is listed with the reason.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strait params import model_torch.encodings -o params.toml
  strait params import calibration.cache --from tensorrt -o params.toml
  strait params import model.qdq.onnx -o params.toml")]
pub(crate) struct Import {
    /// The other tool's file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The format of the file [default: recognised by the content]
    #[arg(long, value_name = "TOOL")]
    pub(crate) from: Option<Tool>,
    /// Write the parameters to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Print one JSON object: the format, the number of tensors, and what was not taken
    #[arg(long)]
    pub(crate) json: bool,
}

/// The values of `--from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    /// Encodings of AIMET
    Aimet,
    /// A calibration cache of TensorRT
    Tensorrt,
    /// An ONNX model with Q/DQ pairs
    Onnx,
}

impl Tool {
    pub(crate) fn format(self) -> From {
        match self {
            Tool::Aimet => From::Aimet,
            Tool::Tensorrt => From::TensorRt,
            Tool::Onnx => From::Onnx,
        }
    }
}
