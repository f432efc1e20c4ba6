//! Tests quantized models in the forms that tools write: which grids the values get when such a model is read.

use super::make::*;
use super::*;
use crate::proto::{NodeProto, TensorProto};
use strait_core::{Elem, TensorData};

fn codes(name: &str, elem: Elem, shape: &[u64], values: &[i64]) -> TensorProto {
    constant(name, &TensorData::from_integers(elem, shape, values).unwrap())
}

/// The values with a grid that are read by a node or are outputs, as `NAME[shape] scale zero type`.
fn grids(module: &Module) -> Vec<String> {
    let graph = module.main();
    let used = graph
        .values()
        .filter(|&(id, _)| graph.is_output(id) || live(module, id));
    let given = used.filter_map(|(_, value)| {
        let grid = value.quant.as_ref()?;
        let codes = grid.codes?;
        let axis = grid.axis.map(|axis| format!(" axis {axis}")).unwrap_or_default();
        let block = grid.block.map(|block| format!(" by {block}")).unwrap_or_default();
        Some(format!(
            "{} {:?} {:?} {codes}{axis}{block}",
            module.name(value.name),
            grid.scale.values(),
            grid.zero_point.values(),
        ))
    });
    given.collect()
}

/// True if an output depends on a value.
fn live(module: &Module, value: strait_core::ValueId) -> bool {
    let graph = module.main();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if graph.is_output(value) {
            return true;
        }
        let readers = graph.uses(value).filter_map(|at| graph.node(at.node));
        open.extend(readers.flat_map(|node| node.outputs.iter().copied()));
    }
    false
}

/// The ops that an output depends on.
fn ops(module: &Module) -> Vec<&'static str> {
    let graph = module.main();
    let nodes = graph.topological_order().unwrap();
    let nodes = nodes.into_iter().filter_map(|id| graph.node(id));
    nodes
        .filter(|node| node.outputs.iter().any(|&y| live(module, y)))
        .map(|node| node.op.name())
        .collect()
}

fn scalars() -> Vec<TensorProto> {
    vec![
        constant("s", &TensorData::scalar(0.5f32)),
        constant("t", &TensorData::scalar(0.25f32)),
        codes("z", Elem::U8, &[], &[3]),
        codes("i", Elem::I8, &[], &[-2]),
        codes("low", Elem::I8, &[], &[0]),
        codes("high", Elem::I8, &[], &[127]),
        codes("w", Elem::I8, &[2, 2, 1, 1], &[1, -2, 3, 4]),
        numbers("v", &[0.5, 0.25]),
        numbers("b", &[1.0, 2.0]),
        weight("g", &[2, 2, 1, 1]),
    ]
}

fn read_nodes(nodes: Vec<NodeProto>) -> Module {
    read(&model(21, graph(&["x: f32[1,2,3,3]"], scalars(), nodes, &["y"]))).unwrap_or_else(|error| panic!("{error}"))
}

fn plain(texts: &[&str]) -> Module {
    read_nodes(texts.iter().map(|text| node(text, vec![])).collect())
}

#[test]
fn operands_on_a_grid_have_it_and_nothing_is_left_of_quantizing() {
    let module = plain(&[
        "q = QuantizeLinear(x, s, z)",
        "d = DequantizeLinear(q, s, z)",
        "y = Relu(d)",
    ]);
    assert_eq!(grids(&module), ["x [0.5] [3] u8"]);
    assert_eq!(ops(&module), ["relu"]);
}

#[test]
fn a_concat_of_one_between_two_grids_is_not_there() {
    let pairs = |between: &[&str]| {
        let first = ["q = QuantizeLinear(x, s, z)", "d = DequantizeLinear(q, s, z)"];
        let second = if between.is_empty() { "d" } else { "k" };
        let second = format!("r = QuantizeLinear({second}, t, i)");
        let mut nodes: Vec<NodeProto> = first.iter().map(|text| node(text, vec![])).collect();
        nodes.extend(between.iter().map(|text| node(text, vec![int("axis", 0)])));
        nodes.extend([second.as_str(), "e = DequantizeLinear(r, t, i)", "y = Relu(e)"].map(|text| node(text, vec![])));
        let module = read_nodes(nodes);
        (grids(&module), ops(&module))
    };
    let expected = pairs(&[]);
    assert_eq!(expected.0.len(), 2);
    assert_eq!(pairs(&["k = Concat(d)"]), expected);
}

#[test]
fn an_absent_zero_point_is_that_of_unsigned_bytes() {
    let module = plain(&["q = QuantizeLinear(x, s)", "d = DequantizeLinear(q, s)", "y = Relu(d)"]);
    assert_eq!(grids(&module), ["x [0.5] [0] u8"]);
}

#[test]
fn weights_of_codes_are_real_numbers_on_their_grid_for_each_channel() {
    let weights = node("d = DequantizeLinear(w, v, )", vec![int("axis", 0)]);
    let module = read_nodes(vec![weights, node("y = Conv(x, d, b)", vec![])]);
    assert_eq!(grids(&module), ["d [0.5, 0.25] [0] i8 axis 0"]);
    assert_eq!(ops(&module), ["conv"]);
    let graph = module.main();
    let weight = graph.nodes().next().unwrap().1.inputs[1].unwrap();
    assert_eq!(
        *module.constant(graph, weight).unwrap().to_f32().unwrap(),
        [0.5, -1.0, 0.75, 1.0]
    );
}

#[test]
fn weights_that_are_quantized_in_the_graph_become_codes_while_reading() {
    let floats = node("c = Cast(w)", vec![int("to", 1)]);
    let quantize = node(
        "q = QuantizeLinear(c, v, )",
        vec![int("axis", 0), int("output_dtype", 3)],
    );
    let dequantize = node("d = DequantizeLinear(q, v, )", vec![int("axis", 0)]);
    let module = read_nodes(vec![floats, quantize, dequantize, node("y = Conv(x, d)", vec![])]);
    assert_eq!(grids(&module), ["d [0.5, 0.25] [0] i8 axis 0"]);
}

#[test]
fn codes_between_two_bounds_are_a_clip_of_the_numbers() {
    let module = plain(&[
        "r = Relu(x)",
        "q = QuantizeLinear(r, s, i)",
        "c = Clip(q, low, high)",
        "d = DequantizeLinear(c, s, i)",
        "y = Relu(d)",
    ]);
    assert_eq!(ops(&module), ["relu", "clip", "relu"]);
    let found = grids(&module);
    assert!(found.len() == 1 && found[0].ends_with("[0.5] [-2] i8"), "{found:?}");
}

#[test]
fn codes_that_are_moved_before_they_are_dequantized_are_moved_numbers() {
    let turn = node("m = Transpose(q)", vec![ints("perm", &[0, 2, 3, 1])]);
    let module = read_nodes(vec![
        node("q = QuantizeLinear(x, s, z)", vec![]),
        turn,
        node("d = DequantizeLinear(m, s, z)", vec![]),
        node("y = Relu(d)", vec![]),
    ]);
    assert_eq!(ops(&module), ["transpose", "relu"]);
    assert_eq!(grids(&module).len(), 2, "{:?}", grids(&module));
    let pooled = read_nodes(vec![
        node("q = QuantizeLinear(x, s, z)", vec![]),
        node("m = MaxPool(q)", vec![ints("kernel_shape", &[2, 2])]),
        node("d = DequantizeLinear(m, s, z)", vec![]),
        node("y = Relu(d)", vec![]),
    ]);
    assert_eq!(ops(&pooled), ["max_pool", "relu"]);
}

#[test]
fn weights_that_are_turned_behind_their_dequantization_keep_their_grid_along_the_turned_axis() {
    let weights = node("d = DequantizeLinear(w, v, )", vec![int("axis", 0)]);
    let turn = node("m = Transpose(d)", vec![ints("perm", &[1, 0, 2, 3])]);
    let module = read_nodes(vec![weights, turn, node("y = ConvTranspose(x, m)", vec![])]);
    assert!(
        grids(&module).iter().any(|grid| grid.ends_with("axis 1")),
        "{:?}",
        grids(&module)
    );
}

#[test]
fn a_second_grid_of_the_same_numbers_is_on_a_copy() {
    let module = plain(&[
        "q = QuantizeLinear(x, s, z)",
        "d = DequantizeLinear(q, s, z)",
        "p = QuantizeLinear(d, t, z)",
        "e = DequantizeLinear(p, t, z)",
        "y = Add(d, e)",
    ]);
    assert_eq!(ops(&module), ["identity", "add"]);
    let found = grids(&module);
    assert!(
        found[0] == "x [0.5] [3] u8" && found[1].contains("[0.25] [3] u8"),
        "{found:?}"
    );
}

#[test]
fn blocks_and_four_bits_of_operator_set_21() {
    let weights = codes("k", Elem::I4, &[4, 2], &[1, 2, 3, 4, 5, 6, -7, -8]);
    let scales = constant(
        "u",
        &TensorData::from_values(&[2, 2], &[0.5f32, 1.0, 2.0, 4.0]).unwrap(),
    );
    let dequantize = node(
        "d = DequantizeLinear(k, u, )",
        vec![int("axis", 0), int("block_size", 2)],
    );
    let nodes = vec![dequantize, node("y = MatMul(x, d)", vec![])];
    let module = read(&model(
        21,
        graph(&["x: f32[1,4]"], vec![weights, scales], nodes, &["y"]),
    ))
    .unwrap();
    assert_eq!(grids(&module), ["d [0.5, 1.0, 2.0, 4.0] [0] i4 axis 0 by 2"]);
}

#[test]
fn the_codes_of_a_bias_that_floats_do_not_hold_stay_codes() {
    let bias = codes("k", Elem::I32, &[2], &[16_777_217, 5]);
    let weights = node("d = DequantizeLinear(w, v, )", vec![int("axis", 0)]);
    let dequantize = node("e = DequantizeLinear(k, v, )", vec![int("axis", 0)]);
    let mut constants = scalars();
    constants.push(bias);
    let nodes = vec![weights, dequantize, node("y = Conv(x, d, e)", vec![])];
    let module = read(&model(21, graph(&["x: f32[1,2,3,3]"], constants, nodes, &["y"]))).unwrap();
    assert_eq!(ops(&module), ["dequantize", "conv"]);
}

#[test]
fn inputs_and_outputs_of_codes_stay_codes() {
    let nodes = [
        "d = DequantizeLinear(x, s, z)",
        "r = Relu(d)",
        "y = QuantizeLinear(r, t, z)",
    ];
    let nodes = nodes.iter().map(|text| node(text, vec![])).collect();
    let module = read(&model(13, graph(&["x: u8[2]"], scalars(), nodes, &["y"]))).unwrap();
    assert_eq!(ops(&module), ["dequantize", "relu", "quantize"]);
    assert_eq!(grids(&module).len(), 2);
}

#[test]
fn layers_of_codes_are_layers_between_grids() {
    let constants = || {
        let mut constants = scalars();
        constants.push(codes("k", Elem::I32, &[2], &[7, -9]));
        constants.push(codes("n", Elem::I8, &[2], &[0, 0]));
        constants
    };
    let nodes = [
        "q = QuantizeLinear(x, s, z)",
        "c = QLinearConv(q, s, z, w, v, n, t, z, k)",
        "y = DequantizeLinear(c, t, z)",
    ];
    let nodes = nodes.iter().map(|text| node(text, vec![])).collect();
    let module = read(&model(21, graph(&["x: f32[1,2,3,3]"], constants(), nodes, &["y"]))).unwrap();
    assert_eq!(ops(&module), ["conv", "identity"]);
    let found = grids(&module);
    let has = |text: &str| found.iter().any(|grid| grid.contains(text));
    assert!(
        has("x [0.5] [3] u8") && has("[0.5, 0.25] [0] i8 axis 0") && has("[0.25] [3] u8"),
        "{found:?}"
    );
    assert!(has("[0.25, 0.125] [0] i32 axis 0"), "{found:?}");
}

#[test]
fn cut_and_garbled_files_of_codes_do_no_harm() {
    use prost::Message as _;
    let mut constants = scalars();
    constants.push(codes("k", Elem::I4, &[4, 2], &[1, 2, 3, 4, 5, 6, -7, -8]));
    let scales = TensorData::from_values(&[2, 2], &[0.5f32, 1.0, 2.0, 4.0]).unwrap();
    constants.push(constant("u", &scales));
    constants.push(list("flat", &[1, 4]));
    constants.push(codes("n", Elem::I8, &[2], &[0, 0]));
    let nodes = vec![
        node("q = QuantizeLinear(x, s, z)", vec![]),
        node("m = MaxPool(q)", vec![ints("kernel_shape", &[2, 2])]),
        node("c = QLinearConv(m, s, z, w, v, n, t, z)", vec![]),
        node("f = Reshape(c, flat)", vec![]),
        node("d = DequantizeLinear(f, t, z)", vec![int("axis", 0)]),
        node(
            "e = DequantizeLinear(k, u, )",
            vec![int("axis", 0), int("block_size", 2)],
        ),
        node("y = MatMul(d, e)", vec![]),
    ];
    let whole = model(21, graph(&["x: f32[1,2,2,3]"], constants, nodes, &["y"])).encode_to_vec();
    let looked_at = |bytes: Vec<u8>| {
        let module = Model::decode(bytes.into(), Path::new("")).and_then(|model| model.read(&ReadOptions::default()));
        if let Ok(module) = &module {
            verify(module).unwrap();
        }
        module.is_ok()
    };
    assert!(looked_at(whole.clone()));
    for length in 0..whole.len() {
        looked_at(whole[..length].to_vec());
    }
    for at in 0..whole.len() {
        for value in [0, 0x7f, 0xff, whole[at] ^ 1, whole[at].wrapping_add(4)] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            looked_at(bytes);
        }
    }
}

#[test]
fn an_activation_that_is_left_out_in_front_of_codes_from_zero_is_there() {
    let module = plain(&[
        "c = Conv(x, g)",
        "q = QuantizeLinear(c, s)",
        "d = DequantizeLinear(q, s)",
        "y = Sqrt(d)",
    ]);
    assert_eq!(ops(&module), ["conv", "relu", "unary"]);
    // The smallest code stands for a negative number.
    let module = plain(&[
        "c = Conv(x, g)",
        "q = QuantizeLinear(c, s, z)",
        "d = DequantizeLinear(q, s, z)",
        "y = Sqrt(d)",
    ]);
    assert_eq!(ops(&module), ["conv", "unary"]);
    // The grid has no negative numbers.
    let module = plain(&[
        "q = QuantizeLinear(x, s)",
        "d = DequantizeLinear(q, s)",
        "a = Add(d, d)",
        "p = QuantizeLinear(a, t)",
        "y = DequantizeLinear(p, t)",
    ]);
    assert_eq!(ops(&module), ["add", "identity"]);
}
