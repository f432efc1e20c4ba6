//! Tests functions of 48-bit accumulators, with results of up to 16 bits, against thresholds found by bisection.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::narrow;
use proptest::prelude::*;
use strait_requantize::{
    DecideError, Requantization, Rounding, Step, Thresholds, Verdict, compare,
    decide::{difference, equal_on},
    form,
    thresholds::Chain,
};

/// The verdict from the thresholds of both chains, which are found by bisection and not in closed form.
fn bisected(before: &[Step], after: &[Step], interval: (i64, i64)) -> Verdict {
    let listed = |steps: &[Step]| {
        let chain = Chain::new(steps, 0).unwrap();
        Thresholds::by_bisection(interval, |x| chain.eval(x).map_err(DecideError::from)).unwrap()
    };
    difference(&listed(before), &listed(after))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Functions of 48-bit accumulators with results of 4 to 16 bits. The two forms may have the same parameters,
    /// another addend, another slope, or clamps.
    #[test]
    fn verdicts_behind_wide_sums_are_those_of_thresholds_by_bisection(
        multiplier in 1i32 << 30..i32::MAX, exponent in -31i8..=-12, zp in -300i32..300, out in common::int_type(),
        more in 0i32..3, addend in -2i64..3, scale in 0u8..3, low in -(1i64 << 47)..1 << 47, width in 1i64..1 << 47,
        clamps: [bool; 2], by in 0u8..40,
    ) {
        prop_assume!(out.bits() <= 16);
        let m16 = form::SixteenByEight::reduced(multiplier);
        let shift = (15 - exponent).unsigned_abs();
        let wide = Requantization::from(form::SixteenByEight { multiplier: multiplier.into(), exponent: exponent.into(), zp, out });
        // If the lowest bits of the factor are zero, factor and divisor can both be divided by a power of two.
        let down = m16.trailing_zeros().min(scale.into()) as u8;
        let fixed = Requantization::from(form::Fixed {
            sc: ((m16 + more) >> down).into(),
            add: (addend >> down).into(),
            zp,
            narrowing: narrow(shift - down, Rounding::HalfUp, out),
        });
        let domain = |form: &Requantization| form.domain(0);
        let (first, second) = (domain(&wide), domain(&fixed));
        let ends = [*first.start().max(second.start()), *first.end().min(second.end())];
        let (low, high) = ((low >> by).clamp(ends[0], ends[1]), ((low >> by) + (width >> by)).clamp(ends[0], ends[1]));
        let clamp = |clamped: bool| clamped.then_some([out.min() / 2, out.max() / 3]);
        let before = [Step { form: wide, clamp: clamp(clamps[0]) }];
        let after = [Step { form: fixed, clamp: clamp(clamps[1]) }];
        let expect = bisected(&before, &after, (low, high));
        prop_assert_eq!(compare(&before, &after[0], 0, (low, high)), Ok(expect.clone()));
        prop_assert_eq!(equal_on(&before, &after, 0, (low, high)), Ok(expect.is_exact()));
        if (more, addend, clamps[0]) == (0, 0, clamps[1]) {
            prop_assert!(expect.is_exact());
        }
    }
}
