//! Functions that are equal because the parameters of their only steps are, however many values they have.

use super::Function;
use strait_requantize::Rounding;
use strait_requantize::form::{Affine, Arithmetic};

/// A step before saturation and clamp, in one form for steps that are the same function of all integers.
#[derive(Debug, PartialEq)]
enum Normal<'a> {
    /// `floor((x factor + addend) / 2^shift)`, the factor odd or the shift zero.
    Floor { factor: i64, addend: i128, shift: u8 },
    /// Whatever rounds by the sign or the parity, or several times: as it is.
    Other(Arithmetic<'a>),
}

/// True if both functions are one step each, and these compute the same before they saturate and clamp.
pub(super) fn are_equal(a: &Function<'_>, b: &Function<'_>) -> bool {
    match (&a.stages[..], &b.stages[..]) {
        ([(a, _)], [(b, _)]) => normal(a.arithmetic()) == normal(b.arithmetic()),
        _ => false,
    }
}

/// With p = x factor + addend: ceil(p / 2^s) = floor((p + 2^s - 1) / 2^s), ties go up in floor((p + 2^(s-1)) / 2^s) and
/// down in floor((p + 2^(s-1) - 1) / 2^s), a zero point z behind the division is z 2^s in front of it, and with t
/// common powers of two in factor and divisor floor((x f + A) / 2^s) = floor((x f / 2^t + floor(A / 2^t)) / 2^(s-t)).
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
        // At most the shift.
        shift: a.shift - common as u8,
    }
}

/// Without the powers of two that factor, addend and divisor share: the quotient, and so its rounding, stay the same.
fn reduced(a: Affine) -> Affine {
    let common = a
        .factor
        .trailing_zeros()
        .min(a.addend.trailing_zeros())
        .min(a.shift.into());
    Affine {
        factor: a.factor.checked_shr(common).unwrap_or(0),
        addend: a.addend.checked_shr(common).unwrap_or(0),
        // At most the shift.
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

    /// Parameters that are found equal make the same results; most that are not make others.
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
