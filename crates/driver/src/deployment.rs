//! `deployment.json`: what has to be known besides the integer model to run it on stored samples, and to hold the float
//! model against it.

use serde::{Deserialize, Serialize};
use strait_target::Options;

use crate::{config::types::Preprocess, pipeline::read::Reading};

/// The file in an artifact.
pub const DEPLOYMENT_FILE: &str = "deployment.json";

/// The version of the file's keys.
pub const SCHEMA: u32 = 1;

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deployment {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Which part of the float model was compiled.
    pub reading: Reading,
    /// The inputs, in the order of the model.
    pub inputs: Vec<DeployedInput>,
    /// The options that the target was given.
    pub options: Options,
}

/// An input of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeployedInput {
    /// Its name.
    pub name: String,
    /// From stored samples to the input.
    pub preprocess: Preprocess,
    /// The least and the largest number of the calibration samples, of an input that holds integers or truth values: what
    /// random inputs of a verification are drawn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[i64; 2]>,
}
