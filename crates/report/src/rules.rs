//! Effect of the configuration: of each rule, and of what `[quantize]` says of all layers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A rule of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleReport {
    /// Reason for the rule, as the configuration gives it.
    pub reason: Option<String>,
    /// The layers of the canonical model that it holds for.
    pub layers: Vec<String>,
    /// The operands that it holds for, as `operand N of LAYER`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<String>,
    /// The tensors that it holds for, results of these layers included.
    pub tensors: Vec<String>,
    /// The keys that it sets.
    #[serde(default)]
    pub keys: Vec<KeyReport>,
}

/// Effect of a key of a rule, or of `[quantize]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeyReport {
    /// The key: `activations.type`.
    pub key: String,
    /// Its value in the configuration.
    pub value: Value,
    /// Number of layers, operands and tensors that have a use for it, among those that it is for.
    pub of: usize,
    /// Those that have something else in the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Otherwise>,
}

/// A layer, an operand or a tensor for which a key gave way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Otherwise {
    /// Its name.
    pub name: String,
    /// The word for that which it has instead; absent where that is not to be seen in its grids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has: Option<String>,
    /// Who says so: `rule N`, counted from 1, or the `target`, by its table or because it cannot run it.
    pub by: String,
}
