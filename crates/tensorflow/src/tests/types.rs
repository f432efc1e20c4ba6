//! Tests of the types of the tensors at which a graph begins.

use super::make::{cut, error, extents, floats, graph, ints, node, placeholder, ports, read, text};
use crate::Model;
use crate::proto::{ListValue, NodeDef, Value, VersionDef};
use prost::Message;
use strait_import::{Decoded, ReadOptions};

fn conv(name: &str, operands: &[&str]) -> NodeDef {
    node(name, "Conv2D", operands)
        .float()
        .with("strides", ints(&[1, 1, 1, 1]))
        .with("padding", text("SAME"))
}

fn filter() -> NodeDef {
    floats("w", &[3, 3, 2, 1], &[0.0; 18])
}

#[test]
fn a_filter_says_how_many_channels_an_image_has() {
    let nodes = |input: &str| {
        vec![
            placeholder("x", None),
            floats("mean", &[], &[0.5]),
            node("centred", "Sub", &["x", "mean"]).float(),
            filter(),
            node("w/read", "Identity", &["w"]).float(),
            conv("y", &[input, "w/read"]),
        ]
    };
    let bind = [("x:0.1", 4), ("x:0.2", 5)];
    for input in ["x", "centred"] {
        let module = cut(nodes(input), &[], &["y"], &bind).unwrap();
        assert_eq!(ports(&module), ["x:0 f32[x:0.0, 4, 5, 2]", "y:0 f32[x:0.0, 4, 5, 1]"]);
    }
    // In a key, the node's name can stand for its first result.
    let module = cut(nodes("x"), &[], &["y"], &[("x.0", 1), ("x.1", 4), ("x.2", 5)]).unwrap();
    assert_eq!(ports(&module)[0], "x:0 f32[1, 4, 5, 2]");
    let text = error(cut(nodes("x"), &[], &["y"], &[("x:0.4", 1)]));
    assert!(text.contains("dimension `x:0.4` is not in the model"), "{text}");
}

#[test]
fn a_tensor_without_a_rank_asks_for_keys_that_give_it_one() {
    let nodes = || vec![placeholder("x", None), node("y", "Relu", &["x"]).float()];
    let text = error(read(nodes()));
    assert!(text.contains("`x:0`: nothing says how many axes it has"), "{text}");
    assert!(text.contains("\"x:0.0\" = 1"), "{text}");
    let module = cut(nodes(), &[], &[], &[("x:0.0", 1), ("x:0.2", 7)]).unwrap();
    assert_eq!(ports(&module), ["x:0 f32[1, x:0.1, 7]", "y:0 f32[1, x:0.1, 7]"]);
}

#[test]
fn a_cut_inside_of_the_graph_has_the_type_that_the_part_above_makes() {
    let nodes = vec![
        placeholder("x", Some(&[1, 4, 4, 2])),
        filter(),
        conv("a", &["x", "w"]),
        node("b", "Relu", &["a"]).float(),
    ];
    let module = cut(nodes, &["a:0"], &[], &[]).unwrap();
    assert_eq!(ports(&module), ["a:0 f32[1, 4, 4, 1]", "b:0 f32[1, 4, 4, 1]"]);
}

#[test]
fn shapes_that_a_writer_left_are_taken_where_the_graph_begins() {
    let shapes = ListValue {
        shape: vec![extents(&[-1, 3]), extents(&[7])],
        ..ListValue::default()
    };
    let nodes = vec![
        node("next", "IteratorGetNext", &[])
            .with("_output_shapes", Value::List(shapes))
            .with(
                "output_types",
                Value::List(ListValue {
                    types: vec![1, 3],
                    ..ListValue::default()
                }),
            ),
        node("y", "Relu", &["next"]).float(),
    ];
    let module = cut(nodes, &["next:0"], &["y"], &[]).unwrap();
    assert_eq!(ports(&module), ["next:0 f32[next:0.0, 3]", "y:0 f32[next:0.0, 3]"]);
}

#[test]
fn older_writers_leave_a_shape_empty_that_they_do_not_know() {
    let read = |producer: i32| {
        let mut def = graph(vec![placeholder("x", Some(&[])), node("y", "Relu", &["x"]).float()]);
        def.versions = Some(VersionDef { producer });
        Model::decode(def.encode_to_vec().into())
            .unwrap()
            .read(&ReadOptions::default())
    };
    assert_eq!(ports(&read(24).unwrap()), ["x:0 f32[]", "y:0 f32[]"]);
    assert!(error(read(23)).contains("nothing says how many axes it has"));
}

#[test]
fn floats_of_16_bits_are_read_as_f32_between_inputs_and_outputs() {
    let x = placeholder("x", Some(&[4])).with("dtype", Value::Type(19));
    let nodes = vec![x, node("y", "Relu", &["x"]).with("T", Value::Type(19))];
    assert_eq!(ports(&read(nodes).unwrap()), ["x:0 f16[4]", "y:0 f16[4]"]);
}

#[test]
fn an_input_of_text_is_refused() {
    let x = placeholder("x", Some(&[])).with("dtype", Value::Type(7));
    let text = error(read(vec![x, node("y", "Identity", &["x"])]));
    assert!(text.contains("`x:0`: its element type is string"), "{text}");
}
