//! Tests every form against an independent implementation of its arithmetic.

use crate::common;

use common::{form, narrow};
use proptest::prelude::*;
use strait_requantize::{
    FormError, FormKind, IntType, Per, Requantization, Rounding,
    form::{self, MAX_ADDEND, MAX_SHIFT},
};

/// Computes gemmlowp's `SaturatingRoundingDoublingHighMul` and `RoundingDivideByPOT` as gemmlowp defines them, with
/// nudges and a truncating division, but in a type in which nothing overflows.
fn gemmlowp(x: i32, multiplier: i32, exponent: i8) -> i128 {
    let left = exponent.max(0);
    let right = -exponent.min(0);
    let a = i128::from(x) << left;
    let b = i128::from(multiplier);
    let nudge = if a * b >= 0 { 1i128 << 30 } else { 1 - (1i128 << 30) };
    let high = (a * b + nudge) / (1i128 << 31);
    let mask = (1i128 << right) - 1;
    let remainder = high & mask;
    let threshold = (mask >> 1) + i128::from(high < 0);
    (high >> right) + i128::from(remainder > threshold)
}

/// LiteRT's multiplication with a single rounding: half of the divisor is added, and then the sum is shifted.
fn single_rounding(x: i32, multiplier: i32, exponent: i8) -> i128 {
    let shift = 31 - i32::from(exponent);
    (i128::from(x) * i128::from(multiplier) + (1i128 << (shift - 1))) >> shift
}

fn saturate(x: i128, out: IntType) -> i32 {
    x.clamp(i128::from(out.min()), i128::from(out.max())) as i32
}

#[test]
fn names_are_those_of_the_files() {
    fn check<T: serde::Serialize>(value: T, name: &str) {
        assert_eq!(serde_json::to_value(value).unwrap(), name);
    }
    Rounding::ALL.into_iter().for_each(|r| check(r, r.name()));
    IntType::ALL.into_iter().for_each(|t| check(t, t.name()));
    for kind in FormKind::ALL {
        check(kind, kind.name());
        assert_eq!(FormKind::parse(kind.name()), Some(kind));
    }
    let form = Requantization::TfLite(form::TfLite {
        sc: 3.into(),
        zp: -1,
        narrowing: narrow(7, Rounding::HalfEven, IntType::I8),
    });
    let text = r#"{"tf_lite":{"sc":{"tensor":3},"zp":-1,"narrowing":{"shift":{"tensor":7},"rounding":"half_even","out":"i8"}}}"#;
    assert_eq!(serde_json::to_string(&form).unwrap(), text);
    assert_eq!(serde_json::from_str::<Requantization>(text).unwrap(), form);
    assert!(serde_json::from_str::<Requantization>(&text.replace("\"zp\"", "\"zq\"")).is_err());
}

#[test]
fn plain_shifts_of_all_16_bit_accumulators() {
    for rounding in Rounding::ALL {
        for shift in 0..=17 {
            for out in [IntType::I8, IntType::U8] {
                let form = Requantization::ArithFolded(form::ArithFolded {
                    narrowing: narrow(shift, rounding, out),
                });
                let channel = form.channel(0).unwrap();
                for x in i16::MIN..=i16::MAX {
                    // This is exact: the quotient of a 16-bit integer and a power of two is an f64.
                    let rounded = rounding.round_f64(f64::from(x) / f64::from(1u32 << shift));
                    let expect = rounded.clamp(f64::from(out.min()), f64::from(out.max())) as i32;
                    assert_eq!(channel.eval(i64::from(x)), Ok(expect), "{rounding} {x} >> {shift}");
                }
            }
        }
    }
}

#[test]
fn a_left_shift_that_would_wrap_is_outside_the_domain() {
    // The factor is 1.5. In i32, twice 2^30 wraps to -2^31, and the runtime would compute -1610612736 instead of
    // 1610612736.
    let form = Requantization::Gemmlowp(form::Gemmlowp {
        multiplier: 0x6000_0000.into(),
        exponent: 1.into(),
        zp: 0,
        roundings: form::Roundings::Two,
        out: IntType::I32,
    });
    assert_eq!(form.domain(0), -(1 << 30)..=(1 << 30) - 1);
    assert_eq!(form.eval(0, (1 << 30) - 1), Ok(1_610_612_735));
    assert_eq!(form.eval(0, -(1 << 30)), Ok(-1_610_612_736));
    let error = form.eval(0, 1 << 30).unwrap_err();
    assert_eq!(
        (error.kind, error.acc, error.domain),
        (FormKind::Gemmlowp, 1 << 30, form.domain(0))
    );
    assert!(form.eval(0, i64::MIN).is_err() && form.eval(0, i64::MAX).is_err());
}

#[test]
fn a_zero_point_that_would_wrap_is_outside_the_domain() {
    let form = Requantization::Gemmlowp(form::Gemmlowp {
        multiplier: i32::MAX.into(),
        exponent: 0.into(),
        zp: 100,
        roundings: form::Roundings::Two,
        out: IntType::I8,
    });
    let high = *form.domain(0).end();
    assert_eq!(gemmlowp(high as i32, i32::MAX, 0) + 100, i128::from(i32::MAX));
    assert!(gemmlowp(high as i32 + 1, i32::MAX, 0) + 100 > i128::from(i32::MAX));
    assert_eq!(form.eval(0, high), Ok(127));
}

#[test]
fn one_rounding_and_two_differ_where_the_first_makes_a_tie() {
    // 3 * 2^30 / 2^31 = 1.5 is rounded to 2, and 2 / 4 is a tie that is rounded to 1. But 3 / 8 is below one half.
    let (multiplier, exponent) = (1 << 30, -2);
    assert_eq!(gemmlowp(3, multiplier, exponent), 1);
    assert_eq!(single_rounding(3, multiplier, exponent), 0);
    let twice = Requantization::Gemmlowp(form::Gemmlowp {
        multiplier: multiplier.into(),
        exponent: exponent.into(),
        zp: 0,
        roundings: form::Roundings::Two,
        out: IntType::I8,
    });
    let once = Requantization::TfLite(form::TfLite {
        sc: multiplier.into(),
        zp: 0,
        narrowing: narrow(33, Rounding::HalfUp, IntType::I8),
    });
    assert_eq!((twice.eval(0, 3), once.eval(0, 3)), (Ok(1), Ok(0)));
}

#[test]
fn float_rounds_the_accumulator_the_product_and_the_result() {
    let form = |scale: f32, zp, out| {
        Requantization::Float(form::Float {
            scale: scale.into(),
            zp,
            out,
        })
    };
    // 2^24 + 1 is not an f32. It is rounded to 2^24.
    assert_eq!(form(1.0, 0, IntType::I32).eval(0, (1 << 24) + 1), Ok(1 << 24));
    // Ties are rounded to even, and then the odd zero point is added.
    assert_eq!(form(0.5, 1, IntType::I8).eval(0, 1), Ok(1));
    assert_eq!(form(0.5, 1, IntType::I8).eval(0, 3), Ok(3));
    assert_eq!(form(f32::MAX, -5, IntType::I8).eval(0, i64::from(i32::MAX)), Ok(127));
    assert_eq!(
        form(f32::MAX, -5, IntType::I32).eval(0, i64::from(i32::MIN)),
        Ok(i32::MIN)
    );
    assert!(form(1.0, 0, IntType::I8).eval(0, 1 << 31).is_err());
}

#[test]
fn steps_count_the_thresholds_passed() {
    let thresholds = [[-5, 0, 0, 7].into(), [1].into()].into();
    let form = Requantization::Steps(form::Steps {
        thresholds,
        lowest: 2,
        out: IntType::U8,
    });
    assert_eq!(form.check(), Ok(()));
    assert_eq!(form.channels(), Some(2));
    for (x, y) in [(-6, 2), (-5, 3), (-1, 3), (0, 5), (6, 5), (7, 6)] {
        assert_eq!(form.eval(0, x), Ok(y));
    }
    assert_eq!((form.eval(1, 0), form.eval(1, 1)), (Ok(2), Ok(3)));
    assert!(form.domain(2).is_empty() && form.eval(2, 0).is_err());
}

#[test]
fn identities_are_recognised_by_their_function() {
    let full = narrow(0, Rounding::Floor, IntType::I32);
    let folded = |shift| {
        Requantization::ArithFolded(form::ArithFolded {
            narrowing: narrow(shift, Rounding::HalfUp, IntType::I8),
        })
    };
    let tf_lite = |sc: i32, zp, shift| {
        Requantization::TfLite(form::TfLite {
            sc: sc.into(),
            zp,
            narrowing: narrow(shift, Rounding::Ceil, IntType::I16),
        })
    };
    let gemmlowp = |exponent: i8, zp| {
        Requantization::Gemmlowp(form::Gemmlowp {
            multiplier: (1 << 30).into(),
            exponent: exponent.into(),
            zp,
            roundings: form::Roundings::Two,
            out: IntType::I8,
        })
    };
    let float = |scale: f32, out| {
        Requantization::Float(form::Float {
            scale: scale.into(),
            zp: 0,
            out,
        })
    };
    let steps = |lowest, out| {
        Requantization::Steps(form::Steps {
            thresholds: [(lowest + 1..=127).collect()].into(),
            lowest,
            out,
        })
    };
    let cases = [
        (Requantization::ArithFolded(form::ArithFolded { narrowing: full }), true),
        (folded(0), true),
        (folded(1), false),
        (tf_lite(1 << 15, 0, 15), true),
        (tf_lite(1 << 15, 1, 15), false),
        (tf_lite(1 << 14, 0, 15), false),
        (gemmlowp(1, 0), true),
        (gemmlowp(0, 0), false),
        (gemmlowp(1, 1), false),
        (float(1.0, IntType::I16), true),
        (float(1.0, IntType::I32), false),
        (float(0.5, IntType::I16), false),
        (steps(-128, IntType::I8), true),
        (steps(-127, IntType::I8), false),
        (steps(0, IntType::U8), false),
    ];
    for (form, expect) in cases {
        assert_eq!(form.is_identity(), expect, "{form:?}");
        let kept = |x: i32| form.eval(0, i64::from(x)) == Ok(form.out().saturate(i64::from(x)));
        let probes = [
            -40_000,
            -129,
            -128,
            -127,
            -1,
            0,
            1,
            2,
            3,
            126,
            127,
            128,
            255,
            40_000,
            (1 << 24) + 1,
        ];
        assert_eq!(probes.into_iter().all(kept), expect, "{form:?}");
    }
}

#[test]
fn what_is_not_legal_has_a_reason_and_no_domain() {
    let range = |field, value, range| FormError::Range {
        field,
        channel: 0,
        value,
        range,
    };
    let out = IntType::I8;
    let fixed = |sc: i32, add: i64, shift: u8| {
        Requantization::Fixed(form::Fixed {
            sc: sc.into(),
            add: add.into(),
            zp: 0,
            narrowing: narrow(shift, Rounding::Floor, out),
        })
    };
    let gemmlowp = |multiplier: i32, exponent: i8| {
        Requantization::Gemmlowp(form::Gemmlowp {
            multiplier: multiplier.into(),
            exponent: exponent.into(),
            zp: 0,
            roundings: form::Roundings::Two,
            out,
        })
    };
    let float = |scale: f32| {
        Requantization::Float(form::Float {
            scale: scale.into(),
            zp: 0,
            out,
        })
    };
    let float64 = |multiplier: i64, exponent: i8| {
        Requantization::Float64(form::Float64 {
            multiplier: multiplier.into(),
            exponent: exponent.into(),
            zp: 0,
            out,
        })
    };
    let steps = |thresholds: &[i32], lowest, out| {
        Requantization::Steps(form::Steps {
            thresholds: [thresholds.into()].into(),
            lowest,
            out,
        })
    };
    let codes = |count, lowest| FormError::Codes {
        channel: 0,
        count,
        lowest,
        out,
    };
    let cases = [
        (fixed(-1, 0, 0), FormError::NegativeFactor { channel: 0, factor: -1 }),
        (
            fixed(1, MAX_ADDEND + 1, 0),
            FormError::Addend {
                channel: 0,
                addend: MAX_ADDEND + 1,
            },
        ),
        (
            fixed(1, i64::MIN, 0),
            FormError::Addend {
                channel: 0,
                addend: i64::MIN,
            },
        ),
        (
            fixed(1, 0, MAX_SHIFT + 1),
            range("shift", i64::from(MAX_SHIFT) + 1, 0..=62),
        ),
        (fixed(1, 0, 255), range("shift", 255, 0..=62)),
        (gemmlowp(-1, 0), FormError::NegativeFactor { channel: 0, factor: -1 }),
        (gemmlowp(1, 31), range("exponent", 31, -31..=30)),
        (gemmlowp(1, -32), range("exponent", -32, -31..=30)),
        (gemmlowp(1, i8::MIN), range("exponent", -128, -31..=30)),
        (float(0.0), FormError::Scale { channel: 0, scale: 0.0 }),
        (
            float(-1.0),
            FormError::Scale {
                channel: 0,
                scale: -1.0,
            },
        ),
        (
            float(f32::INFINITY),
            FormError::Scale {
                channel: 0,
                scale: f32::INFINITY,
            },
        ),
        (
            float64((1 << 52) - 1, 0),
            range("multiplier", (1 << 52) - 1, 1 << 52..=(1 << 53) - 1),
        ),
        (
            float64(1 << 53, 0),
            range("multiplier", 1 << 53, 1 << 52..=(1 << 53) - 1),
        ),
        (float64(1 << 52, 32), range("exponent", 32, -128..=31)),
        (steps(&[2, 1], 0, out), FormError::Unsorted { channel: 0, index: 1 }),
        (steps(&[1, 2], 126, out), codes(2, 126)),
        (steps(&[1], -129, out), codes(1, -129)),
        (steps(&[1], i32::MIN, out), codes(1, i32::MIN)),
        (steps(&[1], 0, IntType::I16), FormError::StepsOut { out: IntType::I16 }),
    ];
    for (form, error) in cases {
        assert_eq!(form.check(), Err(error), "{form:?}");
        assert!(
            form.domain(0).is_empty() && form.eval(0, 0).is_err() && !form.is_identity(),
            "{form:?}"
        );
    }
    let nan = float(f32::NAN);
    assert!(matches!(nan.check(), Err(FormError::Scale { .. })) && nan.eval(0, 0).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn doubling_equals_a_port_of_gemmlowp(
        x: i32, scale in 0u8..31, multiplier in 0..=i32::MAX, exponent in -31i8..=30, zp in -200i32..200,
        out in common::int_type(),
    ) {
        let x = x >> scale;
        let form = Requantization::Gemmlowp(form::Gemmlowp { multiplier: multiplier.into(), exponent: exponent.into(), zp, roundings: form::Roundings::Two, out });
        let wide = gemmlowp(x, multiplier, exponent) + i128::from(zp);
        let fits = |v: i128| i32::try_from(v).is_ok();
        let expect = fits(i128::from(x) << exponent.max(0)) && fits(wide);
        prop_assert_eq!(form.domain(0).contains(&i64::from(x)), expect);
        match form.eval(0, i64::from(x)) {
            Ok(y) => prop_assert_eq!(y, saturate(wide, out)),
            Err(_) => prop_assert!(!expect),
        }
    }

    #[test]
    fn one_rounding_is_the_form_tf_lite_with_half_up(
        x: i32, scale in 0u8..31, multiplier in 0..=i32::MAX, exponent in -31i8..=30, zp in -200i32..200,
    ) {
        let x = x >> scale;
        let narrowing = narrow((31 - exponent) as u8, Rounding::HalfUp, IntType::I8);
        let form = Requantization::TfLite(form::TfLite { sc: multiplier.into(), zp, narrowing });
        let expect = saturate(single_rounding(x, multiplier, exponent) + i128::from(zp), IntType::I8);
        prop_assert_eq!(form.eval(0, i64::from(x)), Ok(expect));
    }

    #[test]
    fn two_roundings_are_one_shift_with_a_nudge_by_sign(
        x: i32, scale in 0u8..31, multiplier in 0..=i32::MAX, exponent in -30i8..=-1,
    ) {
        // TOSA's double rounding: (x * m + 2^(s-1) +- 2^30) >> s, with plus for x >= 0 and s = 31 - exponent.
        let (x, shift) = (x >> scale, 31 - i32::from(exponent));
        let nudge = (1i128 << (shift - 1)) + if x >= 0 { 1i128 << 30 } else { -(1i128 << 30) };
        let tosa = (i128::from(x) * i128::from(multiplier) + nudge) >> shift;
        prop_assert_eq!(tosa, gemmlowp(x, multiplier, exponent));
    }

    #[test]
    fn multiply_add_shift_equals_its_formula(
        x: i32, sc in 0..=i32::MAX, add in -MAX_ADDEND..=MAX_ADDEND, zp: i32, shift in 0..=MAX_SHIFT,
        rounding in common::rounding(), out in common::int_type(),
    ) {
        let narrowing = narrow(shift, rounding, out);
        let rounded = |p: i128| rounding.shift_right_wide(p, shift);
        let (sc_, product) = (Per::Tensor(sc), i128::from(x) * i128::from(sc));
        let cases = [
            (Requantization::ArithFolded(form::ArithFolded { narrowing: narrowing.clone() }), rounded(i128::from(x))),
            (Requantization::FractionalZero(form::FractionalZero { sc: sc_.clone(), zp: add.into(), narrowing: narrowing.clone() }),
                rounded(product + i128::from(add))),
            (Requantization::TfLite(form::TfLite { sc: sc_.clone(), zp, narrowing: narrowing.clone() }),
                rounded(product) + i128::from(zp)),
            (Requantization::Fixed(form::Fixed { sc: sc_, add: add.into(), zp, narrowing }),
                rounded(product + i128::from(add)) + i128::from(zp)),
        ];
        for (form, wide) in cases {
            // For every legal form of this family, every i32 accumulator is inside the domain.
            prop_assert_eq!(form.eval(0, i64::from(x)), Ok(saturate(wide, out)), "{:?}", form);
            // Nothing overflows at the ends of the domain. (Tests are built with overflow checks.)
            let (low, high) = form.domain(0).into_inner();
            let (least, most) = (form.eval(0, low).unwrap(), form.eval(0, high).unwrap());
            prop_assert!(least <= saturate(wide, out) && saturate(wide, out) <= most);
        }
    }

    #[test]
    fn evaluation_never_panics_and_answers_inside_the_domain_only(form in form(), acc: i64) {
        prop_assert_eq!(form.check(), Ok(()));
        let domain = form.domain(0);
        for x in [acc, acc >> 30, *domain.start(), *domain.end(), i64::MIN, i64::MAX] {
            prop_assert_eq!(form.eval(0, x).is_ok(), domain.contains(&x));
        }
        // Real zero is inside the domain. For an unsigned input, its code need not be 0.
        let zero = match &form {
            Requantization::TosaRescale(f) => f.input_zp.into(),
            _ => 0,
        };
        prop_assert!(domain.contains(&zero));
        prop_assert!(form.eval(0, domain.start() - 1).is_err() && form.eval(0, domain.end() + 1).is_err());
    }

    #[test]
    fn forms_do_not_decrease(form in form(), a: i32, b: i32, scale in 0u8..28) {
        let (low, high) = (a.min(b) >> scale, a.max(b) >> scale);
        if let (Ok(low), Ok(high)) = (form.eval(0, i64::from(low)), form.eval(0, i64::from(high))) {
            prop_assert!(low <= high);
        }
    }

    #[test]
    fn the_inverse_is_the_first_accumulator_that_reaches_a_value(form in form(), code in -300i64..300) {
        let channel = form.channel(0).unwrap();
        let (low, high) = channel.domain().into_inner();
        // Any code, the smallest code of the form, the next one, and numbers beyond all codes.
        let first = i64::from(channel.eval(low).unwrap());
        for code in [code, first, first + 1, i64::MIN, i64::MAX] {
            let least = channel.least_reaching(code);
            prop_assert!((low..=high + 1).contains(&least));
            if least <= high {
                prop_assert!(i64::from(channel.eval(least).unwrap()) >= code);
            }
            if least > low {
                prop_assert!(i64::from(channel.eval(least - 1).unwrap()) < code);
            }
        }
    }
}
