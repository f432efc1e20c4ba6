//! Tests of the result types of each op: a table of shapes, and invalid attributes that must never cause a panic.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like tests")]

use crate::support;

use proptest::prelude::*;
use strait_core::text::{parse, type_text};
use strait_core::{Attribute, Dim, Elem, Op, TensorType};

/// The types that inference gives for `op`, whose operands are `%a`, `%b`, …, or the code of its refusal.
fn infer(op: &str, operands: &[&str]) -> String {
    let inputs: Vec<String> = operands
        .iter()
        .zip('a'..)
        .map(|(ty, name)| format!("%{name}: {ty}"))
        .collect();
    let text = format!(
        "strait 1 export graph @g({}) {{ %y: f32[] = {op} return %y }}",
        inputs.join(", ")
    );
    let module = parse(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    let (_, node) = module.main().nodes().next().unwrap();
    let types: Vec<Option<&TensorType>> = node
        .inputs
        .iter()
        .map(|i| i.and_then(|v| module.main().value(v)).map(|v| &v.ty))
        .collect();
    match node.op.infer(&types) {
        Ok(types) => types
            .iter()
            .map(|ty| type_text(&module, ty))
            .collect::<Vec<_>>()
            .join(", "),
        Err(reason) => reason.code.to_string(),
    }
}

fn conv(stride: u32, pad: &str, dilation: u32, groups: u32) -> String {
    format!(
        "conv(%a, %b) {{stride=[{stride},{stride}], pad={pad}, dilation=[{dilation},{dilation}], groups={groups}, pad_value=0}}"
    )
}

fn recurrent(cell: &str, direction: &str, activations: usize, operands: &str) -> String {
    let (words, numbers) = (vec!["tanh"; activations].join(" "), vec!["0.0"; activations].join(","));
    format!(
        "recurrent({operands}) {{cell={cell}, direction={direction}, activations=\"{words}\", alpha=[{numbers}], beta=[{numbers}], clip=inf, coupled=0}}"
    )
}

fn transposed(stride: u32, more: &str, pad: &str, groups: u32) -> String {
    format!(
        "conv_transpose(%a, %b) {{stride=[{stride},{stride}], pad={pad}, dilation=[1,1], output_padding={more}, groups={groups}}}"
    )
}

fn pool(size: u32, stride: u32, pad: &str, ceil: u32) -> String {
    format!("max_pool(%a) {{size=[{size},{size}], stride=[{stride},{stride}], pad={pad}, dilation=[1,1], ceil={ceil}}}")
}

#[test]
fn shapes_are_those_of_the_table() {
    const ROI: &str = "{mode=average, height=2, width=5, sampling=0, scale=0.5, half_pixel=1}";
    const GEMM: &str = "{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
    const WIDE: &str = "{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0, accumulator=i64}";
    let cases: &[(String, &[&str], &str)] = &[
        // Convolutions, with extents floor((x + pads − (k − 1)·d − 1) / s) + 1.
        (conv(1, "[1,1,1,1]", 1, 1), &["f32[N,3,32,32]", "f32[16,3,3,3]"], "f32[N,16,32,32]"),
        (conv(2, "[0,0,1,1]", 1, 1), &["f32[1,3,224,224]", "f32[32,3,3,3]"], "f32[1,32,112,112]"),
        (conv(1, "[2,2,2,2]", 2, 8), &["f32[1,8,10,10]", "f32[8,1,3,3]"], "f32[1,8,10,10]"),
        (conv(1, "[0,0,0,0]", 1, 1), &["i8[1,3,8,8]", "i8[16,3,3,3]"], "i32[1,16,6,6]"),
        (conv(1, "[0,0,0,0]", 1, 1), &["u8[1,3,8,8]", "i8[16,3,3,3]"], "i32[1,16,6,6]"),
        (conv(1, "[0,0,0,0]", 1, 1), &["f32[1,3,N,8]", "f32[16,3,1,1]"], "f32[1,16,N,8]"),
        (conv(1, "[0,0,0,0]", 1, 1), &["f32[1,3,N,8]", "f32[16,3,3,3]"], "f32[1,16,\"\",6]"),
        (conv(1, "[0,0,0,0]", 1, 1), &["f32[1,3,8,8]", "i8[16,3,3,3]"], "element-types"),
        (conv(1, "[0,0,0,0]", 1, 2), &["f32[1,3,8,8]", "f32[16,3,3,3]"], "conv-channels"),
        (conv(1, "[0,0,0,0]", 1, 0), &["f32[1,3,8,8]", "f32[16,3,3,3]"], "conv-channels"),
        (conv(0, "[0,0,0,0]", 1, 1), &["f32[1,3,8,8]", "f32[16,3,3,3]"], "window"),
        (conv(1, "[0,0,0,0]", 0, 1), &["f32[1,3,8,8]", "f32[16,3,3,3]"], "window"),
        (conv(1, "[0,0,0,0]", 4, 1), &["f32[1,3,8,8]", "f32[16,3,3,3]"], "window"),
        (conv(1, "[0,0]", 1, 1), &["f32[1,3,8,8]", "f32[16,3,3,3]"], "conv-attributes"),
        (conv(4294967295, "[4294967295,4294967295,4294967295,4294967295]", 4294967295, 1), &["f32[1,3,8,8]", "f32[16,3,3,3]"], "f32[1,16,1,1]"),
        // Matrix products; the left operand may have any rank.
        (format!("gemm(%a, %b) {GEMM}"), &["f32[N,64]", "f32[10,64]"], "f32[N,10]"),
        (format!("gemm(%a, %b, %c) {GEMM}"), &["i8[2,5,64]", "i8[10,64]", "i32[10]"], "i32[2,5,10]"),
        (format!("gemm(%a, %b, %c) {GEMM}"), &["i8[2,64]", "i8[10,64]", "i8[10]"], "element-types"),
        (format!("gemm(%a, %b) {GEMM}"), &["f32[2,64]", "f32[64,10]"], "gemm-inner"),
        (format!("gemm(%a, %b) {}", GEMM.replace('}', ", weight_zero=[1,2]}")), &["i8[3,64]", "u8[2,64]"], "i32[3,2]"),
        (format!("gemm(%a, %b) {}", GEMM.replace('}', ", weight_zero=[1,2]}")), &["i8[3,64]", "u8[3,64]"], "weight-zeros"),
        (conv(1, "[0,0,0,0]", 1, 1).replace('}', ", weight_zero=[1,2]}"), &["i8[1,3,8,8]", "u8[2,3,3,3]"], "i32[1,2,6,6]"),
        (conv(1, "[0,0,0,0]", 1, 1).replace('}', ", weight_zero=[1]}"), &["i8[1,3,8,8]", "u8[2,3,3,3]"], "weight-zeros"),
        ("gemm(%a, %b) {transpose_a=0, transpose_b=1, alpha=0.5, beta=1.0}".into(), &["i8[2,64]", "i8[10,64]"], "gemm-factors"),
        ("matmul(%a, %b) {a_zero=0, b_zero=0}".into(), &["f32[8,1,5,3]", "f32[4,3,7]"], "f32[8,4,5,7]"),
        ("matmul(%a, %b) {a_zero=0, b_zero=0}".into(), &["f32[3]", "f32[3]"], "f32[]"),
        ("matmul(%a, %b) {a_zero=0, b_zero=0}".into(), &["f32[2,3]", "f32[2,3]"], "matmul-inner"),
        // Pools; with `ceil`, windows that would start in the trailing padding are dropped.
        (pool(2, 2, "[0,0,0,0]", 0), &["f32[1,3,7,7]"], "f32[1,3,3,3]"),
        (pool(2, 2, "[0,0,0,0]", 1), &["f32[1,3,7,7]"], "f32[1,3,4,4]"),
        (pool(2, 2, "[1,1,1,1]", 1), &["i8[1,3,7,7]"], "i8[1,3,4,4]"),
        (pool(2, 2, "[2,0,0,0]", 0), &["f32[1,3,7,7]"], "pool"),
        (pool(2, 2, "[0,0,0,2]", 0), &["f32[1,3,7,7]"], "pool"),
        (pool(0, 1, "[0,0,0,0]", 0), &["f32[1,3,7,7]"], "window"),
        (pool(8, 1, "[0,0,0,0]", 0), &["f32[1,3,7,7]"], "window"),
        ("global_average_pool(%a)".into(), &["f32[N,3,7,7]"], "f32[N,3,1,1]"),
        ("reduce(%a) {reduction=sum, axes=[-1,1], keep_dims=0}".into(), &["i8[2,3,4]"], "i32[2]"),
        ("reduce(%a) {reduction=sum, axes=[], keep_dims=1}".into(), &["i64[2,3]"], "i64[1,1]"),
        ("reduce(%a) {reduction=max, axes=[1,-2], keep_dims=1}".into(), &["f32[2,3,4]"], "axes"),
        ("reduce(%a) {reduction=product, axes=[0], keep_dims=0}".into(), &["i64[2,3]"], "i64[3]"),
        // Casts that keep the bits.
        ("bit_cast(%a) {to=i32}".into(), &["f32[N,3]"], "i32[N,3]"),
        ("bit_cast(%a) {to=f16}".into(), &["i16[3]"], "f16[3]"),
        ("bit_cast(%a) {to=i64}".into(), &["f32[3]"], "element-types"),
        ("bit_cast(%a) {to=u8}".into(), &["bool[3]"], "element-types"),
        ("bit_cast(%a) {to=i4}".into(), &["u4[3]"], "element-types"),
        // Operands that broadcast.
        ("add(%a, %b)".into(), &["f32[N,3,1]", "f32[3,5]"], "f32[N,3,5]"),
        ("add(%a, %b)".into(), &["i8[2]", "i8[1]"], "i32[2]"),
        ("add(%a, %b)".into(), &["i64[2]", "i64[]"], "i64[2]"),
        ("add(%a, %b)".into(), &["f32[N]", "f32[M]"], "f32[\"\"]"),
        ("add(%a, %b)".into(), &["f32[2]", "i8[2]"], "element-types"),
        ("add(%a, %b)".into(), &["f32[1048576,1]", "f32[1,1048577]"], "too-large"),
        ("add(%a)".into(), &["f32[2]"], "arity"),
        ("add(%a, _)".into(), &["f32[2]"], "arity"),
        // Ops that change the shape.
        ("reshape(%a) {shape=[0,-1]}".into(), &["f32[2,3,4]"], "f32[2,12]"),
        ("reshape(%a) {shape=[0,12]}".into(), &["f32[N,3,4]"], "f32[N,12]"),
        ("reshape(%a) {shape=[-1,-1]}".into(), &["f32[2,3]"], "reshape"),
        ("reshape(%a) {shape=[5]}".into(), &["f32[2,3]"], "reshape"),
        ("reshape(%a) {shape=[0,0,0]}".into(), &["f32[2,3]"], "reshape"),
        ("reshape(%a) {shape=[4611686018427387904,4,-1]}".into(), &["f32[2,3]"], "reshape"),
        ("reshape(%a) {shape=[-9223372036854775808]}".into(), &["f32[2,3]"], "reshape"),
        ("flatten(%a) {axis=2}".into(), &["f32[N,3,4,5]"], "f32[\"\",20]"),
        ("flatten(%a) {axis=1}".into(), &["f32[N,3,4,5]"], "f32[N,60]"),
        ("flatten(%a) {axis=-9223372036854775808}".into(), &["f32[2]"], "axis"),
        ("squeeze(%a) {axes=[]}".into(), &["f32[1,3,1]"], "f32[3]"),
        ("squeeze(%a) {axes=[1]}".into(), &["f32[1,3,1]"], "squeeze"),
        ("unsqueeze(%a) {axes=[0,-1]}".into(), &["f32[3]"], "f32[1,3,1]"),
        ("unsqueeze(%a) {axes=[0,0]}".into(), &["f32[3]"], "axes"),
        ("transpose(%a) {permutation=[2,0,1]}".into(), &["f32[N,3,4]"], "f32[4,N,3]"),
        ("transpose(%a) {permutation=[0,0,1]}".into(), &["f32[2,3,4]"], "permutation"),
        ("concat(%a, %b) {axis=-1}".into(), &["i8[N,3]", "i8[N,5]"], "i8[N,8]"),
        ("concat(%a, %b) {axis=0}".into(), &["f32[2,3]", "f32[2,4]"], "concat"),
        ("slice(%a) {starts=[1,-1], ends=[9223372036854775807,-9223372036854775808], axes=[0,1], steps=[2,-1]}".into(), &["f32[6,5]"], "f32[3,5]"),
        ("slice(%a) {starts=[0], ends=[3], axes=[0], steps=[0]}".into(), &["f32[6]"], "slice"),
        ("slice(%a) {starts=[4], ends=[2], axes=[0], steps=[1]}".into(), &["f32[6]"], "f32[0]"),
        ("slice(%a) {starts=[9223372036854775807], ends=[-9223372036854775808], axes=[0], steps=[-9223372036854775808]}".into(), &["f32[6]"], "f32[1]"),
        ("pad(%a) {amounts=[0,1,0,-2], mode=constant, value=0.0}".into(), &["f32[2,6]"], "f32[2,5]"),
        ("pad(%a) {amounts=[-3,2], mode=constant, value=0.0}".into(), &["f32[2]"], "pad"),
        ("pad(%a) {amounts=[2,0], mode=reflect, value=0.0}".into(), &["f32[2]"], "pad"),
        ("resize(%a) {mode=nearest, coordinate=asymmetric, nearest=floor, scales=[1.0,1.0,2.0,2.5], sizes=[]}".into(), &["f32[N,3,4,5]"], "f32[N,3,8,12]"),
        ("resize(%a) {mode=nearest, coordinate=asymmetric, nearest=floor, scales=f32[], sizes=[3,7]}".into(), &["f32[3,5]"], "f32[3,7]"),
        ("resize(%a) {mode=nearest, coordinate=asymmetric, nearest=floor, scales=[nan(0x7fc00000)], sizes=[]}".into(), &["f32[3]"], "resize"),
        ("resize(%a) {mode=cubic, coordinate=tf_crop_and_resize, nearest=floor, scales=[1.5,2.0], sizes=[4,7], region=[0.0,0.0,1.0,0.5,9.0]}".into(), &["f32[3,5]"], "f32[4,7]"),
        ("resize(%a) {mode=cubic, coordinate=tf_crop_and_resize, nearest=floor, scales=[1.5,2.0], sizes=[]}".into(), &["f32[3,5]"], "resize"),
        ("resize(%a) {mode=nearest, coordinate=asymmetric, nearest=floor, scales=[0.0], sizes=[2]}".into(), &["f32[3]"], "resize"),
        ("pad(%a, %b) {amounts=[0,1,0,-9223372036854775808], mode=edge, value=0.0}".into(), &["f32[2,6]", "i64[4]"], "f32[2,\"\"]"),
        ("pad(%a, %b) {amounts=[0,1,0,1], mode=edge, value=0.0}".into(), &["f32[2,6]", "i64[3]"], "operands"),
        ("resize(%a, %b) {mode=nearest, coordinate=asymmetric, nearest=floor, scales=f32[], sizes=[3,-1]}".into(), &["f32[3,5]", "i64[2]"], "f32[3,\"\"]"),
        ("resize(%a, %b) {mode=nearest, coordinate=asymmetric, nearest=floor, scales=[2.0,0.0], sizes=[]}".into(), &["f32[3,5]", "f32[2]"], "f32[6,\"\"]"),
        ("resize(%a, %b) {mode=nearest, coordinate=asymmetric, nearest=floor, scales=[2.0,0.0], sizes=[]}".into(), &["f32[3,5]", "i64[2]"], "operands"),
        ("resize(%a, %b) {mode=nearest, coordinate=asymmetric, nearest=floor, scales=f32[], sizes=[3,-2]}".into(), &["f32[3,5]", "i64[2]"], "resize"),
        // Transposed convolutions, with extents (x − 1)·stride + (kernel − 1)·dilation + 1 + output_padding − pads.
        (transposed(2, "[1,0]", "[1,0,0,1]", 1), &["f32[N,3,4,5]", "f32[3,8,3,2]"], "f32[N,8,9,9]"),
        (transposed(1, "[0,0]", "[0,0,0,0]", 3), &["f32[1,3,N,5]", "f32[3,2,1,1]"], "f32[1,6,N,5]"),
        (transposed(2, "[0,0]", "[0,0,0,0]", 1), &["f32[1,3,N,5]", "f32[3,2,1,1]"], "symbolic-window"),
        (transposed(1, "[0,0]", "[9,0,0,0]", 1), &["f32[1,3,4,5]", "f32[3,2,3,3]"], "window"),
        (transposed(0, "[0,0]", "[0,0,0,0]", 1), &["f32[1,3,4,5]", "f32[3,2,3,3]"], "window"),
        (transposed(1, "[0,0]", "[0,0,0,0]", 2), &["f32[1,3,4,5]", "f32[3,2,3,3]"], "conv-channels"),
        (transposed(1, "[0,0]", "[0,0,0,0]", 1), &["f32[1,3,4,5]", "f32[4,2,3,3]"], "conv-channels"),
        (transposed(1, "[0]", "[0,0,0,0]", 1), &["f32[1,3,4,5]", "f32[3,2,3,3]"], "conv-attributes"),
        (transposed(1, "[0,0]", "[0,0,0,0]", 1).replace("%b", "%b, %c"), &["f32[1,3,4,5]", "f32[3,2,3,3]", "f32[3]"], "conv-bias"),
        (transposed(1, "[0,0]", "[0,0,0,0]", 1), &["i8[1,3,4,5]", "i8[3,2,3,3]"], "element-types"),
        ("deform_conv(%a, %b, %c) {stride=[1,1], pad=[1,1,0,0], dilation=[1,1], groups=1, offset_groups=2}".into(), &["f32[N,4,5,5]", "f32[8,4,2,2]", "f32[N,16,5,5]"], "f32[N,8,5,5]"),
        ("deform_conv(%a, %b, %c) {stride=[1,1], pad=[1,1,0,0], dilation=[1,1], groups=1, offset_groups=2}".into(), &["f32[N,4,5,5]", "f32[8,4,2,2]", "f32[N,8,5,5]"], "operands"),
        ("deform_conv(%a, %b, %c) {stride=[1,1], pad=[1,1,0,0], dilation=[1,1], groups=1, offset_groups=3}".into(), &["f32[N,4,5,5]", "f32[8,4,2,2]", "f32[N,24,5,5]"], "conv-channels"),
        ("col2im(%a) {image=[5,5], block=[1,5], stride=[1,1], pad=[0,0,0,0], dilation=[1,1]}".into(), &["f32[N,10,5]"], "f32[N,2,5,5]"),
        ("col2im(%a) {image=[5,5], block=[1,5], stride=[1,1], pad=[0,0,0,0], dilation=[1,1]}".into(), &["f32[N,10,4]"], "operands"),
        ("col2im(%a) {image=[5], block=[6], stride=[1], pad=[0,0], dilation=[1]}".into(), &["f32[N,6,1]"], "window"),
        ("grid_sample(%a, %b) {mode=cubic, border=zeros, align_corners=0}".into(), &["f32[N,3,8,9]", "f32[N,4,5,2]"], "f32[N,3,4,5]"),
        ("grid_sample(%a, %b) {mode=linear, border=border, align_corners=1}".into(), &["f32[2,3,8,9,4]", "f32[2,4,5,6,3]"], "f32[2,3,4,5,6]"),
        ("grid_sample(%a, %b) {mode=linear, border=border, align_corners=1}".into(), &["f32[2,3,8,9]", "f32[2,4,5,3]"], "operands"),
        ("grid_sample(%a, %b) {mode=linear, border=border, align_corners=1}".into(), &["f32[2,3,0,9]", "f32[2,4,5,2]"], "operands"),
        (recurrent("plain", "forward", 1, "%a, %b"), &["f32[T,N,5]", "f32[1,5,5]"], "f32[T,1,N,5], f32[1,N,5]"),
        (recurrent("lstm", "bidirectional", 6, "%a, %b, %c"), &["f32[7,N,40]", "f32[2,20,5]", "i64[N]"], "f32[7,2,N,5], f32[2,N,5], f32[2,N,5]"),
        (recurrent("gru", "reverse", 2, "%a, %b, _, %c"), &["f32[7,3,15]", "f32[1,15,5]", "f32[1,3,5]"], "f32[7,1,3,5], f32[1,3,5]"),
        (recurrent("gru", "reverse", 2, "%a, %b, _, %c"), &["f32[7,3,15]", "f32[1,15,5]", "f32[1,5,3]"], "operands"),
        (recurrent("gru", "reverse", 2, "%a, %b, _, _, %c"), &["f32[7,3,15]", "f32[1,15,5]", "f32[1,3,5]"], "operands"),
        (recurrent("gru", "reverse", 1, "%a, %b"), &["f32[7,3,15]", "f32[1,15,5]"], "operands"),
        (recurrent("lstm", "forward", 3, "%a, %b"), &["f32[7,3,15]", "f32[1,15,5]"], "operands"),
        (recurrent("plain", "forward", 1, "%a, %b"), &["i64[7,3,5]", "i64[1,5,5]"], "element-types"),
        (format!("roi_align(%a, %b, %c) {ROI}"), &["f32[N,3,8,9]", "f32[R,4]", "i64[R]"], "f32[R,3,2,5]"),
        (format!("roi_align(%a, %b, %c) {ROI}"), &["f32[N,3,8,9]", "f32[7,5]", "i64[7]"], "operands"),
        (format!("roi_align(%a, %b, %c) {ROI}"), &["f32[N,3,8,9]", "f32[7,4]", "i64[6]"], "operands"),
        ("gather_elements(%a, %b) {axis=1}".into(), &["f32[N,9,4]", "i64[N,2,3]"], "f32[N,2,3]"),
        ("gather_elements(%a, %b) {axis=1}".into(), &["f32[2,9,4]", "i64[2,20,4]"], "f32[2,20,4]"),
        ("gather_elements(%a, %b) {axis=1}".into(), &["f32[2,9,4]", "i64[3,9,4]"], "gather"),
        ("gather_elements(%a, %b) {axis=1}".into(), &["f32[2,9]", "i32[2,9]"], "gather"),
        ("gather_nd(%a, %b) {batch=0}".into(), &["i8[2,9,4]", "i64[5,6,2]"], "i8[5,6,4]"),
        ("gather_nd(%a, %b) {batch=1}".into(), &["bool[N,9,4]", "i64[N,6,1]"], "bool[N,6,4]"),
        ("gather_nd(%a, %b) {batch=1}".into(), &["f32[2,9,4]", "i64[3,6,1]"], "gather"),
        ("gather_nd(%a, %b) {batch=0}".into(), &["f32[2,9]", "i64[6,3]"], "gather"),
        ("gather_nd(%a, %b) {batch=4294967295}".into(), &["f32[2,9]", "i64[6,1]"], "gather"),
        ("scatter(%a, %b, %c) {by=element, axis=1, combine=add}".into(), &["f32[2,9]", "i64[2,3]", "f32[2,3]"], "f32[2,9]"),
        ("scatter(%a, %b, %c) {by=element, axis=1, combine=add}".into(), &["f32[2,9]", "i64[2,3]", "f32[2,4]"], "operands"),
        ("scatter(%a, %b, %c) {by=slice, axis=0, combine=replace}".into(), &["i64[N,9,4]", "i64[5,1]", "i64[5,9,4]"], "i64[N,9,4]"),
        ("scatter(%a, %b, %c) {by=slice, axis=0, combine=replace}".into(), &["f32[2,9]", "i64[5,3]", "f32[5]"], "operands"),
        ("scatter(%a, %b, %c) {by=slice, axis=0, combine=replace}".into(), &["f32[2,9]", "i64[5,1]", "i64[5,9]"], "element-types"),
        ("arg_reduce(%a) {extreme=maximum, axis=-1, keep_dims=1, last=0}".into(), &["f32[N,9]"], "i64[N,1]"),
        ("arg_reduce(%a) {extreme=minimum, axis=0, keep_dims=0, last=1}".into(), &["i64[4,9]"], "i64[9]"),
        ("arg_reduce(%a) {extreme=minimum, axis=0, keep_dims=0, last=1}".into(), &["f32[0,9]"], "operands"),
        ("cumulative(%a) {of=product, axis=-1, exclusive=1, reverse=0}".into(), &["i64[N,9]"], "i64[N,9]"),
        ("cumulative(%a) {of=product, axis=-1, exclusive=1, reverse=0}".into(), &["bool[2,9]"], "element-types"),
        ("top_k(%a) {k=3, axis=1, largest=1}".into(), &["f32[N,9]"], "f32[N,3], i64[N,3]"),
        ("top_k(%a) {k=10, axis=1, largest=1}".into(), &["f32[N,9]"], "operands"),
        ("top_k(%a) {k=-1, axis=1, largest=1}".into(), &["f32[N,9]"], "operands"),
        ("det(%a)".into(), &["f32[N,3,3]"], "f32[N]"),
        ("det(%a)".into(), &["f32[2,3]"], "operands"),
        ("dft(%a) {transform=forward_half, axis=1, length=9}".into(), &["f32[N,16,1]"], "f32[N,5,2]"),
        ("dft(%a) {transform=forward_half, axis=1, length=9}".into(), &["f32[N,16,2]"], "operands"),
        ("dft(%a) {transform=inverse_half, axis=-2, length=8}".into(), &["f32[N,5,2]"], "f32[N,8,1]"),
        ("dft(%a) {transform=inverse, axis=2, length=8}".into(), &["f32[N,5,2]"], "operands"),
        ("dft(%a) {transform=inverse, axis=1, length=0}".into(), &["f32[N,5,2]"], "operands"),
        ("gather(%a, %b) {axis=1}".into(), &["f32[2,9,4]", "i64[3,5]"], "f32[2,3,5,4]"),
        ("gather(%a, %b) {axis=1}".into(), &["f32[2,9,4]", "i32[3]"], "gather"),
        // Conversions to integers and back.
        ("quantize(%a) {to=i8, rounding=half_even, reciprocal=0}".into(), &["f32[N,2]"], "i8[N,2]"),
        ("quantize(%a) {to=i64, rounding=half_even, reciprocal=0}".into(), &["f32[2]"], "quantize-type"),
        ("dequantize(%a)".into(), &["i32[2]"], "f32[2]"),
        ("dequantize(%a)".into(), &["bool[2]"], "dequantize-type"),
        ("requantize(%a) {form={arith_folded shift=[1,2] rounding=floor out=u8}, axis=1}".into(), &["i32[N,2]"], "u8[N,2]"),
        ("requantize(%a) {form={arith_folded shift=[1,2] rounding=floor out=u8}, axis=7}".into(), &["i32[N,2]"], "requantize-channels"),
        ("lookup(%a, %b)".into(), &["i8[N,2]", "u8[256]"], "u8[N,2]"),
        ("lookup(%a, %b)".into(), &["i16[2]", "u8[256]"], "lookup"),
        ("lookup(%a, %b)".into(), &["i16[2]", "i16[65536]"], "i16[2]"),
        ("lookup(%a, %b)".into(), &["u4[2]", "i8[16]"], "i8[2]"),
        ("lookup(%a, %b)".into(), &["i32[2]", "i8[256]"], "lookup"),
        ("interpolate(%a, %b) {step=7, rounding=half_up}".into(), &["i16[N,2]", "i16[513]"], "i16[N,2]"),
        ("interpolate(%a, %b) {step=8, rounding=floor}".into(), &["u8[2]", "i8[2]"], "i8[2]"),
        ("interpolate(%a, %b) {step=0, rounding=half_up}".into(), &["i16[2]", "i16[65537]"], "lookup"),
        ("interpolate(%a, %b) {step=9, rounding=half_up}".into(), &["u8[2]", "i8[2]"], "lookup"),
        ("interpolate(%a, %b) {step=7, rounding=half_up}".into(), &["i16[2]", "i32[513]"], "lookup"),
        ("integer_resize(%a) {sizes=[1,2,6,8], coordinate=half_pixel, fraction=11, rounding=half_up}".into(), &["i8[1,2,3,4]"], "i8[1,2,6,8]"),
        ("integer_resize(%a) {sizes=[1,2,6,8], coordinate=half_pixel, fraction=0, rounding=half_up}".into(), &["i8[1,2,3,4]"], "resize"),
        ("integer_resize(%a) {sizes=[2,4,6,4], coordinate=half_pixel, fraction=15, rounding=half_up}".into(), &["i8[1,2,3,4]"], "resize"),
        ("integer_resize(%a) {sizes=[1,0], coordinate=asymmetric, fraction=4, rounding=floor}".into(), &["u16[1,3]"], "resize"),
        ("integer_resize(%a) {sizes=[1,6], coordinate=asymmetric, fraction=4, rounding=floor}".into(), &["i32[1,3]"], "resize"),
        ("integer_softmax(%a) {axis=-1, definition=litert.softmax.int8.v1, multiplier=1073741824, exponent=3}".into(), &["i8[N,511]"], "i8[N,511]"),
        ("integer_softmax(%a) {axis=1, definition=litert.softmax.int8.v1, multiplier=1073741824, exponent=3}".into(), &["i8[2,512]"], "softmax-domain"),
        ("integer_softmax(%a) {axis=0, definition=litert.softmax.int8.v1, multiplier=1073741824, exponent=3}".into(), &["i8[N,5]"], "softmax-domain"),
        ("integer_softmax(%a) {axis=0, definition=litert.softmax.int8.v1, multiplier=1073741824, exponent=3}".into(), &["i16[5]"], "softmax-domain"),
        ("integer_softmax(%a) {axis=0, definition=litert.softmax.int8.v1, multiplier=7, exponent=3}".into(), &["i8[5]"], "softmax-domain"),
        ("integer_softmax(%a) {axis=0, definition=litert.tanh.int8.v1, multiplier=1073741824, exponent=3}".into(), &["i8[5]"], "softmax-domain"),
        ("integer_softmax(%a) {axis=1, definition=litert.softmax.int8.v1, multiplier=1073741824, exponent=3}".into(), &["i8[5]"], "axis"),
        ("integer_softmax(%a) {axis=0, definition=litert.softmax.int16.v1, multiplier=1073741824, exponent=-3}".into(), &["i16[65538]"], "i16[65538]"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[N,4,64]", "i16[64]"], "i8[N,4,64]"),
        ("integer_layer_normalization(%a, %b, %c) {axis=1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=u16}".into(), &["i16[2,4,64]", "i16[4,64]", "i64[4,64]"], "u16[2,4,64]"),
        ("integer_layer_normalization(%a, %b, %c) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["u8[3,32768]", "i16[32768]", "i32[32768]"], "i8[3,32768]"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["u8[3,32769]", "i16[32769]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[4,N]", "i16[N]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[4,0]", "i16[0]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i32[4]", "i16[4]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["f32[4]", "i16[4]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[4]", "i8[4]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b, %c) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[4]", "i16[4]", "i16[4]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=7, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[4]", "i16[4]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i32}".into(), &["i8[4]", "i16[4]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=f32}".into(), &["i8[4]", "i16[4]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=litert.softmax.int8.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[4]", "i16[4]"], "layer-normalization-domain"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[3,4]", "i16[3]"], "layer-normalization-shape"),
        ("integer_layer_normalization(%a, %b, %c) {axis=-1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[3,4]", "i16[4]", "i32[1]"], "layer-normalization-shape"),
        ("integer_layer_normalization(%a, %b) {axis=1, definition=strait.layer_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[4]", "i16[4]"], "axis"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.rms_norm.v1, epsilon=0, multiplier=1073741824, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i16[N,4,64]", "i16[64]"], "i8[N,4,64]"),
        ("integer_layer_normalization(%a, %b) {axis=-1, definition=strait.rms_norm.v1, epsilon=0, multiplier=7, bias_multiplier=0, shift=40, zero=0, to=i8}".into(), &["i8[4]", "i16[4]"], "layer-normalization-domain"),
        ("rms_normalization(%a, %b) {axis=-1, epsilon=0.1}".into(), &["f32[N,4,64]", "f32[64]"], "f32[N,4,64]"),
        ("rms_normalization(%a, %b) {axis=1, epsilon=0.1}".into(), &["f32[2,4,64]", "f32[4,1]"], "f32[2,4,64]"),
        ("rms_normalization(%a, %b) {axis=-1, epsilon=0.1}".into(), &["f32[4,64]", "f32[2,4,64]"], "layer-normalization-shape"),
        ("rms_normalization(%a, %b) {axis=2, epsilon=0.1}".into(), &["f32[4,64]", "f32[64]"], "axis"),
        ("shift_left(%a) {zero=-128, bits=23}".into(), &["i8[2]"], "i32[2]"),
        ("shift_left(%a) {zero=0, bits=24}".into(), &["i8[2]"], "i32[2]"),
        ("shift_left(%a) {zero=1, bits=24}".into(), &["i8[2]"], "shift-left"),
        ("shift_left(%a) {zero=-1, bits=24}".into(), &["i8[2]"], "shift-left"),
        ("shift_left(%a) {zero=0, bits=255}".into(), &["i8[2]"], "shift-left"),
        ("shift_left(%a) {zero=-32768, bits=15}".into(), &["i16[2]"], "i32[2]"),
        ("shift_left(%a) {zero=-32768, bits=16}".into(), &["i16[2]"], "shift-left"),
        ("shift_left(%a) {zero=-32768, bits=47, accumulator=i64}".into(), &["i16[2]"], "i64[2]"),
        ("shift_left(%a) {zero=-32768, bits=48, accumulator=i64}".into(), &["i16[2]"], "shift-left"),
        ("shift_left(%a) {zero=0, bits=255, accumulator=i64}".into(), &["u4[2]"], "shift-left"),
        ("shift_left(%a) {zero=0, bits=0, accumulator=i64}".into(), &["i32[2]"], "shift-left"),
        (format!("gemm(%a, %b) {WIDE}"), &["i16[4,3]", "i8[2,3]"], "i64[4,2]"),
        (format!("gemm(%a, %b, %c) {WIDE}"), &["i16[4,3]", "i8[2,3]", "i64[2]"], "i64[4,2]"),
        (format!("gemm(%a, %b, %c) {WIDE}"), &["i16[4,3]", "i8[2,3]", "i32[2]"], "element-types"),
        (format!("gemm(%a, %b, %c) {GEMM}"), &["i16[4,3]", "i8[2,3]", "i64[2]"], "element-types"),
        (format!("gemm(%a, %b) {WIDE}"), &["f32[4,3]", "f32[2,3]"], "element-types"),
        ("matmul(%a, %b) {a_zero=0, b_zero=0, accumulator=i64}".into(), &["i16[4,3]", "u16[3,2]"], "i64[4,2]"),
        ("mul(%a, %b) {a_zero=0, b_zero=0, accumulator=i64}".into(), &["i16[4,3]", "i8[3]"], "i64[4,3]"),
        ("mul(%a, %b) {a_zero=0, b_zero=0}".into(), &["f32[4,3]", "i8[3]"], "element-types"),
        ("mul(%a, %b) {a_zero=0, b_zero=0, accumulator=i64}".into(), &["i64[3]", "i64[3]"], "element-types"),
        ("add(%a, %b)".into(), &["i64[4,3]", "i64[3]"], "i64[4,3]"),
        ("add(%a, %b)".into(), &["i64[4,3]", "i32[3]"], "element-types"),
        ("reduce(%a) {reduction=sum, axes=[0], keep_dims=0, accumulator=i64}".into(), &["u16[4,3]"], "i64[3]"),
        ("reduce(%a) {reduction=max, axes=[0], keep_dims=0, accumulator=i64}".into(), &["u16[4,3]"], "element-types"),
        ("sum_pool(%a) {size=[2,2], stride=[2,2], pad=[0,0,0,0], dilation=[1,1], ceil=0, pad_value=0, accumulator=i64}".into(), &["i16[1,2,4,4]"], "i64[1,2,2,2]"),
        ("requantize(%a) {form={arith_folded shift=1 rounding=floor out=i16}, axis=1}".into(), &["i64[N,2]"], "i16[N,2]"),
        ("dequantize(%a)".into(), &["i64[2]"], "f32[2]"),
        ("shift_left(%a) {zero=128, bits=0}".into(), &["i8[2]"], "shift-left"),
        ("clamp(%a) {min=1, max=0}".into(), &["i8[2]"], "clamp"),
    ];
    for (op, operands, expect) in cases {
        assert_eq!(infer(op, operands), *expect, "{op} of {operands:?}");
    }
}

#[test]
fn split_gives_a_result_per_piece() {
    assert_eq!(
        infer("split(%a) {axis=-1, sizes=[1,0,4]}", &["f32[2,5]"]),
        "f32[2,1], f32[2,0], f32[2,4]"
    );
    for sizes in ["[1,2]", "[-1,6]", "[9223372036854775807,9223372036854775807,7]"] {
        assert_eq!(
            infer(&format!("split(%a) {{axis=1, sizes={sizes}}}"), &["f32[2,5]"]),
            "split"
        );
    }
    let pieces = vec!["1"; 257].join(",");
    assert_eq!(
        infer(&format!("split(%a) {{axis=0, sizes=[{pieces}]}}"), &["f32[257]"]),
        "split"
    );
}

const EXTREMES: [i64; 12] = [
    0,
    1,
    -1,
    2,
    7,
    i32::MAX as i64,
    u32::MAX as i64,
    1 << 40,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
    -2,
];

/// The same attribute with numbers at the ends of their types, as far as the op accepts them.
fn hostile(choices: &mut support::Choices<'_>, attribute: Attribute) -> Attribute {
    if choices.flip() {
        return attribute;
    }
    match attribute {
        Attribute::Int(_) => Attribute::Int(choices.pick(&EXTREMES)),
        Attribute::Ints(list) => {
            let length = if choices.flip() { list.len() } else { choices.below(20) };
            Attribute::Ints((0..length).map(|_| choices.pick(&EXTREMES)).collect())
        }
        Attribute::Float(_) => Attribute::Float(choices.pick(&[f32::NAN, f32::MAX, -0.0, f32::NEG_INFINITY])),
        Attribute::Floats(list) => Attribute::Floats(
            list.iter()
                .map(|_| choices.pick(&[f32::NAN, f32::MAX, 1e-45, f32::INFINITY]))
                .collect(),
        ),
        other => other,
    }
}

fn hostile_type(choices: &mut support::Choices<'_>) -> TensorType {
    let dims = [0, 1, 2, 3, 256, u64::from(u32::MAX), 1 << 40, i64::MAX as u64, u64::MAX];
    let rank = choices.pick(&[0, 1, 2, 3, 4, 4, 4, 5, 16]);
    let mut ty = TensorType::fixed(choices.pick(&Elem::ALL), &[]);
    let mut names = strait_core::Names::default();
    for _ in 0..rank {
        ty.shape.push(if choices.below(8) == 0 {
            Dim::Named(names.intern("N"))
        } else {
            Dim::Fixed(choices.pick(&dims))
        });
    }
    ty
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn no_attributes_and_shapes_make_inference_panic(words in prop::collection::vec(any::<u32>(), 20..100)) {
        let mut choices = support::Choices::new(&words);
        let op = support::op(&mut choices, true);
        let list = op.attribute_list().into_iter().map(|(key, value)| (key.into_owned(), hostile(&mut choices, value))).collect();
        // Overflow checks are on in tests, so an unchecked sum or product would panic here.
        if let Ok(op) = Op::from_attribute_list(op.name(), list) {
            let operands: Vec<TensorType> = (0..op.arity().1.min(3)).map(|_| hostile_type(&mut choices)).collect();
            let operands: Vec<Option<&TensorType>> = operands.iter().map(Some).collect();
            for ty in op.infer(&operands).into_iter().flatten() {
                let count = strait_core::shape::element_count(&ty.shape);
                prop_assert!(ty.dims().is_none() || count.is_some());
            }
        }
    }
}
