//! Reads biases and normalizations.

use smallvec::smallvec;
use strait_core::ReasonCode;
use strait_core::op::{Add, BatchNormalization, Div};
use strait_import::{Arg, Refusal, Window};

use super::Row;
use super::layout::{Layout, finish, layout, to_first};
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("BiasAdd", bias_add),
    ("BiasAddV1", bias_add),
    ("FusedBatchNorm", batch_normalization),
    ("FusedBatchNormV2", batch_normalization),
    ("FusedBatchNormV3", batch_normalization),
    ("LRN", local_response),
];

fn bias_add(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let layout = layout(reader)?;
    let rank = reader.rank(0)?;
    let mut bias = Arg::Operand(1);
    if layout == Layout::First && rank > 2 {
        let mut shape = vec![1; rank - 1];
        shape[0] = -1;
        bias = reader.reshaped(&bias, &shape)?;
    }
    reader.finish(Add {}, &[Arg::Operand(0), bias])
}

/// Reads a batch normalization at inference, with the statistics as operands.
fn batch_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["exponential_avg_factor"]);
    // If the attribute `is_training` is absent, it counts as true.
    let is_training = match reader.has_attribute("is_training") {
        true => reader.flag("is_training")?,
        false => true,
    };
    if is_training {
        let text = "it is in training mode, whose statistics are those of the batch that it is given; \
                    freeze the graph of inference, where `is_training` is false";
        return Err(Refusal::unsupported(text));
    }
    let epsilon = reader.float("epsilon")?.unwrap_or(1e-4);
    let layout = layout(reader)?;
    let x = to_first(reader, layout, Arg::Operand(0))?;
    let mut operands = vec![x];
    operands.extend((1..5).map(Arg::Operand));
    finish(reader, layout, BatchNormalization { epsilon }, &operands)
}

/// Reads a local response normalization: x / (bias + alpha · Σ x²) ^ beta. The sum is over the element's own channel
/// and up to `depth_radius` channels before and after it; channels that do not exist count as 0. The sum is computed by
/// an average pool along the channels, which counts padding.
fn local_response(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let radius = reader.int("depth_radius")?.unwrap_or(5);
    let [bias, alpha, beta] = [("bias", 1.0), ("alpha", 1.0), ("beta", 0.5)];
    let mut number = |(key, default): (&'static str, f32)| Ok::<f32, Refusal>(reader.float(key)?.unwrap_or(default));
    let (bias, alpha, beta) = (number(bias)?, number(alpha)?, number(beta)?);
    let x = Arg::Operand(0);
    let extents = reader.extents(&x)?;
    let channels = extents.last().copied().filter(|&channels| channels > 0);
    let radius = u32::try_from(radius).ok().filter(|&radius| radius <= 1 << 20);
    let (Some(channels), Some(radius)) = (channels, radius) else {
        return Err(Refusal::invalid(
            ReasonCode::Window,
            "its radius or its channels are none",
        ));
    };
    let squares = reader.times(&x, &x)?;
    let rows = reader.reshaped(&squares, &[-1, 1, 1, channels])?;
    let size = 2 * radius + 1;
    let pool = Window::dense(smallvec![0, radius, 0, radius]).average_pool(smallvec![1, size], false, true);
    let mean = reader.push(pool, &[rows])?;
    let mean = reader.reshaped(&mean, &extents)?;
    let scaled = reader.scaled(&mean, f64::from(alpha) * f64::from(size))?;
    let base = reader.shifted(&scaled, bias.into())?;
    let exponent = reader.number(&base, beta.into())?;
    let divisor = reader.power(&base, &exponent)?;
    reader.finish(Div {}, &[x, divisor])
}
