//! The arguments of `strait run --dump`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use strait_driver::dump::Stage;

/// Which tensors inside the model are written instead of the outputs.
#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// Instead of the outputs, write the tensors whose names in the model match this pattern, as arrays of an .npz file:
    /// `*` stays inside one part of a name, `**` crosses `/`
    #[arg(long, value_name = "PATTERN", conflicts_with = "raw")]
    pub(crate) dump: Option<String>,
    /// Where the tensors of --dump are looked at
    #[arg(long, value_name = "STAGE", requires = "dump", default_value = "integer")]
    pub(crate) stage: StageOf,
    /// For --stage float: the float model from which the artifact was made
    #[arg(long, value_name = "FLOAT", requires = "dump")]
    pub(crate) model: Option<PathBuf>,
    /// For --stage simulated: the configuration with which the artifact was made
    #[arg(long, value_name = "CONFIG", requires = "dump")]
    pub(crate) simulated: Option<PathBuf>,
    /// Print one JSON object for --dump: the file, the tensors, and those that cannot be had
    #[arg(long, requires = "dump")]
    pub(crate) json: bool,
}

/// The values of `--stage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StageOf {
    /// Numbers of the float model; needs --model
    Float,
    /// Numbers of the float model with rounding wherever the artifact has codes; needs --simulated
    Simulated,
    /// Sums of products in i32 or i64, in front of the requantization that makes the tensor
    Accumulator,
    /// Codes, as the artifact computes them
    Integer,
}

impl StageOf {
    pub(crate) fn stage(self) -> Stage {
        match self {
            StageOf::Float => Stage::Float,
            StageOf::Simulated => Stage::Simulated,
            StageOf::Accumulator => Stage::Accumulator,
            StageOf::Integer => Stage::Integer,
        }
    }
}
