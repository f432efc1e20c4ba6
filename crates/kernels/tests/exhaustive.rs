//! All 2^32 accumulators of a form for each kernel: the definition in `strait-requantize`, the kernel on every instruction
//! set of this machine, and a third statement of the arithmetic, written here. Minutes: `cargo xtask test --exhaustive`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::thread;
use strait_kernels::{Context, Isa, integer::standard};
use strait_requantize::{IntType, Narrowing, Requantization, Rounding, Roundings, form};

/// Accumulators that a kernel is given at a time: in cache, with their results.
const PIECE: i64 = 1 << 14;

/// Every accumulator of `i32`, by all threads of the machine.
fn every_accumulator(form: impl Into<Requantization>, define: impl Fn(i32) -> i64 + Sync) {
    let form = form.into();
    assert_eq!(form.out(), IntType::I8);
    let threads = thread::available_parallelism().map_or(1, usize::from) as i64;
    let share = ((1_i64 << 32) / PIECE / threads + 1) * PIECE;
    thread::scope(|scope| {
        for first in (0..threads).map(|t| i64::from(i32::MIN) + t * share) {
            let (form, define) = (&form, &define);
            let end = (first + share).min(1 << 31);
            scope.spawn(move || pieces(form, define, (first..end).step_by(PIECE as usize)));
        }
    });
}

/// The pieces of accumulators that start at `starts`.
fn pieces(form: &Requantization, define: &impl Fn(i32) -> i64, starts: impl Iterator<Item = i64>) {
    let loops = standard(form, None).unwrap();
    let channel = form.channel(0).unwrap();
    let mut input = vec![0; 4 * PIECE as usize];
    let (mut expected, mut found) = (vec![0; PIECE as usize], vec![0; PIECE as usize]);
    for start in starts {
        for ((x, bytes), expected) in (start..).zip(input.as_chunks_mut().0).zip(&mut expected) {
            let x = x as i32;
            *bytes = x.to_ne_bytes();
            let code = define(x).clamp(-128, 127) as i32;
            assert_eq!(channel.eval(x.into()), Ok(code), "the definition of {x}");
            *expected = code as u8;
        }
        for isa in Isa::available() {
            let cx = Context::with_isa(isa);
            loops
                .requantize(&cx, [1, 1, PIECE as usize], IntType::I32, &input, &mut found)
                .unwrap();
            let differing = expected
                .iter()
                .zip(&found)
                .position(|(expected, found)| expected != found);
            if let Some(at) = differing {
                let (expected, found) = (expected[at] as i8, found[at] as i8);
                panic!(
                    "{}: {expected} is due, {found} is what {} gives",
                    start + at as i64,
                    isa.name()
                );
            }
        }
    }
}

fn narrowing(shift: u8, rounding: Rounding) -> Narrowing {
    Narrowing {
        shift: shift.into(),
        rounding,
        out: IntType::I8,
    }
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_shift_to_the_nearest_even() {
    let narrowing = narrowing(21, Rounding::HalfEven);
    every_accumulator(form::ArithFolded { narrowing }, |x| {
        let (below, rest) = (i64::from(x >> 21), x & ((1 << 21) - 1));
        below + i64::from(rest > 1 << 20 || (rest == 1 << 20 && below & 1 == 1))
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_shift_half_up() {
    let narrowing = narrowing(24, Rounding::HalfUp);
    every_accumulator(form::ArithFolded { narrowing }, |x| {
        (i64::from(x) + (1 << 23)).div_euclid(1 << 24)
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_shift_half_away_from_zero() {
    let narrowing = narrowing(24, Rounding::HalfAway);
    // Exact in f64, and so is the quotient by a power of two.
    every_accumulator(form::ArithFolded { narrowing }, |x| {
        (f64::from(x) / 16_777_216.0).round() as i64
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_multiplier_of_few_bits_half_up() {
    every_accumulator(three_of_2_to_24(Rounding::HalfUp), |x| {
        (f64::from(x) * 3.0 / 16_777_216.0 + 0.5).floor() as i64 + 3
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_multiplier_of_few_bits_to_the_nearest_even() {
    every_accumulator(three_of_2_to_24(Rounding::HalfEven), |x| {
        (f64::from(x) * 3.0 / 16_777_216.0).round_ties_even() as i64 + 3
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_multiplier_of_few_bits_half_away_from_zero() {
    every_accumulator(three_of_2_to_24(Rounding::HalfAway), |x| {
        (f64::from(x) * 3.0 / 16_777_216.0).round() as i64 + 3
    });
}

/// 3·2^5 / 2^29 = 3 / 2^24, with ties, and zero point 3. All of it is exact in f64.
fn three_of_2_to_24(rounding: Rounding) -> form::TfLite {
    form::TfLite {
        sc: (3 << 5).into(),
        zp: 3,
        narrowing: narrowing(29, rounding),
    }
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn squares_as_thresholds() {
    // −127², …, −1, 0, 1, 4, …, 127², each times 2^17: the result is the root, down for x ≥ 0, away from zero below.
    let thresholds = (-127_i32..=127).map(|k| (k * k.abs()) << 17).collect();
    let form = form::Steps {
        thresholds: [thresholds].into(),
        lowest: -128,
        out: IntType::I8,
    };
    every_accumulator(form, |x| {
        // The quotient is exact in f64, and so is the root of a square; another is far enough from whole numbers.
        let root = (f64::from(x).abs() / 131_072.0).sqrt();
        if x < 0 { -root.ceil() as i64 } else { root as i64 }
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
