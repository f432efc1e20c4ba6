//! The types of a configuration's table `[quantize]`: settings for all layers, and rules for some layers. The reference
//! page of the configuration is made from their documentation.

use std::num::NonZeroU32;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_quantize::annotate::Unfit;
use strait_target::spec::{Activation, Alignment as Align, Integer, Observer, ObserverOptions, ScaleSet, WeightPer};

#[cfg(feature = "schema")]
use super::leaf::schema::{ActivationWord, CodesWord};
use super::leaf::{FilePath, Pattern, Range};

/// How values are quantized, where the target leaves a choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Quantize {
    /// How weights are quantized. Keys that are not set have the target's default.
    pub weights: Weights,
    /// How activations are quantized. Keys that are not set have the target's default.
    pub activations: Activations,
    /// Which operands and results of a layer share a grid. Keys that are not set have the target's default.
    pub alignment: Alignment,
    /// What to do with grids of a quantized model that the target cannot use. Default: `"keep"`.
    pub given: Option<GivenGrids>,
    /// A file with the scale and the zero point of some tensors: the `params.toml` of an artifact, as it is or edited, or what
    /// `strait params import` has made of another tool's file. The tensors in the file take exactly these parameters, instead of
    /// those that the samples would give them. Rules that give a tensor a range or an observer win over the file.
    pub params: Option<FilePath>,
    /// Exceptions for some layers. Rules are applied from top to bottom. If two rules set the same key, the later one wins.
    pub rule: Vec<Rule>,
}

/// What to do with grids of a quantized model that the target cannot use. Grids that the target can use are kept as they
/// are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum GivenGrids {
    /// Layers that need such grids run in float on the host. The report names each of these layers and the reason.
    Keep,
    /// The values with such grids get other grids, which have the same ranges and which the target can use. The report names
    /// each of these values, the reason and the loss.
    Requantize,
}

/// How weights are quantized.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// The type of weights. The target has to support it.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<CodesWord>"))]
    pub ty: Option<Integer>,
    /// If true, the zero point is 0. If false, the zero point can differ from 0, if the target supports that.
    pub symmetric: Option<bool>,
    /// Which scales are allowed. The target has to support them.
    pub scale: Option<ScaleSet>,
    /// Which weights share a scale. The target has to support this for the type of the weights. In `[quantize]` the key applies
    /// to the layers whose op supports it. In a rule it applies to all layers of the rule. `"block"` is for weight-only layers.
    pub per: Option<WeightPer>,
    /// With `per = "block"`: the number of inputs that share a scale. The target has to support it. Default: the target's
    /// preferred size. If the inputs of a layer cannot be divided into whole blocks, a rule with this key is an error. With
    /// the key in `[quantize]`, the layer then has a scale for each channel instead.
    pub block: Option<NonZeroU32>,
    /// The observer that determines a range for each scale from the weights. Default: `"minmax"`.
    pub observer: Option<Observer>,
    /// What to do if the bias of a channel, divided by the scale of the accumulator, does not fit its integer type, or if the
    /// scale of the channel's weights is too small. Default: `"coarser"`.
    pub unfit: Option<Unfit>,
}

/// How activations are quantized.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Activations {
    /// The type of activations. The target has to support it. With `"float32"`, layers with weights become weight-only: they
    /// compute in float with quantized weights, and run on the host if the target's table has no row for weight-only layers.
    /// All other layers run in float.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<ActivationWord>"))]
    pub ty: Option<Activation>,
    /// If true, the zero point is 0. If false, the zero point can differ from 0, if the target supports that. A grid that is
    /// fixed by a definition, such as that of a softmax's result, does not change.
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

/// Which operands and results of a layer share a grid, by the kind of the layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Alignment {
    /// The alignment of functions such as ReLU, which become a clamp in the requantization of the layer before them.
    pub activation: Option<Align>,
    /// The alignment of additions and subtractions.
    pub elementwise: Option<Align>,
    /// The alignment of concatenations.
    pub concat: Option<Align>,
    /// The alignment of average pools and means.
    pub pooling: Option<Align>,
    /// The alignment of resizes.
    pub resize: Option<Align>,
    /// The alignment of passive ops, as listed in the target's table, for which there is no other key here. An op that only
    /// moves codes, such as a transpose or a maximum, always has the same grid for its operand and its result. This key then
    /// decides which of the two determines the grid.
    pub passive: Option<Align>,
    /// If true, and all readers of a result use the same grid, the result is computed on that grid and rounded once. If false,
    /// the result has a grid that is made from its own range, and readers with another grid requantize the result, if the
    /// target can requantize codes.
    pub simplify: Option<bool>,
    /// If true, and an operand was aligned to a grid, all other readers of this operand have to use the same grid. The report
    /// names these readers. If false, the other readers use the grid on which the operand was computed, and the operand is
    /// requantized for the alignment.
    pub force_overlap: Option<bool>,
}

/// A rule sets keys for some layers, operands or tensors. `layers`, `op` and `between` select layers; if several are given, a
/// layer has to match all of them. `operands` and `results` restrict the rule to some operands and results of these layers.
/// `tensors` selects tensors by name. At least one of `layers`, `op`, `between` and `tensors` is required.
///
/// The name of a layer is its name in the model, or the name of its first output if it has no name in the model. If several
/// layers were folded into one, any of their names selects the folded layer. A rule with a range, an observer, `operands`
/// or `results` refers to an operand or a result of the named layer. The folded layer has to still have this operand or
/// result.
///
/// It is an error if a rule matches nothing, or if a name without wildcards matches nothing. The message lists similar
/// names. It is also an error if a rule has a key that nothing that it matches can use, for example `weights` if it only
/// matches layers without weights. If the rule matches several layers, it is enough that one of them can use the key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// The reason for the rule, which the report prints.
    pub reason: Option<String>,
    /// The ids of the targets to which the rule applies. Default: all targets.
    pub target: Vec<String>,
    /// Source names of layers.
    pub layers: Vec<Pattern>,
    /// Names of ops as in reports, such as `"conv"` or `"reduce_mean"`. These are the ops after rewriting, which can differ
    /// from the operators in the model. Letter case and underscores do not matter: `"ReduceMean"`. A product with constant
    /// weights is a `"gemm"`, and a product of two activations a `"matmul"`. An op that was folded into another layer no longer
    /// exists. A `"conv"` also matches `"depthwise_conv"` if each of its channels is computed separately, and otherwise
    /// `"dense_conv"`.
    pub op: Vec<Pattern>,
    /// Selects all layers on any path from one layer to another, including these two layers.
    pub between: Option<Between>,
    /// The rule applies only to these operands of the layers, counted from 0 as in `strait inspect --quant`. Only `range`,
    /// `observer`, `observer_options` and `activations` can be set for operands. If an operand has a range of its own, it is
    /// requantized for its layer, and other readers of the same tensor are not affected. If its layer is the only
    /// reader, the tensor is computed directly on the grid of this range.
    pub operands: Vec<u32>,
    /// The rule applies only to these results of the layers, counted from 0. This has the same effect as naming the tensors of
    /// these results in `tensors`.
    pub results: Vec<u32>,
    /// Source names of tensors. Only `range`, `observer`, `observer_options` and `activations` can be set for tensors.
    pub tensors: Vec<Pattern>,
    /// If true, it is not an error if the rule matches nothing, or nothing that can use its keys.
    pub optional: bool,
    /// Where the layers compute.
    pub run: Option<Run>,
    /// The smallest and the largest value of the results of the layers, or of their `operands` if these are given. The range is
    /// then not measured.
    pub range: Option<Range>,
    /// The observer that determines the ranges from the measurements: for the results of the layers, or for their `operands` if
    /// these are given.
    pub observer: Option<Observer>,
    /// Settings of the observer.
    pub observer_options: ObserverOptions,
    /// Which operands and results of the layers share a grid.
    pub alignment: Option<Align>,
    /// The same as `alignment.simplify` of `[quantize]`, but only for the results of these layers.
    pub simplify: Option<bool>,
    /// The weights of the layers.
    pub weights: Weights,
    /// How activations are quantized. In a rule for layers or `operands`, this applies to the operands on which the layers
    /// compute. All operands of a layer have the same type. The results of a layer get the type on which the readers of the
    /// results agree, if the target supports this type there. In a rule for `tensors` or `results`, this applies to the named
    /// values themselves. If operands and results have the same grid, as in a pool, `symmetric` and `scale` apply to all of
    /// them.
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
