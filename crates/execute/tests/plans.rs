//! Tests that a plan refuses wrong graphs, that an observer sees each value, and that neither shared memory nor threads
//! nor instruction sets change a result.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Builder, float_op, options, run, run_with, threads};
use smallvec::smallvec;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use strait_core::op::{self, Function};
use strait_core::{Carrier, Dim, Elem, Module, QuantParams, Stage, TensorData, TensorType};
use strait_execute::{
    ExecuteError, Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, cost, map_in_order, operations,
};
use strait_kernels::Isa;

/// conv → relu → reshape → add (the reshaped twice) → softmax, with x of extents [1, 3, 8, 8].
fn network() -> (Module, Tensor) {
    let mut b = Builder::new(Stage::Float);
    let x = b.input(Elem::F32, &[1, 3, 8, 8]);
    let numbers = |n: usize| {
        (0..n)
            .map(|i| ((i * 7919 % 1000) as f32 - 500.0) / 300.0)
            .collect::<Vec<_>>()
    };
    let weights = b.constant(&[16, 3, 3, 3], &numbers(432));
    let c = b.op(
        op::Conv {
            pad: smallvec![1; 4],
            ..op::Conv::plain(2)
        },
        &[x, weights],
    );
    let r = b.op(op::Relu {}, &[c]);
    let flat = b.op(
        op::Reshape {
            shape: smallvec![16, -1],
        },
        &[r],
    );
    let t = b.op(
        op::Unary {
            function: Function::Tanh,
        },
        &[flat],
    );
    let sum = b.op(op::Add {}, &[flat, t]);
    let s = b.op(op::Softmax { axis: -1 }, &[sum]);
    (
        b.output(&[s, flat]),
        Tensor::from_values(&[1, 3, 8, 8], &numbers(192)).unwrap(),
    )
}

#[test]
fn the_observer_sees_each_value_before_it_is_overwritten() {
    let (module, x) = network();
    let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
    let mut seen: Vec<(String, Tensor)> = Vec::new();
    let name = |v| module.name(module.main().value(v).unwrap().name).to_string();
    let outputs = plan
        .run_observed(
            &mut Workspace::new(&plan, &threads(1)),
            &[x.view()],
            &mut |value, view| {
                seen.push((name(value), view.to_tensor()));
            },
        )
        .unwrap();
    // The observer sees the input and the results of six nodes.
    assert_eq!(seen.len(), 7);
    // relu overwrites the result of the convolution, which was shown before.
    let (conv, relu) = (seen[1].1.values::<f32>().unwrap(), seen[2].1.values::<f32>().unwrap());
    assert!(conv.iter().any(|&v| v < 0.0));
    assert!(relu.iter().zip(conv).all(|(&r, &c)| r == c.max(0.0)));
    assert_eq!(seen[3].1.shape(), [16, 64]);
    assert_eq!(outputs, [seen[6].1.clone(), seen[3].1.clone()]);
}

/// x → relu → sum ← x: the sum reads the tensor that replaces relu's result, and so do the outputs.
#[test]
fn what_replaces_a_value_is_read_in_its_place() {
    let mut b = Builder::new(Stage::Float);
    let x = b.input(Elem::F32, &[3]);
    let y = b.op(op::Relu {}, &[x]);
    let z = b.op(op::Sub {}, &[x, y]);
    let module = b.output(&[z, y]);
    let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
    assert_eq!(plan.shown().collect::<Vec<_>>(), [y, z]);
    let tensor = |values: &[f32]| TensorView::of(&[3], values).unwrap().to_tensor();
    let given = tensor(&[-1.0, 2.0, 5.0]);
    let run = |other: Option<&Tensor>| {
        let mut replace = |value, _: TensorView<'_>| other.filter(|_| value == y).cloned();
        plan.run_replacing(&mut Workspace::new(&plan, &threads(1)), &[given.view()], &mut replace)
    };
    assert_eq!(
        run(None).unwrap(),
        [tensor(&[-1.0, 0.0, 0.0]), tensor(&[0.0, 2.0, 5.0])]
    );
    let other = tensor(&[10.0, 20.0, 30.0]);
    assert_eq!(run(Some(&other)).unwrap(), [tensor(&[-11.0, -18.0, -25.0]), other]);
    let wrong = TensorView::of(&[1, 3], &[0f32; 3]).unwrap().to_tensor();
    assert!(matches!(run(Some(&wrong)), Err(ExecuteError::Ours(_))));
}

#[test]
fn elementwise_ops_and_reshapes_share_memory() {
    // A chain of nodes that run in place needs only one buffer of 4096 bytes.
    let mut b = Builder::new(Stage::Float);
    let x = b.input(Elem::F32, &[1024]);
    let y = b.op(op::Relu {}, &[x]);
    let z = b.op(
        op::Reshape {
            shape: smallvec![32, 32],
        },
        &[y],
    );
    let z = b.op(
        op::Unary {
            function: Function::Sigmoid,
        },
        &[z],
    );
    let module = b.output(&[z]);
    assert_eq!(
        Plan::new(&module, module.main, &PlanOptions::default())
            .unwrap()
            .arena_bytes(),
        4096
    );
    // A value that is used later keeps its own buffer.
    let mut b = Builder::new(Stage::Float);
    let x = b.input(Elem::F32, &[1024]);
    let y = b.op(op::Relu {}, &[x]);
    let z = b.op(op::Sub {}, &[x, y]);
    let module = b.output(&[z, y]);
    assert_eq!(
        Plan::new(&module, module.main, &PlanOptions::default())
            .unwrap()
            .arena_bytes(),
        8192
    );
    let values: Vec<f32> = (0..1024).map(|i| i as f32 - 500.0).collect();
    let found = run(&module, &[Tensor::from_values(&[1024], &values).unwrap()]);
    assert!(
        found[0]
            .values::<f32>()
            .unwrap()
            .iter()
            .zip(&values)
            .all(|(&z, &x)| z == x.min(0.0))
    );
}

#[test]
fn neither_threads_nor_instruction_sets_show() {
    let (module, x) = network();
    let expected = run_with(&module, std::slice::from_ref(&x), &options(Isa::Scalar), 1).unwrap();
    for isa in Isa::available() {
        for count in [1, 3] {
            assert_eq!(
                run_with(&module, std::slice::from_ref(&x), &options(isa), count).unwrap(),
                expected
            );
        }
    }
}

#[test]
fn samples_run_side_by_side_and_come_back_in_order() {
    let (module, x) = network();
    let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
    let sample = |index: usize| {
        let values: Vec<f32> = x
            .values::<f32>()
            .unwrap()
            .iter()
            .map(|v| v * (1.0 + index as f32 / 8.0))
            .collect();
        Tensor::from_values(x.shape(), &values).unwrap()
    };
    let results = |count: usize| {
        let mut results = Vec::new();
        map_in_order(
            20,
            NonZeroUsize::new(count).unwrap(),
            || Ok(Workspace::new(&plan, &Threads::one())),
            |workspace, index| plan.run(workspace, &[sample(index).view()]),
            |_, outputs| {
                results.push(outputs);
                Ok(ControlFlow::Continue(()))
            },
        )
        .unwrap();
        results
    };
    let expected = results(1);
    assert_eq!(expected.len(), 20);
    assert_eq!(results(3), expected);
}

#[test]
fn a_symbolic_dimension_is_an_error_that_names_it() {
    let mut b = Builder::new(Stage::Float);
    let batch = b.module.names.intern("batch");
    let name = b.module.names.intern("image");
    let ty = TensorType {
        elem: Elem::F32,
        shape: [Dim::Named(batch), Dim::Fixed(3)].into_iter().collect(),
    };
    let x = b.module.main_mut().add_input(name, ty, None);
    let y = b.op(op::Relu {}, &[x]);
    let module = b.output(&[y]);
    let error = Plan::new(&module, module.main, &PlanOptions::default()).err().unwrap();
    assert_eq!(
        error,
        ExecuteError::Symbolic {
            value: "image".into(),
            dimension: "batch".into()
        }
    );
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let (module, _) = network();
    let refused = |inputs: &[Tensor]| run_with(&module, inputs, &PlanOptions::default(), 1).unwrap_err();
    assert!(matches!(
        refused(&[]),
        ExecuteError::InputCount { expected: 1, found: 0 }
    ));
    let wrong_shape = Tensor::zeros(Elem::F32, &[1, 3, 8, 9]).unwrap();
    assert_eq!(
        refused(&[wrong_shape]).to_string(),
        "input `input1` is f32 [1, 3, 8, 8], but f32 [1, 3, 8, 9] was given"
    );
    assert!(matches!(
        refused(&[Tensor::zeros(Elem::U8, &[1, 3, 8, 8]).unwrap()]),
        ExecuteError::Input { .. }
    ));
    assert!(TensorView::new(Elem::F32, &[2], &[0; 7]).is_err());
    assert!(Tensor::zeros(Elem::F32, &[usize::MAX, 2]).is_err());
}

#[test]
fn what_nobody_computes_is_an_error_that_names_the_node() {
    let mut b = Builder::new(Stage::Float);
    let x = b.input(Elem::F64, &[1, 2]);
    let y = b.op(op::Softmax { axis: -1 }, &[x]);
    let module = b.output(&[y]);
    let error = Plan::new(&module, module.main, &PlanOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "`softmax2` (softmax): not supported: softmax on f64");
}

#[test]
fn an_index_outside_of_its_axis_is_an_error() {
    let mut b = Builder::new(Stage::Float);
    let x = b.input(Elem::F32, &[3]);
    let indices = b.constant(&[2], &[0i64, 3]);
    let y = b.op(op::Gather { axis: 0 }, &[x, indices]);
    let module = b.output(&[y]);
    let error = run_with(
        &module,
        &[Tensor::zeros(Elem::F32, &[3]).unwrap()],
        &PlanOptions::default(),
        1,
    );
    assert!(
        error
            .unwrap_err()
            .to_string()
            .ends_with("index 3 is outside an axis of 3 positions")
    );
}

#[test]
fn empty_tensors_run() {
    assert!(float_op(op::Relu {}, &[(&[2, 0], &[])]).is_empty());
    assert_eq!(
        float_op(op::Concat { axis: 0 }, &[(&[0], &[]), (&[2], &[1.0, 2.0])]),
        [1.0, 2.0]
    );
}

/// In this graph, no node can run in place, and no nodes are joined.
#[test]
fn the_cost_of_a_run_has_the_places_of_a_plan() {
    let mut b = Builder::new(Stage::Float);
    let x = b.input(Elem::F32, &[1, 3, 8, 8]);
    let weights = b.constant(&[16, 3, 3, 3], &[0.5f32; 432]);
    let c = b.op(op::Conv::plain(2), &[x, weights]);
    let flat = b.op(
        op::Reshape {
            shape: smallvec![16, -1],
        },
        &[c],
    );
    let turned = b.op(
        op::Transpose {
            permutation: smallvec![1, 0],
        },
        &[flat],
    );
    let back = b.op(
        op::Transpose {
            permutation: smallvec![1, 0],
        },
        &[turned],
    );
    let both = b.op(op::Concat { axis: 0 }, &[flat, back]);
    let module = b.output(&[both]);
    let options = PlanOptions {
        join: false,
        ..PlanOptions::default()
    };
    let plan = Plan::new(&module, module.main, &options).unwrap();
    assert_eq!(
        cost(&module, module.main).unwrap().peak.amount,
        plan.arena_bytes() as u64
    );
}

#[test]
fn the_cost_of_a_run_counts_the_copies_that_a_plan_makes() {
    let copies = |module: &Module| cost(module, module.main).unwrap().copies;
    let mut b = Builder::new(Stage::Integer);
    let x = b.input(Elem::I8, &[1, 3, 8, 8]);
    let weights = b.constant(&[16, 3, 3, 3], &[1i8; 432]);
    let c = b.op(op::Conv::plain(2), &[x, weights]);
    let a = b.input(Elem::I8, &[2, 62]);
    let matrix = b.constant(&[10, 62], &[1i8; 620]);
    let g = b.op(op::Gemm::canonical(), &[a, matrix]);
    // Three channels are packed as four, for each of nine taps, with starts for 64 outputs and the elements of a position
    // in the padding. Because there are only 16 outputs, they are packed a second time, in groups of eight. The order in which
    // AVX2 multiplies has 32 weights and an index for each half of nine lines, and two counts for each half. 10 columns of 62
    // are packed as 16 of 64, with a start of four bytes each.
    let ordered = if cfg!(target_arch = "x86_64") {
        2 * (9 * (32 + 4) + 2 * 8)
    } else {
        0
    };
    let expected = (16 * 9 * 4 + 9 * 2 * 64 + ordered + 64 * 4 + 4) + 16 * (64 + 4);
    assert_eq!(copies(&b.output(&[c, g])), expected);
    // Weights for codes of 16 bits are packed as words. If sums have 64 bits, the numbers that they start from have
    // eight bytes, and weights of 16 bits are packed as two planes. A 4-bit weight is packed as bytes, and there may be
    // an unpacked copy, too.
    let mut b = Builder::new(Stage::Integer);
    let x = b.input(Elem::I16, &[1, 3, 8, 8]);
    let weights = b.constant(&[16, 3, 3, 3], &[1i8; 432]);
    let conv = op::Conv {
        accumulator: Carrier::I64,
        ..op::Conv::plain(2)
    };
    let c = b.op(conv, &[x, weights]);
    let a = b.input(Elem::I16, &[2, 62]);
    let gemm = op::Gemm {
        accumulator: Carrier::I64,
        ..op::Gemm::canonical()
    };
    let matrix = b.integers(Elem::I16, &[10, 62], &[1; 620]);
    let g = b.op(gemm, &[a, matrix]);
    let small = b.integers(Elem::U4, &[10, 62], &[1; 620]);
    let eight = b.input(Elem::I8, &[2, 62]);
    let s = b.op(op::Gemm::canonical(), &[eight, small]);
    for sum in [c, g] {
        b.quant(sum, QuantParams::tensor(0.5, 0));
    }
    let module = b.output(&[c, g, s]);
    let expected = (16 * (56 + 8) + 8 * 28) + 16 * (2 * 124 + 8) + (16 * (64 + 4) + 620);
    assert_eq!(copies(&module), expected);
    assert_eq!(cost(&module, module.main).unwrap().constants, 432 + 2 * 620 + 310);
    // What lies between the elements of another type is copied; bytes lie anywhere.
    let unaligned = bytes::Bytes::from(vec![0u8; 13]).slice(1..);
    for (elem, expected) in [(Elem::F32, 12), (Elem::I8, 0)] {
        let mut b = Builder::new(Stage::Float);
        let count = 12 / elem.size() as u64;
        let tensor = TensorData::new(elem, &[count], unaligned.clone()).unwrap();
        let (name, ty) = (b.module.names.intern("odd"), tensor.tensor_type());
        let data = b.module.add_data(tensor);
        let odd = b.module.main_mut().add_data(name, ty, None, data);
        let y = b.op(op::Identity {}, &[odd]);
        assert_eq!(copies(&b.output(&[y])), expected, "{elem}");
    }
}

#[test]
fn the_cost_of_a_run_is_known_from_shapes_alone() {
    let (module, _) = network();
    let cost = cost(&module, module.main).unwrap();
    // The peak has x, whose place fits no other value, and three values of 4096 bytes. The reshaped value shares the
    // bytes of its operand. The convolution also makes an image of 3 × 10 × 10.
    assert_eq!((cost.peak.op, cost.peak.amount), ("add", 768 + 3 * 4096 + 1200));
    assert_eq!((cost.constants, cost.ports), (432 * 4, 768 + 2 * 4096));
    // 27 multiply-adds for each element of the convolution, and one visit for each of five other nodes.
    assert_eq!((cost.busiest.op, cost.busiest.amount), ("conv", 1024 * 27));
    assert_eq!(cost.operations, 1024 * (27 + 5));
    for join in [true, false] {
        let plan = Plan::new(
            &module,
            module.main,
            &PlanOptions {
                join,
                ..PlanOptions::default()
            },
        )
        .unwrap();
        assert!(plan.arena_bytes() as u64 <= cost.peak.amount, "{}", plan.arena_bytes());
    }
    // A window reads no more elements than there are, whatever its size.
    let pool = |size: u32, stride: u32| op::MaxPool {
        size: smallvec![size; 2],
        stride: smallvec![stride; 2],
        pad: smallvec![0; 4],
        dilation: smallvec![1; 2],
        ceil: false,
    };
    let image = |extent: u64| TensorType {
        elem: Elem::F32,
        shape: [1, 2, extent, extent].map(Dim::Fixed).into_iter().collect(),
    };
    let work = |size: u32, x: u64, y: u64| operations(&pool(size, 1).into(), &[Some(&image(x))], &[&image(y)]);
    assert_eq!(work(3, 8, 6), 2 * 36 * 9);
    assert_eq!(work(20_000, 1, 1), 2);
    assert_eq!(work(20_000, 40_000, 20_001), 2 * 20_001 * 20_001 * 400_000_000);
    assert_eq!(work(u32::MAX, 1 << 16, 1 << 16), u64::MAX);
}
