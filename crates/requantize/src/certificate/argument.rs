use crate::{
    IntType, Rounding,
    quantize::{Quantization, Scaling, ZeroPoint},
};
use serde::{Deserialize, Serialize};

/// Why it is enough to compare two chains of steps in order to compare two graphs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Argument {
    /// The producer makes the same accumulators as before, so both chains get the same integers: convolutions, sums,
    /// products, sums of windows.
    SameAccumulator,
    /// The producer selects one of its operand's elements by their order, and a non-decreasing function R keeps the
    /// order: R(max(x1, x2, …)) = max(R(x1), R(x2), …). So it does not matter where in the pool the target applies R.
    /// If a window can have no elements, R must also map the smallest accumulator to the smallest code.
    Commutes,
    /// The chains were applied ahead of time to all elements of a tensor, and each element was compared: lookups and
    /// constants.
    EveryEntry {
        /// The number of elements.
        entries: u64,
    },
    /// The producer quantizes real numbers, and after fusion it does so on another grid. In both cases, quantization
    /// and steps together are a non-decreasing function of an f32. So comparing their thresholds over the ordered bit
    /// patterns compares them for every float. NaN has no place in that order and is evaluated separately.
    OrderedFloats {
        /// The quantization in front of the steps `before`.
        before: FromFloat,
        /// The quantization in front of the steps `after`.
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

/// A quantization of real numbers: `sat(round(x / scale) + zero_point)`, or with the zero point inside the rounding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FromFloat {
    /// The scale, positive and finite.
    pub scale: f32,
    /// The code of real zero.
    pub zero_point: i32,
    /// Where the zero point is added.
    pub added: ZeroPoint,
    /// How the quotient, an f32, is rounded.
    pub rounding: Rounding,
    /// True if it multiplies by the reciprocal of the scale instead of dividing.
    pub reciprocal: bool,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl FromFloat {
    /// The code of a real number.
    pub fn eval(&self, x: f32) -> i32 {
        self.quantization().eval(x)
    }

    /// This quantization as a [`Quantization`], the general form.
    pub fn quantization(&self) -> Quantization {
        let scaling = if self.reciprocal {
            Scaling::Times(1.0 / self.scale)
        } else {
            Scaling::DividedBy(self.scale)
        };
        Quantization::new(scaling, (self.zero_point, self.added), self.rounding, self.out)
    }

    /// True if the quantization does not decrease: the scale is positive and finite, and if its reciprocal is used, so
    /// is that.
    pub fn is_legal(&self) -> bool {
        let scale = if self.reciprocal { 1.0 / self.scale } else { self.scale };
        self.scale > 0.0 && self.scale.is_finite() && scale > 0.0 && scale.is_finite()
    }
}
