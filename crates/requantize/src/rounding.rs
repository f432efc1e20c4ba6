use crate::words::words;
use std::{cmp::Ordering, num::NonZeroU32};

words! {
    /// How a number between two integers is rounded to one of them. No mode changes integers.
    Rounding {
        /// Towards minus infinity: an arithmetic right shift.
        Floor = "floor",
        /// Towards plus infinity.
        Ceil = "ceil",
        /// Towards zero: the integer division of C and Rust.
        TowardZero = "toward_zero",
        /// To the nearest, ties towards plus infinity: `(x + 2^(s-1)) >> s`.
        HalfUp = "half_up",
        /// To the nearest, ties towards minus infinity.
        HalfDown = "half_down",
        /// To the nearest, ties away from zero: `round` of C.
        HalfAway = "half_away",
        /// To the nearest, ties towards zero.
        HalfTowardZero = "half_toward_zero",
        /// To the nearest, ties to the even neighbour: `rint` in the default mode of IEEE 754.
        HalfEven = "half_even",
    }
}

impl Rounding {
    /// True if a number strictly between `below` and `below + 1` is rounded up to `below + 1`.
    ///
    /// `half` is the result of comparing the number's distance from `below` with one half. `negative` is true for
    /// negative numbers, and `odd` is true if `below` is odd. Every rounding of integers in this crate is decided by this function.
    #[inline]
    pub(crate) fn goes_up(self, half: Ordering, negative: bool, odd: bool) -> bool {
        let tie = match self {
            Rounding::Floor => return false,
            Rounding::Ceil => return true,
            Rounding::TowardZero => return negative,
            Rounding::HalfUp => true,
            Rounding::HalfDown => false,
            Rounding::HalfAway => !negative,
            Rounding::HalfTowardZero => negative,
            Rounding::HalfEven => odd,
        };
        match half {
            Ordering::Less => false,
            Ordering::Equal => tie,
            Ordering::Greater => true,
        }
    }

    /// `round(x / 2^shift)`, exact for every `x` and every shift.
    pub fn shift_right(self, x: i64, shift: u8) -> i64 {
        if shift > 63 {
            // The magnitude of the quotient is at most that of x, so it fits into i64.
            return self.shift_right_wide(i128::from(x), shift) as i64;
        }
        let below = x >> shift;
        let rest = x - (below << shift);
        if rest == 0 {
            return below;
        }
        let half = rest.cmp(&(1 << (shift - 1)));
        below + i64::from(self.goes_up(half, x < 0, below & 1 == 1))
    }

    /// `round(x / 2^shift)` for `|x| < 2^120`, exact for every shift.
    pub fn shift_right_wide(self, x: i128, shift: u8) -> i128 {
        // For a larger shift, |x| / 2^122 is below one half too and rounds in the same way.
        let shift = shift.min(122);
        let below = x >> shift;
        let rest = x - (below << shift);
        if rest == 0 {
            return below;
        }
        let half = rest.cmp(&(1i128 << (shift - 1)));
        below + i128::from(self.goes_up(half, x < 0, below & 1 == 1))
    }

    /// Returns the smallest `x` with `round(x / 2^shift) >= quotient`, for `|quotient| < 2^62` and `shift <= 62`.
    ///
    /// Let h = quotient * 2^shift - 2^(shift-1), so that h / 2^shift is the tie below `quotient`. In the modes that
    /// round to the nearest, the result is h if this tie is rounded up, and h + 1 if it is rounded down. The other
    /// modes round all numbers between `quotient - 1` and `quotient` in the same direction. In these modes, the result
    /// is quotient * 2^shift if they round down, and (quotient - 1) * 2^shift + 1 if they round up.
    pub fn least_reaching(self, quotient: i128, shift: u8) -> i128 {
        let exact = quotient << shift;
        if shift == 0 {
            return exact;
        }
        let (step, half) = (1i128 << shift, 1i128 << (shift - 1));
        // Numbers in (quotient - 1, quotient) are negative exactly if quotient <= 0, and quotient - 1 is odd exactly if
        // quotient is even.
        let (negative, odd) = (quotient <= 0, quotient & 1 == 0);
        if self.goes_up(Ordering::Less, negative, odd) {
            exact - step + 1
        } else if self.goes_up(Ordering::Equal, negative, odd) {
            exact - half
        } else if self.goes_up(Ordering::Greater, negative, odd) {
            exact - half + 1
        } else {
            exact
        }
    }

    /// `round(n / d)`, for example the mean of `d` numbers with the sum `n`.
    pub fn divide(self, n: i64, d: NonZeroU32) -> i64 {
        let d = i64::from(d.get());
        let (below, rest) = (n.div_euclid(d), n.rem_euclid(d));
        if rest == 0 {
            return below;
        }
        below + i64::from(self.goes_up((2 * rest).cmp(&d), n < 0, below & 1 == 1))
    }

    /// Rounds `x` to an integer and returns it as a float. NaN and infinities do not change.
    #[inline]
    pub fn round_f64(self, x: f64) -> f64 {
        // All floats of at least this magnitude are integers. Below, the sum with this number is rounded to an integer,
        // ties to even.
        const WHOLE: f64 = (1u64 << 52) as f64;
        let size = x.abs();
        if size.is_nan() || size >= WHOLE {
            return x;
        }
        let even = ((size + WHOLE) - WHOLE).copysign(x);
        // This difference is exact, and its magnitude is at most one half.
        let rest = x - even;
        let outwards = 1.0_f64.copysign(x);
        let rounded = match self {
            Rounding::HalfEven => even,
            Rounding::HalfAway if rest * outwards == 0.5 => even + outwards,
            Rounding::HalfTowardZero if rest * outwards == -0.5 => even - outwards,
            Rounding::HalfUp if rest == 0.5 => even + 1.0,
            Rounding::HalfDown if rest == -0.5 => even - 1.0,
            Rounding::Floor if rest < 0.0 => even - 1.0,
            Rounding::Ceil if rest > 0.0 => even + 1.0,
            Rounding::TowardZero if rest * outwards < 0.0 => even - outwards,
            _ => even,
        };
        // The zero between -1 and 0 is negative.
        rounded.copysign(x)
    }

    /// Rounds `x` to an integer and returns it as a float. NaN and infinities do not change.
    #[inline]
    pub fn round_f32(self, x: f32) -> f32 {
        // Both conversions are exact, because a rounded f32 is an f32.
        self.round_f64(f64::from(x)) as f32
    }
}
