//! Tests modules whose nodes compute on codes, which become quantized operators.

use super::{module, nodes};
use crate::error::WriteError;
use crate::proto::{ModelProto, TensorProto};
use crate::write::encode_operators;
use prost::Message;

fn model(text: &str) -> Result<ModelProto, WriteError> {
    let mut bytes = Vec::new();
    encode_operators(&module(text), "data", usize::MAX)?.write(&mut bytes)?;
    Ok(ModelProto::decode(bytes.as_slice()).unwrap())
}

fn constant<'m>(model: &'m ModelProto, name: &str) -> &'m TensorProto {
    let graph = model.graph.as_ref().unwrap();
    graph.initializer.iter().find(|tensor| tensor.name == name).unwrap()
}

/// A node between a `quantize` and a `dequantize`, with operands of 1 × 2 × 2 × 2 and a result on another grid.
fn between(op: &str, result: &str) -> String {
    format!(
        "strait 1 export\ngraph @main(%x: f32[1,2,2,2]) {{\n  %q: u8[1,2,2,2] scale=0.5 zero=3 = quantize(%x) {{to=u8, \
         rounding=half_even, reciprocal=0}}\n  %c: {result} scale=0.25 zero=0 = {op}\n  %y: f32{} = dequantize(%c)\n  return \
         %y\n}}\ndata @w: i8[2,2,1,1] scale=[0.5,0.25] zero=0 axis=0 = inline [1,2,3,4]\n\
         data @m: i8[3,2] scale=[0.5,0.25,0.125] zero=0 axis=0 = inline [1,2,3,4,5,6]\n",
        &result[2..]
    )
}

#[test]
fn each_layer_on_codes_is_one_operator_with_its_grids() {
    const GRIDS: &str = "q, q_scale, q_zero_point";
    const RESULT: &str = "c_scale, c_zero_point";
    for (op, result, expected) in [
        (
            "conv(%q, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}",
            "u8[1,2,2,2]",
            format!("c = QLinearConv({GRIDS}, w, w_scale, w_zero_point, {RESULT})"),
        ),
        (
            "add(%q, %q)",
            "u8[1,2,2,2]",
            format!("c = QLinearAdd({GRIDS}, {GRIDS}, {RESULT})"),
        ),
        (
            "mul(%q, %q) {a_zero=0, b_zero=0}",
            "u8[1,2,2,2]",
            format!("c = QLinearMul({GRIDS}, {GRIDS}, {RESULT})"),
        ),
        (
            "matmul(%q, %q) {a_zero=0, b_zero=0}",
            "u8[1,2,2,2]",
            format!("c = QLinearMatMul({GRIDS}, {GRIDS}, {RESULT})"),
        ),
        (
            "unary(%q) {function=sigmoid}",
            "u8[1,2,2,2]",
            format!("c = QLinearSigmoid({GRIDS}, {RESULT})"),
        ),
        (
            "leaky_relu(%q) {alpha=0.1}",
            "u8[1,2,2,2]",
            format!("c = QLinearLeakyRelu({GRIDS}, {RESULT})"),
        ),
        (
            "reduce(%q) {reduction=mean, axes=[2,3], keep_dims=1}",
            "u8[1,2,1,1]",
            format!("c = QLinearGlobalAveragePool({GRIDS}, {RESULT})"),
        ),
        (
            "quantize(%q) {to=u8, rounding=half_even, reciprocal=0}",
            "u8[1,2,2,2]",
            format!("c = QLinearMul({GRIDS}, c_one, c_one_scale, c_one_zero_point, {RESULT})"),
        ),
    ] {
        let found = nodes(&model(&between(op, result)).unwrap());
        let quantized = "q = QuantizeLinear(x, q_scale, q_zero_point)".to_owned();
        let real = format!("y = DequantizeLinear(c, {RESULT})");
        assert_eq!(found, [quantized, expected, real], "{op}");
    }
}

#[test]
fn products_and_means_of_other_shapes_are_reshaped() {
    let gemm = "gemm(%q, @m) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
    let written = model(&between(gemm, "u8[1,2,2,3]")).unwrap();
    let found = nodes(&written);
    assert_eq!(
        found[1..4],
        [
            "c_matrix = Reshape(q, c_matrix_shape)",
            "c_product = QGemm(c_matrix, q_scale, q_zero_point, m, m_scale, m_zero_point, , c_scale, c_zero_point)",
            "c = Reshape(c_product, c_shape)",
        ]
    );
    let numbers = |name: &str| -> Vec<i64> {
        let bytes = constant(&written, name).raw_data.clone().unwrap();
        bytes
            .chunks(8)
            .map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()))
            .collect()
    };
    assert_eq!(
        (numbers("c_matrix_shape"), numbers("c_shape")),
        (vec![-1, 2], vec![1, 2, 2, 3])
    );
    let mean = "reduce(%q) {reduction=mean, axes=[1], keep_dims=0}";
    let found = nodes(&model(&between(mean, "u8[1,2,2]")).unwrap());
    assert_eq!(
        found[1..5],
        [
            "c_moved = Transpose(q)",
            "c_rows = Reshape(c_moved, c_rows_shape)",
            "c_means = QLinearGlobalAveragePool(c_rows, q_scale, q_zero_point, c_scale, c_zero_point)",
            "c = Reshape(c_means, c_shape)",
        ]
    );
}

#[test]
fn a_clamp_is_written_if_codes_lie_outside_of_its_bounds() {
    let clamped = |clamp: &str| {
        let text = between(clamp, "u8[1,2,2,2]").replace("scale=0.25 zero=0 =", "scale=0.5 zero=3 =");
        let written = model(&text).unwrap();
        let bounds = ["c_min", "c_max"].map(|name| {
            let graph = written.graph.as_ref().unwrap();
            let found = graph.initializer.iter().find(|tensor| tensor.name == name);
            found.map(|tensor| tensor.raw_data.as_ref().unwrap()[0])
        });
        (nodes(&written)[1].clone(), bounds)
    };
    let written = "c = Clip(q, c_min, c_max)".to_owned();
    // Real zero is the code 3, and 6 is the code 3 + 6 / 0.5.
    assert_eq!(clamped("relu(%q)"), (written.clone(), [Some(3), Some(255)]));
    assert_eq!(clamped("clip(%q) {min=0.0, max=6.0}"), (written, [Some(3), Some(15)]));
    // The codes stand for -1.5 to 126. So no operator is written, and the operand has the name of the result.
    let (reader, bounds) = clamped("clip(%q) {min=-2.0, max=200.0}");
    assert_eq!(
        (&*reader, bounds),
        ("y = DequantizeLinear(c, c_scale_1, c_zero_point_1)", [None, None])
    );
}

#[test]
fn a_layer_without_an_operator_is_named() {
    let text = between("unary(%q) {function=tanh}", "u8[1,2,2,2]");
    let error = model(&text).unwrap_err().to_string();
    assert_eq!(error, "`c`: there is no quantized operator for `tanh`");
}

#[test]
fn a_mean_of_rows_and_a_product_take_any_batch() {
    let text = "strait 1 export
graph @main(%x: f32[\"n\",2,3]) {
  %q: u8[\"n\",2,3] scale=0.5 zero=3 = quantize(%x) {to=u8, rounding=half_even, reciprocal=0}
  %p: u8[\"n\",2,2] scale=0.25 zero=0 = gemm(%q, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %c: u8[\"n\",2] scale=0.25 zero=0 = reduce(%p) {reduction=mean, axes=[2], keep_dims=0}
  %y: f32[\"n\",2] = dequantize(%c)
  return %y
}
data @w: i8[2,3] scale=0.5 zero=0 = inline [1,2,3,4,5,6]
";
    let model = model(text).unwrap();
    for (name, expected) in [
        ("p_matrix_shape", vec![-1, 3]),
        ("p_shape", vec![-1, 2, 2]),
        ("c_rows_shape", vec![1, -1, 2, 1]),
        ("c_shape", vec![-1, 2]),
    ] {
        let bytes = constant(&model, name).raw_data.clone().unwrap();
        let found: Vec<i64> = bytes
            .chunks(8)
            .map(|part| i64::from_le_bytes(part.try_into().unwrap()))
            .collect();
        assert_eq!(found, expected, "{name}");
    }
    let input = &model.graph.as_ref().unwrap().input[0];
    let ty = input
        .value_type
        .as_ref()
        .and_then(|ty| ty.tensor_type.as_ref())
        .unwrap();
    assert_eq!(ty.shape.as_ref().unwrap().dim[0].dim_param.as_deref(), Some("n"));
}

#[test]
fn a_product_of_real_numbers_has_zero_points_unless_its_weights_are_symmetric() {
    let written = |elem: &str, zero: &str| {
        let text = format!(
            "strait 1 export\ngraph @main(%x: f32[3,16]) {{\n  %w: f32[2,16] = dequantize(@c)\n  %y: f32[3,2] = gemm(%x, %w) \
             {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}\n  return %y\n}}\n\
             data @c: {elem}[2,16] scale=[1.0,2.0] zero={zero} axis=1 block=16 = splat 3\n"
        );
        nodes(&model(&text).unwrap())
    };
    assert_eq!(written("i8", "0"), ["y = MatMulNBits(x, c_1, c_scale)"]);
    assert_eq!(written("u8", "128"), ["y = MatMulNBits(x, c_1, c_scale)"]);
    assert_eq!(written("i4", "0"), ["y = MatMulNBits(x, c_1, c_scale)"]);
    assert_eq!(
        written("u8", "[128,127]"),
        ["y = MatMulNBits(x, c_1, c_scale, c_zero_point)"]
    );
}
