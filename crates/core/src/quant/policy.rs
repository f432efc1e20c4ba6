//! Quantization policies. A policy is a kind of grid.

use super::params::Parts;
use std::fmt;
use strait_requantize::{Rounding, small_float};

/// The granularity of the scale: which elements share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// All elements of the tensor share a scale.
    Tensor,
    /// Elements at the same index of one axis share a scale.
    Channel {
        /// The axis.
        axis: u8,
    },
    /// Each run of `size` elements along one axis shares a scale.
    Block {
        /// The axis.
        axis: u8,
        /// The number of elements that share a scale.
        size: u32,
    },
}

/// A kind of grid. The codes of a linear grid stand for equally spaced numbers. A linear grid is symmetric or not, its
/// scales are arbitrary or powers of two, and its range is fixed or measured in each run: eight kinds. The ninth kind
/// has codes that are small floats; it is symmetric, and its scales are powers of two. Each kind exists per tensor and
/// per channel. These are the eighteen policies of PPQ. Strait also has scales per block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A grid whose codes stand for equally spaced numbers.
    Linear {
        /// True if the zero point is always 0.
        symmetric: bool,
        /// True if scales are powers of two.
        power_of_two: bool,
        /// True if the range is measured in each run.
        dynamic: bool,
        /// The granularity of the scale: which elements share a scale.
        per: Granularity,
    },
    /// A grid of small floats.
    Floating {
        /// The numbers of bits in exponent and mantissa.
        format: FloatFormat,
        /// The granularity of the scale: which elements share a scale.
        per: Granularity,
    },
}

impl Policy {
    /// Makes a linear policy with a fixed range and any scale.
    pub fn linear(symmetric: bool, per: Granularity) -> Policy {
        Policy::Linear {
            symmetric,
            power_of_two: false,
            dynamic: false,
            per,
        }
    }

    /// Returns the granularity of the scale: which elements share a scale.
    pub fn per(self) -> Granularity {
        match self {
            Policy::Linear { per, .. } | Policy::Floating { per, .. } => per,
        }
    }

    /// True if the zero point is always 0.
    pub fn is_symmetric(self) -> bool {
        match self {
            Policy::Linear { symmetric, .. } => symmetric,
            Policy::Floating { .. } => true,
        }
    }

    /// Returns the words for the policy in texts; none for small floats.
    pub(crate) fn words(self) -> Vec<&'static str> {
        let Policy::Linear {
            symmetric,
            power_of_two,
            dynamic,
            ..
        } = self
        else {
            return Vec::new();
        };
        let words = [
            (symmetric, "symmetric"),
            (!symmetric, "asymmetric"),
            (power_of_two, "power_of_two"),
            (dynamic, "dynamic"),
        ];
        let holding = words.into_iter().filter(|(holds, _)| *holds);
        holding.map(|(_, word)| word).collect()
    }

    /// True if scales are powers of two.
    pub fn has_powers_of_two(self) -> bool {
        match self {
            Policy::Linear { power_of_two, .. } => power_of_two,
            Policy::Floating { .. } => true,
        }
    }
}

/// A format of small floats: a sign, and this many bits of exponent and mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    exponent: u8,
    mantissa: u8,
}

impl FloatFormat {
    /// Returns the format with 1 to 8 bits of exponent and 0 to 10 bits of mantissa; `None` outside of these limits.
    pub fn new(exponent: u8, mantissa: u8) -> Option<FloatFormat> {
        ((1..=8).contains(&exponent) && mantissa <= 10).then_some(FloatFormat { exponent, mantissa })
    }

    /// Returns the format with this name, such as `e4m3`; the inverse of the format's `Display`.
    pub fn parse(name: &str) -> Option<FloatFormat> {
        let (exponent, mantissa) = name.strip_prefix('e')?.split_once('m')?;
        let format = FloatFormat::new(exponent.parse().ok()?, mantissa.parse().ok()?)?;
        // Leading zeros and signs are refused.
        (format.to_string() == name).then_some(format)
    }

    /// Number of bits of the exponent.
    pub fn exponent(self) -> u8 {
        self.exponent
    }

    /// Number of bits of the mantissa.
    pub fn mantissa(self) -> u8 {
        self.mantissa
    }

    /// Rounds a real number to the nearest s·f, where s is the scale and f is a number of the format. See
    /// [`strait_requantize::small_float::round`].
    pub fn round(self, x: f32, scale: f32, rounding: Rounding) -> f32 {
        let scale = f64::from(scale);
        let number = small_float::round(f64::from(x) / scale, self.exponent, self.mantissa, rounding);
        (number * scale) as f32
    }
}

impl fmt::Display for FloatFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}m{}", self.exponent, self.mantissa)
    }
}

impl Granularity {
    /// Divides a tensor with this shape into parts that share a scale. Returns `None` if the shape does not have the
    /// axis of the granularity, or if blocks do not fill the axis.
    pub fn parts(self, shape: &[usize]) -> Option<Parts> {
        match self {
            Granularity::Tensor => Some(Parts::WHOLE),
            Granularity::Channel { axis } => Parts::new(shape, Some(axis.into()), None),
            Granularity::Block { axis, size } => Parts::new(shape, Some(axis.into()), Some(size as usize)),
        }
    }
}

impl fmt::Display for Granularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Granularity::Tensor => f.write_str("tensor"),
            Granularity::Channel { axis } => write!(f, "channel {axis}"),
            Granularity::Block { axis, size } => write!(f, "block {size} of axis {axis}"),
        }
    }
}
