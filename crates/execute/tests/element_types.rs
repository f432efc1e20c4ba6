//! Tests codes of 4 and 16 bits. Plans must give the same results as the interpreter, and 4-bit tensors the same
//! results as wider tensors with the same numbers.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::run;
use strait_core::text::parse;
use strait_core::{Elem, Module};
use strait_execute::{ExecuteError, Plan, PlanOptions, Tensor, Workspace, reference};

fn both(module: &Module, input: &Tensor) -> Vec<Tensor> {
    let inputs = std::slice::from_ref(input);
    let found = run(module, inputs);
    let wanted = reference::run(module, module.main, &[input.view()], &mut |_, _| {}).unwrap();
    assert_eq!(found, wanted);
    found
}

#[test]
fn every_type_of_codes_crosses_the_border_and_is_moved() {
    let x = [-3.0, -0.26, 0.0, 0.74, 2.0, 1e9f32];
    let input = Tensor::from_values(&[2, 3], &x).unwrap();
    for (elem, low, high) in [
        (Elem::I4, -8.0, 7.0),
        (Elem::U4, 0.0, 15.0),
        (Elem::I16, -32_768.0, 32_767.0),
        (Elem::U16, 0.0, 65_535.0f32),
    ] {
        let text = format!(
            "strait 1 integer
            graph @main(%x: f32[2,3]) {{
              %q: {elem}[2,3] scale=0.25 zero=3 = quantize(%x) {{to={elem}, rounding=half_even, reciprocal=0}}
              %c: {elem}[3,3] scale=0.25 zero=3 = concat(%q, @c) {{axis=0}}
              %t: {elem}[3,3] scale=0.25 zero=3 = transpose(%c) {{permutation=[1,0]}}
              %p: {elem}[4,3] scale=0.25 zero=3 = pad(%t) {{mode=constant, amounts=[0,0,1,0], value=3.0}}
              %y: f32[4,3] = dequantize(%p)
              return %p, %y
            }}
            data @c: {elem}[1,3] scale=0.25 zero=3 = inline [7,0,1]"
        );
        let found = both(&parse(&text).unwrap(), &input);
        let code = |x: f32| (x / 0.25).round_ties_even().clamp(low - 3.0, high - 3.0) * 0.25;
        let column = |c: usize, constant: f32| [code(x[c]), code(x[c + 3]), (constant - 3.0) * 0.25];
        let wanted = [column(0, 7.0), column(1, 0.0), column(2, 1.0), [0.0; 3]].concat();
        assert_eq!(found[1].values::<f32>().unwrap(), wanted, "{elem}");
    }
}

#[test]
fn products_with_4_bit_weights_are_those_of_the_same_numbers_in_8_bits() {
    let products = |elem: Elem| {
        let weights = "[-8,7,-1,0,1,2,3,-4,5,-6,7,-8,-7,6,5]";
        let text = format!(
            "strait 1 integer
            graph @main(%x: i8[4,5] scale=0.5 zero=0) {{
              %y: i32[4,3] scale=0.5 zero=0 = gemm(%x, @w) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}
              return %y
            }}
            data @w: {elem}[3,5] scale=1.0 zero=0 = inline {weights}"
        );
        let input = Tensor::from_values(&[4, 5], &(0..20).map(|i| (i * 37 - 110) as i8).collect::<Vec<_>>()).unwrap();
        both(&parse(&text).unwrap(), &input)
    };
    assert_eq!(products(Elem::I4), products(Elem::I8));
}

/// A graph that computes `y = x·wᵀ + b` on 16-bit codes, with accumulators of type `carrier`. `rest` is the text of the
/// nodes that follow, and of the graph's outputs.
fn dense(carrier: &str, weights: &str, bias: i64, rest: &str) -> Module {
    let attribute = if carrier == "i64" { ", accumulator=i64" } else { "" };
    parse(&format!(
        "strait 1 integer
        graph @main(%x: i16[1,3] scale=0.5 zero=0) {{
          %y: {carrier}[1,2] scale=0.5 zero=0 = gemm(%x, @w, @b) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0{attribute}}}
          {rest}
        }}
        data @w: i16[2,3] scale=1.0 zero=0 = inline {weights}
        data @b: {carrier}[2] = splat {bias}"
    ))
    .unwrap()
}

#[test]
fn sums_that_leave_i32_are_carried_in_i64() {
    let weights = "[32767,32767,32767,-32768,-32768,-32768]";
    let input = Tensor::from_values(&[1, 3], &[32_767i16, 32_767, -32_768]).unwrap();
    let wanted: Vec<i64> = [32_767i64, -32_768].iter().map(|w| w * 32_766 + 5).collect();
    let sums = both(&dense("i64", weights, 5, "return %y"), &input);
    assert_eq!(sums[0].values::<i64>().unwrap(), wanted);
    // The accumulators exceed i32, and are requantized to 16 bits.
    let large = Tensor::from_values(&[1, 3], &[32_767i16; 3]).unwrap();
    let form = "{fixed sc=3 add=1 zp=-7 shift=20 rounding=half_up out=i16}";
    let rest = format!(
        "%q: i16[1,2] scale=0.5 zero=0 = requantize(%y) {{form={form}, axis=1}} %d: f32[1,2] = dequantize(%y) return %q, %d"
    );
    let found = both(&dense("i64", weights, -9, &rest), &large);
    let sums = [32_767i64, -32_768].map(|w| 3 * w * 32_767 - 9);
    let codes = sums.map(|x| (((x * 3 + 1 + (1 << 19)) >> 20) - 7) as i16);
    assert_eq!(found[0].values::<i16>().unwrap(), codes);
    assert_eq!(found[1].values::<f32>().unwrap(), sums.map(|x| 0.5 * x as f32));
}

#[test]
fn a_sum_that_its_type_does_not_hold_is_an_error_of_the_interpreter() {
    let input = Tensor::from_values(&[1, 3], &[32_767i16; 3]).unwrap();
    let refused = |module: &Module| {
        reference::run(module, module.main, &[input.view()], &mut |_, _| {})
            .unwrap_err()
            .to_string()
    };
    let weights = "[32767,32767,32767,1,1,1]";
    for (carrier, bias, sum) in [
        ("i32", 0, 3 * 32_767i128 * 32_767),
        ("i64", i64::MAX, 3 * 32_767i128 * 32_767 + i128::from(i64::MAX)),
    ] {
        let text = refused(&dense(carrier, weights, bias, "return %y"));
        assert!(text.contains(&format!("{sum} does not fit into {carrier}")), "{text}");
    }
    // The same is an error if a requantization is fused into the node.
    let fused = "strait 1 integer
        graph @main(%x: i16[1,3] scale=0.5 zero=0) {
          %y: i16[1,1] scale=0.5 zero=0 = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0} fused={arith_folded shift=20 rounding=floor out=i16}
          return %y
        }
        data @w: i16[1,3] scale=1.0 zero=0 = splat 32767";
    let text = refused(&parse(fused).unwrap());
    assert!(text.contains("does not fit into i32"), "{text}");
}

#[test]
fn bits_are_taken_for_other_numbers_and_back() {
    let text = "strait 1 float
        graph @main(%x: f32[4]) {
          %b: i32[4] = bit_cast(%x) {to=i32}
          %y: f32[4] = bit_cast(%b) {to=f32}
          return %b, %y
        }";
    let x = [1.0, -0.0, f32::INFINITY, 3.0];
    let found = both(&parse(text).unwrap(), &Tensor::from_values(&[4], &x).unwrap());
    assert_eq!(
        found[0].values::<i32>().unwrap(),
        [0x3f80_0000, i32::MIN, 0x7f80_0000, 0x4040_0000]
    );
    assert_eq!(found[1].values::<f32>().unwrap(), x);
}

#[test]
fn an_input_of_4_bits_has_no_other_codes() {
    for (elem, good, bad) in [
        ("i4", [-8i8, 7], [7i8, 8]),
        ("i4", [0, -1], [-9, 0]),
        ("u4", [0, 15], [16, 0]),
    ] {
        let text = format!(
            "strait 1 integer
            graph @main(%x: {elem}[2] scale=1.0 zero=0) {{
              %y: i8[2] scale=1.0 zero=0 = lookup(%x, @t)
              return %y
            }}
            data @t: i8[16] = inline [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"
        );
        let module = parse(&text).unwrap();
        let elem = Elem::parse(elem).unwrap();
        let input = |codes: [i8; 2]| Tensor::from_bytes(elem, &[2], &codes.map(i8::cast_unsigned)).unwrap();
        both(&module, &input(good));
        let bad = input(bad);
        let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
        let planned = plan.run(&mut Workspace::new(&plan, &common::threads(1)), &[bad.view()]);
        let interpreted = reference::run(&module, module.main, &[bad.view()], &mut |_, _| {});
        for outcome in [planned, interpreted] {
            assert!(
                matches!(outcome, Err(ExecuteError::Input { .. })),
                "{elem}: {outcome:?}"
            );
        }
    }
}

#[test]
fn the_smaller_and_the_larger_code_are_those_of_the_real_numbers() {
    let x = [-3.0, -0.26, 0.0, 0.74, 2.0, 1e9f32];
    let input = Tensor::from_values(&[2, 3], &x).unwrap();
    for (elem, low, high) in [
        (Elem::I8, -128.0, 127.0),
        (Elem::U8, 0.0, 255.0),
        (Elem::I16, -32_768.0, 32_767.0),
        (Elem::U16, 0.0, 65_535.0f32),
    ] {
        let text = format!(
            "strait 1 integer
            graph @main(%x: f32[2,3]) {{
              %q: {elem}[2,3] scale=0.25 zero=3 = quantize(%x) {{to={elem}, rounding=half_even, reciprocal=0}}
              %a: {elem}[2,3] scale=0.25 zero=3 = binary(%q, @c) {{function=minimum}}
              %b: {elem}[2,3] scale=0.25 zero=3 = binary(@c, %q) {{function=maximum}}
              %s: {elem}[2,3] scale=0.25 zero=3 = select(@w, %a, @c)
              %least: f32[2,3] = dequantize(%a)
              %most: f32[2,3] = dequantize(%b)
              %some: f32[2,3] = dequantize(%s)
              return %least, %most, %some
            }}
            data @c: {elem}[1,3] scale=0.25 zero=3 = inline [4,0,100]
            data @w: bool[2,1] = inline [1,0]"
        );
        let found = both(&parse(&text).unwrap(), &input);
        let code = |x: f32| (x / 0.25).round_ties_even().clamp(low - 3.0, high - 3.0) * 0.25;
        let c = [0.25, -0.75, 24.25];
        let of = |f: fn(f32, f32) -> f32| -> Vec<f32> { (0..6).map(|i| f(code(x[i]), c[i % 3])).collect() };
        let (least, most) = (of(f32::min), of(f32::max));
        assert_eq!(found[0].values::<f32>().unwrap(), least, "{elem}");
        assert_eq!(found[1].values::<f32>().unwrap(), most, "{elem}");
        assert_eq!(
            found[2].values::<f32>().unwrap(),
            [&least[..3], &c[..]].concat(),
            "{elem}"
        );
    }
}

#[test]
fn codes_of_one_grid_are_compared_as_the_real_numbers() {
    let x = [-3.0, -0.26, 0.0, 0.74, 2.0, 1e9f32];
    let input = Tensor::from_values(&[2, 3], &x).unwrap();
    for (elem, low, high) in [
        (Elem::I8, -128.0, 127.0),
        (Elem::U8, 0.0, 255.0),
        (Elem::I16, -32_768.0, 32_767.0),
        (Elem::U16, 0.0, 65_535.0f32),
    ] {
        let text = format!(
            "strait 1 integer
            graph @main(%x: f32[2,3]) {{
              %q: {elem}[2,3] scale=0.25 zero=3 = quantize(%x) {{to={elem}, rounding=half_even, reciprocal=0}}
              %e: bool[2,3] = compare(%q, @c) {{relation=equal}}
              %l: bool[2,3] = compare(%q, @c) {{relation=less}}
              %g: bool[2,3] = compare(@c, %q) {{relation=less_or_equal}}
              return %e, %l, %g
            }}
            data @c: {elem}[1,3] scale=0.25 zero=3 = inline [6,3,3]"
        );
        let found = both(&parse(&text).unwrap(), &input);
        let code = |x: f32| (x / 0.25).round_ties_even().clamp(low - 3.0, high - 3.0) * 0.25;
        let c = [0.75, 0.0, 0.0];
        let of = |f: fn(&f32, &f32) -> bool| {
            let truth: Vec<u8> = (0..6).map(|i| f(&code(x[i]), &c[i % 3]).into()).collect();
            Tensor::from_bytes(Elem::Bool, &[2, 3], &truth).unwrap()
        };
        assert!(found == [of(f32::eq), of(f32::lt), of(|x, c| c <= x)], "{elem}");
    }
}
