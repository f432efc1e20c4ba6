//! Tests tensors without elements and rows that are NaN: they do not influence ranges, and they do not move layers to
//! the host.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::parse;
use strait_core::{Module, Node, Placement, Reason};
use strait_execute::Tensor;
use strait_kernels::Isa;
use strait_tests::integer::{InMemory, Integer, integer};
use strait_tests::numeric::{inputs, run, signal_to_noise};

const TARGETS: [&str; 3] = ["generic-int8", "sima", "ascend"];

fn made(float: &Module, target: &str, samples: &InMemory) -> Integer {
    integer(float, target, samples).unwrap_or_else(|error| panic!("{target}: {error}"))
}

/// The nodes on the host, and why.
fn on_host(made: &Integer) -> Vec<(String, Reason)> {
    let why = |node: &Node| match &node.place {
        Placement::Host(reason) => Some((node.op.term().to_string(), (**reason).clone())),
        _ => None,
    };
    made.annotated
        .main()
        .nodes()
        .filter_map(|(_, node)| why(node))
        .collect()
}

/// The signal-to-noise ratio of the integer model, over all places where the float model has a number.
fn ratio(float: &Module, other: &Integer, samples: &InMemory) -> f64 {
    let (mut expect, mut found) = (Vec::new(), Vec::new());
    for sample in &samples.0 {
        let real = |module: &Module| -> Vec<f32> {
            let results = run(module, module.main, sample, Isa::detect(), 1);
            results
                .iter()
                .flat_map(|result| result.values::<f32>().unwrap().to_vec())
                .collect()
        };
        let pairs = real(float).into_iter().zip(real(&other.module));
        for (real, integer) in pairs.filter(|(real, _)| !real.is_nan()) {
            expect.push(real);
            found.push(integer);
        }
    }
    signal_to_noise(&expect, &found)
}

const CONV: &str = "{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}";

#[test]
fn an_empty_member_leaves_its_neighbours_where_they_are() {
    let text = format!(
        "strait 1 float graph @main(%x: f32[1,4,7,7]) {{
           %c: f32[1,4,7,7] = conv(%x, @w) {CONV}
           %e: f32[1,4,0,7] = slice(%c) {{starts=[3], ends=[3], axes=[2], steps=[1]}}
           %k: f32[1,4,7,7] = concat(%e, %c) {{axis=2}}
           %y: f32[1,4,7,7] = conv(%k, @u) {CONV}
           return %y }}
         data @w: f32[4,4,1,1] = random 1
         data @u: f32[4,4,1,1] = random 2"
    );
    let float = parse(&text).unwrap();
    let samples = InMemory((0..4).map(|seed| inputs(&float, seed, 2.0)).collect());
    for target in TARGETS {
        let made = made(&float, target, &samples);
        assert_eq!(on_host(&made), [], "{target}");
        assert!(ratio(&float, &made, &samples) > 30.0, "{target}");
    }
}

#[test]
fn an_empty_piece_of_a_split_leaves_its_neighbours_where_they_are() {
    let text = "strait 1 float graph @main(%x: f32[4,8]) {
           %h: f32[4,8] = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
           %a: f32[4,3], %b: f32[4,0], %c: f32[4,5] = split(%h) {axis=1, sizes=[3,0,5]}
           %n: f32[4,0], %m: f32[4,3] = split(%a) {axis=1, sizes=[0,3]}
           %r: f32[4,0] = relu(%b)
           %k: f32[4,8] = concat(%c, %r, %m, %n) {axis=1}
           %y: f32[4,8] = gemm(%k, @u) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
           return %y }
         data @w: f32[8,8] = random 1
         data @u: f32[8,8] = random 2";
    let float = parse(text).unwrap();
    let samples = InMemory((0..4).map(|seed| inputs(&float, seed, 2.0)).collect());
    for target in TARGETS {
        let made = made(&float, target, &samples);
        assert_eq!(on_host(&made), [], "{target}");
        assert!(ratio(&float, &made, &samples) > 30.0, "{target}");
    }
}

#[test]
fn an_empty_value_that_stays_says_nothing_false_and_nothing_of_a_range() {
    // An output without elements, one after a sum, and a product over no elements, which is zero.
    let text = format!(
        "strait 1 float graph @main(%x: f32[1,4,7,7], %n: f32[4,0]) {{
           %c: f32[1,4,7,7] = conv(%x, @w) {CONV}
           %e: f32[1,4,0,7] = slice(%c) {{starts=[3], ends=[3], axes=[2], steps=[1]}}
           %r: f32[1,4,0,7] = relu(%e)
           %t: f32[1,4,0,7] = add(%r, %e)
           %y: f32[1,4,7,7] = conv(%c, @u) {CONV}
           %p: f32[4,3] = matmul(%n, @none) {{a_zero=0, b_zero=0}}
           return %y, %t, %e, %p }}
         data @w: f32[4,4,1,1] = random 1
         data @u: f32[4,4,1,1] = random 2
         data @none: f32[0,3] = inline []"
    );
    let float = parse(&text).unwrap();
    let samples = InMemory((0..4).map(|seed| inputs(&float, seed, 2.0)).collect());
    for target in TARGETS {
        let made = made(&float, target, &samples);
        let host = on_host(&made);
        assert!(host.iter().all(|(op, _)| op != "conv"), "{target}: {host:?}");
        let told = host
            .iter()
            .any(|(_, reason)| reason.code == strait_core::ReasonCode::NotObserved);
        assert!(!told, "{target}: {host:?}");
        assert!(ratio(&float, &made, &samples) > 30.0, "{target}");
    }
}

/// Attention over 6 tokens, some of which `%m` masks.
const ATTENTION: &str = "strait 1 float graph @main(%x: f32[1,6,16], %m: f32[1,6,6]) {
       %q: f32[1,6,16] = gemm(%x, @wq) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
       %k: f32[1,6,16] = gemm(%x, @wk) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
       %kt: f32[1,16,6] = transpose(%k) {permutation=[0,2,1]}
       %v: f32[1,6,16] = gemm(%x, @wv) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
       %s: f32[1,6,6] = matmul(%q, %kt) {a_zero=0, b_zero=0}
       %on: bool[1,6,6] = cast(%m) {to=bool}
       %t: f32[1,6,6] = select(%on, %s, @least)
       %p: f32[1,6,6] = softmax(%t) {axis=-1}
       %o: f32[1,6,16] = matmul(%p, %v) {a_zero=0, b_zero=0}
       %h: f32[1,6,16] = gemm(%o, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
       %r: f32[1,6,16] = relu(%h)
       %y: f32[1,6,16] = gemm(%r, @u) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
       return %y }
     data @wq: f32[16,16] = random 1
     data @wk: f32[16,16] = random 2
     data @wv: f32[16,16] = random 3
     data @w: f32[16,16] = random 4
     data @u: f32[16,16] = random 5
     data @least: f32[] = inline [-inf]";

#[test]
fn a_row_that_is_nan_changes_no_place_and_no_range() {
    let float = parse(ATTENTION).unwrap();
    let samples = |masked: &[usize]| {
        let one = |seed: usize| {
            let mut sample = inputs(&float, seed as u64, 1.0);
            let on: Vec<f32> = (0..36)
                .map(|at| f32::from(!(masked.contains(&seed) && at / 6 == 5)))
                .collect();
            sample[1] = Tensor::from_values(&[1, 6, 6], &on).unwrap();
            sample
        };
        InMemory((0..8).map(one).collect())
    };
    for target in TARGETS {
        let whole = made(&float, target, &samples(&[]));
        let masked = samples(&[3, 5]);
        let holes = made(&float, target, &masked);
        assert_eq!(on_host(&holes), on_host(&whole), "{target}");
        let near = ratio(&float, &whole, &samples(&[]));
        let found = ratio(&float, &holes, &masked);
        assert!(
            found > near - 1.0,
            "{target}: {found:.1} dB, {near:.1} without such rows"
        );
    }
}

#[test]
fn what_is_nan_everywhere_or_infinite_anywhere_stays_on_the_host() {
    let text = "strait 1 float graph @main(%x: f32[8,16]) {
           %h: f32[8,16] = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
           %a: f32[8,16] = unary(%h) {function=abs}
           %n: f32[8,16] = mul(%a, @factor) {a_zero=0, b_zero=0}
           %d: f32[8,16] = sub(%n, %n)
           %y: f32[8,16] = gemm(%d, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
           return %y }
         data @w: f32[16,16] = random 1
         data @factor: f32[] = inline [FACTOR]";
    // A product with 3e38 is infinite if the other factor is above 1.1, and the difference of two infinite numbers is
    // NaN.
    for (factor, told) in [
        ("3e38", "of its elements are infinite in the calibration data"),
        ("inf", "all of its elements are NaN in the calibration data"),
    ] {
        let float = parse(&text.replace("FACTOR", factor)).unwrap();
        let samples = InMemory((0..4).map(|seed| inputs(&float, seed, 1.0)).collect());
        let host = on_host(&made(&float, TARGETS[0], &samples));
        assert!(
            host.iter().any(|(_, reason)| reason.text.contains(told)),
            "{factor}: {host:?}"
        );
    }
}
