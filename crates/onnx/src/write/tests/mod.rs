//! Writes modules that are given in text form. Tests what results when the files are read, and the error messages.

mod codes;
mod control;
mod external;
mod recurrent;
mod weights;
mod weights_alone;

use super::write;
use crate::Model;
use crate::proto::{GraphProto, ModelProto, NodeProto, kind};
use prost::Message;
use std::path::Path;
use strait_core::Module;
use strait_core::text::{PrintOptions, parse, print};
use strait_import::{Decoded, ReadOptions};

fn module(text: &str) -> Module {
    parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn bytes(module: &Module) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(module, &mut bytes).unwrap();
    bytes
}

fn decoded(text: &str) -> ModelProto {
    ModelProto::decode(bytes(&module(text)).as_slice()).unwrap()
}

fn nodes(model: &ModelProto) -> Vec<String> {
    let text = |n: &NodeProto| format!("{} = {}({})", n.output.join(", "), n.op_type, n.input.join(", "));
    model.graph.iter().flat_map(|g| g.node.iter().map(text)).collect()
}

/// Ops, each with the type of an operand that fits and the type of the result.
const OPS: &[(&str, &str, &str)] = &[
    (
        "f32[1,4,6,6]",
        "f32[1,8,3,3]",
        "conv(%x, @w, @b) {stride=[2,2], pad=[1,0,1,1], dilation=[1,1], groups=2, pad_value=0}\ndata @w: f32[8,2,3,3] = random 1\ndata @b: f32[8] = random 2",
    ),
    (
        "f32[2,3]",
        "f32[2,4]",
        "gemm(%x, @w, @b) {transpose_a=0, transpose_b=1, alpha=0.5, beta=2.0}\ndata @w: f32[4,3] = random 1\ndata @b: f32[4] = random 2",
    ),
    (
        "f32[2,3]",
        "f32[3,4]",
        "gemm(%x, @w) {transpose_a=1, transpose_b=0, alpha=1.0, beta=1.0}\ndata @w: f32[2,4] = random 1",
    ),
    (
        "f32[5,2,3]",
        "f32[5,2,4]",
        "matmul(%x, @w) {a_zero=0, b_zero=0}\ndata @w: f32[3,4] = random 1",
    ),
    (
        "f32[1,2,3,3]",
        "f32[1,2,3,3]",
        "batch_normalization(%x, @w, @b, @m, @v) {epsilon=0.001}\ndata @w: f32[2] = random 1\ndata @b: f32[2] = random 2\ndata @m: f32[2] = random 3\ndata @v: f32[2] = splat 0.5",
    ),
    (
        "f32[2,3]",
        "f32[2,3]",
        "layer_normalization(%x, @w) {axis=1, epsilon=0.01}\ndata @w: f32[3] = random 1",
    ),
    ("f32[2,3]", "f32[2,3]", "add(%x, %x)"),
    ("f32[2,3]", "f32[2,3]", "sub(%x, @w)\ndata @w: f32[3] = random 1"),
    ("f32[2,3]", "f32[2,3]", "mul(%x, %x) {a_zero=0, b_zero=0}"),
    ("f32[2,3]", "f32[2,3]", "div(%x, %x)"),
    ("f32[2,3]", "f32[2,3]", "pow(%x, @w)\ndata @w: f32[] = splat 2.0"),
    ("f32[2,3]", "f32[2,3]", "relu(%x)"),
    ("f32[2,3]", "f32[2,3]", "clip(%x) {min=0.0, max=6.0}"),
    ("f32[2,3]", "f32[2,3]", "clip(%x) {min=-inf, max=1.0}"),
    ("f32[2,3]", "f32[2,3]", "unary(%x) {function=hard_swish}"),
    ("f32[2,3]", "f32[2,3]", "leaky_relu(%x) {alpha=0.1}"),
    ("f32[2,3]", "f32[2,3]", "hard_sigmoid(%x) {alpha=0.25, beta=0.5}"),
    ("f32[2,3]", "f32[2,3]", "elu(%x) {alpha=2.0}"),
    (
        "f32[1,2,7,7]",
        "f32[1,2,4,4]",
        "max_pool(%x) {size=[2,2], stride=[2,2], pad=[0,0,0,0], dilation=[1,1], ceil=1}",
    ),
    (
        "f32[1,2,7,7]",
        "f32[1,2,5,3]",
        "average_pool(%x) {size=[3,3], stride=[1,1], pad=[0,0,0,0], dilation=[1,2], ceil=0, count_include_pad=1}",
    ),
    ("f32[1,2,7,7]", "f32[1,2,1,1]", "global_average_pool(%x)"),
    (
        "f32[2,3,4]",
        "f32[2,4]",
        "reduce(%x) {reduction=mean, axes=[1], keep_dims=0}",
    ),
    (
        "f32[2,3,4]",
        "f32[1,3,1]",
        "reduce(%x) {reduction=sum, axes=[0,2], keep_dims=1}",
    ),
    (
        "f32[2,3,4]",
        "f32[]",
        "reduce(%x) {reduction=max, axes=[], keep_dims=0}",
    ),
    ("f32[2,3]", "f32[2,3]", "softmax(%x) {axis=-1}"),
    ("f32[N,3,4]", "f32[N,12]", "reshape(%x) {shape=[0,-1]}"),
    ("f32[N,3,4]", "f32[N,12]", "flatten(%x) {axis=1}"),
    ("f32[1,3,1]", "f32[3]", "squeeze(%x) {axes=[]}"),
    ("f32[1,3,1]", "f32[1,3]", "squeeze(%x) {axes=[2]}"),
    ("f32[3]", "f32[1,3,1]", "unsqueeze(%x) {axes=[0,2]}"),
    ("f32[2,3,4]", "f32[4,2,3]", "transpose(%x) {permutation=[2,0,1]}"),
    ("f32[2,3]", "f32[2,6]", "concat(%x, %x) {axis=1}"),
    (
        "f32[5,6]",
        "f32[2,3]",
        "slice(%x) {starts=[1,5], ends=[3,-7], axes=[0,1], steps=[1,-2]}",
    ),
    (
        "f32[2,3]",
        "f32[5,3]",
        "pad(%x) {amounts=[1,0,2,0], mode=edge, value=0.0}",
    ),
    (
        "f32[1,1,2,3]",
        "f32[1,1,4,9]",
        "resize(%x) {mode=linear, coordinate=align_corners, nearest=floor, scales=[1.0,1.0,2.0,3.0], sizes=[]}",
    ),
    (
        "f32[1,1,2,3]",
        "f32[1,1,5,7]",
        "resize(%x) {mode=nearest, coordinate=asymmetric, nearest=ceil, scales=f32[], sizes=[1,1,5,7]}",
    ),
    (
        "f32[2,4]",
        "f32[4,8]",
        "resize(%x) {mode=cubic, coordinate=half_pixel, nearest=round_prefer_floor, scales=[2.0,2.0], sizes=[], exclude_outside=1, cubic=-0.5}",
    ),
    (
        "f32[2,4]",
        "f32[1,2]",
        "resize(%x) {mode=linear, coordinate=half_pixel_symmetric, nearest=round_prefer_floor, scales=[0.6,0.6], sizes=[], antialias=1}",
    ),
    (
        "f32[2,4]",
        "f32[3,3]",
        "resize(%x) {mode=nearest, coordinate=tf_crop_and_resize, nearest=floor, scales=f32[], sizes=[3,3], region=[0.0,0.25,1.0,0.75,7.0]}",
    ),
    (
        "f32[1,4,3,5]",
        "f32[1,6,6,9]",
        "conv_transpose(%x, @w, @b) {stride=[2,1], pad=[1,0,0,0], dilation=[2,3], output_padding=[0,1], groups=2}\ndata @w: f32[4,3,2,2] = random 1\ndata @b: f32[6] = random 2",
    ),
    (
        "f32[1,4,3,5]",
        "f32[1,2,3,5]",
        "deform_conv(%x, @w, @o, @b) {stride=[1,1], pad=[0,0,0,1], dilation=[1,1], groups=2, offset_groups=4}\ndata @w: f32[2,2,1,2] = random 1\ndata @o: f32[1,16,3,5] = random 2\ndata @b: f32[2] = random 3",
    ),
    (
        "f32[1,10,5]",
        "f32[1,2,5,5]",
        "col2im(%x) {image=[5,5], block=[1,5], stride=[1,1], pad=[0,0,0,0], dilation=[1,1]}",
    ),
    (
        "f32[1,2,3,4]",
        "f32[1,2,5,6]",
        "grid_sample(%x, @g) {mode=cubic, border=border, align_corners=1}\ndata @g: f32[1,5,6,2] = random 1",
    ),
    (
        "f32[1,2,3,4,5]",
        "f32[1,2,1,1,2]",
        "grid_sample(%x, @g) {mode=linear, border=reflection, align_corners=0}\ndata @g: f32[1,1,1,2,3] = random 1",
    ),
    (
        "f32[5,3]",
        "f32[2,3]",
        "gather_elements(%x, @i) {axis=0}\ndata @i: i64[2,3] = inline [4,0,1,2,-1,3]",
    ),
    (
        "f32[2,5,3]",
        "f32[2,3]",
        "gather_nd(%x, @i) {batch=1}\ndata @i: i64[2,1] = inline [4,0]",
    ),
    (
        "f32[5,3]",
        "f32[5,3]",
        "scatter(%x, @i, @u) {by=element, axis=1, combine=maximum}\ndata @i: i64[2,1] = inline [2,0]\ndata @u: f32[2,1] = random 1",
    ),
    (
        "f32[5,3]",
        "f32[5,3]",
        "scatter(%x, @i, @u) {by=slice, axis=0, combine=replace}\ndata @i: i64[2,1] = inline [2,0]\ndata @u: f32[2,3] = random 1",
    ),
    (
        "f32[2,3]",
        "i64[2]",
        "arg_reduce(%x) {extreme=minimum, axis=-1, keep_dims=0, last=1}",
    ),
    (
        "f32[2,3]",
        "f32[2,3]",
        "cumulative(%x) {of=sum, axis=1, exclusive=1, reverse=1}",
    ),
    ("f32[4,3,3]", "f32[4]", "det(%x)"),
    (
        "f32[4,8,1]",
        "f32[4,5,2]",
        "dft(%x) {transform=forward_half, axis=1, length=9}",
    ),
    (
        "f32[4,5,2]",
        "f32[4,8,1]",
        "dft(%x) {transform=inverse_half, axis=1, length=8}",
    ),
    (
        "f32[1,4,8,8]",
        "f32[2,4,3,5]",
        "roi_align(%x, @r, @i) {mode=maximum, height=3, width=5, sampling=2, scale=0.25, half_pixel=0}\ndata @r: f32[2,4] = random 1\ndata @i: i64[2] = inline [0,0]",
    ),
    (
        "f32[5,3]",
        "f32[2,3]",
        "gather(%x, @i) {axis=0}\ndata @i: i64[2] = inline [4,0]",
    ),
    (
        "f32[2,3]",
        "f32[3]",
        "reduce(%x) {reduction=product, axes=[0], keep_dims=0}",
    ),
    ("f32[2,3]", "i64[2,3]", "cast(%x) {to=i64}"),
    ("f32[2,3]", "f32[2,3]", "identity(%x)"),
];

#[test]
fn ops_come_back_as_they_were() {
    for (from, to, op) in OPS {
        let (call, data) = op.split_once('\n').unwrap_or((op, ""));
        let text =
            format!("strait 1 float\ngraph @main(%x: {from}) {{\n  %y: {to} = {call}\n  return %y\n}}\n{data}\n");
        let module = module(&text);
        let again = Model::decode(bytes(&module).into(), Path::new(""))
            .unwrap()
            .read(&ReadOptions::default());
        let again = again.unwrap_or_else(|e| panic!("{op}: {e}"));
        assert_eq!(
            print(&again, &PrintOptions::whole()),
            print(&module, &PrintOptions::whole())
        );
    }
}

#[test]
fn several_results_come_back() {
    let text = "strait 1 float\ngraph @main(%x: f32[6]) {\n  %a: f32[2], %b: f32[4] = split(%x) {axis=0, sizes=[2,4]}\n  return %b\n}\n";
    let again = Model::decode(bytes(&module(text)).into(), Path::new(""))
        .unwrap()
        .read(&ReadOptions::default())
        .unwrap();
    assert_eq!(
        print(&again, &PrintOptions::whole()),
        print(&module(text), &PrintOptions::whole())
    );
}

#[test]
fn the_largest_elements_and_their_places_come_back() {
    let text = "strait 1 float\ngraph @main(%x: f32[6]) {\n  %a: f32[2], %b: i64[2] = top_k(%x) {k=2, axis=0, largest=0}\n  return %a, %b\n}\n";
    let again = Model::decode(bytes(&module(text)).into(), Path::new(""))
        .unwrap()
        .read(&ReadOptions::default())
        .unwrap();
    assert_eq!(
        print(&again, &PrintOptions::whole()),
        print(&module(text), &PrintOptions::whole())
    );
}

#[test]
fn functions_that_onnx_lacks_become_several_nodes() {
    let of = |function: &str| {
        let text = format!(
            "strait 1 float\ngraph @main(%x: f32[2]) {{\n  %y: f32[2] = unary(%x) {{function={function}}}\n  return %y\n}}\n"
        );
        nodes(&decoded(&text)).join("; ")
    };
    assert_eq!(of("silu"), "y_1 = Sigmoid(x); y = Mul(x, y_1)");
    assert_eq!(of("mish"), "y_1 = Softplus(x); y_2 = Tanh(y_1); y = Mul(x, y_2)");
    assert_eq!(
        of("gelu"),
        "y_1 = Mul(x, y_root); y_2 = Erf(y_1); y_3 = Add(y_2, y_one); y_4 = Mul(y_3, y_half); y = Mul(x, y_4)"
    );
    assert_eq!(
        of("gelu_tanh"),
        "y_1 = Mul(x, x); y_2 = Mul(y_1, x); y_3 = Mul(y_2, y_cubic); y_4 = Add(x, y_3); y_5 = Mul(y_4, y_root); \
         y_6 = Tanh(y_5); y_7 = Add(y_6, y_one); y_8 = Mul(y_7, y_half); y = Mul(x, y_8)"
    );
}

#[test]
fn functions_of_dequantized_values_are_operators_that_the_file_defines() {
    let of = |function: &str| {
        let text = format!(
            "strait 1 float\ngraph @main(%v: f32[2]) {{\n  %q: u8[2] scale=0.5 zero=10 = quantize(%v) {{to=u8, rounding=half_even, reciprocal=0}}\n  %d: f32[2] = dequantize(%q)\n  %a: f32[2] = unary(%d) {{function={function}}}\n  %b: f32[2] = unary(%d) {{function={function}}}\n  return %a, %b\n}}\n"
        );
        let model = decoded(&text);
        let again = Model::decode(bytes(&module(&text)).into(), Path::new("")).unwrap();
        again.read(&ReadOptions::default()).unwrap();
        let domains: Vec<&str> = model.opset_import.iter().map(|set| set.domain.as_str()).collect();
        assert_eq!(domains, ["", "com.microsoft"]);
        let [defined] = model.functions.as_slice() else {
            panic!("{} functions", model.functions.len());
        };
        let graph = GraphProto {
            node: defined.node.clone(),
            ..GraphProto::default()
        };
        let inside = ModelProto {
            graph: Some(graph),
            ..ModelProto::default()
        };
        assert_eq!(
            (defined.input.join(", "), defined.output.join(", ")),
            ("x".into(), "y".into())
        );
        format!("{}; {}", nodes(&model)[2..].join("; "), nodes(&inside).join("; "))
    };
    assert_eq!(
        of("silu"),
        "a = QuickGelu(d); b = QuickGelu(d); QuickGelu = Sigmoid(x); y = Mul(x, QuickGelu)"
    );
    assert_eq!(
        of("gelu"),
        "a = Gelu(d); b = Gelu(d); Gelu_root = Constant(); Gelu_one = Constant(); Gelu_half = Constant(); \
         Gelu = Mul(x, Gelu_root); Gelu_1 = Erf(Gelu); Gelu_2 = Add(Gelu_1, Gelu_one); Gelu_3 = Mul(Gelu_2, Gelu_half); \
         y = Mul(x, Gelu_3)"
    );
    assert!(of("gelu_tanh").starts_with("a = FastGelu(d); b = FastGelu(d); "));
}

#[test]
fn a_normalization_by_the_mean_square_becomes_several_nodes() {
    let of = |elem: &str| {
        let text = format!(
            "strait 1 annotated\ngraph @main(%x: f32[2,3]) {{\n  %q: {elem}[2,3] scale=0.1 zero=0 = quantize(%x) {{to={elem}, rounding=half_even, reciprocal=0}}\n  %d: f32[2,3] = dequantize(%q)\n  %y: f32[2,3] = rms_normalization(%d, @w) {{axis=1, epsilon=0.25}}\n  return %y\n}}\ndata @w: f32[3] = random 1\n"
        );
        nodes(&decoded(&text))[2..].join("; ")
    };
    let parts = "y_3 = Add(y_2, y_epsilon); y_4 = Sqrt(y_3); y_5 = Div(d, y_4); y = Mul(y_5, w)";
    assert_eq!(of("i8"), format!("y_1 = Mul(d, d); y_2 = ReduceMean(y_1); {parts}"));
    // From operator set 18 on the axes are an operand.
    assert_eq!(
        of("i16"),
        format!("y_1 = Mul(d, d); y_2 = ReduceMean(y_1, y_axes); {parts}")
    );
}

const QUANTIZED: &str = "strait 1 annotated
graph @main(%x: f32[1,2,4,4]) {
  %q: i8[1,2,4,4] scale=0.1 zero=-3 = quantize(%x) {to=i8, rounding=half_even, reciprocal=0}
  %d: f32[1,2,4,4] = dequantize(%q)
  %w: f32[3,2,1,1] = dequantize(@weight)
  %b: f32[3] = dequantize(@bias)
  %c: f32[1,3,4,4] = conv(%d, %w, %b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  return %c
}
data @weight: i8[3,2,1,1] scale=[0.5,0.25,1.0] zero=0 axis=0 = inline [1,2,3,4,5,6]
data @bias: i32[3] scale=[0.05,0.025,0.1] zero=0 axis=0 = inline [7,8,9]
";

#[test]
fn grids_become_scales_and_zero_points() {
    let model = decoded(QUANTIZED);
    assert_eq!(
        nodes(&model),
        [
            "q = QuantizeLinear(x, q_scale, q_zero_point)",
            "d = DequantizeLinear(q, q_scale, q_zero_point)",
            "w = DequantizeLinear(weight, weight_scale, weight_zero_point)",
            "b = DequantizeLinear(bias, bias_scale)",
            "c = Conv(d, w, b)",
        ]
    );
    let graph = model.graph.unwrap();
    let constant = |name: &str| graph.initializer.iter().find(|t| t.name == name).unwrap();
    let zero = constant("q_zero_point");
    assert_eq!(
        (zero.data_type, zero.dims.len(), zero.raw_data.as_deref()),
        (3, 0, Some(&[253u8][..]))
    );
    let scales = [0.5f32, 0.25, 1.0].map(f32::to_le_bytes).concat();
    assert_eq!(constant("weight_scale").raw_data.as_deref(), Some(&scales[..]));
    assert_eq!(constant("weight_zero_point").raw_data.as_deref(), Some(&[0u8; 3][..]));
    let axis = &graph.node[2].attribute[0];
    assert_eq!((axis.name.as_str(), axis.kind, axis.i), ("axis", kind::INT, Some(0)));
    assert!(
        graph.node[0].attribute.is_empty(),
        "one grid for the tensor has no axis"
    );
}

#[test]
fn codes_of_4_and_16_bits_take_a_newer_operator_set() {
    let of = |elem: &str| {
        let text = format!(
            "strait 1 annotated\ngraph @main(%x: f32[2]) {{\n  %q: {elem}[2] scale=0.1 zero=0 = quantize(%x) {{to={elem}, rounding=half_even, reciprocal=0}}\n  %y: f32[2] = dequantize(%q)\n  return %y\n}}\n"
        );
        let model = decoded(&text);
        (model.opset_import[0].version, model.ir_version)
    };
    assert_eq!((of("i8"), of("u8")), ((17, 8), (17, 8)));
    for elem in ["i16", "u16", "i4", "u4"] {
        assert_eq!(of(elem), (21, 10), "{elem}");
    }
}

#[test]
fn a_grid_by_block_has_its_scales_in_the_shape_of_the_blocks() {
    let text = "strait 1 annotated\ngraph @main() {\n  %y: f32[2,4] = dequantize(@w)\n  return %y\n}\n\
        data @w: i4[2,4] scale=[1.0,2.0,3.0,4.0] zero=0 axis=1 block=2 = inline [1,2,3,4,5,6,7,-8]\n";
    let model = decoded(text);
    assert_eq!(model.opset_import[0].version, 21);
    let graph = model.graph.unwrap();
    let attributes: Vec<_> = graph.node[0].attribute.iter().map(|a| (a.name.as_str(), a.i)).collect();
    assert_eq!(attributes, [("axis", Some(1)), ("block_size", Some(2))]);
    let scale = graph.initializer.iter().find(|t| t.name == "w_scale").unwrap();
    let scales = [1.0f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat();
    assert_eq!(
        (&scale.dims[..], scale.raw_data.as_deref()),
        (&[2i64, 2][..], Some(&scales[..]))
    );
}

#[test]
fn numbers_that_no_operator_rounds_to_cannot_be_written() {
    for scheme in ["e4m3 half_even", "i8[-127,127] symmetric dynamic half_even"] {
        let text = format!(
            "strait 1 float\ngraph @main(%x: f32[2]) {{\n  %y: f32[2] = round_to(%x) {{scheme=\"{scheme}\"}}\n  return %y\n}}\n"
        );
        let error = write(&module(&text), &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("`y`: no operator rounds to small floats"), "{error}");
    }
}

#[test]
fn rounding_to_a_grid_is_written_as_its_arithmetic() {
    let text = "strait 1 float\ngraph @main(%x: f32[2,3]) {\n  %y: f32[2,3] scale=[0.5,1.0,2.0] zero=[0,-128,127] axis=1 = \
                round_to(%x) {scheme=\"i8[-128,127] asymmetric channel=1 half_even\"}\n  return %y\n}\n";
    assert_eq!(
        nodes(&decoded(text)),
        [
            "y_steps = Div(x, y_scale)",
            "y_rounded = Round(y_steps)",
            "y_above = Max(y_rounded, y_low)",
            "y_codes = Min(y_above, y_high)",
            "y = Mul(y_codes, y_scale)"
        ]
    );
}

#[test]
fn numbers_of_the_same_bits_cannot_be_written() {
    let text = "strait 1 float\ngraph @main(%x: f32[2]) {\n  %y: i32[2] = bit_cast(%x) {to=i32}\n  return %y\n}\n";
    let error = write(&module(text), &mut Vec::new()).unwrap_err().to_string();
    assert!(
        error.contains("`y`: ONNX has an operator for the same bits from operator set 26 on"),
        "{error}"
    );
}

#[test]
fn outputs_of_the_main_graph_keep_their_names() {
    let text = "strait 1 float\ngraph @main(%x: f32[2]) {\n  %y: f32[2] = relu(%x)\n  return %x, %y, %y, @c\n}\ndata @c: f32[1] = splat 1.0\n";
    let model = decoded(text);
    // Each name occurs only once.
    assert_eq!(nodes(&model), ["y = Relu(x)", "y_1 = Identity(y)"]);
    let outputs: Vec<String> = model.graph.unwrap().output.into_iter().map(|o| o.name).collect();
    assert_eq!(outputs, ["x", "y", "y_1", "c"]);
}

#[test]
fn a_grid_behind_another_one_stands_apart() {
    let pairs = |dims: &str| {
        let grid = |scale: &str| format!("i8{dims} scale={scale} zero=0");
        let to = "{to=i8, rounding=half_even, reciprocal=0}";
        let text = format!(
            "strait 1 annotated\ngraph @main(%x: f32{dims}) {{\n  %q: {} = quantize(%x) {to}\n  %d: f32{dims} = dequantize(%q)\n  %r: {} = quantize(%d) {to}\n  %y: f32{dims} = dequantize(%r)\n  return %y\n}}\n",
            grid("0.5"),
            grid("0.75")
        );
        nodes(&decoded(&text))
    };
    let quantize = "r = QuantizeLinear(d_apart, r_scale, r_zero_point)";
    assert_eq!(pairs("[2,3]")[2..4], ["d_apart = Concat(d)", quantize]);
    // A Concat cannot join scalars, because they have no axes.
    assert_eq!(pairs("[]")[2], "r = QuantizeLinear(d, r_scale, r_zero_point)");
}

/// ONNX Runtime's QLinearSoftmax overflows if the reciprocal of the scale is above n · e⁵, here 445.
#[test]
fn a_softmax_on_a_fine_grid_stands_apart() {
    let written = |scale: f32| {
        let text = format!(
            "strait 1 annotated\ngraph @main(%x: f32[2,3]) {{\n  %s: f32[2,3] = softmax(%x) {{axis=-1}}\n  %t: f32[3,2] = \
             transpose(%s) {{permutation=[1,0]}}\n  %r: u8[3,2] scale={scale} zero=0 = quantize(%t) {{to=u8, \
             rounding=half_even, reciprocal=0}}\n  %y: f32[3,2] = dequantize(%r)\n  return %y\n}}\n"
        );
        nodes(&decoded(&text))
    };
    let quantize = |operand: &str| format!("r = QuantizeLinear({operand}, r_scale, r_zero_point)");
    assert_eq!(
        written(0.0022)[2..4],
        ["t_apart = Concat(t)".to_owned(), quantize("t_apart")]
    );
    assert_eq!(written(0.0023)[2], quantize("t"));
}

#[test]
fn the_same_module_gives_the_same_bytes() {
    assert_eq!(bytes(&module(QUANTIZED)), bytes(&module(QUANTIZED)));
}

#[test]
fn what_is_not_float_cannot_be_written() {
    for (line, expect) in [
        (
            "%y: i32[2] = add(%x, %x)",
            "`y`: add on integers is not an ONNX operator of floats",
        ),
        ("%y: i8[2] = clamp(%x) {min=0, max=5}", "`y`: clamp on integers"),
        ("%y: f32[2] = dequantize(%x)", "`y`: the integer value has no grid"),
    ] {
        let text = format!("strait 1 integer\ngraph @main(%x: i8[2]) {{\n  {line}\n  return %y\n}}\n");
        let error = write(&module(&text), &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }
}
