//! The tables `[op.NAME]`: how an op is lowered to integers, and the limits of the target.

use super::pair::Pair;
use super::recipe::Recipe;
use super::types::Points;
use super::words::{Evidence, Integer, WeightPer};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::{collections::BTreeMap, fmt, num::NonZeroU32};
use strait_core::Op;
use strait_document::{Scalar, words};

/// The way in which an op, or a group of ops, is computed. An op without a row runs on the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OpRow {
    /// The ops that the row is for, by their terms. Default: the op whose term is the name of the row.
    pub ops: Option<Vec<String>>,
    /// Where the op runs. Default: on the accelerator.
    pub run: Option<Run>,
    /// The reason why the op runs on the host. The report shows it.
    pub why: Option<String>,
    /// The recipe by which the op is lowered to integers.
    #[serde(default, deserialize_with = "chosen")]
    pub recipe: Option<Recipe>,
    /// The forms that can requantize the result of the op, the cheapest first.
    #[serde(default)]
    pub requantize: Vec<String>,
    /// Which results of the op are requantized to activation codes. Default: as in `types.points`.
    pub points: Option<Points>,
    /// The width of the op's accumulator in bits. Default: as in `[accumulator]` for the activation type.
    #[cfg_attr(feature = "schema", schemars(range(min = 16, max = 64)))]
    pub accumulator: Option<u8>,
    /// The forms that can requantize the operands of the op to a common grid, the cheapest first.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Forms for an addition inside an accumulator. One operand of the addition is the result of a convolution or a fully
    /// connected layer that nothing else reads, and the accumulator of this layer is not requantized. One of these forms (the
    /// cheapest first) converts the codes of the other operand, which has the same shape, to the grid of the accumulator. The
    /// 32-bit sum is then requantized once, by a form of the layer's row. Default: both operands of an addition are codes.
    #[serde(default)]
    pub in_accumulator: Vec<String>,
    /// The pairs of activation type and weight type that the row is for. An op may have several rows, for different activation
    /// types or for different limits. The rows are tried in the order of their names, and a node uses the first row whose limits
    /// hold. Default: all pairs of `types.pairs` that the recipe of the row accepts. Pairs with `"float32"` are for the recipe
    /// `dequantize_weights`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub pairs: Option<Vec<Pair>>,
    /// The types that the results of the op may have. For the recipe `lookup`, these are the types of the entries. If the readers
    /// of a result agree on one of these types, the result has that type. Otherwise the result has the activation type if it is
    /// in the list, or else the first type of the list. Default: the activation type.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub results: Option<Vec<Integer>>,
    /// The granularity of the scales of the op's weights, if the type of the weights has it. With `"tensor"`, the op supports no
    /// other granularity. With `"channel"`, a configuration may ask for another one. Default: the first of `types.weight.per`.
    pub weight_per: Option<WeightPer>,
    /// Says for which nodes of the op all activations have the zero point 0, even if the type and the configuration allow other
    /// zero points. Default: none.
    pub symmetric: Option<SymmetricOperands>,
    /// Limits of the target, by attribute of the op or by a quantity derived from the op. `"NAME[i]"` is the value at a
    /// position of a list, counted from 0. `"NAME * NAME[i]"` is a product. If a factor has several values, the limit holds for
    /// all products.
    #[serde(default)]
    pub limit: BTreeMap<String, Limit>,
    /// Further limits for nodes with weights of one type. The type is one of `pairs`.
    #[serde(default)]
    pub limit_of: BTreeMap<Integer, BTreeMap<String, Limit>>,
    /// The reference for this row, if it differs from the reference of the table.
    pub oracle: Option<String>,
    /// The evidence for this row, if it differs from the evidence of the table.
    pub evidence: Option<Evidence>,
    /// The operands for which it was shown that the row equals the reference, if these are not all operands that the row
    /// accepts. For a layer with other operands, the row only counts as `documented`.
    pub holds: Option<ShownOf>,
    /// A remark for people.
    pub note: Option<String>,
}

fn chosen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Recipe>, D::Error> {
    strait_document::choice(deserializer).map(Some)
}

/// Says which nodes of an op have only activations with the zero point 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SymmetricOperands {
    /// Selects the nodes by the number of axes of their operands, which must be in this list. Only for convolutions.
    /// Default: all nodes.
    pub rank: Option<Vec<u8>>,
}

/// The operands for which it was shown that an op's row equals the reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShownOf {
    /// The numbers of axes that the first operand may have.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub rank: Vec<u8>,
}

words! {
    /// Where an op runs.
    Run {
        /// On the target, in integers.
        Accelerator = "accelerator",
        /// On the host, as described in `[host]`.
        Host = "host",
    }
}

/// The limits of one quantity. All limits that are given must hold. If the quantity has several values, the limits must
/// hold for each value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The smallest allowed value.
    pub min: Option<i64>,
    /// The largest allowed value.
    pub max: Option<i64>,
    /// The value has to be a multiple of this number.
    pub multiples_of: Option<NonZeroU32>,
    /// All allowed values: words, or numbers, where `false` is 0 and `true` is 1.
    pub one_of: Option<Vec<Scalar>>,
}

impl fmt::Display for Limit {
    /// Writes which values the limit allows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = match (self.min, self.max) {
            (Some(min), Some(max)) => Some(format!("{min} to {max}")),
            (Some(min), None) => Some(format!("at least {min}")),
            (None, Some(max)) => Some(format!("at most {max}")),
            (None, None) => None,
        };
        let step = self.multiples_of.map(|step| format!("multiples of {step}"));
        let words = |values: &Vec<Scalar>| values.iter().map(Scalar::to_string).collect::<Vec<_>>().join(" or ");
        let parts: Vec<String> = [ends, step, self.one_of.as_ref().map(words)]
            .into_iter()
            .flatten()
            .collect();
        f.write_str(&parts.join(", "))
    }
}

impl OpRow {
    /// True if the op runs on the host.
    pub fn is_host(&self) -> bool {
        self.run == Some(Run::Host)
    }

    /// True if the ops of the row compute on real numbers with quantized weights.
    pub fn is_weight_only(&self) -> bool {
        self.recipe.is_some_and(Recipe::is_weight_only)
    }

    /// True if the activations that the node reads must have the zero point 0.
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

    /// True if the results of the row may have the type `result` although its operands have another type with the same
    /// scale and zero point. The op then removes bits.
    pub fn narrows_to(&self, result: Integer) -> bool {
        let keeps = self.recipe.is_some_and(Recipe::keeps_grid);
        keeps && self.results.as_ref().is_some_and(|results| results.contains(&result))
    }

    /// True if the recipe of the row chooses the scales of weights so that accumulators are requantized to results by a
    /// shift only.
    pub fn leaves_a_shift(&self) -> bool {
        self.recipe.is_some_and(Recipe::leaves_a_shift)
    }
}
