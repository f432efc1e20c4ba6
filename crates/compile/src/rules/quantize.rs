//! The tables that people write: for all layers, and rules for some. Their documentation is the reference of a configuration's
//! `[quantize]`.

use std::num::NonZeroU32;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_quantize::annotate::Unfit;
use strait_target::spec::{Activation, Alignment as Align, Integer, Observer, ObserverOptions, ScaleSet, WeightPer};

#[cfg(feature = "schema")]
use super::leaf::schema::{ActivationWord, CodesWord};
use super::leaf::{Pattern, Range};

/// Quantization, where the target leaves a choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quantize {
    /// Weights. Absent keys: the target's default.
    #[serde(default)]
    pub weights: Weights,
    /// Activations. Absent keys: the target's default.
    #[serde(default)]
    pub activations: Activations,
    /// Which grids the operands and results of some layers share. Absent keys: the target's default.
    #[serde(default)]
    pub alignment: Alignment,
    /// Grids that a quantized model comes with and that the target cannot have. Absent: `"keep"`.
    pub given: Option<GivenGrids>,
    /// Exceptions for some layers. Rules are read from top to bottom; key by key the later one wins.
    #[serde(default)]
    pub rule: Vec<Rule>,
}

/// Grids that a quantized model comes with and that the target cannot have. Those that it can have are kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum GivenGrids {
    /// The layers whose grids these are run in float, on the host; the report names each, and why.
    Keep,
    /// The values get grids that the target has, on the range of those of the model; the report names each, why, and the loss.
    Requantize,
}

/// Quantization of weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Their type, one that the target has.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<CodesWord>"))]
    pub ty: Option<Integer>,
    /// True: the zero point is 0. False, where the target has others: it need not be.
    pub symmetric: Option<bool>,
    /// Which scales they have, of those that the target has.
    pub scale: Option<ScaleSet>,
    /// One scale for what, of those that the target has for the type. In `[quantize]` it holds for the layers whose op has it,
    /// in a rule for all. `"block"` is for weight-only layers.
    pub per: Option<WeightPer>,
    /// With `per = "block"`: the number of inputs that share a scale, one that the target has. Absent: its preferred one. In
    /// `[quantize]`, layers whose inputs are no whole blocks have a scale for each channel; in a rule they are an error.
    pub block: Option<NonZeroU32>,
    /// Observer that makes a range from them, for each scale. Absent: `"minmax"`.
    pub observer: Option<Observer>,
    /// Consequence where the bias of a channel does not fit into its type on the grid of the sums, or the scale of the
    /// channel's weights is too small. Absent: `"coarser"`.
    pub unfit: Option<Unfit>,
}

/// Quantization of activations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Activations {
    /// Their type, one that the target has. `"float32"`: layers with weights compute on real numbers, with weights that have
    /// codes, on the host where the target has no row for that; all other layers run in float.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<ActivationWord>"))]
    pub ty: Option<Activation>,
    /// True: the zero point is 0. False, where the target has others: it need not be. A grid that a definition fixes, as
    /// that of a softmax's result, stays.
    pub symmetric: Option<bool>,
    /// Which scales they have, of those that the target has; one for each tensor.
    pub scale: Option<ScaleSet>,
}

impl<T: Into<Activation>> From<T> for Activations {
    fn from(ty: T) -> Activations {
        Activations {
            ty: Some(ty.into()),
            ..Activations::default()
        }
    }
}

/// Which grids the operands and results of some layers share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Alignment {
    /// Of functions such as ReLU that become a clamp of their producer's requantization.
    pub activation: Option<Align>,
    /// Of sums and differences.
    pub elementwise: Option<Align>,
    /// Of concatenations.
    pub concat: Option<Align>,
    /// Of average pools and means.
    pub pooling: Option<Align>,
    /// Of resizes.
    pub resize: Option<Align>,
    /// Of other ops that the target's table lists as passive. An op that only moves codes, as a maximum or a transpose does,
    /// has one grid for operand and result whatever this says; the word then says whose.
    pub passive: Option<Align>,
    /// True: a result that all readers want on one grid is made on that, and rounds once. False: it is made on a range of its
    /// own, and requantized for readers of another grid, as far as the target requantizes codes.
    pub simplify: Option<bool>,
    /// True: the grid that an aligned operand is made on is imposed on its other readers, too; the report names them. False:
    /// they have the one that its producer leaves, and the aligned operand is requantized.
    pub force_overlap: Option<bool>,
}

/// It holds for the layers that all of `layers`, `op` and `between` choose, or only for those of their operands and
/// results that `operands` and `results` count; and for the tensors that `tensors` names. At least one of `layers`, `op`,
/// `between` and `tensors` is given. A layer has the name that it has in the model, or if it has none there, that of its
/// first output; any source name counts, also after layers have been folded into one. A range, an observer, `operands` and
/// `results` need a result or an operand that the named layer has kept. A rule that matches nothing is an
/// error, which lists the nearest names, and so is a name without wildcards in it. A key that nothing of what is matched has a
/// use for is an error, too, as weights of layers that have none; of several layers one is enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Reason for the rule; printed in the report.
    pub reason: Option<String>,
    /// The targets that it is for, by their ids. Empty: all.
    #[serde(default)]
    pub target: Vec<String>,
    /// Source names of layers.
    #[serde(default)]
    pub layers: Vec<Pattern>,
    /// Operators of the canonical model, by the words that reports have for them, whatever they were in the model: `"conv"`,
    /// `"reduce_mean"`. Letter case and underscores do not matter: `"ReduceMean"`. A product with constant weights is a
    /// `"gemm"`, one of two activations a `"matmul"`; what was folded into another layer is none any more. A `"conv"` is a
    /// `"depthwise_conv"`, too, where each of its channels is by itself, and else a `"dense_conv"`.
    #[serde(default)]
    pub op: Vec<Pattern>,
    /// All layers on a way from one to another, both included.
    pub between: Option<Between>,
    /// Of the layers these operands alone, counted from 0 as in `strait inspect --quant`. Only `range`, `observer`,
    /// `observer_options` and `activations` can be set for them. An operand that has a range of its own is requantized for its layer; others that
    /// read the same tensor do so as before. What a layer alone reads is made on the range of its operand.
    #[serde(default)]
    pub operands: Vec<u32>,
    /// The same of results. A result is the tensor that it makes, as if `tensors` named it.
    #[serde(default)]
    pub results: Vec<u32>,
    /// Source names of tensors. Only `range`, `observer`, `observer_options` and `activations`
    /// can be set for them.
    #[serde(default)]
    pub tensors: Vec<Pattern>,
    /// True: it may match nothing, or nothing that has a use for its keys.
    #[serde(default)]
    pub optional: bool,
    /// Where the layers compute.
    pub run: Option<Run>,
    /// The values of their outputs, or of the operands, instead of what was measured.
    pub range: Option<Range>,
    /// Observer that makes the ranges of their outputs, or of the operands, from what was measured.
    pub observer: Option<Observer>,
    /// Settings of the observer.
    #[serde(default)]
    pub observer_options: ObserverOptions,
    /// Which grids their operands and results share.
    pub alignment: Option<Align>,
    /// Of their results, as `alignment.simplify` of `[quantize]`.
    pub simplify: Option<bool>,
    /// Their weights.
    #[serde(default)]
    pub weights: Weights,
    /// Of layers and `operands`: the activations that the layers compute on. A layer computes on one type: that of an operand is
    /// that of the others. Its results have the type that their readers agree on, as far as the target has it for them. Of
    /// `tensors` and `results`: as they leave the layers that make them. Where operands and results have one grid, as those
    /// of a pooling, `symmetric` and `scale` are for all of them.
    #[serde(default)]
    pub activations: Activations,
}

/// All layers on a way from one to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// Source names of the first layers.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub from: Vec<Pattern>,
    /// Source names of the last layers.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub to: Vec<Pattern>,
}

/// Where a layer computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Run {
    /// In float, on the host. Weights of convolutions and Gemms keep codes if this rule or a later one gives them a type.
    Float,
    /// In integers, also between layers on the host; an error where the target cannot.
    Integer,
    /// In integers where the target can, otherwise on the host; on the host as well between layers that run there.
    Auto,
}
