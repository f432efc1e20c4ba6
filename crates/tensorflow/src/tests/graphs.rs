//! Tests of which part of a graph is read, and which parts are refused.

use bytes::Bytes;
use prost::Message;
use strait_import::{Decoded, ReadOptions};

use super::make::{cut, encoded, error, floats, graph, list, model, node, ops, placeholder, ports, read, truth};
use crate::Model;
use crate::proto::{FunctionDef, FunctionDefLibrary, OpDef, Value};

#[test]
fn what_nothing_takes_is_an_output() {
    let nodes = || {
        vec![
            placeholder("x", Some(&[1, 4])),
            node("a", "Relu", &["x"]).float(),
            node("b", "Tanh", &["a:0"]).float(),
            node("looked_at", "HistogramSummary", &["a", "b"]).float(),
            node("checked", "Assert", &["b", "a"]),
            node("init", "NoOp", &["^b"]),
            list("left", &[1]),
            node("c", "Exp", &["a"]).float(),
        ]
    };
    let expect = ["x:0 f32[1, 4]", "b:0 f32[1, 4]", "c:0 f32[1, 4]"];
    assert_eq!(ports(&read(nodes()).unwrap()), expect);
    // The name of a node stands for its first result, as an input and as an output.
    let part = cut(nodes(), &["a"], &["c"], &[]).unwrap();
    assert_eq!(ports(&part), ["a:0 f32[1, 4]", "c:0 f32[1, 4]"]);
}

#[test]
fn placeholders_that_no_output_needs_are_no_inputs() {
    let nodes = vec![
        placeholder("x", Some(&[4])),
        placeholder("rate", None),
        node("y", "Relu", &["x"]).float(),
        node("kept", "ScalarSummary", &["rate", "rate"]).float(),
    ];
    assert_eq!(ports(&read(nodes).unwrap()), ["x:0 f32[4]", "y:0 f32[4]"]);
}

#[test]
fn what_only_runs_before_decides_nothing() {
    let nodes = vec![
        placeholder("x", Some(&[4])),
        node("state", "AssignAdd", &["v", "x"]),
        node("v", "VariableV2", &[]),
        node("y", "Relu", &["x", "^state"]).float(),
    ];
    assert_eq!(
        ports(&cut(nodes, &[], &["y"], &[]).unwrap()),
        ["x:0 f32[4]", "y:0 f32[4]"]
    );
}

#[test]
fn constants_stay_in_the_file_and_layers_keep_their_names() {
    let weights: Vec<f32> = (0..12).map(|n| n as f32).collect();
    let nodes = vec![
        placeholder("x", Some(&[2, 4])),
        floats("w", &[4, 3], &weights),
        node("w/read", "Identity", &["w"]).float(),
        node("dense/MatMul", "MatMul", &["x", "w/read"]).float(),
        node("dense/Relu", "Relu", &["dense/MatMul"]).float(),
    ];
    let bytes = Bytes::from(encoded(nodes));
    let range = bytes.as_ptr_range();
    let module = Model::decode(bytes).unwrap().read(&ReadOptions::default()).unwrap();
    let [tensor] = module.pool() else { panic!("one tensor") };
    assert!(range.contains(&tensor.bytes().as_ptr()), "a tensor was copied");
    let names: Vec<&str> = module.main().nodes().map(|(_, node)| module.name(node.name)).collect();
    assert_eq!(names, ["dense/MatMul", "dense/Relu"]);
}

#[test]
fn channels_last_become_transposes_around_a_convolution() {
    let nodes = |format: &'static str| {
        vec![
            placeholder("x", Some(&[1, 4, 4, 4])),
            floats("w", &[1, 1, 4, 2], &[0.5; 8]),
            node("conv", "Conv2D", &["x", "w"])
                .float()
                .with("strides", super::make::ints(&[1, 1, 1, 1]))
                .with("padding", super::make::text("SAME"))
                .with("data_format", super::make::text(format)),
        ]
    };
    let last = read(nodes("NHWC")).unwrap();
    assert_eq!(ops(&last), "transpose conv transpose");
    assert_eq!(ports(&last)[1], "conv:0 f32[1, 4, 4, 2]");
    let first = read(nodes("NCHW")).unwrap();
    assert_eq!(ops(&first), "conv");
    assert_eq!(ports(&first)[1], "conv:0 f32[1, 2, 4, 4]");
}

#[test]
fn what_is_made_beside_an_operator_has_no_name_of_the_file() {
    let conv = |name, x| {
        node(name, "Conv2D", &[x, "w"])
            .float()
            .with("strides", super::make::ints(&[1, 1, 1, 1]))
            .with("padding", super::make::text("SAME"))
    };
    let nodes = vec![
        placeholder("x", Some(&[1, 4, 4, 2])),
        floats("w", &[1, 1, 2, 2], &[0.5; 4]),
        conv("Conv2D", "x"),
        node("Relu6", "Relu6", &["Conv2D"]).float(),
        conv("Conv2D_1", "Relu6"),
        // These operators only move elements: the last of the ops that they become gets the operator's name.
        list("block", &[2, 2]),
        list("pads", &[0, 0, 0, 0]),
        node("pads/shaped", "Reshape", &["pads", "block"]),
        node("blocks", "SpaceToBatchND", &["Conv2D_1", "block", "pads/shaped"]).float(),
    ];
    let module = read(nodes).unwrap();
    let graph = module.main();
    let names = |name: &str| -> Vec<&str> {
        let nodes = graph.nodes().filter(|(_, node)| module.name(node.sources[0]) == name);
        nodes.map(|(_, node)| module.name(node.name)).collect()
    };
    for (layer, op) in [("Conv2D", "conv"), ("Conv2D_1", "conv"), ("Relu6", "clip")] {
        let own = graph
            .nodes()
            .find(|(_, node)| module.name(node.name) == layer)
            .unwrap()
            .1;
        assert_eq!(own.op.term().name(), op);
    }
    assert_eq!(names("Conv2D"), ["Conv2D:transpose", "Conv2D", "Conv2D:transpose_1"]);
    assert_eq!(
        names("Conv2D_1"),
        ["Conv2D_1:transpose", "Conv2D_1", "Conv2D_1:transpose_1"]
    );
    assert_eq!(names("blocks").last(), Some(&"blocks"));
    assert_eq!(ports(&module)[1], "blocks:0 f32[4, 2, 2, 2]");
}

#[test]
fn all_that_is_not_known_is_told_at_once_with_a_way_around() {
    let nodes = vec![
        placeholder("x", Some(&[4])),
        node("a", "Lgamma", &["x"]).float(),
        node("b", "Digamma", &["a"]).float(),
        node("y", "Relu", &["b"]).float(),
    ];
    let text = error(read(nodes));
    assert!(text.contains("2 node(s)"), "{text}");
    let way = "`a` (Lgamma): the operator is not known; it and `b` can be computed elsewhere by beginning the graph behind them, \
               with `inputs = [\"b:0\"]`";
    assert!(text.contains(way), "{text}");
    assert!(text.ends_with("`b` (Digamma): the operator is not known"), "{text}");
}

#[test]
fn an_attribute_that_is_not_known_is_refused() {
    let nodes = || vec![placeholder("x", Some(&[4])), node("y", "Relu", &["x"]).float()];
    let mut with = nodes();
    with[1] = with[1].clone().with("_kept", Value::Int(1));
    assert!(read(with).is_ok());
    let mut with = nodes();
    with[1] = with[1].clone().with("ceiling", Value::Int(1));
    let text = error(read(with));
    assert!(text.contains("its attribute `ceiling` is not known"), "{text}");
    let mut with = nodes();
    with[1] = node("y", "LeakyRelu", &["x"]).float().with("alpha", Value::Int(1));
    let text = error(read(with));
    assert!(text.contains("attribute `alpha` is of type int, not float"), "{text}");
}

#[test]
fn variables_say_how_to_freeze_the_graph() {
    for (make, op) in [("VarHandleOp", "ReadVariableOp"), ("VariableV2", "Identity")] {
        let nodes = vec![
            placeholder("x", Some(&[1, 4])),
            node("v", make, &[]),
            node("v/read", op, &["v"]),
            node("y", "MatMul", &["x", "v/read"]).float(),
        ];
        let text = error(read(nodes));
        assert!(text.contains(&format!("`v` ({make})")), "{text}");
        assert!(text.contains("convert_variables_to_constants_v2"), "{text}");
        assert!(text.contains("freeze_graph"), "{text}");
    }
}

/// The operators of usual networks for images, sounds and texts, in frozen graphs, and the operators that tools for
/// chips name in their fusion patterns.
const USUAL: &str = "
    Identity Conv2D Conv3D DepthwiseConv2dNative Conv2DBackpropInput BiasAdd Add AddV2 Sub Mul Neg Maximum Minimum Pow Square
    SquaredDifference Sqrt Rsqrt RealDiv Relu Relu6 LeakyRelu Elu Selu Sigmoid Tanh Softplus Softmax LogSoftmax MatMul
    BatchMatMul BatchMatMulV2 FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 AvgPool MaxPool AvgPool3D MaxPool3D Mean Sum Max
    Reshape Squeeze ExpandDims Transpose Pad PadV2 MirrorPad Concat ConcatV2 Split SplitV StridedSlice Slice Pack Unpack Shape
    BatchToSpaceND SpaceToBatchND DepthToSpace SpaceToDepth ResizeBilinear ResizeNearestNeighbor ResizeBicubic ArgMax Cast
    Gather GatherV2 Tile Fill Range FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel StopGradient";

#[test]
fn the_operators_of_usual_networks_are_read() {
    let known = crate::ops::operators();
    let missing: Vec<&str> = USUAL.split_whitespace().filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn audio_is_refused_with_the_cut_behind_it() {
    let nodes = || {
        vec![
            placeholder("wav", None),
            node("sound", "DecodeWav", &["wav"]),
            node("spectrum", "AudioSpectrogram", &["sound"]),
            node("features", "Mfcc", &["spectrum", "sound:1"]).with("dct_coefficient_count", Value::Int(10)),
            list("shape", &[-1, 490]),
            node("y", "Reshape", &["features", "shape"]).float(),
        ]
    };
    let text = error(read(nodes()));
    for op in ["DecodeWav", "AudioSpectrogram", "Mfcc"] {
        assert!(text.contains(&format!("({op})")), "{text}");
    }
    let way = "it, `spectrum` and `features` can be computed elsewhere by beginning the graph behind them, with \
               `inputs = [\"features:0\"]`";
    assert_eq!(text.matches(way).count(), 1, "{text}");
    let module = cut(
        nodes(),
        &["features:0"],
        &[],
        &[("features:0.0", 1), ("features:0.1", 49)],
    )
    .unwrap();
    assert_eq!(ports(&module), ["features:0 f32[1, 49, 10]", "y:0 f32[1, 490]"]);
}

#[test]
fn calls_of_functions_are_refused_by_name() {
    let mut def = graph(vec![
        placeholder("x", Some(&[4])),
        node("call", "my_function", &["x"]),
        node("other", "StatefulPartitionedCall", &["x"]),
    ]);
    def.library = Some(FunctionDefLibrary {
        function: vec![FunctionDef {
            signature: Some(OpDef {
                name: "my_function".into(),
            }),
        }],
    });
    let model = Model::decode(def.encode_to_vec().into()).unwrap();
    let text = error(model.read(&ReadOptions::default()));
    assert_eq!(text.matches("calls of functions are not read").count(), 2, "{text}");
}

#[test]
fn a_normalization_that_is_being_trained_is_refused_by_name() {
    let mut nodes = vec![placeholder("x", Some(&[1, 2, 2, 3]))];
    for name in ["scale", "offset", "mean", "variance"] {
        nodes.push(floats(name, &[3], &[1.0; 3]));
    }
    let operands = ["x", "scale", "offset", "mean", "variance"];
    nodes.push(
        node("bn", "FusedBatchNormV3", &operands)
            .float()
            .with("is_training", Value::Flag(true)),
    );
    let text = error(read(nodes.clone()));
    assert!(
        text.contains("`bn` (FusedBatchNormV3): it is in training mode"),
        "{text}"
    );
    // If the attribute is absent, it counts as true.
    nodes[5].attr.remove("is_training");
    assert!(error(read(nodes)).contains("it is in training mode"));
}

#[test]
fn a_graph_that_contradicts_itself_is_not_valid() {
    let x = || placeholder("x", Some(&[4]));
    for (nodes, expect) in [
        (vec![x(), x()], "two nodes are called `x`"),
        (
            vec![x(), node("y", "Relu", &["z"]).float()],
            "`y` takes `z`, and nothing is called that",
        ),
        (vec![x(), node("y", "Relu", &["x", "^z"]).float()], "`y` takes `z`"),
        (vec![node("", "Relu", &[])], "node 0 (Relu) has no name"),
        (
            vec![
                node("a", "Relu", &["b"]).float(),
                node("b", "Relu", &["a"]).float(),
                node("y", "Relu", &["b"]).float(),
            ],
            "lies on a cycle",
        ),
        (vec![list("k", &[1])], "it has no outputs"),
        (
            vec![x(), truth("t", true), node("y", "Add", &["x", "t:1"]).float()],
            "a constant has one result",
        ),
    ] {
        let text = error(read(nodes));
        assert!(text.contains(expect), "{text} instead of {expect}");
    }
    assert!(model(vec![]).is_err());
    assert!(Model::decode(Bytes::from_static(b"\xff\xff")).is_err());
}
