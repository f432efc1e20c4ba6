//! Tests which ops the operators become.

use super::make::*;
use super::*;
use crate::proto::{AttributeProto, ModelProto, OperatorSetIdProto, TensorProto};
use strait_core::TensorData;

/// Numbers at which arithmetic tends to break.
const EXTREMES: [i64; 7] = [0, -1, i64::MIN, i64::MAX, 1 << 31, -(1 << 31), 1 << 40];

/// Reads the model with each integer in it replaced by each extreme, one at a time. Reading may succeed or fail, but
/// must not panic.
pub(super) fn survives_extremes(model: &ModelProto) {
    fn integers(model: &mut ModelProto) -> Vec<&mut i64> {
        let graph = model.graph.as_mut().unwrap();
        let attributes = graph.node.iter_mut().flat_map(|n| &mut n.attribute);
        let mut all: Vec<&mut i64> = attributes.flat_map(|a| a.ints.iter_mut().chain(a.i.as_mut())).collect();
        all.extend(
            graph
                .initializer
                .iter_mut()
                .flat_map(|t| t.dims.iter_mut().chain(&mut t.int64_data)),
        );
        for info in &mut graph.input {
            let ty = info
                .value_type
                .as_mut()
                .and_then(|t| t.tensor_type.as_mut()?.shape.as_mut());
            all.extend(
                ty.into_iter()
                    .flat_map(|s| s.dim.iter_mut().filter_map(|d| d.dim_value.as_mut())),
            );
        }
        all
    }
    let mut model = model.clone();
    // Integer constants are stored as lists, so that they can be changed.
    for tensor in model.graph.iter_mut().flat_map(|g| &mut g.initializer) {
        if tensor.data_type == 7 {
            let raw = tensor.raw_data.take().unwrap_or_default();
            tensor.int64_data = raw
                .chunks_exact(8)
                .map(|b| i64::from_le_bytes(b.try_into().unwrap()))
                .collect();
        }
    }
    for position in 0..integers(&mut model).len() {
        let before = *integers(&mut model)[position];
        for extreme in EXTREMES {
            *integers(&mut model)[position] = extreme;
            let _ = read(&model);
        }
        *integers(&mut model)[position] = before;
    }
}

/// Reads the model with each float attribute set to NaN, one at a time. The model must be refused, and the error must
/// name the node and the attribute.
fn refuses_nan(model: &ModelProto) {
    let mut model = model.clone();
    for position in 0..model.graph.as_ref().unwrap().node[0].attribute.len() {
        let attribute = |model: &mut ModelProto, fill: &dyn Fn(&mut AttributeProto)| {
            fill(&mut model.graph.as_mut().unwrap().node[0].attribute[position]);
        };
        let before = model.graph.as_ref().unwrap().node[0].attribute[position].clone();
        if before.f.is_none() && before.floats.is_empty() {
            continue;
        }
        attribute(&mut model, &|a| {
            a.f = a.f.map(|_| f32::NAN);
            a.floats.iter_mut().for_each(|f| *f = f32::NAN);
        });
        let text = read(&model).unwrap_err().to_string();
        let expect = format!("attribute `{}` is NaN", before.name);
        assert!(
            text.contains(&expect) && text.contains("`y`"),
            "{text}\nexpected {expect}"
        );
        attribute(&mut model, &|a| *a = before.clone());
    }
}

/// Reads `y = Op(x, constants…)` and compares a summary of the result with the expected summary. Also checks that no
/// integers make reading panic, and that float attributes with NaN are refused.
pub(super) fn check(
    opset: i64,
    op: &str,
    x: &str,
    constants: Vec<TensorProto>,
    attributes: Vec<AttributeProto>,
    expect: &str,
) {
    check_in("", opset, op, x, constants, attributes, expect);
}

/// Like [`check`], for an operator of another domain. The model uses the only operator set of that domain.
#[allow(clippy::too_many_arguments, reason = "the columns of a table")]
pub(super) fn check_in(
    domain: &str,
    opset: i64,
    op: &str,
    x: &str,
    constants: Vec<TensorProto>,
    attributes: Vec<AttributeProto>,
    expect: &str,
) {
    let names: Vec<&str> = std::iter::once("x")
        .chain(constants.iter().map(|c| c.name.as_str()))
        .collect();
    let mut node = node(&format!("y = {op}({})", names.join(", ")), attributes);
    node.domain = domain.into();
    let mut model = model(opset, graph(&[&format!("x: {x}")], constants, vec![node], &["y"]));
    if !domain.is_empty() {
        model.opset_import.push(OperatorSetIdProto {
            domain: domain.into(),
            version: 1,
        });
    }
    survives_extremes(&model);
    if read(&model).is_ok() {
        refuses_nan(&model);
    }
    let found = read(&model).map(|module| summary(&module));
    let found = found.unwrap_or_else(|e| format!("error: {e}"));
    assert!(
        found.contains(expect),
        "{op} in operator set {opset}\nexpected {expect}\nfound    {found}"
    );
}

#[test]
#[rustfmt::skip] // tables
fn windows_are_resolved() {
    let same = |mode| vec![text("auto_pad", mode), ints("strides", &[2, 2])];
    let conv = |pads: &str, stride: &str, out: &str| {
        format!("conv stride={stride} pad={pads} dilation=[1,1] groups=1 pad_value=0 -> f32[1,2,{out}]")
    };
    let w = || vec![weight("w", &[2, 3, 3, 3])];
    check(11, "Conv", "f32[1,3,8,8]", w(), vec![], &conv("[0,0,0,0]", "[1,1]", "6,6"));
    check(11, "Conv", "f32[1,3,8,8]", w(), same("SAME_UPPER"), &conv("[0,0,1,1]", "[2,2]", "4,4"));
    check(11, "Conv", "f32[1,3,8,8]", w(), same("SAME_LOWER"), &conv("[1,1,0,0]", "[2,2]", "4,4"));
    check(11, "Conv", "f32[1,3,7,8]", w(), same("VALID"), &conv("[0,0,0,0]", "[2,2]", "3,3"));
    check(11, "Conv", "f32[N,3,8,8]", w(), vec![ints("pads", &[1, 1, 1, 1])], "-> f32[N,2,8,8]");
    check(11, "Conv", "f32[1,3,8,8]", w(), vec![ints("strides", &[0, 1])], "error: node `y` (ai.onnx.Conv, operator set 11)");
    check(11, "Conv", "f32[1,3,8,8]", w(), vec![ints("pads", &[-1, 0, 0, 0])], "`pads` is [-1, 0, 0, 0]");
    check(11, "Conv", "f32[1,3,8,8]", w(), vec![ints("kernel_shape", &[5, 5])], "`kernel_shape` is not that of the weight");
    check(11, "Conv", "f32[1,3,8,8]", w(), vec![int("group", -1)], "`group` is -1");
    check(11, "Conv", "f32[1,3,H,8]", w(), same("SAME_UPPER"), "dimension 2 of input `x` has no value: bind `H`");
    let pool = vec![
        ints("kernel_shape", &[3, 3]),
        ints("strides", &[2, 2]),
        int("ceil_mode", 1),
    ];
    check(10, "MaxPool", "f32[1,2,6,6]", vec![], pool, "max_pool size=[3,3] stride=[2,2] pad=[0,0,0,0] dilation=[1,1] ceil=1 -> f32[1,2,3,3]");
    check(7, "AveragePool", "f32[1,2,6,6]", vec![], vec![ints("kernel_shape", &[2, 2]), int("count_include_pad", 1)], "ceil=0 count_include_pad=1 -> f32[1,2,5,5]");
    let even = || vec![ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2]), int("ceil_mode", 1), int("count_include_pad", 1)];
    check(10, "AveragePool", "f32[1,2,6,6]", vec![], even(), "ceil=0 count_include_pad=1 -> f32[1,2,3,3]");
    check(10, "AveragePool", "f32[1,2,6,5]", vec![], even(), "ceil=1 count_include_pad=1 -> f32[1,2,3,3]");
    check(7, "MaxPool", "f32[1,2,6,6]", vec![], vec![], "`kernel_shape` is missing");
    check(7, "ReduceProd", "f32[1,2,6]", vec![], vec![ints("axes", &[1])], "reduce reduction=product axes=[1] keep_dims=1 -> f32[1,1,6]");
    check(7, "GlobalMaxPool", "f32[1,2,6,6]", vec![], vec![], "reduce reduction=max axes=[2,3] keep_dims=1 -> f32[1,2,1,1]");
}

#[test]
#[rustfmt::skip] // tables
fn a_transposed_convolution_is_cut_to_what_it_is_told() {
    let w = || vec![weight("w", &[3, 2, 3, 3])];
    let two = |more: Vec<AttributeProto>| [vec![ints("strides", &[2, 2])], more].concat();
    let op = |pad: &str, more: &str, out: &str| {
        format!("conv_transpose stride=[2,2] pad={pad} dilation=[1,1] output_padding={more} groups=1 -> f32[1,2,{out}]")
    };
    check(7, "ConvTranspose", "f32[1,3,4,5]", w(), two(vec![]), &op("[0,0,0,0]", "[0,0]", "9,11"));
    check(11, "ConvTranspose", "f32[1,3,4,5]", w(), two(vec![ints("pads", &[1, 0, 0, 1]), ints("output_padding", &[1, 0])]), &op("[1,0,0,1]", "[1,0]", "9,10"));
    check(11, "ConvTranspose", "f32[1,3,4,5]", w(), two(vec![text("auto_pad", "SAME_UPPER")]), &op("[0,0,1,1]", "[0,0]", "8,10"));
    check(11, "ConvTranspose", "f32[1,3,4,5]", w(), two(vec![text("auto_pad", "SAME_LOWER")]), &op("[1,1,0,0]", "[0,0]", "8,10"));
    check(11, "ConvTranspose", "f32[1,3,4,5]", w(), two(vec![text("auto_pad", "VALID"), ints("pads", &[1, 1, 1, 1])]), &op("[0,0,0,0]", "[0,0]", "9,11"));
    // Elements are cut off at the beginning first. If the output is larger than the result, the rest is padding.
    check(22, "ConvTranspose", "f32[1,3,4,5]", w(), two(vec![ints("output_shape", &[6, 12])]), &op("[2,0,1,0]", "[0,1]", "6,12"));
    check(11, "ConvTranspose", "f32[1,3,4,5]", w(), two(vec![ints("output_shape", &[1, 2, 6, 12])]), &op("[2,0,1,0]", "[0,1]", "6,12"));
    check(11, "ConvTranspose", "f32[1,3,4,5]", w(), two(vec![ints("output_shape", &[6])]), "`output_shape` does not fit axis 2");
    check(11, "ConvTranspose", "f32[1,3,4,5]", w(), vec![int("group", 3)], "groups=3 -> f32[1,6,6,7]");
    check(11, "ConvTranspose", "f32[1,3,4,5]", w(), vec![int("group", -3)], "`group` is -3");
    check(11, "ConvTranspose", "f32[1,3,4,5]", w(), vec![ints("kernel_shape", &[2, 2])], "`kernel_shape` is not that of the weight");
    check(11, "ConvTranspose", "f32[1,3,H,5]", w(), vec![ints("output_shape", &[6, 6])], "dimension 2 of input `x` has no value: bind `H`");
}

#[test]
#[rustfmt::skip] // tables
fn samples_and_blocks_in_all_their_versions() {
    let grid = || vec![weight("g", &[1, 2, 2, 2])];
    let mode = |word| vec![text("mode", word)];
    check(16, "GridSample", "f32[1,2,3,4]", grid(), vec![], "grid_sample mode=linear border=zeros align_corners=0 -> f32[1,2,2,2]");
    check(16, "GridSample", "f32[1,2,3,4]", grid(), mode("bicubic"), "grid_sample mode=cubic border=zeros align_corners=0 -> f32[1,2,2,2]");
    check(16, "GridSample", "f32[1,2,3,4]", grid(), mode("cubic"), "`mode` is cubic");
    check(20, "GridSample", "f32[1,2,3,4]", grid(), mode("bilinear"), "`mode` is bilinear");
    check(22, "GridSample", "f32[1,2,3,4]", grid(), vec![text("mode", "nearest"), text("padding_mode", "reflection"), int("align_corners", 1)], "grid_sample mode=nearest border=reflection align_corners=1 -> f32[1,2,2,2]");
    check(20, "GridSample", "f32[1,2,3,4,5]", vec![weight("g", &[1, 2, 2, 2, 3])], vec![], "-> f32[1,2,2,2,2]");
    check(15, "GridSample", "f32[1,2,3,4]", grid(), vec![], "exists from operator set 16 on");
    let moved = || vec![weight("w", &[2, 2, 1, 2]), weight("o", &[1, 4, 3, 3])];
    check(19, "DeformConv", "f32[1,2,3,4]", moved(), vec![], "deform_conv stride=[1,1] pad=[0,0,0,0] dilation=[1,1] groups=1 offset_groups=1 -> f32[1,2,3,3]");
    check(22, "DeformConv", "f32[1,2,3,4]", moved(), vec![int("offset_group", 2)], "do not move");
    check(18, "DeformConv", "f32[1,2,3,4]", moved(), vec![], "exists from operator set 19 on");
    let blocks = || vec![list("image", &[5, 5]), list("block", &[1, 5])];
    check(18, "Col2Im", "f32[N,5,5]", blocks(), vec![], "col2im image=[5,5] block=[1,5] stride=[1,1] pad=[0,0,0,0] dilation=[1,1] -> f32[N,1,5,5]");
    check(18, "Col2Im", "f32[1,5,9]", blocks(), vec![ints("pads", &[2, 0, 2, 0])], "pad=[2,0,2,0] dilation=[1,1] -> f32[1,1,5,5]");
    check(18, "Col2Im", "f32[1,5,9]", blocks(), vec![ints("strides", &[1])], "`strides` has 1 entries, 2 are needed");
    check(18, "Col2Im", "f32[1,5,5]", vec![list("image", &[5, -5]), list("block", &[1, 5])], vec![], "its image is [5, -5]");
    check(17, "Col2Im", "f32[1,5,5]", blocks(), vec![], "exists from operator set 18 on");
}

#[test]
#[rustfmt::skip] // tables
fn indices_and_what_goes_along_an_axis_in_all_their_versions() {
    let i = |shape: &[u64]| constant("i", &TensorData::from_values(shape, &vec![0i64; shape.iter().product::<u64>() as usize]).unwrap());
    let u = |shape: &[u64]| weight("u", shape);
    check(11, "GatherElements", "f32[2,9]", vec![i(&[2, 3])], vec![int("axis", -1)], "gather_elements axis=-1 -> f32[2,3]");
    check(10, "GatherElements", "f32[2,9]", vec![i(&[2, 3])], vec![], "exists from operator set 11 on");
    check(11, "GatherND", "f32[2,9]", vec![i(&[2, 1])], vec![], "gather_nd batch=0 -> f32[2,9]");
    check(12, "GatherND", "f32[2,9]", vec![i(&[2, 1])], vec![int("batch_dims", 1)], "gather_nd batch=1 -> f32[2]");
    check(11, "GatherND", "f32[2,9]", vec![i(&[2, 1])], vec![int("batch_dims", 1)], "its attribute `batch_dims` is not known");
    check(9, "Scatter", "f32[2,9]", vec![i(&[2, 3]), u(&[2, 3])], vec![int("axis", 1)], "scatter by=element axis=1 combine=replace -> f32[2,9]");
    check(11, "Scatter", "f32[2,9]", vec![i(&[2, 3]), u(&[2, 3])], vec![], "exists up to operator set 10");
    let by = |word| vec![text("reduction", word)];
    check(16, "ScatterElements", "f32[2,9]", vec![i(&[2, 3]), u(&[2, 3])], by("mul"), "scatter by=element axis=0 combine=multiply -> f32[2,9]");
    check(16, "ScatterElements", "f32[2,9]", vec![i(&[2, 3]), u(&[2, 3])], by("max"), "`reduction` is max");
    check(13, "ScatterElements", "f32[2,9]", vec![i(&[2, 3]), u(&[2, 3])], by("add"), "its attribute `reduction` is not known");
    check(18, "ScatterND", "f32[2,9]", vec![i(&[4, 1]), u(&[4, 9])], by("min"), "scatter by=slice axis=0 combine=minimum -> f32[2,9]");
    check(11, "ScatterND", "f32[2,9]", vec![i(&[4, 1]), u(&[4, 8])], vec![], "does not fill the places");
    check(7, "ArgMax", "f32[2,9]", vec![], vec![], "arg_reduce extreme=maximum axis=0 keep_dims=1 last=0 -> i64[1,9]");
    check(13, "ArgMin", "f32[2,9]", vec![], vec![int("axis", 1), int("keepdims", 0), int("select_last_index", 1)], "arg_reduce extreme=minimum axis=1 keep_dims=0 last=1 -> i64[2]");
    check(11, "ArgMin", "f32[2,9]", vec![], vec![int("select_last_index", 1)], "its attribute `select_last_index` is not known");
    check(11, "CumSum", "f32[2,9]", vec![list("a", &[-1])], vec![int("reverse", 1)], "cumulative of=sum axis=-1 exclusive=0 reverse=1 -> f32[2,9]");
    check(26, "CumProd", "f32[2,9]", vec![list("a", &[0])], vec![int("exclusive", 1)], "cumulative of=product axis=0 exclusive=1 reverse=0 -> f32[2,9]");
    check(14, "CumSum", "f32[2,9]", vec![list("a", &[0, 1])], vec![], "its axis is");
    check(7, "TopK", "f32[2,9]", vec![], vec![int("k", 3)], "top_k k=3 axis=-1 largest=1 -> f32[2,3]");
    check(10, "TopK", "f32[2,9]", vec![list("k", &[3])], vec![int("axis", 1)], "top_k k=3 axis=1 largest=1 -> f32[2,3]");
    check(11, "TopK", "f32[2,9]", vec![list("k", &[3])], vec![int("largest", 0), int("sorted", 0)], "top_k k=3 axis=-1 largest=0 -> f32[2,3]");
    check(10, "TopK", "f32[2,9]", vec![list("k", &[3])], vec![int("largest", 0)], "its attribute `largest` is not known");
    check(11, "TopK", "f32[2,9]", vec![list("k", &[10])], vec![], "10 elements out of axis 1");
    let unpool = |more: Vec<AttributeProto>| [vec![ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2])], more].concat();
    check(9, "MaxUnpool", "f32[1,1,2,2]", vec![i(&[1, 1, 2, 2])], unpool(vec![]), "reshape shape=[-1]; scatter by=element axis=0 combine=replace; reshape shape=[1,1,4,4] -> f32[1,1,4,4]");
    check(11, "MaxUnpool", "f32[1,1,2,2]", vec![i(&[1, 1, 2, 2]), list("s", &[1, 1, 5, 5])], unpool(vec![]), "pad amounts=[0,0,0,0,0,0,1,1] mode=constant value=0 -> f32[1,1,5,5]");
    check(11, "MaxUnpool", "f32[1,1,2,2]", vec![i(&[1, 1, 2, 2]), list("s", &[1, 1, 3, 5])], unpool(vec![]), "is smaller than [1, 1, 4, 4]");
    check(9, "MaxUnpool", "f32[1,1,8192,8192]", vec![i(&[1, 1, 2, 2])], unpool(vec![]), "is too large");
    check(10, "ReverseSequence", "f32[4,3,2]", vec![list("n", &[4, 2, 1])], vec![], "gather_nd batch=0 -> f32[4,3,2]");
    check(10, "ReverseSequence", "f32[3,4]", vec![list("n", &[4, 2, 1])], vec![int("batch_axis", 0), int("time_axis", 1)], "gather_nd batch=0 -> f32[3,4]");
    check(10, "ReverseSequence", "f32[3,4]", vec![list("n", &[4, 2, 1])], vec![int("batch_axis", 0)], "`batch_axis` is 0 and `time_axis` 0");
    check(10, "ReverseSequence", "f32[4]", vec![list("n", &[1])], vec![], "the axes 1 and 0 are outside rank 1");
    check(24, "TensorScatter", "f32[2,8,3]", vec![weight("u", &[2, 4, 3]), list("w", &[1, 7])], vec![text("mode", "circular")], "scatter by=element axis=1 combine=replace -> f32[2,8,3]");
    check(24, "TensorScatter", "f32[2,8,3]", vec![weight("u", &[2, 4, 3])], vec![int("axis", 0)], "along axis 0");
    check(24, "TensorScatter", "f32[2,8,3]", vec![weight("u", &[2, 4, 3])], vec![text("mode", "square")], "`mode` is square");
}

#[test]
#[rustfmt::skip] // tables
fn bits_are_taken_for_other_numbers_of_one_width() {
    let to = |number| vec![int("to", number)];
    check(26, "BitCast", "f32[2]", vec![], to(6), "bit_cast to=i32 -> i32[2]");
    check(26, "BitCast", "i16[2]", vec![], to(10), "bit_cast to=f16; cast to=f32 -> f32[2]");
    check(26, "BitCast", "u32[2]", vec![], to(6), "cast to=i32 -> i32[2]");
    check(26, "BitCast", "f64[2]", vec![], to(7), "the bits of f32, as which its operand is computed, are not those of i64");
    check(26, "BitCast", "f32[2]", vec![], to(7), "are not those of i64");
    check(25, "BitCast", "f32[2]", vec![], to(6), "exists from operator set 26 on");
}

/// As in ONNX's own checker, all operands of an operator must have the same type.
#[test]
#[rustfmt::skip] // tables
fn integers_of_two_widths_in_one_operator_are_refused_by_its_name() {
    let wide = || vec![list("w", &[1, 2])];
    let told = "node `y` (ai.onnx.";
    for operator in ["Add", "Sub", "Mul", "Div", "Sum", "Max", "Min", "Mod", "Equal", "Less", "Greater", "BitwiseAnd", "Clip", "MatMul", "Mean"] {
        check(18, operator, "i32[2]", wide(), vec![], told);
        check(18, operator, "i32[2]", wide(), vec![], "an operand is i32 and another i64; the operator takes one type");
    }
    check(18, "BitShift", "u8[2]", vec![constant("w", &TensorData::from_values(&[2], &[1u32, 2]).unwrap())], vec![text("direction", "LEFT")], "an operand is u8 and another u32");
    check(18, "Add", "i64[2]", wide(), vec![], "add -> i64[2]");
    check(18, "Pow", "i32[2]", wide(), vec![], "pow");
}

#[test]
#[rustfmt::skip] // tables
fn transforms_and_regions_in_all_their_versions() {
    check(11, "Det", "f32[N,3,3]", vec![], vec![], "det -> f32[N]");
    check(17, "DFT", "f32[N,16,1]", vec![], vec![int("onesided", 1)], "dft transform=forward_half axis=1 length=16 -> f32[N,9,2]");
    check(17, "DFT", "f32[N,16,2]", vec![list("n", &[5])], vec![int("inverse", 1), int("axis", -2)], "dft transform=inverse axis=-2 length=5 -> f32[N,5,2]");
    check(20, "DFT", "f32[N,9,2]", vec![list("n", &[20]), list("a", &[1])], vec![int("inverse", 1), int("onesided", 1)], "dft transform=inverse_half axis=1 length=20 -> f32[N,20,1]");
    check(20, "DFT", "f32[N,9,2]", vec![], vec![int("inverse", 1), int("onesided", 1)], "length=16 -> f32[N,16,1]");
    check(20, "DFT", "f32[N,9,2]", vec![list("n", &[0])], vec![], "the length of the transform is 0");
    check(17, "STFT", "f32[2,12]", vec![list("step", &[3]), numbers("w", &[1.0; 4])], vec![], "reshape shape=[0,12,1]; gather axis=1; mul a_zero=0 b_zero=0; dft transform=forward_half axis=2 length=4 -> f32[2,3,3,2]");
    check(17, "STFT", "f32[2,12,2]", vec![list("step", &[0]), numbers("w", &[1.0; 4])], vec![], "its step is not positive");
    let corners = || vec![weight("r", &[3, 4]), list("b", &[0, 0, 0])];
    check(10, "RoiAlign", "f32[1,2,8,8]", corners(), vec![int("output_height", 2)], "roi_align mode=average height=2 width=1 sampling=0 scale=1 half_pixel=0 -> f32[3,2,2,1]");
    check(16, "RoiAlign", "f32[1,2,8,8]", corners(), vec![text("mode", "max"), float("spatial_scale", 0.5), int("sampling_ratio", 2)], "roi_align mode=maximum height=1 width=1 sampling=2 scale=0.5 half_pixel=1 -> f32[3,2,1,1]");
    check(16, "RoiAlign", "f32[1,2,8,8]", corners(), vec![text("coordinate_transformation_mode", "output_half_pixel")], "half_pixel=0 -> f32[3,2,1,1]");
    check(10, "RoiAlign", "f32[1,2,8,8]", corners(), vec![int("output_width", -1)], "-1 bins or samples");
    check(7, "MaxRoiPool", "f32[1,2,8,8]", vec![weight("r", &[3, 5])], vec![ints("pooled_shape", &[2, 3])], "roi_align mode=elements height=2 width=3 sampling=0 scale=1 half_pixel=0 -> f32[3,2,2,3]");
}

#[test]
#[rustfmt::skip] // tables
fn a_recurrent_layer_has_the_product_of_its_input_in_front_of_it() {
    let weights = |gates: u64, directions: u64| vec![weight("w", &[directions, 3 * gates, 4]), weight("r", &[directions, 3 * gates, 3])];
    let with = |gates: u64, directions: u64| [weights(gates, directions), vec![weight("b", &[directions, 6 * gates])]].concat();
    let words = |list: &[&str]| attribute("activations", |a| (a.kind, a.strings) = (crate::proto::kind::STRINGS, list.iter().map(|word| word.to_string().into()).collect()));
    let gemm = "gemm transpose_a=0 transpose_b=1 alpha=1 beta=1; ";
    check(7, "RNN", "f32[T,N,4]", weights(1, 1), vec![int("hidden_size", 3)], &format!("{gemm}recurrent cell=plain direction=forward activations=tanh alpha=[0.0] beta=[0.0] clip=inf coupled=0 -> f32[T,1,N,3]"));
    check(14, "LSTM", "f32[T,N,4]", with(4, 2), vec![text("direction", "bidirectional"), float("clip", 2.0), int("input_forget", 1)], "direction=bidirectional activations=sigmoid tanh tanh sigmoid tanh tanh alpha=[0.0,0.0,0.0,0.0,0.0,0.0] beta=[0.0,0.0,0.0,0.0,0.0,0.0] clip=2 coupled=1 -> f32[T,2,N,3]");
    check(14, "GRU", "f32[N,T,4]", with(3, 1), vec![int("layout", 1), int("linear_before_reset", 1), text("direction", "reverse")], "recurrent cell=gru_linear direction=reverse activations=sigmoid tanh alpha=[0.0,0.0] beta=[0.0,0.0] clip=inf coupled=0; transpose permutation=[2,0,1,3] -> f32[N,T,1,3]");
    check(7, "GRU", "f32[T,N,4]", weights(3, 1), vec![int("layout", 1)], "its attribute `layout` is not known");
    check(7, "GRU", "f32[T,N,4]", weights(3, 1), vec![words(&["HardSigmoid", "Affine"]), floats("activation_alpha", &[0.5, 2.0]), floats("activation_beta", &[0.25, 3.0])], "activations=hard_sigmoid affine alpha=[0.5,2.0] beta=[0.25,3.0]");
    check(7, "GRU", "f32[T,N,4]", weights(3, 1), vec![words(&["HardSigmoid", "Affine"])], "its activation Affine has no parameters, and no default");
    check(7, "GRU", "f32[T,N,4]", weights(3, 1), vec![words(&["Sigmoid", "Sine"])], "its activation is Sine");
    check(7, "GRU", "f32[T,N,4]", weights(3, 1), vec![words(&["Sigmoid"])], "1 `activations`, 2 are needed");
    check(7, "LSTM", "f32[T,N,4]", weights(4, 1), vec![int("hidden_size", 5)], "`hidden_size` is not that of the weights, 3");
    check(7, "LSTM", "f32[T,N,4]", weights(3, 1), vec![], "are not those of a lstm that goes forward");
}

#[test]
#[rustfmt::skip] // tables
fn arithmetic_and_functions() {
    check(7, "Gemm", "f32[2,3]", vec![weight("b", &[4, 3]), numbers("c", &[1.0; 4])], vec![int("transB", 1), float("alpha", 0.5)], "gemm transpose_a=0 transpose_b=1 alpha=0.5 beta=1 -> f32[2,4]");
    check(7, "Gemm", "f32[1,2,3]", vec![weight("b", &[3, 4])], vec![], "a has rank 3, 2 is needed");
    check(12, "Pow", "f32[2,3]", vec![list("e", &[2])], vec![], "pow -> f32[2,3]");
    check(10, "Clip", "f32[2]", vec![], vec![float("max", 6.0)], "clip min=-inf max=6 -> f32[2]");
    check(13, "Max", "f32[2,2]", vec![numbers("c", &[0.5])], vec![], "clip min=0.5 max=inf -> f32[2,2]");
    check(13, "Min", "f32[2]", vec![weight("c", &[1, 1])], vec![], "binary function=minimum -> f32[1,2]");
    check(7, "Equal", "f32[2]", vec![numbers("c", &[0.5])], vec![], "compare relation=equal -> bool[2]");
    check(9, "GreaterOrEqual", "f32[2]", vec![numbers("c", &[0.5])], vec![], "exists from operator set 12 on");
    check(12, "Greater", "f32[2]", vec![numbers("c", &[0.5])], vec![], "compare relation=less -> bool[2]");
    check(10, "Mod", "f32[2]", vec![numbers("c", &[0.5])], vec![int("fmod", 1)], "binary function=remainder -> f32[2]");
    check(8, "Expand", "f32[2]", vec![list("shape", &[3, 1])], vec![], "expand shape=[3,1] -> f32[3,2]");
    check(7, "Cos", "f32[2]", vec![], vec![], "unary function=cos -> f32[2]");
    // Integers with fewer bits are added with 64 bits.
    check(14, "Add", "i32[2]", vec![constant("c", &TensorData::from_values(&[1], &[1i32]).unwrap())], vec![], "cast to=i64; add; cast to=i32 -> i32[2]");
    check(8, "Sum", "f32[2]", vec![numbers("a", &[1.0]), numbers("b", &[2.0])], vec![], "add; add -> f32[2]");
    check(7, "LeakyRelu", "f32[2]", vec![], vec![], "leaky_relu alpha=0.01 -> f32[2]");
    check(7, "HardSigmoid", "f32[2]", vec![], vec![], "hard_sigmoid alpha=0.2 beta=0.5 -> f32[2]");
    check(20, "Gelu", "f32[2]", vec![], vec![text("approximate", "tanh")], "unary function=gelu_tanh -> f32[2]");
    check(17, "Gelu", "f32[2]", vec![], vec![], "exists from operator set 20 on");
    check(7, "Add", "i64[2]", vec![list("a", &[1])], vec![], "add -> i64[2]");
}

#[test]
#[rustfmt::skip] // tables
fn bounds_and_axes_are_operands_in_later_operator_sets() {
    let scalar = |name: &str, value: f32| constant(name, &TensorData::scalar(value));
    check(11, "Clip", "f32[2]", vec![scalar("a", 0.0), scalar("b", 6.0)], vec![], "clip min=0 max=6 -> f32[2]");
    check(11, "Squeeze", "f32[1,3,1]", vec![], vec![ints("axes", &[0])], "squeeze axes=[0] -> f32[3,1]");
    check(13, "Squeeze", "f32[1,3,1]", vec![list("a", &[0])], vec![], "squeeze axes=[0] -> f32[3,1]");
    check(13, "Squeeze", "f32[1,3,1]", vec![], vec![], "squeeze axes=[] -> f32[3]");
    check(13, "Unsqueeze", "f32[3]", vec![list("a", &[0, -1])], vec![], "-> f32[1,3,1]");
    check(13, "Unsqueeze", "f32[3]", vec![], vec![], "the axes are missing");
    check(13, "ReduceSum", "f32[2,3]", vec![list("a", &[1])], vec![int("keepdims", 0)], "reduce reduction=sum axes=[1] keep_dims=0 -> f32[2]");
    check(13, "ReduceMean", "f32[2,3]", vec![], vec![ints("axes", &[1])], "reduce reduction=mean axes=[1] keep_dims=1 -> f32[2,1]");
    check(18, "ReduceMean", "f32[2,3]", vec![list("a", &[1])], vec![], "reduce reduction=mean axes=[1] keep_dims=1 -> f32[2,1]");
    check(18, "ReduceMean", "f32[2,3]", vec![], vec![ints("axes", &[1])], "its attribute `axes` is not known");
    check(18, "ReduceMax", "f32[2,3]", vec![], vec![int("noop_with_empty_axes", 1)], "identity -> f32[2,3]");
    check(9, "Slice", "f32[5,6]", vec![], vec![ints("starts", &[1]), ints("ends", &[3])], "slice starts=[1] ends=[3] axes=[0] steps=[1] -> f32[2,6]");
    check(13, "Slice", "f32[5,6]", vec![list("s", &[-1]), list("e", &[0]), list("a", &[1]), list("t", &[-2])], vec![], "-> f32[5,3]");
    check(10, "Pad", "f32[2]", vec![], vec![ints("pads", &[1, 2]), float("value", 3.0)], "pad amounts=[1,2] mode=constant value=3 -> f32[5]");
    check(18, "Pad", "f32[2,2]", vec![list("p", &[1, 2]), scalar("v", 0.0), list("a", &[-1])], vec![], "pad amounts=[0,1,0,2] mode=constant value=0 -> f32[2,5]");
    check(11, "Split", "f32[4]", vec![], vec![ints("split", &[4])], "split axis=0 sizes=[4] -> f32[4]");
    check(13, "Split", "f32[4]", vec![list("s", &[1, 3])], vec![], "2 pieces for 1 results");
}

#[test]
#[rustfmt::skip] // tables
fn softmax_before_operator_set_13_runs_over_all_axes_from_its_axis_on() {
    let axis = |a| vec![int("axis", a)];
    check(13, "Softmax", "f32[2,3,4]", vec![], vec![], "softmax axis=-1 -> f32[2,3,4]");
    check(11, "Softmax", "f32[2,3]", vec![], vec![], "softmax axis=1 -> f32[2,3]");
    check(11, "Softmax", "f32[N,3,1,1]", vec![], vec![], "softmax axis=1 -> f32[N,3,1,1]");
    check(11, "Softmax", "f32[2,1,5]", vec![], vec![], "softmax axis=2 -> f32[2,1,5]");
    check(11, "Softmax", "f32[2,3,4]", vec![], axis(-1), "softmax axis=2 -> f32[2,3,4]");
    check(11, "Softmax", "f32[2,3,4]", vec![], vec![], "flatten axis=1; softmax axis=1; reshape shape=[2,3,4] -> f32[2,3,4]");
    check(11, "Softmax", "f32[N,3,4]", vec![], vec![], "dimension 0 of input `x` has no value: bind `N`");
    check(11, "Softmax", "f32[2]", vec![], vec![], "axis 1 is outside rank 1");
}

#[test]
#[rustfmt::skip] // tables
fn operators_without_an_op_of_their_own_are_composed() {
    check(7, "PRelu", "f32[2,3]", vec![numbers("s", &[0.5])], vec![], "leaky_relu alpha=0.5 -> f32[2,3]");
    check(7, "PRelu", "f32[2,3]", vec![numbers("s", &[0.5, 0.0, -1.0])], vec![], "relu; clip min=-inf max=0; mul a_zero=0 b_zero=0; add -> f32[2,3]");
    let block = |b| vec![int("blocksize", b)];
    check(13, "DepthToSpace", "f32[N,8,2,3]", vec![], block(2), "reshape shape=[0,2,2,2,2,3]; transpose permutation=[0,3,4,1,5,2]; reshape shape=[0,2,4,6] -> f32[N,2,4,6]");
    check(13, "SpaceToDepth", "f32[N,2,4,6]", vec![], block(2), "-> f32[N,8,2,3]");
    check(13, "DepthToSpace", "f32[1,6,2,3]", vec![], block(2), "an extent of 6 is not made of whole blocks");
    check(13, "SpaceToDepth", "f32[1,2,H,6]", vec![], block(2), "dimension 2 of input `x` has no value: bind `H`");
}

#[test]
#[rustfmt::skip] // tables
fn resampling_in_all_its_versions() {
    let scales = |values: &[f32]| numbers("s", values);
    let nearest =
        "resize mode=nearest coordinate=asymmetric nearest=floor scales=[1.0,1.0,2.0,2.0] sizes=[] -> f32[1,2,6,8]";
    check(7, "Upsample", "f32[1,2,3,4]", vec![], vec![floats("scales", &[1.0, 1.0, 2.0, 2.0])], nearest);
    check(9, "Upsample", "f32[1,2,3,4]", vec![scales(&[1.0, 1.0, 2.0, 2.0])], vec![], nearest);
    check(10, "Upsample", "f32[1,2,3,4]", vec![scales(&[1.0, 1.0, 2.0, 2.0])], vec![], "exists up to operator set 9");
    check(10, "Resize", "f32[1,2,3,4]", vec![scales(&[1.0, 1.0, 2.0, 2.0])], vec![], nearest);
    let none = || numbers("roi", &[]);
    check(11, "Resize", "f32[1,2,3,4]", vec![none(), scales(&[]), list("z", &[1, 2, 6, 8])], vec![text("mode", "linear")], "resize mode=linear coordinate=half_pixel nearest=round_prefer_floor scales=[] sizes=[1,2,6,8] -> f32[1,2,6,8]");
    check(18, "Resize", "f32[1,2,3,4]", vec![none(), scales(&[2.0])], vec![ints("axes", &[-1])], "scales=[1.0,1.0,1.0,2.0] sizes=[] -> f32[1,2,3,8]");
    check(13, "Resize", "f32[1,2,3,4]", vec![none(), scales(&[1.0, 1.0, 1.5, 2.0])], vec![], "scales=[1.0,1.0,1.5,2.0] sizes=[] -> f32[1,2,4,8]");
    check(13, "Resize", "f32[3,4]", vec![none(), scales(&[2.0, 2.0])], vec![text("mode", "cubic"), float("cubic_coeff_a", -0.5), int("exclude_outside", 1)], "resize mode=cubic coordinate=half_pixel nearest=round_prefer_floor scales=[2.0,2.0] sizes=[] exclude_outside=1 cubic=-0.5 -> f32[6,8]");
    check(10, "Resize", "f32[3,4]", vec![scales(&[2.0, 2.0])], vec![text("mode", "cubic")], "`mode` is cubic");
    check(10, "Resize", "f32[2,4]", vec![scales(&[2.0, 0.5])], vec![], "nearest=floor scales=[2.0,1.0] sizes=[]; resize mode=nearest coordinate=asymmetric nearest=ceil scales=[1.0,0.5] sizes=[] -> f32[4,2]");
    check(10, "Resize", "f32[2,4]", vec![scales(&[2.0, 0.5])], vec![text("mode", "linear")], "resize mode=linear coordinate=asymmetric nearest=floor scales=[2.0,0.5] sizes=[] -> f32[4,2]");
    let crop = || vec![text("coordinate_transformation_mode", "tf_crop_and_resize"), float("extrapolation_value", 7.0)];
    check(11, "Resize", "f32[2,4]", vec![numbers("roi", &[0.0, 0.25, 1.0, 0.75]), scales(&[]), list("z", &[3, 3])], crop(), "sizes=[3,3] region=[0.0,0.25,1.0,0.75,7.0] -> f32[3,3]");
    check(18, "Resize", "f32[2,4]", vec![numbers("roi", &[0.25, 0.75]), scales(&[]), list("z", &[3])], [crop(), vec![ints("axes", &[1])]].concat(), "sizes=[2,3] region=[0.0,0.25,1.0,0.75,7.0] -> f32[2,3]");
    check(11, "Resize", "f32[2,4]", vec![none(), scales(&[]), list("z", &[3, 3])], crop(), "0 numbers of a region, for 2 axes");
    check(18, "Resize", "f32[8,4]", vec![none(), scales(&[0.5, 0.5])], vec![text("mode", "linear"), int("antialias", 1)], "sizes=[] antialias=1 -> f32[4,2]");
    check(18, "Resize", "f32[8,4]", vec![none(), scales(&[0.5, 0.5])], vec![int("antialias", 1)], "`antialias` means nothing in the mode `nearest`");
    check(19, "Resize", "f32[4]", vec![none(), scales(&[0.6])], vec![text("coordinate_transformation_mode", "half_pixel_symmetric")], "coordinate=half_pixel_symmetric nearest=round_prefer_floor scales=[0.6] sizes=[] -> f32[2]");
    let policy = |word| vec![text("keep_aspect_ratio_policy", word)];
    check(18, "Resize", "f32[2,4]", vec![none(), scales(&[]), list("z", &[7, 8])], policy("not_larger"), "scales=[2.0,2.0] sizes=[4,8] -> f32[4,8]");
    check(18, "Resize", "f32[2,4]", vec![none(), scales(&[]), list("z", &[7, 8])], policy("not_smaller"), "scales=[3.5,3.5] sizes=[7,14] -> f32[7,14]");
    check(18, "Resize", "f32[2,4]", vec![none(), scales(&[]), list("z", &[0, 8])], policy("not_larger"), "a size is not positive");
}

/// NaN is refused in attributes and in operands that become attributes.
#[test]
#[rustfmt::skip] // tables
fn nan_is_refused_by_the_name_of_what_holds_it() {
    let nan = |key| vec![float(key, f32::NAN)];
    let channels = || ["s", "b", "m", "v"].map(|name| numbers(name, &[1.0; 3])).to_vec();
    let operand = |name| vec![numbers(name, &[f32::NAN])];
    for (opset, op, x, constants, attributes, expect) in [
        (7, "LeakyRelu", "f32[2]", vec![], nan("alpha"), "attribute `alpha` is NaN"),
        (7, "Elu", "f32[2]", vec![], nan("alpha"), "attribute `alpha` is NaN"),
        (7, "HardSigmoid", "f32[2]", vec![], nan("alpha"), "attribute `alpha` is NaN"),
        (7, "HardSigmoid", "f32[2]", vec![], nan("beta"), "attribute `beta` is NaN"),
        (24, "Swish", "f32[2]", vec![], nan("alpha"), "attribute `alpha` is NaN"),
        (10, "Clip", "f32[2]", vec![], nan("min"), "attribute `min` is NaN"),
        (10, "Clip", "f32[2]", vec![], nan("max"), "attribute `max` is NaN"),
        (13, "Clip", "f32[2]", operand("low"), vec![], "its lower bound is NaN"),
        (13, "Max", "f32[2,2]", operand("c"), vec![], "its bound is NaN"),
        (13, "Min", "f32[2,2]", operand("c"), vec![], "its bound is NaN"),
        (7, "Gemm", "f32[2,3]", vec![weight("w", &[3, 3])], nan("alpha"), "attribute `alpha` is NaN"),
        (7, "Gemm", "f32[2,3]", vec![weight("w", &[3, 3])], nan("beta"), "attribute `beta` is NaN"),
        (9, "BatchNormalization", "f32[1,3,2,2]", channels(), nan("epsilon"), "attribute `epsilon` is NaN"),
        (17, "LayerNormalization", "f32[1,3]", vec![numbers("s", &[1.0; 3])], nan("epsilon"), "attribute `epsilon` is NaN"),
        (10, "Pad", "f32[2]", vec![], vec![ints("pads", &[1, 2]), float("value", f32::NAN)], "attribute `value` is NaN"),
        (13, "Pad", "f32[2]", vec![list("pads", &[1, 2]), numbers("v", &[f32::NAN])], vec![], "is NaN"),
        (7, "Upsample", "f32[1,2,3,4]", vec![], vec![floats("scales", &[1.0, 1.0, f32::NAN, 2.0])], "attribute `scales` is NaN"),
    ] {
        check(opset, op, x, constants, attributes, expect);
    }
}

#[test]
#[rustfmt::skip] // tables
fn constants_that_are_not_numbers_are_refused() {
    check(7, "Add", "f32[2]", vec![numbers("w", &[1.0, f32::NAN])], vec![], "the constant `w` holds NaN");
    for bad in [f32::NAN, f32::INFINITY] {
        let parameter = vec![weight("b", &[4, 3]), numbers("c", &[1.0, bad, 1.0, 1.0])];
        check(7, "Gemm", "f32[2,3]", parameter, vec![int("transB", 1)], "the parameter `c` holds NaN or an infinity");
    }
    // A mask may contain infinities.
    check(7, "Add", "f32[2]", vec![numbers("w", &[0.0, f32::NEG_INFINITY])], vec![], "add -> f32[2]");
    let mut short = weight("w", &[4]);
    short.dims = vec![5];
    check(7, "Add", "f32[5]", vec![short], vec![], "the constant `w`: a tensor of f32 [5] takes 20 bytes, but there are 16");
    let mut eight = weight("w", &[4]);
    (eight.data_type, eight.raw_data) = (17, Some(vec![0; 4].into()));
    check(7, "Add", "f32[4]", vec![eight], vec![], "the constant `w`: its element type is float8e4m3fn");
}
