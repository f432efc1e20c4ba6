//! Tests whole graphs: constants, cuts, dimensions, and contradictions.

use super::make::*;
use super::*;
use crate::proto::*;
use strait_core::TensorData;

#[test]
fn a_reshape_by_computed_shape_is_static() {
    // The nodes that exporters write for x.reshape(x.shape[0], -1): Shape, Gather, Unsqueeze, Concat.
    let scalar = |name: &str, value: i64| constant(name, &TensorData::scalar(value));
    let nodes = vec![
        node("shape = Shape(x)", vec![]),
        node("batch = Gather(shape, zero)", vec![]),
        node("batches = Unsqueeze(batch)", vec![ints("axes", &[0])]),
        node("rest = Constant()", vec![ints("value_ints", &[-1])]),
        node("target = Concat(batches, rest)", vec![int("axis", 0)]),
        node("y = Reshape(x, target)", vec![]),
    ];
    let of = |input: &str| model(12, graph(&[input], vec![scalar("zero", 0)], nodes.clone(), &["y"]));
    let module = read(&of("x: f32[2,3,4]")).unwrap();
    assert_eq!(summary(&module), "reshape shape=[2,-1] -> f32[2,12]");
    assert!(module.pool().is_empty(), "shapes are not data");
    let error = read(&of("x: f32[N,3,4]")).unwrap_err().to_string();
    assert!(
        error.contains("dimension 0 of input `x` has no value: bind `N`"),
        "{error}"
    );
    let bound = read_with(&of("x: f32[N,3,4]"), &options(&[("N", 5)], &[], &[])).unwrap();
    assert_eq!(summary(&bound), "reshape shape=[5,-1] -> f32[5,12]");
}

#[test]
fn constants_come_from_nodes_and_from_inputs_of_old_files() {
    let tensor = TensorData::from_values(&[2], &[1f32, 2.0]).unwrap();
    let attribute = attribute("value", |a| {
        (a.kind, a.t) = (kind::TENSOR, Some(Box::new(constant("", &tensor))));
    });
    let nodes = vec![
        node("c = Constant()", vec![attribute]),
        node("s = Add(x, c)", vec![]),
        node("y = Mul(s, w)", vec![]),
    ];
    let mut old = model(
        7,
        graph(
            &["x: f32[2]", "w: f32[2]"],
            vec![numbers("w", &[3.0, 4.0]), numbers("unused", &[f32::NAN])],
            nodes,
            &["y"],
        ),
    );
    old.ir_version = 3;
    let module = read(&old).unwrap();
    assert_eq!(summary(&module), "add; mul a_zero=0 b_zero=0 -> f32[2]");
    assert_eq!(module.main().inputs().len(), 1);
    let values: Vec<Vec<f32>> = module.pool().iter().map(|t| t.to_f32().unwrap().into_owned()).collect();
    assert_eq!(values, [[1.0, 2.0], [3.0, 4.0]]);
}

#[test]
fn a_few_bytes_do_not_ask_for_many_large_constants() {
    let of = |count: usize| {
        let large = |i: usize| node(&format!("c{i} = ConstantOfShape(shape)"), vec![]);
        let sum = |i: usize| node(&format!("s{} = Add(s{i}, c{i})", i + 1), vec![]);
        let nodes = (0..count).flat_map(|i| [large(i), sum(i)]).collect();
        let output = format!("s{count}");
        let graph = graph(
            &["s0: f32[1048576]"],
            vec![list("shape", &[1 << 20])],
            nodes,
            &[&output],
        );
        read(&model(13, graph))
    };
    assert!(of(3).is_ok());
    let error = of(65).unwrap_err().to_string();
    assert!(error.contains("`c64`") && error.contains("too large"), "{error}");
}

#[test]
fn a_few_bytes_do_not_ask_for_much_work() {
    let of = |extent: i64, count: usize| {
        let mut nodes = vec![
            node(
                "c = ConstantOfShape(shape)",
                vec![attribute("value", |a| {
                    (a.kind, a.t) = (kind::TENSOR, Some(Box::new(numbers("", &[1.0]))));
                })],
            ),
            node("p0 = MatMul(c, c)", vec![]),
        ];
        nodes.extend((1..count).map(|i| node(&format!("p{i} = MatMul(p{}, c)", i - 1), vec![])));
        nodes.push(node(&format!("y = Add(x, p{})", count - 1), vec![]));
        let graph = graph(&["x: f32[1]"], vec![list("shape", &[extent, extent])], nodes, &["y"]);
        let module = read(&model(13, graph)).unwrap();
        module
            .main()
            .nodes()
            .filter(|(_, node)| matches!(node.op, Op::MatMul(_)))
            .count()
    };
    assert_eq!(of(8, 3), 0);
    // Each product takes 2³³ operations.
    assert_eq!(of(1024, 8), 8 - 1, "the first alone is computed");
}

#[test]
fn a_dropout_is_nothing_and_its_mask_is_made_where_it_is_used() {
    let of = |input: &str, output: &str| {
        let nodes = vec![node("y, mask = Dropout(x)", vec![])];
        read(&model(12, graph(&[input], vec![], nodes, &[output])))
    };
    assert_eq!(summary(&of("x: f32[2]", "y").unwrap()), "identity -> f32[2]");
    assert_eq!(summary(&of("x: f32[N]", "y").unwrap()), "identity -> f32[N]");
    let masked = of("x: f32[2]", "mask").unwrap();
    let output = masked.main().value(masked.main().outputs()[0]).unwrap();
    assert_eq!(output.ty.to_string(), "bool[2]");
    assert!(masked.pool().iter().any(|tensor| tensor.bytes()[..] == [1, 1]));
    assert!(of("x: f32[N]", "mask").is_err(), "the mask has an extent for each");
    let training = |ratio: f32| {
        let constants = vec![
            constant("ratio", &TensorData::scalar(ratio)),
            constant(
                "training",
                &TensorData::from_unpacked(strait_core::Elem::Bool, &[], vec![1].into()).unwrap(),
            ),
        ];
        let nodes = vec![node("y = Dropout(x, ratio, training)", vec![])];
        read(&model(13, graph(&["x: f32[2]"], constants, nodes, &["y"])))
    };
    assert_eq!(summary(&training(0.0).unwrap()), "identity -> f32[2]");
    assert!(
        training(0.5)
            .unwrap_err()
            .to_string()
            .contains("drops elements at random")
    );
}

#[test]
fn a_result_that_is_not_computed_is_refused_where_it_is_used() {
    let of = |output: &str| {
        let nodes = vec![node("y, at = BatchNormalization(x, c, c, c, c)", vec![])];
        read(&model(
            9,
            graph(&["x: f32[1,2,4]"], vec![weight("c", &[2])], nodes, &[output]),
        ))
    };
    assert!(of("y").is_ok());
    let error = of("at").unwrap_err().to_string();
    assert!(
        error.contains("result 1 of BatchNormalization is not computed"),
        "{error}"
    );
}

#[test]
fn everything_unknown_is_reported_at_once() {
    let mut custom = node("c = Fancy(b)", vec![]);
    (custom.domain, custom.name) = ("com.acme".into(), "third".into());
    let nodes = vec![
        node("a = Relu(x)", vec![]),
        node("b = StringConcat(a)", vec![]),
        custom,
        node("d = Conv(c, w)", vec![]),
        node("y = Pad(a)", vec![text("mode", "sideways")]),
        node("unneeded = Mystery(x)", vec![]),
    ];
    let error = read(&model(
        13,
        graph(&["x: f32[1]"], vec![weight("w", &[1, 1, 1])], nodes, &["d", "y"]),
    ))
    .unwrap_err();
    let ReadError::Unsupported(nodes) = &error else {
        panic!("{error}")
    };
    let found: Vec<_> = nodes.iter().map(|n| (n.node.as_str(), n.operator.as_str())).collect();
    assert_eq!(
        found,
        [
            ("b", "ai.onnx.StringConcat, operator set 13"),
            ("third", "com.acme.Fancy, no operator set"),
            ("y", "ai.onnx.Pad, operator set 13")
        ]
    );
}

#[test]
fn an_operator_that_is_not_known_is_named_with_its_domain_and_the_places_to_cut_at() {
    let of = |nodes: [(&str, &str); 3], declared: &[&str]| {
        let nodes = nodes.map(|(text, domain)| NodeProto {
            domain: domain.into(),
            ..node(text, vec![])
        });
        let mut graph = graph(&["x: f32[2]"], vec![], nodes.to_vec(), &["y"]);
        graph.value_info = declared.iter().map(|text| value(text)).collect();
        let mut model = model(13, graph);
        model.opset_import.push(OperatorSetIdProto {
            domain: "com.acme".into(),
            version: 3,
        });
        model
    };
    let told = |model: &ModelProto| read(model).unwrap_err().to_string();
    let between = [
        ("a = Relu(x)", ""),
        ("c = Fancy(a)", "com.acme"),
        ("y = Sigmoid(c)", ""),
    ];
    let model = of(between, &["c: f32[2]"]);
    let text = told(&model);
    let expect = "`c` (com.acme.Fancy, operator set 3): operators of the domain com.acme are not read; it can be computed \
                  elsewhere by ending the graph in front of it, with `outputs = [\"a\"]`, or beginning the graph behind it, with \
                  `inputs = [\"c\"]`";
    assert!(text.contains(expect), "{text}");
    // Both of the suggested cuts work.
    let cut =
        |inputs: &[&str], outputs: &[&str]| read_with(&model, &options(&[], inputs, outputs)).map(|m| summary(&m));
    assert_eq!(cut(&[], &["a"]).unwrap(), "relu -> f32[2]");
    assert_eq!(cut(&["c"], &[]).unwrap(), "unary function=sigmoid -> f32[2]");

    let text = told(&of(between, &[]));
    assert!(
        text.contains("which needs the type of `c` declared in the file"),
        "{text}"
    );
    let first = told(&of(
        [("a = Fancy(x)", "com.acme"), ("b = Relu(a)", ""), ("y = Relu(b)", "")],
        &["a: f32[2]"],
    ));
    assert!(
        first.ends_with("elsewhere by beginning the graph behind it, with `inputs = [\"a\"]`"),
        "{first}"
    );
    let last = told(&of(
        [
            ("a = Relu(x)", ""),
            ("b = Relu(a)", ""),
            ("y = Fancy(b, a)", "com.acme"),
        ],
        &[],
    ));
    assert!(
        last.ends_with("elsewhere by ending the graph in front of it, with `outputs = [\"b\", \"a\"]`"),
        "{last}"
    );
    // The same holds for an unknown operator of the standard domain.
    let text = told(&of(
        [("a = Relu(x)", ""), ("b = Fancy(a)", ""), ("y = Relu(b)", "")],
        &[],
    ));
    assert!(
        text.contains("(ai.onnx.Fancy, operator set 13): the operator is not known; it can be computed elsewhere by"),
        "{text}"
    );
}

#[test]
fn graphs_that_contradict_themselves_are_refused() {
    let relu = |text: &str| node(text, vec![]);
    let cases: Vec<(GraphProto, &str)> = vec![
        (
            graph(
                &["x: f32[2]"],
                vec![],
                vec![relu("a = Relu(b)"), relu("b = Relu(a)"), relu("y = Add(x, b)")],
                &["y"],
            ),
            "lies on a cycle",
        ),
        (
            graph(&["x: f32[2]"], vec![], vec![relu("y = Relu(nowhere)")], &["y"]),
            "the tensor `nowhere` is used, but nothing defines it",
        ),
        (
            graph(
                &["x: f32[2]"],
                vec![],
                vec![relu("y = Relu(x)"), relu("y = Relu(x)")],
                &["y"],
            ),
            "the tensor `y` is defined twice",
        ),
        (
            graph(&["x: f32[2]", "x: f32[2]"], vec![], vec![relu("y = Relu(x)")], &["y"]),
            "the tensor `x` is defined twice",
        ),
        (
            graph(
                &["x: f32[2]"],
                vec![weight("w", &[1]), weight("w", &[1])],
                vec![relu("y = Add(x, w)")],
                &["y"],
            ),
            "the tensor `w` is defined twice",
        ),
        (
            graph(&["x: f32[2]"], vec![], vec![relu("x = Relu(x)")], &["x"]),
            "the tensor `x` is defined twice",
        ),
        (
            graph(&["x: f32[2]"], vec![], vec![relu("y = Relu(x)")], &["z"]),
            "the tensor `z` is used, but nothing defines it",
        ),
        (
            graph(&["x: f32[2]"], vec![], vec![relu("y = Relu(x)")], &[]),
            "it has no outputs",
        ),
        (
            graph(&["x: f32[2]"], vec![], vec![relu("y = Relu(x)")], &["y: i8[2]"]),
            "output `y`: it is declared as i8, but is f32",
        ),
        (
            graph(
                &["x: f32[2]"],
                vec![weight("w", &[3])],
                vec![relu("y = Add(x, w)")],
                &["y"],
            ),
            "node `y` (ai.onnx.Add, operator set 13)",
        ),
        (
            graph(&["x: f32[2]"], vec![], vec![relu("y = Relu()")], &["y"]),
            "node `y`",
        ),
        (
            graph(
                &["x: f32[1099511627776,1099511627776]"],
                vec![],
                vec![relu("y = Relu(x)")],
                &["y"],
            ),
            "is past the limits of our tensors",
        ),
    ];
    for (graph, expect) in cases {
        let error = read(&model(13, graph)).map(|m| summary(&m)).unwrap_err().to_string();
        assert!(error.contains(expect), "expected {expect}\nfound    {error}");
    }
}

#[test]
fn nodes_may_stand_in_any_order() {
    let nodes = vec![node("y = Relu(a)", vec![]), node("a = Sigmoid(x)", vec![])];
    let module = read(&model(13, graph(&["x: f32[2]"], vec![], nodes, &["y"]))).unwrap();
    assert_eq!(summary(&module), "unary function=sigmoid; relu -> f32[2]");
}

#[test]
fn versions_outside_of_what_is_known_are_refused() {
    let of = |opset, ir| {
        let mut model = model(
            opset,
            graph(&["x: f32[2]"], vec![], vec![node("y = Relu(x)", vec![])], &["y"]),
        );
        model.ir_version = ir;
        read(&model).map_err(|e| e.to_string())
    };
    assert!(of(7, 3).is_ok() && of(28, 14).is_ok());
    assert_eq!(of(6, 3).unwrap_err(), "the model has operator set 6; 7 to 28 are read");
    assert_eq!(
        of(29, 8).unwrap_err(),
        "the model has operator set 29; 7 to 28 are read"
    );
    assert_eq!(of(13, 15).unwrap_err(), "the model has IR version 15; 3 to 14 are read");
}

#[test]
fn a_graph_is_cut_at_tensors_and_nodes() {
    let mut middle = node("b = Sigmoid(a)", vec![]);
    middle.name = "middle".into();
    // The operator that makes `a` is unknown, but the type of `a` is declared.
    let nodes = vec![
        node("a = Mystery(x)", vec![]),
        middle,
        node("c = Relu(b)", vec![]),
        node("y = Mystery(c)", vec![]),
    ];
    let mut graph = graph(&["x: f32[2]", "other: f32[1]"], vec![], nodes, &["y"]);
    graph.value_info = vec![value("a: f32[N,4]")];
    let model = model(13, graph);
    let cut = |inputs: &[&str], outputs: &[&str]| {
        let module = read_with(&model, &options(&[("N", 3)], inputs, outputs))?;
        let inputs: Vec<_> = module
            .main()
            .inputs()
            .iter()
            .map(|&i| module.name(module.main().value(i).unwrap().name).to_string())
            .collect();
        Ok::<_, ReadError>(format!("{} {}", inputs.join(","), summary(&module)))
    };
    assert_eq!(
        cut(&["a"], &["c"]).unwrap(),
        "a unary function=sigmoid; relu -> f32[3,4]"
    );
    assert_eq!(
        cut(&["middle"], &["middle"]).unwrap(),
        "a unary function=sigmoid -> f32[3,4]"
    );
    assert_eq!(
        cut(&["a"], &["b", "c"]).unwrap(),
        "a unary function=sigmoid; relu -> f32[3,4] f32[3,4]"
    );
    let refused = |inputs: &[&str], outputs: &[&str]| cut(inputs, outputs).unwrap_err().to_string();
    assert_eq!(
        refused(&[], &["midle"]),
        "output `midle` is not in the model; the nearest names are `middle`, `a`, `b`"
    );
    assert_eq!(
        refused(&["other"], &["c"]),
        "no output depends on the input `other`, at which the graph was to begin"
    );
    assert!(refused(&["other"], &["other", "c"]).contains("the outputs depend on the model's input `x` too"));
    assert_eq!(refused(&["a"], &["c", "c"]), "the output `c` is named twice");
    // The type of `b` is not declared, so it has to follow from the nodes before it.
    assert!(refused(&["b"], &["c"]).contains("Mystery"));
}

#[test]
fn the_type_of_a_cut_input_comes_from_above_it() {
    let nodes = vec![
        node("a = Concat(x, x)", vec![int("axis", 1)]),
        node("y = Relu(a)", vec![]),
    ];
    let model = model(13, graph(&["x: f32[N,4]"], vec![], nodes, &["y"]));
    let module = read_with(&model, &options(&[], &["a"], &[])).unwrap();
    assert_eq!(summary(&module), "relu -> f32[N,8]");
    assert_eq!(free_dimensions(&module)[0].name, "N");
}

#[test]
fn nodes_of_one_name_get_one_each_and_answer_for_the_name() {
    let mut nodes: Vec<NodeProto> = ["a = Relu(x)", "b = Relu(a)", "y = Relu(b)"]
        .map(|text| node(text, vec![]))
        .into();
    nodes[..2].iter_mut().for_each(|node| node.name = "same".into());
    nodes[2].name = "same_1".into();
    let module = read(&model(12, graph(&["x: f32[2]"], vec![], nodes, &["y"]))).unwrap();
    let nodes = module.main().nodes();
    let names: Vec<(&str, &str)> = nodes
        .map(|(_, node)| (module.name(node.name), module.name(node.sources[0])))
        .collect();
    assert_eq!(names, [("same", "same"), ("same:relu", "same"), ("same_1", "same_1")]);
}
