//! Tests attention masks, padding of maxima and norms: the integer model must be as near to float with them as without
//! them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::parse;
use strait_core::{Module, Op, Placement};
use strait_execute::Tensor;
use strait_kernels::Isa;
use strait_lower::FusionPolicy;
use strait_target::spec::Integer;
use strait_tests::integer::{InMemory, integer, integer_of};
use strait_tests::numeric::{inputs, run, signal_to_noise};

const TARGETS: [&str; 3] = ["generic-int8", "sima", "ascend"];

/// A table with which islands run on the accelerator, so that the masked scores are quantized.
const IN_INTEGERS: &str = "filetests/tables/islands.toml";

/// A table that requantizes operands. Products have 8 bits; scores, with their scale, mask and softmax, have 16.
const SCORES_OF_16_BITS: &str = "filetests/tables/operands.toml";

const MASKS: [&str; 4] = ["-100.0", "-10000.0", "-3.4e38", "-inf"];

fn samples(float: &Module) -> InMemory {
    InMemory((0..4).map(|seed| inputs(float, seed, 1.0)).collect())
}

/// The signal-to-noise ratio of a model's results on the samples, compared with the float model.
fn nearness(float: &Module, other: &Module, samples: &InMemory) -> f64 {
    let (mut expect, mut found) = (Vec::new(), Vec::new());
    for sample in &samples.0 {
        let real = |module: &Module| run(module, module.main, sample, Isa::detect(), 1);
        expect.extend_from_slice(real(float)[0].values::<f32>().unwrap());
        found.extend_from_slice(real(other)[0].values::<f32>().unwrap());
    }
    signal_to_noise(&expect, &found)
}

/// The signal-to-noise ratio of a graph's integer model. It is calibrated on the samples that it is measured on.
fn ratio(text: &str, target: &str) -> f64 {
    let float = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let samples = samples(&float);
    let integer = integer(&float, target, &samples).unwrap_or_else(|error| panic!("{target}: {error}\n{text}"));
    nearness(&float, &integer.module, &samples)
}

/// Attention over 16 tokens. The scores are multiplied by `factor` (their largest is about 3·`factor`) and become `%t`.
/// `nodes` compute `%m` from it.
fn attention(factor: f32, nodes: &str, data: &str) -> String {
    format!(
        "strait 1 float graph @main(%q: f32[1,2,16,8], %k: f32[1,2,8,16], %v: f32[1,2,16,8]) {{
           %s: f32[1,2,16,16] = matmul(%q, %k) {{a_zero=0, b_zero=0}}
           %t: f32[1,2,16,16] = mul(%s, @factor) {{a_zero=0, b_zero=0}}
           {nodes}
           %p: f32[1,2,16,16] = softmax(%m) {{axis=-1}}
           %o: f32[1,2,16,8] = matmul(%p, %v) {{a_zero=0, b_zero=0}}
           return %o }}
         data @factor: f32[] = inline [{factor:?}]
         data @bias: f32[1,2,16,16] = random 3
         {data}"
    )
}

/// The numbers of a mask: `value` where `masked` is true, and zero elsewhere.
fn mask(value: &str, count: usize, masked: impl Fn(usize) -> bool) -> String {
    let numbers: Vec<&str> = (0..count).map(|i| if masked(i) { value } else { "0.0" }).collect();
    format!("inline [{}]", numbers.join(","))
}

/// Masks as models have them. Each has the nodes between `%t` and `%m`, the same without the mask, and the mask's
/// numbers.
fn masks(value: &str) -> [(&'static str, &'static str, &'static str, String); 6] {
    let causal = format!("data @mask: f32[16,16] = {}", mask(value, 256, |i| i % 16 > i / 16));
    let keys = format!("data @mask: f32[1,1,1,16] = {}", mask(value, 16, |i| i > 10));
    let seen: Vec<&str> = (0..256).map(|i| if i % 16 > 10 { "0" } else { "1" }).collect();
    let seen = format!("inline [{}]", seen.join(","));
    let windows = mask(value, 256, |i| (i / 16 < 8) != (i % 16 < 8));
    let identity = "%m: f32[1,2,16,16] = identity(%t)";
    [
        ("causal", "%m: f32[1,2,16,16] = add(%t, @mask)", identity, causal),
        ("keys", "%m: f32[1,2,16,16] = add(%t, @mask)", identity, keys.clone()),
        (
            "in front of a scale",
            "%a: f32[1,2,16,16] = add(%t, @mask)
             %m: f32[1,2,16,16] = div(%a, @factor)",
            "%m: f32[1,2,16,16] = div(%t, @factor)",
            keys,
        ),
        (
            "chosen",
            "%m: f32[1,2,16,16] = select(@seen, %t, @least)",
            identity,
            format!("data @seen: bool[16,16] = {seen}\ndata @least: f32[] = inline [{value}]"),
        ),
        (
            "chosen and added",
            "%far: f32[16,16] = select(@seen, @nothing, @least)
             %m: f32[1,2,16,16] = add(%t, %far)",
            identity,
            format!(
                "data @seen: bool[16,16] = {seen}\ndata @least: f32[] = inline [{value}]\ndata @nothing: f32[] = inline [0.0]"
            ),
        ),
        (
            "windows",
            "%a: f32[1,2,16,16] = add(%t, @bias)
             %r: f32[1,1,2,16,16] = reshape(%a) {shape=[1,1,2,16,16]}
             %b: f32[1,1,2,16,16] = add(%r, @mask)
             %m: f32[1,2,16,16] = reshape(%b) {shape=[1,2,16,16]}",
            "%m: f32[1,2,16,16] = add(%t, @bias)",
            format!("data @mask: f32[1,1,1,16,16] = {windows}"),
        ),
    ]
}

/// Prints and collects what misses its limit, so that one run shows all.
#[derive(Default)]
struct Marks(Vec<String>);

impl Marks {
    fn check(&mut self, case: &str, found: f64, mark: f64) {
        println!("{case}: {found:.1} dB, mark {mark:.1}");
        if found < mark {
            self.0.push(format!("{case}: {found:.1} dB, below {mark:.1}"));
        }
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

/// The signal-to-noise ratio of float attention in which only the probabilities are rounded, to 255 steps between 0 and
/// 1. No 8-bit quantization that covers a probability of 1 can do better.
fn ratio_of_rounded_probabilities(text: &str) -> f64 {
    let rounded = text.replace(
        "%o: f32[1,2,16,8] = matmul(%p, %v)",
        "%steps: f32[1,2,16,16] = mul(%p, @steps) {a_zero=0, b_zero=0}
           %whole: f32[1,2,16,16] = unary(%steps) {function=round}
           %rounded: f32[1,2,16,16] = div(%whole, @steps)
           %o: f32[1,2,16,8] = matmul(%rounded, %v)",
    ) + "\ndata @steps: f32[] = inline [255.0]";
    let [exact, rounded] = [text, &rounded].map(|text| parse(text).unwrap_or_else(|error| panic!("{error}\n{text}")));
    nearness(&exact, &rounded, &samples(&exact))
}

/// The signal-to-noise ratio of a signal with two independent noises.
fn both_noises(a: f64, b: f64) -> f64 {
    -10.0 * (10f64.powf(-a / 10.0) + 10f64.powf(-b / 10.0)).log10()
}

#[test]
fn masked_attention_is_as_near_to_float_as_without_its_mask() {
    let mut marks = Marks::default();
    for factor in [0.33, 3.3] {
        for value in MASKS {
            for (name, nodes, without, data) in masks(value) {
                for target in TARGETS {
                    let plain = ratio(&attention(factor, without, &data), target);
                    let found = ratio(&attention(factor, nodes, &data), target);
                    // With a causal mask the first token only attends to itself: one probability is 1, while all are
                    // below 0.2 without the mask. The scale of the probabilities must be that much larger, whatever is
                    // done to the scores, and that noise is added.
                    let near = match name == "causal" && factor < 1.0 {
                        true => both_noises(plain, ratio_of_rounded_probabilities(&attention(factor, nodes, &data))),
                        false => plain,
                    };
                    let mark = near - 1.1;
                    marks.check(&format!("{name} {value} ·{factor} for {target}"), found, mark);
                }
            }
        }
    }
}

#[test]
fn masked_scores_have_a_grid_that_serves_in_integers_as_well() {
    let mut marks = Marks::default();
    for value in MASKS {
        for (name, nodes, _, data) in masks(value) {
            for factor in [0.33, 3.3] {
                let text = attention(factor, nodes, &data);
                let found = ratio(&text, IN_INTEGERS);
                marks.check(&format!("{name} {value} ·{factor}"), found, 30.0);
            }
        }
    }
}

#[test]
fn a_mask_that_no_sample_showed_masks() {
    let text = "strait 1 float
        graph @main(%q: f32[1,2,16,8], %k: f32[1,2,8,16], %v: f32[1,2,16,8], %mask: f32[1,1,1,16]) {
           %s: f32[1,2,16,16] = matmul(%q, %k) {a_zero=0, b_zero=0}
           %not: f32[1,1,1,16] = sub(@one, %mask)
           %far: f32[1,1,1,16] = mul(%not, @lowest) {a_zero=0, b_zero=0}
           %m: f32[1,2,16,16] = add(%s, %far)
           %p: f32[1,2,16,16] = softmax(%m) {axis=3}
           %o: f32[1,2,16,8] = matmul(%p, %v) {a_zero=0, b_zero=0}
           return %o }
         data @one: f32[] = inline [1.0]
         data @lowest: f32[] = inline [-10000.0]";
    let float = parse(text).unwrap();
    let with_mask = |masked: usize| {
        let mut samples = samples(&float);
        for sample in &mut samples.0 {
            let keep: Vec<f32> = (0..16).map(|key| if key < 16 - masked { 1.0 } else { 0.0 }).collect();
            sample[3] = Tensor::from_values(&[1, 1, 1, 16], &keep).unwrap();
        }
        samples
    };
    let mut marks = Marks::default();
    for target in [TARGETS[0], TARGETS[1], TARGETS[2], IN_INTEGERS] {
        let integer = integer(&float, target, &with_mask(0)).unwrap_or_else(|error| panic!("{target}: {error}"));
        marks.check(target, nearness(&float, &integer.module, &with_mask(5)), 30.0);
    }
}

#[test]
fn padding_of_a_maximum_widens_no_grid() {
    let mut marks = Marks::default();
    for target in TARGETS {
        let graph = |pool: &str| {
            format!(
                "strait 1 float graph @main(%x: f32[1,3,8,8]) {{
                   %c: f32[1,4,8,8] = conv(%x, @w) {{stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}}
                   {pool}
                   %y: f32[1,4,4,4] = conv(%m, @u) {{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}}
                   return %y }}
                 data @w: f32[4,3,3,3] = random 1
                 data @u: f32[4,4,1,1] = random 2"
            )
        };
        let own =
            graph("%m: f32[1,4,4,4] = max_pool(%c) {size=[3,3], stride=[2,2], pad=[1,1,1,1], dilation=[1,1], ceil=0}");
        let plain = ratio(&own, target);
        for value in ["-3.4e38", "-inf", "-10000.0"] {
            let text = graph(&format!(
                "%d: f32[1,4,10,10] = pad(%c) {{amounts=[0,0,1,1,0,0,1,1], mode=constant, value={value}}}
                 %m: f32[1,4,4,4] = max_pool(%d) {{size=[3,3], stride=[2,2], pad=[0,0,0,0], dilation=[1,1], ceil=0}}"
            ));
            marks.check(&format!("{value} for {target}"), ratio(&text, target), plain - 1.0);
            let float = parse(&text).unwrap();
            let integer = integer(&float, target, &samples(&float)).unwrap();
            let pool =
                |(_, node): (_, &strait_core::Node)| matches!(node.op, Op::MaxPool(_)).then(|| node.place.clone());
            let placed = integer.module.main().nodes().find_map(pool);
            assert_eq!(placed, Some(Placement::Accelerator), "{value} for {target}");
        }
    }
}

#[test]
fn a_decomposed_norm_keeps_its_precision() {
    let mut marks = Marks::default();
    for target in TARGETS {
        for (name, normal) in [
            ("divided", "%n: f32[16,32] = div(%x, %root)"),
            (
                "multiplied",
                "%inverse: f32[16,1] = unary(%root) {function=reciprocal}
                 %n: f32[16,32] = mul(%x, %inverse) {a_zero=0, b_zero=0}",
            ),
        ] {
            let text = format!(
                "strait 1 float graph @main(%i: f32[16,32]) {{
                   %x: f32[16,32] = gemm(%i, @w) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}
                   %square: f32[16,32] = mul(%x, %x) {{a_zero=0, b_zero=0}}
                   %mean: f32[16,1] = reduce(%square) {{reduction=mean, axes=[1], keep_dims=1}}
                   %more: f32[16,1] = add(%mean, @epsilon)
                   %root: f32[16,1] = unary(%more) {{function=sqrt}}
                   {normal}
                   %y: f32[16,32] = mul(%n, @gain) {{a_zero=0, b_zero=0}}
                   return %y }}
                 data @w: f32[32,32] = random 1
                 data @gain: f32[32] = random 2
                 data @epsilon: f32[] = inline [1e-6]"
            );
            marks.check(&format!("{name} for {target}"), ratio(&text, target), 30.0);
        }
    }
}

#[test]
fn masked_attention_on_16_bits_stays_right_with_its_softmax_in_integers() {
    let mut marks = Marks::default();
    let wide = (Some(Integer::Int16.into()), None);
    for factor in [0.33, 3.3] {
        for value in MASKS {
            for (name, nodes, _, data) in masks(value) {
                let float = parse(&attention(factor, nodes, &data)).unwrap();
                let samples = samples(&float);
                let integer = integer_of(wide, FusionPolicy::Exact, &float, TARGETS[0], &samples).unwrap();
                let softmax = |(_, node): (_, &strait_core::Node)| matches!(node.op, Op::IntegerSoftmax(_));
                assert_eq!(
                    integer.module.main().nodes().filter(|&at| softmax(at)).count(),
                    1,
                    "{name}"
                );
                let found = nearness(&float, &integer.module, &samples);
                marks.check(&format!("{name} {value} ·{factor} on int16"), found, 50.0);
            }
        }
    }
}

#[test]
fn masked_scores_of_16_bits_stay_right_between_products_of_8() {
    let mut marks = Marks::default();
    for factor in [0.33, 3.3] {
        for value in MASKS {
            // A choice between whole scores runs on the host, in the middle of what is compared here.
            for (name, nodes, _, data) in masks(value).into_iter().filter(|(name, ..)| *name != "chosen") {
                let text = attention(factor, nodes, &data);
                let [eight, sixteen] = [IN_INTEGERS, SCORES_OF_16_BITS].map(|table| ratio(&text, table));
                // With eight bits, the softmax runs in float.
                marks.check(
                    &format!("{name} {value} ·{factor}, scores of 16 bits"),
                    sixteen,
                    eight + 4.0,
                );
            }
        }
    }
}
