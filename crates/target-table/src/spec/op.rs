//! `[op.NAME]`: how an op becomes integers, and the limits of the target.

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
    /// The ops, by their terms. Absent: the op that the row is named after.
    pub ops: Option<Vec<String>>,
    /// Where it runs; on the accelerator unless said otherwise.
    pub run: Option<Run>,
    /// Reason why the op runs on the host; shown in the report.
    pub why: Option<String>,
    /// Recipe of the op's lowering to integers.
    #[serde(default, deserialize_with = "chosen")]
    pub recipe: Option<Recipe>,
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
    /// Forms for a sum whose one operand is a convolution or a fully connected layer that nothing else reads: the
    /// accumulator of this layer is not requantized. These forms, cheapest first, bring the codes of the other operand,
    /// which has the same shape, onto the grid of the accumulator. The sum of 32 bits is then requantized once, by a form
    /// of the layer's row. Absent: both operands have codes.
    #[serde(default)]
    pub in_accumulator: Vec<String>,
    /// Pairs of activation type and weight type that the row is for. An op may have several rows, for different activation
    /// types or for different limits. They are tried in the order of their names, and the first whose limits hold takes the
    /// node. Absent: all pairs of `types.pairs` that its recipe takes. Pairs with `"float32"` are for `dequantize_weights`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub pairs: Option<Vec<Pair>>,
    /// The types that its results may have; for `lookup`, the types of the entries. If the readers of a result agree on one
    /// of them, the result has that type. Otherwise it has the activation type if it is among them, or else the first of
    /// them. Absent: the activation type.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub results: Option<Vec<Integer>>,
    /// Granularity of the scales of the op's weights, if their type has it. With `"tensor"` the op takes no other. Instead
    /// of `"channel"` a configuration may ask for others. Absent: the first of `types.weight.per`.
    pub weight_per: Option<WeightPer>,
    /// Nodes whose activations never have a zero point, even if the type and the configuration allow one. Absent: none.
    pub symmetric: Option<SymmetricOperands>,
    /// Limits of the target, by attribute of the op or by a quantity derived from the op. `"NAME[i]"` is the value at a
    /// position of a list, counted from 0. `"NAME * NAME[i]"` is a product; where a factor has several values, all products
    /// are limited.
    #[serde(default)]
    pub limit: BTreeMap<String, Limit>,
    /// Further limits for nodes with weights of one type. The type is one of `pairs`.
    #[serde(default)]
    pub limit_of: BTreeMap<Integer, BTreeMap<String, Limit>>,
    /// The reference that this row equals, where it is another one than the table's.
    pub oracle: Option<String>,
    /// Evidence for the row, where it differs from the table's.
    pub evidence: Option<Evidence>,
    /// The operands for which equality was shown, if not all that the row takes. For a layer with other operands the row
    /// counts as `documented`.
    pub holds: Option<ShownOf>,
    /// A remark for people.
    pub note: Option<String>,
}

fn chosen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Recipe>, D::Error> {
    strait_document::choice(deserializer).map(Some)
}

/// Nodes of an op whose activations have no zero point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SymmetricOperands {
    /// Only convolutions whose operands have one of these numbers of axes. Absent: all nodes.
    pub rank: Option<Vec<u8>>,
}

/// Operands for which the evidence of an op's row was gathered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShownOf {
    /// Numbers of axes of the first operand.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub rank: Vec<u8>,
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

/// Limit on one quantity. All keys that are given must hold, for each value if there are several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The smallest one.
    pub min: Option<i64>,
    /// The largest one.
    pub max: Option<i64>,
    /// It is a multiple of this one.
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

    /// True if the recipe of the row chooses the scales of weights so that its sums become results by a shift.
    pub fn leaves_a_shift(&self) -> bool {
        self.recipe.is_some_and(Recipe::leaves_a_shift)
    }
}
