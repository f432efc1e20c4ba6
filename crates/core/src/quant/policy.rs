//! Kinds of grids.

use super::params::Parts;
use std::fmt;
use strait_requantize::{Rounding, small_float};

/// Granularity of the scale: the elements that share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// The whole tensor.
    Tensor,
    /// Each index of one axis.
    Channel {
        /// The axis.
        axis: u8,
    },
    /// Each run of `size` elements along one axis.
    Block {
        /// The axis.
        axis: u8,
        /// Elements per scale.
        size: u32,
    },
}

/// The kind of grid: equidistant codes, symmetric or not, with any scale or powers of two, from a fixed range or from one
/// that is taken anew for each run; or a small float, which is symmetric and has powers of two for scales. With two
/// granularities these are the eighteen policies of PPQ; a scale per block is the third granularity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Equidistant codes.
    Linear {
        /// The zero point is fixed at 0.
        symmetric: bool,
        /// Scales are powers of two.
        power_of_two: bool,
        /// The range is taken anew for each run.
        dynamic: bool,
        /// Granularity of the scale: the elements that share one.
        per: Granularity,
    },
    /// A small float.
    Floating {
        /// Its bits.
        format: FloatFormat,
        /// Granularity of the scale: the elements that share one.
        per: Granularity,
    },
}

impl Policy {
    /// Equidistant codes on a fixed range with any scale.
    pub fn linear(symmetric: bool, per: Granularity) -> Policy {
        Policy::Linear {
            symmetric,
            power_of_two: false,
            dynamic: false,
            per,
        }
    }

    /// Granularity of the scale.
    pub fn per(self) -> Granularity {
        match self {
            Policy::Linear { per, .. } | Policy::Floating { per, .. } => per,
        }
    }

    /// True if the zero point is fixed at 0.
    pub fn is_symmetric(self) -> bool {
        match self {
            Policy::Linear { symmetric, .. } => symmetric,
            Policy::Floating { .. } => true,
        }
    }

    /// True if scales are powers of two.
    pub fn has_powers_of_two(self) -> bool {
        match self {
            Policy::Linear { power_of_two, .. } => power_of_two,
            Policy::Floating { .. } => true,
        }
    }
}

/// Bits of a small float, beside its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    exponent: u8,
    mantissa: u8,
}

impl FloatFormat {
    /// A float of so many bits of exponent, 1 to 8, and of mantissa, 0 to 10; none where they are more or less.
    pub fn new(exponent: u8, mantissa: u8) -> Option<FloatFormat> {
        ((1..=8).contains(&exponent) && mantissa <= 10).then_some(FloatFormat { exponent, mantissa })
    }

    /// The inverse of its text, `e4m3` for instance.
    pub fn parse(name: &str) -> Option<FloatFormat> {
        let (exponent, mantissa) = name.strip_prefix('e')?.split_once('m')?;
        let format = FloatFormat::new(exponent.parse().ok()?, mantissa.parse().ok()?)?;
        // Neither zeros in front nor signs.
        (format.to_string() == name).then_some(format)
    }

    /// Bits of the exponent.
    pub fn exponent(self) -> u8 {
        self.exponent
    }

    /// Bits of the mantissa.
    pub fn mantissa(self) -> u8 {
        self.mantissa
    }

    /// A real number on the grid s·f of the numbers f of the format, as [`strait_requantize::small_float::round`] rounds.
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
    /// The parts of a tensor that share a scale; none where the shape does not have these.
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
