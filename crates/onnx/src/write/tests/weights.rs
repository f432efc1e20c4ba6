//! Tests constant matrices that are written as [inputs, outputs].

use super::{decoded, nodes};
use crate::proto::{ModelProto, TensorProto};

fn constant<'m>(model: &'m ModelProto, name: &str) -> &'m TensorProto {
    let graph = model.graph.as_ref().unwrap();
    graph.initializer.iter().find(|tensor| tensor.name == name).unwrap()
}

/// The attributes of the first DequantizeLinear.
fn blocks(model: &ModelProto) -> Vec<(&str, i64)> {
    let graph = model.graph.as_ref().unwrap();
    let node = graph
        .node
        .iter()
        .find(|node| node.op_type == "DequantizeLinear")
        .unwrap();
    let attributes = node.attribute.iter();
    attributes
        .map(|found| (found.name.as_str(), found.i.unwrap()))
        .collect()
}

/// A product of `rank` axes by weights of 8 bits with a scale for each two inputs of each output.
fn product(activations: &str, result: &str) -> String {
    format!(
        "strait 1 float\ngraph @main(%x: {activations}) {{\n  %w: f32[2,4] = dequantize(@c)\n  %y: {result} = gemm(%x, %w) \
         {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}\n  return %y\n}}\n\
         data @c: i8[2,4] scale=[1.0,2.0,3.0,4.0] zero=0 axis=1 block=2 = inline [1,2,3,4,5,6,7,8]"
    )
}

#[test]
fn weights_that_alone_have_codes_lie_with_their_inputs_first() {
    for (activations, result, product_node) in [
        ("f32[1,3,4]", "f32[1,3,2]", "y = MatMul(x, w)"),
        ("f32[3,4]", "f32[3,2]", "y = Gemm(x, w)"),
    ] {
        let model = decoded(&product(activations, result));
        assert_eq!(nodes(&model)[1], product_node);
        let codes = constant(&model, "c");
        // Computed by hand: the columns of the matrix become rows, and so do the columns of its scales, [[1, 2], [3,
        // 4]].
        assert_eq!(
            (codes.dims.as_slice(), codes.raw_data.as_deref()),
            (&[4i64, 2][..], Some(&[1u8, 5, 2, 6, 3, 7, 4, 8][..]))
        );
        let scales = constant(&model, "c_scale");
        let expected: Vec<u8> = [1.0f32, 3.0, 2.0, 4.0]
            .iter()
            .flat_map(|scale| scale.to_le_bytes())
            .collect();
        assert_eq!(
            (scales.dims.as_slice(), scales.raw_data.as_deref()),
            (&[2i64, 2][..], Some(expected.as_slice()))
        );
        assert_eq!(blocks(&model), [("axis", 0), ("block_size", 2)]);
        let keys: Vec<&str> = model.metadata_props.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["session.qdq_matmulnbits_accuracy_level"]);
    }
}

#[test]
fn weights_of_a_quantized_gemm_and_of_two_kinds_of_readers_stay() {
    let quantized = "strait 1 float\ngraph @main(%x: f32[3,4]) {\n  \
         %q: u8[3,4] scale=0.5 zero=3 = quantize(%x) {to=u8, rounding=half_even, reciprocal=0}\n  %f: f32[3,4] = dequantize(%q)\n  \
         %w: f32[2,4] = dequantize(@c)\n  %y: f32[3,2] = gemm(%f, %w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}\n  return %y\n}\n\
         data @c: i8[2,4] scale=0.5 zero=0 = inline [1,2,3,4,5,6,7,8]";
    let shared = "strait 1 float\ngraph @main(%x: f32[1,3,4]) {\n  \
         %y: f32[1,3,2] = gemm(%x, @c) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}\n  %z: f32[2,4] = add(@c, @c)\n  return %y, %z\n}\n\
         data @c: f32[2,4] = inline [1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0]";
    for text in [quantized, shared] {
        let model = decoded(text);
        assert_eq!(constant(&model, "c").dims, [2, 4]);
        assert!(model.metadata_props.is_empty());
    }
    assert!(nodes(&decoded(shared)).iter().any(|node| node.contains("Transpose")));
}
