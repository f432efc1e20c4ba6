//! The tables that people write in `[quantize]`: settings for all layers, and rules for some layers. The doc comments
//! of these types are the reference of `[quantize]` in `docs/configuration.md`.

use std::num::NonZeroU32;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_quantize::annotate::Unfit;
use strait_target::spec::{Activation, Alignment as Align, Integer, Observer, ObserverOptions, ScaleSet, WeightPer};

#[cfg(feature = "schema")]
use super::leaf::schema::{ActivationWord, CodesWord};
use super::leaf::{Pattern, Range};

/// The settings of quantization. They apply where the target leaves a choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quantize {
    /// The settings of weights. Keys that are not set have the target's default.
    #[serde(default)]
    pub weights: Weights,
    /// The settings of activations. Keys that are not set have the target's default.
    #[serde(default)]
    pub activations: Activations,
    /// Which operands and results of a layer share a grid. Keys that are not set have the target's default.
    #[serde(default)]
    pub alignment: Alignment,
    /// What to do with grids of a quantized model that the target cannot use. Default: `"keep"`.
    pub given: Option<GivenGrids>,
    /// Exceptions for some layers. Rules are applied from top to bottom. If two rules set the same key, the later one wins.
    #[serde(default)]
    pub rule: Vec<Rule>,
}

/// What to do with grids of a quantized model that the target does not support. Grids that it supports are kept as they
/// are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum GivenGrids {
    /// Layers that need such grids run in float on the host. The report names each of these layers and the reason.
    Keep,
    /// The values get grids that the target can use, with the ranges of the model's grids. The report names each of
    /// these values, the reason and the loss.
    Requantize,
}

/// Quantization of weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// The type of weights. The target has to support it.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<CodesWord>"))]
    pub ty: Option<Integer>,
    /// True: the zero point is 0. False: the zero point can differ from 0, if the target supports that.
    pub symmetric: Option<bool>,
    /// Which scales are allowed. The target has to support them.
    pub scale: Option<ScaleSet>,
    /// How many weights share a scale. The target has to support this for the type of the weights. In `[quantize]`, the
    /// key applies to the layers whose op supports it. In a rule, it applies to all layers that the rule selects.
    /// `"block"` is for weight-only layers.
    pub per: Option<WeightPer>,
    /// With `per = "block"`: the number of inputs that share a scale. The target has to support it. Default: the
    /// target's preferred size. If the inputs of a layer cannot be divided into whole blocks, the layer has a scale for
    /// each channel in `[quantize]`, and it is an error in a rule.
    pub block: Option<NonZeroU32>,
    /// The observer that determines a range for each scale from the weights. Default: `"minmax"`.
    pub observer: Option<Observer>,
    /// What to do if the bias of a channel does not fit its type on the grid of the sums, or if the scale of the channel's
    /// weights is too small. Default: `"coarser"`.
    pub unfit: Option<Unfit>,
}

/// Quantization of activations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Activations {
    /// The type of activations. The target has to support it. With `"float32"`, layers with weights become weight-only: they
    /// compute on real numbers with quantized weights, on the host if the target has no row for that. All other layers run in
    /// float.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<ActivationWord>"))]
    pub ty: Option<Activation>,
    /// True: the zero point is 0. False: the zero point can differ from 0, if the target supports that. A grid that is fixed by
    /// a definition, such as that of a softmax's result, does not change.
    pub symmetric: Option<bool>,
    /// Which scales are allowed. The target has to support them. Each tensor has one scale.
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
    /// The alignment of functions such as ReLU, which become a clamp in the requantization of their producer.
    pub activation: Option<Align>,
    /// The alignment of sums and differences.
    pub elementwise: Option<Align>,
    /// The alignment of concatenations.
    pub concat: Option<Align>,
    /// The alignment of average pools and means.
    pub pooling: Option<Align>,
    /// The alignment of resizes.
    pub resize: Option<Align>,
    /// The alignment of other ops that the target's table lists as passive. If such an op only moves codes, as a
    /// transpose or a maximum does, its operand and its result always have the same grid. This key then decides whether
    /// it is the grid of the operand or of the result.
    pub passive: Option<Align>,
    /// True: if all readers of a result use one grid, the result is computed on that grid and rounded once. False: the
    /// result has a grid that is made from its own range. Readers with another grid requantize the result, if the
    /// target can requantize codes.
    pub simplify: Option<bool>,
    /// True: if an operand of a layer was aligned to a grid, all other readers of the same tensor have to use this grid
    /// too. The report names these readers. False: the other readers use the grid of the producer, and the aligned
    /// operand is requantized.
    pub force_overlap: Option<bool>,
}

/// A rule sets keys for some layers, operands or tensors. `layers`, `op` and `between` select layers; if several are given, a
/// layer has to match all of them. `operands` and `results` restrict the rule to some operands and results of these layers.
/// `tensors` selects tensors by name. At least one of `layers`, `op`, `between` and `tensors` is required.
///
/// A layer has the name that it has in the model. If it has none there, it has the name of its first output. After several
/// layers were folded into one, it can be selected by any of their names. But for a range, an observer, `operands` and
/// `results`, the named layer has to still have that operand or result.
///
/// It is an error if a rule matches nothing, or if a name without wildcards matches nothing; the message lists similar names.
/// It is also an error if a key cannot be used by anything that the rule matches, for example `weights` for layers without
/// weights. If the rule matches several layers, it is enough that one of them can use the key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The reason for the rule, which the report prints.
    pub reason: Option<String>,
    /// The ids of the targets to which the rule applies. Default: all targets.
    #[serde(default)]
    pub target: Vec<String>,
    /// Source names of layers.
    #[serde(default)]
    pub layers: Vec<Pattern>,
    /// Names of ops as in reports, such as `"conv"` or `"reduce_mean"`. These are the ops after rewriting, which can differ
    /// from the operators in the model. Letter case and underscores do not matter: `"ReduceMean"`. A product with constant
    /// weights is a `"gemm"`, and a product of two activations a `"matmul"`. An op that was folded into another layer no longer
    /// exists. A `"conv"` also matches `"depthwise_conv"` if each of its channels is computed separately, and otherwise
    /// `"dense_conv"`.
    #[serde(default)]
    pub op: Vec<Pattern>,
    /// All layers on any path from one layer to another, including these two layers.
    pub between: Option<Between>,
    /// The rule applies only to these operands of the layers, counted from 0 as in `strait inspect --quant`. Only `range`,
    /// `observer`, `observer_options` and `activations` can be set for operands. If an operand has a range of its own, it is
    /// requantized for its layer, and other readers of the same tensor are not affected. If its layer is the only
    /// reader, the tensor is computed directly on the grid of this range.
    #[serde(default)]
    pub operands: Vec<u32>,
    /// The rule applies only to these results of the layers. A result is the tensor that the layer computes, as if `tensors`
    /// named it.
    #[serde(default)]
    pub results: Vec<u32>,
    /// Source names of tensors. Only `range`, `observer`, `observer_options` and `activations` can be set for tensors.
    #[serde(default)]
    pub tensors: Vec<Pattern>,
    /// True: it is no error if the rule matches nothing, or if nothing that it matches can use its keys.
    #[serde(default)]
    pub optional: bool,
    /// Where the layers compute.
    pub run: Option<Run>,
    /// The range of the layers' results, or of the tensors or operands that the rule names: its smallest and its
    /// largest number. The range is then not measured.
    pub range: Option<Range>,
    /// The observer that determines the ranges of the layers' results, or of the tensors or operands that the rule
    /// names, from the measurements.
    pub observer: Option<Observer>,
    /// Settings of the observer.
    #[serde(default)]
    pub observer_options: ObserverOptions,
    /// Which operands and results of the layers share a grid.
    pub alignment: Option<Align>,
    /// The same as `alignment.simplify` of `[quantize]`, but only for the results of these layers.
    pub simplify: Option<bool>,
    /// The weights of the layers.
    #[serde(default)]
    pub weights: Weights,
    /// If the rule selects layers or `operands`: the type and grid of the activations on which the layers compute. All
    /// operands of a layer have the same type. The results get the type on which their readers agree, if the target
    /// supports it for the layer. If the rule selects `tensors` or `results`: the type and grid of these tensors, as
    /// their layers compute them. If operands and results have the same grid, as in a pool, `symmetric` and `scale`
    /// apply to all of them.
    #[serde(default)]
    pub activations: Activations,
}

/// All layers on any path from one layer to another.
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
    /// In float, on the host. The weights of convolutions and Gemms are still quantized if this rule or a later one gives them
    /// a type.
    Float,
    /// In integers, even between layers on the host. It is an error if the target does not support this.
    Integer,
    /// In integers if the target supports this, and otherwise on the host. A layer between layers on the host also runs
    /// on the host.
    Auto,
}
