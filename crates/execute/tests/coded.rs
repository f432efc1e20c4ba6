//! Tests that products with weights of 4 bits run on the codes, with the same results as on dequantized weights.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Builder, options, run_with};
use std::num::NonZeroU32;
use strait_core::{Carrier, Elem, Module, Op, QuantParams, Reason, ReasonCode, Stage, ValueId, op};
use strait_execute::{Plan, PlanOptions, Tensor, reference};
use strait_kernels::Isa;
use strait_requantize::Per;

const DEPTH: usize = 96;
const COLUMNS: usize = 130;

/// Constant weights of 4 bits `[K, N]`, or `[N, K]` if they are transposed, as real numbers.
fn weights(b: &mut Builder, elem: Elem, transposed: bool, grid: QuantParams) -> ValueId {
    let dims = if transposed { [COLUMNS, DEPTH] } else { [DEPTH, COLUMNS] };
    let low = if elem == Elem::I4 { -8 } else { 0 };
    let codes: Vec<i64> = (0..DEPTH * COLUMNS)
        .map(|i| low + (i * 7 + i / 5) as i64 % 16)
        .collect();
    let codes = b.integers(elem, &dims.map(|extent| extent as u64), &codes);
    b.quant(codes, grid);
    b.op(op::Dequantize {}, &[codes])
}

/// A grid with a scale for each column, or for each block of inputs of each column.
fn grid(transposed: bool, block: Option<u32>, zero_points: bool) -> QuantParams {
    let count = COLUMNS * block.map_or(1, |block| DEPTH / block as usize);
    let inputs = u8::from(transposed);
    QuantParams {
        scale: (0..count).map(|i| 0.01 + (i * 13 % 29) as f32 * 0.003).collect(),
        zero_point: match zero_points {
            true => (0..count).map(|i| (i * 5 % 7) as i32).collect(),
            false => Per::Tensor(0),
        },
        axis: Some(if block.is_some() { inputs } else { 1 - inputs }),
        block: block.and_then(NonZeroU32::new),
        codes: None,
    }
}

/// Checks the number of steps, and that they compute what the nodes compute.
fn check(module: &Module, rows: &[usize], steps: usize) {
    let plan = |join| {
        let options = PlanOptions {
            join,
            ..PlanOptions::default()
        };
        Plan::new(module, module.main, &options).unwrap()
    };
    assert_eq!(plan(true).step_count(), steps);
    if steps == 1 {
        // The weights as floats are not part of the arena any more.
        assert!(plan(true).arena_bytes() + 4 * DEPTH * COLUMNS <= plan(false).arena_bytes());
    }
    let dims = [rows, &[DEPTH]].concat();
    let values: Vec<f32> = (0..dims.iter().product::<usize>())
        .map(|i| (i * 37 % 101) as f32 * 0.02 - 1.0)
        .collect();
    let x = Tensor::from_values(&dims, &values).unwrap();
    let expected = reference::run(module, module.main, &[x.view()], &mut |_, _| {}).unwrap();
    for (isa, threads) in Isa::available().flat_map(|isa| [(isa, 1), (isa, 2)]) {
        let found = run_with(module, std::slice::from_ref(&x), &options(isa), threads).unwrap();
        assert_eq!(found, expected, "{}", isa.name());
    }
}

/// Places the products of two activations on the host, because no accelerator computes them on real numbers.
fn on_host(b: &mut Builder) {
    let graph = b.module.main_mut();
    let found = graph.nodes().find(|(_, node)| matches!(node.op, Op::MatMul(_)));
    if let Some(node) = found.map(|(id, _)| id) {
        graph.place_on_host(node, Reason::new(ReasonCode::Island, "a test"));
    }
}

fn module(rows: &[u64], build: impl Fn(&mut Builder, ValueId) -> Vec<ValueId>) -> Module {
    let mut b = Builder::new(Stage::Integer);
    let x = b.input(Elem::F32, &[rows, &[DEPTH as u64]].concat());
    let outputs = build(&mut b, x);
    b.output(&outputs)
}

#[test]
fn a_product_takes_the_codes_of_its_weights() {
    for (elem, transposed, block, zero_points) in [
        (Elem::I4, true, Some(32), false),
        (Elem::U4, true, Some(16), true),
        (Elem::I4, false, Some(32), true),
        (Elem::U4, false, None, true),
        (Elem::I4, true, None, false),
    ] {
        for (rows, alpha, bias) in [(1, 1.0, true), (5, 1.0, false), (3, 0.5, true), (20, 1.0, true)] {
            let gemm = op::Gemm {
                transpose_b: transposed,
                alpha,
                ..op::Gemm::canonical()
            };
            let module = module(&[rows], |b, x| {
                let w = weights(b, elem, transposed, grid(transposed, block, zero_points));
                let biases: Vec<f32> = (0..COLUMNS).map(|i| i as f32 * 0.1).collect();
                let biases = b.constant(&[COLUMNS as u64], &biases);
                let operands = [x, w, biases];
                vec![b.op(gemm.clone(), &operands[..2 + usize::from(bias)])]
            });
            check(&module, &[rows as usize], 1);
        }
    }
    let matmul = op::MatMul {
        a_zero: 0,
        b_zero: 0,
        accumulator: Carrier::I32,
    };
    let tensor = QuantParams::tensor(0.3, 2);
    for op in [
        Op::from(matmul),
        op::Gemm {
            transpose_b: false,
            ..op::Gemm::canonical()
        }
        .into(),
    ] {
        let module = module(&[2, 3], |b, x| {
            let w = weights(b, Elem::U4, false, tensor.clone());
            let product = b.op(op.clone(), &[x, w]);
            on_host(b);
            vec![product]
        });
        check(&module, &[2, 3], 1);
    }
}

#[test]
fn weights_that_others_read_or_with_small_blocks_are_dequantized() {
    let canonical = op::Gemm::canonical();
    let twice = module(&[2], |b, x| {
        let w = weights(b, Elem::I4, true, grid(true, Some(32), false));
        vec![b.op(canonical.clone(), &[x, w]), b.op(canonical.clone(), &[x, w])]
    });
    check(&twice, &[2], 3);
    let shown = module(&[2], |b, x| {
        let w = weights(b, Elem::I4, true, grid(true, Some(32), false));
        vec![b.op(canonical.clone(), &[x, w]), w]
    });
    check(&shown, &[2], 2);
    let small = module(&[2], |b, x| {
        let w = weights(b, Elem::I4, true, grid(true, Some(8), false));
        vec![b.op(canonical.clone(), &[x, w])]
    });
    check(&small, &[2], 2);
}
