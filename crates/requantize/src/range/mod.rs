//! Finds the interval of an accumulator from weights, bias, zero points, padding and the codes of the operand, never
//! from calibration data. No accumulator can be outside of this interval. For each end of the interval, the module also
//! finds the codes of an operand for which the accumulator reaches this end.
//!
//! [`Products`] is one channel of a convolution or fully connected layer, [`Pairs`] is one accumulator of a matrix
//! product of two activations, and [`Terms`] is a sum of two integers. [`prove`] proves that no sum leaves the range of
//! the accumulator. If a sum can leave it, the error says which sum, and what would help.

mod interval;
mod overflow;
mod pairs;
mod products;
mod terms;

pub use interval::{add, multiply, repeat, subtract};
pub use overflow::{Accumulator, Order, Overflow, Repair, Summands, prove};
pub use pairs::Pairs;
pub use products::{Input, Padding, Products};
pub use terms::Terms;

use std::fmt;

/// The smallest and the largest number that a sum can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest value.
    pub low: Extreme,
    /// The largest value.
    pub high: Extreme,
}

/// A bound of a sum, and the operand's codes that lead to this bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extreme {
    /// The bound. No sum is beyond it.
    pub value: i128,
    /// The codes of the operand that lead to the bound.
    pub pattern: Pattern,
    /// True if it is known that the operands can have the codes of the pattern, so that the sum really reaches the
    /// bound. This is known if the operands are inputs of the model. It is not known if an operand is the result of
    /// another layer or is used twice, or if a tap reads padding at some positions and elements at others.
    pub realised: bool,
}

/// The codes that the terms of the sum read from an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Terms with positive weights read one code, and terms with negative weights read another.
    BySign {
        /// The code for positive weights.
        positive: i64,
        /// The code for negative weights.
        negative: i64,
    },
    /// All terms of the sum are products of the same two codes.
    Pair {
        /// The code of the first operand.
        first: i64,
        /// The code of the second operand.
        second: i64,
    },
    /// The sum has two terms.
    Terms {
        /// The first term.
        first: i64,
        /// The second term.
        second: i64,
    },
}

impl Range {
    /// Both bounds, without the patterns. A bound outside the range of i64 becomes `i64::MIN` or `i64::MAX`.
    pub fn interval(&self) -> (i64, i64) {
        (saturate(self.low.value), saturate(self.high.value))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::BySign { positive, negative } => {
                write!(
                    f,
                    "{positive} under positive weights and {negative} under negative ones"
                )
            }
            Pattern::Pair { first, second } => write!(f, "{first} times {second} throughout"),
            Pattern::Terms { first, second } => write!(f, "{first} and {second}"),
        }
    }
}

/// The `i64` that is nearest to `x`.
fn saturate(x: i128) -> i64 {
    // After the clamp, the number fits into i64.
    x.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
