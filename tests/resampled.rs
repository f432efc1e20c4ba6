//! Tests linear resampling of codes. The expected sums of products are computed here one by one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{fs, num::NonZeroUsize, path::Path};
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
    target: String,
    /// Number of bits of its fractions.
    bits: u32,
    /// True if it rounds to the nearest code, halves up; false if it rounds down.
    half: bool,
}

fn case(target: &str, bits: u32, half: bool) -> Case {
    let target = target.to_owned();
    Case { target, bits, half }
}

const LINES: &str = "filetests/tables/lines.toml";

fn cases() -> [Case; 2] {
    [
        case("../configs/targets/acme-npu2.toml", 11, true),
        case(LINES, 4, false),
    ]
}

/// The table for straight lines, with another fraction.
fn with_fraction(name: &str, bits: u32, half: bool) -> Case {
    let text = include_str!("filetests/tables/lines.toml");
    let stated = "{ bits = 4, rounding = \"floor\" }";
    assert!(text.contains(stated));
    let rounding = if half { "half_up" } else { "floor" };
    let other = text.replace(stated, &format!("{{ bits = {bits}, rounding = \"{rounding}\" }}"));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&file, other).unwrap();
    case(file.to_str().unwrap(), bits, half)
}

/// The coordinate of output position `i` in an axis that is resized `from` … `to`, in fractions of an element.
fn coordinate(i: usize, [from, to]: [usize; 2], whole: i64, half_pixel: bool) -> i64 {
    let step = (whole * from as i64 + to as i64 / 2) / to as i64;
    let first = if half_pixel { step / 2 - whole / 2 } else { 0 };
    i as i64 * step + first
}

/// Doubles or quadruples rows and columns with this choice of coordinates. Compares each code with the rounded sum of
/// its neighbours. Returns all codes.
fn resized(case: &Case, half_pixel: bool, factors: [usize; 2]) -> Vec<i64> {
    let word = if half_pixel { "half_pixel" } else { "asymmetric" };
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
    let integer = integer(&parse(&text).unwrap(), &case.target, &samples).unwrap();
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
        // Each of four neighbours has a weight by its distance. Neighbours outside of the image are replaced by the
        // nearest inside.
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
        let threads = Threads::new(NonZeroUsize::MIN);
        assert!(
            plan.run(&mut Workspace::new(&plan, &threads), &views).unwrap() == expected,
            "{}",
            isa.name()
        );
    }
    to
}

#[test]
fn each_code_is_the_rounded_sum_of_its_neighbours() {
    for case in &cases() {
        for (half_pixel, factors) in [(true, [2, 4]), (false, [4, 2])] {
            resized(case, half_pixel, factors);
        }
    }
}

#[test]
fn bits_and_rounding_of_the_fraction_each_decide_codes() {
    let of = |case: &Case| resized(case, true, [2, 4]);
    let as_it_is = of(&case(LINES, 4, false));
    for other in [
        with_fraction("bits.toml", 2, false),
        with_fraction("rounding.toml", 4, true),
    ] {
        assert_ne!(of(&other), as_it_is, "{}", other.target);
    }
}
