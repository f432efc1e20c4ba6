use crate::{
    IntType, Rounding,
    quantize::{Quantization, Scaling, ZeroPoint},
};
use serde::{Deserialize, Serialize};

/// Why comparing two chains of steps is enough to compare the two graphs that contain them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Argument {
    /// The producer, which is the op that computes the accumulators, computes the same accumulators before and after
    /// the fusion. So both chains get the same integers. This kind of proof applies to convolutions, additions,
    /// multiplications, matrix products, and sums over windows.
    SameAccumulator,
    /// The producer selects one of its operand's elements by their order, as a max pool does. A chain R never gives a
    /// smaller result for a larger element, so R(max(x1, x2, …)) = max(R(x1), R(x2), …), and it does not matter whether
    /// the target applies R before or after the selection. An empty window gives the smallest number of its type. So
    /// if a window can be empty, R must also map the smallest accumulator to the smallest code.
    Commutes,
    /// The chains were applied at compile time to all elements of a tensor, and each element was compared. This kind of
    /// proof applies to lookups and constants.
    EveryEntry {
        /// The number of elements.
        entries: u64,
    },
    /// The producer quantizes real numbers, and the fusion gives it another grid. Before and after the fusion, the code
    /// is a function of an f32, and a larger f32 never gets a smaller code. Such a function is determined by its
    /// thresholds, the floats at which the code becomes larger. So it is enough to compare the thresholds of both
    /// functions, over all floats in the order of their values. NaN has no place in this order and is compared
    /// separately.
    OrderedFloats {
        /// The quantization before the fusion. The steps `before` of the certificate follow it.
        before: FromFloat,
        /// The quantization after the fusion. If the certificate has a step `after`, it follows this quantization.
        after: FromFloat,
    },
}

impl Argument {
    /// The name of the argument in JSON, for example `same_accumulator`.
    pub const fn name(&self) -> &'static str {
        match self {
            Argument::SameAccumulator => "same_accumulator",
            Argument::Commutes => "commutes",
            Argument::EveryEntry { .. } => "every_entry",
            Argument::OrderedFloats { .. } => "ordered_floats",
        }
    }
}

/// A quantization of real numbers: `sat(round(x / scale) + zero_point)`. The zero point may also be added inside the
/// rounding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FromFloat {
    /// The scale, positive and finite.
    pub scale: f32,
    /// The code of real zero.
    pub zero_point: i32,
    /// Where the zero point is added.
    pub added: ZeroPoint,
    /// How the quotient, which is an f32, is rounded.
    pub rounding: Rounding,
    /// True if the quantization multiplies by the reciprocal of the scale instead of dividing by the scale.
    pub reciprocal: bool,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl FromFloat {
    /// The code of a real number.
    pub fn eval(&self, x: f32) -> i32 {
        self.quantization().eval(x)
    }

    /// This quantization in the general form, as a [`Quantization`].
    pub fn quantization(&self) -> Quantization {
        let scaling = if self.reciprocal {
            Scaling::Times(1.0 / self.scale)
        } else {
            Scaling::DividedBy(self.scale)
        };
        Quantization::new(scaling, (self.zero_point, self.added), self.rounding, self.out)
    }

    /// True if a larger number never gets a smaller code. This is so if the scale is positive and finite. If the
    /// quantization multiplies by the reciprocal of the scale, the reciprocal must be positive and finite too.
    pub fn is_legal(&self) -> bool {
        let scale = if self.reciprocal { 1.0 / self.scale } else { self.scale };
        self.scale > 0.0 && self.scale.is_finite() && scale > 0.0 && scale.is_finite()
    }
}
