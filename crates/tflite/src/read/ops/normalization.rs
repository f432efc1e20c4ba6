//! Reads normalizations, and functions along one axis such as softmax.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use crate::schema::Activation;
use smallvec::smallvec;
use strait_core::ReasonCode;
use strait_core::op::{BinaryFunction, Div, Function, Mul, Pow, Reduction, Softmax};
use strait_import::Window;

pub(super) const ROWS: &[Row] = &[
    Row::new("SOFTMAX", 4, softmax),
    Row::new("LOG_SOFTMAX", 2, log_softmax),
    Row::new("L2_NORMALIZATION", 2, l2_normalization),
    Row::new("LOCAL_RESPONSE_NORMALIZATION", 1, local_response),
];

/// Reads the softmax of beta · x over the last axis.
fn softmax(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, SoftmaxOptions);
    let beta = option!(options, beta, 1.0);
    if !beta.is_finite() {
        return Err(Refusal::invalid(
            ReasonCode::AttributeType,
            format!("its beta is {beta}"),
        ));
    }
    let x = reader.scaled(&Arg::Operand(0), beta.into())?;
    reader.finish(Softmax { axis: -1 }, &[x])
}

fn log_softmax(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (op, args) = reader.log_softmax(&Arg::Operand(0), -1)?;
    reader.finish(op, &args)
}

/// If the norm is smaller than this number, elements are divided by this number instead.
const LEAST_NORM: f64 = 1e-6;

/// Reads an L2 normalization: x / max(√Σx², 10⁻⁶) over the last axis.
fn l2_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, L2NormOptions);
    let activation = option!(options, fused_activation_function, Activation::None);
    let x = Arg::Operand(0);
    let squares = reader.times(&x, &x)?;
    let sum = reader.reduced(Reduction::Sum, &squares, &[-1])?;
    let norm = reader.function(Function::Sqrt, &sum)?;
    let least = reader.number(&norm, LEAST_NORM)?;
    let norm = reader.binary(BinaryFunction::Maximum, &norm, &least)?;
    reader.finish_activated(Div {}, &[x, norm], activation)
}

/// Reads a local response normalization: x · (bias + alpha · Σx²)^−beta. The sum is over the channels that are at most
/// `radius` away.
fn local_response(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, LocalResponseNormalizationOptions);
    let radius = option!(options, radius, 0);
    let (bias, alpha, beta) = (
        option!(options, bias, 0.0),
        option!(options, alpha, 0.0),
        option!(options, beta, 0.0),
    );
    reader.of_rank(0, 4)?;
    let radius = u32::try_from(radius).ok().filter(|&radius| radius < 1 << 12);
    let radius = radius.ok_or_else(|| Refusal::invalid(ReasonCode::Window, "its radius is out of range"))?;
    let x = Arg::Operand(0);
    let squares = reader.times(&x, &x)?;
    // A pool can only sum along the axes of an image. So the channels become the height of an image with one channel,
    // [N, H·W, C] → [N, 1, H·W, C].
    let extents = reader.extents(&x)?;
    let flat = reader.reshaped(&squares, &[0, 1, extents[1].saturating_mul(extents[2]), extents[3]])?;
    let size = 2 * radius + 1;
    let pool = Window::dense(smallvec![0, radius, 0, radius]).average_pool(smallvec![1, size], false, true);
    let mean = reader.push(pool, &[flat])?;
    let sum = reader.scaled(&mean, f64::from(alpha) * f64::from(size))?;
    let sum = reader.shifted(&sum, bias.into())?;
    let power = reader.number(&sum, -f64::from(beta))?;
    let factor = reader.push(Pow {}, &[sum, power])?;
    let factor = reader.reshaped(&factor, &[0, extents[1], extents[2], extents[3]])?;
    reader.finish(Mul::float(), &[x, factor])
}
