//! Writes graphs inside of nodes, and operands in the place of attributes. Tests what they compute when they are read
//! again, and the names in the file.

use super::{bytes, module};
use crate::Model;
use crate::proto::{GraphProto, ModelProto};
use crate::write::write;
use prost::Message;
use std::collections::BTreeSet;
use std::path::Path;
use strait_core::Module;
use strait_execute::{Tensor, reference};
use strait_import::{Decoded, ReadOptions};

/// The outputs of the module. Checks that the module gives the same outputs after it was written and read again.
fn both(text: &str, inputs: &[Tensor]) -> Vec<Tensor> {
    let own = module(text);
    strait_core::verifier::verify(&own).unwrap();
    let again = Model::decode(bytes(&own).into(), Path::new("")).unwrap();
    let again = again.read(&ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let [own, again] = [own, again].map(|module| run(&module, inputs));
    for (own, again) in own.iter().zip(&again) {
        assert_eq!((own.shape(), own.view().bytes()), (again.shape(), again.view().bytes()));
    }
    assert_eq!(own.len(), again.len());
    own
}

fn run(module: &Module, inputs: &[Tensor]) -> Vec<Tensor> {
    let views: Vec<_> = inputs.iter().map(Tensor::view).collect();
    reference::run(module, module.main, &views, &mut |_, _| {}).unwrap()
}

fn floats(values: &[f32]) -> Tensor {
    Tensor::from_values(&[values.len()], values).unwrap()
}

/// A loop that doubles a value as long as its largest element is below a limit, in at most `most` runs.
fn doubling(most: &str, trips: i64) -> String {
    format!(
        "strait 1 float main=@main
graph @body(%i: i64[], %c: bool[], %v: f32[3], %limit: f32[]) stage=float {{
  %w: f32[3] = add(%v, %v)
  %top: f32[] = reduce(%w) {{reduction=max, axes=[0], keep_dims=0}}
  %on: bool[] = compare(%top, %limit) {{relation=less}}
  return %on, %w, %top
}}
graph @main(%x: f32[3]) {{
  %limit: f32[] = reduce(%x) {{reduction=sum, axes=[0], keep_dims=0}}
  %y: f32[3], %all: f32[n] = loop @body({most}, _, %x, %limit) {{carried=1, trips={trips}}}
  return %y, %all
}}
data @two: i64[] = inline [2]
"
    )
}

#[test]
fn loops_run_as_often_when_they_come_back() {
    let x = || [floats(&[1.0, 2.0, 6.0])];
    let runs = |most, trips| both(&doubling(most, trips), &x())[1].shape()[0];
    // After one run, the largest element is 12, which is above the limit of 9.
    assert_eq!(runs("_", -1), 1);
    assert_eq!(runs("@two", -1), 1);
    // A loop with a fixed number of runs has no condition.
    let text = doubling("_", 4).replace("f32[n]", "f32[4]");
    let four = both(&text, &x());
    assert_eq!(four[1].values::<f32>().unwrap(), [12.0, 24.0, 48.0, 96.0]);
    assert_eq!(four[0].values::<f32>().unwrap(), [16.0, 32.0, 96.0]);
}

/// An `if` inside of a loop. It reads a value of the main graph through both nodes, and all three graphs have a value
/// with the same name.
const NESTED: &str = "strait 1 float main=@main
graph @then(%v: f32[3], %h: f32[3]) stage=float {
  %r: f32[3] = add(%v, %h)
  return %r
}
graph @else(%v: f32[3], %h: f32[3]) stage=float {
  %q: f32[3] = mul(%h, @c) {a_zero=0, b_zero=0}
  %r: f32[3] = sub(%v, %q)
  return %r
}
graph @body(%i: i64[], %c: bool[], %v: f32[3], %h: f32[3]) stage=float {
  %odd: bool[] = compare(@one, %i) {relation=less_or_equal}
  %r: f32[3] = if @then, @else(%odd, %v, %h)
  return %c, %r, %v
}
graph @main(%x: f32[3]) {
  %r: f32[3] = mul(%x, %x) {a_zero=0, b_zero=0}
  %y: f32[3], %all: f32[3,3] = loop @body(_, _, %x, %r) {carried=1, trips=3}
  return %y, %all
}
data @c: f32[3] = inline [0.5, 0.25, 2.0]
data @one: i64[] = inline [1]
";

#[test]
fn a_choice_inside_of_a_loop_comes_back() {
    let made = both(NESTED, &[floats(&[1.0, 2.0, -1.0])]);
    assert_eq!(made[0].values::<f32>().unwrap(), [2.5, 9.0, -1.0]);
}

/// Collects all names that a graph and its nested graphs define, and all names that are read but not defined.
fn names(graph: &GraphProto, around: &BTreeSet<String>, defined: &mut Vec<String>, unknown: &mut Vec<String>) {
    let mut own: Vec<String> = graph.input.iter().map(|input| input.name.clone()).collect();
    own.extend(graph.initializer.iter().map(|tensor| tensor.name.clone()));
    defined.extend(own.iter().cloned());
    let mut known = around.clone();
    known.extend(own);
    for node in &graph.node {
        let read = node
            .input
            .iter()
            .filter(|name| !name.is_empty() && !known.contains(*name));
        unknown.extend(read.cloned());
        for body in node.attribute.iter().filter_map(|attribute| attribute.g.as_deref()) {
            names(body, &known, defined, unknown);
        }
        defined.extend(node.output.iter().cloned());
        known.extend(node.output.iter().cloned());
    }
    let own = |name: &String| graph.node.iter().any(|node| node.output.contains(name));
    unknown.extend(graph.output.iter().map(|o| o.name.clone()).filter(|name| !own(name)));
}

#[test]
fn names_are_unique_over_all_graphs_and_captures_are_known_by_theirs() {
    let model = ModelProto::decode(bytes(&module(NESTED)).as_slice()).unwrap();
    let (mut defined, mut unknown) = (Vec::new(), Vec::new());
    names(&model.graph.unwrap(), &BTreeSet::new(), &mut defined, &mut unknown);
    assert_eq!(unknown, Vec::<String>::new());
    let unique: BTreeSet<&String> = defined.iter().collect();
    assert_eq!(unique.len(), defined.len(), "{defined:?}");
    assert!(
        ["r", "r_1", "r_2", "r_3"]
            .iter()
            .all(|name| defined.iter().any(|d| d == name)),
        "{defined:?}"
    );
}

#[test]
fn bodies_have_their_own_grids() {
    let text = "strait 1 annotated main=@main
graph @then(%v: f32[2]) stage=annotated {
  %q: i8[2] scale=0.5 zero=1 = quantize(%v) {to=i8, rounding=half_even, reciprocal=0}
  %r: f32[2] = dequantize(%q)
  return %r
}
graph @else(%v: f32[2]) stage=annotated {
  return %v
}
graph @main(%x: f32[2], %c: bool[]) {
  %y: f32[2] = if @then, @else(%c, %x)
  return %y
}
";
    let model = ModelProto::decode(bytes(&module(text)).as_slice()).unwrap();
    let graph = model.graph.unwrap();
    let bodies: Vec<&GraphProto> = (graph.node[0].attribute.iter())
        .filter_map(|a| a.g.as_deref())
        .collect();
    let nodes = |graph: &GraphProto| -> Vec<String> {
        let text =
            |n: &crate::proto::NodeProto| format!("{} = {}({})", n.output.join(", "), n.op_type, n.input.join(", "));
        graph.node.iter().map(text).collect()
    };
    assert_eq!(
        nodes(bodies[0]),
        [
            "q = QuantizeLinear(x, q_scale, q_zero_point)",
            "r = DequantizeLinear(q, q_scale, q_zero_point)"
        ]
    );
    let constants: Vec<&str> = bodies[0]
        .initializer
        .iter()
        .map(|tensor| tensor.name.as_str())
        .collect();
    assert_eq!(constants, ["q_scale", "q_zero_point"]);
    assert!(graph.initializer.is_empty());
    // An output of a graph must be the result of a node of this graph.
    assert_eq!(nodes(bodies[1]), ["x_1 = Identity(x)"]);
}

#[test]
fn bounds_of_a_slice_that_a_run_finds_come_back() {
    let text = "strait 1 float
graph @main(%x: f32[6], %from: i64[1], %to: i64[1]) {
  %y: f32[n] = slice(%x, %from, %to) {starts=[], ends=[], axes=[0], steps=[2]}
  return %y
}
";
    let at = |position: i64| Tensor::from_values(&[1], &[position]).unwrap();
    let x = floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let made = both(text, &[x, at(1), at(-1)]);
    assert_eq!(made[0].values::<f32>().unwrap(), [1.0, 3.0]);
}

#[test]
fn amounts_sizes_and_scales_that_a_run_finds_come_back() {
    let text = "strait 1 float
graph @main(%x: f32[4], %amounts: i64[2], %sizes: i64[1], %scales: f32[1]) {
  %a: f32[m] = pad(%x, %amounts) {amounts=[-9223372036854775808,-9223372036854775808], mode=reflect, value=0.0}
  %b: f32[n] = resize(%x, %sizes) {mode=linear, coordinate=half_pixel, nearest=floor, scales=[], sizes=[-1]}
  %c: f32[o] = resize(%x, %scales) {mode=linear, coordinate=half_pixel, nearest=floor, scales=[0.0], sizes=[]}
  return %a, %b, %c
}
";
    let list = |values: &[i64]| Tensor::from_values(&[values.len()], values).unwrap();
    let made = both(
        text,
        &[floats(&[1.0, 2.0, 3.0, 4.0]), list(&[2, 1]), list(&[2]), floats(&[1.5])],
    );
    assert_eq!(made[0].values::<f32>().unwrap(), [3.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0]);
    assert_eq!(made[1].values::<f32>().unwrap(), [1.5, 3.5]);
    assert_eq!(made[2].shape(), [6]);
}

#[test]
fn graphs_that_are_too_deep_for_a_decoder_are_refused() {
    let graphs = |count: usize| {
        let inner = |depth: usize| {
            format!(
                "graph @g{depth}(%v: f32[3], %c: bool[]) stage=float {{\n  %r: f32[3] = if @g{}, @g0(%c, %v, %c)\n  return %r\n}}\n",
                depth - 1
            )
        };
        let all: String = (1..count).map(inner).collect();
        format!(
            "strait 1 float main=@main\ngraph @g0(%v: f32[3], %c: bool[]) stage=float {{\n  %r: f32[3] = relu(%v)\n  return %r\n}}\n{all}\
             graph @main(%x: f32[3], %c: bool[]) {{\n  %y: f32[3] = if @g{}, @g0(%c, %x, %c)\n  return %y\n}}\n",
            count - 1
        )
    };
    let deepest = bytes(&module(&graphs(30)));
    assert!(ModelProto::decode(deepest.as_slice()).is_ok());
    let error = write(&module(&graphs(31)), &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("too many or too deep"), "{error}");
}
