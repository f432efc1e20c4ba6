//! Tests the quantizations and dequantizations at the borders of an integer graph, with a grid per channel along any
//! axis.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{options, run_with};
use strait_execute::{Tensor, reference};
use strait_kernels::Isa;

#[test]
fn grids_along_any_axis_are_the_definition() {
    for (axis, scales, zeros) in [
        (0, "[0.5,0.25]", "[3,-7]"),
        (1, "[0.5,0.25,1.75]", "[3,-7,0]"),
        (2, "[0.5,0.25,1.75,0.3,0.1]", "[3,-7,0,100,-100]"),
        (1, "[0.5,0.25,1.75]", "2"),
    ] {
        let grid = format!("scale={scales} zero={zeros} axis={axis}");
        let text = format!(
            "strait 1 integer main=@main\ngraph @main(%x: f32[2,3,5]) {{\n\
             %q: i8[2,3,5] {grid} = quantize(%x) {{to=i8, rounding=half_even, reciprocal=0}}\n\
             %y: f32[2,3,5] = dequantize(%q)\nreturn %y, %q\n}}\n"
        );
        let module = strait_core::text::parse(&text).unwrap();
        let x: Vec<f32> = (0..30).map(|i| (i as f32 - 15.0) * 0.37).collect();
        let input = Tensor::from_values(&[2, 3, 5], &x).unwrap();
        let expected = reference::run(&module, module.main, &[input.view()], &mut |_, _| {}).unwrap();
        for isa in Isa::available() {
            let found = run_with(&module, std::slice::from_ref(&input), &options(isa), 1).unwrap();
            assert_eq!(found, expected, "axis {axis} on {}", isa.name());
        }
    }
}
