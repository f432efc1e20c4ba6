use crate::IntType;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A fact from which an interval of accumulators is derived. No such fact is a statistic of calibration data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Because {
    /// The elements of an operand lie in this interval, because of the operand's type, or because of clamps and
    /// requantizations in front of it.
    Operand {
        /// The position of the operand among the producer's operands.
        index: u32,
        /// The smallest value.
        low: i64,
        /// The largest value.
        high: i64,
    },
    /// The producer multiplies its operand by constants.
    Weights,
    /// The producer adds a bias to each channel.
    Bias,
    /// Taps of a window that lie beyond the border of the operand read this code.
    Padding {
        /// The code that taps beyond the border read.
        value: i32,
    },
    /// A window, or an axis that is summed over, has the given number of elements.
    Window {
        /// The number of elements.
        elements: u64,
    },
    /// The producer is a mean over windows in which padding does not count, so its divisor differs from window to
    /// window. The requantization has one channel for each divisor. Channel i requantizes the sums of those windows in
    /// which at most `most[i]` elements are not padding.
    Elements {
        /// The largest number of elements for each channel.
        most: Vec<u64>,
    },
    /// The zero points of the operands are subtracted from the codes before anything else is computed.
    ZeroPoints,
    /// Nothing is known about the accumulators except their type.
    Type(IntType),
    /// The accumulators are the elements of a constant.
    Entries,
    /// The inputs are all f32 numbers from −∞ to ∞.
    EveryFloat,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Because::Operand { index, low, high } => {
                write!(
                    f,
                    "operand {index} in [{}, {}]",
                    crate::certificate::numbers::grouped(*low),
                    crate::certificate::numbers::grouped(*high)
                )
            }
            Because::Weights => f.write_str("the weights"),
            Because::Bias => f.write_str("the bias"),
            Because::Padding { value } => write!(
                f,
                "padding that reads as {}",
                crate::certificate::numbers::grouped((*value).into())
            ),
            Because::Window { elements } => write!(
                f,
                "{} in a sum",
                crate::certificate::numbers::counted(*elements, "element")
            ),
            Because::Elements { most } => {
                let most: Vec<String> = most.iter().map(u64::to_string).collect();
                write!(f, "{} elements beside padding, by divisor", most.join(", "))
            }
            Because::ZeroPoints => f.write_str("the zero points"),
            Because::Type(ty) => write!(f, "the type {ty}"),
            Because::Entries => f.write_str("its entries"),
            Because::EveryFloat => f.write_str("every float"),
        }
    }
}
