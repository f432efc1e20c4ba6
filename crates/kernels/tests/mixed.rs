//! Compares the kernels that quantize, dequantize or combine two codes with their definitions, on every instruction
//! set.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use strait_kernels::{
    Context, Isa, KernelError,
    mixed::{CodeSlice, Dequantize, QLinearAdd, Quantize, QuantizeScaled},
};
use strait_requantize::{
    IntType, Per, Rounding,
    mixed::{self, AscendDequant, AscendQuant, QuantizeLinear},
    quantize::{Dequantization, Quantization, Scaling, ZeroPoint},
};
use support::Numbers;

/// The longest array. It is longer than two blocks of the widest vectors of bytes.
const LONGEST: usize = 130;

/// Runs `kernel(context, out)` on every instruction set, into an array between two elements that have to stay as they are.
fn everywhere<T: Copy + PartialEq + std::fmt::Debug>(
    wanted: &[T],
    other: T,
    what: &dyn std::fmt::Debug,
    kernel: impl Fn(&Context, &mut [T]) -> Result<(), KernelError>,
) {
    for isa in Isa::available() {
        let mut out = vec![other; wanted.len() + 2];
        kernel(&Context::with_isa(isa), &mut out[1..=wanted.len()]).unwrap();
        assert_eq!(
            (out[0], out[wanted.len() + 1]),
            (other, other),
            "{what:?} on {}",
            isa.name()
        );
        let differing = (0..wanted.len()).find(|&i| out[1 + i] != wanted[i]);
        assert_eq!(
            differing.map(|i| (i, out[1 + i], wanted[i])),
            None,
            "(index, found, wanted) of {what:?} on {}",
            isa.name()
        );
    }
}

fn quantize(quantizations: &Per<Quantization>, extents: [usize; 3], x: &[f32]) {
    let kernel = Quantize::new(quantizations).unwrap();
    let width = usize::from(kernel.out().bits().div_ceil(8));
    let mut wanted = vec![];
    for (i, &x) in x.iter().enumerate() {
        let code = quantizations.get(i / extents[2].max(1) % extents[1]).unwrap().eval(x);
        wanted.extend_from_slice(&code.to_le_bytes()[..width]);
    }
    everywhere(&wanted, 0xA5, quantizations, |cx, out| kernel.run(cx, extents, x, out));
}

/// Quantizes planes to codes with channels last, if their codes have 8 bits.
fn quantize_last(quantizations: &Per<Quantization>, [batch, channels, positions]: [usize; 3], x: &[f32]) {
    let kernel = Quantize::new(quantizations).unwrap();
    assert_eq!(kernel.writes_last(channels, 4), kernel.out().bits() <= 8);
    assert!(!kernel.writes_last(channels, 3) && !kernel.writes_last(5, 4));
    if kernel.out().bits() > 8 {
        return;
    }
    let mut wanted = vec![0; batch * positions * 4];
    for (i, &x) in x.iter().enumerate() {
        let (image, c, position) = (i / positions / channels, i / positions % channels, i % positions);
        wanted[(image * positions + position) * 4 + c] = quantizations.get(c).unwrap().eval(x) as u8;
    }
    everywhere(&wanted, 0xA5, quantizations, |cx, out| {
        kernel.run_last(cx, [batch, channels, positions], x, out)?;
        // What is beyond the channels has no meaning.
        out.iter_mut()
            .enumerate()
            .filter(|(i, _)| i % 4 >= channels)
            .for_each(|(_, byte)| *byte = 0);
        Ok(())
    });
}

/// Numbers near ties, numbers of every magnitude, and numbers that are not finite.
fn reals() -> Vec<f32> {
    let near_ties = (-500..500).flat_map(|i| {
        let tie = i as f32 / 8.0;
        [tie.next_down(), tie, tie.next_up()]
    });
    let far = [
        0.0,
        -0.0,
        f32::MIN_POSITIVE,
        -f32::MIN_POSITIVE,
        f32::from_bits(1),
        -f32::from_bits(1),
        1e9,
        -1e9,
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        -f32::NAN,
    ];
    let mut numbers = Numbers::new(31);
    near_ties
        .chain(far)
        .chain((-149..128).flat_map(|e| [1.0, -1.4].map(|m| m * f64::from(e).exp2() as f32)))
        .chain((0..400).map(|_| f32::from_bits(numbers.next() as u32)))
        .collect()
}

#[test]
fn every_quantization_is_the_definition_at_ties_and_far_away() {
    let x = reals();
    let scales = [1.0, 0.5, 0.017, 3.0e-5, 7.3e8, 1e-45, f32::MAX];
    for rounding in Rounding::ALL {
        for scaling in scales.into_iter().flat_map(|s| {
            [
                Scaling::DividedBy(s),
                Scaling::Times(s),
                Scaling::TimesTwice(s),
                Scaling::Times(1.0 / s),
            ]
        }) {
            for (out, zero_points) in [
                (IntType::I8, [0, -128, 127, 37]),
                (IntType::U8, [0, 255, 3, 70_000]),
                (IntType::I16, [0, -32_768, 32_767, 1 << 20]),
                (IntType::I32, [0, i32::MIN, i32::MAX, -(1 << 24) - 1]),
                (IntType::U16, [0, 65_535, 32_768, 1 << 20]),
                (IntType::I4, [0, -8, 7, 300]),
                (IntType::U4, [0, 15, 3, -1]),
            ] {
                for (zero_point, place) in zero_points.into_iter().flat_map(|z| ZeroPoint::ALL.map(|p| (z, p))) {
                    let q = Quantization::new(scaling, (zero_point, place), rounding, out);
                    quantize(&q.into(), [1, 1, x.len()], &x);
                }
            }
        }
    }
}

#[test]
fn addends_between_integers_are_inside_of_the_rounding() {
    let x = reals();
    for (rounding, sqrt_mode) in AscendQuant::ROUNDINGS.into_iter().flat_map(|r| [(r, false), (r, true)]) {
        for offset in [0.0, -0.0, 0.5, -127.5, 3.25, 1e-30, 65_536.5, -3e38] {
            let form = AscendQuant {
                scale: 1.5,
                offset,
                sqrt_mode,
                rounding,
                out: IntType::I8,
            };
            quantize(&form.quantization().into(), [1, 1, x.len()], &x);
            for &x in x.iter().filter(|x| !x.is_nan()) {
                assert_eq!(form.eval(x), Ok(form.quantization().eval(x)));
            }
        }
    }
}

#[test]
fn quantizations_of_every_length_and_layout_are_the_definition() {
    let mut numbers = Numbers::new(32);
    let channels = 3;
    let x: Vec<f32> = numbers
        .floats(2 * channels * LONGEST)
        .iter()
        .map(|x| x * 100.0)
        .collect();
    for (i, out) in IntType::ALL.into_iter().filter(|t| t.bits() <= 16).enumerate() {
        let one = |c: i32| {
            let zero_point = (c, ZeroPoint::ALL[i % 2]);
            let scaling = Scaling::DividedBy(0.7 + c as f32 / 7.0);
            Quantization::new(
                scaling,
                zero_point,
                [Rounding::HalfEven, Rounding::HalfAway][i % 2],
                out,
            )
        };
        let per_channel: Per<_> = (0..channels as i32).map(one).collect();
        for length in 0..=LONGEST {
            quantize(&one(5).into(), [1, 1, length], &x[..length]);
            quantize(&per_channel, [2, channels, length], &x[..2 * channels * length]);
            for count in 1..=channels {
                let some: Per<_> = (0..count as i32).map(one).collect();
                quantize_last(&some, [2, count, length], &x[..2 * count * length]);
                quantize_last(&one(5).into(), [2, count, length], &x[..2 * count * length]);
            }
            let last: Per<_> = (0..length as i32).map(one).collect();
            if length > 0 {
                quantize(&last, [3, length, 1], &x[..3 * length]);
            }
        }
    }
    // The row is long enough to be split into pieces for several threads.
    let long: Vec<f32> = (0..300_000).map(|i| (i % 5003) as f32 / 16.0 - 150.0).collect();
    let form = QuantizeLinear {
        scale: 1.25,
        zero_point: -3,
        out: IntType::I8,
    };
    quantize(&form.quantization().into(), [1, 1, long.len()], &long);
}

fn dequantize<T: Copy + Into<i32>>(
    dequantizations: &Per<Dequantization>,
    extents: [usize; 3],
    codes: &[T],
    wrap: impl Fn(&[T]) -> CodeSlice<'_>,
) {
    let kernel = Dequantize::new(dequantizations).unwrap();
    let real = |(i, &q): (usize, &T)| {
        dequantizations
            .get(i / extents[2].max(1) % extents[1])
            .unwrap()
            .eval(q.into())
    };
    let wanted: Vec<u32> = codes.iter().enumerate().map(real).map(f32::to_bits).collect();
    everywhere(&wanted, 77, dequantizations, |cx, out| {
        let mut reals: Vec<f32> = out.iter().map(|&bits| f32::from_bits(bits)).collect();
        kernel.run(cx, extents, wrap(codes), &mut reals)?;
        out.iter_mut().zip(reals).for_each(|(to, x)| *to = x.to_bits());
        Ok(())
    });
}

#[test]
fn every_code_of_16_bits_is_dequantized_by_the_definition() {
    for (scale, relu) in [0.037, 1.0, 1e-45, f32::MAX]
        .into_iter()
        .flat_map(|s| [(s, false), (s, true)])
    {
        for zero_point in [
            0,
            -128,
            127,
            255,
            40_000,
            1 << 25,
            i32::MAX - 40_000,
            i32::MAX,
            i32::MIN,
        ] {
            let one = Per::from(Dequantization {
                scale,
                zero_point,
                relu,
            });
            let bytes: Vec<i8> = (-128..=127).collect();
            dequantize(&one, [1, 1, 256], &bytes, |c| CodeSlice::I8(c));
            let bytes: Vec<u8> = (0..=255).collect();
            dequantize(&one, [1, 1, 256], &bytes, |c| CodeSlice::U8(c));
            let words: Vec<i16> = (i16::MIN..=i16::MAX).collect();
            dequantize(&one, [1, 1, 1 << 16], &words, |c| CodeSlice::I16(c));
            let words: Vec<u16> = (0..=u16::MAX).collect();
            dequantize(&one, [1, 1, 1 << 16], &words, |c| CodeSlice::U16(c));
        }
    }
}

#[test]
fn accumulators_are_dequantized_by_the_definition() {
    let mut numbers = Numbers::new(33);
    let mut x: Vec<i32> = (0..31)
        .flat_map(|s| [-1, 1].map(|sign| sign << s))
        .flat_map(|v| [v - 1, v, v + 1])
        .collect();
    x.extend([
        i32::MIN,
        i32::MIN + 1,
        i32::MAX - 1,
        i32::MAX,
        (1 << 24) + 1,
        -(1 << 25) - 1,
    ]);
    x.extend((0..3000).map(|i| numbers.next() as i32 >> (i % 31)));
    for (scale, relu) in [0.1, 3e-9, 1e-45, f32::MAX]
        .into_iter()
        .flat_map(|s| [(s, false), (s, true)])
    {
        let form = AscendDequant {
            scale: scale.into(),
            relu,
        };
        dequantize(&form.dequantization(), [1, 1, x.len()], &x, |c| CodeSlice::I32(c));
        for zero_point in [1, -5, i32::MAX, i32::MIN] {
            let with = Dequantization {
                scale,
                zero_point,
                relu,
            };
            dequantize(&with.into(), [1, 1, x.len()], &x, |c| CodeSlice::I32(c));
        }
    }
    // Each length is tested per tensor, per channel, and with the channels last.
    for length in 0..=LONGEST {
        for relu in [false, true] {
            let scales = |channels: usize| (0..channels).map(|c| 0.1 + c as f32 / 9.0).collect::<Per<f32>>();
            let form = |scale| AscendDequant { scale, relu }.dequantization();
            dequantize(&form(0.3.into()), [1, 1, length], &x[..length], |c| CodeSlice::I32(c));
            dequantize(&form(scales(3)), [2, 3, length], &x[..6 * length], |c| {
                CodeSlice::I32(c)
            });
            if length > 0 {
                dequantize(&form(scales(length)), [5, length, 1], &x[..5 * length], |c| {
                    CodeSlice::I32(c)
                });
            }
        }
    }
    // Some channels have a ReLU and others do not, and the zero points differ.
    let mixed: Per<_> = (0..4)
        .map(|c| Dequantization {
            scale: 0.5,
            zero_point: c,
            relu: c % 2 == 0,
        })
        .collect();
    dequantize(&mixed, [1, 4, 100], &x[..400], |c| CodeSlice::I32(c));
}

#[test]
fn all_pairs_of_codes_are_added_by_the_definition() {
    let pairs: [Vec<u8>; 2] = [
        (0..1 << 16).map(|i: u32| (i >> 8) as u8).collect(),
        (0..1 << 16).map(|i: u32| i as u8).collect(),
    ];
    for element in [IntType::I8, IntType::U8] {
        for (a, b, offset) in [
            (1.0, 1.0, 0.0),
            (0.5, 0.5, 0.5),
            (0.5, 0.25, -128.25),
            (1.0 / 3.0, 0.1, -0.25),
            (0.731, 1.9, 77.3),
            (1e-45, 1e-45, 2.5),
            (f32::MAX, f32::MAX, 0.0),
            (f32::MAX, 1.0, f32::MIN),
        ] {
            for out in [IntType::I8, IntType::U8] {
                let form = mixed::QLinearAdd { a, b, offset, out };
                let code = |byte: u8| support::code(element, byte) as i32;
                let wanted: Vec<u8> = pairs[0]
                    .iter()
                    .zip(&pairs[1])
                    .map(|(&x, &y)| form.eval(code(x), code(y)) as u8)
                    .collect();
                let kernel = QLinearAdd::new(form).unwrap();
                everywhere(&wanted, 0xA5, &form, |cx, out| {
                    kernel.run(cx, element, [&pairs[0], &pairs[1]], out)
                });
                for length in (0..=LONGEST).filter(|_| a < 1.0) {
                    let operands = [&pairs[0][300..300 + length], &pairs[1][300..300 + length]];
                    everywhere(&wanted[300..300 + length], 0xA5, &form, |cx, out| {
                        kernel.run(cx, element, operands, out)
                    });
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let cx = Context::detect();
    let q = |out| Quantization::new(Scaling::DividedBy(0.5), (0, ZeroPoint::After), Rounding::HalfEven, out);
    let refused = |kernel: Result<Quantize, KernelError>| matches!(kernel, Err(KernelError::Requantization(_)));
    assert!(refused(Quantize::new(
        &[q(IntType::I8), q(IntType::U8)].into_iter().collect()
    )));
    assert!(refused(Quantize::new(&[].into_iter().collect())));
    let two = Quantize::new(&[q(IntType::I8), q(IntType::I8)].into_iter().collect()).unwrap();
    let shape = |result| matches!(result, Err(KernelError::Shape(_)));
    assert!(shape(two.run(&cx, [1, 3, 1], &[0.0; 3], &mut [0; 3])));
    assert!(shape(two.run(&cx, [1, 2, 1], &[0.0; 3], &mut [0; 2])));
    assert!(shape(two.run(&cx, [1, 2, 1], &[0.0; 2], &mut [0; 3])));
    assert!(matches!(
        two.run(&cx, [usize::MAX, 2, 1], &[0.0; 2], &mut [0; 2]),
        Err(KernelError::Size(_))
    ));
    let d = |scale| {
        Per::from(Dequantization {
            scale,
            zero_point: 0,
            relu: false,
        })
    };
    for scale in [0.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(
            Dequantize::new(&d(scale)),
            Err(KernelError::Requantization(_))
        ));
    }
    let kernel = Dequantize::new(&d(1.0)).unwrap();
    assert!(shape(kernel.run(&cx, [1, 1, 2], CodeSlice::I8(&[1]), &mut [0.0; 2])));
    let form = mixed::QLinearAdd {
        a: 1.0,
        b: 1.0,
        offset: 0.0,
        out: IntType::I8,
    };
    let add = QLinearAdd::new(form).unwrap();
    assert!(shape(add.run(&cx, IntType::I16, [&[0; 2], &[0; 2]], &mut [0; 2])));
    assert!(shape(add.run(&cx, IntType::I8, [&[0; 2], &[0; 1]], &mut [0; 2])));
    assert!(shape(add.run(&cx, IntType::I8, [&[0; 2], &[0; 2]], &mut [0; 1])));
    assert!(QLinearAdd::new(mixed::QLinearAdd { a: 0.0, ..form }).is_err());
    assert!(
        QLinearAdd::new(mixed::QLinearAdd {
            out: IntType::I16,
            ..form
        })
        .is_err()
    );
}

/// Products with a factor for each channel, quantized in the same step.
#[test]
fn scaled_channels_are_quantized_as_defined() {
    let mut numbers = Numbers::new(77);
    for (i, [batch, channels, positions]) in [[2, 5, 9], [1, 80, 7], [2, 16, 130], [1, 3, 300]]
        .into_iter()
        .enumerate()
    {
        let count = batch * channels * positions;
        let mut x = numbers.floats(count);
        (x[0], x[1], x[2]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
        let factors = numbers.floats(batch * channels);
        let out = [IntType::I8, IntType::U8, IntType::I16][i % 3];
        let place = [ZeroPoint::After, ZeroPoint::InsideRounding][i % 2];
        let scaling = [Scaling::Times(31.5), Scaling::DividedBy(0.03)][i / 2 % 2];
        let quantization = Quantization::new(scaling, (3, place), Rounding::HalfEven, out);
        let kernel = QuantizeScaled::new(quantization).unwrap();
        for last in [false, true] {
            let factor = |at: usize| {
                let channel = if last { at % channels } else { at / positions % channels };
                factors[at / positions / channels * channels + channel]
            };
            let width = usize::from(out.bits() / 8);
            let wanted = x
                .iter()
                .enumerate()
                .flat_map(|(at, &x)| quantization.eval(x * factor(at)).to_le_bytes()[..width].to_vec());
            let wanted: Vec<u8> = wanted.collect();
            for isa in Isa::available() {
                let mut found = vec![0; wanted.len()];
                let (cx, extents) = (Context::with_isa(isa), [batch, channels, positions]);
                kernel.run(&cx, extents, last, [&x, &factors], &mut found).unwrap();
                assert!(found == wanted, "{i} {last} {isa:?}");
                assert!(kernel.run(&cx, extents, last, [&x, &factors[1..]], &mut found).is_err());
            }
        }
    }
}
