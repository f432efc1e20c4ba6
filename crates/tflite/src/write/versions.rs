//! Determines the version of an operator: the oldest version that supports the operator's types and options.
//! Interpreters refuse an operator whose version is newer than the versions that they know.
//!
//! Source: `op_version.cc` of LiteRT's converter (google-ai-edge/LiteRT, tflite/converter/tools/versioning).

use super::file::Tensor;
use strait_core::Elem;

/// For each operator, its versions for operands of f32, int8, uint8 and int16. Operators that are not listed have version
/// 1 for all types.
const VERSIONS: &[(&str, [i32; 4])] = &[
    ("ABS", [1, 2, 2, 3]),
    ("ADD", [1, 2, 1, 3]),
    ("AVERAGE_POOL_2D", [1, 2, 1, 3]),
    ("BATCH_MATMUL", [1, 2, 1, 3]),
    ("BROADCAST_TO", [2, 3, 2, 3]),
    ("CONCATENATION", [1, 2, 1, 3]),
    ("CONV_2D", [1, 3, 1, 4]),
    ("DEPTHWISE_CONV_2D", [1, 3, 1, 5]),
    ("DEPTH_TO_SPACE", [1, 2, 1, 1]),
    ("DEQUANTIZE", [1, 2, 1, 3]),
    ("EQUAL", [1, 2, 1, 5]),
    ("EXP", [1, 2, 1, 2]),
    ("FULLY_CONNECTED", [1, 4, 1, 7]),
    ("GATHER", [1, 2, 1, 4]),
    ("GELU", [1, 2, 2, 1]),
    ("LEAKY_RELU", [1, 1, 1, 2]),
    ("LESS", [1, 2, 1, 3]),
    ("LESS_EQUAL", [1, 2, 1, 1]),
    ("LOG", [1, 2, 1, 2]),
    ("LOGISTIC", [1, 2, 1, 3]),
    ("MAXIMUM", [1, 2, 1, 4]),
    ("MAX_POOL_2D", [1, 2, 1, 3]),
    ("MEAN", [1, 2, 1, 3]),
    ("MINIMUM", [1, 2, 1, 4]),
    ("MIRROR_PAD", [1, 2, 1, 3]),
    ("MUL", [1, 2, 1, 4]),
    ("PAD", [1, 2, 1, 3]),
    ("PADV2", [1, 2, 1, 3]),
    ("REDUCE_MAX", [1, 2, 1, 3]),
    ("REDUCE_MIN", [1, 2, 1, 3]),
    ("RELU", [1, 2, 2, 3]),
    ("RELU6", [1, 2, 1, 3]),
    ("RESIZE_BILINEAR", [1, 2, 1, 4]),
    ("RESIZE_NEAREST_NEIGHBOR", [1, 2, 1, 4]),
    ("RSQRT", [1, 2, 1, 3]),
    ("SLICE", [1, 2, 1, 4]),
    ("SOFTMAX", [1, 2, 1, 3]),
    ("SPLIT", [1, 2, 1, 4]),
    ("SPLIT_V", [1, 2, 1, 1]),
    ("SQRT", [1, 2, 1, 2]),
    ("STRIDED_SLICE", [1, 2, 1, 1]),
    ("SUB", [1, 2, 1, 5]),
    ("SUM", [1, 2, 1, 1]),
    ("TANH", [1, 2, 1, 3]),
    ("TRANSPOSE", [1, 2, 1, 5]),
    ("TRANSPOSE_CONV", [1, 2, 1, 2]),
];

/// The version of an operator with these operands and results.
pub(super) fn version(name: &str, operands: &[Option<&Tensor>], results: &[&Tensor]) -> i32 {
    // The operand whose type decides; the others are shapes and axes.
    let deciding = match name {
        "SPLIT" | "TRANSPOSE_CONV" => 1,
        _ => 0,
    };
    let operand = |at: usize| operands.get(at).copied().flatten();
    let of = |tensor: Option<&Tensor>| tensor.map(|tensor| tensor.elem);
    let own = VERSIONS
        .iter()
        .find(|(other, _)| *other == name)
        .map(|(_, versions)| versions);
    let base = own.map_or(1, |versions| match of(operand(deciding)) {
        Some(Elem::I8) => versions[1],
        Some(Elem::U8) => versions[2],
        Some(Elem::I16) => versions[3],
        _ => versions[0],
    });
    let rank = operands
        .iter()
        .flatten()
        .map(|tensor| tensor.shape.len())
        .max()
        .unwrap_or(0);
    let several = operand(0).is_some_and(|x| x.grid.as_ref().is_some_and(|grid| grid.scale.channels().is_some()));
    let more = match name {
        "CONV_2D" | "DEPTHWISE_CONV_2D" if of(operand(1)) == Some(Elem::I4) => 7,
        "CONV_2D" if grouped(operand(0), operand(1)) => 6,
        "FULLY_CONNECTED" if of(operand(1)) == Some(Elem::I4) => 10,
        "FULLY_CONNECTED" if operand(2).is_none() => 6,
        "FULLY_CONNECTED" if results.first().is_some_and(|result| result.shape.len() > 2) => 5,
        "MUL" if rescales(operand(0), operand(1), results.first().copied()) => 3,
        "DEQUANTIZE" if of(operand(0)) == Some(Elem::I4) => 6,
        "DEQUANTIZE" if several => 5,
        "QUANTIZE" if results.first().is_some_and(|result| result.elem == Elem::I16) => 2,
        "RESIZE_BILINEAR" | "RESIZE_NEAREST_NEIGHBOR" => 3,
        "PAD" | "PADV2" | "TRANSPOSE" | "STRIDED_SLICE" if rank > 4 => 4,
        "SLICE" if rank > 4 => 5,
        "MAXIMUM" | "MINIMUM" | "SUB" if rank > 4 => 3,
        "DIV" if rank > 4 => 2,
        "TRANSPOSE_CONV" if operand(3).is_some() => 3,
        "CAST"
            if operand(0)
                .into_iter()
                .chain(results.first().copied())
                .any(|tensor| tensor.elem == Elem::I8) =>
        {
            3
        }
        _ => 1,
    };
    base.max(more)
}

/// True if the weights of a convolution have fewer input channels than the image.
fn grouped(image: Option<&Tensor>, weights: Option<&Tensor>) -> bool {
    let channels = |tensor: Option<&Tensor>| tensor.and_then(|tensor| tensor.shape.last().copied());
    channels(image) != channels(weights)
}

/// True if the scale of a product is not larger than the product of the operands' scales, and the operands are not
/// int16.
fn rescales(a: Option<&Tensor>, b: Option<&Tensor>, result: Option<&Tensor>) -> bool {
    let scale = |tensor: Option<&Tensor>| Some(f64::from(tensor?.grid.as_ref()?.as_tensor()?.0));
    let ratio = || Some(scale(a)? * scale(b)? / scale(result)?);
    ratio().is_some_and(|ratio| ratio >= 1.0) && a.is_some_and(|a| a.elem != Elem::I16)
}
