//! The goals of mixed precision in `[optimize]`.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of a metric may be lost, and what may be done to hold this. The compiler searches for the configuration that costs
/// least.
///
/// It tries what `may_use` lists in the order of cost: first the algorithms of `preset = "thorough"`, which cost nothing when the
/// model runs, then 16 bits for some layers, then float for some layers. The layers with the most gain for their cost come
/// first. Each trial is compiled, and its metric is measured on the integer model. The report lists what was found, as rules
/// that can be pasted into a configuration. The samples of `[evaluation]` are not read for this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccuracyDrop {
    /// The metric: a word of `evaluation.metrics` other than `snr`, or the name of a metric in `[[evaluation.metric]]`, whose
    /// settings are then used, but not its labels. If the metric measures several outputs, each of them has to hold the limit.
    #[schemars(length(min = 1))]
    pub metric: String,
    /// The largest loss compared with the float model, in points, as in `accuracy_drop` of `[gate]`.
    #[schemars(range(min = 0, max = 100))]
    pub points: f64,
    /// What may be done. Default: `["round", "types"]`.
    #[serde(default = "default_means")]
    #[schemars(length(min = 1))]
    pub may_use: Vec<MayUse>,
    /// How much of the model may become more expensive. If the limit for the loss cannot be held with this, the compilation
    /// fails, and the message names the nearest budget that is enough.
    #[serde(default)]
    pub budget: Budget,
}

fn default_means() -> Vec<MayUse> {
    vec![MayUse::Round, MayUse::Types]
}

/// What a search may use to hold a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MayUse {
    /// The algorithms of `preset = "thorough"`, except those that a key of `[optimize]` switches off.
    Round,
    /// Activations of 16 bits, if the target has them.
    Types,
    /// Layers that run in float on the host.
    Float,
}

/// The largest shares of the multiply-adds of convolutions and matrix products that a search may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// The largest share with activations of 16 bits. Absent: no limit.
    #[schemars(range(min = 0, max = 1))]
    pub macs_16: Option<f64>,
    /// The largest share that may move from the accelerator to the host. Absent: no limit.
    #[schemars(range(min = 0, max = 1))]
    pub macs_float: Option<f64>,
}

/// How large the model may be. Weights that lose least get 4 bits, as many as necessary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeGoal {
    /// The largest number of bytes of all weights together: codes of 8 bits count as one byte and codes of 4 bits as half a byte.
    /// Weights that stay in float have four bytes each. Biases and scales do not count. If this cannot be reached, the compilation
    /// fails, and the message names the smallest number of bytes that can be.
    pub weights_bytes: NonZeroU64,
}
