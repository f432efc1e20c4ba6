//! The result of `strait analyze`, as data: where the points of each metric go, which layers cost most and why, and what
//! rules against it bring.

use serde::{Deserialize, Serialize};
use strait_evaluate::{Change, Figure, Unit};

/// Version of the schema of an analysis.
pub const ANALYSIS_SCHEMA: u32 = 1;

/// The analysis of one compiled model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Analysis {
    /// The schema version, [`ANALYSIS_SCHEMA`].
    pub schema: u32,
    /// Version of the compiler that made the analysis.
    pub strait: String,
    /// Id of the target that the model was compiled for.
    pub target: String,
    /// Number of samples on which the metrics were measured; 0 without `[evaluation]`.
    pub evaluated: u64,
    /// For each metric, where its points go.
    pub metrics: Vec<MetricPoints>,
    /// Number of calibration samples on which the layers were measured.
    pub samples: u64,
    /// The layers on the accelerator. Those whose quantization alone does most harm come first.
    pub layers: Vec<LayerAnalysis>,
    /// Rules that were tried: each was added to the configuration, and the model was compiled and measured again.
    pub tried: Vec<TriedRule>,
}

/// Where the points of one metric go. The changes of all shares add up to the whole change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MetricPoints {
    /// Name of the metric.
    pub name: String,
    /// Output that the metric looks at; absent if it looks at several together.
    pub output: Option<String>,
    /// Unit of the metric's figures.
    pub unit: Unit,
    /// Figure of the float model. Absent if the metric compares with the float model.
    pub float: Option<Figure>,
    /// Figure of the integer model.
    pub integer: Option<Figure>,
    /// Change from the float model to the integer model.
    pub change: Option<Change>,
    /// What the change is made of.
    pub shares: Vec<Share>,
}

/// What part of a change has one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The cause.
    pub cause: Cause,
    /// The change that this cause makes. For metrics that compare with the float model, changes after the first one have
    /// no interval.
    pub change: Option<Change>,
    /// The figure of the model with this cause. Absent if nothing was measured, and for the interaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Figure>,
    /// Why nothing had to be measured, or what else is to be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

strait_document::words! {
    /// The code of a [`LossReason`] that is not a lint. `crates/explain` has an example and a remedy for each.
    LossCode {
        /// At least 0.1 % of the numbers of a tensor lie more than half a step outside of its grid.
        Saturation = "saturation",
        /// All channels of the weights share one scale, and the largest is at least 8 times as large as the median.
        ChannelSpread = "channel-spread",
        /// All codes of a channel are 0, although its weights are not.
        DeadChannels = "dead-channels",
        /// The grid reaches at least 4 times as far as the magnitude that 99.9 % of the numbers do not exceed.
        Outliers = "outliers",
        /// The weights alone do 3 dB more harm than the activations alone.
        Weights = "weights",
        /// The activations alone do 3 dB more harm than the weights alone.
        Activations = "activations",
    }
}

/// A cause of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Only weights are rounded to codes.
    Weights,
    /// Only activations are rounded to their grids, by codes without limits.
    Rounding,
    /// Codes of activations have limits, so large numbers saturate.
    Clipping,
    /// Only biases are rounded to codes.
    Bias,
    /// Only tensors that pass between the accelerator and the host are rounded.
    Host,
    /// All of these together, beyond the sum of each by itself.
    Interaction,
    /// Functions are read from tables, and not computed in real numbers and rounded once.
    Tables,
    /// Sums are requantized by the target's integer arithmetic, and not in real numbers.
    Requantization,
    /// Steps are fused.
    Fusions,
}

impl Cause {
    /// The cause in the words that people read.
    pub fn words(self) -> &'static str {
        match self {
            Cause::Weights => "weights",
            Cause::Rounding => "activations: rounding",
            Cause::Clipping => "activations: clipping",
            Cause::Bias => "bias",
            Cause::Host => "host",
            Cause::Interaction => "interaction of these",
            Cause::Tables => "tables",
            Cause::Requantization => "requantization",
            Cause::Fusions => "fusions",
        }
    }
}

/// A layer that costs much accuracy, in the report of a compilation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CostlyLayer {
    /// Name of the layer in the model.
    pub layer: String,
    /// The smallest SNR of the model's outputs if only this layer is quantized, in dB.
    pub snr: f64,
}

/// The errors of one layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LayerAnalysis {
    /// Name of the layer in the model.
    pub layer: String,
    /// The op of the layer.
    pub op: String,
    /// The names of clamps that follow the layer and belong to it, because they become part of its requantization.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clamps: Vec<String>,
    /// The layer's share of the model's operations, from 0 to 1.
    pub share: f64,
    /// The error if this layer alone is quantized: the smallest SNR of the model's outputs, in dB. Absent if no output
    /// can be judged.
    pub single: Option<f64>,
    /// The same error if only the weights of this layer are rounded. Measured for the worst layers only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_weights: Option<f64>,
    /// The same error if only the layer's operands and results are rounded. Measured for the worst layers only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_activations: Option<f64>,
    /// The accumulated error: the SNR of the layer's result in the integer model, in dB. Absent if the integer model
    /// does not have this tensor.
    pub entire: Option<f64>,
    /// The cosine of the angle between the layer's result in the float model and in the integer model.
    pub cosine: Option<f64>,
    /// The smallest SNR of the tensors that the layer reads, in dB, but at most 40.
    pub before: Option<f64>,
    /// True if the accumulated error jumps at this layer.
    pub jumps: bool,
    /// Statistics of the layer's weights, if it has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightStatistics>,
    /// Statistics of the layer's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<TensorStatistics>,
    /// Why the layer loses accuracy, as far as a rule can tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<LossReason>,
}

/// Statistics of weights and their codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WeightStatistics {
    /// Name of the tensor.
    pub tensor: String,
    /// SNR of the codes, in dB.
    pub snr: Option<f64>,
    /// True if the whole tensor has one scale.
    pub per_tensor: bool,
    /// Number of output channels.
    pub channels: u64,
    /// The largest magnitude of a channel, divided by the median over the channels.
    pub spread: Option<f64>,
    /// Number of channels whose weights are all 0 in the model.
    pub zero: u64,
    /// Number of other channels whose codes are all 0.
    pub lost: u64,
}

/// Statistics of a tensor on its grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TensorStatistics {
    /// Name of the tensor.
    pub tensor: String,
    /// Smallest and largest number that was observed.
    pub seen: [f64; 2],
    /// The magnitude that 99.9 % of the numbers do not exceed.
    pub most: f64,
    /// Smallest and largest number that codes can stand for. Absent if the tensor has several scales, or no codes.
    pub grid: Option<[f64; 2]>,
    /// Fraction of the numbers that lie outside of the grid and saturate.
    pub clipped: Option<f64>,
    /// Fraction of the numbers that are exactly 0.
    pub zeros: f64,
}

/// Why a layer loses accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LossReason {
    /// Stable code of the reason, in kebab-case: `outliers`, `channel-spread`, `dead-channels`, `saturation`,
    /// `weights` or `activations` if most of the error is from these, or the code of a lint.
    pub code: String,
    /// The reason in words.
    pub text: String,
    /// A rule in TOML against it, ready to be pasted into a configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toml: Option<String>,
}

/// A rule that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TriedRule {
    /// Name of the layer because of which the rule was tried.
    pub layer: String,
    /// The rule in TOML, ready to be pasted into a configuration.
    pub toml: String,
    /// For each metric, in their order, the change that the rule makes to the integer model. Empty without
    /// `[evaluation]`.
    pub changes: Vec<Option<Change>>,
    /// The smallest SNR of the model's outputs on the first calibration samples, in dB, without and with the rule.
    pub snr: [Option<f64>; 2],
    /// Fraction of the model's operations that get codes of 16 bits by the rule.
    pub wide: f64,
    /// Fraction of the model's operations that move to the host by the rule.
    pub host: f64,
}
