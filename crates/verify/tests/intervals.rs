//! Tests of the bounds: they are as tight as expected for each op, and no execution leaves them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support;

use strait_core::{Module, ValueId};
use strait_verify::{Fault, Interval, ValueRange, intervals};
use support::{parse, verify};

/// A module whose lowered graph and main graph both have this body.
fn module(inputs: &str, body: &str, data: &str) -> Module {
    let graph = |head: &str| format!("graph {head} {{\n{body}\n  return %y\n}}\n");
    parse(&format!(
        "strait 1 integer main=@main\n{}{}{data}",
        graph(&format!("@lowered({inputs}) stage=integer")),
        graph(&format!("@main({inputs})"))
    ))
}

fn range_of(module: &Module, name: &str) -> ValueRange {
    let found = module.main().values().find(|(_, v)| module.name(v.name) == name);
    let id: ValueId = found.unwrap().0;
    intervals(module, module.main).unwrap().value(id).unwrap().clone()
}

/// The bounds along the axis for which more is known. If there is no such axis, the bounds of all elements.
fn only(range: &ValueRange) -> (Option<usize>, Vec<(i64, i64)>) {
    assert!(range.axes().count() < 2, "{range:?}");
    let ends = |intervals: &[Interval]| intervals.iter().map(|i| (i.low, i.high)).collect();
    match range.axes().next() {
        Some((axis, intervals)) => (Some(axis), ends(intervals)),
        None => (None, ends(&[range.hull()])),
    }
}

fn ends(range: &ValueRange) -> Vec<(i64, i64)> {
    only(range).1
}

const CONV: &str = "stride=[1,1], pad=[0,0,0,0], dilation=[1,1]";
const POOL: &str = "stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0";

#[test]
fn every_op_has_the_bounds_that_it_should_and_no_execution_leaves_them() {
    let full = (-128i64, 127i64);
    // Each case has the inputs, the body with the result %y, the constants, and the axis and the bounds of %y.
    let cases: Vec<(&str, String, &str, Option<usize>, Vec<(i64, i64)>)> = vec![
        (
            "%x: i8[1,2,3,3]",
            format!("  %y: i32[1,2,3,3] = conv(%x, @w, @b) {{{CONV}, groups=1, pad_value=0}}"),
            "data @w: i8[2,2,1,1] = inline [3,-2,0,1]\ndata @b: i32[2] = inline [1000,-5]",
            Some(1),
            vec![(1000 - 3 * 128 - 2 * 127, 1000 + 3 * 127 + 2 * 128), (-133, 122)],
        ),
        // A sum without products is the bias.
        (
            "%x: i8[5,0]",
            "  %y: i32[5,2] = gemm(%x, @w, @b) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}".into(),
            "data @w: i8[2,0] = splat 0\ndata @b: i32[2] = inline [7,-9]",
            Some(1),
            vec![(7, 7), (-9, -9)],
        ),
        // The minimum and the maximum of codes, and a selection by a condition.
        (
            "%x: i8[1,4], %which: bool[1,4]",
            "  %a: i8[1,4] = clamp(%x) {min=-10, max=20}
  %b: i8[1,4] = clamp(%x) {min=-30, max=5}
  %least: i8[1,4] = binary(%a, %b) {function=minimum}
  %most: i8[1,4] = binary(%least, @c) {function=maximum}
  %y: i8[1,4] = select(%which, %most, %least)"
                .into(),
            "data @c: i8[1,4] = splat -12",
            None,
            vec![(-30, 5)],
        ),
        (
            "%x: i8[1,4]",
            "  %a: i8[1,4] = clamp(%x) {min=-30, max=5}
  %y: i8[1,4] = binary(%a, @c) {function=maximum}"
                .into(),
            "data @c: i8[1,4] = splat -12",
            None,
            vec![(-12, 5)],
        ),
        // A convolution with two groups: each output reads one channel. The padding value lies outside of the range of
        // the clamped codes.
        (
            "%x: i8[1,2,3,3]",
            "  %c: i8[1,2,3,3] = clamp(%x) {min=0, max=10}
  %y: i32[1,2,5,5] = conv(%c, @w, _) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=2, pad_value=-7}"
                .into(),
            "data @w: i8[2,1,1,1] = inline [3,-2]",
            Some(1),
            vec![(-21, 30), (-20, 14)],
        ),
        // A kernel of three taps over a single element: both outer taps read only padding.
        (
            "%x: i8[1,1,1,1]",
            "  %y: i32[1,1,1,1] = conv(%x, @w, _) {stride=[1,1], pad=[0,1,0,1], dilation=[1,1], groups=1, pad_value=10}".into(),
            "data @w: i8[1,1,1,3] = inline [3,1,-2]",
            Some(1),
            vec![(30 - 128 - 20, 30 + 127 - 20)],
        ),
        // Weights that are computed at run time.
        (
            "%x: i8[1,1,2,2], %w: u8[1,1,2,2]",
            format!("  %y: i32[1,1,1,1] = conv(%x, %w, _) {{{CONV}, groups=1, pad_value=0}}"),
            "",
            Some(1),
            vec![(-4 * 128 * 255, 4 * 127 * 255)],
        ),
        (
            "%x: u8[5,2]",
            "  %y: i32[5,3] = gemm(%x, @w, @b) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}".into(),
            "data @w: i8[3,2] = inline [1,1,-1,-1,2,-2]\ndata @b: i32[3] = inline [0,10,20]",
            Some(1),
            vec![(0, 510), (-500, 10), (-490, 530)],
        ),
        (
            "%x: u8[2,5]",
            "  %y: i32[5,3] = gemm(%x, @w, _) {transpose_a=1, transpose_b=0, alpha=1.0, beta=1.0}".into(),
            "data @w: i8[2,3] = inline [1,-1,2,1,-1,-2]",
            Some(1),
            vec![(0, 510), (-510, 0), (-510, 510)],
        ),
        // Zero points are subtracted before the product.
        (
            "%x: i8[2,3], %z: i8[3,4]",
            "  %y: i32[2,4] = matmul(%x, %z) {a_zero=-128, b_zero=0}".into(),
            "",
            None,
            vec![(3 * 255 * -128, 3 * 255 * 127)],
        ),
        (
            "%x: i8[1,2,2], %z: i8[2,1]",
            "  %y: i32[1,2,2] = sub(%x, %z)".into(),
            "",
            None,
            vec![(-255, 255)],
        ),
        // The elements of a constant vector are known for each index, along whichever axis it lies.
        (
            "%x: i8[1,2,2]",
            "  %y: i32[1,2,2] = add(%x, @v)".into(),
            "data @v: i8[2,1] = inline [100,-100]",
            Some(1),
            vec![(-28, 227), (-228, 27)],
        ),
        (
            "%x: i8[4], %z: i8[4]",
            "  %y: i32[4] = mul(%x, %z) {a_zero=27, b_zero=-28}".into(),
            "",
            None,
            vec![(-155 * 155, 155 * 100)],
        ),
        (
            "%x: u8[4]",
            "  %y: i32[4] = shift_left(%x) {zero=5, bits=20}".into(),
            "",
            None,
            vec![(-5 << 20, 250 << 20)],
        ),
        (
            "%x: i8[1,2,2]",
            "  %a: i32[1,2,2] = shift_left(%x) {zero=0, bits=4}
  %y: i8[1,2,2] = requantize(%a) {form={arith_folded shift=[5,2] rounding=half_even out=i8}, axis=1}"
                .into(),
            "",
            Some(1),
            vec![(-64, 64), full],
        ),
        (
            "%x: i8[1,1,4,4]",
            format!("  %y: i32[1,1,2,2] = sum_pool(%x) {{size=[3,3], {POOL}, pad_value=0}}"),
            "",
            None,
            vec![(-9 * 128, 9 * 127)],
        ),
        (
            "%x: i8[1,1,4,4]",
            "  %c: i8[1,1,4,4] = clamp(%x) {min=5, max=9}
  %y: i32[1,1,4,4] = sum_pool(%c) {size=[3,3], stride=[1,1], pad=[1,1,1,1], dilation=[1,1], ceil=0, pad_value=2}"
                .into(),
            "",
            None,
            vec![(18, 81)],
        ),
        (
            "%x: i8[1,1,4,4]",
            "  %c: i8[1,1,4,4] = clamp(%x) {min=5, max=9}
  %y: i8[1,1,4,4] = max_pool(%c) {size=[3,3], stride=[1,1], pad=[1,1,1,1], dilation=[1,1], ceil=0}"
                .into(),
            "",
            None,
            vec![(5, 9)],
        ),
        // Rounding up the number of windows only makes a window reach beyond the padding if the extent requires it.
        // Every window has an element.
        (
            "%x: i8[1,1,4,5]",
            "  %c: i8[1,1,4,5] = clamp(%x) {min=5, max=9}
  %m: i8[1,1,2,3] = max_pool(%c) {size=[2,2], stride=[2,2], pad=[0,0,0,0], dilation=[1,1], ceil=1}
  %y: i32[1,1,1,3] = sum_pool(%m) {size=[2,1], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=1, pad_value=0}"
                .into(),
            "",
            None,
            vec![(10, 18)],
        ),
        // A dilated window may have no tap on the only element, because its taps lie on both sides of it.
        (
            "%x: i8[1,1,1,4]",
            "  %c: i8[1,1,1,4] = clamp(%x) {min=5, max=9}
  %y: i8[1,1,1,4] = max_pool(%c) {size=[2,1], stride=[1,1], pad=[1,0,1,0], dilation=[2,1], ceil=0}"
                .into(),
            "",
            None,
            vec![(-128, 9)],
        ),
        (
            "%x: i8[1,1,4,4] scale=1.0 zero=-3",
            "  %c: i8[1,1,4,4] scale=1.0 zero=-3 = clamp(%x) {min=5, max=9}
  %y: i8[1,1,4,4] scale=1.0 zero=-3 = average_pool(%c) {size=[3,3], stride=[1,1], pad=[1,1,1,1], dilation=[1,1], ceil=0, count_include_pad=1}"
                .into(),
            "",
            None,
            vec![(-3, 9)],
        ),
        (
            "%x: i8[1,2,4,4]",
            "  %c: i8[1,2,4,4] = clamp(%x) {min=5, max=9}\n  %y: i8[1,2,1,1] = global_average_pool(%c)".into(),
            "",
            None,
            vec![(5, 9)],
        ),
        (
            "%x: i8[1,2,3]",
            "  %a: i32[1,2,3] = add(%x, @v)\n  %y: i32[1,2] = reduce(%a) {reduction=sum, axes=[2], keep_dims=0}".into(),
            "data @v: i8[2,1] = inline [100,-100]",
            Some(1),
            vec![(-28 * 3, 227 * 3), (-228 * 3, 27 * 3)],
        ),
        // The bounds along the channel axis are kept if the reshape keeps this axis.
        (
            "%x: i8[1,2,1,1]",
            "  %a: i32[1,2,1,1] = add(%x, @v)
  %s: i32[1,2] = flatten(%a) {axis=1}
  %y: i32[2,1] = transpose(%s) {permutation=[1,0]}"
                .into(),
            "data @v: i8[2,1,1] = inline [100,-100]",
            Some(0),
            vec![(-28, 227), (-228, 27)],
        ),
        (
            "%x: i8[1,2], %z: i8[1,1]",
            "  %a: i32[1,2] = add(%x, @v)
  %b: i32[1,1] = shift_left(%z) {zero=0, bits=1}
  %y: i32[1,3] = concat(%a, %b) {axis=1}"
                .into(),
            "data @v: i8[2] = inline [100,-100]",
            Some(1),
            vec![(-28, 227), (-228, 27), (-256, 254)],
        ),
        (
            "%x: i8[1,4]",
            "  %y: i8[1,6] = pad(%x) {amounts=[0,1,0,1], mode=constant, value=3.0}".into(),
            "",
            None,
            vec![full],
        ),
    ];
    for (inputs, body, data, axis, expected) in cases {
        let module = module(inputs, &body, data);
        let range = range_of(&module, "y");
        assert_eq!(only(&range), (axis, expected), "{body}");
        let report = verify(&module, &[]);
        assert_eq!(report.findings, [], "{body}");
    }
}

/// Bounds along rows are combined with bounds along columns, and then with another tensor that is concatenated after
/// the rows.
#[test]
fn operands_with_bounds_along_different_axes_keep_both() {
    let module = module(
        "%x: i8[1,2,3]",
        "  %a: i32[1,2,3] = add(%x, @rows)
  %b: i32[1,2,3] = add(@columns, %x)
  %sum: i32[1,2,3] = add(%a, %b)
  %short: i32[1,1,3] = slice(%b) {starts=[0], ends=[1], axes=[1], steps=[1]}
  %wide: i32[1,3,3] = concat(%b, %short) {axis=1}
  %less: i32[1,3,3] = add(%wide, @three)
  %y: i32[1,5,3] = concat(%sum, %less) {axis=1}",
        "data @rows: i8[2,1] = inline [100,-100]\ndata @columns: i8[3] = inline [1,2,4]\ndata @three: i32[3,1] = splat 7",
    );
    let along = |name: &str| -> Vec<(usize, Vec<(i64, i64)>)> {
        let range = range_of(&module, name);
        let ends = |intervals: &[Interval]| intervals.iter().map(|i| (i.low, i.high)).collect();
        range.axes().map(|(axis, intervals)| (axis, ends(intervals))).collect()
    };
    assert_eq!(along("a"), [(1, vec![(-28, 227), (-228, 27)])]);
    assert_eq!(along("b"), [(2, vec![(-127, 128), (-126, 129), (-124, 131)])]);
    let rows = vec![(-28 - 127, 227 + 131), (-228 - 127, 27 + 131)];
    let columns = vec![
        (-228 - 127, 227 + 128),
        (-228 - 126, 227 + 129),
        (-228 - 124, 227 + 131),
    ];
    assert_eq!(along("sum"), [(1, rows.clone()), (2, columns)]);
    let other = vec![(-127 + 7, 131 + 7); 3];
    assert_eq!(along("y"), [(1, [rows, other].concat())]);
}

/// A bias with one element, or with one for each row, does not have one element for each column.
#[test]
fn a_bias_belongs_to_columns_only_where_it_lies_along_them() {
    let bias = |data: &str, expected: Vec<(i64, i64)>| {
        let body = "  %y: i32[2,2] = gemm(%x, @w, @b) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
        let module = module(
            "%x: u8[2,1]",
            body,
            &format!("data @w: i8[2,1] = inline [1,-1]\n{data}"),
        );
        assert_eq!(only(&range_of(&module, "y")), (Some(1), expected), "{data}");
        assert_eq!(verify(&module, &[]).findings, [], "{data}");
    };
    bias("data @b: i32[2] = inline [10,20]", vec![(10, 265), (-235, 20)]);
    bias("data @b: i32[1,2] = inline [10,20]", vec![(10, 265), (-235, 20)]);
    bias("data @b: i32[2,1] = inline [10,20]", vec![(10, 275), (-245, 20)]);
    bias("data @b: i32[1] = inline [10]", vec![(10, 265), (-245, 10)]);
}

#[test]
fn a_lookup_reads_only_the_entries_that_can_be_asked_for() {
    let entries: Vec<i32> = (0..256).map(|i| (i - 128) * (i - 128) / 150 - 20).collect();
    let body = "  %c: i8[4] = clamp(%x) {min=-10, max=100}\n  %y: i8[4] = lookup(%c, @table)";
    let module = module("%x: i8[4]", body, &format!("data @table: i8[256] = inline {entries:?}"));
    assert_eq!(ends(&range_of(&module, "y")), [(-20, 46)]);
    assert_eq!(verify(&module, &[]).findings, []);
}

#[test]
fn floats_have_no_bounds_and_what_has_no_rule_may_be_anything_of_its_type() {
    let body = "  %f: f32[4] = dequantize(%x)\n  %y: i8[4] scale=2.0 zero=0 = quantize(%f) {to=i8, rounding=half_even, reciprocal=0}";
    let module = module("%x: i8[4] scale=1.0 zero=0", body, "");
    assert_eq!(ends(&range_of(&module, "y")), [(-128, 127)]);
    let f = module
        .main()
        .values()
        .find(|(_, v)| module.name(v.name) == "f")
        .unwrap()
        .0;
    assert_eq!(intervals(&module, module.main).unwrap().value(f), None);
}

/// Indices and lengths have no grid: the host computes them, and they wrap if they overflow.
#[test]
fn integers_of_the_model_may_be_anything_of_their_type() {
    let body = |host: &str| format!("  %y: i64[4] = add(%x, @far){host}");
    let far = "data @far: i64[4] = inline [9223372036854775800,0,0,0]";
    let on_host = module("%x: i64[4]", &body(" host=[\"target-host\",\"it has no row\"]"), far);
    let findings = |module: &Module| intervals(module, module.main).unwrap().findings().to_vec();
    assert_eq!(findings(&on_host), []);
    assert_eq!(ends(&range_of(&on_host, "y")), [(i64::MIN, i64::MAX)]);
    // Graphs of floats, such as those that control flow runs, have no placement.
    let mut of_floats = module("%x: i64[4]", &body(""), far);
    of_floats.main_mut().set_stage(strait_core::Stage::Float);
    assert_eq!(findings(&of_floats), []);
    // On the accelerator, the same values are sums, which must fit their type.
    let faults = findings(&module("%x: i64[4]", &body(""), far));
    assert!(matches!(faults[0].fault, Fault::Overflow { .. }), "{faults:?}");
}

/// The first step of gemmlowp's requantization shifts left. Beyond 2^31, the runtime would overflow.
#[test]
fn a_requantization_outside_of_its_domain_is_found() {
    let body = "  %a: i32[4] = shift_left(%x) {zero=0, bits=20}
  %y: i8[4] = requantize(%a) {form={gemmlowp multiplier=1073741824 exponent=5 zp=0 out=i8}, axis=0}";
    let module = module("%x: i8[4]", body, "");
    let bounds = intervals(&module, module.main).unwrap();
    assert!(matches!(bounds.findings(), [f] if f.value == "y" && matches!(f.fault, Fault::OutsideDomain(_))));
    assert_eq!(ends(&range_of(&module, "y")), [(-128, 127)]);
}

#[test]
fn products_of_intervals_have_their_extremes_in_corners() {
    let all: Vec<Interval> = (-3..=3)
        .flat_map(|low| (low..=3).map(move |high| Interval { low, high }))
        .collect();
    for a in &all {
        for b in &all {
            let each = |f: fn(i64, i64) -> i64| {
                let values = (a.low..=a.high).flat_map(|x| (b.low..=b.high).map(move |y| f(x, y)));
                values.map(Interval::point).reduce(Interval::hull).unwrap()
            };
            assert_eq!(a.times(*b), each(|x, y| x * y), "{a:?} {b:?}");
            assert_eq!((a.plus(*b), a.minus(*b)), (each(|x, y| x + y), each(|x, y| x - y)));
            assert_eq!(a.clamped(*b), {
                let clamp = |x: i64| Interval::point(x.min(b.high).max(b.low));
                (a.low..=a.high).map(clamp).reduce(Interval::hull).unwrap()
            });
            assert_eq!(a.contains(*b), a.hull(*b) == *a);
        }
    }
}
