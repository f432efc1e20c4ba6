//! Tests of models with codes: the grids that values get, and the codes at inputs and outputs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::common;
use strait_import::Decoded;

use bytes::Bytes;
use common::{Table, Value, file, graph, kind, model, operator, tensor};
use strait_core::Module;
use strait_core::text::{self, PrintOptions};
use strait_tflite::{Model, ReadError, ReadOptions};

const INT8: u64 = 9;
const INT16: u64 = 7;
const INT32: u64 = 2;
const UINT8: u64 = 3;

fn read(root: &Table) -> Result<Module, ReadError> {
    Model::decode(Bytes::from(file(root)))?.read(&ReadOptions::default())
}

fn print(module: &Module) -> String {
    text::print(module, &PrintOptions::default())
}

/// A tensor of codes.
fn codes(name: &str, shape: &[i32], buffer: u64, elem: u64, scales: &[f32], zero: i64) -> Table {
    let grid = Table::default()
        .with(2, Value::Floats(scales.to_vec()))
        .with(3, Value::Longs(vec![zero; scales.len()]));
    tensor(name, shape, buffer).bits(1, elem).with(4, Value::Table(grid))
}

/// A tensor with codes whose scales run along the axis `axis` instead of the first axis.
fn along(tensor: Table, axis: u64) -> Table {
    let mut tensor = tensor;
    for (_, value) in tensor.0.iter_mut().filter(|(field, _)| *field == 4) {
        if let Value::Table(grid) = value {
            *grid = grid.clone().bits(6, axis);
        }
    }
    tensor
}

/// A model with one builtin operator, given by its number, from codes `x` to `y`.
fn one(number: u64, y: Table) -> Table {
    let x = codes("x", &[1, 2], 0, INT8, &[0.5], 3);
    let graph = graph(vec![x, y], vec![operator(0, &[0], &[1])], &[0], &[1]);
    model(vec![kind(number, 1)], graph, &[])
}

/// The model with these bytes in its buffers, beginning with the second buffer.
fn filled(mut root: Table, buffers: &[&[u8]]) -> Table {
    let bytes = |bytes: &&[u8]| Table::default().with(0, Value::Bytes(bytes.to_vec()));
    let all = std::iter::once(Table::default())
        .chain(buffers.iter().map(bytes))
        .collect();
    root.0.retain(|(field, _)| *field != 4);
    root.tables(4, all)
}

/// x · wᵀ + b with a fused ReLU, on codes.
fn dense(x: Table, w: Table, b: Table, y: Table) -> Table {
    let options = Table::default().bits(0, 1);
    let dense = operator(0, &[0, 1, 2], &[3]).bits(3, 8).with(4, Value::Table(options));
    let graph = graph(vec![x, w, b, y], vec![dense], &[0], &[3]);
    let bias = [8i32, -4].map(i32::to_le_bytes).concat();
    filled(model(vec![kind(9, 4)], graph, &[]), &[&[3, 252, 1, 255], &bias])
}

#[test]
fn values_have_the_grids_of_the_file_and_codes_are_at_its_borders() {
    let root = dense(
        codes("x", &[1, 2], 0, INT8, &[0.5], 3),
        codes("w", &[2, 2], 1, INT8, &[0.25, 0.5], 0),
        codes("b", &[2], 2, INT32, &[0.125, 0.25], 0),
        codes("y", &[1, 2], 0, INT8, &[2.0], -128),
    );
    let text = print(&read(&root).unwrap());
    for words in [
        "%x: i8[1,2] scale=0.5 zero=3)",
        "f32[1,2] scale=0.5 zero=3 codes=i8 = dequantize(%x)",
        "@w: f32[2,2]",
        // The values before and after the activation both have the grid of the result, because the runtime saturates
        // after the activation.
        "f32[1,2] scale=2.0 zero=-128 codes=i8 = gemm(",
        "f32[1,2] scale=2.0 zero=-128 codes=i8 = relu(",
        "%y: i8[1,2] scale=2.0 zero=-128 = quantize(",
        "return %y",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// The activations that are read after a matrix product. The product has this fused activation, and its result has this
/// grid.
fn activations(activation: u64, scale: f32, zero: i64) -> Vec<String> {
    let options = Table::default().bits(0, activation);
    let product = operator(0, &[0, 1, -1], &[2]).bits(3, 8).with(4, Value::Table(options));
    let tensors = vec![
        codes("x", &[1, 2], 0, INT8, &[0.5], 3),
        codes("w", &[2, 2], 1, INT8, &[0.25], 0),
        codes("y", &[1, 2], 0, INT8, &[scale], zero),
    ];
    let graph = graph(tensors, vec![product], &[0], &[2]);
    let root = filled(model(vec![kind(9, 4)], graph, &[]), &[&[3, 252, 1, 255]]);
    let text = print(&read(&root).unwrap());
    let words = text.lines().flat_map(|line| line.split_whitespace());
    let ops = words.filter(|word| word.starts_with("relu(") || word.starts_with("max="));
    ops.map(|word| {
        word.split_once('(')
            .map_or(word, |(op, _)| op)
            .trim_end_matches('}')
            .to_owned()
    })
    .collect()
}

#[test]
fn an_activation_that_saturation_stands_for_is_there() {
    let (none, relu6) = (0, 3);
    // Codes that stand for 0 to 6: a converter writes this grid if it leaves out a ReLU6.
    assert_eq!(activations(none, 0.0234375, -128), ["max=6.0"]);
    assert_eq!(activations(none, 0.5, -128), ["relu"]);
    // Codes that also stand for numbers below 0: no activation was left out.
    assert_eq!(activations(none, 0.0234375, -127), [""; 0]);
    assert_eq!(activations(none, 0.0234375, 0), [""; 0]);
    // A stated activation does not change, whether the grid covers a narrower or a wider range.
    for scale in [0.015625, 0.0234375, 0.0625] {
        for zero in [-128, -64] {
            assert_eq!(activations(relu6, scale, zero), ["max=6.0"]);
        }
    }
}

#[test]
fn a_cut_inside_of_a_model_of_codes_has_codes_at_it() {
    let tensors = vec![
        codes("x", &[1, 2], 0, INT8, &[0.5], 3),
        codes("a", &[1, 2], 0, INT8, &[0.5], -128),
        codes("y", &[1, 2], 0, INT8, &[0.5], -128),
    ];
    let graph = graph(
        tensors,
        vec![operator(0, &[0], &[1]), operator(0, &[1], &[2])],
        &[0],
        &[2],
    );
    let options = ReadOptions {
        inputs: vec!["a".into()],
        ..ReadOptions::default()
    };
    let bytes = Bytes::from(file(&model(vec![kind(19, 1)], graph, &[])));
    let text = print(&Model::decode(bytes).unwrap().read(&options).unwrap());
    assert!(text.contains("(%a: i8[1,2] scale=0.5 zero=-128)"), "{text}");
}

#[test]
fn a_grid_that_is_none_is_told_and_one_of_positions_is_not_looked_at() {
    for (scale, zero, words) in [
        (0.0, 0, "has a grid that is none"),
        (f32::NAN, 0, "has a grid that is none"),
        (-1.0, 0, "has a grid that is none"),
        (0.5, 128, "has a grid that is none"),
        (0.5, i64::MAX, "has a grid that is none"),
    ] {
        let tensors = vec![
            codes("x", &[1, 2], 0, INT8, &[scale], zero),
            codes("y", &[1, 2], 0, INT8, &[0.5], 0),
        ];
        let graph = graph(tensors, vec![operator(0, &[0], &[1])], &[0], &[1]);
        let text = read(&model(vec![kind(19, 1)], graph, &[])).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
    // A RESHAPE whose shape operand has a grid, too.
    let tensors = vec![
        codes("x", &[1, 2], 0, INT8, &[0.5], 0),
        codes("shape", &[1], 1, INT32, &[0.0], 0),
        codes("y", &[2], 0, INT8, &[0.5], 0),
    ];
    let graph = graph(tensors, vec![operator(0, &[0, 1], &[2])], &[0], &[2]);
    let root = filled(model(vec![kind(22, 1)], graph, &[]), &[&[2, 0, 0, 0]]);
    let text = print(&read(&root).unwrap());
    assert!(text.contains("codes=i8 = reshape("), "{text}");
}

#[test]
fn scales_that_are_not_as_many_as_their_axis_has_positions_are_told() {
    let root = dense(
        codes("x", &[1, 2], 0, INT8, &[0.5], 3),
        codes("w", &[2, 2], 1, INT8, &[0.25, 0.5, 1.0], 0),
        codes("b", &[2], 2, INT32, &[0.125, 0.25], 0),
        codes("y", &[1, 2], 0, INT8, &[2.0], -128),
    );
    let text = read(&root).unwrap_err().to_string();
    assert!(text.contains("not as many"), "{text}");
}

#[test]
fn grids_that_no_kernel_has_are_refused() {
    let x = || codes("x", &[1, 2], 0, INT8, &[0.5], 3);
    let b = |scale| codes("b", &[2], 2, INT32, &[scale], 0);
    let y = || codes("y", &[1, 2], 0, INT8, &[2.0], -128);
    let w = |zero| codes("w", &[2, 2], 1, INT8, &[0.25], zero);
    read(&dense(x(), w(0), b(0.125), y())).unwrap();
    for (root, words) in [
        (dense(x(), w(1), b(0.125), y()), "its weights have a zero point"),
        (dense(x(), w(0), b(0.25), y()), "`b` is on another grid"),
        (dense(x(), w(0), tensor("b", &[2], 2), y()), "`b` has real numbers"),
        (
            dense(tensor("x", &[1, 2], 0), w(0), b(0.125), y()),
            "codes and real numbers meet",
        ),
        (
            dense(codes("x", &[1, 2], 0, UINT8, &[0.5], 3), w(0), b(0.125), y()),
            "weights of i8 beside activations of u8",
        ),
        (
            dense(
                x(),
                along(codes("w", &[2, 2], 1, INT8, &[0.25, 0.5], 0), 1),
                b(0.125),
                y(),
            ),
            "scales along another axis",
        ),
        (
            one(14, codes("y", &[1, 2], 0, INT8, &[0.5], 0)),
            "its kernel has a result of scale",
        ),
        (
            one(22, codes("y", &[1, 2], 0, INT8, &[0.25], 3)),
            "its kernel takes codes as they are",
        ),
        (
            one(19, codes("y", &[1, 2], 0, INT16, &[0.25], 3)),
            "`y` has codes of 16 bits with a zero point",
        ),
    ] {
        let text = read(&root).unwrap_err().to_string();
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn cut_and_flipped_files_of_codes_do_no_harm() {
    let whole = file(&dense(
        codes("x", &[1, 2], 0, INT8, &[0.5], 3),
        codes("w", &[2, 2], 1, INT8, &[0.25, 0.5], 0),
        codes("b", &[2], 2, INT32, &[0.125, 0.25], 0),
        codes("y", &[1, 2], 0, INT8, &[2.0], -128),
    ));
    let look = |bytes: Vec<u8>| {
        let model = Model::decode(Bytes::from(bytes));
        model.is_ok_and(|model| model.read_single(&ReadOptions::default()).is_ok())
    };
    assert!(look(whole.clone()));
    for at in 0..whole.len() {
        look(whole[..at].to_vec());
        for value in [0, 1, 0x7f, 0x80, 0xff, whole[at] ^ 1, whole[at].wrapping_add(4)] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            look(bytes);
        }
    }
}
