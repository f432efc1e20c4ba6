//! The effects of the rules in the configuration, and of the keys of `[quantize]` that are set for all layers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A rule of the configuration and what it applied to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleReport {
    /// Reason for the rule, as the configuration states it.
    pub reason: Option<String>,
    /// The layers of the canonical model that the rule applies to.
    pub layers: Vec<String>,
    /// The operands that the rule applies to, as `operand N of LAYER`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<String>,
    /// The tensors that the rule applies to, including the results of the layers in `layers`.
    pub tensors: Vec<String>,
    /// The keys that the rule sets.
    #[serde(default)]
    pub keys: Vec<KeyReport>,
}

/// The effect of one key of a rule, or of `[quantize]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeyReport {
    /// Name of the key, such as `activations.type`.
    pub key: String,
    /// Value of the key in the configuration.
    pub value: Value,
    /// Number of layers, operands and tensors to which the key applies and that can use it.
    pub of: usize,
    /// The layers, operands and tensors that have another value than the key sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Otherwise>,
}

/// A layer, an operand or a tensor that has another value than the key sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Otherwise {
    /// Name of the layer, operand or tensor.
    pub name: String,
    /// The value that it has instead, in the words of the configuration; absent if the grid does not show this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has: Option<String>,
    /// What chose the value that the layer, operand or tensor has instead: `rule N`, counted from 1, or the `target`,
    /// because its table requires the value or the target cannot run the layer.
    pub by: String,
}
