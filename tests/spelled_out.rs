//! Tests that functions which models write as several nodes run in the same place and give the same results as when
//! they are written otherwise.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::parse;
use strait_core::{Module, Op, Placement};
use strait_kernels::Isa;
use strait_tests::integer::{InMemory, integer};
use strait_tests::numeric::{inputs, run, signal_to_noise};

const TARGETS: [&str; 3] = ["generic-int8", "sima", "ascend"];

struct Made {
    /// The nodes on the host, by their ops.
    host: Vec<String>,
    /// Results of the float graph as it is written, and of the integer graph, for all samples.
    float: Vec<f32>,
    integer: Vec<f32>,
    /// The graph that is quantized.
    canonical: Module,
}

impl Made {
    fn of(text: &str, target: &str, scale: f32) -> Made {
        let float = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let samples = InMemory((0..6).map(|seed| inputs(&float, seed, scale)).collect());
        let made = integer(&float, target, &samples).unwrap_or_else(|error| panic!("{target}: {error}\n{text}"));
        let main = made.annotated.main();
        let host = main
            .nodes()
            .filter(|(_, node)| matches!(node.place, Placement::Host(_)));
        let results = |module: &Module| -> Vec<f32> {
            let of = |sample| {
                run(module, module.main, sample, Isa::detect(), 1)[0]
                    .values::<f32>()
                    .unwrap()
                    .to_vec()
            };
            samples.0.iter().flat_map(|sample| of(sample)).collect()
        };
        Made {
            host: host.map(|(_, node)| node.op.term().to_string()).collect(),
            float: results(&float),
            integer: results(&made.module),
            canonical: made.annotated.clone(),
        }
    }

    fn ratio(&self) -> f64 {
        signal_to_noise(&self.float, &self.integer)
    }
}

/// A gemm before a second product, so that both are one part of the accelerator.
fn gemm(operands: &str, attributes: &str) -> String {
    format!(
        "strait 1 float graph @main(%x: f32[6,6], %z: f32[6,6], %v: f32[6]) {{
           %p: f32[6,6] = gemm({operands}) {{{attributes}}}
           %r: f32[6,6] = relu(%p)
           %y: f32[6,6] = gemm(%r, @u) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}
           return %y }}
         data @w: f32[6,6] = random 1
         data @u: f32[6,6] = random 2
         data @c: f32[6,6] = random 3
         data @rows: f32[6,1] = random 4
         data @each: f32[6] = random 5
         data @one: f32[1,1] = inline [0.5]"
    )
}

#[test]
fn every_form_of_a_gemm_runs_where_its_product_and_its_sum_do() {
    let (plain, turned) = ("transpose_a=0, transpose_b=0", "transpose_a=1, transpose_b=1");
    let factors = ["alpha=1.0, beta=1.0", "alpha=0.5, beta=2.0", "alpha=1.5, beta=0.0"];
    for product in ["%x, @w", "%x, %z"] {
        for bias in ["", ", @c", ", @rows", ", @each", ", @one", ", %v", ", %z"] {
            for transposes in [plain, turned] {
                for factors in factors {
                    let text = gemm(&format!("{product}{bias}"), &format!("{transposes}, {factors}"));
                    let made = Made::of(&text, "generic-int8", 1.0);
                    let what = format!("{product}{bias} {transposes} {factors}");
                    assert_eq!(made.host, [""; 0], "{what}");
                    assert!(made.ratio() > 24.0, "{what}: {:.1} dB", made.ratio());
                }
            }
        }
    }
}

#[test]
fn a_division_by_a_constant_is_where_a_product_would_be() {
    let gate = |last: &str| {
        format!(
            "strait 1 float graph @main(%x: f32[1,8,7,7]) {{
               %c: f32[1,8,7,7] = conv(%x, @w) {{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}}
               %g: f32[1,8,1,1] = global_average_pool(%c)
               %q: f32[1,8,1,1] = conv(%g, @w) {{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}}
               %a: f32[1,8,1,1] = add(%q, @three)
               %d: f32[1,8,1,1] = clip(%a) {{min=0.0, max=6.0}}
               %s: f32[1,8,1,1] = {last}
               %z: f32[1,8,7,7] = mul(%s, %c) {{a_zero=0, b_zero=0}}
               %y: f32[1,8,7,7] = conv(%z, @w) {{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}}
               return %y }}
             data @w: f32[8,8,1,1] = random 1
             data @three: f32[] = inline [3.0]
             data @six: f32[] = inline [6.0]
             data @sixth: f32[] = inline [0.16666667]"
        )
    };
    for target in TARGETS {
        let [divided, multiplied] =
            ["div(%d, @six)", "mul(%d, @sixth) {a_zero=0, b_zero=0}"].map(|last| Made::of(&gate(last), target, 2.0));
        assert_eq!(divided.host, multiplied.host, "{target}");
        assert_eq!(divided.integer, multiplied.integer, "{target}");
    }
}

/// Layer normalization and softmax as JAX exports them, over the last axis of `[4,16]`. `offset` is about how large the
/// numbers of a row are.
fn jax(offset: f32) -> String {
    format!(
        "strait 1 float graph @main(%i: f32[4,16]) {{
           %h: f32[4,16] = gemm(%i, @w) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}
           %x: f32[4,16] = add(%h, @offset)
           %s: f32[4] = reduce(%x) {{reduction=sum, axes=[1], keep_dims=0}}
           %square: f32[4,16] = mul(%x, %x) {{a_zero=0, b_zero=0}}
           %ss: f32[4] = reduce(%square) {{reduction=sum, axes=[1], keep_dims=0}}
           %e: f32[4] = mul(%ss, @sixteenth) {{a_zero=0, b_zero=0}}
           %m: f32[4] = mul(%s, @sixteenth) {{a_zero=0, b_zero=0}}
           %mm: f32[4] = mul(%m, %m) {{a_zero=0, b_zero=0}}
           %v: f32[4] = sub(%e, %mm)
           %p: f32[4] = binary(@zero, %v) {{function=maximum}}
           %pr: f32[4,1] = reshape(%p) {{shape=[4,1]}}
           %pe: f32[4,1] = expand(%pr) {{shape=[4,1]}}
           %g: f32[4,1] = add(%pe, @epsilon)
           %root: f32[4,1] = unary(%g) {{function=sqrt}}
           %inverse: f32[4,1] = unary(%root) {{function=reciprocal}}
           %factor: f32[4,16] = mul(%inverse, @gain) {{a_zero=0, b_zero=0}}
           %mr: f32[4,1] = reshape(%m) {{shape=[4,1]}}
           %me: f32[4,16] = expand(%mr) {{shape=[4,16]}}
           %d: f32[4,16] = sub(%x, %me)
           %n: f32[4,16] = mul(%d, %factor) {{a_zero=0, b_zero=0}}
           %b: f32[4,16] = add(%n, @bias)
           %l: f32[4,16] = gemm(%b, @u) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}
           %max: f32[4] = reduce(%l) {{reduction=max, axes=[1], keep_dims=0}}
           %high: f32[4] = clip(%max) {{min=-inf, max=inf}}
           %hr: f32[4,1] = reshape(%high) {{shape=[4,1]}}
           %he: f32[4,16] = expand(%hr) {{shape=[4,16]}}
           %below: f32[4,16] = sub(%l, %he)
           %exp: f32[4,16] = unary(%below) {{function=exp}}
           %total: f32[4] = reduce(%exp) {{reduction=sum, axes=[1], keep_dims=0}}
           %tr: f32[4,1] = reshape(%total) {{shape=[4,1]}}
           %te: f32[4,16] = expand(%tr) {{shape=[4,16]}}
           %y: f32[4,16] = div(%exp, %te)
           return %y }}
         data @w: f32[16,16] = random 1
         data @u: f32[16,16] = random 2
         data @gain: f32[1,16] = random 3
         data @bias: f32[1,16] = random 4
         data @offset: f32[] = inline [{offset:?}]
         data @sixteenth: f32[] = inline [0.0625]
         data @zero: f32[] = inline [0.0]
         data @epsilon: f32[] = inline [1e-6]"
    )
}

/// The same in f64, with the weights of the module: the exact result.
fn exactly(module: &Module, sample: &[f32]) -> Vec<f64> {
    let tensor = |name: &str| -> Vec<f64> {
        let graph = module.main();
        let (id, _) = graph
            .values()
            .find(|(_, value)| module.name(value.name) == name)
            .unwrap();
        let values = module.constant(graph, id).unwrap().to_f32().unwrap();
        values.iter().map(|&x| f64::from(x)).collect()
    };
    let row = |row: &[f64], name: &str| -> Vec<f64> {
        let dot = |weights: &[f64]| row.iter().zip(weights).map(|(a, b)| a * b).sum();
        tensor(name).chunks(16).map(dot).collect()
    };
    let (gain, bias, offset) = (tensor("gain"), tensor("bias"), tensor("offset")[0]);
    sample
        .chunks(16)
        .flat_map(|input| {
            let input: Vec<f64> = input.iter().map(|&x| f64::from(x)).collect();
            let x: Vec<f64> = row(&input, "w").iter().map(|x| x + offset).collect();
            let mean = x.iter().sum::<f64>() / 16.0;
            let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 16.0;
            let normal = x.iter().map(|x| (x - mean) / (variance + 1e-6).sqrt());
            let scaled: Vec<f64> = normal
                .zip(gain.iter().zip(&bias))
                .map(|(x, (g, b))| x * g + b)
                .collect();
            let exp: Vec<f64> = row(&scaled, "u").iter().map(|x| x.exp()).collect();
            let total: f64 = exp.iter().sum();
            exp.into_iter().map(move |x| x / total)
        })
        .collect()
}

#[test]
fn norms_and_softmaxes_of_jax_are_whole_and_right_without_the_cancellation() {
    // At 300, the difference of the squares has only three digits of f32 left.
    for (offset, mark) in [(0.5, 26.0), (300.0, 80.0)] {
        let text = jax(offset);
        let float = parse(&text).unwrap();
        let mut canonical = float.clone();
        let main = canonical.main;
        strait_rewrite::canonical().run(&mut canonical, main).unwrap();
        let order = canonical.main().topological_order().unwrap();
        let nodes = order.iter().filter_map(|&id| canonical.main().node(id));
        let ops: Vec<String> = nodes.map(|node| node.op.term().to_string()).collect();
        let whole = ["gemm", "layer_normalization", "gemm", "softmax"];
        assert_eq!(
            ops.iter().filter(|op| *op != "add").collect::<Vec<_>>(),
            whole,
            "{ops:?}"
        );
        for seed in 0..4 {
            let sample = inputs(&float, seed, 1.0);
            let exact = exactly(&float, sample[0].values::<f32>().unwrap());
            let found = run(&canonical, canonical.main, &sample, Isa::detect(), 1);
            let off = |found: &[f32]| -> f64 {
                found
                    .iter()
                    .zip(&exact)
                    .map(|(&x, exact)| (f64::from(x) - exact).abs())
                    .fold(0.0, f64::max)
            };
            let found = off(found[0].values::<f32>().unwrap());
            assert!(found < 2e-4, "at {offset}: {found}");
        }
        if offset < 1.0 {
            for target in TARGETS {
                let made = Made::of(&text, target, 1.0);
                assert!(made.ratio() > mark, "{target}: {:.1} dB", made.ratio());
                let norms = made
                    .canonical
                    .main()
                    .nodes()
                    .filter(|(_, node)| matches!(node.op, Op::LayerNormalization(_)));
                assert_eq!(norms.count(), 1);
            }
        }
    }
}
