//! AMCT's simple configuration: the fields of a `.cfg` file. They are also keys under `[target.options.ascend]`.
//!
//! Fields that AMCT itself no longer supports are read and refused.

mod settings;
mod types;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::num::NonZeroU32;
use strait_plugin_sdk::dialect::{Objection, Setting, Vocabulary};

/// AMCT's simple configuration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Simple {
    /// The version of the file: 1.
    #[schemars(range(min = 1, max = 1))]
    version: Option<u32>,
    /// The number of batches of calibration data. This key sets `samples` of `[calibration]`, since the model takes one sample
    /// at a time. The key is refused if the configuration has other targets, because these would use the same number. Absent:
    /// all samples (AMCT then takes one batch).
    batch_num: Option<NonZeroU32>,
    /// If false, activations have no offset. Absent: true.
    activation_offset: Option<bool>,
    /// If true, the two operands of a quantized addition share one grid that covers both. If false, each operand has its own
    /// grid. Absent: false. Additions are only quantized if the option `quant_mode` is `"high_performance"`.
    joint_quant: Option<bool>,
    /// Layers that stay in float.
    #[serde(default)]
    skip_layers: Vec<String>,
    /// Types of layers that stay in float, by their names in TensorFlow, ONNX, Caffe or PyTorch.
    #[serde(default)]
    skip_layer_types: Vec<String>,
    /// If false, no layer is merged into another one, for example a batch normalization into the convolution before it. This
    /// key sets `do_fusion` of `[rewrite]`. The key is refused if the configuration has other targets, because these have the
    /// same float graph. Absent: true.
    do_fusion: Option<bool>,
    /// Layers that are not merged with others. This key sets `skip_fusion_layers` of `[rewrite]`. The key is refused if the
    /// configuration has other targets, because these have the same float graph.
    #[serde(default)]
    skip_fusion_layers: Vec<String>,
    /// Refused: Strait does not approximate layers.
    #[serde(default)]
    skip_approximation_layers: Vec<String>,
    /// The precision of the requantizations' scales.
    fakequant_precision_mode: Option<PrecisionMode>,
    /// Refused: AMCT no longer supports non-uniform quantization.
    nuq_config: Option<Unread>,
    /// The quantization of all layers, unless one of the following fields says otherwise.
    common_config: Option<Calibration>,
    /// The quantization of convolutions. It is only used if there is neither `common_config` nor `override_layer_types`.
    conv_calibration_config: Option<Calibration>,
    /// The quantization of fully connected layers. It is only used if there is neither `common_config` nor
    /// `override_layer_types`.
    fc_calibration_config: Option<Calibration>,
    /// The quantization of all layers of one type. It overrides `common_config`.
    #[serde(default)]
    override_layer_types: Vec<OverrideLayerType>,
    /// The quantization of a single layer. It overrides the quantization of the layer's type.
    #[serde(default)]
    override_layer_configs: Vec<OverrideLayer>,
    /// Operands of pools and additions that are quantized.
    #[serde(default)]
    tensor_quantize: Vec<TensorQuantize>,
}

/// The precision of the requantizations' scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
enum PrecisionMode {
    /// The scales are used as they are.
    #[serde(rename = "DEFAULT")]
    Default,
    /// The scale of a requantization is cut to the 19 bits that the chip uses. This word sets the option `scale_bits = 19`.
    #[serde(rename = "FORCE_FP16_QUANT")]
    ForceFp16Quant,
}

/// A field whose value, whatever it is, says nothing here.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Unread(Value);

impl JsonSchema for Unread {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Unread".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["boolean", "integer", "number", "string", "array", "object"] })
    }
}

/// The quantization of layers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Calibration {
    /// Quantizes weights with ARQ.
    arq_quantize: Option<Arq>,
    /// Rounds the weights of each output together. In `common_config`, this field sets `round` of `[optimize]`. The key is
    /// refused if the configuration has other targets, because these would be optimised, too. Elsewhere the field is refused:
    /// codes are chosen for all layers or for none.
    ada_quantize: Option<Ada>,
    /// Refused: AMCT no longer supports non-uniform quantization.
    nuq_quantize: Option<Unread>,
    /// Quantizes activations with IFMR.
    ifmr_quantize: Option<Ifmr>,
    /// Quantizes activations with HFMG.
    hfmg_quantize: Option<Hfmg>,
    /// Moves scale between activations and weights. In `common_config`, this field sets `smooth` of `[optimize]`. The key is
    /// refused if the configuration has other targets, because these would be optimised, too. Elsewhere the field is refused:
    /// scale is moved wherever this helps.
    dmq_balancer: Option<Dmq>,
    /// If true, only the weights are quantized.
    weight_compress_only: Option<bool>,
}

/// ARQ: quantization of weights by their smallest and largest values.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arq {
    /// If true, a convolution has a scale for each channel. Layers of other types always have a single scale.
    channel_wise: Option<bool>,
    /// The number of bits of a weight. It has to be 8.
    quant_bits: Option<u32>,
    /// An older name of `quant_bits`.
    num_bits: Option<u32>,
    /// If false, weights have no offset.
    asymmetric: Option<bool>,
}

/// ADA: rounding that is learned in many steps. Here codes are computed from the second moments of the layer's inputs. So the
/// fields that control the steps are read and have no effect.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ada {
    /// No effect: the number of steps.
    #[serde(rename = "num_iteration")]
    _num_iteration: Option<u32>,
    /// No effect: the weight of the regularization.
    #[serde(rename = "reg_param")]
    _reg_param: Option<f64>,
    /// No effect: how an exponent of the regularization falls.
    #[serde(rename = "beta_range")]
    _beta_range: Option<Unread>,
    /// No effect: the fraction of the steps without regularization.
    #[serde(rename = "warm_start")]
    _warm_start: Option<f64>,
    /// If true, a convolution has a scale for each channel. Layers of other types always have a single scale.
    channel_wise: Option<bool>,
}

/// DMQ: moves scale from activations to weights.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Dmq {
    /// No effect: the strength is chosen for each layer by the error of its results.
    #[serde(rename = "migration_strength")]
    #[schemars(range(min = 0.2, max = 0.8))]
    _migration_strength: Option<f64>,
}

/// Quantization of activations by a search for the upper end of the range.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ifmr {
    /// The smallest factor by which the search multiplies the upper end. Default: 0.7.
    #[schemars(range(min = 0.01, max = 10))]
    search_range_start: Option<f64>,
    /// The largest factor by which the search multiplies the upper end. Default: 1.3.
    #[schemars(range(min = 0.01, max = 10))]
    search_range_end: Option<f64>,
    /// The distance between two factors of the search. Default: 0.01.
    #[schemars(range(min = 0.001, max = 1))]
    search_step: Option<f64>,
    /// The fraction of values that lie below the upper end. Default: 0.999999.
    #[schemars(range(min = 0.5, max = 1))]
    max_percentile: Option<f64>,
    /// The fraction of values that lie above the lower end. Default: 0.999999.
    #[schemars(range(min = 0.5, max = 1))]
    min_percentile: Option<f64>,
    /// If false, activations have no offset. Absent: as `activation_offset`.
    asymmetric: Option<bool>,
    /// The type of the codes. Only `INT8` is supported.
    dst_type: Option<DstType>,
    /// The number of bits of the codes. It has to be 8.
    num_bits: Option<u32>,
}

/// HFMG: quantization of activations by their histogram.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Hfmg {
    /// The number of bins of the histogram: 1024, 2048 or 4096. Default: 4096.
    num_of_bins: Option<u32>,
    /// If false, activations have no offset. Absent: as `activation_offset`.
    asymmetric: Option<bool>,
    /// The type of the codes. Only `INT8` is supported.
    dst_type: Option<DstType>,
    /// The number of bits of the codes. It has to be 8.
    num_bits: Option<u32>,
}

/// The type of activations' codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
enum DstType {
    /// 8 bits.
    #[serde(rename = "INT8")]
    Int8,
    /// 16 bits. Refused.
    #[serde(rename = "INT16")]
    Int16,
}

/// The quantization of all layers of one type.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OverrideLayerType {
    /// The name of the layers' type.
    layer_type: String,
    /// How layers of this type are quantized.
    calibration_config: Calibration,
}

/// The quantization of one layer.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OverrideLayer {
    /// The name of the layer.
    layer_name: String,
    /// How the layer is quantized.
    calibration_config: Calibration,
}

/// An operand of a pool or an addition that is quantized.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TensorQuantize {
    /// The name of the layer.
    layer_name: String,
    /// The position of the operand, counted from 0.
    input_index: u32,
    /// The operand is quantized by IFMR, which is also the default.
    ifmr_quantize: Option<Ifmr>,
    /// Quantizes the operand with HFMG.
    hfmg_quantize: Option<Hfmg>,
}

impl Vocabulary for Simple {
    const NAME: &'static str = "AMCT's simple configuration";

    fn settings(self) -> Result<Vec<Setting>, Vec<Objection>> {
        settings::of(&self)
    }
}

#[cfg(test)]
mod tests;
