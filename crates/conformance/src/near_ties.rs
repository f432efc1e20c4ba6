//! Finds accumulators whose exact results, before rounding, lie close to halfway between two integers, but not exactly
//! there. At these accumulators, floating-point arithmetic goes wrong first.
//!
//! A channel computes round((x · m + a) / 2^s) for an accumulator x, where m is the multiplier, a the addend and s the
//! shift. If x · m + a ≡ 2^(s−1) − d (mod 2^s), the exact result lies d/2^s below a half. If x · m has more than 53
//! bits and d is less than half a unit in the last place of this product, arithmetic in `f64` rounds the sum to exactly
//! the half. For d = 1, the accumulator is x ≡ (2^(s−1) − 1 − a) · m⁻¹ (mod 2^s), if this x is in range. The
//! accumulators with the smallest d in a range are found by a variant of Euclid's algorithm.

use crate::numbers::Numbers;
use strait_requantize::form::{Arithmetic, Channel};

/// The number of parts into which the range of accumulators is divided. In each part, the accumulators with results
/// closest to a half are searched for.
const PARTS: i64 = 4;

/// Finds up to two accumulators in each part of the range: the exact result of the first is closest below a half, and
/// that of the second closest above a half. The range is the part of `ends` in which results are not saturated.
pub(crate) fn near_ties(channel: &Channel<'_>, ends: (i64, i64)) -> Vec<i64> {
    let (factor, addend, shift) = match channel.arithmetic() {
        Arithmetic::Affine(a) => (a.factor, a.addend, a.shift),
        // For a form with two roundings, results close to a half of the first rounding are searched for.
        Arithmetic::Doubling(d) => (d.factor, d.addend, 31),
        _ => return Vec::new(),
    };
    if shift < 2 || factor == 0 {
        return Vec::new();
    }
    let [least, most] = channel.range().map(i64::from);
    let low = channel.least_reaching(least + 1).saturating_sub(1).max(ends.0);
    let high = channel.least_reaching(most).min(ends.1);
    let line = Line {
        factor: factor.unsigned_abs().into(),
        addend: addend.into(),
        modulus: 1 << shift,
    };
    let mut found = Vec::new();
    if low >= high {
        return found;
    }
    let size = (high.saturating_sub(low) / PARTS).max(1);
    for part in 0..PARTS {
        let from = low.saturating_add(size.saturating_mul(part));
        if from < high {
            let to = from.saturating_add(size).min(high);
            found.extend(
                [line.nearest(from, to, true), line.nearest(from, to, false)]
                    .into_iter()
                    .flatten(),
            );
        }
    }
    found
}

/// The function x · factor + addend, modulo a power of two.
struct Line {
    factor: u128,
    addend: i128,
    modulus: u128,
}

impl Line {
    /// Finds an accumulator in `from ..= to` whose exact result lies close below a half, or close above a half if
    /// `below` is false. It is the closest such accumulator or nearly the closest. Returns `None` if there is none.
    fn nearest(&self, from: i64, to: i64, below: bool) -> Option<i64> {
        let modulus = self.modulus.cast_signed();
        let first = i128::from(from) * self.factor.cast_signed() + self.addend;
        let count = i128::from(to) - i128::from(from);
        // Values modulo a power of two are spread evenly, so there is usually a value within this distance of a half.
        let mut distance = (modulus / (count + 1) / 64).max(1);
        while distance < modulus / 2 {
            let half = modulus / 2 - first;
            let window = if below {
                [half - distance, half - 1]
            } else {
                [half + 1, half + distance]
            };
            let window = window.map(|end| end.rem_euclid(modulus).cast_unsigned());
            let steps = first_inside(self.factor % self.modulus, self.modulus, window);
            if let Some(steps) = steps.and_then(|steps| i64::try_from(steps).ok())
                && i128::from(steps) <= count
            {
                return Some(from + steps);
            }
            distance *= 2;
        }
        None
    }
}

/// The smallest t for which t · a mod m lies in the window `[low, high]`. The window may wrap around 0.
fn first_inside(a: u128, m: u128, [low, high]: [u128; 2]) -> Option<u128> {
    if low == 0 || low > high {
        return Some(0);
    }
    if a == 0 {
        return None;
    }
    let steps = low.div_ceil(a);
    if a * steps <= high {
        return Some(steps);
    }
    // No multiple of `a` below `m` lies in the window. So the multiple that is searched for wraps around `m`. How often
    // it wraps is found by solving the same problem modulo `a`.
    let rounds = first_inside(m % a, a, [a - high % a, a - low % a])?;
    Some((low + m * rounds).div_ceil(a))
}

/// How many factors [`sharp_factors`] tries for results of more than 8 bits. About one factor in a few thousand is
/// sharp.
const TRIES: usize = 1 << 16;

/// If the exact product is closer to a half than this distance, arithmetic in `f64` cannot tell it from the half. The
/// distance is counted in units of the integer product.
const UNSEEN: u64 = 8;

/// The shift that turns a product of 57 bits into a result of `bits` bits.
pub(crate) fn sharp_shift(bits: u8) -> u8 {
    58 - bits.min(32)
}

/// Pairs of a shift and an odd 31-bit factor for which `f64` arithmetic gives a wrong 8-bit code for some 32-bit
/// accumulator. Only one factor in some millions has this property, so these factors were searched for once. The test
/// in this file checks them against `f64` arithmetic.
const OF_8_BITS: [(u8, i32); 8] = [
    (47, 1_673_353_097),
    (48, 1_931_815_843),
    (49, 1_316_820_297),
    (50, 1_809_539_693),
    (51, 1_325_415_769),
    (52, 1_724_927_341),
    (53, 1_563_540_919),
    (54, 1_277_686_061),
];

/// Sharp factors in `least ..= most`. A factor is sharp if it is odd and its product with some 32-bit accumulator lies
/// so little below a half that `f64` arithmetic takes it for the half. Sharp factors are rare. For small shifts there
/// are none, since `f64` arithmetic is exact enough for them.
pub(crate) fn sharp_factors(
    count: usize,
    (least, most): (i64, i64),
    shift: u8,
    bits: u8,
    numbers: &mut Numbers,
) -> Vec<i32> {
    if bits <= 8 {
        let its = OF_8_BITS
            .iter()
            .filter(|(of, _)| *of == shift)
            .map(|(_, factor)| *factor);
        return its.filter(|&factor| (least..=most).contains(&factor.into())).collect();
    }
    let mut found = Vec::new();
    if shift <= 32 {
        // If the shift is small, the products of any odd factor with 32-bit accumulators take every remainder, so every
        // odd factor can be used.
        found.extend((0..count).map(|_| (numbers.between(least, most) | 1) as i32));
        return found;
    }
    let (half, results) = (1u64 << (shift - 1), 1u64 << bits.min(31));
    for _ in 0..TRIES {
        let Ok(factor) = i32::try_from(numbers.between(least, most) | 1) else {
            continue;
        };
        let inverse = inverse(factor.unsigned_abs().into());
        // x is chosen so that x · factor is a multiple of `half`, minus the distance. The multiple has to be odd.
        let is_sharp = |distance: u64| {
            let x = distance.wrapping_neg().wrapping_mul(inverse) & (half - 1);
            // If x has at most 31 bits, the product fits into 64 bits, because the factor has at most 31 bits. If x has
            // more bits, the product may wrap around, but the condition below then rejects x in any case.
            let product = x.wrapping_mul(factor.unsigned_abs().into());
            x < 1 << 31 && product >= 1 << 56 && (product / half).is_multiple_of(2) && product / half < results
        };
        // In `f64`, half a unit in the last place of a 57-bit product is 8.
        if (1..UNSEEN).step_by(2).any(is_sharp) {
            found.push(factor);
            if found.len() == count {
                break;
            }
        }
    }
    found
}

/// The inverse of an odd number modulo 2^64.
fn inverse(odd: u64) -> u64 {
    // The first value is right in its lowest 3 bits, and each step doubles the number of right bits.
    (0..5).fold(odd, |inverse, _| {
        inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use strait_requantize::{IntType, Narrowing, Requantization, Rounding, form};

    fn form(factor: i32, shift: u8, out: IntType) -> Requantization {
        form::TfLite {
            sc: factor.into(),
            zp: 0,
            narrowing: Narrowing {
                shift: shift.into(),
                rounding: Rounding::HalfUp,
                out,
            },
        }
        .into()
    }

    #[test]
    fn the_nearest_rest_below_and_above_a_half_is_found() {
        let form = form(1_234_567_891, 31, IntType::I32);
        let found = near_ties(&form.channel(0).unwrap(), (-1 << 31, (1 << 31) - 1));
        let rest = |x: i64| (x * 1_234_567_891).rem_euclid(1 << 31) - (1 << 30);
        assert!(
            found.iter().any(|&x| rest(x) == -1) && found.iter().any(|&x| rest(x) == 1),
            "{found:?}"
        );
        assert!(found.iter().all(|&x| rest(x) != 0 && rest(x).abs() < 64), "{found:?}");
    }

    #[test]
    fn arithmetic_in_floating_point_is_wrong_next_to_a_half() {
        let mut numbers = Numbers::new("sharp");
        let of_8 = OF_8_BITS.map(|(shift, _)| (shift, 8, IntType::I8));
        let others = [(16, IntType::I16), (32, IntType::I32)].map(|(bits, out)| (sharp_shift(bits), bits, out));
        for (shift, bits, out) in of_8.into_iter().chain(others) {
            let factors = sharp_factors(2, (1 << 30, (1 << 31) - 1), shift, bits, &mut numbers);
            assert!(!factors.is_empty(), "{bits}");
            for factor in factors {
                let form = form(factor, shift, out);
                let channel = form.channel(0).unwrap();
                let thresholds = (1..=i64::from(out.max()).min(1 << 17)).map(|code| channel.least_reaching(code) - 1);
                let near = near_ties(&channel, (-1 << 31, (1 << 31) - 1));
                let wrong = |&x: &i64| {
                    let real = (x as f64 * f64::from(factor) / 2f64.powi(shift.into()) + 0.5).floor();
                    (real as i64).clamp(out.min().into(), out.max().into()) != i64::from(channel.eval(x).unwrap())
                };
                assert!(thresholds.chain(near).any(|x| wrong(&x)), "{factor} {shift}");
            }
        }
    }
}
