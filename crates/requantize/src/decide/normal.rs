//! Compares functions by their normalised parameters. This is tried before thresholds are computed. It is the only way
//! for functions with 32-bit results, because such functions have too many thresholds.
//!
//! On accumulators of one sign, each integer form that rounds is equal to a single division that is rounded down, x ->
//! floor((x f + A) / 2^s):
//!
//! - ceil(p / 2^s) = floor((p + 2^s - 1) / 2^s) for any product p. The modes that round ties up and down add 2^(s-1)
//!   and 2^(s-1) - 1. On each side of p = 0, a mode that depends on the sign is the same as one of these modes.
//! - Adding a zero point z after the division is the same as adding z 2^s before it.
//! - half_even is the same as any other nearest mode if no x gives a tie.
//! - Two roundings become one: with h = floor((p + 2^30) / 2^31) and s = 31 + r, half_away(h / 2^r) is floor((p +
//!   2^(s-1) + 2^30) / 2^s) for x >= 0 and floor((p + 2^(s-1) - 2^30) / 2^s) for x < 0, because p has the sign of x.
//!   (For -2^30 <= p < 0, h is 0, and both formulas give 0.)
//! - Common powers of two of f and 2^s are cancelled: floor((x f + A) / 2^s) = floor((x f / 2^t + floor(A / 2^t)) /
//!   2^(s-t)).
//!
//! If f is odd or s = 0, these parameters are unique: two functions that are equal on all integers have equal
//! parameters. The module `lines` finds how often, by how much and where two functions differ.

use super::{
    ideal::{Ideal, Rounded},
    lines::{self, Floor},
    thresholds::Chain,
};
use crate::decide::difference::Deviation;
use crate::{
    Rounding,
    form::{Affine, Arithmetic, Channel, Doubling},
};
use smallvec::SmallVec;

/// A linear function that is rounded down, on a part of the interval. Both ends belong to the part.
#[derive(Clone, Copy, Debug)]
struct Piece {
    low: i64,
    high: i64,
    floor: Floor,
}

/// The pieces of a function. There is one on either side of zero, and one at each end where the function saturates.
type Pieces = SmallVec<[Piece; 4]>;

/// A piecewise linear function whose value is rounded down. It never decreases: a larger accumulator never gives a
/// smaller result.
#[derive(Clone, Debug)]
pub(super) struct Lines(Pieces);

impl Lines {
    /// Expresses a chain as a piecewise linear function that is rounded down. `ends` are the chain's results at the
    /// ends of the interval. Returns `None` if the chain cannot be expressed in this way. The caller then has to
    /// compute the thresholds of the chain.
    ///
    /// This works for a chain f in which one step has the form R and the forms of all other steps only saturate. R is
    /// monotone, so saturation and clamps before R can be replaced by a clamp behind R. On the interval [low, high],
    /// the chain is therefore f(x) = clamp(R(x), f(low), f(high)).
    pub(super) fn of_chain(chain: &Chain<'_>, ends: [i32; 2], interval: (i64, i64)) -> Option<Lines> {
        let pieces = pieces(only_form(chain)?, interval)?;
        saturated(&pieces, ends, interval).map(Lines)
    }

    /// Expresses an ideal function as a piecewise linear function that is rounded down. `ends` are the function's
    /// results at the ends of the interval. Returns `None` if the function cannot be expressed in this way. The caller
    /// then has to compute its thresholds.
    pub(super) fn of_ideal(ideal: &Ideal, ends: [i32; 2], interval: (i64, i64)) -> Option<Lines> {
        let pieces = rounded(&ideal.rounded()?, interval)?;
        saturated(&pieces, ends, interval).map(Lines)
    }

    /// The difference from another function on the same interval. `None` if the functions are too far apart.
    pub(super) fn deviation(&self, other: &Lines, interval: (i64, i64)) -> Option<Deviation> {
        let mut found = Deviation::none(interval);
        compare(&self.0, &other.0, &mut found)?;
        Some(found)
    }
}

/// Finds the difference of two chains by their parameters. `a_ends` and `b_ends` are the results of the chains at the
/// ends of the interval. Returns `None` if the chains cannot be compared in this way. The caller then has to compare
/// their thresholds.
pub(super) fn deviation(
    (a, a_ends): (&Chain<'_>, [i32; 2]),
    (b, b_ends): (&Chain<'_>, [i32; 2]),
    interval: (i64, i64),
) -> Option<Deviation> {
    if a_ends == b_ends && are_one(only_form(a)?, only_form(b)?) {
        return Some(Deviation::none(interval));
    }
    let (a, b) = (
        Lines::of_chain(a, a_ends, interval)?,
        Lines::of_chain(b, b_ends, interval)?,
    );
    a.deviation(&b, interval)
}

/// Clamps a function to the range between its results at the ends of the interval. `None` if its parameters are too
/// large.
fn saturated(pieces: &Pieces, [least, largest]: [i32; 2], (low, high): (i64, i64)) -> Option<Pieces> {
    let constant = |value: i32, low: i128, high: i128| Piece {
        // Both ends lie inside the interval, so they fit into i64.
        low: low as i64,
        high: high as i64,
        floor: Floor::new(0, value.into(), 0),
    };
    let (low, high) = (i128::from(low), i128::from(high));
    if least == largest {
        return Some(SmallVec::from_iter([constant(least, low, high)]));
    }
    // The first x with a result above the smallest result, and the first x with the largest result.
    let above = first(pieces, i128::from(least) + 1, high + 1)?;
    let from = first(pieces, largest.into(), high + 1)?;
    let mut found = Pieces::new();
    if low < above {
        found.push(constant(least, low, above - 1));
    }
    for piece in pieces {
        let (low, high) = (above.max(piece.low.into()), (from - 1).min(piece.high.into()));
        if low <= high {
            // Both ends lie inside the piece, so they fit into i64.
            found.push(Piece {
                low: low as i64,
                high: high as i64,
                floor: piece.floor,
            });
        }
    }
    if from <= high {
        found.push(constant(largest, from, high));
    }
    Some(found)
}

/// Returns the first x at which a function reaches `value`. If the function never reaches it, returns `behind`, which
/// is the x after the end of the interval. Returns `None` if a number exceeds 128 bits.
fn first(pieces: &Pieces, value: i128, behind: i128) -> Option<i128> {
    for piece in pieces {
        let Floor { factor, addend, shift } = piece.floor;
        let missing = value
            .checked_mul(1i128.checked_shl(shift.into())?)?
            .checked_sub(addend)?;
        let x = match i128::from(factor) {
            0 if missing <= 0 => i128::MIN,
            0 => i128::MAX,
            factor => -(-missing).div_euclid(factor),
        };
        if x <= piece.high.into() {
            return Some(x.max(piece.low.into()));
        }
    }
    Some(behind)
}

/// True if two chains have equal normalised parameters on the interval, so that they are the same function on it. Their
/// results at the ends of the interval must be equal. If the chains cannot be compared in this way, the result is
/// false.
pub(super) fn are_equal(a: &Chain<'_>, b: &Chain<'_>, interval: (i64, i64)) -> bool {
    let same = || {
        let (a, b) = (only_form(a)?, only_form(b)?);
        if are_one(a, b) {
            return Some(true);
        }
        let (a, b) = (pieces(a, interval)?, pieces(b, interval)?);
        let meet = |a: &Piece, b: &Piece| a.low.max(b.low) <= a.high.min(b.high);
        Some(a.iter().all(|a| b.iter().all(|b| !meet(a, b) || a.floor == b.floor)))
    };
    same().unwrap_or(false)
}

/// True if both forms compute the same numbers before saturation. Each form may have any rounding.
fn are_one(a: &Channel<'_>, b: &Channel<'_>) -> bool {
    let once = |form: &Channel<'_>| one_rounding(form.arithmetic()).map(|a| reduced(&a));
    a.arithmetic() == b.arithmetic() || once(a).is_some_and(|a| once(b) == Some(a))
}

/// Finds the only form in a chain that is not the identity (apart from saturation). If all forms are the identity,
/// returns the first one. If several are not, returns `None`.
fn only_form<'c, 'a>(chain: &'c Chain<'a>) -> Option<&'c Channel<'a>> {
    let mut others = chain
        .stages
        .iter()
        .map(|(form, _)| form)
        .filter(|form| !form.is_identity());
    match (others.next(), others.next()) {
        (None, _) => chain.stages.first().map(|(form, _)| form),
        (only, None) => only,
        _ => None,
    }
}

/// The number of factors of two that factor, addend and divisor of an affine function share, at most 31.
pub(super) fn shared_powers(a: &Affine) -> u8 {
    let shared = a.factor.trailing_zeros().min(a.addend.trailing_zeros()).min(31);
    // `shared` is at most 31, so it fits into u8.
    a.shift.min(shared as u8)
}

/// A legal affine function after the shared powers of two were cancelled.
pub(super) fn reduced(a: &Affine) -> Affine {
    let shared = shared_powers(a);
    Affine {
        factor: a.factor >> shared,
        addend: a.addend >> shared,
        shift: a.shift - shared,
        ..*a
    }
}

/// The form as a function that rounds once. `None` if it is not such a function on its whole domain.
pub(super) fn one_rounding(arithmetic: Arithmetic<'_>) -> Option<Affine> {
    match arithmetic {
        Arithmetic::Affine(a) => Some(a),
        _ => None,
    }
}

/// Returns the number that has to be added before a division by `2^shift` so that rounding down gives the same result
/// as this mode. Returns `None` for modes that depend on sign or parity.
pub(super) fn bias(rounding: Rounding, shift: u8) -> Option<i128> {
    let step = 1i128 << shift;
    Some(match rounding {
        Rounding::Floor => 0,
        Rounding::Ceil => step - 1,
        Rounding::HalfUp => step / 2,
        // Without a shift there is no rounding, so nothing is added.
        Rounding::HalfDown => (step / 2 - 1).max(0),
        _ => return None,
    })
}

/// Returns a rounding mode that does not depend on the sign. For numbers of the given sign, it gives the same results
/// as `rounding`.
fn one_sided(rounding: Rounding, negative: bool) -> Rounding {
    match (rounding, negative) {
        (Rounding::TowardZero, false) => Rounding::Floor,
        (Rounding::TowardZero, true) => Rounding::Ceil,
        (Rounding::HalfAway, false) | (Rounding::HalfTowardZero, true) => Rounding::HalfUp,
        (Rounding::HalfAway, true) | (Rounding::HalfTowardZero, false) => Rounding::HalfDown,
        (other, _) => other,
    }
}

/// Divides the interval into parts. On each part, the form is a single division that is rounded down.
fn pieces(form: &Channel<'_>, interval: (i64, i64)) -> Option<Pieces> {
    match form.arithmetic() {
        Arithmetic::Doubling(d) => Some(two_roundings(&d, interval)),
        arithmetic => {
            let a = one_rounding(arithmetic)?;
            let rounded = Rounded {
                factor: a.factor.into(),
                addend: a.addend.into(),
                shift: a.shift,
                rounding: a.rounding,
                zero_point: a.zero_point,
            };
            self::rounded(&rounded, interval)
        }
    }
}

/// Divides the interval into two parts at `at`, the first x of the second part.
fn cut((low, high): (i64, i64), at: i128, below: Floor, from: Floor) -> Pieces {
    let mut pieces = Pieces::new();
    let at = at.clamp(i128::from(low), i128::from(high) + 1);
    if at > i128::from(low) {
        // The last x below the cut. The cut is at most one above the largest i64.
        let high = (at - 1) as i64;
        pieces.push(Piece {
            low,
            high,
            floor: below,
        });
    }
    if let Ok(low) = i64::try_from(at)
        && low <= high
    {
        pieces.push(Piece { low, high, floor: from });
    }
    pieces
}

fn two_roundings(d: &Doubling, interval: (i64, i64)) -> Pieces {
    let with = |nudge: i128| {
        let addend = i128::from(d.addend) + (1i128 << (d.shift - 1)) + nudge + (i128::from(d.zero_point) << d.shift);
        Floor::new(d.factor.into(), addend, d.shift)
    };
    // The first x for which x * factor + addend >= 0.
    let at = match i128::from(d.factor) {
        0 if d.addend >= 0 => i128::MIN,
        0 => i128::MAX,
        factor => -i128::from(d.addend).div_euclid(factor),
    };
    cut(interval, at, with(-1 << 30), with(1 << 30))
}

fn rounded(a: &Rounded, interval: (i64, i64)) -> Option<Pieces> {
    let (factor, zero_point) = (a.factor, i128::from(a.zero_point));
    if factor == 0 {
        let value = a.rounding.shift_right_wide(a.addend, a.shift) + zero_point;
        let constant = Floor::new(0, value, 0);
        return Some(cut(interval, interval.0.into(), constant, constant));
    }
    let like = |rounding| {
        let zero_point = zero_point.checked_mul(1 << a.shift)?;
        let addend = a
            .addend
            .checked_add(bias(rounding, a.shift)?)?
            .checked_add(zero_point)?;
        Some(Floor::new(factor, addend, a.shift))
    };
    if a.rounding == Rounding::HalfEven {
        let (up, down) = (like(Rounding::HalfUp)?, like(Rounding::HalfDown)?);
        let whole = |floor| cut(interval, interval.0.into(), floor, floor);
        let mut ties = Deviation::none(interval);
        compare(&whole(up), &whole(down), &mut ties)?;
        return (ties.differing == 0).then(|| whole(up));
    }
    // x f + a >= 0 for all x >= ceil(-a / f).
    let at = -a.addend.div_euclid(i128::from(factor));
    let side = |negative| like(one_sided(a.rounding, negative));
    Some(cut(interval, at, side(true)?, side(false)?))
}

/// Adds the difference of two functions, piece by piece. `None` if the functions are too far apart.
fn compare(a: &Pieces, b: &Pieces, found: &mut Deviation) -> Option<()> {
    for a in a {
        for b in b {
            let (low, high) = (a.low.max(b.low), a.high.min(b.high));
            if low <= high && a.floor != b.floor {
                lines::differ(&a.floor, &b.floor, (low, high), found)?;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IntType, Narrowing, Per, Requantization, Step, form::Fixed};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parameters_say_what_every_accumulator_says(
            sc in 0i32..40, add in -600i64..600, zp in -5i32..5, shift in 0u8..7, a in 0..8usize, b in 0..8usize,
            nudge in -40i64..40, scale in 0u8..3, low in -300i64..300, width in 0i64..300,
        ) {
            let form = |sc: i32, add: i64, zp, shift: u8, rounding: usize| Step::from(Requantization::from(Fixed {
                sc: Per::Tensor(sc),
                add: Per::Tensor(add),
                zp,
                narrowing: Narrowing { shift: shift.into(), rounding: Rounding::ALL[rounding], out: IntType::I32 },
            }));
            let first = form(sc, add, zp, shift, a);
            let second = form(sc << scale, (add << scale) + nudge, zp, shift + scale, b);
            let interval = (low, low + width);
            let (first, second) = ([first], [second]);
            let chains = [&first, &second].map(|steps| Chain::new(steps, 0).unwrap());
            let ends = |c: &Chain<'_>| [interval.0, interval.1].map(|x| c.eval(x).unwrap());
            let [one, other] = &chains;
            let by_thresholds = super::super::deviation(&first, &second, 0, interval).unwrap();
            // Rounding half to even differs from another nearest mode only at ties.
            let tied = |[step]: &[Step; 1]| match step.form.channel(0).unwrap().arithmetic() {
                Arithmetic::Affine(a) if a.rounding == Rounding::HalfEven && a.factor > 0 && a.shift > 0 => {
                    let rest = |x: i64| (x * i64::from(a.factor) + a.addend).rem_euclid(1 << a.shift);
                    (interval.0..=interval.1).any(|x| rest(x) == 1 << (a.shift - 1))
                }
                _ => false,
            };
            match deviation((one, ends(one)), (other, ends(other)), interval) {
                Some(found) => prop_assert_eq!(found, by_thresholds),
                None => prop_assert!(tied(&first) || tied(&second)),
            }
        }

        #[test]
        fn the_distance_from_an_ideal_is_that_of_every_accumulator(
            factor in 0.001f64..80.0, off in -3i32..4, shift in 8u8..18, input_zero in -40i32..40, output_zero in -3000i32..3000,
            zero_inside: bool, rounding in 0..8usize, own in 0..8usize, low in -1000i64..1000, width in 0i64..1500,
        ) {
            let (out, rounding) = (IntType::I16, Rounding::ALL[rounding]);
            let grids = crate::decide::Grids { input_zero, output_zero, zero_inside, out };
            let ideal = Ideal::new(factor, rounding, grids).unwrap();
            let sc = (factor * f64::from(1 << shift)).round() as i32 + off;
            let inside = if zero_inside { output_zero << shift } else { 0 };
            let form = [Step::from(Requantization::from(Fixed {
                sc: Per::Tensor(sc.max(0)),
                add: Per::Tensor(i64::from(inside) - i64::from(input_zero) * i64::from(sc.max(0))),
                zp: if zero_inside { 0 } else { output_zero },
                narrowing: Narrowing { shift: shift.into(), rounding: Rounding::ALL[own], out },
            }))];
            let (chain, interval) = (Chain::new(&form, 0).unwrap(), (low, low + width));
            let mut expect = Deviation::none(interval);
            for x in interval.0..=interval.1 {
                expect.add(chain.eval(x).unwrap().abs_diff(ideal.eval(x).unwrap()), x, 1);
            }
            let ends = chain.ends(interval).unwrap();
            let own_lines = Lines::of_chain(&chain, ends, interval);
            let ends = [interval.0, interval.1].map(|x| ideal.eval(x).unwrap());
            let ideal_lines = Lines::of_ideal(&ideal, ends, interval);
            match own_lines.zip(ideal_lines).and_then(|(own, ideal)| own.deviation(&ideal, interval)) {
                Some(found) => prop_assert_eq!(found, expect),
                None => {
                    let even = |mode| mode == Rounding::HalfEven;
                    let far = expect.max_lsb >= lines::MOST_STRETCHES / 2 - 1;
                    prop_assert!(far || even(rounding) || even(Rounding::ALL[own]));
                }
            }
        }

        #[test]
        fn two_roundings_are_one_on_each_side_of_zero(
            factor: i32, addend in -(1i64 << 39)..1 << 39, shift in 32u8..=62, zero_point: i32, x: i32, scale in 0u8..31,
        ) {
            let d = Doubling { factor: factor & i32::MAX, addend: addend >> scale, shift, zero_point };
            for x in [x >> scale, 0, -1, 1, i32::MIN, i32::MAX] {
                let x = i64::from(x);
                let pieces = two_roundings(&d, (i32::MIN.into(), i32::MAX.into()));
                let piece = pieces.iter().find(|p| (p.low..=p.high).contains(&x)).unwrap();
                let high = Rounding::HalfUp.shift_right(x * i64::from(d.factor) + d.addend, 31);
                let expect = Rounding::HalfAway.shift_right(high, shift - 31) + i64::from(zero_point);
                prop_assert_eq!(piece.floor.eval(x), i128::from(expect));
            }
        }
    }
}
