//! Compares chains of float steps with the steps, one after the other, on every instruction set.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use strait_kernels::{
    Context, Isa, Window,
    float::{Unary, unary},
    integer::{Bias, ChannelsLast, Weights, accumulators},
    mixed::{Activation, ChainResults, ChainSlice, CodeSlice, FloatChain},
};
use strait_requantize::{
    IntType, Per, Rounding,
    quantize::{Dequantization, Quantization, Scaling, ZeroPoint},
};
use support::{Numbers, convolutions::case};

/// The definition of an activation.
fn activate(activation: Activation, x: f32) -> f32 {
    match activation {
        Activation::Identity => x,
        Activation::Relu => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        Activation::Clip([min, max]) => {
            let above = if x < min { min } else { x };
            if above > max { max } else { above }
        }
        Activation::Silu => {
            let mut y = [0.0];
            unary(&Context::with_isa(Isa::Scalar), Unary::Silu, &[x], &mut y).unwrap();
            y[0]
        }
    }
}

fn grids(numbers: &mut Numbers, channels: Option<usize>, zero: i32) -> Per<Dequantization> {
    let mut one = || Dequantization {
        scale: numbers.between(1, 1000) as f32 * 1e-5,
        zero_point: zero,
        relu: false,
    };
    match channels {
        None => Per::Tensor(one()),
        Some(channels) => (0..channels).map(|_| one()).collect(),
    }
}

fn quantization(numbers: &mut Numbers, i: usize) -> Quantization {
    let scale = numbers.between(1, 100) as f32 * 1e-3;
    let scaling = [Scaling::Times(1.0 / scale), Scaling::DividedBy(scale)][i / 3 % 2];
    let place = [ZeroPoint::InsideRounding, ZeroPoint::After][i / 2 % 2];
    let out = [IntType::I8, IntType::U8, IntType::I16][i % 3];
    Quantization::new(scaling, (numbers.between(-100, 100), place), Rounding::HalfEven, out)
}

/// The bits of numbers, so that −0 and NaN are compared, too.
fn bits(reals: &[f32]) -> Vec<u32> {
    reals.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn chains_compute_what_their_steps_compute() {
    let mut numbers = Numbers::new(31);
    let activations = [
        Activation::Identity,
        Activation::Relu,
        Activation::Clip([-0.5, 3.0]),
        Activation::Silu,
    ];
    for i in 0..96 {
        let extents = [
            [3, 7, 1],
            [2, 24, 1],
            [5, 80, 1],
            [2, 3, 71],
            [1, 2, 129],
            [1, 1, 200],
            [70, 16, 1],
        ][i % 7];
        let count = extents.iter().product();
        let activation = activations[i % 4];
        let quantization = quantization(&mut numbers, i);
        let sums: Vec<i32> = (0..count).map(|_| numbers.between(-4000, 4000)).collect();
        let bytes: Vec<i8> = (0..count).map(|_| numbers.between(-128, 127) as i8).collect();
        let mut reals: Vec<f32> = (0..count).map(|_| numbers.between(-999, 999) as f32 * 0.01).collect();
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, 3e38, -1e5];
        reals.iter_mut().zip(odd).for_each(|(x, odd)| *x = odd);
        let per_channel = (i % 5 != 4).then_some(extents[1]);
        let of_sums = grids(&mut numbers, per_channel, 0);
        let of_bytes = grids(&mut numbers, None, 5);
        let others = i % 3;
        let mut operands = vec![Some((IntType::I32, of_sums.clone()))];
        operands.extend([None, Some(None), Some(Some((IntType::I8, of_bytes.clone())))][others].clone());
        let mut slices = vec![ChainSlice::Codes(CodeSlice::I32(&sums))];
        slices.extend(
            [
                None,
                Some(ChainSlice::Reals(&reals)),
                Some(ChainSlice::Codes(CodeSlice::I8(&bytes))),
            ][others],
        );
        let chain = FloatChain::new(&operands, activation, Some(quantization))
            .unwrap()
            .unwrap();
        let wanted: Vec<f32> = (0..count)
            .map(|at| {
                let channel = at / extents[2] % extents[1];
                let first = of_sums.get(channel).unwrap().eval(sums[at]);
                let sum = match others {
                    0 => first,
                    1 => first + reals[at],
                    _ => first + of_bytes.get(0).unwrap().eval(bytes[at]),
                };
                activate(activation, sum)
            })
            .collect();
        let width = usize::from(quantization.out.bits().div_ceil(8));
        let codes: Vec<u8> = wanted
            .iter()
            .flat_map(|&x| quantization.eval(x).to_le_bytes()[..width].to_vec())
            .collect();
        for isa in Isa::available() {
            let cx = Context::with_isa(isa);
            for which in 1..4 {
                let (mut found, mut found_codes) = (vec![7.0; count], vec![7; count * width]);
                let results = ChainResults {
                    reals: (which & 1 != 0).then_some(&mut found[..]),
                    codes: (which & 2 != 0).then_some(&mut found_codes[..]),
                };
                chain.run(&cx, extents, &slices, results).unwrap();
                let what = format!("{i} {activation:?} {quantization:?} {isa:?} {which}");
                assert!(which & 1 == 0 || bits(&found) == bits(&wanted), "{what}");
                assert!(which & 2 == 0 || found_codes == codes, "{what}");
            }
            assert!(chain.run(&cx, extents, &slices[1..], ChainResults::default()).is_err());
        }
    }
}

/// Codes of SiLU are computed from approximations. They are compared for many numbers, and for grids in which many of them
/// are near ties.
#[test]
fn codes_of_silu_are_those_of_its_definition() {
    let mut numbers = Numbers::new(32);
    for i in 0..24 {
        let scale = [0.02, 1e-3, 0.25, 1e-30][i % 4] * (1.0 + i as f32 / 64.0);
        let zero = numbers.between(-128, 127);
        let place = [ZeroPoint::InsideRounding, ZeroPoint::After][i / 4 % 2];
        let quantization = Quantization::new(
            Scaling::Times(1.0 / scale),
            (zero, place),
            Rounding::HalfEven,
            IntType::I8,
        );
        let chain = FloatChain::new(&[None], Activation::Silu, Some(quantization))
            .unwrap()
            .unwrap();
        let step = 1 + i as u32 * 977;
        let some = (0..1 << 13).map(|at: u32| f32::from_bits(at.wrapping_mul(step << 19 | 0x0007_fe01)));
        let near = (0..1 << 14).map(|at| (at - (1 << 13)) as f32 * scale / 16.0);
        let x: Vec<f32> = some.chain(near).collect();
        let mut y = vec![0.0; x.len()];
        unary(&Context::with_isa(Isa::Scalar), Unary::Silu, &x, &mut y).unwrap();
        let wanted: Vec<u8> = y.iter().map(|&y| quantization.eval(y) as u8).collect();
        for isa in Isa::available() {
            let mut codes = vec![0; x.len()];
            let results = ChainResults {
                codes: Some(&mut codes),
                ..ChainResults::default()
            };
            chain
                .run(
                    &Context::with_isa(isa),
                    [1, 1, x.len()],
                    &[ChainSlice::Reals(&x)],
                    results,
                )
                .unwrap();
            let differing = (0..x.len()).find(|&at| codes[at] != wanted[at]);
            assert_eq!(
                differing.map(|at| (x[at], y[at], codes[at], wanted[at])),
                None,
                "{quantization:?}"
            );
        }
    }
}

/// Convolutions whose loops are chains, compared with their accumulators that go through the definition of the chain.
#[test]
fn chains_end_convolutions() {
    let mut numbers = Numbers::new(33);
    let window = Window {
        pads: [1; 4],
        ..Window::new([3, 3])
    };
    let shapes = [
        case(8, [9, 11], 40, 1, Window::new([1, 1])),
        case(80, [9, 35], 80, 80, window),
        case(20, [1, 9], 50, 1, Window::new([1, 1])),
        case(12, [1, 61], 24, 1, Window::new([1, 1])),
        case(6, [7, 7], 7, 1, window),
        case(33, [7, 5], 33, 33, window),
    ];
    let activations = [
        Activation::Silu,
        Activation::Relu,
        Activation::Silu,
        Activation::Identity,
    ];
    for (i, c) in shapes.iter().cycle().take(24).enumerate() {
        let quantization = (i % 3 != 2).then(|| quantization(&mut numbers, i / 2));
        let of = grids(&mut numbers, (i % 4 != 3).then_some(c.out_channels), 0);
        let chain = FloatChain::new(&[Some((IntType::I32, of.clone()))], activations[i % 4], quantization)
            .unwrap()
            .unwrap();
        let loops = chain.loops().unwrap();
        let weights = numbers.weights(c.out_channels * c.depth());
        let packed = ChannelsLast::new(*c, IntType::I8, 3, Weights::I8(&weights), Bias::I32(None))
            .unwrap()
            .unwrap();
        let input = numbers.bytes(c.input.batch * c.input.size[0] * c.input.size[1] * packed.stride());
        let [rows, columns] = c.window.output(c.input.size).unwrap();
        let count = c.input.batch * rows * columns * c.out_channels;
        let mut sums = vec![0; 4 * count];
        let scalar = Context::with_isa(Isa::Scalar);
        accumulators()
            .conv_last(&scalar, &packed, c.input.batch, &input, &mut sums)
            .unwrap();
        let sums = sums.as_chunks().0.iter().map(|&sum| i32::from_ne_bytes(sum));
        let wanted: Vec<u8> = sums
            .enumerate()
            .flat_map(|(at, sum)| {
                let x = activate(activations[i % 4], of.get(at % c.out_channels).unwrap().eval(sum));
                match quantization {
                    Some(to) => to.eval(x).to_le_bytes()[..usize::from(to.out.bits().div_ceil(8))].to_vec(),
                    None => x.to_ne_bytes().to_vec(),
                }
            })
            .collect();
        for isa in Isa::available() {
            let mut found = vec![0; wanted.len()];
            loops
                .conv_last(&Context::with_isa(isa), &packed, c.input.batch, &input, &mut found)
                .unwrap();
            assert!(found == wanted, "{i} {c:?} {quantization:?} {isa:?}");
        }
    }
}

/// SiLU of many sums, for factors of codes in which many of them are near ties. Sums that stay in registers and sums in memory
/// have kernels of their own.
#[test]
fn codes_of_silu_of_sums_are_those_of_its_definition() {
    let c = case(4, [1, 32_768], 16, 1, Window::new([1, 1]));
    // Sums are all numbers of 16 bits: one byte of the input, and 256 times another one. A bias moves them.
    let mut weights = [0_i8; 64];
    weights
        .chunks_exact_mut(4)
        .for_each(|row| row.copy_from_slice(&[1, 0, 127, 65]));
    let input: Vec<u8> = (0..2 * 32_768_u32)
        .flat_map(|at| [at as u8, 0, (at >> 8) as u8, (at >> 8) as u8])
        .collect();
    let sum = |at: u32| i32::from(at as u8 as i8) + 192 * i32::from((at >> 8) as u8 as i8);
    // With the larger units, most numbers are far from 0. The last two reach the largest and the smallest scale for which there is
    // a kernel: 2^20 and 2^-60.
    let units = [1.1e-6, 1.1e-6, 1.1e-6, 3e-3, 1.04e3, 8.7e-19];
    let mut numbers = Numbers::new(34);
    for i in 0..24 {
        let bias = [0, 0, 0, 0, i32::MAX - 30_000, i32::MIN + 30_000][i % 6];
        let biases = [bias; 16];
        let packed = ChannelsLast::new(c, IntType::I8, 0, Weights::I8(&weights), Bias::I32(Some(&biases)))
            .unwrap()
            .unwrap();
        let scales: Vec<f32> = (0..16)
            .map(|_| numbers.between(1, 1000) as f32 * units[i / 4])
            .collect();
        let grid = |&scale: &f32| Dequantization {
            scale,
            zero_point: 0,
            relu: false,
        };
        let of: Per<Dequantization> = match i % 5 {
            4 => Per::Tensor(grid(&scales[0])),
            _ => scales.iter().map(grid).collect(),
        };
        let factor = [1.0 / 0.03, 255.0, 449.0, 0.01][i % 4] * (1.0 - i as f32 / 64.0);
        let place = [ZeroPoint::InsideRounding, ZeroPoint::After][i / 4 % 2];
        let (out, zero) = match i % 3 {
            2 => (IntType::U8, numbers.between(0, 128)),
            _ => (IntType::I8, numbers.between(-128, 127)),
        };
        let to = Quantization::new(Scaling::Times(factor), (zero, place), Rounding::HalfEven, out);
        let chain = |to| FloatChain::new(&[Some((IntType::I32, of.clone()))], Activation::Silu, to);
        let (codes, reals) = (chain(Some(to)).unwrap().unwrap(), chain(None).unwrap().unwrap());
        let (codes, reals) = (codes.loops().unwrap(), reals.loops().unwrap());
        let grids: Vec<Dequantization> = (0..16).map(|channel| *of.get(channel).unwrap()).collect();
        let x: Vec<f32> = (0..65_536)
            .flat_map(|at| grids.iter().map(move |grid| grid.eval(bias + sum(at))))
            .collect();
        let mut y = vec![0.0; x.len()];
        unary(&Context::detect(), Unary::Silu, &x, &mut y).unwrap();
        for isa in Isa::available() {
            let cx = Context::with_isa(isa);
            let mut found = vec![0; y.len()];
            codes.conv_last(&cx, &packed, 2, &input, &mut found).unwrap();
            let mut found_reals = vec![0; 4 * y.len()];
            reals.conv_last(&cx, &packed, 2, &input, &mut found_reals).unwrap();
            for (at, &y) in y.iter().enumerate() {
                assert_eq!(
                    f32::from_ne_bytes(found_reals[4 * at..][..4].try_into().unwrap()).to_bits(),
                    y.to_bits()
                );
                assert_eq!(found[at], to.eval(y).to_le_bytes()[0], "{} {to:?} {isa:?}", x[at]);
            }
        }
    }
}
