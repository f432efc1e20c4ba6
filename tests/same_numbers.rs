//! Tests rules that decompose or fold an op: the canonical graph computes the same numbers as the graph that was read.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use strait_core::{Module, Op, text};
use strait_kernels::Isa;
use strait_tests::numeric::{inputs, run, signal_to_noise};

/// The model as it is, and the canonical one.
fn both(model: &str) -> [Module; 2] {
    let plain = text::parse(model).unwrap();
    let mut canonical = plain.clone();
    let main = canonical.main;
    strait_rewrite::canonical().run(&mut canonical, main).unwrap();
    [plain, canonical]
}

/// The SNR between the results of both, in decibels.
fn apart(models: &[Module; 2]) -> f64 {
    let given = inputs(&models[0], 7, 1.0);
    let [plain, canonical] = models.each_ref().map(|module| {
        let results = run(module, module.main, &given, Isa::Scalar, 1);
        results
            .iter()
            .flat_map(|result| result.values::<f32>().unwrap().to_vec())
            .collect::<Vec<f32>>()
    });
    assert_eq!(plain.len(), canonical.len());
    signal_to_noise(&plain, &canonical)
}

/// A transposed convolution over three axes.
fn transposed_volume(kernel: [u64; 3], stride: [u64; 3], pad: [u64; 6], groups: u64) -> String {
    let extent = |axis: usize, from: u64| (from - 1) * stride[axis] + kernel[axis] - pad[axis] - pad[axis + 3];
    let made = [extent(0, 2), extent(1, 3), extent(2, 4)];
    let outputs = 2 * groups;
    format!(
        "strait 1 float
graph @main(%x: f32[2,4,2,3,4]) {{
  %y: f32[2,{outputs},{},{},{}] = conv_transpose(%x, @w, @b) {{stride=[{},{},{}], pad=[{},{},{},{},{},{}], dilation=[1,1,1], output_padding=[0,0,0], groups={groups}}}
  %z: f32[2,{outputs},{},{},{}] = relu(%y)
  return %z
}}
data @w: f32[4,2,{},{},{}] = random 1
data @b: f32[{outputs}] = random 2
",
        made[0], made[1], made[2], stride[0], stride[1], stride[2], pad[0], pad[1], pad[2], pad[3], pad[4], pad[5],
        made[0], made[1], made[2], kernel[0], kernel[1], kernel[2]
    )
}

#[test]
fn a_transposed_convolution_over_three_axes_is_one_that_is_put_in_its_places() {
    for kernel in [[1, 2, 2], [2, 2, 2], [3, 4, 2], [4, 4, 4]] {
        for stride in [[1, 2, 2], [1, 1, 2]] {
            for pad in [[0; 6], [0, 0, 0, 0, 1, 1], [0, 1, 1, 0, 0, 0]] {
                for groups in [1, 2] {
                    let models = both(&transposed_volume(kernel, stride, pad, groups));
                    assert!(!has(&models[1], |op| matches!(op, Op::ConvTranspose(_))));
                    let near = apart(&models);
                    assert!(near > 110.0, "{kernel:?} {stride:?} {pad:?} {groups}: {near} dB");
                }
            }
        }
    }
}

fn has(module: &Module, op: impl Fn(&Op) -> bool) -> bool {
    module.main().nodes().any(|(_, node)| op(&node.op))
}

/// A transposed convolution over 3×4 elements with different settings for each axis, optionally followed by a batch
/// normalization.
fn transposed(kernel: [u64; 2], stride: [u64; 2], pad: [u64; 4], more: u64, groups: u64, normalized: bool) -> String {
    let extent = |axis: usize, from: u64, more: u64| {
        ((from - 1) * stride[axis] + kernel[axis] + more).saturating_sub(pad[axis] + pad[axis + 2])
    };
    let (h, w) = (extent(0, 3, 0), extent(1, 4, more));
    let outputs = 3 * groups;
    let norm = match normalized {
        true => format!(
            "%n: f32[2,{outputs},{h},{w}] = batch_normalization(%y, @s, @b, @m, @v) {{epsilon=0.5}}\n  return %n"
        ),
        false => "return %y".to_owned(),
    };
    format!(
        "strait 1 float
graph @main(%x: f32[2,4,3,4]) {{
  %y: f32[2,{outputs},{h},{w}] = conv_transpose(%x, @w, @b) {{stride=[{},{}], pad=[{},{},{},{}], dilation=[1,1], output_padding=[0,{more}], groups={groups}}}
  {norm}
}}
data @w: f32[4,3,{},{}] = random 1
data @b: f32[{outputs}] = random 2
data @s: f32[{outputs}] = random 3
data @m: f32[{outputs}] = random 4
data @v: f32[{outputs}] = splat 1.5
",
        stride[0], stride[1], pad[0], pad[1], pad[2], pad[3], kernel[0], kernel[1]
    )
}

#[test]
fn a_transposed_convolution_is_a_convolution_whose_results_are_put_in_their_places() {
    let mut compared = 0;
    for kernel in [[1, 2], [2, 4], [3, 3], [4, 5], [6, 4]] {
        for stride in [[1, 1], [1, 2], [2, 2], [3, 2], [4, 3]] {
            for pad in [[0, 0, 0, 0], [1, 0, 0, 1], [2, 1, 1, 2], [0, 3, 2, 0]] {
                for (more, groups) in [(0, 1), (1, 2)] {
                    let fits =
                        |axis: usize, from: u64| (from - 1) * stride[axis] + kernel[axis] > pad[axis] + pad[axis + 2];
                    if !fits(0, 3) || !fits(1, 4) {
                        continue;
                    }
                    let normalized = pad[1] == 1;
                    let models = both(&transposed(kernel, stride, pad, more, groups, normalized));
                    let whole = (0..2).all(|axis| stride[axis] <= kernel[axis]);
                    assert_eq!(has(&models[1], |op| matches!(op, Op::ConvTranspose(_))), !whole);
                    assert!(!has(&models[1], |op| matches!(op, Op::BatchNormalization(_))));
                    let near = apart(&models);
                    assert!(near > 110.0, "{kernel:?} {stride:?} {pad:?} {more} {groups}: {near} dB");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 150, "{compared}");
}

/// A random network whose channels are the last axis. Each step takes existing values of shape `f32[2,3,4,5]` and makes
/// another.
fn channels_last(seed: u64) -> String {
    const TY: &str = "f32[2,3,4,5]";
    let mut state = seed;
    let mut below = |count: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % count
    };
    let (mut body, mut data) = (String::new(), String::new());
    let mut values = vec!["%x".to_owned()];
    for step in 0..12 {
        let mut one = || values[below(values.len() as u64) as usize].clone();
        let (a, b) = (one(), one());
        let v = format!("%v{step}");
        let constant = |data: &mut String, shape: &str| {
            *data += &format!("data @c{step}: f32[{shape}] = random {}\n", step + 1);
            format!("@c{step}")
        };
        let line = match below(9) {
            0 => format!("{v}: {TY} = unary({a}) {{function=sigmoid}}"),
            1 => format!("{v}: {TY} = add({a}, {b})"),
            2 => {
                let shape = ["5", "4,5", "3,1,5", "2,3,4,5", "1"][below(5) as usize];
                format!(
                    "{v}: {TY} = mul({a}, {}) {{a_zero=0, b_zero=0}}",
                    constant(&mut data, shape)
                )
            }
            3 => {
                let sizes = ["2,3,4,10", "2,3,8,5", "2,6,4,5"];
                let axis = below(3) as usize;
                format!(
                    "{v}.j: f32[{}] = concat({a}, {b}) {{axis={}}}
  {v}: {TY} = slice({v}.j) {{starts=[1], ends=[{}], axes=[{}], steps=[1]}}",
                    sizes[axis],
                    3 - axis as i64,
                    1 + [5, 4, 3][axis],
                    -1 - axis as i64,
                )
            }
            4 => format!(
                "{v}.p: f32[2,4,5,5] = pad({a}) {{amounts=[0,1,0,0,0,0,1,0], mode=constant, value=0.5}}
  {v}: {TY} = slice({v}.p) {{starts=[0,1], ends=[3,5], axes=[1,2], steps=[1,1]}}"
            ),
            5 => {
                let axes = ["1,2", "2", "1"][below(3) as usize];
                let shape = match axes {
                    "1,2" => "2,1,1,5",
                    "2" => "2,3,1,5",
                    _ => "2,1,4,5",
                };
                format!(
                    "{v}.m: f32[{shape}] = reduce({a}) {{reduction=mean, axes=[{axes}], keep_dims=1, accumulator=i32}}
  {v}: {TY} = mul({b}, {v}.m) {{a_zero=0, b_zero=0}}"
                )
            }
            6 => format!(
                "{v}.u: f32[2,3,1,4,5] = unsqueeze({a}) {{axes=[2]}}
  {v}.r: f32[2,3,1,4,5] = relu({v}.u)
  {v}: {TY} = squeeze({v}.r) {{axes=[2]}}"
            ),
            _ => format!(
                "{v}.in: f32[2,5,3,4] = transpose({a}) {{permutation=[0,3,1,2]}}
  {v}.conv: f32[2,5,3,4] = conv({v}.in, {}) {{stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}}
  {v}: {TY} = transpose({v}.conv) {{permutation=[0,2,3,1]}}",
                constant(&mut data, "5,5,3,3")
            ),
        };
        body += &format!("  {line}\n");
        values.push(v);
    }
    let last = values.split_off(values.len() - 2).join(", ");
    format!("strait 1 float\ngraph @main(%x: {TY}) {{\n{body}  return {last}\n}}\n{data}")
}

#[test]
fn transposes_cancel_between_ops_that_do_not_mind_them() {
    let (mut saved, mut left) = (0, 0);
    for seed in 0..200 {
        let model = channels_last(seed);
        let models = both(&model);
        let near = apart(&models);
        assert!(near > 100.0, "seed {seed}: {near} dB\n{model}");
        let [before, behind] = models.map(|module| {
            let nodes = module.main().nodes();
            nodes.filter(|(_, node)| matches!(node.op, Op::Transpose(_))).count()
        });
        assert!(behind <= before, "seed {seed}\n{model}");
        saved += before - behind;
        left += behind;
    }
    // One transposition before the first convolution, and one after the last before each of two outputs.
    assert!(saved > left && left < 3 * 200, "{saved} saved, {left} left");
}

/// A layer over one axis and a dense layer as TensorFlow writes them, each with a bias, and with a normalization that
/// is written as a product and a sum.
const SPELLED_OUT: &str = "strait 1 float
graph @main(%x: f32[2,3,1,9]) {
  %conv: f32[2,4,1,8] = conv(%x, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  %line: f32[2,4,8] = squeeze(%conv) {axes=[2]}
  %last: f32[2,8,4] = transpose(%line) {permutation=[0,2,1]}
  %bias: f32[2,8,4] = add(%last, @b)
  %scaled: f32[2,8,4] = mul(%bias, @factor) {a_zero=0, b_zero=0}
  %normal: f32[2,8,4] = add(%scaled, @shift)
  %relu: f32[2,8,4] = relu(%normal)
  %mean: f32[2,4] = reduce(%relu) {reduction=mean, axes=[1], keep_dims=0}
  %dense: f32[2,4] = matmul(%mean, @d) {a_zero=0, b_zero=0}
  %dense_bias: f32[2,4] = add(%dense, @b)
  %dense_scaled: f32[2,4] = mul(%dense_bias, @factor) {a_zero=0, b_zero=0}
  %y: f32[2,4] = add(%dense_scaled, @shift)
  return %y
}
data @w: f32[4,3,1,2] = random 1
data @d: f32[4,4] = random 2
data @b: f32[4] = random 3
data @factor: f32[4] = random 4
data @shift: f32[4] = random 5
";

#[test]
fn biases_and_normalizations_that_are_spelled_out_are_part_of_the_sum_in_front() {
    let models = both(SPELLED_OUT);
    assert!(!has(&models[1], |op| matches!(op, Op::Add(_) | Op::Mul(_))));
    let near = apart(&models);
    assert!(near > 110.0, "{near} dB");
}
