//! The tables `[types]`, `[accumulator]` and `[quantize]`: which codes there are, and how a real number is quantized to a
//! code.

use super::observer::Observer;
use super::pair::Pair;
use super::words::{Evidence, Integer, WeightPer};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, num::NonZeroU32, ops::RangeInclusive};
use strait_document::words;
use strait_requantize::{IntType, Rounding, quantize::ZeroPoint};

/// Which types and grids codes can have. A code q stands for the real number scale × (q − zero point).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Types {
    /// Pairs of activation type and weight type that the target multiplies, the preferred one first. Ops without weights can
    /// have the activation types of these pairs. The row of an op may list fewer pairs. With the activation type `"float32"`, a
    /// layer is weight-only: only its weights are quantized. Layers are only weight-only if a configuration asks for it.
    /// Weight-only convolutions and Gemms run on the accelerator if their op has a row for the pair, and otherwise on the host,
    /// which dequantizes their weights.
    pub pairs: Vec<Pair>,
    /// Which values are requantized to activation codes.
    #[serde(default)]
    pub points: Points,
    /// Which grids activations can have.
    pub activation: ActivationScheme,
    /// Which grids weights can have.
    pub weight: WeightScheme,
    /// Which grids activations of some types can have, instead of those of `activation`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("propertyNames" = { "enum": Integer::NAMES })))]
    pub activation_of: BTreeMap<Integer, ActivationScheme>,
    /// Which grids weights of some types can have, instead of those of `weight`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("propertyNames" = { "enum": Integer::NAMES })))]
    pub weight_of: BTreeMap<Integer, WeightScheme>,
    /// The type of a bias, by the type of the activation. A bias has the scale of the accumulator and the zero point 0.
    #[cfg_attr(feature = "schema", schemars(extend("propertyNames" = { "enum": Integer::NAMES })))]
    pub bias: BTreeMap<Integer, BiasType>,
}

words! {
    /// The type of a bias.
    BiasType {
        /// 20 bits, stored in 32.
        Int20 = "int20",
        /// 32 bits.
        Int32 = "int32",
        /// 40 bits, stored in 64.
        Int40 = "int40",
        /// 48 bits, stored in 64.
        Int48 = "int48",
        /// 64 bits.
        Int64 = "int64",
    }
}

impl BiasType {
    /// The width of the type in bits.
    pub fn bits(self) -> u8 {
        match self {
            BiasType::Int20 => 20,
            BiasType::Int32 => 32,
            BiasType::Int40 => 40,
            BiasType::Int48 => 48,
            BiasType::Int64 => 64,
        }
    }
}

words! {
    /// Which values are requantized to activation codes.
    #[derive(Default)]
    Points {
        /// Every result of an op that the target computes in integers.
        #[default]
        Results = "results",
        /// Only operands of integer ops. If all readers of a result want codes of the same grid, the result is requantized to that
        /// grid. Otherwise the result stays an accumulator: each reader requantizes it for itself, and ops on the host read the
        /// dequantized accumulator.
        Operands = "operands",
    }
}

words! {
    /// Which scales are allowed.
    #[derive(Default)]
    ScaleSet {
        /// Every positive `f32`.
        #[default]
        Any = "any",
        /// 2^k for an integer k.
        PowerOfTwo = "power_of_two",
    }
}

/// Which grids activations can have. Each tensor has one grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ActivationScheme {
    /// If true, the zero point is always 0.
    pub symmetric: bool,
    /// Which scales are allowed.
    #[serde(default)]
    pub scale: ScaleSet,
    /// The smallest and the largest code in use. Default: all codes of the type are in use.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::Ends>"))]
    pub range: Option<[i64; 2]>,
}

/// Which grids weights can have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WeightScheme {
    /// If true, the zero point is always 0. If false, each scale has a zero point, which is subtracted from the codes of the
    /// weights before they are multiplied. Unsigned types need a zero point.
    pub symmetric: bool,
    /// The granularities that scales may have, the preferred one first. `"block"` is skipped if the inputs of a layer cannot be
    /// divided into whole blocks, or if the activations are quantized.
    pub per: Vec<WeightPer>,
    /// For `"block"`: the numbers of inputs that may share a scale, the preferred one first.
    #[serde(default)]
    pub block: Vec<NonZeroU32>,
    /// Which scales are allowed.
    #[serde(default)]
    pub scale: ScaleSet,
    /// The smallest and the largest code in use. Default: all codes of the type are in use.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::Ends>"))]
    pub range: Option<[i64; 2]>,
}

/// How wide sums of products are, and what happens if a sum does not fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Accumulator {
    /// The width of the accumulator in bits. An accumulator of up to 32 bits is stored in 32 bits, and a wider one in
    /// 64.
    #[cfg_attr(feature = "schema", schemars(range(min = 16, max = 64)))]
    pub bits: u8,
    /// What happens if a sum does not fit into the accumulator.
    pub overflow: Overflow,
    /// Narrower partial sums, which are then added to the accumulator. Default: products are added to the accumulator directly.
    pub block: Option<SumBlock>,
    /// The reference for this row, if it differs from the reference of the table.
    pub oracle: Option<String>,
    /// The evidence for this row, if it differs from the evidence of the table.
    pub evidence: Option<Evidence>,
    /// A remark for people.
    pub note: Option<String>,
}

/// Products are first added up in blocks of channels, and the sums of the blocks are then added to the accumulator. The
/// channels are the input channels of a convolution (at every position of its window), the inputs of a Gemm, or the inner
/// axis of a matrix product. The sum of each block has to fit into `bits`, by the rule of `overflow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SumBlock {
    /// The number of channels of a block.
    pub channels: NonZeroU32,
    /// The width of the sum of a block in bits.
    #[cfg_attr(feature = "schema", schemars(range(min = 16, max = 64)))]
    pub bits: u8,
}

words! {
    /// What happens if a sum does not fit into the accumulator. A layer runs on the target only if its sums are proved to fit.
    /// Each word defines when they fit.
    Overflow {
        /// The sum keeps its lowest bits. Only the final sum has to fit, and partial sums may overflow.
        Wrap = "wrap",
        /// The sum saturates: it stays at the nearest value that fits. Every partial sum has to fit, in any order of
        /// the terms.
        Saturate = "saturate",
        /// It is not known what happens. Every partial sum has to fit, in any order of the terms.
        Undefined = "undefined",
    }
}

/// How real numbers are quantized to codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quantize {
    /// How an activation, divided by its scale, is rounded to an integer.
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
    pub rounding: Rounding,
    /// How an activation is divided by its scale. Both ways round to `f32`.
    #[serde(default)]
    pub divide: Divide,
    /// Where the zero point z of an activation x is added, if s is the scale. `"after"`: round(x / s) + z. `"inside_rounding"`:
    /// round(x / s + z), the sum in `f32`. The two differ at ties if z is odd.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::ZeroPointWord"))]
    pub zero_point: ZeroPoint,
    /// How a weight, divided by its scale, is rounded to an integer. The division is always a true division. Default:
    /// as `rounding`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::RoundingWord>"))]
    pub weight_rounding: Option<Rounding>,
    /// How a bias, divided by its scale, is rounded to an integer. Default: as `rounding`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::RoundingWord>"))]
    pub bias_rounding: Option<Rounding>,
    /// The observer that determines ranges from the measurements, unless a configuration names another one.
    #[serde(default)]
    pub observer: Observer,
    /// The reference for this row, if it differs from the reference of the table.
    pub oracle: Option<String>,
    /// The evidence for this row, if it differs from the evidence of the table.
    pub evidence: Option<Evidence>,
    /// A remark for people.
    pub note: Option<String>,
}

words! {
    /// How a real number is divided by a scale.
    #[derive(Default)]
    Divide {
        /// x / s.
        #[default]
        TrueDivision = "true_division",
        /// x · (1 / s). Near ties, this can give another code.
        MultiplyByReciprocal = "multiply_by_reciprocal",
    }
}

impl Types {
    /// The types of codes that activations may have, the preferred one first. A type is listed once for each of its
    /// pairs.
    pub fn activations(&self) -> impl Iterator<Item = Integer> {
        self.pairs.iter().filter_map(|pair| pair.codes())
    }

    /// Which scales and zero points activations of a type can have.
    pub fn activation(&self, t: Integer) -> &ActivationScheme {
        self.activation_of.get(&t).unwrap_or(&self.activation)
    }

    /// Which scales and zero points weights of a type can have.
    pub fn weight(&self, t: Integer) -> &WeightScheme {
        self.weight_of.get(&t).unwrap_or(&self.weight)
    }

    /// The range of codes that activations of a type use.
    pub fn activation_range(&self, t: Integer) -> RangeInclusive<i32> {
        codes(t.into(), self.activation(t).range)
    }

    /// The range of codes that weights of a type use.
    pub fn weight_range(&self, t: Integer) -> RangeInclusive<i32> {
        codes(t.into(), self.weight(t).range)
    }
}

/// Returns the range of codes: the interval `range` if the table states one, and otherwise all codes of the type. The
/// check of the table has made sure that the interval fits the type.
fn codes(t: IntType, range: Option<[i64; 2]>) -> RangeInclusive<i32> {
    range.map_or(t.range(), |[min, max]| t.saturate(min)..=t.saturate(max))
}

impl Quantize {
    /// How weights, divided by their scale, are rounded to whole numbers.
    pub fn weight_rounding(&self) -> Rounding {
        self.weight_rounding.unwrap_or(self.rounding)
    }

    /// How biases, divided by their scale, are rounded to whole numbers.
    pub fn bias_rounding(&self) -> Rounding {
        self.bias_rounding.unwrap_or(self.rounding)
    }
}
