use super::{Extreme, Range};
use std::fmt;

/// A sum, by what can be said of its summands.
pub trait Summands {
    /// Interval of the whole sum.
    fn range(&self) -> Range;

    /// Interval of the sum of any part of the summands, the bias one of them: whatever order, grouping or lanes a sum
    /// is formed in, no intermediate result is outside. Never wider than |b| + Σ |w| max |x - z| to both sides.
    fn partial_sums(&self) -> Range;

    /// Remedies that keep the sum and its parts within `-limit - 1 ..= limit`.
    fn repair(&self, limit: u64) -> Repair;
}

/// Sums that have to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The whole sum: the accumulator wraps, and sums modulo 2^n are right in the end whatever they were in between.
    Final,
    /// Every intermediate result, in any order: the accumulator saturates, or what it does is undefined.
    Any,
}

/// The integers that sums are formed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulator {
    /// Width of the two's complement number, 1 ..= 64.
    pub bits: u8,
    /// Sums that have to fit.
    pub order: Order,
}

impl Accumulator {
    /// The largest value, 2^(bits - 1) - 1.
    fn limit(self) -> u64 {
        (1u64 << (self.bits.clamp(1, 64) - 1)) - 1
    }
}

/// A change that makes a sum fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// A weight scale coarser by 2^bits is enough: most of the sum is products.
    CoarserWeights {
        /// Bits by which the scale grows.
        bits: u8,
    },
    /// A bias scale coarser by 2^bits is enough: most of the sum is the bias. Its scale is the weights' times the
    /// input's.
    CoarserBias {
        /// Bits by which the scale grows.
        bits: u8,
    },
    /// A grid of the terms coarser by 2^bits is enough.
    CoarserGrid {
        /// Bits by which the scale grows.
        bits: u8,
    },
    /// No scale helps: there are too many products.
    FewerProducts {
        /// Number of products.
        of: u64,
        /// So many of the largest products fit.
        at_most: u64,
    },
}

/// A sum that can leave its accumulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Overflow {
    /// The channel.
    pub channel: usize,
    /// The accumulator that does not hold it.
    pub accumulator: Accumulator,
    /// The bound that is outside, the farther one of two.
    pub extreme: Extreme,
    /// Remedies.
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

/// Shows that a channel's sum does not leave the accumulator, and answers with what it can be.
///
/// # Errors
/// The bound that is farthest outside, with the operand that leads to it and what would help.
pub fn prove(channel: usize, sum: &impl Summands, accumulator: Accumulator) -> Result<Range, Overflow> {
    let range = sum.range();
    let asked = match accumulator.order {
        Order::Final => range,
        Order::Any => sum.partial_sums(),
    };
    let limit = i128::from(accumulator.limit());
    let past = |extreme: &Extreme| {
        // Both are far inside i128, but for a product that is past it.
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
