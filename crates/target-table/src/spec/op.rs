//! `[op.NAME]`: how an op becomes integers, and where the target's limits are.

use super::pair::Pair;
use super::recipe::{IntegerFunction, Padding, Recipe, RecipeName, Reciprocal, WeightGrid};
use super::types::Points;
use super::words::{Evidence, Integer, WeightPer};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use std::{collections::BTreeMap, num::NonZeroU32};
use strait_core::Op;
use strait_document::{Scalar, words};
use strait_requantize::Rounding;

/// Computation of one op, or of a group of ops. An op without a row runs on the host.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OpRow {
    /// The ops by their terms. Absent: the one that the row is named after.
    pub ops: Option<Vec<String>>,
    /// Where it runs; on the accelerator unless said otherwise.
    pub run: Option<Run>,
    /// Reason why the op runs on the host; shown in the report.
    pub why: Option<String>,
    /// Recipe of the op's lowering to integers.
    pub recipe: Option<RecipeName>,
    /// The forms that narrow its result, cheapest first.
    #[serde(default)]
    pub requantize: Vec<String>,
    /// Which of the op's results are narrowed. Absent: as `types.points` has it.
    pub points: Option<Points>,
    /// Width of the op's sums in bits. Absent: as `[accumulator]` has it for the activation type.
    #[cfg_attr(feature = "schema", schemars(range(min = 16, max = 64)))]
    pub accumulator: Option<u8>,
    /// The forms that bring its operands to a common grid, cheapest first.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// The forms, cheapest first, that bring an operand of a sum onto the grid of the accumulator that the other one is: of a
    /// convolution or a fully connected layer that nothing else reads, with results of the same shape. The sum of 32 bits is
    /// then requantized once, by a form of the product's row. Absent: both operands have codes.
    #[serde(default)]
    pub in_accumulator: Vec<String>,
    /// Parameter of `add_left_shift`, `add_common_grid`, `lookup` and `requantize`: of the last for codes of 8 bits, at most
    /// 22.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 24)))]
    pub left_shift: Option<u8>,
    /// Parameter of `lookup`: entries on evenly spaced codes, and straight lines in between, also across a pole or a jump of
    /// the function: `log`, `reciprocal` and `floor` are far from it there. Absent: an entry for each code.
    pub interpolate: Option<Lines>,
    /// Parameter of `pass_through`, of `resize` with the mode `linear`: how codes are interpolated. Absent: elements are copied
    /// alone, with the mode `nearest`.
    pub fraction: Option<Fraction>,
    /// Parameter of `multiply_accumulate`. Absent: `max_abs`.
    pub weight_grid: Option<WeightGrid>,
    /// Parameter of `softmax`, `layer_normalization` and `lookup`: the integer function that it is. Absent: `nearest.v1` of
    /// `lookup`.
    pub definition: Option<IntegerFunction>,
    /// Parameter of `lookup`: rounding of an entry to a code, where `definition` leaves it open. Absent: `quantize.rounding`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::RoundingWord>"))]
    pub rounding: Option<Rounding>,
    /// Parameter of `average_pool_reciprocal`: the numbers that stand for the reciprocals of counts.
    pub reciprocal: Option<Reciprocal>,
    /// Parameter of `multiply_accumulate` and `max_pool`: what padding reads as. Absent: `zero_point` of a convolution,
    /// `type_minimum` of a maximum. A convolution pads with `zero_point` or `zero_code`, a maximum with `type_minimum` or
    /// `zero_point`.
    pub pad: Option<Padding>,
    /// Pairs of activation type and weight type that the row is for. Several rows may be for one op, each for other
    /// activation types, or for other limits: of these the first takes a node whose limits hold, in the order of their names. Absent: all of `types.pairs` that its recipe takes: those with `"float32"` are for
    /// `dequantize_weights`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub pairs: Option<Vec<Pair>>,
    /// The types that its results may have; of `lookup` those of the entries. Where the readers of a result agree on one
    /// of them, the result has it; else it has the activation type, or the first of these where that is none of them.
    /// Absent: the activation type.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub results: Option<Vec<Integer>>,
    /// Granularity of the scales of the op's weights, as far as their type has it. `"tensor"`: the op takes no other. Of others
    /// the configuration may ask instead of `"channel"`. Absent: the first of `types.weight.per`.
    pub weight_per: Option<WeightPer>,
    /// Operands that are activations and have no zero point, whatever the type and the configuration allow. Absent: none.
    pub symmetric: Option<SymmetricOperands>,
    /// Limits of the target, by attribute of the op or by a quantity derived from the op. Of several values `"NAME[i]"` is the
    /// one at a position, counted from 0, where there is one. `"NAME * NAME[i]"` is a product, of all values of each.
    #[serde(default)]
    pub limit: BTreeMap<String, Limit>,
    /// Limits besides those of `limit` for nodes whose weights have a type, which is one that `pairs` has.
    #[serde(default)]
    pub limit_of: BTreeMap<Integer, BTreeMap<String, Limit>>,
    /// The reference that this row equals, where it is another one than the table's.
    pub oracle: Option<String>,
    /// Evidence for the row, where it differs from the table's.
    pub evidence: Option<Evidence>,
    /// The operands with which equality was shown, if not with all that the row takes. A layer with another one rests on
    /// a row that is `documented`.
    pub holds: Option<ShownOf>,
    /// A remark for people.
    pub note: Option<String>,
}

/// Nodes of an op whose operands have no zero point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SymmetricOperands {
    /// Convolutions with operands of so many axes alone. Absent: all nodes.
    pub rank: Option<Vec<u8>>,
}

/// Operands on which the evidence of an op's row was gathered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShownOf {
    /// Numbers of axes of the first operand.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub rank: Vec<u8>,
}

/// Interpolation of codes in fraction bits: the quotient of the extents is rounded to the nearest number of so many bits, the
/// products of codes and weights are added exactly, and the sum is rounded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fraction {
    /// Bits of a coordinate behind the point.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub bits: u8,
    /// Rounding of the sum.
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
    pub rounding: Rounding,
}

/// Straight lines between the entries of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The number of entries: a power of two, and one more, in which the last line ends.
    #[cfg_attr(feature = "schema", schemars(range(min = 3, max = 32769)))]
    pub entries: u32,
    /// Rounding of the way from one entry to the next.
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
    pub rounding: Rounding,
}

impl Lines {
    /// The number of codes from one entry to the next, as a power of two, of codes with so many bits; `None` where it is none,
    /// or each code has an entry.
    pub fn step(self, bits: u8) -> Option<u8> {
        let pieces = self.entries.checked_sub(1).filter(|pieces| pieces.is_power_of_two())?;
        let step = u32::from(bits).checked_sub(pieces.trailing_zeros())?;
        u8::try_from(step).ok().filter(|&step| step > 0)
    }
}

words! {
    /// Where an op runs.
    Run {
        /// On the target, in integers.
        Accelerator = "accelerator",
        /// On the host, as `[host]` says.
        Host = "host",
    }
}

/// Limit on the values of one quantity: all keys that are given must hold, for each value where there are several.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The smallest one.
    pub min: Option<i64>,
    /// The largest one.
    pub max: Option<i64>,
    /// It is a multiple of this one.
    pub multiples_of: Option<NonZeroU32>,
    /// All that are allowed: numbers, of which `false` is 0 and `true` is 1, or words.
    pub one_of: Option<Vec<Scalar>>,
}

impl OpRow {
    /// True if the op runs on the host.
    pub fn is_host(&self) -> bool {
        self.run == Some(Run::Host)
    }

    /// True if it computes on real numbers, with weights that have codes.
    pub fn is_weight_only(&self) -> bool {
        self.recipe.is_some_and(RecipeName::is_weight_only)
    }

    /// True if the activations that a node of the row reads have no zero point.
    pub fn is_symmetric_for(&self, op: &Op) -> bool {
        let Some(symmetric) = &self.symmetric else { return false };
        let axes = match op {
            Op::Conv(conv) => u8::try_from(conv.stride.len() + 2).ok(),
            _ => None,
        };
        match &symmetric.rank {
            Some(ranks) => axes.is_some_and(|axes| ranks.contains(&axes)),
            None => true,
        }
    }

    /// True if its results may have this type though its operands have another, without a grid of their own: it takes bits
    /// off.
    pub fn narrows_to(&self, result: Integer) -> bool {
        let keeps = self.recipe.is_some_and(RecipeName::keeps_grid);
        keeps && self.results.as_ref().is_some_and(|results| results.contains(&result))
    }

    /// The code that padding reads as, in a recipe with windows that reach into some.
    pub fn padding(&self) -> Option<Padding> {
        let usual = match self.recipe? {
            RecipeName::MultiplyAccumulate => Padding::ZeroPoint,
            RecipeName::MaxPool => Padding::TypeMinimum,
            _ => return None,
        };
        Some(self.pad.unwrap_or(usual))
    }

    /// Recipe of the op's lowering to integers; `None` for an op of the host.
    pub fn recipe(&self) -> Option<Recipe> {
        let left_shift = self.left_shift.unwrap_or_default();
        Some(match self.recipe? {
            RecipeName::MultiplyAccumulate => Recipe::MultiplyAccumulate {
                weight_grid: self.weight_grid.unwrap_or(WeightGrid::MaxAbs),
            },
            RecipeName::DequantizeWeights => Recipe::DequantizeWeights,
            RecipeName::MatmulAccumulate => Recipe::MatmulAccumulate,
            RecipeName::AddLeftShift => Recipe::AddLeftShift { left_shift },
            RecipeName::AddCommonGrid => Recipe::AddCommonGrid { left_shift },
            RecipeName::AddCoarserGrid => Recipe::AddCoarserGrid,
            RecipeName::AddShifted => Recipe::AddShifted,
            RecipeName::Multiply => Recipe::Multiply,
            RecipeName::MaxPool => Recipe::MaxPool,
            RecipeName::AveragePoolDivide => Recipe::AveragePoolDivide,
            RecipeName::AveragePoolRequantize => Recipe::AveragePoolRequantize,
            RecipeName::AveragePoolReciprocal => Recipe::AveragePoolReciprocal {
                reciprocal: self.reciprocal?,
            },
            RecipeName::Lookup => Recipe::Lookup {
                definition: self.definition.unwrap_or(IntegerFunction::Nearest).definition(),
                left_shift,
                lines: self.interpolate,
            },
            RecipeName::Softmax => Recipe::Softmax {
                definition: self.definition?.definition(),
            },
            RecipeName::LayerNormalization => Recipe::LayerNormalization {
                definition: self.definition?.definition(),
            },
            RecipeName::Clamp => Recipe::Clamp,
            RecipeName::PassThrough => Recipe::PassThrough {
                fraction: self.fraction,
            },
            RecipeName::Compare => Recipe::Compare,
            // It is no op of a model.
            RecipeName::Requantize => return None,
        })
    }
}
