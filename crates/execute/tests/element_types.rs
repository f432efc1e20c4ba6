//! Codes of 4 and 16 bits: plans compute what the interpreter says, and 4-bit tensors are the same numbers as wider ones.
#![allow(clippy::unwrap_used)]

mod common;

use common::run;
use strait_core::text::parse;
use strait_core::{Elem, Module};
use strait_execute::{Tensor, reference};

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
