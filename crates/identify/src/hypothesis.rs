//! The arithmetics that the search tries.

use std::fmt;
use strait_requantize::Rounding;

/// A family of arithmetics. The family fixes the form, where the zero point is added, and how often results are
/// rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// round(acc / 2^s), with the zero point in the bias.
    Shift,
    /// round(acc · m / 2^s) + z.
    After,
    /// round((acc · m + c) / 2^s).
    Before,
    /// gemmlowp's two roundings: half_away(half_up(acc · m / 2^31) / 2^(s - 31)) + z.
    Twice,
    /// half_even(f32(acc) · m) + z, in `f32`.
    Float,
    /// half_even(f32(acc) · m + z), in `f32`.
    FloatInside,
    /// half_away(f64(acc) · m) + z, in `f64`.
    Double,
}

/// One arithmetic without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hypothesis {
    /// The family of the arithmetic.
    pub family: Family,
    /// How the quotient is rounded. For an arithmetic with two roundings, this is the second one.
    pub rounding: Rounding,
    /// Number of bits of the multiplier; for a float multiplier, of its significand. 0 if there is no multiplier.
    pub bits: u8,
}

/// The widths that signed and unsigned multipliers have in existing chips. With a width of 1, the factor is a power of
/// two.
const WIDTHS: [u8; 7] = [1, 7, 8, 15, 16, 24, 31];

/// The widths of multipliers for families that add a constant before the shift. The form of these families allows at
/// most 30 bits instead of 31.
const BEFORE: [u8; 7] = [1, 7, 8, 15, 16, 24, 30];

/// Roundings that give different functions if a constant is added before the shift. Floor, ceil and half down are left
/// out, because they give the same function as half up with another constant.
const APART: [Rounding; 5] = [
    Rounding::HalfUp,
    Rounding::HalfAway,
    Rounding::HalfEven,
    Rounding::HalfTowardZero,
    Rounding::TowardZero,
];

/// Every family, with the roundings and multiplier widths that are tried.
const TRIED: [(Family, &[Rounding], &[u8]); 7] = [
    (Family::Shift, &Rounding::ALL, &[0]),
    (Family::After, &Rounding::ALL, &WIDTHS),
    (Family::Twice, &[Rounding::HalfAway], &[31]),
    (Family::Before, &APART, &BEFORE),
    (Family::Float, &[Rounding::HalfEven], &[11, 24]),
    (Family::FloatInside, &[Rounding::HalfEven], &[24]),
    (Family::Double, &[Rounding::HalfAway], &[53]),
];

impl Hypothesis {
    /// All hypotheses, ordered by family and rounding, with the widest multiplier first.
    pub fn all() -> Vec<Hypothesis> {
        Hypothesis::by_width().into_iter().flatten().collect()
    }

    /// All hypotheses, in groups whose members differ only in the multiplier's width.
    pub(crate) fn by_width() -> Vec<Vec<Hypothesis>> {
        let of = |&(family, roundings, widths): &(Family, &'static [Rounding], &'static [u8])| {
            roundings.iter().map(move |&rounding| {
                let wide = widths.iter().rev();
                wide.map(|&bits| Hypothesis { family, rounding, bits }).collect()
            })
        };
        TRIED.iter().flat_map(of).collect()
    }

    /// Number of bits that are needed to write down the parameters of one channel. A constant that is added before the
    /// shift counts as a parameter with about as many bits as the product of accumulator and multiplier.
    pub(crate) fn parameters(&self) -> u8 {
        match self.family {
            Family::Before => 2 * self.bits + 8,
            _ => self.bits,
        }
    }

    /// True if both hypotheses have the same family and the same rounding. Their multipliers may have different widths.
    pub fn is_width_of(&self, other: &Hypothesis) -> bool {
        (self.family, self.rounding) == (other.family, other.rounding)
    }

    /// A proposed name for the row of a target's table that states this arithmetic.
    pub fn name(&self) -> String {
        let rounding = self.rounding.name().replace('_', "-");
        match self.family {
            Family::Shift => format!("shift-{rounding}"),
            Family::After => format!("multiply-{}-{rounding}", self.bits),
            Family::Before => format!("multiply-add-{}-{rounding}", self.bits),
            Family::Twice => "two-roundings".into(),
            Family::Float => format!("float-{}", self.bits),
            Family::FloatInside => "float-zero-inside".into(),
            Family::Double => "double".into(),
        }
    }
}

impl fmt::Display for Hypothesis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hypothesis { rounding, bits, .. } = self;
        let factor = match bits {
            1 => "a power of two".to_owned(),
            _ => format!("a multiplier of {bits} bits"),
        };
        match self.family {
            Family::Shift => write!(f, "a shift, {rounding}, the zero point in the bias"),
            Family::After => write!(f, "{factor}, {rounding}, the zero point after it"),
            Family::Before => write!(f, "{factor}, a constant before the shift, {rounding}"),
            Family::Twice => write!(f, "{factor}, two roundings, the zero point after them"),
            Family::Float => write!(
                f,
                "a float with {bits} significant bits, {rounding}, the zero point after it"
            ),
            Family::FloatInside => write!(f, "a float, {rounding}, the zero point inside of the rounding"),
            Family::Double => write!(f, "a double, {rounding}, the zero point after it"),
        }
    }
}
