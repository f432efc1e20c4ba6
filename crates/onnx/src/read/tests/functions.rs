//! Functions that a model defines.

use super::make::*;
use super::*;
use crate::proto::*;

/// `Name(x, y) -> z` of the domain `own`.
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
