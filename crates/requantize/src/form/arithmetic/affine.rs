use super::firsts;
use crate::Rounding;
use crate::form::{MAX_ADDEND, MAX_SHIFT};
use std::ops::RangeInclusive;

/// `round((x * factor + addend) / 2^shift) + zero_point`: the arithmetic of all forms that multiply integers and round
/// once. The parameters must be legal: `factor >= 0`, `|addend| <= MAX_ADDEND`, `shift <= MAX_SHIFT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The factor, not negative.
    pub factor: i32,
    /// The number that is added before the shift.
    pub addend: i64,
    /// The exponent s of the divisor 2^s.
    pub shift: u8,
    /// How the quotient is rounded.
    pub rounding: Rounding,
    /// The number that is added after the shift.
    pub zero_point: i32,
}

/// A limit for the magnitude of `x * factor + addend`. If x is an `i32`, the magnitude never exceeds this limit: |x *
/// factor| is at most 2^31 (2^31 - 1) = 2^62 - 2^31, and |addend| is at most `MAX_ADDEND`. To a number within the
/// limit, half of `2^MAX_SHIFT` or a zero point can be added without leaving `i64`.
const WIDEST: i64 = MAX_ADDEND + (1 << 62) - (1 << 31);
const _: () = assert!(i64::MAX - WIDEST >= 1 << (MAX_SHIFT - 1) && i64::MAX - WIDEST >= 1 << 31);

impl Affine {
    /// The accumulators for which `i64` arithmetic is exact.
    pub(in crate::form) fn domain(&self) -> RangeInclusive<i64> {
        product_domain(self.factor, self.addend)
    }

    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        let product = x * i64::from(self.factor) + self.addend;
        self.rounding.shift_right(product, self.shift) + i64::from(self.zero_point)
    }

    /// Returns the smallest integer `x` with `wide(x) >= value`, where `wide` is the result before saturation. If all
    /// integers satisfy this, returns `i128::MIN`, and if none does, `i128::MAX`.
    ///
    /// With p = x * factor + addend, s the shift and v = `value`: wide(x) >= v iff round(p / 2^s) >= v - zero_point iff
    /// p >= t iff x >= ceil((t - addend) / factor), where t is the smallest p that is rounded to v - zero_point or
    /// more.
    pub(in crate::form) fn least_reaching(&self, value: i64) -> i128 {
        let quotient = i128::from(value) - i128::from(self.zero_point);
        let rest = self.rounding.least_reaching(quotient, self.shift) - i128::from(self.addend);
        least_multiplicand(rest, i64::from(self.factor))
    }

    /// [`Affine::least_reaching`] for each number in `values`. The results must lie inside the domain.
    pub(in crate::form) fn firsts(&self, values: RangeInclusive<i64>) -> Vec<i64> {
        let zero = i64::from(self.zero_point);
        let quotients = values.start() - zero..=values.end() - zero;
        firsts(quotients, self.shift, i64::from(self.factor.max(1)), |quotient| {
            self.rounding.least_reaching(quotient.into(), self.shift) - i128::from(self.addend)
        })
    }

    pub(in crate::form) fn is_identity(&self) -> bool {
        // round(x * 2^s / 2^s) = x
        i64::from(self.factor) == 1 << self.shift && self.addend == 0 && self.zero_point == 0
    }
}

/// Returns the accumulators x with `|x * factor + addend| <= WIDEST`, for which `i64` arithmetic is exact. A factor of
/// zero is treated as one.
pub(super) fn product_domain(factor: i32, addend: i64) -> RangeInclusive<i64> {
    // |x| <= WIDEST + MAX_ADDEND < 2^63, and this is also a bound for |x * factor|.
    let factor = i64::from(factor.max(1));
    let (low, high) = (-WIDEST - addend, WIDEST - addend);
    -(-low).div_euclid(factor)..=high.div_euclid(factor)
}

/// Returns the smallest integer `x` with `x * factor >= product`, where `factor >= 0`. If all integers satisfy this,
/// returns `i128::MIN`, and if none does, `i128::MAX`.
pub(super) fn least_multiplicand(product: i128, factor: i64) -> i128 {
    match (factor, i64::try_from(product)) {
        (0, _) if product <= 0 => i128::MIN,
        (0, _) => i128::MAX,
        // In the most common case, no 128-bit division is needed. The remainder of a truncating division has the sign
        // of the product.
        (_, Ok(product)) => i128::from(product / factor + i64::from(product % factor > 0)),
        (_, Err(_)) => -(-product).div_euclid(i128::from(factor)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_domain_is_where_the_product_fits(
            factor in prop_oneof![0i32..4, any::<i32>()], addend: i64, shift in 0..=MAX_SHIFT,
        ) {
            let (factor, addend) = (factor & i32::MAX, addend >> 2);
            let form = Affine { factor, addend, shift, rounding: Rounding::Floor, zero_point: 0 };
            let fits = |x: i128| (x * i128::from(factor.max(1)) + i128::from(addend)).abs() <= i128::from(WIDEST);
            let (low, high) = form.domain().into_inner();
            for end in [low, high] {
                prop_assert!(fits(end.into()));
            }
            prop_assert!(!fits(i128::from(low) - 1) && !fits(i128::from(high) + 1));
            prop_assert!(low <= i64::from(i32::MIN) && high >= i64::from(i32::MAX));
        }

        #[test]
        fn the_least_multiplicand_reaches_the_product(
            product in -(1i128 << 90)..1 << 90, scale in 0u8..90, factor in prop_oneof![0i64..4, any::<i64>()],
        ) {
            let (product, factor) = (product >> scale, factor & i64::MAX);
            for product in [0, product, product - product % i128::from(factor.max(1))] {
                let least = least_multiplicand(product, factor);
                if factor == 0 {
                    prop_assert_eq!(least, if product <= 0 { i128::MIN } else { i128::MAX });
                } else {
                    prop_assert!(least * i128::from(factor) >= product && (least - 1) * i128::from(factor) < product);
                }
            }
        }
    }
}
