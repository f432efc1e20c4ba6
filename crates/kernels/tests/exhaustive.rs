//! All 2^32 accumulators of some forms: the definition in `strait-requantize`, the kernels of this machine, and a third
//! statement of the arithmetic, written here for speed. Minutes: `cargo xtask test --exhaustive`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::thread;
use strait_kernels::{Context, integer::standard};
use strait_requantize::{IntType, Narrowing, Requantization, Rounding, Roundings, form};

/// Accumulators that a kernel is given at a time: in cache, with their results.
const PIECE: i64 = 1 << 16;

/// Every accumulator of `i32`, by all threads of the machine.
fn every_accumulator(form: impl Into<Requantization>, define: impl Fn(i32) -> i64 + Sync) {
    let form = form.into();
    assert_eq!(form.out(), IntType::I8);
    let loops = standard(&form, None).unwrap();
    let channel = form.channel(0).unwrap();
    let threads = thread::available_parallelism().map_or(1, usize::from) as i64;
    let share = (1i64 << 32) / PIECE / threads + 1;
    thread::scope(|scope| {
        for first in (0..threads).map(|t| i64::from(i32::MIN) + t * share * PIECE) {
            let (loops, channel, define) = (&loops, &channel, &define);
            scope.spawn(move || {
                let mut out = vec![0; PIECE as usize];
                for start in (first..first + share * PIECE).step_by(PIECE as usize) {
                    if start > i64::from(i32::MAX) {
                        break;
                    }
                    let input: Vec<u8> = (start..start + PIECE).flat_map(|x| (x as i32).to_ne_bytes()).collect();
                    loops
                        .requantize(
                            &Context::detect(),
                            [1, 1, PIECE as usize],
                            IntType::I32,
                            &input,
                            &mut out,
                        )
                        .unwrap();
                    for (x, code) in (start..).zip(&out) {
                        let expect = define(x as i32).clamp(-128, 127) as i32;
                        assert!(
                            channel.eval(x) == Ok(expect) && i32::from(*code as i8) == expect,
                            "{x}: {expect} is due, the definition says {:?} and the kernel {}",
                            channel.eval(x),
                            *code as i8
                        );
                    }
                }
            });
        }
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_shift_to_the_nearest_even() {
    let narrowing = Narrowing {
        shift: 21.into(),
        rounding: Rounding::HalfEven,
        out: IntType::I8,
    };
    every_accumulator(form::ArithFolded { narrowing }, |x| {
        let (below, rest) = (i64::from(x >> 21), x & ((1 << 21) - 1));
        below + i64::from(rest > 1 << 20 || (rest == 1 << 20 && below & 1 == 1))
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn one_rounding() {
    let form = form::Gemmlowp {
        multiplier: 0x5A82_799A.into(),
        exponent: (-22).into(),
        zp: -7,
        roundings: Roundings::One,
        out: IntType::I8,
    };
    every_accumulator(form, |x| ((i64::from(x) * 0x5A82_799A + (1 << 52)) >> 53) - 7);
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn two_roundings() {
    let form = form::Gemmlowp {
        multiplier: 0x4000_0001.into(),
        exponent: (-22).into(),
        zp: 11,
        roundings: Roundings::Two,
        out: IntType::I8,
    };
    // gemmlowp's functions as they stand, but for the division of negative numbers, which is a shift of what is nudged up.
    every_accumulator(form, |x| {
        let product = i64::from(x) * 0x4000_0001;
        let nudge = if product >= 0 { 1 << 30 } else { 1 - (1 << 30) };
        let high = (product + nudge) / (1 << 31);
        let rest = high & ((1 << 22) - 1);
        let threshold = ((1 << 22) - 1) / 2 + i64::from(high < 0);
        (high >> 22) + i64::from(rest > threshold) + 11
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn rescale_with_two_roundings() {
    let form = form::TosaRescale {
        multiplier: i32::MAX.into(),
        shift: 55.into(),
        scale32: true,
        roundings: Roundings::Two,
        input: form::TosaInput::I32,
        input_zp: 0,
        output_zp: 5,
        out: IntType::I8,
    };
    every_accumulator(form, |x| {
        let nudge = (1i64 << 54) + if x >= 0 { 1 << 30 } else { -(1 << 30) };
        ((i64::from(x) * i64::from(i32::MAX) + nudge) >> 55) + 5
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_product_in_float() {
    let scale = 5.9e-8f32;
    let form = form::Float {
        scale: scale.into(),
        zp: 3,
        out: IntType::I8,
    };
    // The conversion is exact in f64 and so is the product, which is then rounded to f32.
    every_accumulator(form, |x| {
        let product = (f64::from(f64::from(x) as f32) * f64::from(scale)) as f32;
        f64::from(product).round_ties_even() as i64 + 3
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_zero_point_inside_of_the_rounding() {
    let scale = 5.9e-8f32;
    let form = form::FloatZeroInside {
        scale: scale.into(),
        zp: 3,
        out: IntType::I8,
    };
    every_accumulator(form, |x| {
        let product = (f64::from(f64::from(x) as f32) * f64::from(scale)) as f32;
        f64::from((f64::from(product) + 3.0) as f32).round_ties_even() as i64
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_dequantization_and_a_quantization() {
    let (deq, scale) = (2.3e-7f32, 0.37f32);
    let form = form::DequantQuant {
        deq: deq.into(),
        relu: true,
        scale,
        offset: -100,
        out: IntType::I8,
    };
    every_accumulator(form, |x| {
        let real = (f64::from(f64::from(x) as f32) * f64::from(deq)) as f32;
        let real = if real < 0.0 { 0.0 } else { real };
        let product = (f64::from(real) * f64::from(scale)) as f32;
        f64::from((f64::from(product) - 100.0) as f32).round_ties_even() as i64
    });
}
