//! Tests that a plan with channels last shows, takes and returns the order of the graph.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Builder, options};
use smallvec::smallvec;
use std::{collections::BTreeMap, num::NonZeroUsize};
use strait_core::{Carrier, Elem, Module, QuantParams, Reason, ReasonCode, Stage, ValueId, op};
use strait_execute::{Plan, Tensor, Threads, Workspace, reference};
use strait_kernels::Isa;
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};

fn narrow(b: &mut Builder, sums: ValueId, bits: u8) -> ValueId {
    let narrowing = Narrowing {
        shift: bits.into(),
        rounding: Rounding::HalfUp,
        out: IntType::I8,
    };
    let form = Requantization::ArithFolded(form::ArithFolded { narrowing });
    b.op(op::Requantize { form, axis: 1 }, &[sums])
}

fn conv(b: &mut Builder, x: ValueId, [outputs, channels, kernel]: [u64; 3], groups: u32) -> ValueId {
    let count = outputs * channels * kernel * kernel;
    let weights: Vec<i8> = (0..count).map(|i| (i * 29 % 61) as i8 - 30).collect();
    let weights = b.constant(&[outputs, channels, kernel, kernel], &weights);
    let conv = op::Conv {
        pad: smallvec![(kernel / 2) as u32; 4],
        groups,
        ..op::Conv::plain(2)
    };
    let sums = b.op(conv, &[x, weights]);
    narrow(b, sums, 7)
}

/// A graph in which images are read by convolutions, by steps that work on any order or on channels last, and by steps that
/// want planes.
fn module() -> (Module, Vec<ValueId>) {
    let mut b = Builder::new(Stage::Integer);
    let x = b.input(Elem::I8, &[2, 3, 6, 5]);
    let first = conv(&mut b, x, [10, 3, 3], 1);
    let depthwise = conv(&mut b, first, [10, 1, 3], 10);
    let pool = op::MaxPool {
        size: smallvec![3, 3],
        stride: smallvec![1, 1],
        pad: smallvec![1; 4],
        dilation: smallvec![1, 1],
        ceil: false,
    };
    let pooled = b.op(pool, &[depthwise]);
    let both = b.op(op::Concat { axis: 1 }, &[pooled, first]);
    let slice = op::Slice {
        starts: smallvec![3],
        ends: smallvec![15],
        axes: smallvec![1],
        steps: smallvec![1],
    };
    let some = b.op(slice, &[both]);
    let second = conv(&mut b, some, [7, 12, 1], 1);
    let sum = op::Reduce {
        accumulator: Carrier::I32,
        reduction: op::Reduction::Sum,
        axes: smallvec![2, 3],
        keep_dims: true,
    };
    let sums = b.op(sum, &[second]);
    let means = narrow(&mut b, sums, 5);
    let multiply = op::Mul {
        a_zero: 3,
        b_zero: -2,
        accumulator: Carrier::I32,
    };
    let products = b.op(multiply, &[second, means]);
    let scaled = narrow(&mut b, products, 6);
    let turn = op::Transpose {
        permutation: smallvec![0, 2, 1, 3],
    };
    let turned = b.op(turn, &[scaled]);
    let third = conv(&mut b, scaled, [4, 7, 3], 1);
    let values = vec![
        first, depthwise, pooled, both, some, second, means, scaled, turned, third,
    ];
    (b.output(&[turned, third, second, means]), values)
}

/// A graph that leaves the integers between convolutions: with a grid per channel and per tensor, and with float steps that
/// work on any order, on channels last, or only on planes.
fn with_floats() -> (Module, Vec<ValueId>) {
    let mut b = Builder::new(Stage::Integer);
    let x = b.input(Elem::I8, &[2, 3, 6, 5]);
    let first = conv(&mut b, x, [10, 3, 3], 1);
    let weights: Vec<i8> = (0..100).map(|i| (i * 31 % 61) as i8 - 30).collect();
    let weights = b.constant(&[10, 10, 1, 1], &weights);
    let sums = b.op(op::Conv::plain(2), &[first, weights]);
    let scales: Vec<f32> = (0..10).map(|c| 0.01 + 0.003 * c as f32).collect();
    let per_channel = |zeros: Per<i32>| QuantParams {
        scale: scales.iter().copied().collect(),
        axis: Some(1),
        ..QuantParams {
            zero_point: zeros,
            ..QuantParams::tensor(1.0, 0)
        }
    };
    b.quant(sums, per_channel(Per::Tensor(0)));
    let reals = b.op(op::Dequantize {}, &[sums]);
    b.quant(first, QuantParams::tensor(0.25, 3));
    let others = b.op(op::Dequantize {}, &[first]);
    let added = b.op(op::Add {}, &[reals, others]);
    let relu = b.op(op::Relu {}, &[added]);
    let sigmoid = op::Unary {
        function: op::Function::Sigmoid,
    };
    let gates = b.op(sigmoid, &[relu]);
    let means = b.op(op::GlobalAveragePool {}, &[gates]);
    let scaled = b.op(op::Mul::float(), &[relu, means]);
    let half = b.constant(&[1], &[0.5_f32]);
    let halved = b.op(op::Mul::float(), &[scaled, half]);
    let quantize = op::Quantize {
        to: Elem::I8,
        rounding: Rounding::HalfEven,
        reciprocal: false,
        zero_point: Default::default(),
    };
    let codes = b.op(quantize.clone(), &[halved]);
    b.quant(codes, QuantParams::tensor(0.05, 0));
    let by_channel = b.op(quantize, &[halved]);
    b.quant(by_channel, per_channel((0..10).map(|c| 3 * c - 11).collect()));
    let last = conv(&mut b, codes, [4, 10, 3], 1);
    // The second convolution makes real numbers of its accumulators.
    let values = vec![
        first, reals, relu, gates, means, scaled, halved, codes, by_channel, last,
    ];
    // Floats are computed on the host.
    for value in [added, relu, gates, means, scaled, halved] {
        let node = b.module.main().producer(value).map(|(id, _)| id).unwrap();
        let reason = Reason::new(ReasonCode::QuantizeType, "floats");
        b.module.main_mut().place_on_host(node, reason);
    }
    (b.output(&[last, by_channel, means]), values)
}

fn input() -> Tensor {
    let codes: Vec<i8> = (0..180).map(|i| (i * 37 % 256 - 128) as i8).collect();
    Tensor::from_values(&[2, 3, 6, 5], &codes).unwrap()
}

#[test]
fn outputs_and_observed_values_have_the_order_of_the_graph() {
    for (module, values) in [module(), with_floats()] {
        shown_in_the_order_of_the_graph(&module, &values);
    }
}

fn shown_in_the_order_of_the_graph(module: &Module, values: &[ValueId]) {
    let input = input();
    let mut expected = BTreeMap::new();
    let outputs = reference::run(module, module.main, &[input.view()], &mut |value, tensor| {
        expected.insert(value, tensor.to_tensor());
    })
    .unwrap();
    for isa in Isa::available() {
        let plan = Plan::new(module, module.main, &options(isa)).unwrap();
        for threads in [1, 3] {
            let mut space = Workspace::new(&plan, &Threads::new(NonZeroUsize::new(threads).unwrap()));
            assert_eq!(plan.run(&mut space, &[input.view()]).unwrap(), outputs);
            let mut seen = 0;
            let found = plan.run_observed(&mut space, &[input.view()], &mut |value, tensor| {
                assert_eq!(tensor.to_tensor(), expected[&value], "{value}");
                seen += usize::from(values.contains(&value));
            });
            assert_eq!(found.unwrap(), outputs);
            assert_eq!(seen, values.len());
        }
    }
}

#[test]
fn a_value_is_replaced_in_the_order_of_the_graph() {
    let ((module, values), input) = (module(), input());
    let replaced = |join: bool, which: ValueId| {
        let options = strait_execute::PlanOptions {
            join,
            ..options(Isa::detect())
        };
        let plan = Plan::new(&module, module.main, &options).unwrap();
        let mut space = Workspace::new(&plan, &Threads::one());
        let other = |tensor: &Tensor| {
            let codes: Vec<i8> = (0..tensor.view().bytes().len()).map(|i| (i * 11 % 200) as i8).collect();
            Tensor::from_values(tensor.shape(), &codes).unwrap()
        };
        let mut replace =
            |value, tensor: strait_execute::TensorView<'_>| (value == which).then(|| other(&tensor.to_tensor()));
        plan.run_replacing(&mut space, &[input.view()], &mut replace).unwrap()
    };
    for value in values {
        assert_eq!(replaced(true, value), replaced(false, value), "{value}");
    }
}

#[test]
fn images_are_quantized_in_the_order_in_which_they_are_read() {
    for channels in [1, 3, 4, 5] {
        let mut b = Builder::new(Stage::Integer);
        let x = b.input(Elem::F32, &[2, channels, 6, 5]);
        let quantize = op::Quantize {
            to: Elem::I8,
            rounding: Rounding::HalfAway,
            reciprocal: false,
            zero_point: Default::default(),
        };
        let codes = b.op(quantize, &[x]);
        b.quant(codes, QuantParams::tensor(0.1, 0));
        let first = conv(&mut b, codes, [10, channels, 3], 1);
        let number = b.constant(&[1], &[57_i8]);
        let multiply = op::Mul {
            a_zero: -5,
            b_zero: 2,
            accumulator: Carrier::I32,
        };
        let products = b.op(multiply, &[first, number]);
        let scaled = narrow(&mut b, products, 6);
        let module = b.output(&[scaled]);
        let numbers: Vec<f32> = (0..60 * channels).map(|i| (i * 37 % 256) as f32 / 9.0 - 13.0).collect();
        let input = Tensor::from_values(&[2, channels as usize, 6, 5], &numbers).unwrap();
        let expected = reference::run(&module, module.main, &[input.view()], &mut |_, _| {}).unwrap();
        for isa in Isa::available() {
            let plan = Plan::new(&module, module.main, &options(isa)).unwrap();
            let mut space = Workspace::new(&plan, &Threads::one());
            let mut seen = Vec::new();
            let found = plan.run_observed(&mut space, &[input.view()], &mut |value, _| seen.push(value));
            assert_eq!(found.unwrap(), expected);
            // Nobody sees the codes that are not in the order of the graph.
            assert_eq!(seen.contains(&codes), channels > 4, "{channels} channels");
        }
    }
}
