//! Tests patterns on graphs with a few nodes.

use super::Pattern::{Any, Constant, OneOf, Product, Reshaped, Through};
use super::{Pattern, Slot, op};
use crate::matching::GraphNode;
use crate::miss::Miss;
use strait_core::text::parse;
use strait_core::{Module, Term};

const X: Slot = Slot(0);
const C: Slot = Slot(1);
const INNER: Slot = Slot(2);

/// Matches the pattern at the node that makes `anchor`. Returns the names of the values in the slots of the match, or
/// the reason why there is no match.
fn matched(pattern: &'static Pattern, body: &str, anchor: &str) -> Result<Vec<String>, String> {
    let constants = "data @c: f32[2] = inline [1.0, 2.0]\ndata @d: f32[2] = inline [3.0, 4.0]\n";
    let module: Module = parse(&format!("strait 1 float\ngraph @main{body}\n{constants}")).unwrap();
    let graph = module.graph(module.main).unwrap();
    let (at, _) = graph
        .nodes()
        .find(|(_, node)| module.name(node.name) == anchor)
        .unwrap();
    let site = GraphNode::new(&module, module.main, at).unwrap();
    let name = |value| module.name(graph.value(value).unwrap().name).to_owned();
    match pattern.at(&site) {
        Ok(found) => Ok([X, C, INNER]
            .into_iter()
            .filter_map(|slot| found.value(slot))
            .map(name)
            .collect()),
        Err(Miss::Refused(reason)) => Err(reason.to_string()),
        Err(_) => Err("no match".into()),
    }
}

const PRODUCT: Pattern = op(&[Term::Mul], &[Any(X), Constant(C)]).keep(INNER);
const SUM: Pattern = op(&[Term::Add], &[PRODUCT, Any(X)]);

#[test]
fn operands_of_what_commutes_match_in_both_orders_and_a_slot_is_one_value() {
    for sum in ["add(%m, %x)", "add(%x, %m)"] {
        for product in ["mul(%x, @c)", "mul(@c, %x)"] {
            let body = format!(
                "(%x: f32[2]) {{\n %m: f32[2] = {product} {{a_zero=0, b_zero=0}}\n %s: f32[2] = {sum}\n return %s\n}}"
            );
            assert_eq!(matched(&SUM, &body, "s").unwrap(), ["x", "c", "m"]);
        }
    }
    let other = "(%x: f32[2], %y: f32[2]) {\n %m: f32[2] = mul(%x, @c) {a_zero=0, b_zero=0}\n %s: f32[2] = add(%m, %y)\n return %s\n}";
    assert_eq!(matched(&SUM, other, "s").unwrap_err(), "no match");
    const QUOTIENT: Pattern = op(&[Term::Div], &[Any(X), Constant(C)]);
    let turned = "(%x: f32[2]) {\n %q: f32[2] = div(@c, %x)\n return %q\n}";
    assert_eq!(matched(&QUOTIENT, turned, "q").unwrap_err(), "no match");
}

#[test]
fn a_choice_that_the_rest_does_not_fit_is_taken_back() {
    // With the operands of the addition in their first order, x is bound to the wrong value. This fails only when the
    // pattern requires x a second time.
    const TWO: Pattern = op(
        &[Term::Add],
        &[op(&[Term::Mul], &[Any(X), Any(C)]), op(&[Term::Sub], &[Any(C), Any(X)])],
    );
    let body = "(%x: f32[2], %y: f32[2]) {\n %m: f32[2] = mul(%x, %y) {a_zero=0, b_zero=0}\n %d: f32[2] = sub(%x, %y)\n %s: f32[2] = add(%d, %m)\n return %s\n}";
    assert_eq!(matched(&TWO, body, "s").unwrap(), ["y", "x"]);
    const EITHER: Pattern = op(&[Term::Add], &[OneOf(&[Any(X), op(&[Term::Relu], &[Any(X)])]), Any(X)]);
    let body = "(%x: f32[2]) {\n %r: f32[2] = relu(%x)\n %s: f32[2] = add(%r, %x)\n return %s\n}";
    assert_eq!(matched(&EITHER, body, "s").unwrap(), ["x"]);
}

#[test]
fn a_node_that_others_read_is_a_near_miss_unless_it_is_shared() {
    const SHARED: Pattern = op(&[Term::Add], &[PRODUCT.shared(), Any(X)]);
    let body = |more: &str, results: &str| {
        format!(
            "(%x: f32[2]) {{\n %m: f32[2] = mul(%x, @c) {{a_zero=0, b_zero=0}}\n %s: f32[2] = add(%m, %x)\n{more} return {results}\n}}"
        )
    };
    let read = body(" %r: f32[2] = relu(%m)\n", "%s, %r");
    let output = body("", "%s, %m");
    let told = |body: &str| matched(&SUM, body, "s").unwrap_err();
    assert_eq!(told(&read), "the result of `m` is used elsewhere too [several-uses]");
    assert_eq!(
        told(&output),
        "the result of `m` is an output of the graph too [several-uses]"
    );
    for body in [read, output] {
        assert_eq!(matched(&SHARED, &body, "s").unwrap(), ["x", "c", "m"]);
    }
    // Both reads of the inner value are part of the match.
    const SQUARE: Pattern = op(&[Term::Mul], &[op(&[Term::Relu], &[Any(X)]).keep(INNER), Any(INNER)]);
    let body = "(%x: f32[2]) {\n %r: f32[2] = relu(%x)\n %m: f32[2] = mul(%r, %r) {a_zero=0, b_zero=0}\n return %m\n}";
    assert_eq!(matched(&SQUARE, body, "m").unwrap(), ["x", "r"]);
}

#[test]
fn identities_and_casts_between_floats_are_looked_through() {
    const BEHIND: Pattern = op(
        &[Term::Relu],
        &[Through(&op(&[Term::Mul], &[Any(X), Through(&Constant(C))]))],
    );
    let body = |cast: &str, more: &str, results: &str| {
        format!(
            "(%x: f32[2]) {{\n %i: f32[2] = identity(@c)\n %m: f32[2] = mul(%x, %i) {{a_zero=0, b_zero=0}}\n \
             %a: {cast}[2] = cast(%m) {{to={cast}}}\n %b: f32[2] = cast(%a) {{to=f32}}\n{more} %r: f32[2] = relu(%b)\n \
             return {results}\n}}"
        )
    };
    assert_eq!(matched(&BEHIND, &body("f64", "", "%r"), "r").unwrap(), ["x", "c"]);
    assert_eq!(matched(&BEHIND, &body("i32", "", "%r"), "r").unwrap_err(), "no match");
    let read = body("f64", " %o: f64[2] = identity(%a)\n", "%r, %o");
    assert_eq!(
        matched(&BEHIND, &read, "r").unwrap_err(),
        "the result of `m` is used elsewhere too [several-uses]"
    );
}

#[test]
fn a_product_is_met_in_every_order_and_nesting() {
    const PARTS: Pattern = Product(&[
        Any(X),
        Any(X),
        Constant(C),
        op(&[Term::Relu], &[Any(X)]).shared().keep(INNER),
    ]);
    let factors = ["%x", "%x", "@c", "%r"];
    let mul = |name: &str, a: &str, b: &str| format!(" %{name}: f32[2] = mul({a}, {b}) {{a_zero=0, b_zero=0}}\n");
    let body =
        |products: &str| format!("(%x: f32[2], %y: f32[2]) {{\n %r: f32[2] = relu(%x)\n{products} return %m, %p\n}}");
    let mut met = 0;
    for order in (0..256).map(|code| [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6]) {
        let mut sorted = order;
        sorted.sort_unstable();
        if sorted != [0, 1, 2, 3] {
            continue;
        }
        let [a, b, c, d] = order.map(|index| factors[index]);
        // The multiplications are nested in one chain, or as two pairs.
        let line = [mul("p", a, b), mul("q", "%p", c), mul("m", d, "%q")].concat();
        let pairs = [mul("p", a, b), mul("q", c, d), mul("m", "%p", "%q")].concat();
        for products in [line, pairs] {
            assert_eq!(matched(&PARTS, &body(&products), "m").unwrap(), ["x", "c", "r"]);
            met += 1;
        }
    }
    assert_eq!(met, 48);
    // These have one factor too many, one too few, or another variable.
    let more = [
        mul("p", "%x", "%x"),
        mul("q", "%p", "@c"),
        mul("s", "%q", "%r"),
        mul("m", "%s", "%x"),
    ]
    .concat();
    let less = [mul("p", "%x", "@c"), mul("m", "%p", "%r")].concat();
    let other = [mul("p", "%x", "%y"), mul("q", "%p", "@c"), mul("m", "%q", "%r")].concat();
    for products in [more, less, other] {
        assert_eq!(matched(&PARTS, &body(&products), "m").unwrap_err(), "no match");
    }
    assert_eq!((PARTS.anchors(), PARTS.depth()), (vec![Term::Mul], 4));
}

#[test]
fn axes_of_extent_1_are_looked_through_and_others_are_not() {
    const BEHIND: Pattern = op(&[Term::Abs], &[Reshaped(&op(&[Term::Relu], &[Any(X)]))]);
    let body = |shape: &str, op: &str| {
        format!(
            "(%x: f32[2,3]) {{\n %r: f32[2,3] = relu(%x)\n %s: f32[{shape}] = {op}\n \
             %a: f32[{shape}] = unary(%s) {{function=abs}}\n return %a\n}}"
        )
    };
    let found = |shape, op| matched(&BEHIND, &body(shape, op), "a");
    assert_eq!(found("2,1,3", "reshape(%r) {shape=[2,1,3]}").unwrap(), ["x"]);
    assert_eq!(found("1,2,3", "expand(%r) {shape=[1,2,3]}").unwrap(), ["x"]);
    assert_eq!(found("1,2,3", "unsqueeze(%r) {axes=[0]}").unwrap(), ["x"]);
    assert_eq!(found("6", "reshape(%r) {shape=[6]}").unwrap_err(), "no match");
    assert_eq!(found("2,2,3", "expand(%r) {shape=[2,2,3]}").unwrap_err(), "no match");
    assert_eq!(
        found("3,2", "transpose(%r) {permutation=[1,0]}").unwrap_err(),
        "no match"
    );
}

#[test]
fn anchors_and_depth_are_those_of_the_structure() {
    const FORMS: Pattern = OneOf(&[SUM, op(&[Term::Relu, Term::Clip], &[Through(&PRODUCT)])]);
    assert_eq!(FORMS.anchors(), [Term::Add, Term::Relu, Term::Clip]);
    assert_eq!((SUM.depth(), PRODUCT.depth(), Any(X).depth()), (2, 1, 0));
    assert_eq!(FORMS.depth(), 1 + super::MOST_LOOKED_THROUGH + 1);
}
