//! What an artifact takes and what it gives: the inputs and outputs of the compiled model.

use serde::{Deserialize, Serialize};

/// The inputs and outputs of an artifact, in the order of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    /// The inputs.
    pub inputs: Vec<PortEntry>,
    /// The outputs.
    pub outputs: Vec<PortEntry>,
}

/// An input or an output, with keys in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortEntry {
    /// The codes with which the model computes, behind an input or in front of an output. Absent if it computes with the
    /// elements themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codes: Option<PortCodes>,
    /// The order of the three colour channels. Absent if the configuration does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The meaning of the axes, one letter for each. Absent if the configuration does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Name of the input or output.
    pub name: String,
    /// If the elements are codes: their scale. real = scale · (code − zero_point).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f32>,
    /// Its shape. An extent that depends on data is null.
    pub shape: Vec<Option<u64>>,
    /// The type of its elements, such as `u8` or `f32`.
    #[serde(rename = "type")]
    pub elem: String,
    /// If the elements are codes: the code that stands for 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_point: Option<i32>,
}

/// Codes with their type and grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortCodes {
    /// The scale.
    pub scale: f32,
    /// The type of the codes.
    #[serde(rename = "type")]
    pub elem: String,
    /// The zero point.
    pub zero_point: i32,
}
