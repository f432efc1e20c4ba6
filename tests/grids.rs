//! Tests scales that a target's table or its forms require: powers of two for weights, and larger ones for results if a
//! form needs that. Also tests requantizations between scales that are powers of two, which a row of the table can
//! fuse.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::parse;
use strait_core::{Graph, Module, Op, Placement, ReasonCode};
use strait_execute::Tensor;
use strait_tests::integer::{InMemory, Integer, integer};
use strait_tests::numeric::inputs;

const KEYS: &str = include_str!("keys/table.toml");
const CONV: &str = "{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}";

fn module(text: &str) -> Module {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Compiles with the test table, some of whose text is replaced.
fn compiled(changes: &[(&str, &str)], float: &Module, samples: &InMemory) -> Integer {
    let text = changes.iter().fold(KEYS.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from:?} is not in the table");
        text.replace(from, to)
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("table.toml");
    std::fs::write(&file, text).unwrap();
    integer(float, file.to_str().unwrap(), samples).unwrap_or_else(|error| panic!("{error}"))
}

fn lowered(integer: &Integer) -> &Graph {
    integer.module.graph(integer.lowered).unwrap()
}

#[test]
fn where_the_table_says_so_the_scales_of_weights_are_powers_of_two_in_every_channel() {
    let float = module(&format!(
        "strait 1 float graph @main(%x: f32[1,3,4,4]) {{
           %c: f32[1,5,4,4] = conv(%x, @w, @b) {CONV}
           %p: f32[1,5,1,1] = global_average_pool(%c)
           %f: f32[1,5] = flatten(%p) {{axis=1}}
           %y: f32[1,7] = gemm(%f, @v) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}
           return %y }}
         data @w: f32[5,3,1,1] = random 1
         data @b: f32[5] = random 2
         data @v: f32[7,5] = random 3"
    ));
    let samples = InMemory((0..4).map(|seed| inputs(&float, seed, 1.0)).collect());
    let powers = [
        ("tensor\"], scale = \"any\"", "tensor\"], scale = \"power_of_two\""),
        ("false, scale = \"any\"", "false, scale = \"power_of_two\""),
    ];
    let shifts = [
        ("\"max_abs\"", "\"shift\""),
        ("requantize = [\"once\"]", "requantize = [\"plain\"]"),
    ];
    let per_tensor = [("weight_per = \"channel\"", "weight_per = \"tensor\"")];
    let (weight_only, both) = (&powers[..1], &powers[..]);
    for (changes, of_conv) in [
        (weight_only.to_vec(), 5),
        (both.to_vec(), 5),
        // What a table is told that has such weights but other scales of activations: see
        // crates/target-table/tests/errors.
        ([both, &shifts].concat(), 5),
        ([both, &shifts, &per_tensor].concat(), 1),
    ] {
        let integer = compiled(&changes, &float, &samples);
        let graph = lowered(&integer);
        let mut seen = Vec::new();
        for (_, node) in graph.nodes().filter(|(_, n)| matches!(n.op, Op::Conv(_) | Op::Gemm(_))) {
            assert_eq!(node.place, Placement::Accelerator);
            let grid = graph.value(node.inputs[1].unwrap()).unwrap().quant.as_deref().unwrap();
            let scales = grid.scale.values();
            let power = |scale: &f32| scale.to_bits() & 0x7F_FFFF == 0;
            assert!(scales.iter().all(power), "{changes:?}: {scales:?}");
            seen.push(scales.len());
        }
        assert_eq!(seen, [of_conv, 7]);
    }
}

/// A convolution whose result is tiny compared with what its weights could reach: the elements of its operand are pairs
/// that differ by `apart`.
fn cancelling(apart: f32) -> (Module, InMemory) {
    let text = format!(
        "strait 1 float graph @main(%x: f32[1,4,1,1]) {{
           %y: f32[1,1,1,1] = conv(%x, @w) {CONV}
           return %y }}
         data @w: f32[1,4,1,1] = inline [1.0, -1.0, 1.0, -1.0]"
    );
    let sample = |k: i16| {
        let large = 250.0 * f32::from(k);
        Tensor::from_values(&[1, 4, 1, 1], &[large, large, 0.0, apart * f32::from(k)]).unwrap()
    };
    (module(&text), InMemory((-4..=4).map(|k| vec![sample(k)]).collect()))
}

/// Why the convolution runs on the host, if it does, and the scale of its result.
fn convolution(integer: &Integer) -> (Option<ReasonCode>, Option<f32>) {
    let graph = lowered(integer);
    let host = graph.nodes().find_map(|(_, node)| match (&node.op, &node.place) {
        (Op::Conv(_), Placement::Host(reason)) => Some(reason.code.clone()),
        _ => None,
    });
    let narrowed = graph.nodes().find(|(_, node)| matches!(node.op, Op::Requantize(_)));
    let scale = narrowed.and_then(|(_, node)| Some(graph.value(node.outputs[0])?.quant.as_deref()?.as_tensor()?.0));
    (host, scale)
}

#[test]
fn a_convolution_whose_form_does_not_cover_its_reach_gets_a_coarser_grid_before_the_host() {
    let of = |apart: f32| {
        let (float, samples) = cancelling(apart);
        let integer = integer(&float, "generic-int8", &samples).unwrap();
        let (host, scale) = convolution(&integer);
        let doublings: Vec<u32> = integer.coarser.iter().map(|coarser| coarser.doublings).collect();
        (host, scale, doublings)
    };
    // The largest magnitude of the result is 4·apart. The scale follows from it, as long as the form can reach it.
    let ratio = |apart: f32, scale: f32| scale / (8.0 * apart / 255.0);
    let (host, scale, told) = of(1e-2);
    assert_eq!((host, ratio(1e-2, scale.unwrap()).round(), told), (None, 1.0, vec![]));
    let (host, scale, told) = of(2e-5);
    let coarser = ratio(2e-5, scale.unwrap()).round();
    assert!(host.is_none() && (2.0..=128.0).contains(&coarser), "{host:?} {coarser}");
    assert_eq!(told.iter().map(|n| f32::from(1u8 << n)).collect::<Vec<_>>(), [coarser]);
    // If the scale were more than 128 times as large, nothing would be left of the values seen.
    assert_eq!(of(1e-7).0, Some(ReasonCode::OutsideDomain));
    // The sign of a sum has no meaning, either, if a single step of it is far larger than that.
    assert_eq!(of(1e-8).0, Some(ReasonCode::SumStep));
}

#[test]
fn where_nothing_but_zero_was_seen_the_grid_is_as_coarse_as_it_has_to_be() {
    let text = format!(
        "strait 1 float graph @main(%x: f32[1,4,1,1]) {{
           %c: f32[1,1,1,1] = conv(%x, @w) {CONV}
           %y: f32[1,1,1,1] = relu(%c)
           return %y }}
         data @w: f32[1,4,1,1] = splat -1.0"
    );
    let samples = |size: f32| InMemory(vec![vec![Tensor::from_values(&[1, 4, 1, 1], &[size; 4]).unwrap()]]);
    // With a factor of 2^18, accumulators of 17 bits need more than 32 bits. The form cannot have a factor of 2^31.
    for (size, coarser) in [(1e10, 2.0..1e3), (1e14, 1e5..1e7)] {
        let found = convolution(&integer(&module(&text), "generic-int8", &samples(size)).unwrap());
        let (None, Some(scale)) = found else {
            panic!("{size}: {found:?}")
        };
        assert!(coarser.contains(&scale), "{size}: {scale}");
    }
}

#[test]
fn another_form_of_the_row_comes_before_a_coarser_grid() {
    let (float, samples) = cancelling(2e-5);
    let two = "requantize = [\"twice\", \"once\"]";
    let doubling = "[form.twice]\nkind = { gemmlowp = { roundings = \"two\", shift = { min = -30, max = 31 } } }\n\
                    output = [\"int8\"]\n\
                    per = [\"channel\", \"tensor\"]\nclamp = \"any\"\nfrom = \"litert\"\n\n[form.general]";
    let left = ("shift = { min = 1, max = 62 }", "shift = { min = 0, max = 62 }");
    let changes = [("requantize = [\"once\"]", two), ("[form.general]", doubling), left];
    let (host, scale) = convolution(&compiled(&changes, &float, &samples));
    assert_eq!((host, (scale.unwrap() / (8.0 * 2e-5 / 255.0)).round()), (None, 1.0));
}

#[test]
fn a_clamp_between_two_requantizations_moves_behind_them_where_the_row_says_so() {
    // A convolution, its ReLU, and its requantization to the common scale of a sum: three steps, two of which round
    // down.
    let float = module(&format!(
        "strait 1 float graph @main(%x: f32[1,3,4,4]) {{
           %c: f32[1,3,4,4] = conv(%x, @w) {CONV}
           %r: f32[1,3,4,4] = relu(%c)
           %y: f32[1,3,4,4] = add(%r, %x)
           return %y }}
         data @w: f32[3,3,1,1] = random 1"
    ));
    let samples = InMemory((0..4).map(|seed| inputs(&float, seed, 1.0)).collect());
    let floor = [
        ("tensor\"], scale = \"any\"", "tensor\"], scale = \"power_of_two\""),
        (
            "symmetric = false, scale = \"any\"",
            "symmetric = true, scale = \"power_of_two\"",
        ),
        ("range = [-128, 127]", "range = [-127, 127]"),
        ("\"max_abs\"", "\"shift\""),
        ("requantize = [\"once\"]", "requantize = [\"plain\"]"),
        ("rounding = \"half_even\" } }", "rounding = \"floor\" } }"),
        ("inputs     = [\"general\"]", "inputs     = [\"plain\"]"),
        ("left_shift = 8", "left_shift = 0"),
        ("output = [\"int8\"]", "output = [\"int8\", \"int32\"]"),
        (", to = \"int8\"", ""),
        ("accept    = [\"once\"]", "accept    = [\"plain\"]"),
    ];
    let without = [("\"set_requantize\", \"requantize_clamp\"", "\"set_requantize\"")];
    let left = |changes: &[(&str, &str)]| {
        let integer = compiled(changes, &float, &samples);
        let main = integer.module.main();
        let of_conv = main.nodes().find(|(_, node)| matches!(node.op, Op::Conv(_)));
        let requantizations = main.nodes().filter(|(_, n)| matches!(n.op, Op::Requantize(_)));
        let clamp = of_conv.and_then(|(_, node)| node.fused.as_deref()?.clamp);
        (requantizations.count(), clamp.is_some())
    };
    let (with, without) = (left(&floor), left(&[&floor[..], &without].concat()));
    assert!(with.1 && with.0 < without.0, "{with:?} {without:?}");
}
