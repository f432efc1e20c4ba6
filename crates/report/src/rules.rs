//! The effects of the configuration: of each rule, and of those keys of `[quantize]` that are set for all layers.

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
    /// The tensors that the rule applies to, including results of the layers above.
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
    /// Number of layers, operands and tensors that the key was meant for and that can use it.
    pub of: usize,
    /// The layers, operands and tensors that ended up with something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Otherwise>,
}

/// A layer, an operand or a tensor that ended up with something else than the key says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Otherwise {
    /// Name of the layer, operand or tensor.
    pub name: String,
    /// The word for what it has instead; absent if its grid does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has: Option<String>,
    /// Who decided otherwise: `rule N`, counted from 1, or the `target`, because its table says so or it cannot run it.
    pub by: String,
}
