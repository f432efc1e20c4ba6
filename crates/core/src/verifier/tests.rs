use super::findings::{NODE_WIDTH, cut};
use super::*;
use crate::graph::Graph;
use crate::ids::{Link, Use};
use crate::text::parse;
use crate::{DataId, Def, Elem, Granularity, Module, NodeId, Policy, Port, Scheme, ValueId};
use strait_requantize::Rounding;

fn invariant(module: &Module) -> Option<u8> {
    verify(module).err().map(|found| found.shown[0].invariant)
}

/// A text with one graph, whose input is `%x`, followed by `data`.
fn graph(stage: &str, x: &str, body: &str, data: &str) -> String {
    format!("strait 1 {stage} graph @g(%x: {x}) {{ {body} }} {data}")
}

const CONV: &str = "stride=[1,1], dilation=[1,1], groups=1";
const GEMM: &str = "{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
const WIDE: &str = "{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0, accumulator=i64}";

/// The configs of an input and an output that stay float.
const BORDER: &str = "input 0: i8[-128,127] asymmetric half_even float initial
    output 0: i8[-128,127] asymmetric half_even float initial";

#[test]
fn a_broken_text_breaks_the_invariant_it_should() {
    let float = |x: &str, body: &str| graph("float", x, body, "");
    let integer = |x: &str, body: &str| graph("integer", x, body, "data @w: i8[2,2] scale=1.0 zero=0 = splat 1");
    let requantize = |form: &str| {
        let body = format!("%y: i8[4,2] scale=1.0 zero=0 = requantize(%x) {{form={form}, axis=1}} return %y");
        integer("i32[4,2]", &body)
    };
    let fused = |result: &str, clauses: &str| {
        integer(
            "i8[4,2]",
            &format!("%y: {result}[4,2] scale=1.0 zero=0 = gemm(%x, @w) {GEMM} {clauses} return %y"),
        )
    };
    let conv = |x: &str, pads: u8, value: i32| {
        let body = format!(
            "%y: i32[1,1,{0},{0}] scale=1.0 zero=0 = conv(%x, @k) {{{CONV}, pad=[{pads},{pads},{pads},{pads}], pad_value={value}}} return %y",
            1 + 2 * pads
        );
        graph("integer", x, &body, "data @k: i8[1,1,1,1] = splat 1")
    };
    let border = format!("quant @g {{ {BORDER} }}");
    // A matrix product with a config for only one operand.
    let alone = |stage: &str, port: &str| {
        let body = format!("%y: f32[2,2] = gemm(%x, @w) {GEMM} return %y");
        let config = format!("{port}: i8[-127,127] symmetric half_even activated scale=1.0 zero=0 observed");
        graph(
            stage,
            "f32[2,2]",
            &body,
            &format!("quant @g {{ {BORDER} {config} }} data @w: f32[2,2] = splat 1.0"),
        )
    };
    // A form with two channels, which an operand with this shape and these values selects.
    let picked = |shape: &str, values: &str, shift: &str| {
        let body = format!(
            "%y: i8[1,2,2,2] scale=1.0 zero=0 = requantize(%x, @p) {{form={{arith_folded shift={shift} rounding=floor out=i8}}, axis=0}} return %y"
        );
        graph(
            "integer",
            "i32[1,2,2,2]",
            &body,
            &format!("data @p: {shape} = {values}"),
        )
    };
    let pool = |fused: &str| {
        let body = format!(
            "%y: {}[1,2,2,2] scale=1.0 zero=0 = sum_pool(%x, @p) {{size=[1,1], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0, pad_value=0}} {fused} return %y",
            if fused.is_empty() { "i32" } else { "i8" }
        );
        graph("integer", "i8[1,2,2,2]", &body, "data @p: i32[1,2] = splat 1")
    };
    let weights = |grid: &str, zero: &str| {
        let attributes = GEMM.replace('}', &format!(", {zero}}}"));
        let body = format!("%y: i32[4,2] scale=1.0 zero=0 = gemm(%x, @w) {attributes} return %y");
        graph(
            "integer",
            "i8[4,2] scale=1.0 zero=0",
            &body,
            &format!("data @w: i8[2,2] {grid} = splat 1"),
        )
    };
    // The channels lie along axis 1 of [N, C, spatial…], and not along the last axis.
    let max_pool = |shift: &str| {
        let body = format!(
            "%y: i8[1,3,2,2] scale=1.0 zero=0 = max_pool(%x) {{size=[1,1], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0}} fused={{arith_folded shift={shift} rounding=floor out=i8}} return %y"
        );
        graph("integer", "i32[1,3,2,2] scale=1.0 zero=0", &body, "")
    };
    let cases = [
        ("a call that calls itself", Some(2), float("f32[2]", "%y: f32[2] = call @g(%x) return %y")),
        ("another shape", Some(3), float("f32[2]", "%y: f32[3] = relu(%x) return %y")),
        ("operands that do not fit", Some(3), float("f32[2,3]", "%y: f32[2,3] = gemm(%x, %x) {transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0} return %y")),
        ("too many operands", Some(3), float("f32[2]", "%y: f32[2] = relu(%x, %x) return %y")),
        ("a tensor past the limits", Some(3), float("f32[1048576,1048577]", "return %x")),
        ("a call with other operands", Some(3), "strait 1 float graph @g(%x: f32[2]) { %y: f32[2] = call @h() return %y } graph @h(%x: f32[2]) { return %x }".into()),
        ("legal forms", None, requantize("{arith_folded shift=[1,2] rounding=floor out=i8}")),
        ("a shift that is too large", Some(5), requantize("{arith_folded shift=63 rounding=floor out=i8}")),
        ("channels that differ", Some(3), requantize("{arith_folded shift=[1,2,3] rounding=floor out=i8}")),
        ("a legal fusion", None, fused("i8", "fused={arith_folded shift=[1,2] rounding=floor out=i8} clamp=[0,127]")),
        ("fused channels that differ", Some(5), fused("i8", "fused={arith_folded shift=[1,2,3,4] rounding=floor out=i8}")),
        ("channels of a max pool", None, max_pool("[1,2,3]")),
        ("columns of a max pool as its channels", Some(5), max_pool("[1,2]")),
        ("channels fused on no axis", Some(5), integer("i32[4,2]", "%y: i8[4,2] scale=1.0 zero=0 = add(%x, %x) fused={arith_folded shift=[1,2] rounding=floor out=i8} return %y")),
        ("picked channels", None, picked("i32[2,1]", "splat 1", "[1,2]")),
        ("a picked channel that is not there", Some(5), picked("i32[2,1]", "splat 2", "[1,2]")),
        ("a picked channel below zero", Some(5), picked("i32[1]", "splat -1", "[1,2]")),
        ("channels picked of a form without", Some(5), picked("i32[2,1]", "splat 0", "1")),
        ("channels picked for another shape", Some(3), picked("i32[3]", "splat 0", "[1,2]")),
        ("channels picked for more axes", Some(3), picked("i32[1,1,1,1,1]", "splat 0", "[1,2]")),
        ("channels picked by another type", Some(3), picked("i8[2]", "splat 0", "[1,2]")),
        ("channels picked at run time", Some(5), integer("i32[2,2]", "%y: i8[2,2] scale=1.0 zero=0 = requantize(%x, %x) {form={arith_folded shift=[1,2] rounding=floor out=i8}, axis=1} return %y")),
        ("channels picked for a fused form", None, pool("fused={arith_folded shift=[1,2] rounding=floor out=i8}")),
        ("channels picked for no fused form", Some(5), pool("")),
        ("a clamp outside the type", Some(5), fused("i8", "fused={arith_folded shift=1 rounding=floor out=i8} clamp=[0,128]")),
        ("a clamp in the wrong order", Some(5), fused("i8", "fused={arith_folded shift=1 rounding=floor out=i8} clamp=[1,0]")),
        ("fused into what is no accumulator", Some(5), integer("i8[2] scale=1.0 zero=0", "%y: i8[2] scale=1.0 zero=0 = identity(%x) fused={arith_folded shift=1 rounding=floor out=i8} return %y")),
        ("a scale of zero", Some(6), integer("i8[2] scale=0.0 zero=0", "return %x")),
        ("a scale that is no number", Some(6), integer("i8[2] scale=nan(0x7fc00000) zero=0", "return %x")),
        ("a zero point outside the type", Some(6), integer("i8[2] scale=1.0 zero=128", "return %x")),
        ("channels of a grid that differ", Some(6), integer("i8[2,3] scale=[1.0,1.0] zero=0 axis=1", "return %x")),
        ("channels without an axis", Some(6), integer("i8[2,2] scale=[1.0,1.0] zero=0", "return %x")),
        ("a grid on truth values", Some(6), integer("bool[2] scale=1.0 zero=0", "return %x")),
        ("padding with what is no code", Some(7), conv("i8[1,1,1,1]", 0, 128)),
        ("padding floats with a code", Some(7), graph("float", "f32[1,1,1,1]", &format!("%y: f32[1,1,1,1] = conv(%x, %x) {{{CONV}, pad=[0,0,0,0], pad_value=1}} return %y"), "")),
        ("zero points of a product", Some(7), integer("i8[2,2] scale=1.0 zero=0", "%y: i32[2,2] scale=1.0 zero=0 = matmul(%x, @w) {a_zero=0, b_zero=-129} return %y")),
        ("a zero point of no weight", Some(7), weights("", "weight_zero=128")),
        ("a zero point of a real weight", Some(7), float("f32[2,2]", &format!("%y: f32[2,2] = gemm(%x, %x) {} return %y", GEMM.replace('}', ", weight_zero=1}")))),
        ("the zero point of a grid of weights", None, weights("scale=1.0 zero=3", "weight_zero=3")),
        ("the zero points of a grid of weights", None, weights("scale=[1.0,1.0] zero=[3,-4] axis=0", "weight_zero=[3,-4]")),
        ("another zero point than that of the grid", Some(15), weights("scale=1.0 zero=3", "weight_zero=0")),
        ("another zero point than that of a channel", Some(15), weights("scale=[1.0,1.0] zero=[3,-4] axis=0", "weight_zero=3")),
        ("a foreign node before export", Some(8), float("f32[2]", "%y: f32[2] = foreign(%x) {domain=d, name=n} return %y")),
        ("a foreign node in export", None, graph("export", "f32[2]", "%y: f32[2] = foreign(%x) {domain=d, name=n} return %y", "")),
        ("codes in the float stage", Some(9), float("i8[2]", "%y: i8[2] = clamp(%x) {min=0, max=1} return %y")),
        ("an operand without a config", Some(10), graph("annotated", "f32[2]", "%y: f32[2] = relu(%x) return %y", &border)),
        ("an operand on the host without a config", None, graph("annotated", "f32[2]", "%y: f32[2] = relu(%x) host=[a,b] return %y", &border)),
        ("a border without configs", Some(23), graph("annotated", "f32[2]", "%y: f32[2] = relu(%x) host=[a,b] return %y", "")),
        ("a border of no floats", None, graph("annotated", "i64[2]", "return %x", "")),
        ("a weight-only product", None, alone("annotated", "y operand 1")),
        ("an operand with a config beside weights that have none", Some(10), alone("annotated", "y operand 0")),
        ("weights that a dequantize makes", None, graph("integer", "f32[2,2]", &format!("%d: f32[2,2] = dequantize(@w) %y: f32[2,2] = gemm(%x, %d) {GEMM} return %y"), "data @w: i8[2,2] scale=1.0 zero=0 = splat 1")),
        ("weights that are floats", Some(11), graph("integer", "f32[2,2]", &format!("%y: f32[2,2] = gemm(%x, @w) {GEMM} return %y"), "data @w: f32[2,2] = splat 1.0")),
        ("weights that are codes of a run", Some(11), graph("integer", "i8[2,2] scale=1.0 zero=0", &format!("%d: f32[2,2] = dequantize(%x) %y: f32[2,2] = gemm(%d, %d) {GEMM} return %y"), "")),
        ("floats on the accelerator", Some(11), integer("f32[2]", "%y: f32[2] = identity(%x) return %y")),
        ("floats on the host", None, integer("f32[2]", "%y: f32[2] = relu(%x) host=[a,b] return %y")),
        ("codes on the host", Some(12), integer("i8[2] scale=1.0 zero=0", "%y: i8[2] = identity(%x) host=[a,b] return %y")),
        ("codes without a grid are dequantized", Some(13), integer("i8[2]", "%y: f32[2] = dequantize(%x) return %y")),
        ("codes without a grid are made", Some(13), integer("f32[2]", "%y: i8[2] = quantize(%x) {to=i8, rounding=half_even, reciprocal=0} return")),
        ("codes without a grid leave the graph", Some(13), integer("i8[2]", "return %x")),
        ("an accumulator of i64 without a grid", Some(13), integer("i8[2,2]", &format!("%y: i64[2,2] = gemm(%x, @w) {WIDE} return"))),
        ("an accumulator of i64 that is shifted to", Some(13), integer("i16[2]", "%y: i64[2] = shift_left(%x) {zero=0, bits=40, accumulator=i64} return")),
        ("an accumulator of i64", None, integer("i8[2,2]", &format!("%y: i64[2,2] scale=1.0 zero=0 = gemm(%x, @w) {WIDE} return %y"))),
        ("accumulators of i64 added, one sum without a grid", Some(13), integer("i64[2] scale=1.0 zero=0", "%y: i64[2] = add(%x, %x) return")),
        ("accumulators of i64 dequantized", None, integer("i64[2] scale=1.0 zero=0", "%y: f32[2] = dequantize(%x) return %y")),
        ("shapes dequantized", Some(13), integer("i64[2]", "%y: f32[2] = dequantize(%x) return %y")),
        ("a function of real numbers on accumulators of i64", Some(14), integer("i64[2] scale=1.0 zero=0", "%y: i64[2] scale=1.0 zero=0 = relu(%x) return %y")),
        ("shapes and indices", None, integer("i64[2]", "%y: i64[2] = add(%x, %x) return %y")),
        ("the boundary", None, integer("f32[2]", "%q: i8[2] scale=0.5 zero=1 = quantize(%x) {to=i8, rounding=half_even, reciprocal=0} %y: f32[2] = dequantize(%q) return %y, %q")),
        ("a function of real numbers on codes", Some(14), integer("i8[2] scale=1.0 zero=0", "%y: i8[2] scale=1.0 zero=0 = relu(%x) return %y")),
        ("padding with real zero", None, conv("i8[1,1,1,1] scale=1.0 zero=-3", 1, -3)),
        ("padding with another code", Some(15), conv("i8[1,1,1,1] scale=1.0 zero=-3", 1, 0)),
    ];
    for (what, expect, text) in cases {
        let module = parse(&text).unwrap_or_else(|error| panic!("{what}: {error} in {text}"));
        assert_eq!(invariant(&module), expect, "{what}: {:?} in {text}", verify(&module));
    }
}

/// x → relu → y → relu → z, and w = x + x.
fn chain() -> Module {
    let body = "%y: f32[2] = relu(%x) %z: f32[2] = relu(%y) %w: f32[2] = add(%x, @c) return %z, %w";
    let module = parse(&graph("float", "f32[2]", body, "data @c: f32[2] = splat 1")).unwrap();
    assert_eq!(verify(&module), Ok(()));
    module
}

#[test]
fn a_broken_graph_breaks_the_invariant_it_should() {
    let node = NodeId::new;
    let value = ValueId::new;
    // The values are: 0 is x, 1 is y, 2 is z, 3 is c, 4 is w. The nodes are: 0 and 1 are the relus, 2 is the addition.
    let breaks: [(&str, u8, fn(&mut Graph)); 10] = [
        ("a result that belongs to another node", 1, |g| {
            g.values[1].as_mut().unwrap().def = Def::Node(NodeId::new(1), 0);
        }),
        ("a value that no node makes", 1, |g| {
            g.nodes[1].as_mut().unwrap().outputs.clear();
        }),
        ("an operand that was removed", 1, |g| g.values[3] = None),
        ("an operand that the use list lacks", 1, |g| {
            g.values[3].as_mut().unwrap().first_use = None;
        }),
        ("a use list that names another value's operand", 1, |g| {
            let at = Use {
                node: NodeId::new(1),
                operand: 0,
            };
            g.values[3].as_mut().unwrap().first_use = Some(at);
        }),
        ("a use list that runs in a circle", 1, |g| {
            let at = Use {
                node: NodeId::new(0),
                operand: 0,
            };
            g.nodes[0].as_mut().unwrap().links[0] = Link {
                previous: None,
                next: Some(at),
            };
        }),
        ("a link backwards that is wrong", 1, |g| {
            let at = Use {
                node: NodeId::new(2),
                operand: 1,
            };
            g.nodes[0].as_mut().unwrap().links[0].previous = Some(at);
        }),
        ("an input that is a constant", 4, |g| g.inputs[0] = ValueId::new(3)),
        ("an output that does not know it", 4, |g| {
            g.values[2].as_mut().unwrap().output_positions.clear();
        }),
        ("an output at another position", 4, |g| g.outputs.swap(0, 1)),
    ];
    assert_eq!(chain().main().node(node(2)).unwrap().inputs[1], Some(value(3)));
    for (what, expect, damage) in breaks {
        let mut module = chain();
        damage(module.main_mut());
        assert_eq!(invariant(&module), Some(expect), "{what}: {:?}", verify(&module));
    }
}

#[test]
fn a_cycle_and_a_constant_of_another_type_are_found() {
    let mut module = chain();
    let at = Use {
        node: NodeId::new(0),
        operand: 0,
    };
    module.main_mut().redirect(at, ValueId::new(2));
    assert_eq!(invariant(&module), Some(2));
    let mut module = chain();
    module.main_mut().values[3].as_mut().unwrap().def = Def::Data(DataId::new(1));
    assert_eq!(invariant(&module), Some(3));
    let mut module = chain();
    module.graphs[0].set_stage(crate::Stage::Integer);
    assert_eq!(invariant(&module), Some(11));
}

#[test]
fn configs_satisfy_the_annotated_stage() {
    let mut module = parse(&graph(
        "annotated",
        "f32[2]",
        "%y: f32[2] = relu(%x) return %y",
        &format!("quant @g {{ {BORDER} }}"),
    ))
    .unwrap();
    let policy = Policy::linear(true, Granularity::Tensor);
    let scheme = Scheme::integers(policy, Elem::I8, [-128, 127], Rounding::HalfEven).unwrap();
    let table = &mut module.main_mut().quant;
    table.add(NodeId::new(0), Port::Operand(0), scheme);
    assert_eq!(verify(&module), Ok(()));
}

#[test]
fn a_violation_names_graph_node_and_types() {
    let module = parse(&graph("float", "f32[N,2]", "%y: f32[N,3] = relu(%x) return %y", "")).unwrap();
    assert_eq!(
        verify(&module).unwrap_err().to_string(),
        "invariant 3 does not hold: g: y (relu): inferred f32[N,2], found f32[N,3]\n  %y: f32[N,3] = relu(%x)"
    );
}

#[test]
fn two_values_of_one_name_are_found() {
    let mut module = chain();
    let taken = module.main().value(ValueId::new(0)).unwrap().name;
    module.main_mut().values[2].as_mut().unwrap().name = taken;
    assert_eq!(invariant(&module), Some(16));
}

#[test]
fn two_nodes_of_one_name_are_found() {
    let mut module = chain();
    let taken = module.main().node(NodeId::new(0)).unwrap().name;
    module.main_mut().nodes[1].as_mut().unwrap().name = taken;
    assert_eq!(invariant(&module), Some(16));
}

#[test]
fn every_violation_is_told_and_very_many_are_counted() {
    let wrong = |count: usize| -> Violations {
        let body: String = (0..count).map(|n| format!("%n{n}: f32[3] = relu(%x)\n")).collect();
        let module = parse(&graph("float", "f32[2]", &format!("{body} return %n0"), "")).unwrap();
        verify(&module).unwrap_err()
    };
    let two = wrong(2);
    assert_eq!((two.shown.len(), two.more), (2, 0));
    assert_eq!(two.shown[1].node.as_deref(), Some("%n1: f32[3] = relu(%x)"));
    assert_eq!(two.to_string().lines().count(), 4);
    let many = wrong(MOST_SHOWN + 7);
    assert_eq!((many.shown.len(), many.more), (MOST_SHOWN, 7));
    assert!(many.to_string().ends_with("\nand 7 more"));
    let long = cut("é".repeat(NODE_WIDTH + 1));
    assert_eq!(long.chars().count(), NODE_WIDTH + 1);
    assert!(long.ends_with('…'));
}

#[test]
fn the_cost_is_linear_in_the_uses_of_one_value() {
    // One value has 50 000 users. Searching a list for each of them would take minutes.
    let body: String = (0..50_000).map(|n| format!("%n{n}: f32[2] = relu(%x)\n")).collect();
    let module = parse(&graph("float", "f32[2]", &format!("{body} return %n1"), "")).unwrap();
    let start = std::time::Instant::now();
    assert_eq!(verify(&module), Ok(()));
    assert!(start.elapsed().as_secs() < 5);
}
