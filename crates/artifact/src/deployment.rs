//! `deployment.json` has everything, besides the integer model itself, that is needed to run this model on stored
//! samples and to compare it with the float model.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strait_compile::EmbeddedInput;
use strait_target::Options;

/// Name of the file in an artifact.
pub const DEPLOYMENT_FILE: &str = "deployment.json";

/// Schema version of the file.
pub const DEPLOYMENT_SCHEMA: u32 = 1;

/// Contents of the file. `P` is the type that describes an input's preprocessing. The code that writes the artifact
/// chooses this type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deployment<P> {
    /// The schema version, [`DEPLOYMENT_SCHEMA`].
    pub schema: u32,
    /// Which part of the float model was compiled.
    pub reading: ModelReading,
    /// The inputs, in the order of the model.
    pub inputs: Vec<DeployedInput<P>>,
    /// The options that the target was given.
    pub options: Options,
    /// The file of the float model that runs behind the integer model and reads its outputs. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
}

/// An input of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeployedInput<P> {
    /// Name of the input.
    pub name: String,
    /// How stored samples are converted to the input.
    pub preprocess: P,
    /// The meaning of the input's axes, one letter for each. Absent if the configuration does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The order of the three colour channels. Absent if the configuration does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// What the device hands over, if it is not the input itself: the steps in between are the device's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceForm>,
    /// For an input of integers or truth values: the smallest and the largest number in the calibration samples.
    /// Verification draws its random inputs from this range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[i64; 2]>,
}

/// What a device hands over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceForm {
    /// The type of the numbers.
    #[serde(rename = "type")]
    pub elem: String,
    /// The meaning of the axes, one letter for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The order of the three colour channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// If the numbers are codes: the number behind a code q is scale · (q − zero_point). Absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// If the numbers are codes: the code of the number 0. Absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_point: Option<i32>,
}

/// Which part of a model is compiled, and with which sizes. These settings can also be applied to another file of the
/// same model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelReading {
    /// Sizes of symbolic dimensions, by name.
    pub bind: BTreeMap<String, u64>,
    /// Name patterns of the tensors and layers where the graph begins.
    pub inputs: Vec<String>,
    /// Name patterns of the tensors and layers where the graph ends.
    pub outputs: Vec<String>,
    /// True if layers with quantized weights and float activations (weight-only quantization) run in float.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hybrid_as_float: bool,
    /// The inputs in front of which there are steps of the preprocessing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedded: Vec<EmbeddedInput>,
    /// The axis of the batch in inputs in which it is not the first axis; `null` for an input without a batch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub batch: BTreeMap<String, Option<usize>>,
}
