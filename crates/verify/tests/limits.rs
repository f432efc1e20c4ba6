//! Tests that large numbers in a file neither allocate memory nor multiply the verifier's work.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support;

use std::fmt::Write as _;
use strait_core::Module;
use strait_verify::{Fault, analyse, intervals};
use support::parse;

/// A module whose lowered graph and main graph both have these inputs and this body.
fn module(head: &str, body: &str, data: &str) -> Module {
    let graph = |name: &str, stage: &str| format!("graph {name}({head}){stage} {{\n{body}\n  return %y\n}}\n");
    let [lowered, main] = [graph("@lowered", " stage=integer"), graph("@main", "")];
    parse(&format!("strait 1 integer main=@main\n{lowered}{main}{data}"))
}

/// The bounds of the value `y`, and whether they run along an axis.
fn bounds(module: &Module) -> (Vec<(i64, i64)>, bool) {
    let (y, _) = module
        .main()
        .values()
        .find(|(_, v)| module.name(v.name) == "y")
        .unwrap();
    let found = intervals(module, module.main).unwrap();
    let range = found.value(y).unwrap();
    let along = range.axes().next();
    let all = along.map_or_else(|| vec![range.hull()], |(_, intervals)| intervals.to_vec());
    (all.iter().map(|i| (i.low, i.high)).collect(), along.is_some())
}

#[test]
fn bounds_take_no_more_than_there_is_behind_a_shape() {
    // A tensor with 2^36 codes of padding, concatenated with itself.
    let joined = module(
        "%x: i8[1,8]",
        "  %p: i8[1,68719476736] = pad(%x) {amounts=[0,0,0,68719476728], mode=constant, value=0.0}
  %y: i8[1,137438953472] = concat(%p, %p) {axis=1}",
        "",
    );
    assert_eq!(bounds(&joined), (vec![(-128, 127)], false));
    // Matrix products with 2^31 summands and 8 outputs, and with 8 summands and 2^31 outputs.
    for (b, result) in [(1, "8,8"), (0, "8,2147483648")] {
        let operand = if b == 1 { "%p" } else { "%c" };
        let product = module(
            "%x: i8[8,8]",
            &format!(
                "  %c: i8[8,8] = clamp(%x) {{min=-1, max=0}}
  %z: i8[8,8] = clamp(%x) {{min=0, max=0}}
  %p: i8[8,2147483648] = pad(%z) {{amounts=[0,0,0,2147483640], mode=constant, value=0.0}}
  %y: i32[{result}] = gemm({operand}, %p, @b) {{transpose_a=0, transpose_b={b}, alpha=1.0, beta=1.0}}"
            ),
            "data @b: i32[1] = inline [5]",
        );
        assert_eq!(bounds(&product), (vec![(5, 5)], false), "{result}");
    }
    // A vector of two elements that is concatenated with itself until it has 2^38 elements.
    let mut body = String::new();
    for (step, from) in ["@v".into()]
        .into_iter()
        .chain((1..36).map(|s| format!("%c{s}")))
        .enumerate()
    {
        let extent = 4u64 << step;
        writeln!(
            body,
            "  %c{}: i8[{extent}] = concat({from}, {from}) {{axis=0}}",
            step + 1
        )
        .unwrap();
    }
    body += "  %y: i8[274877906944] = concat(%c36, %c36) {axis=0}";
    assert_eq!(
        bounds(&module("%x: i8[1]", &body, "data @v: i8[2] = inline [1,5]")),
        (vec![(1, 5)], false)
    );
}

#[test]
fn values_that_stand_for_each_other_in_too_many_ways_are_found() {
    // Each sum of the fused graph is x + x. Each sum of the lowered graph is that of the two sums before it.
    const SUMS: usize = 80;
    let (mut fused, mut lowered) = (String::new(), String::new());
    for sum in 2..SUMS {
        let (one, two) = (sum - 1, sum - 2);
        writeln!(fused, "  %z{sum}: f32[4] = add(%z{one}, %z{one})").unwrap();
        writeln!(lowered, "  %z{sum}: f32[4] = add(%z{one}, %z{two})").unwrap();
    }
    let last = SUMS - 1;
    let module = parse(&format!(
        "strait 1 integer main=@main
graph @lowered(%z0: f32[4], %z1: f32[4]) stage=integer {{\n{lowered}  return %z{last}\n}}
graph @main(%z0: f32[4], %z1: f32[4]) {{\n{fused}  return %z{last}\n}}"
    ));
    let analysis = analyse(&module, &[]).unwrap();
    let found = analysis.findings().iter().any(|finding| {
        matches!(&finding.fault, Fault::Structure(text) if text.contains("in more ways than there are values, 160"))
    });
    assert!(found, "{:?}", analysis.findings());
}

#[test]
fn a_chain_of_too_many_requantizations_is_found() {
    for (links, is_found) in [(32, false), (33, true), (200, true)] {
        let graph = |rounding: &str| {
            let mut body = String::new();
            for link in 0..links {
                let form = format!("{{arith_folded shift=0 rounding={rounding} out=i8}}");
                writeln!(
                    body,
                    "  %q{}: i8[4] = requantize(%q{link}) {{form={form}, axis=0}}",
                    link + 1
                )
                .unwrap();
            }
            body
        };
        let [floor, ceil] = [graph("floor"), graph("ceil")];
        let module = parse(&format!(
            "strait 1 integer main=@main
graph @lowered(%q0: i8[4]) stage=integer {{\n{floor}  return %q{links}\n}}
graph @main(%q0: i8[4]) {{\n{ceil}  return %q{links}\n}}"
        ));
        let analysis = analyse(&module, &[]).unwrap();
        let told = analysis.findings().iter().any(|finding| {
            matches!(&finding.fault, Fault::Structure(text) if text.starts_with("more than 32 requantizations"))
        });
        assert_eq!(told, is_found, "{links}: {:?}", analysis.findings());
    }
}
