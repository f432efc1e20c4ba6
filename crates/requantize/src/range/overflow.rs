use super::{Extreme, Range};
use std::fmt;

/// A sum for which bounds can be found.
pub trait Summands {
    /// The interval of the whole sum.
    fn range(&self) -> Range;

    /// The interval that contains the sum of every subset of the terms, where the bias counts as a term. Every
    /// intermediate result lies in this interval, in whatever order, groups or SIMD lanes the sum is computed. With the
    /// bias b, the weights w, the codes x and the zero point z, no end of the interval has a magnitude above |b| + Σ
    /// |w| max |x - z|.
    fn partial_sums(&self) -> Range;

    /// A change that brings the sum and its intermediate results into the range `-limit - 1 ..= limit`.
    fn repair(&self, limit: u64) -> Repair;
}

/// Which sums have to fit into the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Only the whole sum has to fit: the accumulator wraps modulo 2^n, so the final result is right even if
    /// intermediate results wrap.
    Final,
    /// Every intermediate result has to fit, in any order of the additions: the accumulator saturates, or its behaviour
    /// on overflow is undefined.
    Any,
}

/// The accumulator in which sums are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulator {
    /// The width of the two's complement number in bits, 1 ..= 64.
    pub bits: u8,
    /// Which sums have to fit into the accumulator.
    pub order: Order,
}

impl Accumulator {
    /// The largest number in the accumulator, 2^(bits - 1) - 1.
    fn limit(self) -> u64 {
        (1u64 << (self.bits.clamp(1, 64) - 1)) - 1
    }
}

/// A change that makes a sum fit into its accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The weight scale has to be larger by the factor 2^bits. This helps if the products are the larger part of the
    /// sum.
    CoarserWeights {
        /// The number of bits by which the scale has to grow.
        bits: u8,
    },
    /// The bias scale has to be larger by the factor 2^bits. This helps if the bias is the larger part of the sum. The
    /// scale of the bias is the product of the scales of weights and input.
    CoarserBias {
        /// The number of bits by which the scale has to grow.
        bits: u8,
    },
    /// The scale of the grid on which the terms are added has to be larger by the factor 2^bits.
    CoarserGrid {
        /// The number of bits by which the scale has to grow.
        bits: u8,
    },
    /// The sum has to have fewer products. No scale helps, because there are too many products.
    FewerProducts {
        /// The number of products.
        of: u64,
        /// The number of products that would fit, if all of them were as large as possible.
        at_most: u64,
    },
}

/// A sum that can overflow its accumulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Overflow {
    /// The channel of the sum.
    pub channel: usize,
    /// The accumulator that is too small.
    pub accumulator: Accumulator,
    /// The bound of the sum that does not fit into the accumulator. If both bounds do not fit, this is the one that is
    /// farther outside.
    pub extreme: Extreme,
    /// A change that would help.
    pub repair: Repair,
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Accumulator { bits, order } = self.accumulator;
        let what = match order {
            Order::Final => "the sum",
            Order::Any => "a part of the sum",
        };
        let reaches = if self.extreme.realised { "reaches" } else { "may reach" };
        let (value, pattern) = (self.extreme.value, self.extreme.pattern);
        let limit = i128::from(self.accumulator.limit());
        let past = if value < 0 { -limit - 1 - value } else { value - limit };
        write!(
            f,
            "{what} of channel {} {reaches} {value} where the operand is {pattern}, {past} past {bits} bits; {}",
            self.channel, self.repair
        )
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repair::CoarserWeights { bits } => write!(f, "a weight scale coarser by 2^{bits} would be enough"),
            Repair::CoarserBias { bits } => {
                write!(f, "it is the bias: with scales coarser by 2^{bits} it would fit")
            }
            Repair::CoarserGrid { bits } => write!(f, "a grid coarser by 2^{bits} would be enough"),
            Repair::FewerProducts { of, at_most } => {
                write!(f, "no scale helps: of {of} products, {at_most} of the largest size fit")
            }
        }
    }
}

/// Proves that the sum of a channel stays inside the accumulator, and returns the interval of the sum.
///
/// # Errors
/// The sum can leave the accumulator. The error contains the bound that is farther outside, the operand that leads to
/// this bound, and a change that would help.
pub fn prove(channel: usize, sum: &impl Summands, accumulator: Accumulator) -> Result<Range, Overflow> {
    let range = sum.range();
    let asked = match accumulator.order {
        Order::Final => range,
        Order::Any => sum.partial_sums(),
    };
    let limit = i128::from(accumulator.limit());
    let past = |extreme: &Extreme| {
        // Both numbers are far inside the range of i128, unless a product has already left the range of i64.
        extreme
            .value
            .saturating_sub(limit)
            .max((-limit - 1).saturating_sub(extreme.value))
    };
    let worst = if past(&asked.low) > past(&asked.high) {
        asked.low
    } else {
        asked.high
    };
    if past(&worst) <= 0 {
        return Ok(range);
    }
    Err(Overflow {
        channel,
        accumulator,
        extreme: worst,
        repair: sum.repair(accumulator.limit()),
    })
}
