use super::{Family, domain, saturate};
use strait_requantize::{
    Rounding,
    form::{Arithmetic, Channel},
};

/// The constants of one channel of `Affine` or `Doubling` arithmetic. With v = x·factor + addend, the result is
///
/// ((v + base + (negative if v < 0) + (even if ⌊v / 2^shift⌋ is odd)) >> shift) + zero_point
///
/// If the form rounds once, base, negative and even are those of [`Correction`]. If it rounds twice, base is
/// 2^(shift−1) + 2^30, negative is −2^31 and even is 0; the comment of `Doubling` in `strait-requantize` derives this.
/// If the form's parameters are legal, no sum leaves i64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedPoint {
    pub(in crate::integer) factor: i32,
    pub(in crate::integer) addend: i64,
    pub(in crate::integer) base: i64,
    pub(in crate::integer) negative: i64,
    pub(in crate::integer) even: i64,
    pub(in crate::integer) shift: u32,
    /// The zero point, plus the field `after` of [`Correction`].
    pub(in crate::integer) zero_point: i64,
}

/// A form that rounds twice adds 2^30 to products p ≥ 0, and −2^30 to products p < 0. This constant is the difference:
/// −2^30 − 2^30.
pub(in crate::integer) const NEGATIVE_TWICE: i64 = -(1 << 31);

impl FixedPoint {
    /// Returns the constants of a channel, for accumulators of `bits` bits. Returns `None` if the channel's arithmetic
    /// is neither `Affine` nor `Doubling`.
    pub(in crate::integer) fn new(arithmetic: &Arithmetic<'_>, bits: u32) -> Option<FixedPoint> {
        match *arithmetic {
            Arithmetic::Affine(a) => {
                let shift = u32::from(a.shift);
                let rounding = if a.addend == 0 && !has_ties(a.factor, shift, bits) {
                    match a.rounding {
                        Rounding::Floor | Rounding::Ceil | Rounding::TowardZero => a.rounding,
                        _ => Rounding::HalfUp,
                    }
                } else {
                    a.rounding
                };
                let correction = Correction::new(rounding, shift);
                Some(FixedPoint {
                    factor: a.factor,
                    addend: a.addend,
                    base: correction.base,
                    negative: correction.negative,
                    even: correction.even,
                    shift,
                    zero_point: i64::from(a.zero_point) + correction.after,
                })
            }
            Arithmetic::Doubling(d) => {
                let shift = u32::from(d.shift);
                Some(FixedPoint {
                    factor: d.factor,
                    addend: d.addend,
                    base: (1 << (shift - 1)) + (1 << 30),
                    negative: NEGATIVE_TWICE,
                    even: 0,
                    shift,
                    zero_point: i64::from(d.zero_point),
                })
            }
            _ => None,
        }
    }

    /// Computes the result for `x` before saturation. `x` has to be in the domain of the channel. The constant `even`
    /// is only used if `EVEN` is true.
    #[inline(always)]
    pub(in crate::integer) fn wide<const EVEN: bool>(&self, x: i64) -> i64 {
        let v = x * i64::from(self.factor) + self.addend;
        let even = if EVEN { self.even & (v >> self.shift) } else { 0 };
        let correction = self.base + (self.negative & (v >> 63)) + even;
        ((v + correction) >> self.shift) + self.zero_point
    }
}

/// True if, for some x of this many bits, x·factor is exactly half way between two multiples of 2^shift. If there is no
/// such x, all roundings to the nearest integer give the same result.
///
/// Let factor = f·2^t with an odd f. Then x·factor ≡ 2^(shift−1) modulo 2^shift exactly if x is an odd multiple of
/// 2^(shift−1−t). If the exponent shift − 1 − t is from 0 to bits − 1, such an x exists, for example −2^(shift−1−t).
fn has_ties(factor: i32, shift: u32, bits: u32) -> bool {
    factor != 0
        && shift > 0
        && (0..i64::from(bits)).contains(&(i64::from(shift) - 1 - i64::from(factor.trailing_zeros())))
}

/// The corrections for a rounding. With v = x·factor + addend, the rounded division of v by 2^s is a shift with a few
/// corrections:
///
/// round(v / 2^s) = ((v + base + (negative if v < 0) + (even if ⌊v / 2^s⌋ is odd)) >> s) + after
///
/// For s = 0 all corrections are 0.
pub(crate) struct Correction {
    pub(crate) base: i64,
    pub(crate) negative: i64,
    pub(crate) even: i64,
    pub(crate) after: i64,
}

impl Correction {
    pub(crate) fn new(rounding: Rounding, shift: u32) -> Correction {
        let (one, half) = (1 << shift, (1 << shift) >> 1);
        let (base, negative, even, after) = match rounding {
            _ if shift == 0 => (0, 0, 0, 0),
            Rounding::Floor => (0, 0, 0, 0),
            Rounding::Ceil => (-1, 0, 0, 1),
            Rounding::TowardZero => (0, one - 1, 0, 0),
            Rounding::HalfUp => (half, 0, 0, 0),
            Rounding::HalfDown => (half - 1, 0, 0, 0),
            Rounding::HalfAway => (half, -1, 0, 0),
            Rounding::HalfTowardZero => (half - 1, 1, 0, 0),
            Rounding::HalfEven => (half - 1, 0, 1, 0),
        };
        Correction {
            base,
            negative,
            even,
            after,
        }
    }
}

/// Multiplies, shifts and rounds in i64: the forms `ArithFolded`, `FractionalZero`, `TfLite` and `Fixed` with every
/// rounding, `Gemmlowp`, `SixteenByEight`, and `TosaRescale`. If `EVEN` is false, no channel may round half to even,
/// and the computation has one step less.
#[derive(Clone, Copy, Debug)]
pub struct MultiplyShift<const EVEN: bool> {
    fixed: FixedPoint,
    domain: [i32; 2],
}

impl<const EVEN: bool> Family for MultiplyShift<EVEN> {
    fn of(channel: &Channel<'_>) -> Option<MultiplyShift<EVEN>> {
        let fixed = FixedPoint::new(&channel.arithmetic(), i32::BITS)?;
        (EVEN || fixed.even == 0).then_some(MultiplyShift {
            fixed,
            domain: domain(channel),
        })
    }

    #[inline(always)]
    fn lane(&self, accumulator: i32) -> i32 {
        let accumulator = accumulator.max(self.domain[0]).min(self.domain[1]);
        saturate(self.fixed.wide::<EVEN>(accumulator.into()))
    }
}
