//! Reads the operators that ONNX Runtime adds to ONNX. Exporters and ONNX Runtime's tools write them. Most are in a
//! domain of their own. Two are in the standard domain, although ONNX does not define them, or only defines them from a
//! later operator set on.

use super::normalization::{layer_normalization, rms_normalization, root_of_squares};
use super::{conv, functions, masks, matrix, quantized, sample};
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::ReasonCode;
use strait_core::op::{Clip, Elu, Function, HardSigmoid, Identity, LayerNormalization, LeakyRelu, Mul, Op, Relu};
use strait_import::matrix_product;

pub(super) const ROWS: &[Row] = &[
    Row::of_runtime("Gelu", |reader| reader.finish(Function::Gelu, &[Arg::Operand(0)])),
    Row::of_runtime("BiasGelu", |reader| biased(reader, Function::Gelu)),
    Row::of_runtime("FastGelu", |reader| biased(reader, Function::GeluTanh)),
    Row::of_runtime("QuickGelu", quick_gelu),
    Row::of_runtime("FusedMatMul", fused_matmul),
    Row::of_runtime("TransposeMatMul", fused_matmul),
    Row::of_runtime("FusedGemm", fused_gemm),
    Row::of_runtime("FusedConv", fused_conv),
    Row::of_runtime("SkipLayerNormalization", skip_layer_normalization),
    Row::of_runtime("SkipSimplifiedLayerNormalization", skip_rms_normalization),
    Row::of_runtime("GridSample", sample::grid_sample),
    Row::of_runtime("Trilu", masks::trilu),
    Row::of_runtime("QuantizeLinear", quantized::quantize),
    Row::of_runtime("DequantizeLinear", quantized::dequantize),
    Row::new("LayerNormalization", 1, layer_normalization).until(16),
    Row::new("SimplifiedLayerNormalization", 1, rms_normalization),
];

/// The default epsilon of operators that normalize a sum.
const SKIP_EPSILON: f32 = 1e-12;

/// Reads an operator that applies a function to the sum of two operands. The second operand may be omitted.
fn biased(reader: &mut OperatorReader<'_, '_>, function: Function) -> Result<(), Refusal> {
    let x = match reader.has(1) {
        true => reader.plus(&Arg::Operand(0), &Arg::Operand(1))?,
        false => Arg::Operand(0),
    };
    reader.finish(function, &[x])
}

/// QuickGelu: x · sigmoid(alpha · x).
fn quick_gelu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (x, alpha) = (Arg::Operand(0), reader.float("alpha")?.unwrap_or(1.702));
    let gate = functions::gate(reader, &x, alpha)?;
    reader.finish(Mul::float(), &[x, gate])
}

/// Reads FusedMatMul: alpha · A · B. Each operand may be transposed, which swaps its last two axes. Before this swap,
/// the first axis of the operand can be moved behind the batch axes.
fn fused_matmul(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let alpha = f64::from(reader.float("alpha")?.unwrap_or(1.0));
    let mut a = turned(reader, 0, "transA", "transBatchA")?;
    let mut b = turned(reader, 1, "transB", "transBatchB")?;
    // If an operand is constant, that operand is multiplied by alpha, so that the matrix product is a single op.
    match [reader.constant(0)?, reader.constant(1)?] {
        _ if alpha == 1.0 => {}
        [_, Some(_)] => b = reader.scaled(&b, alpha)?,
        [Some(_), None] => a = reader.scaled(&a, alpha)?,
        [None, None] => {
            let product = reader.product(&a, &b)?;
            let alpha = reader.number(&product, alpha)?;
            return reader.finish(Mul::float(), &[product, alpha]);
        }
    }
    reader.finish(matrix_product(), &[a, b])
}

fn turned(
    reader: &mut OperatorReader<'_, '_>,
    position: usize,
    last: &'static str,
    batch: &'static str,
) -> Result<Arg, Refusal> {
    let (last, batch) = (reader.flag(last)?, reader.flag(batch)?);
    let x = Arg::Operand(position);
    let rank = reader.rank(position)?;
    let mut axes: Vec<u32> = (0..rank as u32).collect();
    if batch && rank < 3 {
        return Err(Refusal::invalid(
            ReasonCode::Axis,
            format!("operand {position} has no batch to turn round"),
        ));
    }
    if batch {
        axes[..rank - 1].rotate_left(1);
    }
    // A vector has no second axis to swap, so it stays as it is.
    if last && rank > 1 {
        axes.swap(rank - 2, rank - 1);
    }
    match axes.is_sorted() {
        true => Ok(x),
        false => reader.transposed(&x, &axes),
    }
}

fn fused_gemm(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let op = matrix::product(reader)?;
    let numbers = [
        reader.float("activation_alpha")?,
        reader.float("activation_beta")?,
        reader.float("activation_gamma")?,
    ];
    let product = reader.push(op, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])?;
    finish_activated(reader, product, numbers.map(Option::unwrap_or_default))
}

/// activation(conv(X, W) + B + Z).
fn fused_conv(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let op = conv::convolution(reader, 1)?;
    let numbers = reader.floats("activation_params")?.unwrap_or_default();
    let numbers = [0, 1, 2].map(|index| numbers.get(index).copied().unwrap_or_default());
    let mut sum = reader.push(op, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])?;
    if reader.has(3) {
        sum = reader.plus(&sum, &Arg::Operand(3))?;
    }
    finish_activated(reader, sum, numbers)
}

/// Ends a fused operator with its activation. The default parameters of the activation are those of ONNX Runtime.
fn finish_activated(
    reader: &mut OperatorReader<'_, '_>,
    x: Arg,
    [alpha, beta, gamma]: [f32; 3],
) -> Result<(), Refusal> {
    let op: Op = match reader.text("activation", "")? {
        "" => Identity {}.into(),
        "Relu" => Relu {}.into(),
        "Sigmoid" => Function::Sigmoid.into(),
        "Tanh" => Function::Tanh.into(),
        "Softplus" => Function::Softplus.into(),
        "Elu" => Elu { alpha }.into(),
        "LeakyRelu" => LeakyRelu { alpha }.into(),
        "HardSigmoid" => HardSigmoid { alpha, beta }.into(),
        "Clip" => Clip { min: alpha, max: beta }.into(),
        "Selu" => return functions::scaled_elu(reader, &x, alpha, gamma),
        "Softsign" => return reader.finish_softsign(x),
        "ThresholdedRelu" => return masks::above(reader, x, alpha),
        other => return Err(Refusal::Unsupported(format!("`activation` is {other}"))),
    };
    reader.finish(op, &[x])
}

/// Adds two operands and, if it is present, a bias. The sum is also the node's fourth result.
fn skip(reader: &mut OperatorReader<'_, '_>, bias: usize) -> Result<Arg, Refusal> {
    let mut sum = reader.plus(&Arg::Operand(0), &Arg::Operand(1))?;
    if reader.has(bias) {
        sum = reader.plus(&sum, &Arg::Operand(bias))?;
    }
    reader.finish_result(3, Identity {}, std::slice::from_ref(&sum))?;
    Ok(sum)
}

fn skip_layer_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let epsilon = reader.float("epsilon")?.unwrap_or(SKIP_EPSILON);
    let sum = skip(reader, 4)?;
    let op = LayerNormalization { axis: -1, epsilon };
    reader.finish_result(0, op, &[sum, Arg::Operand(2), Arg::Operand(3)])
}

/// Reads an RMS normalization of the sum of the operands.
fn skip_rms_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let epsilon = reader.float("epsilon")?.unwrap_or(SKIP_EPSILON);
    let sum = skip(reader, 3)?;
    let root = root_of_squares(reader, &sum, &[-1], epsilon)?;
    let normal = reader.over(&sum, &root)?;
    reader.finish_result(0, Mul::float(), &[normal, Arg::Operand(2)])
}
