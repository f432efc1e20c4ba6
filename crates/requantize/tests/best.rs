//! Tests ideal functions and the integers nearest to them against every multiplier and shift of small ranges.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use proptest::prelude::*;
use strait_requantize::decide::{
    Best, Chain, DecideError, Deviation, Grids, Ideal, Limits, MAX_STEPS, Optimality, Thresholds, best, deviation,
    difference, exact_addends, exact_factors,
};
use strait_requantize::form::{Affine, Fixed, Float, TfLite};
use strait_requantize::{IntType, Narrowing, Requantization, Rounding, Step, Verdict};

fn step(a: &Affine, out: IntType) -> Step {
    let narrowing = Narrowing {
        shift: a.shift.into(),
        rounding: a.rounding,
        out,
    };
    Requantization::from(Fixed {
        sc: a.factor.into(),
        add: a.addend.into(),
        zp: a.zero_point,
        narrowing,
    })
    .into()
}

fn thresholds(ideal: &Ideal, interval: (i64, i64)) -> Result<Thresholds, DecideError> {
    Thresholds::by_bisection(interval, |x| ideal.eval(x))
}

fn grids() -> impl Strategy<Value = Grids> {
    (-3i32..3, -20i32..20, any::<bool>(), common::int_type()).prop_map(|(input_zero, output_zero, zero_inside, out)| {
        Grids {
            input_zero,
            output_zero,
            zero_inside,
            out,
        }
    })
}

/// A factor for which about every second case has ties at small accumulators.
fn factor() -> impl Strategy<Value = f64> {
    prop_oneof![
        (1u32..200, 0i32..9).prop_map(|(m, n)| f64::from(m) / 2f64.powi(n)),
        1e-4f64..3.0
    ]
}

/// The key by which integers are compared. The smallest key is the best.
type Key = (u32, u128, f64, u8);

proptest! {
    #[test]
    fn the_ideal_is_the_exact_product_rounded(m in 1i64..2000, n in 0i32..12, grids in grids(), rounding in common::rounding(), x in -900i64..900) {
        let ideal = Ideal::new(m as f64 / 2f64.powi(n), rounding, grids).unwrap();
        let (z_x, z) = (i64::from(grids.input_zero), i64::from(grids.output_zero));
        let (n, product) = (n as u8, m * (x - z_x));
        let expect = if grids.zero_inside { rounding.shift_right(product + (z << n), n) } else { rounding.shift_right(product, n) + z };
        prop_assert_eq!(ideal.eval(x), Ok(grids.out.saturate(expect)));
    }

    #[test]
    fn functions_whose_parameters_do_not_tell_are_held_against_the_ideal_by_their_thresholds(
        factor in factor(), grids in grids(), rounding in common::rounding(), off in 0.9f64..1.1, low in -3000i64..3000,
        width in 0i64..3000,
    ) {
        let ideal = Ideal::new(factor, rounding, grids).unwrap();
        let form = Float { scale: ((factor * off) as f32).into(), zp: grids.output_zero, out: grids.out };
        let steps = [Step::from(Requantization::from(form))];
        let (chain, interval) = (Chain::new(&steps, 0).unwrap(), (low, low + width));
        let apart = |x: i64| chain.eval(x).unwrap().abs_diff(ideal.eval(x).unwrap());
        let max_lsb = (low..=low + width).map(apart).max().unwrap();
        let found = ideal.deviation(&steps, 0, interval).unwrap();
        prop_assert_eq!(found.max_lsb, max_lsb);
        prop_assert_eq!(found.differing, (low..=low + width).filter(|x| apart(*x) > 0).count() as u128);
        let witness = (low..=low + width).find(|x| max_lsb == 0 || apart(*x) == max_lsb);
        prop_assert_eq!(Some(found.witness), witness);
    }

    #[test]
    fn the_exact_sets_are_those_of_brute_force(
        factor in 0i32..60, addend in -200i64..200, shift in 0u8..7, zero_point in -5i32..5, other in -2i64..2,
        rounding in common::rounding(), out in common::int_type(), low in -60i64..60, width in 0i64..60,
    ) {
        let form = Affine { factor, addend, shift, rounding, zero_point };
        let interval = (low, low + width);
        let target = Thresholds::of(&[step(&Affine { addend: addend + other, ..form }, out)], 0, interval).unwrap();
        let equal = |a: &Affine| difference(&target, &Thresholds::of(&[step(a, out)], 0, interval).unwrap()) == Verdict::Exact;
        let factors = exact_factors(&target, &form, out);
        for factor in 0..80 {
            let inside = factors.as_ref().is_some_and(|f| f.contains(&factor));
            prop_assert_eq!(inside, equal(&Affine { factor, ..form }), "{}", factor);
        }
        let addends = exact_addends(&target, &form, out);
        for addend in addend - 40..addend + 40 {
            let inside = addends.as_ref().is_some_and(|a| a.contains(&addend));
            prop_assert_eq!(inside, equal(&Affine { addend, ..form }), "{}", addend);
        }
    }

    #[test]
    fn nothing_within_the_limits_is_better(
        factor in factor(), grids in grids(), rounding in common::rounding(), bits in 1u8..7, normalized in any::<bool>(),
        least in 0u8..5, span in 0u8..9, low in -60i64..20, width in 0i64..80,
    ) {
        let limits = Limits { bits, normalized, shift: least..=least + span };
        let ideal = Ideal::new(factor, rounding, grids).unwrap();
        let interval = (low, low + width);
        let target = thresholds(&ideal, interval).unwrap();
        let key = |a: &Affine| -> (Key, Deviation) {
            let own = Thresholds::of(&[step(a, grids.out)], 0, interval).unwrap();
            let differing = (low..=low + width).filter(|x| own.eval(*x) != target.eval(*x)).count();
            let max_lsb = (low..=low + width).map(|x| own.eval(x).abs_diff(target.eval(x))).max().unwrap();
            // This is exact, because the numbers have few bits.
            let distance = (f64::from(a.factor) / 2f64.powi(a.shift.into()) - factor).abs();
            let found = ideal.deviation(&[step(a, grids.out)], 0, interval).unwrap();
            ((max_lsb, differing as u128, distance, a.shift), found)
        };
        let found = best(&ideal, &limits, interval).unwrap();
        let (own, own_deviation) = key(&found.affine);
        prop_assert_eq!(found.found(), Optimality::Optimal);
        let deviation = found.deviation.unwrap();
        prop_assert_eq!(own_deviation, deviation);
        prop_assert_eq!((own.0, own.1), (deviation.max_lsb, deviation.differing));
        let least_multiplier = if normalized { 1 << (bits - 1) } else { 0 };
        prop_assert!((least_multiplier..1 << bits).contains(&found.affine.factor));
        prop_assert!(limits.shift.contains(&found.affine.shift));
        for shift in limits.shift.clone() {
            for factor in least_multiplier..1 << bits {
                let inside = if grids.zero_inside { i64::from(grids.output_zero) << shift } else { 0 };
                let other = Affine {
                    factor, shift, rounding,
                    addend: inside - i64::from(grids.input_zero) * i64::from(factor),
                    zero_point: if grids.zero_inside { 0 } else { grids.output_zero },
                };
                prop_assert!(own <= key(&other).0, "{:?} is better than {:?}", other, found);
            }
        }
    }
}

/// The ideal function of a factor, with 32-bit results, and limits within which no multiplier gives the factor exactly.
fn wide(factor: f64) -> (Ideal, Limits) {
    let grids = Grids {
        input_zero: 0,
        output_zero: 0,
        zero_inside: false,
        out: IntType::I32,
    };
    let limits = Limits {
        bits: 5,
        normalized: false,
        shift: 0..=8,
    };
    (Ideal::new(factor, Rounding::HalfEven, grids).unwrap(), limits)
}

/// The results have more thresholds than can be listed, but there are so few accumulators that each can be compared.
#[test]
fn wide_results_of_few_accumulators_are_compared_one_by_one() {
    for (factor, interval) in [(30.3, (-40, 5_000)), (2_900.7, (0, 60)), (30.97, (-3_000, 2))] {
        let (ideal, limits) = wide(factor);
        let found = best(&ideal, &limits, interval).unwrap();
        assert!(thresholds(&ideal, interval).is_err() && found.found() == Optimality::Optimal);
        let key = |m: i32, n: u8| {
            let form = Affine {
                factor: m,
                addend: 0,
                shift: n,
                rounding: Rounding::HalfEven,
                zero_point: 0,
            };
            let form = step(&form, IntType::I32);
            let own = |x| form.eval(0, x).unwrap().abs_diff(ideal.eval(x).unwrap());
            let max_lsb = (interval.0..=interval.1).map(own).max().unwrap();
            (max_lsb, (interval.0..=interval.1).filter(|x| own(*x) > 0).count())
        };
        let own = key(found.affine.factor, found.affine.shift);
        let deviation = found.deviation.unwrap();
        assert_eq!(own, (deviation.max_lsb, deviation.differing as usize));
        for n in 0..=8 {
            for m in 0..32 {
                assert!(own <= key(m, n), "{factor}: {m} / 2^{n} is better than {found:?}");
            }
        }
    }
}

/// The interval has one accumulator more than may be compared. The limits are the same.
#[test]
fn what_takes_more_comparisons_is_the_nearest_to_the_factor_and_called_best_found() {
    let (ideal, limits) = wide(30.3);
    let most = i64::from(MAX_STEPS);
    let compared = best(&ideal, &limits, (0, most)).unwrap();
    assert_eq!(compared.found(), Optimality::Optimal);
    let found = best(&ideal, &limits, (0, most + 1)).unwrap();
    assert_eq!((found.found(), found.deviation), (Optimality::BestFound, None));
    let distance = |a: &Affine| (f64::from(a.factor) / 2f64.powi(a.shift.into()) - 30.3).abs();
    for n in 0..=8u8 {
        for factor in 0..32 {
            let other = Affine {
                factor,
                shift: n,
                ..found.affine
            };
            assert!(
                distance(&found.affine) <= distance(&other),
                "{other:?} is nearer than {found:?}"
            );
        }
    }
    let of = |a: &Affine| ideal.deviation(&[step(a, IntType::I32)], 0, (0, most + 1));
    assert!(matches!(of(&found.affine), Err(DecideError::TooManySteps { .. })));
}

/// If the zero point is added before the shift, the addend is only legal for smaller shifts.
#[test]
fn shifts_at_which_the_addend_is_not_legal_are_left_out() {
    let grids = Grids {
        input_zero: 3,
        output_zero: -120,
        zero_inside: true,
        out: IntType::I8,
    };
    let ideal = Ideal::new(1e-10, Rounding::HalfUp, grids).unwrap();
    let limits = Limits {
        bits: 31,
        normalized: false,
        shift: 0..=62,
    };
    let found = best(&ideal, &limits, (-1 << 31, 1 << 31)).unwrap();
    // 120 * 2^54 is at most 2^61, and 120 * 2^55 is not.
    let value = f64::from(found.affine.factor) / 2f64.powi(found.affine.shift.into());
    assert!((value - 1e-10).abs() < 2f64.powi(-54));
    assert_eq!(found.found(), Optimality::Optimal);
}

#[test]
fn thirty_one_bits_are_the_ideal_function_and_seven_are_not() {
    let grids = Grids {
        input_zero: 0,
        output_zero: -128,
        zero_inside: false,
        out: IntType::I8,
    };
    let ideal = Ideal::new(0.02 * 0.003 / 0.1, Rounding::HalfUp, grids).unwrap();
    let of = |bits| {
        let limits = Limits {
            bits,
            normalized: true,
            shift: 0..=62,
        };
        best(&ideal, &limits, (-1 << 20, 1 << 20)).unwrap()
    };
    let (wide, narrow) = (of(31), of(7));
    let lsb = |best: &Best| best.deviation.unwrap().max_lsb;
    assert_eq!(lsb(&wide), 0);
    let thresholds = thresholds(&ideal, (-1 << 20, 1 << 20)).unwrap();
    let exact = |best: &Best| exact_factors(&thresholds, &best.affine, IntType::I8);
    assert!(exact(&wide).unwrap().contains(&wide.affine.factor));
    assert!(lsb(&narrow) > 0 && exact(&narrow).is_none());
    // LiteRT's rule, which takes the nearest multiplier, gives the same one.
    let form = strait_requantize::scales::fixed_point::tf_lite(
        &(0.02 * 0.003 / 0.1).into(),
        31,
        -128,
        Rounding::HalfUp,
        IntType::I8,
    );
    let Ok(Requantization::TfLite(TfLite { sc, .. })) = form else {
        panic!()
    };
    assert_eq!(sc.get(0), Some(&wide.affine.factor));
}

#[test]
fn what_has_no_answer_is_an_error() {
    let grids = Grids {
        input_zero: 0,
        output_zero: 0,
        zero_inside: false,
        out: IntType::I32,
    };
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e10] {
        assert!(Ideal::new(factor, Rounding::Floor, grids).is_err(), "{factor}");
    }
    let ideal = Ideal::new(0.5, Rounding::Floor, grids).unwrap();
    assert_eq!(ideal.eval(1 << 51), Err(DecideError::Distant(1 << 51)));
    assert!(matches!(
        thresholds(&ideal, (-1 << 20, 1 << 20)),
        Err(DecideError::TooManySteps { .. })
    ));
    let plain = [step(
        &Affine {
            factor: 1,
            addend: 0,
            shift: 1,
            rounding: Rounding::Floor,
            zero_point: 0,
        },
        IntType::I32,
    )];
    assert_eq!(deviation(&plain, &plain, 0, (-100, 100)).unwrap().max_lsb, 0);
}
