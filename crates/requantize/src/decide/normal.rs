//! Functions decided by normalised parameters: before thresholds are looked at, and in their place for results of 32 bits,
//! which have too many to look at.
//!
//! On accumulators of one sign each integer form that rounds is one division rounded down, x -> floor((x f + A) / 2^s):
//!
//! - ceil(p / 2^s) = floor((p + 2^s - 1) / 2^s), the modes that take ties up and down add 2^(s-1) and 2^(s-1) - 1, and
//!   those that look at the sign are one of these on each side of p = 0;
//! - the zero point z behind the division is z 2^s in front of it;
//! - half_even is any other nearest mode where no x is a tie;
//! - two roundings are one: with h = floor((p + 2^30) / 2^31) and s = 31 + r, half_away(h / 2^r) is
//!   floor((p + 2^(s-1) + 2^30) / 2^s) for x >= 0 and floor((p + 2^(s-1) - 2^30) / 2^s) below, since p has the sign of
//!   x and both are 0 for -2^30 <= p < 0;
//! - common powers of two of f and 2^s go: floor((x f + A) / 2^s) = floor((x f / 2^t + floor(A / 2^t)) / 2^(s-t)).
//!
//! With f odd or s = 0 these parameters are unique: the same function on all integers has the same ones. Two functions
//! of the same f and s differ only in A, and how often and where is a sum of floors, found by Euclid's algorithm.

use super::{deviation::Deviation, thresholds::Chain};
use crate::{
    Rounding,
    form::{Affine, Arithmetic, Channel, Doubling},
};
use smallvec::SmallVec;

/// `floor((x * factor + addend) / 2^shift)`; `factor` is odd or `shift` zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Floor {
    factor: i64,
    addend: i128,
    shift: u8,
}

/// A function on a part of the interval, both ends included.
#[derive(Clone, Copy, Debug)]
struct Piece {
    low: i64,
    high: i64,
    floor: Floor,
}

type Pieces = SmallVec<[Piece; 2]>;

/// Difference of two chains whose values at the ends of the interval are given; `None` where the parameters do not
/// tell.
///
/// A chain with one step that is not the identity is that step's form R between the chain's values at the ends, for a
/// clamp in front of R is one behind it: f(x) = clamp(R(x), f(low), f(high)).
pub(super) fn deviation(
    (a, a_ends): (&Chain<'_>, [i32; 2]),
    (b, b_ends): (&Chain<'_>, [i32; 2]),
    interval: (i64, i64),
) -> Option<Deviation> {
    let (a, b) = (only_form(a)?, only_form(b)?);
    let same_ends = a_ends == b_ends;
    if same_ends && are_one(a, b) {
        return Some(Deviation::none(interval));
    }
    let (a_pieces, b_pieces) = (pieces(a, interval)?, pieces(b, interval)?);
    let found = compare(&a_pieces, &b_pieces, interval)?;
    let open = |pieces: &Pieces, ends: [i32; 2]| {
        let at = |piece: Option<&Piece>, x: i64| {
            piece.is_some_and(|p| p.floor.eval(x) == i128::from(ends[usize::from(x == interval.1)]))
        };
        at(pieces.first(), interval.0) && at(pieces.last(), interval.1)
    };
    // Clamped differences are smaller and fewer: then only their absence says something.
    let applies = (same_ends && found.max_lsb == 0) || (open(&a_pieces, a_ends) && open(&b_pieces, b_ends));
    applies.then_some(found)
}

/// True if the normalised parameters of two chains are the same on the interval, so that these are one function there. They
/// have the same values at its ends. False where that does not tell.
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

/// True if both compute the same before they saturate, whatever they round.
fn are_one(a: &Channel<'_>, b: &Channel<'_>) -> bool {
    let once = |form: &Channel<'_>| one_rounding(form.arithmetic()).map(|a| reduced(&a));
    a.arithmetic() == b.arithmetic() || once(a).is_some_and(|a| once(b) == Some(a))
}

/// The form of the only step of a chain that is not the identity; of the first one where all are.
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

/// The powers of two that factor, addend and divisor of an affine function share, at most 31 of them.
pub(super) fn shared_powers(a: &Affine) -> u8 {
    let shared = a.factor.trailing_zeros().min(a.addend.trailing_zeros()).min(31);
    // At most 31.
    a.shift.min(shared as u8)
}

/// A legal affine function without these.
pub(super) fn reduced(a: &Affine) -> Affine {
    let shared = shared_powers(a);
    Affine {
        factor: a.factor >> shared,
        addend: a.addend >> shared,
        shift: a.shift - shared,
        ..*a
    }
}

/// A function that rounds once, if the form is one on all of its domain.
pub(super) fn one_rounding(arithmetic: Arithmetic<'_>) -> Option<Affine> {
    match arithmetic {
        Arithmetic::Affine(a) => Some(a),
        _ => None,
    }
}

/// Addend in front of a division by `2^shift` that rounds down, so that the result is rounded by this mode; `None` for
/// the modes that look at the sign or the parity.
pub(super) fn bias(rounding: Rounding, shift: u8) -> Option<i128> {
    let step = 1i128 << shift;
    Some(match rounding {
        Rounding::Floor => 0,
        Rounding::Ceil => step - 1,
        Rounding::HalfUp => step / 2,
        // With nothing to round, nothing is added.
        Rounding::HalfDown => (step / 2 - 1).max(0),
        _ => return None,
    })
}

/// The mode that rounds alike where the sign of what is rounded is known.
fn one_sided(rounding: Rounding, negative: bool) -> Rounding {
    match (rounding, negative) {
        (Rounding::TowardZero, false) => Rounding::Floor,
        (Rounding::TowardZero, true) => Rounding::Ceil,
        (Rounding::HalfAway, false) | (Rounding::HalfTowardZero, true) => Rounding::HalfUp,
        (Rounding::HalfAway, true) | (Rounding::HalfTowardZero, false) => Rounding::HalfDown,
        (other, _) => other,
    }
}

impl Floor {
    fn new(factor: i64, addend: i128, shift: u8) -> Floor {
        let shared = factor.trailing_zeros().min(shift.into());
        Floor {
            factor: factor >> shared,
            addend: addend >> shared,
            // At most the shift.
            shift: shift - shared as u8,
        }
    }

    fn eval(&self, x: i64) -> i128 {
        (i128::from(x) * i128::from(self.factor) + self.addend) >> self.shift
    }
}

/// The parts of the interval on which a form is one division rounded down.
fn pieces(form: &Channel<'_>, interval: (i64, i64)) -> Option<Pieces> {
    match form.arithmetic() {
        Arithmetic::Doubling(d) => Some(two_roundings(&d, interval)),
        arithmetic => affine(&one_rounding(arithmetic)?, interval),
    }
}

/// The interval cut at the first x of its second part.
fn cut((low, high): (i64, i64), at: i128, below: Floor, from: Floor) -> Pieces {
    let mut pieces = Pieces::new();
    let at = at.clamp(i128::from(low), i128::from(high) + 1);
    if at > i128::from(low) {
        // Below the cut, which is at most one past an i64.
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
    // The first x with x * factor + addend >= 0.
    let at = match i128::from(d.factor) {
        0 if d.addend >= 0 => i128::MIN,
        0 => i128::MAX,
        factor => -i128::from(d.addend).div_euclid(factor),
    };
    cut(interval, at, with(-1 << 30), with(1 << 30))
}

fn affine(a: &Affine, interval: (i64, i64)) -> Option<Pieces> {
    let (factor, zero_point) = (i64::from(a.factor), i128::from(a.zero_point));
    if factor == 0 {
        let value = a.rounding.shift_right_wide(a.addend.into(), a.shift) + zero_point;
        let constant = Floor::new(0, value, 0);
        return Some(cut(interval, interval.0.into(), constant, constant));
    }
    let like = |rounding| {
        let addend = i128::from(a.addend) + bias(rounding, a.shift)? + (zero_point << a.shift);
        Some(Floor::new(factor, addend, a.shift))
    };
    if a.rounding == Rounding::HalfEven {
        let (up, down) = (like(Rounding::HalfUp)?, like(Rounding::HalfDown)?);
        let whole = |floor| cut(interval, interval.0.into(), floor, floor);
        let ties = compare(&whole(up), &whole(down), interval)?;
        return (ties.differing == 0).then(|| whole(up));
    }
    // x f + a >= 0 from x = ceil(-a / f) on.
    let at = -i128::from(a.addend).div_euclid(i128::from(factor));
    let side = |negative| like(one_sided(a.rounding, negative));
    Some(cut(interval, at, side(true)?, side(false)?))
}

/// The difference of two functions in pieces; `None` where their slopes differ somewhere.
fn compare(a: &Pieces, b: &Pieces, interval: (i64, i64)) -> Option<Deviation> {
    let mut found = Deviation::none(interval);
    for a in a {
        for b in b {
            let (low, high) = (a.low.max(b.low), a.high.min(b.high));
            if low > high || a.floor == b.floor {
                continue;
            }
            if (a.floor.factor, a.floor.shift) != (b.floor.factor, b.floor.shift) {
                return None;
            }
            apart(&a.floor, &b.floor, (low, high), &mut found)?;
        }
    }
    Some(found)
}

/// Two functions of the same slope. With y = (x f + A) mod 2^s and B - A = d 2^s + r, B's exceeds A's by d, and by one
/// more where y >= 2^s - r. Where that is, is what floor((y + r) / 2^s) counts.
fn apart(a: &Floor, b: &Floor, (low, high): (i64, i64), found: &mut Deviation) -> Option<()> {
    let (a, b) = if a.addend <= b.addend { (a, b) } else { (b, a) };
    let modulus = 1i128 << a.shift;
    let by = b.addend - a.addend;
    let (whole, rest) = (u32::try_from(by >> a.shift).ok()?, (by & (modulus - 1)).unsigned_abs());
    let count = high.abs_diff(low).checked_add(1).filter(|n| *n <= 1 << 62)?;
    let first = (i128::from(low) * i128::from(a.factor) + a.addend)
        .rem_euclid(modulus)
        .unsigned_abs();
    let factor = i128::from(a.factor).rem_euclid(modulus).unsigned_abs();
    let modulus = modulus.unsigned_abs();
    // On the first n accumulators.
    let exceeding =
        |n: u64| floor_sum(n.into(), modulus, factor, first + rest) - floor_sum(n.into(), modulus, factor, first);
    let more = exceeding(count);
    if more == 0 {
        found.add(whole, low, count.into());
        return Some(());
    }
    let (mut none, mut some) = (0, count);
    while some - none > 1 {
        let middle = none + (some - none) / 2;
        if exceeding(middle) > 0 {
            some = middle;
        } else {
            none = middle;
        }
    }
    found.add(whole, low, u128::from(count) - more);
    // `none` is below 2^62.
    found.add(whole.checked_add(1)?, low + none as i64, more);
    Some(())
}

/// Σ floor((i a + b) / m) for i = 0 .. n: the lattice points below a line, by Euclid's algorithm. For n and m up to
/// 2^62, a < m and b < 2 m.
fn floor_sum(mut n: u128, mut m: u128, mut a: u128, mut b: u128) -> u128 {
    let mut sum = 0;
    loop {
        sum += n * n.saturating_sub(1) / 2 * (a / m) + n * (b / m);
        (a, b) = (a % m, b % m);
        let top = a * n + b;
        if top < m {
            return sum;
        }
        // Points by rows instead of by columns.
        (n, b) = (top / m, top % m);
        (m, a) = (a, m);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IntType, Narrowing, Per, Requantization, Step, form::Fixed};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lattice_points_are_counted(n in 0u32..200, m in 1u128..1000, a in 0u128..1000, b in 0u128..2000) {
            let (a, b) = (a % m, b % (2 * m));
            let expect: u128 = (0..u128::from(n)).map(|i| (i * a + b) / m).sum();
            prop_assert_eq!(floor_sum(n.into(), m, a, b), expect);
        }

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
            // To the nearest even is another nearest mode but where something is half way.
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
