//! Recognises functions of a single step that are equal because their parameters are equal. The number of different
//! results that the functions have does not matter.

use super::Function;
use strait_requantize::Rounding;
use strait_requantize::form::{Affine, Arithmetic};

/// A step without its saturation and clamp, in a normal form. Steps with the same normal form give the same result for
/// every integer.
#[derive(Debug, PartialEq)]
enum Normal<'a> {
    /// `floor((x factor + addend) / 2^shift)`, with an odd factor or a shift of zero.
    Floor { factor: i64, addend: i128, shift: u8 },
    /// A step that rounds by sign or parity, or several times. It has no other normal form than itself.
    Other(Arithmetic<'a>),
}

/// True if each function is a single step, and both steps compute the same before they saturate and clamp.
pub(super) fn are_equal(a: &Function<'_>, b: &Function<'_>) -> bool {
    match (&a.stages[..], &b.stages[..]) {
        ([(a, _)], [(b, _)]) => normal(a.arithmetic()) == normal(b.arithmetic()),
        _ => false,
    }
}

/// Brings a step into normal form. Let p = x f + A for an accumulator x, where f is the step's factor and A its addend,
/// and let 2^s be the divisor. Then the following holds:
/// - ceil(p / 2^s) = floor((p + 2^s - 1) / 2^s)
/// - floor((p + 2^(s-1)) / 2^s) rounds ties up, and floor((p + 2^(s-1) - 1) / 2^s) rounds them down
/// - adding a zero point z after the division is the same as adding z 2^s before it
/// - if f and 2^s are both divisible by 2^t, floor((x f + A) / 2^s) = floor((x f / 2^t + floor(A / 2^t)) / 2^(s-t))
fn normal(arithmetic: Arithmetic<'_>) -> Normal<'_> {
    let Arithmetic::Affine(a) = arithmetic else {
        return Normal::Other(arithmetic);
    };
    let divisor = 1i128 << a.shift;
    let bias = match a.rounding {
        Rounding::Floor => 0,
        Rounding::Ceil => divisor - 1,
        Rounding::HalfUp => divisor / 2,
        Rounding::HalfDown => (divisor - 1) / 2,
        _ => return Normal::Other(Arithmetic::Affine(reduced(a))),
    };
    let addend = i128::from(a.addend) + bias + i128::from(a.zero_point) * divisor;
    let common = a.factor.trailing_zeros().min(a.shift.into());
    Normal::Floor {
        factor: i64::from(a.factor) >> common,
        addend: addend >> common,
        // `common` is at most the shift, so it fits into u8.
        shift: a.shift - common as u8,
    }
}

/// Divides factor, addend and divisor by the largest power of two that divides all of them. This changes neither the
/// quotient nor its rounding.
fn reduced(a: Affine) -> Affine {
    let common = a
        .factor
        .trailing_zeros()
        .min(a.addend.trailing_zeros())
        .min(a.shift.into());
    Affine {
        factor: a.factor.checked_shr(common).unwrap_or(0),
        addend: a.addend.checked_shr(common).unwrap_or(0),
        // `common` is at most the shift, so it fits into u8.
        shift: a.shift - common as u8,
        ..a
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_requantize::{IntType, Narrowing, Per, Requantization, Step, form::Fixed};

    fn step(sc: i32, add: i64, zp: i32, shift: u8, rounding: Rounding) -> [Step; 1] {
        [Step::from(Requantization::from(Fixed {
            sc: Per::Tensor(sc),
            add: Per::Tensor(add),
            zp,
            narrowing: Narrowing {
                shift: shift.into(),
                rounding,
                out: IntType::I32,
            },
        }))]
    }

    fn equal(a: &[Step], b: &[Step]) -> bool {
        are_equal(&Function::new(a, 0).unwrap(), &Function::new(b, 0).unwrap())
    }

    /// If parameters are found to be equal, the results are equal. If they are not, most results differ.
    #[test]
    fn equal_parameters_make_equal_results() {
        let (mut proved, mut same) = (0, 0);
        for rounding in Rounding::ALL {
            for other in Rounding::ALL {
                for (sc, add, shift) in [
                    (3, 5, 2),
                    (6, 10, 3),
                    (12, 20, 4),
                    (12, 21, 4),
                    (4, 0, 2),
                    (5, -8, 0),
                    (0, 9, 3),
                ] {
                    for zp in [0, 2] {
                        let (a, b) = (step(3, 5, 2, 2, rounding), step(sc, add, zp, shift, other));
                        let at = |steps: &[Step], x| Function::new(steps, 0).unwrap().eval(x).unwrap();
                        let results = (-200..200).all(|x| at(&a, x) == at(&b, x));
                        let found = equal(&a, &b);
                        assert!(results || !found, "{a:?} {b:?}");
                        proved += usize::from(found);
                        same += usize::from(results);
                    }
                }
            }
        }
        assert!(
            proved >= 3 * Rounding::ALL.len() && proved <= same,
            "{proved} of {same}"
        );
    }

    #[test]
    fn several_steps_are_not_compared_by_parameters() {
        let one = step(3, 5, 2, 2, Rounding::Floor);
        let two = [one.clone(), step(1, 0, 0, 0, Rounding::Floor)].concat();
        assert!(equal(&one, &one) && !equal(&one, &two));
    }
}
