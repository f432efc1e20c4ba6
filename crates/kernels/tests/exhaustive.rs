//! Tests each kernel on all 2^32 accumulators of a form, or on all 2^32 floats of a quantization. The results of the
//! definition in `strait-requantize`, of the kernel on every instruction set of this machine, and of a third
//! implementation in this file must be equal. `cargo xtask test --exhaustive` runs these tests, which takes minutes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{
    sync::atomic::{AtomicI64, Ordering},
    thread,
    time::Instant,
};
use strait_kernels::{
    Context, Isa,
    float::{Unary, unary},
    integer::standard,
    mixed::{Activation, ChainResults, ChainSlice, CodeSlice, Dequantize, FloatChain, Quantize},
};
use strait_requantize::{
    IntType, Narrowing, Requantization, Rounding, Roundings, form,
    mixed::{AscendDequant, AscendQuant, QuantizeLinear},
};

/// Number of elements that a kernel gets at a time. They and their results fit in the cache.
const PIECE: usize = 1 << 14;

/// Number of pieces that a thread takes at a time.
const PIECES: i64 = 1 << 10;

/// Goes over all 32-bit integers, with all threads of the machine. `piece(first)` tests the `PIECE` integers from
/// `first` on. Prints the progress eight times.
fn sweep<P: FnMut(i64)>(worker: impl Fn() -> P + Sync) {
    const SHARE: i64 = PIECES * PIECE as i64;
    const SHARES: i64 = (1 << 32) / SHARE;
    let (next, done, start) = (AtomicI64::new(0), AtomicI64::new(0), Instant::now());
    let test = thread::current().name().unwrap_or_default().to_owned();
    let work = || {
        let mut piece = worker();
        loop {
            let share = next.fetch_add(1, Ordering::Relaxed);
            if share >= SHARES {
                return;
            }
            let first = i64::from(i32::MIN) + share * SHARE;
            (first..first + SHARE).step_by(PIECE).for_each(&mut piece);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done % (SHARES / 8) == 0 {
                let seconds = start.elapsed().as_secs();
                eprintln!("{test}: {done} of {SHARES} parts in {seconds} s");
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}

/// Checks on every instruction set that a kernel gives the expected results for the elements from `first` on.
fn everywhere<T: PartialEq + Copy + std::fmt::Debug>(
    first: i64,
    expected: &[T],
    found: &mut [T],
    kernel: impl Fn(&Context, &mut [T]),
) {
    for isa in Isa::available() {
        kernel(&Context::with_isa(isa), found);
        if expected != &*found {
            let at = expected
                .iter()
                .zip(&*found)
                .position(|(expected, found)| expected != found)
                .unwrap();
            panic!(
                "{}: {:?} is due, {:?} is what {} gives",
                first + at as i64,
                expected[at],
                found[at],
                isa.name()
            );
        }
    }
}

/// Tests a form on every `i32` accumulator. `define` is the implementation in this file.
fn every_accumulator(form: impl Into<Requantization>, define: impl Fn(i32) -> i64 + Sync) {
    let form = form.into();
    assert_eq!(form.out(), IntType::I8);
    sweep(|| {
        let (loops, channel) = (standard(&form, None).unwrap(), form.channel(0).unwrap());
        let mut input = vec![0; 4 * PIECE];
        let (mut expected, mut found) = (vec![0; PIECE], vec![0; PIECE]);
        let define = &define;
        move |first| {
            for ((x, bytes), expected) in (first..).zip(input.as_chunks_mut().0).zip(&mut expected) {
                let x = x as i32;
                *bytes = x.to_ne_bytes();
                let code = define(x).clamp(-128, 127) as i32;
                assert_eq!(channel.eval(x.into()), Ok(code), "the definition of {x}");
                *expected = code as u8;
            }
            everywhere(first, &expected, &mut found, |cx, found| {
                loops
                    .requantize(cx, [1, 1, PIECE], IntType::I32, &input, found)
                    .unwrap();
            });
        }
    });
}

/// Tests a quantization on every float. `define` is the implementation in this file; it is not called for NaN.
fn every_float(quantization: strait_requantize::quantize::Quantization, define: impl Fn(f32) -> f64 + Sync) {
    assert_eq!(quantization.out, IntType::I8);
    sweep(|| {
        let kernel = Quantize::new(&quantization.into()).unwrap();
        let mut input = vec![0.0; PIECE];
        let (mut expected, mut found) = (vec![0; PIECE], vec![0; PIECE]);
        let define = &define;
        move |first| {
            for ((bits, x), expected) in (first..).zip(&mut input).zip(&mut expected) {
                *x = f32::from_bits(bits as u32);
                let code = define(if x.is_nan() { 0.0 } else { *x }).clamp(-128.0, 127.0) as i32;
                assert_eq!(quantization.eval(*x), code, "the definition of {x}");
                *expected = code as u8;
            }
            everywhere(first, &expected, &mut found, |cx, found| {
                kernel.run(cx, [1, 1, PIECE], &input, found).unwrap();
            });
        }
    });
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
    // The accumulator is exact in f64, and so is its quotient by a power of two.
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

/// A form with the factor 3·2^5 / 2^29 = 3 / 2^24 and zero point 3. There are ties, and all results before rounding are
/// exact in f64.
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
    // −127², …, −1, 0, 1, 4, …, 127², each times 2^17. The result is the signed square root of x / 2^17, rounded down.
    let thresholds = (-127_i32..=127).map(|k| (k * k.abs()) << 17).collect();
    let form = form::Steps {
        thresholds: [thresholds].into(),
        lowest: -128,
        out: IntType::I8,
    };
    every_accumulator(form, |x| {
        // The quotient is exact in f64, and so is the root if it is a whole number. Any other root is so far from whole
        // numbers that rounding to f64 does not make it one.
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
    // The functions of gemmlowp, except that the division of negative numbers is a shift after a number was added.
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
    // The conversion to f64 is exact, and so is the product in f64, which is then rounded to f32.
    every_accumulator(form, |x| {
        let product = (f64::from(f64::from(x) as f32) * f64::from(scale)) as f32;
        f64::from(product).round_ties_even() as i64 + 3
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn a_product_in_f64() {
    let form = form::Float64 {
        multiplier: 0x0015_5555_5555_5555.into(),
        exponent: (-23).into(),
        zp: 3,
        out: IntType::I8,
    };
    // The multiplier times 2^-76.
    let scale = 6_004_799_503_160_661.0 * 2f64.powi(-76);
    every_accumulator(form, |x| (f64::from(x) * scale).round() as i64 + 3);
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

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn floats_divided_to_the_nearest_even() {
    let form = QuantizeLinear {
        scale: 0.37,
        zero_point: -5,
        out: IntType::I8,
    };
    // If the quotient of two f32 is computed in f64 and rounded to f32, it equals the quotient in f32.
    every_float(form.quantization(), |x| {
        f64::from((f64::from(x) / f64::from(0.37_f32)) as f32).round_ties_even() - 5.0
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn floats_multiplied_twice_and_rounded_down() {
    let form = AscendQuant {
        scale: 1.7,
        offset: 3.5,
        sqrt_mode: true,
        rounding: Rounding::Floor,
        out: IntType::I8,
    };
    // Products of two f32 are exact in f64.
    every_float(form.quantization(), |x| {
        let once = (f64::from(x) * f64::from(1.7_f32)) as f32;
        let twice = (f64::from(once) * f64::from(1.7_f32)) as f32;
        f64::from((f64::from(twice) + 3.5) as f32).floor()
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn accumulators_to_real_numbers() {
    let form = AscendDequant {
        scale: 2.3e-7.into(),
        relu: true,
    };
    sweep(|| {
        let kernel = Dequantize::new(&form.dequantization()).unwrap();
        let mut codes = vec![0; PIECE];
        let (mut expected, mut found) = (vec![0.0; PIECE], vec![0.0; PIECE]);
        let form = &form;
        move |first| {
            for ((x, code), expected) in (first..).zip(&mut codes).zip(&mut expected) {
                *code = x as i32;
                let real = (f64::from(f64::from(*code) as f32) * f64::from(2.3e-7_f32)) as f32;
                *expected = if real < 0.0 { 0.0 } else { real };
                assert_eq!(form.eval(0, x), Ok(*expected), "the definition of {x}");
            }
            everywhere(first, &expected, &mut found, |cx, found| {
                kernel.run(cx, [1, 1, PIECE], CodeSlice::I32(&codes), found).unwrap();
            });
        }
    });
}

/// In a chain, SiLU is computed with fewer instructions than where it is defined. NaN may have any bits.
#[test]
#[ignore = "minutes: cargo xtask test --exhaustive"]
fn silu_of_every_number() {
    sweep(|| {
        let chain = FloatChain::new(&[None], Activation::Silu, None).unwrap().unwrap();
        let (mut x, mut y) = (vec![0.0; PIECE], vec![0.0; PIECE]);
        let (mut expected, mut found) = (vec![0; PIECE], vec![0; PIECE]);
        let bits = |y: &f32| if y.is_nan() { f32::NAN.to_bits() } else { y.to_bits() };
        move |first| {
            (first..)
                .zip(&mut x)
                .for_each(|(bits, x)| *x = f32::from_bits(bits as u32));
            unary(&Context::detect(), Unary::Silu, &x, &mut y).unwrap();
            y.iter().zip(&mut expected).for_each(|(y, to)| *to = bits(y));
            everywhere(first, &expected, &mut found, |cx, found| {
                let mut reals = vec![0.0; PIECE];
                let results = ChainResults {
                    reals: Some(&mut reals),
                    codes: None,
                };
                chain.run(cx, [1, 1, PIECE], &[ChainSlice::Reals(&x)], results).unwrap();
                reals.iter().zip(found).for_each(|(y, to)| *to = bits(y));
            });
        }
    });
}
