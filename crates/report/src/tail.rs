//! What the report says about the part of a model that lies behind its cut.

use serde::{Deserialize, Serialize};

/// The float model that runs behind the integer model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TailReport {
    /// The file in the artifact.
    pub file: String,
    /// The outputs of the integer model that it reads.
    pub inputs: Vec<String>,
    /// The outputs of the whole model that it makes.
    pub outputs: Vec<String>,
    /// How many operations it has.
    pub operations: usize,
}
