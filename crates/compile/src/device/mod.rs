//! Inputs as devices hand them over: 8-bit numbers, with the channels where the camera puts them.
//!
//! [`embed`] puts the steps between the device's numbers and the model's input into the graph. [`take_bytes`] then brings
//! every such chain of nodes into one form, also if the model had it already:
//!
//! ```text
//! u8 codes ─▶ dequantize ─▶ transpose ─▶ batch_normalization ─▶ the model
//!             code − zero               (x)·factor + summand, by channel
//! ```
//!
//! The rules that fold a batch normalization into the layer behind it do the rest. `zero` is the number that the
//! steps map to 0, if it is an integer and the same for all channels. Then 0 is 0 on both sides of the normalization,
//! and it can be folded into a convolution that pads with zeros.

mod bytes;
mod embed;

pub(crate) use bytes::{ranges, take_bytes};
pub use embed::{DeviceError, EmbeddedInput, embed};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use strait_core::Module;
    use strait_core::text::parse;

    fn input(offset: &[f64], factor: &[f64]) -> EmbeddedInput {
        EmbeddedInput {
            name: "x".to_owned(),
            elem: "u8".to_owned(),
            axes: vec![0, 3, 1, 2],
            channel: 1,
            offset: offset.to_vec(),
            factor: factor.to_vec(),
            reversed: false,
        }
    }

    fn model(shape: &str) -> Module {
        let text = format!("strait 1 float graph @main(%x: {shape}) {{ %y: {shape} = relu(%x) return %y }}");
        parse(&text).unwrap()
    }

    /// The ops of the main graph in their order, and the zero point of the input.
    fn form(mut module: Module) -> (String, Option<i32>) {
        take_bytes(&mut module).unwrap();
        let graph = module.main();
        let order = graph.topological_order().unwrap();
        let ops: Vec<&str> = order.iter().map(|&id| graph.node(id).unwrap().op.name()).collect();
        let grid = graph.value(graph.inputs()[0]).unwrap().quant.clone();
        (ops.join(" "), grid.and_then(|grid| Some(grid.as_tensor()?.1)))
    }

    #[test]
    fn an_integer_that_all_channels_share_is_the_zero_point() {
        let made =
            |offset: &[f64], factor: &[f64]| form(embed(model("f32[1,3,4,5]"), &[input(offset, factor)]).unwrap());
        let scaled = "dequantize transpose batch_normalization relu";
        for (offset, factor, expected) in [
            (&[0.0][..], &[1.0][..], ("dequantize transpose relu", 0)),
            (&[128.0], &[1.0], ("dequantize transpose relu", 128)),
            (&[128.0], &[0.5], (scaled, 128)),
            (&[7.0; 3], &[0.5, 0.25, 0.125], (scaled, 7)),
            (&[7.0, 7.0, 8.0], &[1.0; 3], (scaled, 0)),
            (&[127.5], &[1.0], (scaled, 0)),
            (&[256.0], &[1.0], (scaled, 0)),
            (&[-1.0], &[1.0], (scaled, 0)),
        ] {
            let (ops, zero) = made(offset, factor);
            assert_eq!(
                (ops.as_str(), zero),
                (expected.0, Some(expected.1)),
                "{offset:?} {factor:?}"
            );
        }
    }

    #[test]
    fn chains_of_a_model_are_taken_as_far_as_they_are_affine() {
        for (nodes, expected) in [
            // A single number for all channels, and an order of operands that is no difference to a constant.
            (
                "%f: f32[1,4,5,3] = cast(%x) {to=f32} %y: f32[1,4,5,3] = sub(%c, %f)",
                "dequantize sub",
            ),
            (
                "%f: f32[1,4,5,3] = cast(%x) {to=f32} %y: f32[1,4,5,3] = sub(%f, %c)",
                "dequantize",
            ),
            // Two readers.
            (
                "%f: f32[1,4,5,3] = cast(%x) {to=f32} %y: f32[1,4,5,3] = add(%f, %f)",
                "dequantize add",
            ),
            // A function that is not affine stays, and so does everything behind it.
            (
                "%f: f32[1,4,5,3] = cast(%x) {to=f32} %r: f32[1,4,5,3] = relu(%f) %y: f32[1,4,5,3] = sub(%r, %c)",
                "dequantize relu sub",
            ),
        ] {
            let nodes = nodes.replace("%c", "@c");
            let text = format!(
                "strait 1 float graph @main(%x: u8[1,4,5,3]) {{ {nodes} return %y }} data @c: f32[1] = inline [9.0]"
            );
            assert_eq!(form(parse(&text).unwrap()).0, expected, "{nodes}");
        }
    }

    #[test]
    fn steps_that_do_not_fit_the_input_are_refused() {
        for (shape, embedded, part) in [
            ("f32[1,3,4]", input(&[0.0], &[1.0]), "its layout has 4 axes"),
            ("f32[1,2,4,5]", input(&[0.0; 3], &[1.0; 3]), "numbers for 3 channels"),
            (
                "f32[1,2,4,5]",
                EmbeddedInput {
                    reversed: true,
                    ..input(&[0.0], &[1.0])
                },
                "three channels of colour",
            ),
            ("i64[1,3,4,5]", input(&[0.0], &[1.0]), "only inputs of floats"),
        ] {
            let text = format!("strait 1 float graph @main(%x: {shape}) {{ %y: {shape} = identity(%x) return %y }}");
            let told = embed(parse(&text).unwrap(), &[embedded]).unwrap_err().to_string();
            assert!(told.contains(part), "{told}");
        }
    }
}
