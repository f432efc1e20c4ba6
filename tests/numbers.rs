//! Tests the results of integer graphs: they are the same in every way of running them, lie inside the bounds that
//! proofs rely on, and are near to what the float graph computes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::parse;
use strait_core::{Elem, GraphId, Module, Node, NodeId, Op, Placement, Reason, ReasonCode};
use strait_execute::{Tensor, TensorView, reference};
use strait_kernels::Isa;
use strait_lower::interval::Bounds;
use strait_lower::{Fused, FusionPolicy};
use strait_quantize::Annotation;
use strait_quantize::annotate::{Fixpoint, Run, place, refuse};
use strait_target::Registry;
use strait_tests::integer::{InMemory, Integer, findings, integer, integer_under};
use strait_tests::numeric::{inputs, run, signal_to_noise};
use strait_tests::passes::plain;
use strait_tests::random_graph::random_graph;

const TARGETS: [&str; 6] = [
    "generic-int8",
    "sima",
    "sima,correction_folding=afterwards",
    "sima,requantization_mode=tflite",
    "ascend",
    "onnxruntime",
];

#[test]
fn no_target_in_the_box_is_left_out() {
    let registry = Registry::builtin().unwrap();
    for (id, _) in registry.entries() {
        assert!(TARGETS.contains(&id), "{id}");
    }
}

fn bits(tensors: &[Tensor]) -> Vec<Vec<u8>> {
    tensors.iter().map(|t| t.view().bytes().to_vec()).collect()
}

/// Interprets one graph and checks every integer against its bounds, for each channel if the bounds are.
fn interpret(integer: &Integer, graph: GraphId, inputs: &[Tensor], case: &str) -> Vec<Tensor> {
    let module = &integer.module;
    let main = module.graph(graph).unwrap();
    let mut bounds = Bounds::new(module, main);
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let mut observe = |value, tensor: TensorView<'_>| {
        if tensor.elem() == Elem::F32 {
            return;
        }
        let Some(interval) = bounds.of(value) else { return };
        let codes = tensor.to_tensor().to_data().unwrap().to_i64().unwrap();
        // Sums of products have channels: axis 1 for a convolution, the last axis for a fully connected layer.
        let shape = tensor.shape();
        let inner: usize = if shape.len() == 4 {
            shape[2..].iter().product()
        } else {
            1
        };
        let channels = interval.channels().unwrap_or(1);
        for (index, code) in codes.iter().enumerate() {
            let &(low, high) = interval.get(index / inner % channels).unwrap();
            let name = module.name(main.value(value).unwrap().name);
            assert!(
                (low..=high).contains(code),
                "{case}: {name}[{index}] is {code}, outside of [{low}, {high}]"
            );
        }
    };
    reference::run(module, graph, &views, &mut observe).unwrap_or_else(|error| panic!("{case}: {error}"))
}

/// Runs the lowered and the fused graph, interpreted and planned, with the scalar and the widest loops, with one thread
/// and with two. All must give the same result, both on data like the calibration's and on data that makes codes
/// saturate.
fn all_ways_agree(integer: &Integer, inputs: &[Tensor], case: &str) -> Vec<Tensor> {
    let (module, fused) = (&integer.module, integer.module.main);
    let expect = interpret(integer, integer.lowered, inputs, case);
    let others = [
        ("fused, interpreted", interpret(integer, fused, inputs, case)),
        ("lowered, scalar", run(module, integer.lowered, inputs, Isa::Scalar, 1)),
        ("fused, scalar", run(module, fused, inputs, Isa::Scalar, 1)),
        ("fused, widest", run(module, fused, inputs, Isa::detect(), 1)),
        ("fused, two threads", run(module, fused, inputs, Isa::detect(), 2)),
    ];
    for (way, found) in others {
        assert!(
            bits(&found) == bits(&expect),
            "{case}: {way} differs from the lowered graph interpreted"
        );
    }
    expect
}

#[test]
fn random_graphs_compute_one_result_inside_their_bounds_and_near_to_float() {
    let mut fired = 0;
    for seed in 0..24 {
        let text = random_graph(seed, 9);
        let float = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        let samples = InMemory((0..4).map(|i| inputs(&float, 1000 * seed + i, 1.0)).collect());
        for target in TARGETS {
            let case = format!("seed {seed} for {target}\n{text}");
            let integer = integer(&float, target, &samples).unwrap_or_else(|error| panic!("{case}: {error}"));
            fired += integer.fusion.fired.len();
            let found = all_ways_agree(&integer, &samples.0[0], &case);
            all_ways_agree(&integer, &inputs(&float, seed, 1000.0), &case);
            let expect = run(&float, float.main, &samples.0[0], Isa::detect(), 1);
            for (expect, found) in expect.iter().zip(&found) {
                let ratio = signal_to_noise(expect.values().unwrap(), found.values().unwrap());
                assert!(ratio > 15.0, "{case}: {ratio} dB");
            }
        }
    }
    assert!(fired > 200, "only {fired} fusions in all graphs");
}

/// [`integer_under`] verifies what it makes.
#[test]
fn fusions_that_change_results_are_certified_on_all_that_can_occur() {
    let (mut exact, mut bounded) = (0, 0);
    for seed in 100..160 {
        let text = random_graph(seed, 12);
        let float = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        let samples = InMemory((0..4).map(|i| inputs(&float, 1000 * seed + i, 1.0)).collect());
        for policy in [FusionPolicy::Bounded(1), FusionPolicy::Any] {
            let case = format!("seed {seed} under {policy:?}\n{text}");
            let integer = integer_under(policy, &float, "ascend", &samples);
            let integer = integer.unwrap_or_else(|error| panic!("{case}: {error}"));
            let is_exact = |fired: &&Fused| fired.certificate.worst().is_exact();
            let count = integer.fusion.fired.iter().filter(is_exact).count();
            exact += count;
            bounded += integer.fusion.fired.len() - count;
        }
    }
    assert!(exact > 20 && bounded > 20, "{exact} exact, {bounded} bounded");
}

/// Operators on values in [-1, 1), each with the number of steps (of 255 over the range of the float result) by which
/// an integer result may differ. It is half a step for rounding each operand, times what the operator does to that, and
/// one step for rounding the result and its factor. Operators that keep codes read `%p`, which a lookup of -x makes.
const OPERATORS: &[(&str, &str, &str, f64)] = &[
    (
        "conv",
        "f32[1,4,5,6]",
        "conv(%x, @w4, @b4) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}",
        3.0,
    ),
    (
        "depthwise",
        "f32[1,4,5,6]",
        "conv(%x, @w1, @b4) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=4, pad_value=0}",
        2.5,
    ),
    (
        "gemm",
        "f32[1,5]",
        "gemm(%v, @g, @b5) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}",
        2.5,
    ),
    ("matmul", "f32[6,6]", "matmul(%m, %n) {a_zero=0, b_zero=0}", 2.5),
    ("add", "f32[1,4,5,6]", "add(%x, %y)", 2.0),
    ("add a constant", "f32[1,4,5,6]", "add(%x, @k)", 2.0),
    ("sub", "f32[1,4,5,6]", "sub(%x, %y)", 2.0),
    ("sub from a constant", "f32[1,4,5,6]", "sub(@k, %x)", 2.0),
    ("mul", "f32[1,4,5,6]", "mul(%x, %y) {a_zero=0, b_zero=0}", 2.5),
    ("concat", "f32[1,8,5,6]", "concat(%p, %y) {axis=1}", 1.5),
    ("relu", "f32[1,4,5,6]", "relu(%p)", 1.5),
    ("clip", "f32[1,4,5,6]", "clip(%p) {min=-0.75, max=0.8}", 1.5),
    (
        "max pool",
        "f32[1,4,4,5]",
        "max_pool(%p) {size=[2,2], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0}",
        1.5,
    ),
    (
        "average pool",
        "f32[1,4,4,5]",
        "average_pool(%p) {size=[2,2], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0, count_include_pad=0}",
        2.5,
    ),
    ("global average pool", "f32[1,4,1,1]", "global_average_pool(%x)", 3.0),
    ("sigmoid", "f32[1,4,5,6]", "unary(%x) {function=sigmoid}", 2.0),
    (
        "pad",
        "f32[1,4,7,6]",
        "pad(%p) {amounts=[0,0,1,0,0,0,1,0], mode=constant, value=0.5}",
        1.5,
    ),
    (
        "slice",
        "f32[1,4,4,6]",
        "slice(%p) {starts=[1], ends=[5], axes=[2], steps=[1]}",
        1.5,
    ),
    (
        "transpose",
        "f32[1,5,6,4]",
        "transpose(%p) {permutation=[0,2,3,1]}",
        1.5,
    ),
];

const DATA: &str = "
data @w4: f32[4,4,3,3] = random 1
data @w1: f32[4,1,3,3] = random 2
data @b4: f32[4] = random 3
data @g: f32[5,7] = random 4
data @b5: f32[5] = random 5
data @k: f32[1,4,1,1] = random 6
";

#[test]
fn each_operator_is_within_its_steps_of_float_for_every_target() {
    for (name, result, node, steps) in OPERATORS {
        let text = format!(
            "strait 1 float graph @main(%x: f32[1,4,5,6], %y: f32[1,4,5,6], %v: f32[1,7], %m: f32[6,6], %n: f32[6,6]) {{
               %p: f32[1,4,5,6] = unary(%x) {{function=neg}}
               %r: {result} = {node} return %r }}{DATA}"
        );
        let float = parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let samples = InMemory((0..4).map(|i| inputs(&float, i, 1.0)).collect());
        for target in TARGETS {
            let integer = integer(&float, target, &samples).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(
                findings(&integer.module, &integer.fusion),
                Ok(Vec::new()),
                "{name} for {target}"
            );
            let hosted = integer
                .module
                .main()
                .nodes()
                .any(|(_, node)| node.place != Placement::Accelerator);
            let has_few = ["ascend", "onnxruntime"].contains(&target);
            assert!(!hosted || has_few, "{name} for {target} runs on the host");
            let mut worst = 0f64;
            for sample in &samples.0 {
                let found = all_ways_agree(&integer, sample, name);
                let expect = run(&float, float.main, sample, Isa::detect(), 1);
                let (expect, found) = (expect[0].values::<f32>().unwrap(), found[0].values::<f32>().unwrap());
                let (low, high) = expect.iter().fold((0f32, 0f32), |(l, h), &v| (l.min(v), h.max(v)));
                let step = f64::from(high - low) / 255.0;
                let off = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).abs() / step;
                worst = expect.iter().zip(found).map(off).fold(worst, f64::max);
            }
            assert!(worst <= *steps, "{name} for {target}: {worst} steps");
        }
    }
}

#[test]
fn weights_and_biases_of_extreme_sizes_stay_inside_32_bits() {
    // Weight and bias of the second channel (a tiny weight, zero, a bias much larger than the weight, a huge weight),
    // and whether a form can have the factor for a range of 6.
    for (weight, bias, has_factor) in [
        ("1e-20", "0.5", true),
        ("1e-20", "-0.5", true),
        ("0.0", "0.0", true),
        ("0.0", "-3.0", true),
        ("1e-38", "1e-38", true),
        ("0.01", "1e6", true),
        ("0.01", "-1e30", false),
        ("1e20", "1.0", false),
        ("1e-3", "-100.0", true),
    ] {
        let text = format!(
            "strait 1 float graph @main(%x: f32[1,1,3,3]) {{
               %c: f32[1,2,3,3] = conv(%x, @w, @b) {{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}}
               %r: f32[1,2,3,3] = clip(%c) {{min=0.0, max=6.0}}
               %d: f32[1,2,3,3] = conv(%r, @v) {{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=2, pad_value=0}}
               return %d }}
             data @w: f32[2,1,1,1] = inline [1.0,{weight}]
             data @b: f32[2] = inline [0.25,{bias}]
             data @v: f32[2,1,1,1] = inline [0.5,-0.5]"
        );
        let float = parse(&text).unwrap_or_else(|error| panic!("{weight}: {error}"));
        let samples = InMemory((0..3).map(|i| inputs(&float, i, 1.0)).collect());
        for target in TARGETS {
            let case = format!("weight {weight} and bias {bias} for {target}");
            let integer = integer(&float, target, &samples).unwrap_or_else(|error| panic!("{case}: {error}"));
            let nodes = integer.module.graph(integer.lowered).unwrap().nodes();
            let on_host = |node: &Node| node.place != Placement::Accelerator && matches!(node.op, Op::Conv(_));
            let hosted = nodes.filter(|(_, node)| on_host(node)).count();
            assert!(hosted == 0 || !has_factor, "{case}: {hosted} convolutions on the host");
            let found = all_ways_agree(&integer, &samples.0[0], &case);
            all_ways_agree(&integer, &inputs(&float, 9, 1e6), &case);
            let expect = run(&float, float.main, &samples.0[0], Isa::detect(), 1);
            let (expect, found) = (expect[0].values::<f32>().unwrap(), found[0].values::<f32>().unwrap());
            for (expect, found) in expect.iter().zip(found) {
                assert!((expect - found).abs() < 0.1, "{case}: {found} for {expect}");
            }
        }
    }
}

#[test]
fn nodes_that_have_settled_stay_where_they_are() {
    let mut islands = 0;
    for seed in 0..100u64 {
        let float = parse(&random_graph(seed, 40)).unwrap();
        for name in ["generic-int8", "sima", "ascend"] {
            let target = strait_tests::passes::target(name).unwrap();
            let (mut module, main) = (float.clone(), float.main);
            let (settings, constraints, observation) = plain(target.spec());
            let how = Annotation::new(target.spec(), &observation, &settings, &constraints);
            place(&mut module, main, &how);
            // Some nodes are refused, as recipes do.
            let third = |id: &NodeId| id.index() as u64 % 3 == seed % 3;
            let refused = module.main().nodes().map(|(id, _)| id).filter(third);
            let refused = refused.map(|id| (id, Reason::new(ReasonCode::Range, "")).into());
            let (mut fixpoint, refused) = (Fixpoint::default(), refused.collect());
            refuse(module.main_mut(), &how, &mut fixpoint, refused);
            let places = |module: &Module| -> Vec<Placement> {
                module.main().nodes().map(|(_, node)| node.place.clone()).collect()
            };
            let settled = places(&module);
            let is_island = |place: &&Placement| matches!(place, Placement::Host(r) if r.code == ReasonCode::Island);
            islands += settled.iter().filter(is_island).count();
            refuse(module.main_mut(), &how, &mut fixpoint, Vec::new());
            assert_eq!(places(&module), settled, "seed {seed} for {name}");
        }
    }
    assert!(islands > 100, "only {islands} islands in all graphs");
}

#[test]
fn a_rule_for_integers_keeps_an_island_on_the_accelerator() {
    let text = "strait 1 float graph @main(%x: f32[1,4,4]) {
           %s: f32[1,4,4] = matmul(%x, %x) {a_zero=0, b_zero=0}
           %a: f32[1,4,4] = add(%s, %x)
           %b: f32[1,4,4] = mul(%a, %x) {a_zero=0, b_zero=0}
           %c: f32[1,4,4] = sub(%b, %x)
           %p: f32[1,4,4] = softmax(%c) {axis=2}
           return %p }";
    let target = strait_tests::passes::target("generic-int8").unwrap();
    let on_host = |integers: &[&str]| {
        let mut module = parse(text).unwrap();
        let main = module.main;
        let named = |name: &str| {
            module
                .main()
                .nodes()
                .find(|(_, node)| module.name(node.name) == name)
                .unwrap()
                .0
        };
        let (mut settings, constraints, observation) = plain(target.spec());
        for name in integers {
            settings.layers.entry(named(name)).or_default().run = Some(Run::Integer);
        }
        let how = Annotation::new(target.spec(), &observation, &settings, &constraints);
        place(&mut module, main, &how);
        let hosted = module
            .main()
            .nodes()
            .filter(|(_, node)| node.place != Placement::Accelerator);
        let names = hosted.map(|(_, node)| module.name(node.name).to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(on_host(&[]), "a b c p");
    // A node of the accelerator then reads what it reads.
    assert_eq!(on_host(&["b"]), "c p");
    assert_eq!(on_host(&["c"]), "p");
}
