//! Interval of an accumulator: from weights, bias, zero points, padding and the codes of the operand alone, never from
//! what a calibration has seen. Sound, and with the operand that reaches the ends.
//!
//! [`Products`] is one channel of a convolution or of a fully connected layer, [`Pairs`] one sum of a product of two
//! activations, [`Terms`] a sum of two integers; [`prove`] shows that no sum leaves the accumulator, or says what does
//! and what would help.

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

/// The ends of what a sum can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest value.
    pub low: Extreme,
    /// The largest value.
    pub high: Extreme,
}

/// A bound of a sum, and how to get there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extreme {
    /// The bound; no sum is beyond it.
    pub value: i128,
    /// The operand that leads to it.
    pub pattern: Pattern,
    /// True if the pattern is known to occur, so that the bound is attained: nothing but what the model is given
    /// decides it. A pattern of what other layers make, of one operand twice, or with padding where there may be none,
    /// is not.
    pub realised: bool,
}

/// An operand, by what each summand reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One code under the positive weights and one under the negative ones.
    BySign {
        /// The code where the weight is above zero.
        positive: i64,
        /// The code where the weight is below zero.
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
    /// Both ends, without the patterns. The ends of `i64` stand for anything past them.
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
    // The clamp leaves an i64.
    x.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
