use super::{Family, fixed_point::Correction};
use strait_requantize::form::{Arithmetic, Channel};

/// Computes `round(x / 2^shift)` in i32: the form `ArithFolded`, with every rounding, for shifts up to 30.
///
/// With x = q·2^s + r and 0 ≤ r < 2^s, round(x / 2^s) = q + ((r + base + (negative if x < 0) + (even if q is odd)) >>
/// s) + after. The corrections are those of `Correction`. No step leaves i32.
#[derive(Clone, Copy, Debug)]
pub struct Shift {
    shift: u32,
    mask: i32,
    base: i32,
    negative: i32,
    even: i32,
    after: i32,
}

impl Family for Shift {
    /// Also returns `None` if the form has a factor, an addend, a zero point or a shift above 30.
    fn of(channel: &Channel<'_>) -> Option<Shift> {
        let Arithmetic::Affine(a) = channel.arithmetic() else {
            return None;
        };
        if (a.factor, a.addend, a.zero_point) != (1, 0, 0) || a.shift > 30 {
            return None;
        }
        let shift = u32::from(a.shift);
        let c = Correction::new(a.rounding, shift);
        // For shifts up to 30, these constants are at most 2^30 − 1, so the casts lose nothing.
        let [base, negative, even, after] = [c.base, c.negative, c.even, c.after].map(|c| c as i32);
        Some(Shift {
            shift,
            mask: (1 << shift) - 1,
            base,
            negative,
            even,
            after,
        })
    }

    #[inline(always)]
    fn lane(&self, x: i32) -> i32 {
        let quotient = x >> self.shift;
        let correction = self.base + (self.negative & (x >> 31)) + (self.even & quotient);
        quotient + (((x & self.mask) + correction) >> self.shift) + self.after
    }
}
