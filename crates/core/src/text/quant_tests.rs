use super::*;
use crate::quant::{CodesOrigin, Port, State};
use crate::{ConfigId, NodeId};

/// A module with every kind of config, spelled as it is printed.
const CONFIGS: &str = r#"strait 1 annotated
graph @main(%x: f32[1,4]) {
  %c: f32[1,4] = gemm(%x, @w, @b) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %"/relu:0": f32[1,4] = relu(%c) name="/relu"
  %n: f32[1,4] = add(%"/relu:0", @k)
  %h: f32[1,4] = softmax(%n) {axis=-1}
  return %h
}
quant @main {
  input 0: i8[-128,127] asymmetric half_even overlapped c operand 0
  c operand 0: i8[-128,127] asymmetric half_even activated scale=0.5 zero=3 observed
  c operand 1: i4[-8,7] symmetric power_of_two channel=0 half_even baked scale=[0.5,0.25,1.0,2.0] zero=0 axis=0 given given_codes=@"w:codes"
  c operand 2: i32[-2147483648,2147483647] symmetric channel=0 half_even passive_baked product c operand 0, c operand 1 codes=@"b:codes"
  c result 0: i8[-128,127] asymmetric half_even overlapped "/relu" result 0
  "/relu" operand 0: i8[-128,127] asymmetric half_even float overlapped "/relu" result 0
  "/relu" result 0: i8[-128,127] asymmetric half_even activated scale=0.1 zero=-128 rule
  n operand 0: i8[-128,127] asymmetric half_even activated scale=0.1 zero=-128 given
  n operand 1: i8[-128,127] asymmetric half_even activated scale=0.1 zero=-128 given given_codes=@"k:codes"
  n result 0: i8[-128,127] asymmetric half_even initial
  h operand 0: u16[0,65535] asymmetric dynamic half_up passive same c result 0
  h result 0: e4m3 axis=1 block=2 half_even initial
  output 0: i8[-128,127] asymmetric half_even float initial
}
data @w: f32[4,4] = splat 1.0
data @b: f32[4] = splat 0.0
data @k: f32[4] = splat 1.0
data @"w:codes": i4[4,4] = splat 7
data @"b:codes": i32[4] = splat -9
data @"k:codes": i8[4] = splat 0
"#;

#[test]
fn configs_read_and_print_as_themselves() {
    let module = parse(CONFIGS).unwrap();
    assert_eq!(print(&module, &PrintOptions::default()), CONFIGS);
    let table = &module.main().quant;
    let state = |node, port| table.state(table.id(NodeId::new(node), port).unwrap());
    assert_eq!(state(0, Port::Operand(2)), Some(State::PassiveBaked));
    assert_eq!(state(1, Port::Operand(0)), Some(State::Float));
    assert_eq!(
        table.params_of(NodeId::new(3), Port::Operand(0)).unwrap().as_tensor(),
        Some((0.1, -128))
    );
    assert_eq!(table.root(ConfigId::new(4)), ConfigId::new(6));
    let codes = |node, index| {
        table
            .codes(table.id(NodeId::new(node), Port::Operand(index)).unwrap())
            .unwrap()
    };
    assert_eq!(
        [codes(0, 1), codes(0, 2), codes(2, 1)].map(|codes| codes.origin),
        [CodesOrigin::Given, CodesOrigin::Rounded, CodesOrigin::Given]
    );
    assert_eq!(table.baked(NodeId::new(0), Port::Operand(2)), Some(codes(0, 2).data));
    assert_eq!(table.baked(NodeId::new(2), Port::Operand(1)), None);
}

#[test]
fn codes_that_were_chosen_read_and_print_as_themselves() {
    let text = r#"strait 1 annotated
graph @main(%x: f32[1,4]) {
  %c: f32[1,4] = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  return %c
}
quant @main {
  input 0: i8[-128,127] asymmetric half_even float initial
  c operand 1: i8[-127,127] symmetric half_even baked scale=0.5 zero=0 observed optimised_codes=@"w:codes"
  output 0: i8[-128,127] asymmetric half_even float initial
}
data @w: f32[4,4] = splat 1.0
data @"w:codes": i8[4,4] = splat 2
"#;
    let module = parse(text).unwrap();
    assert_eq!(print(&module, &PrintOptions::default()), text);
    let table = &module.main().quant;
    let id = table.id(NodeId::new(0), Port::Operand(1)).unwrap();
    assert_eq!(table.codes(id).unwrap().origin, CodesOrigin::Optimised);
    let encoded = crate::bytes::encode(&module).unwrap();
    let decoded = crate::bytes::decode(&encoded.ir, &|at| Some(encoded.tensors.get(at)?.bytes().clone())).unwrap();
    assert_eq!(print(&decoded, &PrintOptions::default()), text);
}

#[test]
fn a_node_may_be_called_like_the_border() {
    let text = "strait 1 annotated
graph @g(%x: f32[2]) {
  %a: f32[2] = relu(%x) name=\"input\"
  return %a
}
quant @g {
  input 0: i8[-8,7] symmetric floor overlapped input operand 0
  input operand 0: i8[-8,7] symmetric floor activated scale=1.0 zero=0 observed
  input result 0: i8[-8,7] symmetric floor activated scale=0.5 zero=0 observed
  output 0: i8[-8,7] symmetric floor overlapped input result 0
}
";
    let module = parse(text).unwrap();
    assert_eq!(print(&module, &PrintOptions::default()), text);
    let table = &module.main().quant;
    let scale = |node, port| table.params_of(node, port).unwrap().as_tensor().unwrap().0;
    assert_eq!(
        [Port::Input(0), Port::Output(0)].map(|port| scale(NodeId::OUTSIDE, port)),
        [1.0, 0.5]
    );
    assert_eq!(table.id(NodeId::OUTSIDE, Port::Input(1)), None);
    assert_eq!(table.id(NodeId::OUTSIDE, Port::Operand(0)), None);
}

#[test]
fn nodes_of_one_name_are_numbered_and_any_order_of_lines_is_the_same_table() {
    let graph = "graph @g(%x: f32[2]) {\n  %a: f32[2] = relu(%x)\n  %b: f32[2] = relu(%a) name=\"a\"\n  return %b\n}\n";
    let lines = [
        "  a operand 0: i8[-8,7] symmetric floor overlapped a~1 operand 0\n",
        "  a~1 operand 0: i8[-8,7] symmetric floor activated scale=1.0 zero=0 coarsened\n",
    ];
    let text = |lines: [&str; 2]| format!("strait 1 annotated\n{graph}quant @g {{\n{}}}\n", lines.concat());
    let [first, second] = lines;
    let module = parse(&text([second, first])).unwrap();
    assert_eq!(print(&module, &PrintOptions::default()), text([first, second]));
}

#[test]
fn an_error_in_a_config_says_where_and_which() {
    let cases = [
        ("a", "5:2: expected `operand` or `result`, found `}`"),
        ("a operand 0: i8[-8,7]", "expected `symmetric` or `asymmetric`"),
        (
            "a operand 0: f32[-8,7] symmetric floor initial",
            "5:14: f32 is not a type of codes",
        ),
        (
            "a operand 0: i8[-8,700] symmetric floor initial",
            "5:14: [-8, 700] is not a range of i8",
        ),
        ("a operand 0: e9m3 floor initial", "5:14: expected a type of codes"),
        ("a operand 0: e04m3 floor initial", "5:14: expected a type of codes"),
        (
            "a operand 0: e4m3 axis=0 floor initial",
            "expected `block=` behind an axis",
        ),
        (
            "a operand 0: e4m3 axis=0 block=0 floor initial",
            "5:32: expected a size of blocks, found `0`",
        ),
        (
            "a operand 0: e4m3 channel=256 floor initial",
            "5:27: expected an axis, found `256`",
        ),
        (
            "a operand 0: e4m3 flat initial",
            "5:19: expected a rounding: floor, ceil",
        ),
        (
            "a operand 0: e4m3 floor passive_initial",
            "5:25: expected a state: initial, activated",
        ),
        ("a operand 0: e4m3 floor activated", "expected the grid of the config"),
        (
            "a operand 0: e4m3 floor activated scale=1.0 zero=0",
            "expected an origin: observed, rule",
        ),
        (
            "a operand 0: e4m3 floor passive",
            "expected `same`, `product` or `shifted`",
        ),
        (
            "a operand 0: e4m3 floor baked scale=1.0 zero=0 given",
            "expected `codes=`, `optimised_codes=` or `given_codes=` of a baked config",
        ),
        (
            "a operand 0: e4m3 floor activated scale=1.0 zero=0 given given_codes=@k",
            "`@k` is not defined as a constant",
        ),
        (
            "a operand 4294967296: e4m3 floor initial",
            "5:1: `a operand 4294967296` is not defined in the graph",
        ),
        (
            "a operand 1: e4m3 floor initial",
            "5:1: `a operand 1` is not defined in the graph",
        ),
        (
            "b operand 0: e4m3 floor initial",
            "5:1: `b operand 0` is not defined in the graph",
        ),
        (
            "a operand 0: e4m3 floor overlapped a result 0",
            "5:36: `a result 0` is not defined as a config",
        ),
        (
            "a operand 0: e4m3 floor passive same a operand 0",
            "5:1: its grid would rest on itself",
        ),
        (
            "a operand 0: e4m3 floor initial a operand 0: e4m3 floor initial",
            "5:33: operand 0 of node0 has a config already",
        ),
        (
            "a operand 0: e4m3 floor initial a result 0: e5m2 floor overlapped a operand 0",
            "5:33: result 0 of node0 in the state initial cannot become overlapped: its dominator has another type",
        ),
        (
            "a operand 0: e4m3 floor initial } quant @g { ",
            "expected one block `quant` for each graph, found a second one",
        ),
        ("} quant @h { ", "`@h` is not defined as a graph"),
    ];
    for (line, expected) in cases {
        let text = format!(
            "strait 1 annotated\ngraph @g(%x: f32[2]) {{ %a: f32[2] = relu(%x) return %a }}\nquant\n@g {{\n{line}}}"
        );
        let error = parse(&text).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{line}: {error}");
    }
}
