//! What was found by the searches of `[optimize]` for the types of layers.

use serde::{Deserialize, Serialize};

/// What a search for the types of layers has found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MixedPrecision {
    /// The key of `[optimize]` that asked for the search: `types`, `accuracy_drop` or `size`.
    pub goal: String,
    /// For `accuracy_drop`: the metric and the loss that it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LossLimit>,
    /// The name of the metric in which `loss` and the effects of the steps are given. For `accuracy_drop` it is the metric of the
    /// goal, in points. For `types` and `size` it is `noise`: the power of the error at the outputs of the simulated model divided
    /// by the power of the float outputs.
    pub measured: String,
    /// The loss before and after the search.
    pub loss: [f64; 2],
    /// For `size`: the bytes of all weights before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights_bytes: Option<[u64; 2]>,
    /// Why nothing was found, if there is a reason beside the measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// True if the algorithms of `preset = "thorough"` were switched on.
    pub thorough: bool,
    /// The number of trials that were measured.
    pub trials: usize,
    /// The rules that were found, in the order in which they were added.
    pub steps: Vec<PrecisionStep>,
}

/// The metric of a goal, and how much of it may be lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LossLimit {
    /// The name of the metric.
    pub metric: String,
    /// The largest loss, in points.
    pub points: f64,
    /// The number of samples on which the metric was measured.
    pub samples: u64,
}

/// A rule that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PrecisionStep {
    /// The rule, as it can be pasted into a configuration.
    pub toml: String,
    /// The number of layers that the rule names.
    pub layers: usize,
    /// The loss with this rule and those before it.
    pub loss: f64,
    /// The part of the multiply-adds with activations of 16 bits, with this rule and those before it.
    pub macs_16: f64,
    /// The part of the multiply-adds on the host, with this rule and those before it.
    pub macs_float: f64,
}
