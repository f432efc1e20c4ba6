//! Tests which primitives become one step, and which must not.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Builder, options, run_with};
use smallvec::smallvec;
use strait_core::op;
use strait_core::{Carrier, Elem, Module, QuantParams, Reason, ReasonCode, Stage, ValueId};
use strait_execute::{LoopsFor, Plan, PlanOptions, Standard, StepError, Tensor, TensorView, reference};
use strait_kernels::Isa;
use strait_kernels::integer::Loops;
use strait_requantize::quantize::ZeroPoint;
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};

fn shift(shift: Per<u8>, out: IntType) -> Requantization {
    let rounding = Rounding::HalfUp;
    Requantization::ArithFolded(form::ArithFolded {
        narrowing: Narrowing { shift, rounding, out },
    })
}

fn requantize(builder: &mut Builder, value: ValueId, form: Requantization, axis: u32) -> ValueId {
    builder.op(op::Requantize { form, axis }, &[value])
}

/// Checks that a graph on i8 [1, 3, 4, 4] has this many steps after joining.
fn check(steps: usize, build: impl Fn(&mut Builder, ValueId) -> Vec<ValueId>) {
    let mut builder = Builder::new(Stage::Integer);
    let x = builder.input(Elem::I8, &[1, 3, 4, 4]);
    let outputs = build(&mut builder, x);
    let module = builder.output(&outputs);
    let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
    assert_eq!(plan.step_count(), steps);
    same_bytes(&module);
}

fn same_bytes(module: &Module) {
    let codes: Vec<i8> = (0..48).map(|i| (i * 37 % 256 - 128) as i8).collect();
    let input = Tensor::from_values(&[1, 3, 4, 4], &codes).unwrap();
    let expected = reference::run(module, module.main, &[input.view()], &mut |_, _| {}).unwrap();
    for isa in Isa::available() {
        let found = run_with(module, std::slice::from_ref(&input), &options(isa), 1).unwrap();
        assert_eq!(found, expected);
    }
}

fn conv(builder: &mut Builder, x: ValueId) -> ValueId {
    let weights: Vec<i8> = (0..6).map(|i| 50 - 17 * i).collect();
    let weights = builder.constant(&[2, 3, 1, 1], &weights);
    builder.op(op::Conv::plain(2), &[x, weights])
}

#[test]
fn a_convolution_takes_its_requantization_and_its_clamps() {
    check(1, |b, x| {
        let sum = conv(b, x);
        let q = requantize(b, sum, shift([5, 7].into_iter().collect(), IntType::I8), 1);
        let clamped = b.op(op::Clamp { min: -20, max: 60 }, &[q]);
        vec![b.op(op::Clamp { min: 0, max: 100 }, &[clamped])]
    });
}

/// At least one operand has codes of 16 bits, for which a table would have 65,536 entries.
#[test]
fn a_sum_of_16_bit_codes_is_one_step() {
    let codes: Vec<i16> = (0..48).map(|i| (i * 2739 % 65536 - 32768) as i16).collect();
    let bytes: Vec<u8> = (0..48).map(|i| (i * 37 % 256) as u8).collect();
    let inputs = [
        Tensor::from_values(&[1, 3, 4, 4], &codes).unwrap(),
        Tensor::from_values(&[1, 3, 4, 4], &bytes).unwrap(),
    ];
    for (subtract, other) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
        let mut b = Builder::new(Stage::Integer);
        let ports = [b.input(Elem::I16, &[1, 3, 4, 4]), b.input(Elem::U8, &[1, 3, 4, 4])];
        let operands = [(ports[0], 3), (ports[other], 4)].map(|(value, shift)| {
            let zero = 7;
            let accumulator = Carrier::I32;
            let shifted = b.op(
                op::ShiftLeft {
                    zero,
                    bits: 11,
                    accumulator,
                },
                &[value],
            );
            requantize(&mut b, shifted, self::shift(shift.into(), IntType::I32), 0)
        });
        let sum = match subtract {
            true => b.op(op::Sub {}, &operands),
            false => b.op(op::Add {}, &operands),
        };
        let codes = requantize(&mut b, sum, shift(9.into(), IntType::I16), 0);
        let module = b.output(&[codes]);
        let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
        assert_eq!(plan.step_count(), 1);
        let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
        let expected = reference::run(&module, module.main, &views, &mut |_, _| {}).unwrap();
        for isa in Isa::available() {
            assert_eq!(run_with(&module, &inputs, &options(isa), 1).unwrap(), expected);
        }
    }
}

/// The loops of a target whose forms cannot clamp, except to the range of their type.
struct WithoutClamps;

impl LoopsFor for WithoutClamps {
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError> {
        match clamp {
            None => Standard.loops_for(form, clamp),
            Some(ends) => Err(StepError::Target(format!("a clamp to {ends:?}"))),
        }
    }
}

#[test]
fn a_clamp_that_the_loops_do_not_take_is_a_step_of_its_own() {
    let mut builder = Builder::new(Stage::Integer);
    let x = builder.input(Elem::I8, &[1, 3, 4, 4]);
    let sum = conv(&mut builder, x);
    let codes = requantize(&mut builder, sum, shift(6.into(), IntType::I8), 1);
    let clamped = builder.op(op::Clamp { min: -20, max: 60 }, &[codes]);
    let module = builder.output(&[clamped]);
    let options = PlanOptions {
        loops: &WithoutClamps,
        ..PlanOptions::default()
    };
    assert_eq!(Plan::new(&module, module.main, &options).unwrap().step_count(), 2);
    let input = Tensor::from_values(&[1, 3, 4, 4], &[90i8; 48]).unwrap();
    let found = run_with(&module, std::slice::from_ref(&input), &options, 1).unwrap();
    let expected = reference::run(&module, module.main, &[input.view()], &mut |_, _| {}).unwrap();
    assert_eq!(found, expected);
}

#[test]
fn what_others_use_stays() {
    check(2, |b, x| {
        let sum = conv(b, x);
        let q = requantize(b, sum, shift(6.into(), IntType::I8), 0);
        vec![sum, q]
    });
    check(2, |b, x| {
        let sum = conv(b, x);
        let q = requantize(b, sum, shift(6.into(), IntType::I8), 0);
        vec![q, b.op(op::Clamp { min: 0, max: 9 }, &[q])]
    });
}

/// A sum over windows of 2 × 2, with padding on all sides. The result has the extents [1, 3, 5, 5].
fn sum_pool() -> op::SumPool {
    op::SumPool {
        size: smallvec![2, 2],
        stride: smallvec![1, 1],
        pad: smallvec![1; 4],
        dilation: smallvec![1, 1],
        ceil: false,
        pad_value: 3,
        accumulator: Carrier::I32,
    }
}

#[test]
fn a_pool_takes_a_requantization_whose_channels_are_picked_by_position() {
    let form = || shift([1, 2, 3].into_iter().collect(), IntType::I8);
    let picks: Vec<i32> = (0..25).map(|i| i % 3).collect();
    for dims in [&[5u64, 5][..], &[1, 1, 5, 1], &[1]] {
        check(1, |b, x| {
            let picks = b.constant(dims, &picks[..dims.iter().product::<u64>() as usize]);
            let sum = b.op(sum_pool(), &[x]);
            let q = b.op(op::Requantize { form: form(), axis: 0 }, &[sum, picks]);
            vec![b.op(op::Clamp { min: -20, max: 60 }, &[q])]
        });
    }
    // The operand picks a channel for each channel of the image, not for each position. The fast loops do not support
    // this, so the joined step computes it by its definition.
    check(1, |b, x| {
        let picks = b.constant(&[3, 1, 1], &[2, 0, 1]);
        let sum = b.op(sum_pool(), &[x]);
        vec![b.op(op::Requantize { form: form(), axis: 0 }, &[sum, picks])]
    });
    // A convolution cannot have an operand that picks channels.
    check(2, |b, x| {
        let picks = b.constant(&[4], &[2, 0, 1, 0]);
        let sum = conv(b, x);
        vec![b.op(op::Requantize { form: form(), axis: 0 }, &[sum, picks])]
    });
}

#[test]
fn a_channel_that_is_not_there_is_an_error() {
    let mut b = Builder::new(Stage::Integer);
    let x = b.input(Elem::I8, &[1, 3, 4, 4]);
    let picks = b.constant(&[5], &[0, 1, 2, 3, 0]);
    let sum = b.op(sum_pool(), &[x]);
    let form = shift([1, 2, 3].into_iter().collect(), IntType::I8);
    let q = b.op(op::Requantize { form, axis: 0 }, &[sum, picks]);
    // The output is added without the builder, because the verifier would refuse the graph.
    b.module.main_mut().add_output(q);
    let module = b.module;
    let input = Tensor::from_values(&[1, 3, 4, 4], &[0i8; 48]).unwrap();
    for isa in Isa::available() {
        assert!(run_with(&module, std::slice::from_ref(&input), &options(isa), 1).is_err());
    }
    assert!(reference::run(&module, module.main, &[input.view()], &mut |_, _| {}).is_err());
}

#[test]
fn channels_on_another_axis_stay_apart() {
    check(2, |b, x| {
        let sum = conv(b, x);
        vec![requantize(
            b,
            sum,
            shift([5, 6, 7, 8].into_iter().collect(), IntType::I8),
            2,
        )]
    });
}

#[test]
fn both_ways_of_adding_are_one_step() {
    let row = |b: &mut Builder| b.constant(&[4], &[1i8, -2, 3, -4]);
    // Both operands are shifted left by the same number of bits.
    check(1, |b, x| {
        let y = row(b);
        let operands = [x, y].map(|v| {
            let wide = b.op(
                op::ShiftLeft {
                    zero: 3,
                    bits: 20,
                    accumulator: Carrier::I32,
                },
                &[v],
            );
            let form = Requantization::Gemmlowp(form::Gemmlowp {
                multiplier: Per::Tensor(1_518_500_250),
                exponent: Per::Tensor(-1),
                zp: 0,
                roundings: form::Roundings::Two,
                out: IntType::I32,
            });
            requantize(b, wide, form, 0)
        });
        let sum = b.op(op::Add {}, &operands);
        let q = requantize(b, sum, shift(20.into(), IntType::I8), 0);
        vec![b.op(op::Clamp { min: -50, max: 50 }, &[q])]
    });
    // Both operands are on a common grid, and the difference is not requantized.
    check(1, |b, x| {
        let y = row(b);
        let form = || {
            Requantization::Fixed(form::Fixed {
                sc: Per::Tensor(12345),
                add: Per::Tensor(17),
                zp: 0,
                narrowing: Narrowing {
                    shift: 7.into(),
                    rounding: Rounding::HalfEven,
                    out: IntType::I32,
                },
            })
        };
        let operands = [x, y].map(|v| requantize(b, v, form(), 0));
        vec![b.op(op::Sub {}, &operands)]
    });
}

#[test]
fn an_operand_with_two_uses_is_no_table() {
    // Both operands are the same value, which is used twice and must not be joined. So the sum is computed on
    // accumulators.
    check(2, |b, x| {
        let wide = b.op(
            op::ShiftLeft {
                zero: 0,
                bits: 10,
                accumulator: Carrier::I32,
            },
            &[x],
        );
        let sum = b.op(op::Add {}, &[wide, wide]);
        vec![requantize(b, sum, shift(12.into(), IntType::U8), 0)]
    });
}

#[test]
fn functions_of_eight_bits_become_one_table() {
    check(1, |b, x| {
        let table: Vec<i8> = (0..256).map(|i| (i * 91 % 251 - 125) as i8).collect();
        let table = b.constant(&[256], &table);
        let y = b.op(op::Lookup {}, &[x, table]);
        let z = requantize(b, y, shift(1.into(), IntType::U8), 0);
        vec![b.op(
            op::ShiftLeft {
                zero: 9,
                bits: 4,
                accumulator: Carrier::I32,
            },
            &[z],
        )]
    });
}

#[test]
fn sums_over_axes_take_their_requantization() {
    check(1, |b, x| {
        let op = op::Reduce {
            accumulator: Carrier::I32,
            reduction: op::Reduction::Sum,
            axes: smallvec![2, 3],
            keep_dims: true,
        };
        let sum = b.op(op, &[x]);
        vec![requantize(b, sum, shift(4.into(), IntType::I8), 0)]
    });
}

#[test]
fn grids_per_channel_cross_the_border() {
    let mut builder = Builder::new(Stage::Integer);
    let x = builder.input(Elem::F32, &[1, 2, 2]);
    let quantize = op::Quantize {
        to: Elem::I16,
        rounding: Rounding::HalfEven,
        reciprocal: false,
        zero_point: Default::default(),
    };
    let q = builder.op(quantize, &[x]);
    builder.quant(q, QuantParams::channel([0.5, 0.25].into_iter().collect(), 1));
    let reals = builder.op(op::Dequantize {}, &[q]);
    let module = builder.output(&[q, reals]);
    let input = [0.25f32, f32::INFINITY, 0.375, f32::NAN];
    let input = TensorView::of(&[1, 2, 2], &input).unwrap().to_tensor();
    let found = run_with(&module, std::slice::from_ref(&input), &PlanOptions::default(), 1).unwrap();
    assert_eq!(found[0].values::<i16>().unwrap(), [0, 32767, 2, 0]);
    assert_eq!(found[1].values::<f32>().unwrap(), [0.0, 16383.5, 0.5, 0.0]);
    assert_eq!(
        found,
        reference::run(&module, module.main, &[input.view()], &mut |_, _| {}).unwrap()
    );
}

/// Reads codes as real numbers with this scale.
fn dequantize(b: &mut Builder, codes: ValueId, grid: QuantParams) -> ValueId {
    b.quant(codes, grid);
    b.op(op::Dequantize {}, &[codes])
}

fn quantize(b: &mut Builder, reals: ValueId, scale: f32) -> ValueId {
    let quantize = op::Quantize {
        to: Elem::I8,
        rounding: Rounding::HalfEven,
        reciprocal: true,
        zero_point: ZeroPoint::InsideRounding,
    };
    let codes = b.op(quantize, &[reals]);
    b.quant(codes, QuantParams::tensor(scale, -5));
    codes
}

/// Makes the module of a graph with floats, which run on the host.
fn with_floats(mut b: Builder, outputs: &[ValueId], floats: &[ValueId]) -> Module {
    for &value in floats {
        let node = b.module.main().producer(value).map(|(id, _)| id).unwrap();
        let reason = Reason::new(ReasonCode::QuantizeType, "floats");
        b.module.main_mut().place_on_host(node, reason);
    }
    b.output(outputs)
}

fn steps(module: &Module) -> usize {
    Plan::new(module, module.main, &PlanOptions::default())
        .unwrap()
        .step_count()
}

/// The accumulators of a convolution with a grid for each channel.
fn sums(b: &mut Builder, x: ValueId) -> (ValueId, QuantParams) {
    let sums = conv(b, x);
    let grid = QuantParams {
        scale: [0.001, 0.0023].into_iter().collect(),
        axis: Some(1),
        ..QuantParams::tensor(1.0, 0)
    };
    (sums, grid)
}

#[test]
fn float_steps_between_codes_are_one_step() {
    // Two blocks with a residual path in float: the first activation is read as codes and as real numbers.
    let functions: [fn(&mut Builder, ValueId) -> ValueId; 3] = [
        |b, x| b.op(op::Relu {}, &[x]),
        |b, x| b.op(op::Clip { min: -1.0, max: 6.0 }, &[x]),
        |b, x| {
            let function = op::Function::Silu;
            b.op(op::Unary { function }, &[x])
        },
    ];
    for function in functions {
        let mut b = Builder::new(Stage::Integer);
        let x = b.input(Elem::I8, &[1, 3, 4, 4]);
        let mut floats = vec![];
        let (first, grid) = sums(&mut b, x);
        let left = dequantize(&mut b, first, grid);
        let (second, grid) = sums(&mut b, x);
        let right = dequantize(&mut b, second, grid);
        let added = b.op(op::Add {}, &[left, right]);
        let active = function(&mut b, added);
        let codes = quantize(&mut b, active, 0.05);
        let weights = b.constant(&[2, 2, 1, 1], &[50_i8, -17, 33, 81]);
        let third = b.op(op::Conv::plain(2), &[codes, weights]);
        let grid = QuantParams::tensor(0.0017, 0);
        let other = dequantize(&mut b, third, grid);
        let again = b.op(op::Add {}, &[other, active]);
        let both = function(&mut b, again);
        let last = quantize(&mut b, both, 0.1);
        floats.extend([added, active, again, both]);
        let module = with_floats(b, &[last], &floats);
        // Three convolutions and two chains.
        assert_eq!(steps(&module), 5);
        same_bytes(&module);
    }
}

#[test]
fn real_numbers_that_are_read_before_they_are_quantized_are_stored_in_time() {
    let mut b = Builder::new(Stage::Integer);
    let x = b.input(Elem::I8, &[1, 3, 4, 4]);
    let (first, grid) = sums(&mut b, x);
    let reals = dequantize(&mut b, first, grid);
    let function = op::Function::Silu;
    let active = b.op(op::Unary { function }, &[reals]);
    let means = b.op(op::GlobalAveragePool {}, &[active]);
    let scaled = b.op(op::Mul::float(), &[active, means]);
    let codes = quantize(&mut b, active, 0.05);
    let others = quantize(&mut b, scaled, 0.02);
    let module = with_floats(b, &[codes, others, active], &[active, means, scaled]);
    same_bytes(&module);
}

#[test]
fn accumulators_are_requantized_and_dequantized_with_channels_last() {
    let mut b = Builder::new(Stage::Integer);
    let x = b.input(Elem::I8, &[1, 3, 4, 4]);
    let (first, grid) = sums(&mut b, x);
    let codes = requantize(&mut b, first, shift([5, 7].into_iter().collect(), IntType::I8), 1);
    let reals = dequantize(&mut b, first, grid);
    let added = b.op(op::Add {}, &[reals, reals]);
    let others = quantize(&mut b, added, 0.3);
    let weights = b.constant(&[2, 2, 1, 1], &[50_i8, -17, 33, 81]);
    let last = b.op(op::Conv::plain(2), &[codes, weights]);
    let module = with_floats(b, &[last, others, codes], &[added]);
    same_bytes(&module);
}

/// A convolution whose sums go through float steps, and squeeze-and-excitation, which multiplies real numbers.
#[test]
fn float_steps_after_a_convolution_are_a_part_of_it() {
    let silu = |b: &mut Builder, x| {
        let function = op::Function::Silu;
        b.op(op::Unary { function }, &[x])
    };
    let mut b = Builder::new(Stage::Integer);
    let x = b.input(Elem::I8, &[1, 3, 4, 4]);
    let (first, grid) = sums(&mut b, x);
    let reals = dequantize(&mut b, first, grid.clone());
    let active = silu(&mut b, reals);
    let codes = quantize(&mut b, active, 0.01);
    let weights = b.constant(&[2, 2, 1, 1], &[50_i8, -17, 33, 81]);
    let second = b.op(op::Conv::plain(2), &[codes, weights]);
    let numbers = dequantize(&mut b, second, QuantParams::tensor(0.0007, 0));
    let excited = silu(&mut b, numbers);
    let means = b.op(op::GlobalAveragePool {}, &[excited]);
    let scaled = b.op(op::Mul::float(), &[means, excited]);
    let last = quantize(&mut b, scaled, 0.02);
    let module = with_floats(b, &[last], &[reals, active, numbers, excited, means, scaled]);
    // Two convolutions, the means, and their product with the numbers, which is quantized.
    assert_eq!(steps(&module), 4);
    same_bytes(&module);
}
