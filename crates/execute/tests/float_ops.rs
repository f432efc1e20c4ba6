//! Compares float operators on small tensors with values that were computed by hand or by plain formulas.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
#[path = "float_ops/index.rs"]
mod index;
#[path = "float_ops/recurrent.rs"]
mod recurrent;
#[path = "float_ops/samples.rs"]
mod samples;
#[path = "float_ops/windows.rs"]
mod windows;

use common::{Builder, float_op, run};
use smallvec::smallvec;
use std::num::NonZeroU32;
use strait_core::op::{self, Coordinate, Function, Nearest, PadMode, Reduction, ResizeMode};
use strait_core::{Carrier, Elem, FloatFormat, Granularity, Policy, QuantParams, Scheme, Stage, WeightZero};
use strait_execute::Tensor;
use strait_requantize::Rounding;
use strait_requantize::quantize::ZeroPoint;

fn close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= 2e-6 * e.abs().max(1.0), "{i}: {f} instead of {e}");
    }
}

const SIX: [f32; 6] = [1.0, -2.0, 3.0, -4.0, 5.0, -6.0];

/// The result of `round_to` with a grid.
fn rounded(scheme: Scheme, grid: Option<QuantParams>, dims: &[u64], x: &[f32]) -> Vec<f32> {
    let mut builder = Builder::new(Stage::Float);
    let input = builder.input(Elem::F32, dims);
    let result = builder.op(op::RoundTo { scheme }, &[input]);
    if let Some(grid) = grid {
        builder.quant(result, grid);
    }
    let shape: Vec<usize> = dims.iter().map(|&d| d as usize).collect();
    let x = Tensor::from_values(&shape, x).unwrap();
    run(&builder.output(&[result]), &[x])[0]
        .values::<f32>()
        .unwrap()
        .to_vec()
}

#[test]
fn rounding_without_codes_is_that_to_the_nearest_of_a_grid() {
    let codes = |policy| Scheme::integers(policy, Elem::I8, [-8, 7], Rounding::HalfEven).unwrap();
    let (tensor, channel) = (Granularity::Tensor, Granularity::Channel { axis: 0 });
    let fixed = |per| codes(Policy::linear(false, per));
    // The grid has steps of ½ from −8.5 (code −8, with zero point 9) to −1 (code 7). Numbers beyond are clamped.
    let x = [-9.0, -8.25, -3.75, -1.25, 0.0, 100.0];
    assert_eq!(
        rounded(fixed(tensor), Some(QuantParams::tensor(0.5, 9)), &[6], &x),
        [-8.5, -8.0, -4.0, -1.0, -1.0, -1.0]
    );
    // Each row has a step size of its own. 1.5 and 2.5 steps are ties.
    let grid = QuantParams::channel([1.0, 4.0].into(), 0);
    let found = rounded(fixed(channel), Some(grid), &[2, 3], &[1.5, 2.5, 9.0, 6.0, 10.0, -40.0]);
    assert_eq!(found, [2.0, 2.0, 7.0, 8.0, 8.0, -32.0]);
    // The format e2m1 has the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4 and 6, here times ¼.
    let small = FloatFormat::new(2, 1).unwrap();
    let small = Scheme::floats(small, tensor, Rounding::HalfEven);
    let found = rounded(
        small,
        Some(QuantParams::tensor(0.25, 0)),
        &[6],
        &[0.1, 0.3, -0.6, 0.9, 1.1, 7.0],
    );
    assert_eq!(found, [0.125, 0.25, -0.5, 1.0, 1.0, 1.5]);
    // The range is computed in each run: the largest number, 14, is 7 steps.
    let dynamic = codes(Policy::Linear {
        symmetric: true,
        power_of_two: false,
        dynamic: true,
        per: tensor,
    });
    assert_eq!(rounded(dynamic, None, &[3], &[14.0, -3.1, 0.9]), [14.0, -4.0, 0.0]);
}

#[test]
fn codes_by_block_are_those_of_each_block() {
    let scales = [1.0f32, 0.5, 0.25, 2.0];
    let of = |axis, dims: &[u64]| {
        let grid = QuantParams {
            block: NonZeroU32::new(2),
            ..QuantParams::channel(scales.into(), axis)
        };
        let mut builder = Builder::new(Stage::Float);
        let x = builder.input(Elem::F32, dims);
        let quantize = op::Quantize {
            to: Elem::I8,
            rounding: Rounding::HalfEven,
            reciprocal: false,
            zero_point: ZeroPoint::After,
        };
        let codes = builder.op(quantize, &[x]);
        builder.quant(codes, grid);
        let reals = builder.op(op::Dequantize {}, &[codes]);
        let shape: Vec<usize> = dims.iter().map(|&d| d as usize).collect();
        let x = Tensor::from_values(&shape, &[1.3f32; 8]).unwrap();
        run(&builder.output(&[reals]), &[x])[0]
            .values::<f32>()
            .unwrap()
            .to_vec()
    };
    // 1.3 is rounded to steps of 1, 0.5, 0.25 and 2. Along the last axis, the elements of a block are neighbours; along
    // the first axis, the blocks of the two columns are interleaved.
    assert_eq!(of(1, &[2, 4]), [1.0, 1.0, 1.5, 1.5, 1.25, 1.25, 2.0, 2.0]);
    assert_eq!(of(0, &[4, 2]), [1.0, 1.5, 1.0, 1.5, 1.25, 2.0, 1.25, 2.0]);
}

#[test]
fn activations_are_their_formulas() {
    let on = |op: strait_core::Op| float_op(op, &[(&[2, 3], &SIX)]);
    assert_eq!(on(op::Relu {}.into()), [1.0, 0.0, 3.0, 0.0, 5.0, 0.0]);
    assert_eq!(
        on(op::Clip { min: -3.0, max: 2.0 }.into()),
        [1.0, -2.0, 2.0, -3.0, 2.0, -3.0]
    );
    assert_eq!(
        on(op::LeakyRelu { alpha: 0.5 }.into()),
        [1.0, -1.0, 3.0, -2.0, 5.0, -3.0]
    );
    close(
        &on(op::HardSigmoid { alpha: 0.2, beta: 0.5 }.into()),
        &[0.7, 0.1, 1.0, 0.0, 1.0, 0.0],
    );
    let elu = SIX.map(|x| {
        if x < 0.0 {
            0.5 * (f64::from(x).exp() - 1.0) as f32
        } else {
            x
        }
    });
    close(&on(op::Elu { alpha: 0.5 }.into()), &elu);
}

#[test]
fn functions_of_one_variable_are_their_formulas() {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let cases: &[(Function, &dyn Fn(f64) -> f64)] = &[
        (Function::Sigmoid, &sigmoid),
        (Function::Tanh, &f64::tanh),
        (Function::Silu, &|x| x * sigmoid(x)),
        (Function::GeluTanh, &|x| {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }),
        (Function::HardSwish, &|x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        (Function::Mish, &|x| x * x.exp().ln_1p().tanh()),
        (Function::Softplus, &|x| x.exp().ln_1p()),
        (Function::Exp, &f64::exp),
        (Function::Reciprocal, &|x| 1.0 / x),
        (Function::Neg, &|x| -x),
        (Function::Abs, &f64::abs),
        (Function::Floor, &f64::floor),
        (Function::Ceil, &f64::ceil),
        (Function::Round, &f64::round_ties_even),
    ];
    let x = [-5.5f32, -2.5, -0.75, 0.5, 1.5, 6.25];
    for (function, formula) in cases {
        let expected: Vec<f32> = x.iter().map(|&x| formula(f64::from(x)) as f32).collect();
        close(&float_op(op::Unary { function: *function }, &[(&[6], &x)]), &expected);
    }
    let x = [0.25f32, 1.0, 2.0, 9.0];
    close(
        &float_op(
            op::Unary {
                function: Function::Sqrt,
            },
            &[(&[4], &x)],
        ),
        &x.map(f32::sqrt),
    );
    close(
        &float_op(
            op::Unary {
                function: Function::Log,
            },
            &[(&[4], &x)],
        ),
        &x.map(f32::ln),
    );
    // Φ(1) = 0.841344746
    close(
        &float_op(
            op::Unary {
                function: Function::Gelu,
            },
            &[(&[2], &[1.0, -1.0])],
        ),
        &[0.841_344_7, -0.158_655_26],
    );
}

#[test]
fn arithmetic_broadcasts() {
    let row: (&[u64], &[f32]) = (&[3], &[1.0, 2.0, 4.0]);
    assert_eq!(
        float_op(op::Add {}, &[(&[2, 3], &SIX), row]),
        [2.0, 0.0, 7.0, -3.0, 7.0, -2.0]
    );
    assert_eq!(
        float_op(op::Sub {}, &[row, (&[2, 3], &SIX)]),
        [0.0, 4.0, 1.0, 5.0, -3.0, 10.0]
    );
    assert_eq!(
        float_op(
            op::Mul {
                a_zero: 0,
                b_zero: 0,
                accumulator: Carrier::I32
            },
            &[(&[2, 1], &[2.0, 3.0]), row]
        ),
        [2.0, 4.0, 8.0, 3.0, 6.0, 12.0]
    );
    assert_eq!(float_op(op::Div {}, &[row, (&[], &[2.0])]), [0.5, 1.0, 2.0]);
    assert_eq!(float_op(op::Pow {}, &[row, (&[1], &[2.0])]), [1.0, 4.0, 16.0]);
}

#[test]
fn products_are_sums_of_products() {
    let gemm = |op: op::Gemm, bias: (&[u64], &[f32])| {
        float_op(
            op,
            &[(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), (&[2, 2], &[5.0, 6.0, 7.0, 8.0]), bias],
        )
    };
    assert_eq!(
        gemm(op::Gemm::canonical(), (&[2], &[100.0, 200.0])),
        [117.0, 223.0, 139.0, 253.0]
    );
    let scaled = op::Gemm {
        accumulator: Carrier::I32,
        transpose_a: true,
        transpose_b: false,
        alpha: 2.0,
        beta: 0.5,
        weight_zero: WeightZero::default(),
    };
    assert_eq!(gemm(scaled, (&[1], &[100.0])), [102.0, 110.0, 126.0, 138.0]);
    let matmul = op::MatMul {
        a_zero: 0,
        b_zero: 0,
        accumulator: Carrier::I32,
    };
    let batched = float_op(
        matmul,
        &[(&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]), (&[2, 2], &[5.0, 6.0, 7.0, 8.0])],
    );
    assert_eq!(batched, [19.0, 22.0, 43.0, 50.0]);
    let conv = op::Conv {
        pad: smallvec![1, 1],
        ..op::Conv::plain(1)
    };
    let conv = float_op(
        conv,
        &[
            (&[1, 1, 3], &[1.0, 2.0, 3.0]),
            (&[1, 1, 3], &[1.0, 10.0, 100.0]),
            (&[1], &[0.5]),
        ],
    );
    assert_eq!(conv, [210.5, 321.5, 32.5]);
    let grouped = op::Conv {
        groups: 2,
        ..op::Conv::plain(2)
    };
    let grouped = float_op(
        grouped,
        &[(&[1, 2, 1, 2], &[1.0, 2.0, 3.0, 4.0]), (&[2, 1, 1, 1], &[10.0, 100.0])],
    );
    assert_eq!(grouped, [10.0, 20.0, 300.0, 400.0]);
}

#[test]
fn windows_and_reductions() {
    let x: Vec<f32> = (1..=9).map(|v| v as f32).collect();
    let x: (&[u64], &[f32]) = (&[1, 1, 3, 3], &x);
    let max = op::MaxPool {
        size: smallvec![2, 2],
        stride: smallvec![2, 2],
        pad: smallvec![0; 4],
        dilation: smallvec![1, 1],
        ceil: true,
    };
    assert_eq!(float_op(max, &[x]), [5.0, 6.0, 8.0, 9.0]);
    let mut average = op::AveragePool {
        size: smallvec![2, 2],
        stride: smallvec![2, 2],
        pad: smallvec![1, 1, 0, 0],
        dilation: smallvec![1, 1],
        ceil: false,
        count_include_pad: false,
    };
    assert_eq!(float_op(average.clone(), &[x]), [1.0, 2.5, 5.5, 7.0]);
    average.count_include_pad = true;
    assert_eq!(float_op(average, &[x]), [0.25, 1.25, 2.75, 7.0]);
    assert_eq!(float_op(op::GlobalAveragePool {}, &[x]), [5.0]);
    let reduce = |reduction, axes: &[i64]| op::Reduce {
        accumulator: Carrier::I32,
        reduction,
        axes: axes.into(),
        keep_dims: false,
    };
    let cube: Vec<f32> = (0..8).map(|v| v as f32).collect();
    let cube: (&[u64], &[f32]) = (&[2, 2, 2], &cube);
    assert_eq!(float_op(reduce(Reduction::Mean, &[0, -1]), &[cube]), [2.5, 4.5]);
    assert_eq!(float_op(reduce(Reduction::Sum, &[]), &[cube]), [28.0]);
    assert_eq!(float_op(reduce(Reduction::Max, &[1]), &[cube]), [2.0, 3.0, 6.0, 7.0]);
    assert_eq!(float_op(reduce(Reduction::Min, &[0, 1]), &[cube]), [0.0, 1.0]);
    assert_eq!(
        float_op(reduce(Reduction::Product, &[0, -1]), &[cube]),
        [0.0, 2.0 * 3.0 * 6.0 * 7.0]
    );
}

#[test]
fn normalizations() {
    let x = [1.0f32, 2.0, 3.0, 5.0];
    let softmax = float_op(op::Softmax { axis: -1 }, &[(&[2, 2], &x)]);
    let e = |d: f64| (1.0 / (1.0 + d.exp())) as f32;
    close(&softmax, &[e(1.0), e(-1.0), e(2.0), e(-2.0)]);
    let layer = op::LayerNormalization {
        axis: -1,
        epsilon: 0.25,
    };
    let layer = float_op(layer, &[(&[2, 2], &x), (&[2], &[2.0, 4.0]), (&[2], &[0.0, 1.0])]);
    let (a, b) = (0.5 / 0.5f32.sqrt(), 1.0 / 1.25f32.sqrt());
    close(&layer, &[-2.0 * a, 4.0 * a + 1.0, -2.0 * b, 4.0 * b + 1.0]);
    let rms = op::RmsNormalization {
        axis: -1,
        epsilon: 0.25,
    };
    let rms = float_op(rms, &[(&[2, 2], &x), (&[2], &[2.0, 4.0])]);
    let (a, b) = (2.75f32.sqrt(), 17.25f32.sqrt());
    close(&rms, &[2.0 / a, 8.0 / a, 6.0 / b, 20.0 / b]);
    let batch = op::BatchNormalization { epsilon: 0.0 };
    let two = |a, b| [a, b];
    let [scale, bias, mean, variance] = [two(1.0f32, 2.0), two(0.0, 1.0), two(1.0, 1.0), two(4.0, 1.0)];
    let operands: [(&[u64], &[f32]); 5] = [
        (&[1, 2, 2], &x),
        (&[2], &scale),
        (&[2], &bias),
        (&[2], &mean),
        (&[2], &variance),
    ];
    close(&float_op(batch, &operands), &[0.0, 0.5, 5.0, 9.0]);
}

#[test]
fn elements_move() {
    let transpose = float_op(
        op::Transpose {
            permutation: smallvec![1, 0],
        },
        &[(&[2, 3], &SIX)],
    );
    assert_eq!(transpose, [1.0, -4.0, -2.0, 5.0, 3.0, -6.0]);
    let concat = float_op(
        op::Concat { axis: 1 },
        &[(&[2, 1], &[1.0, 2.0]), (&[2, 2], &[3.0, 4.0, 5.0, 6.0])],
    );
    assert_eq!(concat, [1.0, 3.0, 4.0, 2.0, 5.0, 6.0]);
    let slice = op::Slice {
        starts: smallvec![-1, 0],
        ends: smallvec![-10, 2],
        axes: smallvec![1, 0],
        steps: smallvec![-2, 1],
    };
    assert_eq!(float_op(slice, &[(&[2, 3], &SIX)]), [3.0, 1.0, -6.0, -4.0]);
    let pad = |mode, amounts: &[i64]| op::Pad {
        amounts: amounts.into(),
        mode,
        value: 9.0,
    };
    let row: (&[u64], &[f32]) = (&[3], &[1.0, 2.0, 3.0]);
    assert_eq!(
        float_op(pad(PadMode::Constant, &[1, 2]), &[row]),
        [9.0, 1.0, 2.0, 3.0, 9.0, 9.0]
    );
    assert_eq!(float_op(pad(PadMode::Constant, &[-1, 1]), &[row]), [2.0, 3.0, 9.0]);
    assert_eq!(
        float_op(pad(PadMode::Reflect, &[2, 1]), &[row]),
        [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]
    );
    assert_eq!(float_op(pad(PadMode::Edge, &[1, 1]), &[row]), [1.0, 1.0, 2.0, 3.0, 3.0]);
    let mut resize = op::Resize {
        nearest: Nearest::Floor,
        scales: vec![1.0, 2.0],
        ..op::Resize::to_sizes(ResizeMode::Nearest, Coordinate::Asymmetric, &[])
    };
    let columns: (&[u64], &[f32]) = (&[1, 2], &[1.0, 3.0]);
    assert_eq!(float_op(resize.clone(), &[columns]), [1.0, 1.0, 3.0, 3.0]);
    (resize.mode, resize.coordinate) = (ResizeMode::Linear, Coordinate::HalfPixel);
    assert_eq!(float_op(resize.clone(), &[columns]), [1.0, 1.5, 2.5, 3.0]);
    (resize.scales, resize.sizes, resize.coordinate) = (vec![], smallvec![1, 3], Coordinate::AlignCorners);
    assert_eq!(float_op(resize, &[columns]), [1.0, 2.0, 3.0]);
}
