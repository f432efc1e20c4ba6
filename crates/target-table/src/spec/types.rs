//! `[types]`, `[accumulator]` and `[quantize]`: what codes there are, and how a real number becomes one.

use super::observer::Observer;
use super::pair::Pair;
use super::words::{Evidence, Integer, WeightPer};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, num::NonZeroU32, ops::RangeInclusive};
use strait_document::words;
use strait_requantize::{IntType, Rounding, quantize::ZeroPoint};

/// Which integers stand for which values. Scale sense: real = scale × (q − zero point).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Types {
    /// Pairs of activation type and weight type that the target multiplies, the preferred one first. Ops without weights
    /// have the activation types. The row of an op may have fewer. With activations of `"float32"` a layer is weight-only:
    /// only its weights have codes. A configuration asks for it. Such convolutions and Gemms run on the accelerator if a
    /// row takes the pair, and otherwise on the host, which dequantizes their weights.
    pub pairs: Vec<Pair>,
    /// Which values are narrowed.
    #[serde(default)]
    pub points: Points,
    /// Grids of activations.
    pub activation: ActivationScheme,
    /// Grids of weights.
    pub weight: WeightScheme,
    /// Grids of activations of some types, instead of `activation`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("propertyNames" = { "enum": Integer::NAMES })))]
    pub activation_of: BTreeMap<Integer, ActivationScheme>,
    /// Grids of weights of some types, instead of `weight`.
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
        /// 20 bits, carried in 32.
        Int20 = "int20",
        /// 32 bits.
        Int32 = "int32",
        /// 40 bits, carried in 64.
        Int40 = "int40",
        /// 48 bits, carried in 64.
        Int48 = "int48",
        /// 64 bits.
        Int64 = "int64",
    }
}

impl BiasType {
    /// Width in bits.
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
    /// Which values are narrowed to activation codes.
    #[derive(Default)]
    Points {
        /// Every result of an op that the target computes in integers.
        #[default]
        Results = "results",
        /// Only operands of integer ops. If all readers of a result want codes of one grid, it is narrowed to that grid.
        /// Otherwise it stays an accumulator: each reader narrows it for itself, and the host reads the dequantized
        /// accumulator.
        Operands = "operands",
    }
}

words! {
    /// Which scales there are.
    #[derive(Default)]
    ScaleSet {
        /// Every positive `f32`.
        #[default]
        Any = "any",
        /// 2^k for an integer k.
        PowerOfTwo = "power_of_two",
    }
}

/// Grids of activations; one per tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ActivationScheme {
    /// The zero point is 0.
    pub symmetric: bool,
    /// Which scales there are.
    #[serde(default)]
    pub scale: ScaleSet,
    /// The codes in use. Absent: all of the type.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::Ends>"))]
    pub range: Option<[i64; 2]>,
}

/// Grids of weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WeightScheme {
    /// The zero point is 0. False: each scale has a zero point, which products subtract from the codes of the weights.
    /// Unsigned types need one.
    pub symmetric: bool,
    /// Granularities that a scale may have, the preferred one first. `"block"` is skipped if the inputs of a weight do not
    /// divide into whole blocks, or if the activations have codes.
    pub per: Vec<WeightPer>,
    /// For `"block"`: the numbers of inputs that may share a scale, the preferred one first.
    #[serde(default)]
    pub block: Vec<NonZeroU32>,
    /// Which scales there are.
    #[serde(default)]
    pub scale: ScaleSet,
    /// The codes in use. Absent: all of the type.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::Ends>"))]
    pub range: Option<[i64; 2]>,
}

/// Width of sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Accumulator {
    /// Width in bits. Up to 32 bits are carried in 32, more in 64.
    #[cfg_attr(feature = "schema", schemars(range(min = 16, max = 64)))]
    pub bits: u8,
    /// Behaviour of a sum that does not fit.
    pub overflow: Overflow,
    /// Narrower sums in front of the whole sum. Absent: products are added to the whole sum directly.
    pub block: Option<SumBlock>,
    /// The reference that this equals, where it is another one than the table's.
    pub oracle: Option<String>,
    /// Evidence for the row, where it differs from the table's.
    pub evidence: Option<Evidence>,
    /// A remark for people.
    pub note: Option<String>,
}

/// Products are first added up in blocks of channels, and the blocks are then added to the whole sum. Channels are the
/// input channels of a convolution, at every position of its window; the inputs of a Gemm; the inner axis of a matrix
/// product. Each block has to fit into its bits, by the rule of `overflow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SumBlock {
    /// Number of channels.
    pub channels: NonZeroU32,
    /// Width in bits.
    #[cfg_attr(feature = "schema", schemars(range(min = 16, max = 64)))]
    pub bits: u8,
}

words! {
    /// Behaviour of a sum that does not fit. A layer runs on the target only if its sums are proved to fit by this rule.
    Overflow {
        /// It keeps its lowest bits. Only the whole sum has to fit; sums in between may overflow.
        Wrap = "wrap",
        /// It stays at the nearest value that fits. Every part of a sum has to fit, in any order.
        Saturate = "saturate",
        /// Not known. Every part of a sum has to fit, in any order.
        Undefined = "undefined",
    }
}

/// From real numbers to codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quantize {
    /// Rounding of an activation's quotient to a whole number.
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
    pub rounding: Rounding,
    /// Division of an activation by its scale; both ways round to `f32`.
    #[serde(default)]
    pub divide: Divide,
    /// Where an activation's zero point z is added to its quotient. `"after"`: round(x / s) + z. `"inside_rounding"`:
    /// round(x / s + z), the sum in `f32`. The two differ at ties if z is odd.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::ZeroPointWord"))]
    pub zero_point: ZeroPoint,
    /// The same for weights, which are always divided truly. Absent: `rounding`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::RoundingWord>"))]
    pub weight_rounding: Option<Rounding>,
    /// The same for biases. Absent: `rounding`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::RoundingWord>"))]
    pub bias_rounding: Option<Rounding>,
    /// Observer that makes a range from what was observed, unless the configuration names another.
    #[serde(default)]
    pub observer: Observer,
    /// The reference that this equals, where it is another one than the table's.
    pub oracle: Option<String>,
    /// Evidence for the row, where it differs from the table's.
    pub evidence: Option<Evidence>,
    /// A remark for people.
    pub note: Option<String>,
}

words! {
    /// Division of a real number by a scale.
    #[derive(Default)]
    Divide {
        /// x / s.
        #[default]
        TrueDivision = "true_division",
        /// x · (1 / s); it differs near ties.
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

/// The range of codes: the interval if there is one, and otherwise all codes of the type. It was checked with the table
/// that the interval fits the type.
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
