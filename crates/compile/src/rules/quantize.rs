//! The tables that people write: settings for all layers, and rules for some of them. The reference page of a
//! configuration's `[quantize]` is generated from these doc comments.

use std::num::NonZeroU32;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_quantize::annotate::Unfit;
use strait_target::spec::{Activation, Alignment as Align, Integer, Observer, ObserverOptions, ScaleSet, WeightPer};

#[cfg(feature = "schema")]
use super::leaf::schema::{ActivationWord, CodesWord};
use super::leaf::{Pattern, Range};

/// Quantization settings, where the target leaves a choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quantize {
    /// Settings for weights. Absent keys: the target's default.
    #[serde(default)]
    pub weights: Weights,
    /// Settings for activations. Absent keys: the target's default.
    #[serde(default)]
    pub activations: Activations,
    /// Which grids the operands and results of some layers share. Absent keys: the target's default.
    #[serde(default)]
    pub alignment: Alignment,
    /// What happens to grids of a quantized model that the target does not support. Absent: `"keep"`.
    pub given: Option<GivenGrids>,
    /// Exceptions for some layers. If several rules set the same key, the later one wins.
    #[serde(default)]
    pub rule: Vec<Rule>,
}

/// What happens to grids of a quantized model that the target does not support. Supported grids are kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum GivenGrids {
    /// Layers with such grids run in float on the host. The report names each layer and the reason.
    Keep,
    /// The values get grids that the target supports, with the same range. The report names each value, the reason, and
    /// what is lost.
    Requantize,
}

/// Settings for weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// The type of weights. The target must support it.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<CodesWord>"))]
    pub ty: Option<Integer>,
    /// True: the zero point is 0. False: it need not be 0, if the target supports that.
    pub symmetric: Option<bool>,
    /// Which scales weights can have. The target must support them.
    pub scale: Option<ScaleSet>,
    /// What shares a scale. The target must support it for the type. In `[quantize]` it applies to the layers whose op
    /// supports it, in a rule to all layers of the rule. `"block"` is only for weight-only layers.
    pub per: Option<WeightPer>,
    /// With `per = "block"`: the number of inputs that share a scale. The target must support it. Absent: the target's
    /// preferred number. If the number of inputs of a layer is not a multiple of it, `[quantize]` gives the layer a
    /// scale for each channel; in a rule it is an error.
    pub block: Option<NonZeroU32>,
    /// The observer that finds the range of weights for each scale. Absent: `"minmax"`.
    pub observer: Option<Observer>,
    /// What happens if the bias of a channel does not fit into its type on the grid of the sums, or if the scale of the
    /// channel's weights is too small. Absent: `"coarser"`.
    pub unfit: Option<Unfit>,
}

/// Settings for activations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Activations {
    /// The type of activations. The target must support it. With `"float32"`, layers with weights are weight-only:
    /// their weights have codes, and they compute on real numbers, on the host if the target has no row for that. All
    /// other layers run in float.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<ActivationWord>"))]
    pub ty: Option<Activation>,
    /// True: the zero point is 0. False: it need not be 0, if the target supports that. A grid that a definition fixes,
    /// such as that of a softmax's result, does not change.
    pub symmetric: Option<bool>,
    /// Which scales activations can have. The target must support them. There is one scale for each tensor.
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
    /// For functions such as ReLU that become a clamp in the requantization of the layer in front of them.
    pub activation: Option<Align>,
    /// For sums and differences.
    pub elementwise: Option<Align>,
    /// For concatenations.
    pub concat: Option<Align>,
    /// For average pools and means.
    pub pooling: Option<Align>,
    /// For resizes.
    pub resize: Option<Align>,
    /// For other ops that the target's table lists as passive. An op that only moves codes, such as a maximum or a
    /// transpose, always has the same grid for operand and result. For these ops, this only says whose grid it is.
    pub passive: Option<Align>,
    /// True: if all readers of a result want the same grid, the result is made on that grid and rounded once. False:
    /// the result is made on a range of its own and requantized for readers with another grid, if the target can
    /// requantize codes.
    pub simplify: Option<bool>,
    /// True: if an operand is aligned, its producer and all its other readers use the aligned grid too; the report
    /// names these readers. False: the other readers use the producer's own grid, and the aligned operand is
    /// requantized.
    pub force_overlap: Option<bool>,
}

/// A rule applies to the layers that all of `layers`, `op` and `between` choose. With `operands` and `results`, it
/// applies only to these operands and results of the layers. It also applies to the tensors in `tensors`. At least one
/// of `layers`, `op`, `between` and `tensors` is required. A layer has the name that it has in the model. If it has
/// none there, it has the name of its first output. After layers were folded into one, each of their names still works.
/// A range, an observer, `operands` and `results` are only possible if the named layer still has that result or operand
/// after folding. It is an error if a rule matches nothing, or if a name without wildcards matches nothing; the error
/// lists similar names. It is also an error if a key has no effect on anything that the rule matches, such as a key for
/// weights on layers without weights. If the rule matches several layers, it is enough that the key has an effect on
/// one of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The reason for the rule. The report shows it.
    pub reason: Option<String>,
    /// The ids of the targets that the rule is for. Empty: all targets.
    #[serde(default)]
    pub target: Vec<String>,
    /// Names or patterns of layers.
    #[serde(default)]
    pub layers: Vec<Pattern>,
    /// Operators, by their names in the canonical model. Reports use the same names: `"conv"`, `"reduce_mean"`. They
    /// may differ from the names in the model. Letter case and underscores do not matter: `"ReduceMean"`. A product
    /// with constant weights is a `"gemm"`, and a product of two activations is a `"matmul"`. A layer that was folded
    /// into another one does not count any more. A `"conv"` is also a `"depthwise_conv"` if it computes each channel by
    /// itself, and otherwise a `"dense_conv"`.
    #[serde(default)]
    pub op: Vec<Pattern>,
    /// All layers on a path from one layer to another, both included.
    pub between: Option<Between>,
    /// Positions of operands, counted from 0 as in `strait inspect --quant`. The rule then applies only to these
    /// operands of the layers, and can only set `range`, `observer`, `observer_options` and `activations`. An operand
    /// with a range of its own is requantized for its layer. Other readers of the same tensor are not affected. If no
    /// other layer reads the tensor, it is made on the operand's range directly.
    #[serde(default)]
    pub operands: Vec<u32>,
    /// Positions of results, counted from 0. The rule then applies only to these results of the layers, as if `tensors`
    /// named them.
    #[serde(default)]
    pub results: Vec<u32>,
    /// Names or patterns of tensors. For tensors, a rule can only set `range`, `observer`, `observer_options` and
    /// `activations`.
    #[serde(default)]
    pub tensors: Vec<Pattern>,
    /// True: it is not an error if the rule matches nothing, or if its keys have no effect.
    #[serde(default)]
    pub optional: bool,
    /// Where the layers run.
    pub run: Option<Run>,
    /// The range of the layers' outputs, or of the operands. It is used instead of the observed range.
    pub range: Option<Range>,
    /// The observer that finds the ranges of the layers' outputs, or of the operands.
    pub observer: Option<Observer>,
    /// Settings of the observer.
    #[serde(default)]
    pub observer_options: ObserverOptions,
    /// Which grids the operands and results of the layers share.
    pub alignment: Option<Align>,
    /// As `alignment.simplify` in `[quantize]`, for the results of the layers.
    pub simplify: Option<bool>,
    /// Settings for the weights of the layers.
    #[serde(default)]
    pub weights: Weights,
    /// For layers and `operands`: the activations that the layers compute on. A layer computes on a single type, so a
    /// type for one operand applies to all of them. The results have the type that their readers agree on, if the
    /// target supports it. For `tensors` and `results`: the activations as they leave the layers that make them. If
    /// operands and results share a grid, as in a pooling, `symmetric` and `scale` apply to all of them.
    #[serde(default)]
    pub activations: Activations,
}

/// All layers on a path from one layer to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// Names or patterns of the first layers.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub from: Vec<Pattern>,
    /// Names or patterns of the last layers.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub to: Vec<Pattern>,
}

/// Where a layer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Run {
    /// In float, on the host. Weights of convolutions and Gemms keep codes if this rule or a later one sets their type.
    Float,
    /// In integers, even between layers on the host. If the target cannot do that, it is an error.
    Integer,
    /// In integers if the target can, otherwise on the host. Also on the host if the layers around it run there.
    Auto,
}
