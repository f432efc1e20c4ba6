use crate::{
    IntType, Rounding,
    quantize::{Quantization, Scaling, ZeroPoint},
};
use serde::{Deserialize, Serialize};

/// Reason why the difference of two chains of steps is the difference of two graphs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Argument {
    /// The producer makes the accumulators that it made before, so the chains meet the same integers: convolutions,
    /// sums, products, sums of windows.
    SameAccumulator,
    /// The producer picks one of its operand's elements by their order, which a non-decreasing function keeps:
    /// R(max(x1, x2, …)) = max(R(x1), R(x2), …). Where in the pool the target applies it makes no difference; where a
    /// window may be without elements, because R makes the smallest code of the smallest accumulator.
    Commutes,
    /// The chains were applied to all elements of a tensor ahead of time, and each was compared: lookups, constants.
    EveryEntry {
        /// Their number.
        entries: u64,
    },
    /// The producer quantizes real numbers, and does so on another grid behind the fusion. Both ways, quantization and
    /// steps, are non-decreasing functions of an f32, so that comparing their thresholds over the ordered bit patterns
    /// compares them on every float. NaN has no place in that order and is one more evaluation.
    OrderedFloats {
        /// The node that the steps `before` stood behind.
        before: FromFloat,
        /// The node that the steps `after` stand behind.
        after: FromFloat,
    },
}

impl Argument {
    /// The word for it in JSON, `same_accumulator` for instance.
    pub const fn name(&self) -> &'static str {
        match self {
            Argument::SameAccumulator => "same_accumulator",
            Argument::Commutes => "commutes",
            Argument::EveryEntry { .. } => "every_entry",
            Argument::OrderedFloats { .. } => "ordered_floats",
        }
    }
}

/// A quantization of real numbers: `sat(round(x / scale) + zero_point)`, or with the zero point inside of the rounding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FromFloat {
    /// Positive and finite.
    pub scale: f32,
    /// The code of real zero.
    pub zero_point: i32,
    /// Place of the addition.
    pub added: ZeroPoint,
    /// Of the quotient, which is an f32.
    pub rounding: Rounding,
    /// True if the reciprocal of the scale is multiplied by, instead of a division.
    pub reciprocal: bool,
    /// Integer type that the result saturates to.
    pub out: IntType,
}

impl FromFloat {
    /// The code of a real number.
    pub fn eval(&self, x: f32) -> i32 {
        self.quantization().eval(x)
    }

    /// The function.
    pub fn quantization(&self) -> Quantization {
        let scaling = if self.reciprocal {
            Scaling::Times(1.0 / self.scale)
        } else {
            Scaling::DividedBy(self.scale)
        };
        Quantization::new(scaling, (self.zero_point, self.added), self.rounding, self.out)
    }

    /// True if it does not decrease: the scale is positive and finite, and so is its reciprocal where that is used.
    pub fn is_legal(&self) -> bool {
        let scale = if self.reciprocal { 1.0 / self.scale } else { self.scale };
        self.scale > 0.0 && self.scale.is_finite() && scale > 0.0 && scale.is_finite()
    }
}
