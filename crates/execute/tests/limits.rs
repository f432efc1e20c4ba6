//! Tests that the memory and the work of a run are known before it begins, and that large numbers in a file (such as
//! the padding of a window) do not make them larger.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Builder, run};
use smallvec::{SmallVec, smallvec};
use strait_core::op::{self, PadMode};
use strait_core::{Carrier, Elem, Op, QuantParams, Stage, ValueId};
use strait_execute::{Tensor, cost};

const FAR: u64 = 1 << 40;

#[test]
fn nothing_is_prepared_for_results_without_elements() {
    let slice = op::Slice {
        starts: smallvec![1],
        ends: smallvec![i64::MAX],
        axes: smallvec![1],
        steps: smallvec![1],
    };
    let pad = op::Pad {
        amounts: smallvec![0, 1, 0, 0],
        mode: PadMode::Edge,
        value: 0.0,
    };
    for op in [Op::from(slice), Op::from(pad)] {
        let mut b = Builder::new(Stage::Float);
        let x = b.input(Elem::F32, &[0, FAR - 1]);
        let y = b.op(op, &[x]);
        let module = b.output(&[y]);
        let found = run(&module, &[Tensor::zeros(Elem::F32, &[0, FAR as usize - 1]).unwrap()]);
        assert_eq!(found[0].view().bytes(), &[] as &[u8]);
        let cost = cost(&module, module.main).unwrap();
        // Each value has a place in the arena, so nothing is copied.
        assert!(cost.peak.amount < 1024 && cost.copies == 0, "{cost:?}");
    }
}

#[test]
fn what_steps_make_for_themselves_is_counted() {
    let of = |elem: Elem, dims: &[u64], make: &dyn Fn(&mut Builder, ValueId) -> ValueId| {
        let stage = if elem.is_integer() {
            Stage::Integer
        } else {
            Stage::Float
        };
        let mut b = Builder::new(stage);
        let x = b.input(elem, dims);
        let y = make(&mut b, x);
        let module = b.output(&[y]);
        let cost = cost(&module, module.main).unwrap();
        (cost.peak.amount - cost.ports, cost.copies)
    };
    // The scratch memory is nine bytes for each element.
    let cast = |b: &mut Builder, x| b.op(op::Cast { to: Elem::F64 }, &[x]);
    assert_eq!(of(Elem::F32, &[1024], &cast), (9 * 1024, 0));
    // The step holds a position for each of 20 rows and 500 columns.
    let slice = |b: &mut Builder, x| {
        let slice = op::Slice {
            starts: smallvec![0],
            ends: smallvec![500],
            axes: smallvec![1],
            steps: smallvec![1],
        };
        b.op(slice, &[x])
    };
    assert_eq!(of(Elem::F32, &[20, 1000], &slice), (0, 8 * 520));
    // The step holds 32 pairs of matrices.
    let matmul = |b: &mut Builder, x| {
        let matmul = op::MatMul {
            a_zero: 0,
            b_zero: 0,
            accumulator: Carrier::I32,
        };
        b.op(matmul, &[x, x])
    };
    assert_eq!(of(Elem::F32, &[4, 8, 2, 2], &matmul), (0, 32 * 32));
    // The padded image has three channels of 10 × 10.
    let conv = |b: &mut Builder, x| {
        let weights = b.constant(&[1, 3, 3, 3], &[0.5f32; 27]);
        let conv = op::Conv {
            pad: smallvec![1; 4],
            ..op::Conv::plain(2)
        };
        b.op(conv, &[x, weights])
    };
    assert_eq!(of(Elem::F32, &[1, 3, 8, 8], &conv), (4 * 300, 0));
    // The result of the convolution is computed layer by layer. One layer of the result needs three layers of the
    // operand, which are held twice, and four sums. Each number has four bytes.
    let cube = |b: &mut Builder, x| {
        let weights = b.constant(&[1, 1, 3, 3, 3], &[1i8; 27]);
        b.op(op::Conv::plain(3), &[x, weights])
    };
    assert_eq!(of(Elem::I8, &[2, 1, 4, 4, 4], &cube).0, 4 * (2 * 3 * 25 + 4));
    // The sum pool is computed by its definition. The memory is eight bytes for each of 128 codes, and 32 bytes for
    // each of 16 sums.
    let sum = |b: &mut Builder, x| {
        let op = op::SumPool {
            size: smallvec![3; 3],
            stride: smallvec![1; 3],
            pad: smallvec![0; 6],
            dilation: smallvec![1; 3],
            ceil: false,
            pad_value: 0,
            accumulator: Carrier::I32,
        };
        b.op(op, &[x])
    };
    assert_eq!(of(Elem::I8, &[2, 1, 4, 4, 4], &sum).0, 8 * 128 + 32 * 16);
}

/// A window over three axes.
struct Window {
    size: [u32; 3],
    stride: [u32; 3],
    pad: [u32; 6],
    dilation: [u32; 3],
}

/// The largest element, the sum and both means of each window over a cube of codes.
fn pools(window: &Window, extents: [u64; 3], codes: &[i8]) -> [Vec<i32>; 4] {
    let [size, stride, dilation] = [window.size, window.stride, window.dilation].map(|list| SmallVec::from(&list[..]));
    let pad = SmallVec::from(&window.pad[..]);
    let average = |count_include_pad| op::AveragePool {
        size: size.clone(),
        stride: stride.clone(),
        pad: pad.clone(),
        dilation: dilation.clone(),
        ceil: true,
        count_include_pad,
    };
    let max = op::MaxPool {
        size: size.clone(),
        stride: stride.clone(),
        pad: pad.clone(),
        dilation: dilation.clone(),
        ceil: true,
    };
    let sum = op::SumPool {
        size: size.clone(),
        stride: stride.clone(),
        pad: pad.clone(),
        dilation: dilation.clone(),
        ceil: true,
        pad_value: 5,
        accumulator: Carrier::I32,
    };
    let ops = [Op::from(max), sum.into(), average(false).into(), average(true).into()];
    ops.map(|op| {
        let mut b = Builder::new(Stage::Integer);
        let x = b.input(Elem::I8, &[1, 1, extents[0], extents[1], extents[2]]);
        b.quant(x, QuantParams::tensor(1.0, 5));
        let y = b.op(op, &[x]);
        let module = b.output(&[y]);
        let dims = [1, 1, extents[0] as usize, extents[1] as usize, extents[2] as usize];
        let found = run(&module, &[Tensor::from_values(&dims, codes).unwrap()]);
        match found[0].elem() {
            Elem::I32 => found[0].values::<i32>().unwrap().to_vec(),
            _ => found[0]
                .values::<i8>()
                .unwrap()
                .iter()
                .map(|&code| code.into())
                .collect(),
        }
    })
}

#[test]
fn pools_over_three_axes_are_their_definitions() {
    let extents = [3, 4, 5];
    let codes: Vec<i8> = (0..60).map(|i| (i * 37 % 101) as i8 - 50).collect();
    let window = Window {
        size: [3, 2, 4],
        stride: [2, 1, 3],
        pad: [1, 2, 2, 0, 1, 1],
        dilation: [1, 2, 1],
    };
    let found = pools(&window, extents, &codes);
    // The numbers of positions are rounded up: ⌈(3 + 1 − 3) / 2⌉ + 1, (4 + 3 − 3) / 1 + 1, ⌈(5 + 3 − 4) / 3⌉ + 1.
    let positions = [2, 5, 3];
    let mut expected: [Vec<i32>; 4] = Default::default();
    for position in 0..30 {
        let at = [position / 15, position / 3 % 5, position % 3];
        let (mut inside, mut padding, mut taps) = (vec![], 0, 0);
        for tap in 0..24 {
            let tap = [tap / 8, tap / 4 % 2, tap % 4];
            let place: Vec<i64> = (0..3)
                .map(|a| i64::from(at[a] * window.stride[a] + tap[a] * window.dilation[a]) - i64::from(window.pad[a]))
                .collect();
            let is_inside = (0..3).all(|a| (0..extents[a] as i64).contains(&place[a]));
            let is_padded = (0..3).all(|a| place[a] < extents[a] as i64 + i64::from(window.pad[a + 3]));
            taps += 1;
            padding += i32::from(is_padded && !is_inside);
            if is_inside {
                inside.push(i32::from(codes[((place[0] * 4 + place[1]) * 5 + place[2]) as usize]));
            }
        }
        let (sum, count) = (inside.iter().sum::<i32>(), inside.len() as i32);
        let mean = |sum: i32, count: i32| {
            if count == 0 {
                5
            } else {
                (f64::from(sum) / f64::from(count)).round() as i32
            }
        };
        expected[0].push(inside.iter().copied().max().unwrap_or(-128));
        expected[1].push(sum + 5 * (taps - count));
        expected[2].push(mean(sum, count));
        expected[3].push(mean(sum + 5 * padding, count + padding));
    }
    assert_eq!(positions.iter().product::<usize>(), 30);
    assert_eq!(found, expected);
}

#[test]
fn a_window_takes_no_more_than_the_elements_under_it() {
    // The window has 2^27 taps, of which 64 lie on elements.
    let window = Window {
        size: [512; 3],
        stride: [1; 3],
        pad: [254; 6],
        dilation: [1; 3],
    };
    let found = pools(&window, [4; 3], &[7; 64]);
    let mean = (7.0 * 64.0 + 5.0 * (512f64.powi(3) - 64.0)) / 512f64.powi(3);
    assert_eq!((found[0][0], found[2][0], found[3][0]), (7, 7, mean.round() as i32));
}

#[test]
fn what_control_flow_runs_is_counted_as_often_as_it_runs() {
    let of = |trips: i64| {
        let text = format!(
            "strait 1 float main=@main
graph @inner(%j: i64[], %d: bool[], %u: f32[8,8]) stage=float {{
  %m: f32[8,8] = matmul(%u, @w) {{a_zero=0, b_zero=0}}
  return %d, %m
}}
graph @body(%i: i64[], %c: bool[], %v: f32[8,8]) stage=float {{
  %n: f32[8,8] = loop @inner(_, _, %v) {{carried=1, trips=3}}
  return %c, %n
}}
graph @main(%x: f32[8,8]) {{
  %y: f32[8,8] = loop @body(_, _, %x) {{carried=1, trips={trips}}}
  return %y
}}
data @w: f32[8,8] = random 1
"
        );
        let module = strait_core::text::parse(&text).unwrap();
        cost(&module, module.main).unwrap()
    };
    let once = of(1);
    assert_eq!((once.operations, once.busiest.op), (3 * 512, "loop"));
    assert_eq!((of(5).operations, of(5).peak.amount), (5 * 3 * 512, once.peak.amount));
    assert_eq!(of(i64::MAX).operations, u64::MAX);
    // The weights of the innermost graph, and at least its operand, its product and the state of each loop.
    assert_eq!(once.constants, 256);
    assert!(once.peak.amount >= 6 * 256, "{once:?}");
}
