//! Finds the interval of an accumulator from weights, bias, zero points, padding and the codes of the operand, never
//! from calibration data. The interval is sound, and it comes with operands that reach its ends.
//!
//! [`Products`] is one channel of a convolution or fully connected layer, [`Pairs`] is one sum in a product of two
//! activations, and [`Terms`] is a sum of two integers. [`prove`] shows that no sum leaves the accumulator. Otherwise
//! it says which one does and what would help.

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

/// The smallest and the largest value that a sum can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest value.
    pub low: Extreme,
    /// The largest value.
    pub high: Extreme,
}

/// A bound of a sum, and the operand that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extreme {
    /// The bound. No sum is beyond it.
    pub value: i128,
    /// The operand that leads to the bound.
    pub pattern: Pattern,
    /// True if the pattern is known to occur, so that the sum really reaches the bound. That is so if the operands are
    /// inputs of the model. It is not known for results of other layers, for one operand that is used twice, or for
    /// padding that may not occur.
    pub realised: bool,
}

/// An operand, described by what each term of the sum reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One code at all positive weights, and another one at all negative weights.
    BySign {
        /// The code at positive weights.
        positive: i64,
        /// The code at negative weights.
        negative: i64,
    },
    /// The same two codes in every product.
    Pair {
        /// The code of the first operand.
        first: i64,
        /// The code of the second operand.
        second: i64,
    },
    /// Two terms of a sum.
    Terms {
        /// The first term.
        first: i64,
        /// The second term.
        second: i64,
    },
}

impl Range {
    /// Both ends, without the patterns. The ends of `i64` stand for anything beyond them.
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

/// The nearest `i64`.
fn saturate(x: i128) -> i64 {
    // After the clamp it fits an i64.
    x.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
