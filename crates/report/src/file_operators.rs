//! What the report says about the operators of a file that another compiler takes, such as Vela for an Ethos-U.

use serde::{Deserialize, Serialize};

/// Where the operators of the TFLite file run on a microcontroller with an accelerator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FileOperators {
    /// The accelerator, such as `ethos-u55`.
    pub accelerator: String,
    /// How many operators the file has.
    pub operators: usize,
    /// The operators that the accelerator leaves to the CPU, in the order of the file.
    pub on_cpu: Vec<OnCpu>,
}

/// An operator that runs on the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OnCpu {
    /// The operator, such as `CONV_2D`.
    pub operator: String,
    /// The name of its first result.
    pub result: String,
    /// Why the accelerator does not take it.
    pub why: String,
}
