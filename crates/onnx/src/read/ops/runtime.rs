//! Reads ONNX Runtime's own operators, which exporters and its tools write. Most are in its own domain. Two are in the
//! standard domain, although ONNX does not define them, or only from a later operator set on.

use super::normalization::{layer_normalization, rms_normalization, root_of_squares};
use super::{Row, conv, functions, masks, matrix, quantized, sample};
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::ReasonCode;
use strait_core::op::{
    Clip, Elu, Function, HardSigmoid, Identity, LayerNormalization, LeakyRelu, Mul, Op, Relu, Unary,
};
use strait_import::matrix_product;

pub(super) const ROWS: &[Row] = &[
    Row::of_runtime("Gelu", |site| site.finish(unary(Function::Gelu), &[Arg::Operand(0)])),
    Row::of_runtime("BiasGelu", |site| biased(site, Function::Gelu)),
    Row::of_runtime("FastGelu", |site| biased(site, Function::GeluTanh)),
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

/// The default epsilon of the normalizations of a sum.
const SKIP_EPSILON: f32 = 1e-12;

fn unary(function: Function) -> Op {
    Unary { function }.into()
}

/// A function of a sum; the second operand may be omitted.
fn biased(site: &mut NodeReader<'_, '_>, function: Function) -> Result<(), Refusal> {
    let x = match site.has(1) {
        true => site.plus(&Arg::Operand(0), &Arg::Operand(1))?,
        false => Arg::Operand(0),
    };
    site.finish(unary(function), &[x])
}

/// x · sigmoid(alpha · x).
fn quick_gelu(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let (x, alpha) = (Arg::Operand(0), site.float("alpha")?.unwrap_or(1.702));
    let scaled = site.scaled(&x, alpha.into())?;
    let gate = site.function(Function::Sigmoid, &scaled)?;
    site.finish(Mul::float(), &[x, gate])
}

/// alpha · A · B. Both operands may be transposed: their last two axes are swapped, and before that their first axis
/// can be moved behind the batch axes.
fn fused_matmul(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let alpha = f64::from(site.float("alpha")?.unwrap_or(1.0));
    let mut a = turned(site, 0, "transA", "transBatchA")?;
    let mut b = turned(site, 1, "transB", "transBatchB")?;
    // If an operand is constant, it is multiplied by alpha, so that the product is a single op.
    match [site.constant(0)?, site.constant(1)?] {
        _ if alpha == 1.0 => {}
        [_, Some(_)] => b = site.scaled(&b, alpha)?,
        [Some(_), None] => a = site.scaled(&a, alpha)?,
        [None, None] => {
            let product = site.product(&a, &b)?;
            let alpha = site.number(&product, alpha)?;
            return site.finish(Mul::float(), &[product, alpha]);
        }
    }
    site.finish(matrix_product(), &[a, b])
}

fn turned(
    site: &mut NodeReader<'_, '_>,
    position: usize,
    last: &'static str,
    batch: &'static str,
) -> Result<Arg, Refusal> {
    let (last, batch) = (site.flag(last)?, site.flag(batch)?);
    let x = Arg::Operand(position);
    let rank = site.rank(position)?;
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
    // A vector cannot be transposed.
    if last && rank > 1 {
        axes.swap(rank - 2, rank - 1);
    }
    match axes.is_sorted() {
        true => Ok(x),
        false => site.transposed(&x, &axes),
    }
}

fn fused_gemm(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let op = matrix::product(site)?;
    let numbers = [
        site.float("activation_alpha")?,
        site.float("activation_beta")?,
        site.float("activation_gamma")?,
    ];
    let product = site.push(op, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])?;
    finish_activated(site, product, numbers.map(Option::unwrap_or_default))
}

/// activation(conv(X, W) + B + Z).
fn fused_conv(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let op = conv::convolution(site)?;
    let numbers = site.floats("activation_params")?.unwrap_or_default();
    let numbers = [0, 1, 2].map(|index| numbers.get(index).copied().unwrap_or_default());
    let mut sum = site.push(op, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])?;
    if site.has(3) {
        sum = site.plus(&sum, &Arg::Operand(3))?;
    }
    finish_activated(site, sum, numbers)
}

/// The activation of a fused operator, with the default parameters that ONNX Runtime gives it.
fn finish_activated(site: &mut NodeReader<'_, '_>, x: Arg, [alpha, beta, gamma]: [f32; 3]) -> Result<(), Refusal> {
    let op: Op = match site.text("activation", "")? {
        "" => Identity {}.into(),
        "Relu" => Relu {}.into(),
        "Sigmoid" => unary(Function::Sigmoid),
        "Tanh" => unary(Function::Tanh),
        "Softplus" => unary(Function::Softplus),
        "Elu" => Elu { alpha }.into(),
        "LeakyRelu" => LeakyRelu { alpha }.into(),
        "HardSigmoid" => HardSigmoid { alpha, beta }.into(),
        "Clip" => Clip { min: alpha, max: beta }.into(),
        "Selu" => return functions::scaled_elu(site, &x, alpha, gamma),
        "Softsign" => return functions::softsign(site, x),
        "ThresholdedRelu" => return masks::above(site, x, alpha),
        other => return Err(Refusal::Unsupported(format!("`activation` is {other}"))),
    };
    site.finish(op, &[x])
}

/// The sum of two operands and an optional bias. It is also the node's fourth result.
fn skip(site: &mut NodeReader<'_, '_>, bias: usize) -> Result<Arg, Refusal> {
    let mut sum = site.plus(&Arg::Operand(0), &Arg::Operand(1))?;
    if site.has(bias) {
        sum = site.plus(&sum, &Arg::Operand(bias))?;
    }
    site.finish_result(3, Identity {}, std::slice::from_ref(&sum))?;
    Ok(sum)
}

fn skip_layer_normalization(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let epsilon = site.float("epsilon")?.unwrap_or(SKIP_EPSILON);
    let sum = skip(site, 4)?;
    let op = LayerNormalization { axis: -1, epsilon };
    site.finish_result(0, op, &[sum, Arg::Operand(2), Arg::Operand(3)])
}

/// An RMS normalization of the sum.
fn skip_rms_normalization(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let epsilon = site.float("epsilon")?.unwrap_or(SKIP_EPSILON);
    let sum = skip(site, 3)?;
    let root = root_of_squares(site, &sum, &[-1], epsilon)?;
    let normal = site.over(&sum, &root)?;
    site.finish_result(0, Mul::float(), &[normal, Arg::Operand(2)])
}
