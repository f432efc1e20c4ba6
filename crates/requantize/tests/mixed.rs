//! Tests functions from and to `f32`, and functions of two operands.

#![allow(clippy::expect_used, reason = "tests")]

use strait_requantize::{
    FormError, IntType, Requantization, Rounding, form,
    mixed::{AscendDequant, AscendQuant, QLinearAdd, QuantizeLinear, Undefined},
};

#[test]
fn the_two_quantizations_differ_at_ties_of_odd_offsets() {
    let linear = |zero_point| QuantizeLinear {
        scale: 0.5,
        zero_point,
        out: IntType::I8,
    };
    let ascend = |offset| AscendQuant {
        scale: 2.0,
        offset,
        sqrt_mode: false,
        rounding: Rounding::HalfEven,
        out: IntType::I8,
    };
    let mut differing = vec![];
    for eighths in -400..400 {
        let x = eighths as f32 / 8.0;
        for offset in [-3, 0, 4] {
            let codes = (linear(offset).eval(x), ascend(offset as f32).eval(x));
            if codes.0 != codes.1 {
                differing.push((eighths, offset));
            }
        }
    }
    // 2x is halfway between two integers if x is an odd multiple of 1/4.
    assert!(!differing.is_empty());
    assert!(
        differing
            .iter()
            .all(|(eighths, offset)| *offset == -3 && eighths % 4 != 0 && eighths % 2 == 0)
    );
    assert_eq!((linear(-3).eval(0.25), ascend(-3.0).eval(0.25)), (Ok(-3), Ok(-2)));
}

#[test]
fn infinities_saturate_and_what_is_no_number_is_refused() {
    let linear = QuantizeLinear {
        scale: 0.1,
        zero_point: 7,
        out: IntType::U8,
    };
    assert_eq!(
        [f32::NEG_INFINITY, f32::INFINITY, -0.0].map(|x| linear.eval(x)),
        [Ok(0), Ok(255), Ok(7)]
    );
    assert_eq!(linear.eval(f32::NAN), Err(Undefined::NotANumber));
    assert_eq!(linear.check(), Ok(()));
    assert!(
        QuantizeLinear {
            zero_point: -1,
            ..linear
        }
        .check()
        .is_err()
    );
    assert!(QuantizeLinear { scale: 0.0, ..linear }.check().is_err());
    let quant = AscendQuant {
        scale: 3.0,
        offset: 0.5,
        sqrt_mode: true,
        rounding: Rounding::Floor,
        out: IntType::I8,
    };
    // 9x + 0.5
    assert_eq!(
        [1.0, -1.0, f32::INFINITY].map(|x| quant.eval(x)),
        [Ok(9), Ok(-9), Ok(127)]
    );
    assert_eq!(quant.eval(f32::NAN), Err(Undefined::NotANumber));
    assert_eq!(
        AscendQuant {
            rounding: Rounding::HalfUp,
            ..quant
        }
        .check(),
        Err(FormError::Rounding(Rounding::HalfUp))
    );
    assert!(
        AscendQuant {
            offset: f32::NAN,
            ..quant
        }
        .check()
        .is_err()
    );
}

#[test]
fn a_dequantization_and_a_quantization_are_the_form_that_says_both() {
    let (deq, scale, offset) = ([0.003f32, 0.04], 1.7f32, -9);
    for relu in [false, true] {
        let first = AscendDequant {
            scale: deq.into_iter().collect(),
            relu,
        };
        let second = AscendQuant {
            scale,
            offset: offset as f32,
            sqrt_mode: false,
            rounding: Rounding::HalfEven,
            out: IntType::I8,
        };
        let both = Requantization::from(form::DequantQuant {
            deq: deq.into_iter().collect(),
            relu,
            scale,
            offset,
            out: IntType::I8,
        });
        for channel in 0..2 {
            for x in (-70_000..70_000)
                .step_by(3)
                .chain([i64::from(i32::MIN), i64::from(i32::MAX)])
            {
                let code = first.eval(channel, x).map(|real| second.eval(real));
                assert_eq!(code, Ok(Ok(both.eval(channel, x).unwrap_or(i32::MAX))), "{x}");
            }
        }
        assert_eq!(first.eval(0, 1 << 31), Err(Undefined::Accumulator(1 << 31)));
        assert_eq!(first.eval(2, 0), Err(Undefined::Channel(2)));
    }
}

#[test]
fn a_sum_is_rounded_once_in_each_product() {
    let add = QLinearAdd {
        a: 1.0 / 3.0,
        b: 0.1,
        offset: -0.25,
        out: IntType::U8,
    };
    for x in 0..=255 {
        for y in 0..=255 {
            // Products of an f32 and eight bits are exact in f64, and so are these sums. fma rounds each sum to f32.
            let inner = (f64::from(0.1f32) * f64::from(y) - 0.25) as f32;
            let outer = (f64::from(1.0f32 / 3.0) * f64::from(x) + f64::from(inner)) as f32;
            assert_eq!(add.eval(x, y), (outer.round_ties_even() as i32).clamp(0, 255));
        }
    }
    assert!(QLinearAdd { a: -1.0, ..add }.check().is_err());
    assert!(
        QLinearAdd {
            offset: f32::INFINITY,
            ..add
        }
        .check()
        .is_err()
    );
}

#[test]
fn parameters_survive_their_text() {
    let quant = AscendQuant {
        scale: 0.1,
        offset: 3.0,
        sqrt_mode: true,
        rounding: Rounding::Ceil,
        out: IntType::I16,
    };
    let text = serde_json::to_string(&quant).expect("plain data");
    assert_eq!(serde_json::from_str::<AscendQuant>(&text).ok(), Some(quant));
    assert!(serde_json::from_str::<AscendQuant>(&text.replace("offset", "offsets")).is_err());
}
