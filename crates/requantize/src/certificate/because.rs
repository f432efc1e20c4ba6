use crate::IntType;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One of the facts that an interval of accumulators follows from. None is a statistic of calibration data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Because {
    /// The elements of an operand lie between these: by its type, or by clamps and requantizations in front of it.
    Operand {
        /// Its position among the producer's operands.
        index: u32,
        /// The least.
        low: i64,
        /// The largest.
        high: i64,
    },
    /// The producer's constant factors.
    Weights,
    /// Bias that the producer adds to each channel.
    Bias,
    /// Elements beyond the border read as this.
    Padding {
        /// The code.
        value: i32,
    },
    /// A window, or an axis that is summed over, has this many elements.
    Window {
        /// Their number.
        elements: u64,
    },
    /// One channel of the parameters requantizes the sums of windows of which at most so many elements are no
    /// padding: the divisors of a mean that leaves padding out.
    Elements {
        /// Their number, by channel.
        most: Vec<u64>,
    },
    /// Codes of real zero that are subtracted from the operands first.
    ZeroPoints,
    /// The value's type alone.
    Type(IntType),
    /// They are the elements of a constant.
    Entries,
    /// Every f32 from −∞ to ∞.
    EveryFloat,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Because::Operand { index, low, high } => {
                write!(
                    f,
                    "operand {index} in [{}, {}]",
                    super::text::grouped(*low),
                    super::text::grouped(*high)
                )
            }
            Because::Weights => f.write_str("the weights"),
            Because::Bias => f.write_str("the bias"),
            Because::Padding { value } => write!(f, "padding that reads as {}", super::text::grouped((*value).into())),
            Because::Window { elements } => write!(f, "{} in a sum", super::text::counted(*elements, "element")),
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
