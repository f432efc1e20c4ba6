//! Tests functions that a model defines.

use super::make::*;
use super::*;
use crate::proto::*;

/// A function of the domain `own`, from a text such as `Name(x, y) -> z`.
fn function(signature: &str, nodes: Vec<NodeProto>) -> FunctionProto {
    let (call, results) = signature.split_once(" -> ").unwrap();
    let (name, operands) = call.strip_suffix(')').unwrap().split_once('(').unwrap();
    let list = |names: &str| names.split(", ").map(Into::into).collect();
    FunctionProto {
        name: name.into(),
        input: list(operands),
        output: list(results),
        node: nodes,
        domain: "own".into(),
        ..FunctionProto::default()
    }
}

fn call(text: &str, attributes: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        domain: "own".into(),
        name: "call".into(),
        ..node(text, attributes)
    }
}

fn reference(name: &str, of: &str) -> AttributeProto {
    attribute(name, |a| (a.kind, a.ref_attr_name) = (kind::FLOAT, of.into()))
}

fn with(functions: Vec<FunctionProto>, opset: i64, nodes: Vec<NodeProto>) -> ModelProto {
    let own = OperatorSetIdProto {
        domain: "own".into(),
        version: 1,
    };
    let mut model = model(opset, graph(&["x: f32[4]"], vec![], nodes, &["y"]));
    model.opset_import.push(own);
    model.functions = functions;
    model
}

#[test]
fn calls_become_the_nodes_of_the_function() {
    let inner = vec![node("t = Relu(a)", vec![]), node("b = Sigmoid(t)", vec![])];
    let twice = vec![call("t = One(x)", vec![]), call("y = One(t)", vec![])];
    let module = read(&with(vec![function("One(a) -> b", inner)], 17, twice)).unwrap();
    assert_eq!(
        summary(&module),
        "relu; unary function=sigmoid; relu; unary function=sigmoid -> f32[4]"
    );
}

#[test]
fn attributes_are_the_callers_the_defaults_or_left_out() {
    let inner = || vec![node("b = LeakyRelu(a)", vec![reference("alpha", "slope")])];
    let found = |function: FunctionProto, attributes| {
        let model = with(vec![function], 17, vec![call("y = One(x)", attributes)]);
        summary(&read(&model).unwrap())
    };
    let plain = function("One(a) -> b", inner());
    let default = FunctionProto {
        attribute_proto: vec![float("slope", 0.25)],
        ..plain.clone()
    };
    assert_eq!(
        found(plain.clone(), vec![float("slope", 0.5)]),
        "leaky_relu alpha=0.5 -> f32[4]"
    );
    assert_eq!(found(default, vec![]), "leaky_relu alpha=0.25 -> f32[4]");
    assert_eq!(found(plain, vec![]), "leaky_relu alpha=0.01 -> f32[4]");
}

#[test]
fn a_function_has_an_operator_set_of_its_own() {
    let old = FunctionProto {
        opset_import: vec![OperatorSetIdProto {
            domain: String::new(),
            version: 10,
        }],
        ..function("One(a) -> b", vec![node("b = Clip(a)", vec![float("max", 6.0)])])
    };
    let model = with(vec![old.clone()], 17, vec![call("y = One(x)", vec![])]);
    assert_eq!(summary(&read(&model).unwrap()), "clip min=-inf max=6 -> f32[4]");
    let mut future = old;
    future.opset_import[0].version = 99;
    let error = Model::decode(
        with(vec![future], 17, vec![call("y = One(x)", vec![])])
            .encode_to_vec()
            .into(),
        Path::new(""),
    );
    assert!(error.unwrap_err().to_string().contains("operator set 99"));
}

#[test]
fn operands_that_are_left_out_and_results_that_are_operands() {
    let clip = function("One(a, low) -> b, a", vec![node("b = Clip(a, low)", vec![])]);
    let nodes = vec![call("t, s = One(x)", vec![]), node("y = Add(t, s)", vec![])];
    let module = read(&with(vec![clip], 17, nodes)).unwrap();
    assert_eq!(summary(&module), "clip min=-inf max=inf; identity; add -> f32[4]");
}

#[test]
fn functions_that_call_themselves_or_grow_without_end_are_refused() {
    let error = |functions| {
        let model = with(functions, 17, vec![call("y = F0(x)", vec![])]);
        let decoded = Model::decode(model.encode_to_vec().into(), Path::new(""));
        decoded.unwrap_err().to_string()
    };
    let itself = error(vec![function("F0(a) -> b", vec![call("b = F0(a)", vec![])])]);
    assert!(itself.contains("one that calls itself"), "{itself}");
    // 2^30 calls of a function without nodes.
    let doubling = (0..30).map(|n| {
        let nodes = if n == 29 {
            vec![]
        } else {
            vec![call(&format!("t = F{}(a)", n + 1), vec![]); 2]
        };
        function(&format!("F{n}(a) -> b"), nodes)
    });
    let doubling = error(doubling.collect());
    assert!(doubling.contains("its functions become more than"), "{doubling}");
    let wide = error(vec![FunctionProto {
        input: vec![],
        ..function("F0(a) -> b", vec![])
    }]);
    assert!(wide.contains("more operands or results than the function F0"), "{wide}");
}

fn graph_attribute(name: &str, graph: GraphProto) -> AttributeProto {
    attribute(name, |a| (a.kind, a.g) = (kind::GRAPH, Some(Box::new(graph))))
}

/// A node `result = If(condition)`. Each branch consists of the given nodes and returns `r`.
fn choice(text: &str, then: Vec<NodeProto>, other: Vec<NodeProto>) -> NodeProto {
    let branch = |nodes| graph(&[], vec![], nodes, &["r"]);
    let attributes = [("then_branch", then), ("else_branch", other)];
    let attributes = attributes.map(|(name, nodes)| graph_attribute(name, branch(nodes)));
    node(text, attributes.into())
}

/// The results of a model for x = −2, 3: first if c is true, then if c is false.
fn answers(model: &ModelProto) -> [Vec<f32>; 2] {
    let module = read(model).unwrap_or_else(|error| panic!("{error}"));
    verify(&module).unwrap();
    [1u8, 0].map(|truth| {
        let x = strait_execute::Tensor::from_values(&[2], &[-2f32, 3.0]).unwrap();
        let c = strait_execute::Tensor::from_bytes(strait_core::Elem::Bool, &[], &[truth]).unwrap();
        let made = strait_execute::reference::run(&module, module.main, &[x.view(), c.view()], &mut |_, _| {});
        made.unwrap()[0].values::<f32>().unwrap().to_vec()
    })
}

fn choosing(functions: Vec<FunctionProto>, nodes: Vec<NodeProto>) -> ModelProto {
    let mut model = with(functions, 17, vec![]);
    model.graph = Some(graph(&["x: f32[2]", "c: bool[]"], vec![], nodes, &["y"]));
    model
}

#[test]
fn calls_inside_of_graphs_of_nodes_become_nodes() {
    // In old operator sets, Clip has its bounds as attributes. That is so in nested graphs, too.
    let old = |max: f32| vec![node("b = Clip(a)", vec![float("max", max)])];
    let named = |name: &str, max: f32| FunctionProto {
        opset_import: vec![OperatorSetIdProto {
            domain: String::new(),
            version: 10,
        }],
        ..function(&format!("{name}(a) -> b"), old(max))
    };
    let then = vec![call("r = One(x)", vec![])];
    let other = vec![call("t = Two(x)", vec![]), node("r = Clip(t)", vec![])];
    let model = choosing(
        vec![named("One", 2.0), named("Two", 1.0)],
        vec![choice("y = If(c)", then, other)],
    );
    assert_eq!(answers(&model), [vec![-2.0, 2.0], vec![-2.0, 1.0]]);
}

#[test]
fn graphs_inside_of_functions_read_what_the_caller_gives() {
    // The branch has a tensor of its own with the name x, which the caller has, too. `alpha` refers to an attribute of
    // the function.
    let then = vec![
        node("x = LeakyRelu(a)", vec![reference("alpha", "slope")]),
        node("r = Add(x, t)", vec![]),
    ];
    let other = vec![choice(
        "r = If(k)",
        vec![node("r = Neg(t)", vec![])],
        vec![call("r = Half(t)", vec![])],
    )];
    let inner = vec![node("t = Add(a, a)", vec![]), choice("b = If(k)", then, other)];
    let half = vec![
        node("h = Constant()", vec![float("value_float", 0.5)]),
        node("b = Mul(a, h)", vec![]),
    ];
    let functions = vec![function("One(a, k) -> b", inner), function("Half(a) -> b", half)];
    let slope = || vec![float("slope", 0.5)];
    let nodes = vec![call("z = One(x, c)", slope()), call("y = One(z, c)", slope())];
    // If c is true, leaky(x) + 2x is computed twice; otherwise x.
    let made = answers(&choosing(functions, nodes));
    assert_eq!(made, [vec![-12.5, 27.0], vec![-2.0, 3.0]]);
}

#[test]
fn functions_do_not_put_graphs_too_deep_inside_of_each_other() {
    // Each function chooses between the next one and its operand, two graphs deep.
    let keep = || vec![node("r = Identity(a)", vec![])];
    let functions = (0..20).map(|n| {
        let next = vec![call(&format!("r = F{}(a, k)", n + 1), vec![])];
        let inner = match n {
            19 => node("b = Relu(a)", vec![]),
            _ => choice("b = If(k)", vec![choice("r = If(k)", next, keep())], keep()),
        };
        function(&format!("F{n}(a, k) -> b"), vec![inner])
    });
    let model = choosing(functions.collect(), vec![call("y = F0(x, c)", vec![])]);
    let error = Model::decode(model.encode_to_vec().into(), Path::new(""))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("more than 33 graphs are inside of each other"),
        "{error}"
    );
}

/// A graph that fails in every run if x has two elements.
fn wide() -> Vec<NodeProto> {
    let shape = attribute("value", |a| {
        (a.kind, a.t) = (kind::TENSOR, Some(Box::new(weight("", &[3, 2]))));
    });
    vec![node("w = Constant()", vec![shape]), node("r = MatMul(x, w)", vec![])]
}

fn narrow() -> Vec<NodeProto> {
    vec![node("r = Relu(x)", vec![])]
}

/// A model for several sampling rates has a graph for each rate. If an extent is bound, only one of the graphs fits it.
#[test]
fn a_branch_that_no_run_gets_through_is_not_read() {
    let ops = |model: &ModelProto| summary(&read(model).unwrap_or_else(|error| panic!("{error}")));
    for nodes in [
        choice("y = If(c)", narrow(), wide()),
        choice("y = If(c)", wide(), narrow()),
    ] {
        let found = ops(&choosing(vec![], vec![nodes]));
        assert!(found.contains("relu") && !found.contains("if"), "{found}");
    }
    // The inner node has only graphs that fail in every run, so the outer branch also fails.
    let nested = vec![choice("r = If(c)", wide(), wide())];
    let found = ops(&choosing(vec![], vec![choice("y = If(c)", nested, narrow())]));
    assert!(found.contains("relu") && !found.contains("if"), "{found}");
    // If both branches fail in every run, the error is that of the first.
    let both = choosing(vec![], vec![choice("y = If(c)", wide(), wide())]);
    let error = read(&both).unwrap_err().to_string();
    assert!(error.contains("its then_branch: inside of it, node `r`"), "{error}");
    assert!(error.contains("the inner dimensions differ: 2 and 3"), "{error}");
    // An extent that is only known at run time may be the right one.
    let mut open = choosing(vec![], vec![choice("y = If(c)", narrow(), wide())]);
    open.graph.as_mut().unwrap().input[0] = value("x: f32[n]");
    let found = ops(&open);
    assert!(found.contains("if"), "{found}");
}

#[test]
fn branches_that_no_run_gets_through_are_told() {
    let told = |nodes: Vec<NodeProto>| {
        let model = decoded(&choosing(vec![], nodes));
        model.read_single(&options(&[], &[], &[])).unwrap().1.dropped
    };
    let dropped = |name: &str, branch: &str| {
        let why = "inside of it, node `r` (ai.onnx.MatMul, operator set 17): the inner dimensions differ: 2 and 3";
        format!("node `{name}` (If): its {branch}: {why}")
    };
    let first = choice("t = If(c)", wide(), narrow());
    let second = choice("y = If(c)", vec![node("r = Relu(t)", vec![])], wide());
    assert_eq!(
        told(vec![first, second]),
        [dropped("t", "then_branch"), dropped("y", "else_branch")]
    );
    // The dropped branch is inside of a graph that is read, which is inlined or is one of two branches.
    let inner = || vec![choice("r = If(c)", narrow(), wide())];
    for (other, outer) in [(narrow(), None), (wide(), Some(dropped("y", "else_branch")))] {
        let found = told(vec![choice("y = If(c)", inner(), other)]);
        let expected: Vec<String> = outer.into_iter().chain([dropped("r", "else_branch")]).collect();
        assert_eq!(found, expected);
    }
    // The dropped branch is inside of another branch that is left out. Only the outer branch is reported.
    let ends = vec![
        choice("t = If(c)", narrow(), wide()),
        wide().remove(0),
        node("r = MatMul(t, w)", vec![]),
    ];
    assert_eq!(
        told(vec![choice("y = If(c)", ends, narrow())]),
        [dropped("y", "then_branch")]
    );
    // If the condition is known when the model is read, nothing is reported.
    let truth = attribute("value", |a| {
        let held = TensorProto {
            data_type: 9,
            int32_data: vec![1],
            ..TensorProto::default()
        };
        (a.kind, a.t) = (kind::TENSOR, Some(Box::new(held)));
    });
    let decided = vec![
        node("k = Constant()", vec![truth]),
        choice("y = If(k)", narrow(), wide()),
    ];
    assert_eq!(told(decided), [""; 0]);
}

#[test]
fn what_is_not_read_is_named_with_its_branch() {
    let branch = |operator: &str| vec![node(&format!("r = {operator}(x)"), vec![])];
    let model = choosing(vec![], vec![choice("y = If(c)", branch("Relu"), branch("Unheard"))]);
    let error = read(&model).unwrap_err().to_string();
    assert!(error.contains("Unheard"), "{error}");
    let lower = vec![node("r = Transpose(x)", vec![ints("perm", &[0, 2])])];
    let model = choosing(vec![], vec![choice("y = If(c)", branch("Relu"), lower)]);
    let error = read(&model).unwrap_err().to_string();
    assert!(error.contains("its else_branch: inside of it, node `r`"), "{error}");
}
