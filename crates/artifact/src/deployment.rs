//! `deployment.json`: what has to be known besides the integer model to run it on stored samples, and to hold the float model
//! against it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strait_target::Options;

/// The file in an artifact.
pub const DEPLOYMENT_FILE: &str = "deployment.json";

/// The version of the file's keys.
pub const DEPLOYMENT_SCHEMA: u32 = 1;

/// The content of the file. `P` is the preprocessing of an input, which is of whoever writes the artifact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deployment<P> {
    /// [`DEPLOYMENT_SCHEMA`].
    pub schema: u32,
    /// Which part of the float model was compiled.
    pub reading: Reading,
    /// The inputs, in the order of the model.
    pub inputs: Vec<DeployedInput<P>>,
    /// The options that the target was given.
    pub options: Options,
}

/// An input of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeployedInput<P> {
    /// Its name.
    pub name: String,
    /// From stored samples to the input.
    pub preprocess: P,
    /// The least and the largest number of the calibration samples, of an input that holds integers or truth values: what
    /// random inputs of a verification are drawn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[i64; 2]>,
}

/// Which part of a model is read, and with which sizes: what also holds for another file of the same model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Sizes of symbolic dimensions.
    pub bind: BTreeMap<String, u64>,
    /// Patterns over the names of tensors and layers where the graph begins.
    pub inputs: Vec<String>,
    /// Patterns over the names of tensors and layers where the graph ends.
    pub outputs: Vec<String>,
    /// True where weights of codes beside real activations are read as numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hybrid_as_float: bool,
}
