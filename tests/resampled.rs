//! Linear resampling of codes, against sums of products that are taken here one by one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::num::NonZeroUsize;
use strait_core::Op;
use strait_core::text::parse;
use strait_core::text::random::SplitMix64;
use strait_execute::{Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, reference};
use strait_kernels::{Context, Isa};
use strait_tests::integer::{InMemory, findings, integer};

const IMAGE: [usize; 4] = [1, 2, 3, 5];

fn sample(seed: u64) -> Vec<Tensor> {
    let mut random = SplitMix64::new(seed);
    let mut real = || (random.next_u64() >> 40) as f32 / 8_388_608.0 - 0.7;
    let reals: Vec<f32> = (0..IMAGE.iter().product()).map(|_| real()).collect();
    vec![Tensor::from_values(&IMAGE, &reals).unwrap()]
}

/// A target that interpolates.
struct Case {
    target: &'static str,
    /// Bits of its fractions.
    bits: u32,
    /// It rounds to the nearest code, halves up; else down.
    half: bool,
}

const CASES: [Case; 2] = [
    Case {
        target: "../configs/targets/acme-npu2.toml",
        bits: 11,
        half: true,
    },
    Case {
        target: "filetests/tables/lines.toml",
        bits: 4,
        half: false,
    },
];

/// Position `i` of `to` in an axis of `from` elements: a coordinate in parts of an element.
fn coordinate(i: usize, [from, to]: [usize; 2], whole: i64, half_pixel: bool) -> i64 {
    let step = (whole * from as i64 + to as i64 / 2) / to as i64;
    let first = if half_pixel { step / 2 - whole / 2 } else { 0 };
    i as i64 * step + first
}

#[test]
fn each_code_is_the_rounded_sum_of_its_neighbours() {
    let ways = [("half_pixel", true, [2, 4]), ("asymmetric", false, [4, 2])];
    for (case, (word, half_pixel, factors)) in CASES.iter().flat_map(|case| ways.map(|way| (case, way))) {
        let (whole, shift) = (1i64 << case.bits, 2 * case.bits);
        let extents = [[3, 3 * factors[0]], [5, 5 * factors[1]]];
        let [[_, rows], [_, columns]] = extents;
        let text = format!(
            "strait 1 float graph @main(%x: f32[1,2,3,5]) {{
               %y: f32[1,2,{rows},{columns}] = resize(%x) {{mode=linear, coordinate={word}, nearest=floor, scales=[1.0,1.0,{}.0,{}.0], sizes=[]}}
               %z: f32[1,2,{rows},{columns}] = conv(%y, @w) {{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}}
               return %z }} data @w: f32[2,2,1,1] = random 4",
            factors[0], factors[1]
        );
        let samples = InMemory((0..3).map(sample).collect());
        let integer = integer(&parse(&text).unwrap(), case.target, &samples).unwrap();
        assert_eq!(findings(&integer.module, &integer.fusion), Ok(Vec::new()));
        let (module, graph) = (&integer.module, integer.module.main());
        let (_, node) = graph
            .nodes()
            .find(|(_, node)| matches!(node.op, Op::IntegerResize(_)))
            .unwrap();
        let (x, y) = (node.inputs[0].unwrap(), node.outputs[0]);
        assert_eq!(graph.value(x).unwrap().quant, graph.value(y).unwrap().quant);
        let inputs = sample(7);
        let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
        let (mut from, mut to) = (Vec::new(), Vec::new());
        let mut observe = |id, tensor: TensorView<'_>| {
            let codes = || tensor.to_tensor().to_data().unwrap().to_i64().unwrap();
            if id == x {
                from = codes();
            } else if id == y {
                to = codes();
            }
        };
        let expected = reference::run(module, module.main, &views, &mut observe).unwrap();
        assert_eq!(to.len(), 2 * rows * columns);
        for (index, &code) in to.iter().enumerate() {
            let [column, row, plane] = [index % columns, index / columns % rows, index / (rows * columns)];
            let at = [row, column];
            let at = [0, 1].map(|axis| coordinate(at[axis], extents[axis], whole, half_pixel));
            // Each of four neighbours by its distance, those beside the image by the nearest in it.
            let mut sum = 0i128;
            for neighbour in [[0, 0], [0, 1], [1, 0], [1, 1]] {
                let [(r, wr), (c, wc)] = [0, 1].map(|axis| {
                    let place = at[axis].div_euclid(whole) + neighbour[axis];
                    let weight = match neighbour[axis] {
                        0 => whole - at[axis].rem_euclid(whole),
                        _ => at[axis].rem_euclid(whole),
                    };
                    (place.clamp(0, extents[axis][0] as i64 - 1) as usize, weight)
                });
                sum += i128::from(wr * wc) * i128::from(from[(plane * 3 + r) * 5 + c]);
            }
            let half = if case.half { 1 << (shift - 1) } else { 0 };
            assert_eq!(i128::from(code), (sum + half) >> shift, "{} at {index}", case.target);
        }
        for isa in Isa::available() {
            let options = PlanOptions {
                context: Context::with_isa(isa),
                ..PlanOptions::default()
            };
            let plan = Plan::new(module, module.main, &options).unwrap();
            let threads = Threads::new(NonZeroUsize::MIN).unwrap();
            assert!(
                plan.run(&mut Workspace::new(&plan, &threads), &views).unwrap() == expected,
                "{}",
                isa.name()
            );
        }
    }
}
