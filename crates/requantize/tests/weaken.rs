//! Tests cheaper forms that are equal on an interval.

use crate::common;

use common::{form, narrow};
use proptest::prelude::*;
use strait_requantize::decide::{DecideError, Limits, Verdict, Wanted, compare, gain, weaken};
use strait_requantize::decide::{Grids, Ideal};
use strait_requantize::{FormKind, IntType, Per, Requantization, Rounding, form, scales::litert};

fn wanted(kind: FormKind, bits: u8, rounding: Rounding) -> Wanted {
    let limits = Limits {
        bits,
        normalized: false,
        shift: 0..=62,
    };
    Wanted { kind, limits, rounding }
}

fn tf_lite(sc: i32, zp: i32, shift: u8, rounding: Rounding) -> Requantization {
    form::TfLite {
        sc: sc.into(),
        zp,
        narrowing: narrow(shift, rounding, IntType::I8),
    }
    .into()
}

#[test]
fn a_multiplication_by_one_is_a_shift() {
    let shift = wanted(FormKind::ArithFolded, 1, Rounding::HalfEven);
    let interval = Per::Tensor((-1 << 20, 1 << 20));
    let (index, found) = weaken(
        &tf_lite(1, 0, 7, Rounding::HalfEven),
        std::slice::from_ref(&shift),
        &interval,
    )
    .unwrap()
    .unwrap();
    let expect = form::ArithFolded {
        narrowing: narrow(7, Rounding::HalfEven, IntType::I8),
    };
    assert_eq!((index, found), (0, expect.into()));
    // With a zero point, or if ties that occur are rounded differently, a plain shift is not equal.
    assert_eq!(
        weaken(
            &tf_lite(1, 1, 7, Rounding::HalfEven),
            std::slice::from_ref(&shift),
            &interval
        ),
        Ok(None)
    );
    assert_eq!(
        weaken(
            &tf_lite(1, 0, 7, Rounding::HalfUp),
            std::slice::from_ref(&shift),
            &interval
        ),
        Ok(None)
    );
    // The multiplier is not a power of two, but the accumulators are so small that this makes no difference.
    let nearly = tf_lite((1 << 30) + 1, 0, 37, Rounding::HalfUp);
    let few = Per::Tensor((0, 1000));
    assert!(weaken(&nearly, &[shift], &few).unwrap().is_none());
    let up = wanted(FormKind::ArithFolded, 1, Rounding::HalfUp);
    assert!(weaken(&nearly, &[up], &few).unwrap().is_some());
}

#[test]
fn two_roundings_are_one_on_one_side_of_zero_and_a_float_is_a_multiplication() {
    let scales: Per<f32> = [0.003, 0.0071, 0.0004].into_iter().collect();
    let twice = litert::convolution(0.02, &scales, 0.1, -5, IntType::I8).unwrap();
    let (below, above) = (Per::Tensor((-200_000, -1)), Per::Tensor((0, 200_000)));
    let [shift, once] = [FormKind::ArithFolded, FormKind::TfLite].map(|kind| wanted(kind, 31, Rounding::HalfUp));
    let fixed = wanted(FormKind::Fixed, 31, Rounding::HalfUp);
    for interval in [&below, &above] {
        // The first rounding acts like an addend of 2^30 or -2^30. Forms without an addend are not equal.
        let found = weaken(&twice, &[shift.clone(), once.clone(), fixed.clone()], interval).unwrap();
        assert!(matches!(found, Some((2, Requantization::Fixed(_)))));
    }
    assert_eq!(
        weaken(&twice, &[once.clone(), fixed], &Per::Tensor((-200_000, 200_000))),
        Ok(None)
    );
    // On these intervals, rounding to f32 does not turn any product into a tie. With a factor of 0.0006, the
    // accumulator 7500 would become the tie 4.5.
    let float = Requantization::from(form::Float {
        scale: [0.000_613_7_f32, 0.001_423_51].into_iter().collect(),
        zp: -5,
        out: IntType::I8,
    });
    let interval = [(-20_000, 20_000), (-9_000, 5_000)].into_iter().collect();
    assert!(weaken(&float, &[once], &interval).unwrap().is_some());
}

#[test]
fn common_powers_of_two_go_also_where_results_are_wide() {
    let wide = |sc: i32, add: i64, shift| {
        Requantization::from(form::Fixed {
            sc: sc.into(),
            add: add.into(),
            zp: 3,
            narrowing: narrow(shift, Rounding::HalfEven, IntType::I32),
        })
    };
    let fixed = wanted(FormKind::Fixed, 15, Rounding::HalfEven);
    let interval = Per::Tensor((-1 << 28, 1 << 28));
    let found = weaken(&wide(5 << 20, 3 << 20, 24), std::slice::from_ref(&fixed), &interval);
    assert_eq!(found, Ok(Some((0, wide(5, 3, 4)))));
    assert_eq!(weaken(&wide((5 << 20) + 1, 3 << 20, 24), &[fixed], &interval), Ok(None));
}

#[test]
fn what_a_runtime_derives_is_measured_against_the_best() {
    let (x, w, y) = (0.02f32, 0.003f32, 0.1f32);
    let runtime = litert::convolution(x, &w.into(), y, -5, IntType::I8).unwrap().into();
    let factor = f64::from(x) * f64::from(w) / f64::from(y);
    let grids = Grids {
        input_zero: 0,
        output_zero: -5,
        zero_inside: false,
        out: IntType::I8,
    };
    let ideal = Ideal::new(factor, Rounding::HalfUp, grids).unwrap();
    let limits = Limits {
        bits: 7,
        normalized: true,
        shift: 0..=62,
    };
    let gain = gain(&runtime, 0, &ideal, Some(&limits), (-200_000, 200_000)).unwrap();
    // Two roundings with a 31-bit multiplier, compared with the best single rounding with a 7-bit multiplier.
    let best = gain.best.as_ref().unwrap().deviation.unwrap();
    assert!(gain.runtime.differing < best.differing && !gain.is_any());
}

proptest! {
    #[test]
    fn whatever_is_found_is_equal_and_within_the_limits(
        form in form(), bits in 1u8..=31, rounding in common::rounding(), low in -40_000i64..40_000, width in 0i64..60_000,
        last in 10u8..=62,
    ) {
        let interval = (low, low + width);
        let limits = Limits { bits, normalized: false, shift: 0..=last };
        for kind in FormKind::ALL {
            let wanted = Wanted { kind, limits: limits.clone(), rounding };
            match weaken(&form, &[wanted], &Per::Tensor(interval)) {
                Ok(None) => {}
                Ok(Some((_, found))) => {
                    prop_assert_eq!(found.kind(), kind);
                    prop_assert_eq!(found.check(), Ok(()));
                    prop_assert_eq!(compare(&[form.clone().into()], &found.clone().into(), 0, interval), Ok(Verdict::Exact));
                    if let Some(narrowing) = found.narrowing() {
                        prop_assert!(narrowing.shift.all(|s| *s <= last) && narrowing.rounding == rounding);
                    }
                }
                Err(error) => prop_assert!(matches!(error, DecideError::Domain(_)), "{}", error),
            }
        }
    }

    #[test]
    fn a_form_is_found_again_in_its_own_kind(sc in 1i32..1 << 15, zp in -100i32..100, shift in 15u8..30, rounding in common::rounding()) {
        let form = tf_lite(sc, zp, shift, rounding);
        let interval = Per::Tensor((-100_000, 100_000));
        for kind in [FormKind::TfLite, FormKind::FractionalZero, FormKind::Fixed, FormKind::Steps] {
            // If the zero point is added before the rounding, the sign and the parity of the rounded number change.
            let same = kind != FormKind::FractionalZero && kind != FormKind::Fixed
                || matches!(rounding, Rounding::Floor | Rounding::Ceil | Rounding::HalfUp | Rounding::HalfDown);
            let found = weaken(&form, &[wanted(kind, 15, rounding)], &interval).unwrap();
            prop_assert!(found.is_some() || !same, "{} {:?}", kind, found);
        }
    }
}
