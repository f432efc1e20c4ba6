use super::*;

/// The bounds of the result of `op` on an operand i8[1,1,2,2] with codes from 3 to 50 and the zero point −7.
fn bounds(result: &str, op: &str) -> Per<Interval> {
    let text = format!(
        "strait 1 integer\n\
         graph @main(%x: i8[1,1,2,2] scale=1.0 zero=-7) {{\n\
         \x20 %c: i8[1,1,2,2] scale=1.0 zero=-7 = clamp(%x) {{min=3, max=50}}\n\
         \x20 %y: {result} scale=1.0 zero=-7 = {op}\n\
         \x20 return %y\n}}\n"
    );
    let module = strait_core::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let graph = module.main();
    Bounds::new(&module, graph).of(graph.outputs()[0]).expect("an integer")
}

fn pool(name: &str, pad: u32, more: &str) -> Per<Interval> {
    let extent = 2 + 2 * pad - 1;
    let attributes = format!("size=[2,2], stride=[1,1], pad=[{pad},{pad},{pad},{pad}], dilation=[1,1]");
    let op = format!("{name}(%c) {{{attributes}, ceil=0{more}}}");
    bounds(&format!("i8[1,1,{extent},{extent}]"), &op)
}

#[test]
fn windows_that_read_padding_alone_widen_the_bounds_of_pools() {
    assert_eq!(pool("max_pool", 1, ""), Per::Tensor((3, 50)));
    assert_eq!(pool("max_pool", 2, ""), Per::Tensor((-128, 50)));
    assert_eq!(pool("average_pool", 1, ", count_include_pad=0"), Per::Tensor((3, 50)));
    assert_eq!(pool("average_pool", 2, ", count_include_pad=0"), Per::Tensor((-7, 50)));
    assert_eq!(pool("average_pool", 1, ", count_include_pad=1"), Per::Tensor((-7, 50)));
    assert_eq!(pool("average_pool", 0, ", count_include_pad=1"), Per::Tensor((3, 50)));
}

#[test]
fn bounds_reach_as_far_back_as_they_have_to_whatever_was_asked_before() {
    let depth = 50_000;
    let mut text = "strait 1 integer\ngraph @main(%x: i8[4] scale=1.0 zero=0) {\n\
        \x20 %v0: i8[4] scale=1.0 zero=0 = clamp(%x) {min=3, max=50}\n"
        .to_owned();
    for step in 1..=depth {
        let before = step - 1;
        text += &format!("  %v{step}: i8[4] scale=1.0 zero=0 = transpose(%v{before}) {{permutation=[0]}}\n");
    }
    text += &format!("  return %v{depth}\n}}\n");
    let module = strait_core::text::parse(&text).expect("a module");
    let (graph, clamped) = (module.main(), Some(Per::Tensor((3, 50))));
    assert_eq!(Bounds::new(&module, graph).of(graph.outputs()[0]), clamped);
    // The values are requested in the order of the graph, so the bounds of each need only one step.
    let mut bounds = Bounds::new(&module, graph);
    let all: Vec<ValueId> = graph.nodes().map(|(_, node)| node.outputs[0]).collect();
    assert!(all.iter().all(|&value| bounds.of(value) == clamped));
}

#[test]
fn only_a_sum_grows_with_the_number_of_elements() {
    let reduce = |result, reduction| {
        let op = format!("reduce(%c) {{reduction={reduction}, axes=[2,3], keep_dims=1}}");
        bounds(result, &op)
    };
    assert_eq!(reduce("i32[1,1,1,1]", "sum"), Per::Tensor((12, 200)));
    for reduction in ["max", "min"] {
        assert_eq!(reduce("i8[1,1,1,1]", reduction), Per::Tensor((3, 50)), "{reduction}");
    }
}

#[test]
fn sums_of_16_bit_codes_are_bounded_beyond_32_bits() {
    let text = "strait 1 integer\n\
        graph @main(%x: i16[1,2,1,1] scale=1.0 zero=0, %u: u16[4,3] scale=1.0 zero=0) {\n\
        \x20 %c: i64[1,1,1,1] scale=1.0 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0, accumulator=i64}\n\
        \x20 %s: i64[1,1,1,1] scale=1.0 zero=0 = add(%c, %c)\n\
        \x20 %t: u16[3,4] scale=1.0 zero=0 = transpose(%u) {permutation=[1,0]}\n\
        \x20 %p: i64[4,4] scale=1.0 zero=0 = matmul(%u, %t) {a_zero=0, b_zero=3, accumulator=i64}\n\
        \x20 %l: i64[4,3] scale=1.0 zero=0 = shift_left(%u) {zero=65535, bits=47, accumulator=i64}\n\
        \x20 %h: i64[1,1,1,1] scale=1.0 zero=0 = conv(%x, @w, @huge) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0, accumulator=i64}\n\
        \x20 %q: i16[1,1,1,1] scale=1.0 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0, accumulator=i64} fused={fixed sc=1 add=0 zp=0 shift=20 rounding=floor out=i16}\n\
        \x20 return %s, %p, %l, %h, %q\n}\n\
        data @w: i16[1,2,1,1] scale=1.0 zero=0 = inline [32767,-32768]\n\
        data @b: i64[1] = inline [7]\n\
        data @huge: i64[1] = inline [9223372036854775807]\n";
    let module = strait_core::text::parse(text).expect("a module");
    let graph = module.main();
    let mut bounds = Bounds::new(&module, graph);
    let found: Vec<_> = graph.outputs().iter().map(|&v| bounds.of(v)).collect();
    let ends = (
        -32_768 * 32_767 - 32_768 * 32_767 + 7,
        32_767 * 32_767 + 32_768 * 32_768 + 7,
    );
    assert_eq!(found[0], Some([(2 * ends.0, 2 * ends.1)].into_iter().collect()));
    let corner = 65_535 * 65_532;
    assert_eq!(found[1], Some(Per::Tensor((-3 * 3 * 65_535, 3 * corner))));
    assert_eq!(found[2], Some(Per::Tensor((-65_535 << 47, 0))));
    // The sum can exceed the range of i64.
    assert_eq!(found[3], Some(Per::Tensor((i64::MIN, i64::MAX))));
    assert_eq!(found[4], Some(Per::Tensor((ends.0 >> 20, ends.1 >> 20))));
    let fused = graph.producer(graph.outputs()[4]).expect("a node").1;
    let accumulators = bounds.accumulators(fused).expect("integers");
    assert_eq!(accumulators.bounds(), &[ends].into_iter().collect());
}

#[test]
fn what_can_leave_its_type_can_be_anything_in_it() {
    let text = "strait 1 integer\n\
        graph @main(%x: i32[4] scale=1.0 zero=0) {\n\
        \x20 %c: i32[4] scale=1.0 zero=0 = clamp(%x) {min=0, max=2147483647}\n\
        \x20 %y: i32[4] scale=1.0 zero=0 = add(%c, %c)\n\
        \x20 return %y\n}\n";
    let module = strait_core::text::parse(text).expect("a module");
    let graph = module.main();
    let bounds = Bounds::new(&module, graph).of(graph.outputs()[0]);
    assert_eq!(bounds, Some(Per::Tensor((i32::MIN.into(), i32::MAX.into()))));
}

/// A bias has one number for each column only if its shape says so. It may also have a single number, or one number for
/// each row.
#[test]
fn a_bias_belongs_to_columns_only_where_it_lies_along_them() {
    let bias = |data: &str, expected: &[Interval]| {
        let text = format!(
            "strait 1 integer\n\
            graph @main(%x: u8[2,1] scale=1.0 zero=0) {{\n\
            \x20 %y: i32[2,2] scale=1.0 zero=0 = gemm(%x, @w, @b) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}\n\
            \x20 return %y\n}}\n\
            data @w: i8[2,1] scale=1.0 zero=0 = inline [1,-1]\n{data}\n"
        );
        let module = strait_core::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let y = module.main().outputs()[0];
        let mut bounds = Bounds::new(&module, module.main());
        assert_eq!(bounds.of(y), Some(expected.iter().copied().collect()), "{data}");
        assert_eq!(bounds.axis(y), Some(1), "{data}");
    };
    bias("data @b: i32[2] = inline [10,20]", &[(10, 265), (-235, 20)]);
    bias("data @b: i32[2,1] = inline [10,20]", &[(10, 275), (-245, 20)]);
    bias("data @b: i32[1] = inline [10]", &[(10, 265), (-245, 10)]);
}
