//! Reads biases and normalizations.

use smallvec::smallvec;
use strait_core::ReasonCode;
use strait_core::op::{Add, AveragePool, BatchNormalization, Div};
use strait_import::{Arg, Refusal};

use super::Row;
use super::layout::{Layout, finish, layout, to_first};
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("BiasAdd", bias_add),
    ("BiasAddV1", bias_add),
    ("FusedBatchNorm", batch_normalization),
    ("FusedBatchNormV2", batch_normalization),
    ("FusedBatchNormV3", batch_normalization),
    ("LRN", local_response),
];

fn bias_add(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.one_type([0, 1])?;
    let layout = layout(node)?;
    let rank = node.rank(0)?;
    let mut bias = Arg::Operand(1);
    if layout == Layout::First && rank > 2 {
        let mut shape = vec![1; rank - 1];
        shape[0] = -1;
        bias = node.reshaped(&bias, &shape)?;
    }
    node.finish(Add {}, &[Arg::Operand(0), bias])
}

/// Batch normalization at inference, with the statistics as operands.
fn batch_normalization(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.ignore(&["exponential_avg_factor"]);
    // An absent `is_training` means true.
    let is_training = match node.has_attribute("is_training") {
        true => node.flag("is_training")?,
        false => true,
    };
    if is_training {
        let text = "it is in training mode, whose statistics are those of the batch that it is given; \
                    freeze the graph of inference, where `is_training` is false";
        return Err(Refusal::unsupported(text));
    }
    let epsilon = node.float("epsilon")?.unwrap_or(1e-4);
    let layout = layout(node)?;
    let x = to_first(node, layout, Arg::Operand(0))?;
    let mut operands = vec![x];
    operands.extend((1..5).map(Arg::Operand));
    finish(node, layout, BatchNormalization { epsilon }, &operands)
}

/// x / (bias + alpha · Σ x²) ^ beta. The sum is over the channels up to `depth_radius` before and after the element's
/// own channel. Missing channels count as 0. It is computed as an average pool along the channels, with padding
/// included in the count.
fn local_response(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let radius = node.int("depth_radius")?.unwrap_or(5);
    let [bias, alpha, beta] = [("bias", 1.0), ("alpha", 1.0), ("beta", 0.5)];
    let mut number = |(key, default): (&'static str, f32)| Ok::<f32, Refusal>(node.float(key)?.unwrap_or(default));
    let (bias, alpha, beta) = (number(bias)?, number(alpha)?, number(beta)?);
    let x = Arg::Operand(0);
    let extents = node.extents(&x)?;
    let channels = extents.last().copied().filter(|&channels| channels > 0);
    let radius = u32::try_from(radius).ok().filter(|&radius| radius <= 1 << 20);
    let (Some(channels), Some(radius)) = (channels, radius) else {
        return Err(Refusal::invalid(
            ReasonCode::Window,
            "its radius or its channels are none",
        ));
    };
    let squares = node.times(&x, &x)?;
    let rows = node.reshaped(&squares, &[-1, 1, 1, channels])?;
    let size = 2 * radius + 1;
    let pool = AveragePool {
        size: smallvec![1, size],
        stride: smallvec![1, 1],
        pad: smallvec![0, radius, 0, radius],
        dilation: smallvec![1, 1],
        ceil: false,
        count_include_pad: true,
    };
    let mean = node.push(pool, &[rows])?;
    let mean = node.reshaped(&mean, &extents)?;
    let scaled = node.scaled(&mean, f64::from(alpha) * f64::from(size))?;
    let base = node.shifted(&scaled, bias.into())?;
    let exponent = node.number(&base, beta.into())?;
    let divisor = node.power(&base, &exponent)?;
    node.finish(Div {}, &[x, divisor])
}
