//! Reads operators that become several ops, because the IR has no single op for them.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::ReasonCode;
use strait_core::op::{Add, Clip, LeakyRelu, Mul, Relu};
use strait_import::BlockOrder;

pub(super) const ROWS: &[Row] = &[
    Row::new("PRelu", 7, prelu).and(&[9, 16]),
    Row::new("DepthToSpace", 1, depth_to_space).and(&[11, 13, 28]),
    Row::new("SpaceToDepth", 1, space_to_depth).and(&[13, 28]),
];

/// Reads PRelu: max(x, 0) + slope·min(x, 0). One of the two terms is always zero, so the sum is exact. If the slope is
/// a single constant, the node becomes a leaky ReLU.
fn prelu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    if let Some(slope) = reader.constant(1)?
        && slope.len() == 1
        && slope.elem().is_float()
        && slope.shape().len() <= rank
        && let Some(slope) = slope.to_f32().ok().and_then(|slope| slope.first().copied())
        && slope.is_finite()
    {
        return reader.finish(LeakyRelu { alpha: slope }, &[Arg::Operand(0)]);
    }
    reader.one_type([0, 1])?;
    let positive = reader.push(Relu {}, &[Arg::Operand(0)])?;
    let clip = Clip {
        min: f32::NEG_INFINITY,
        max: 0.0,
    };
    let negative = reader.push(clip, &[Arg::Operand(0)])?;
    let scaled = reader.push(Mul::float(), &[negative, Arg::Operand(1)])?;
    reader.finish(Add {}, &[positive, scaled])
}

/// Reads DepthToSpace. Each group of b·b channels becomes a square of b by b positions.
fn depth_to_space(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (side, order) = blocks(reader)?;
    let (op, image) = reader.depth_to_space(&Arg::Operand(0), side, order)?;
    reader.finish(op, &[image])
}

/// Reads SpaceToDepth. Each square of b by b positions becomes a group of b·b channels.
fn space_to_depth(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (side, order) = blocks(reader)?;
    let (op, image) = reader.space_to_depth(&Arg::Operand(0), side, order)?;
    reader.finish(op, &[image])
}

/// Reads the attributes `blocksize` and `mode`. A channel of the operand stands for a channel of the result and a
/// position in the block. `mode` says how the operand's channels are ordered: the channel of the result varies fastest
/// in mode DCR, and slowest in mode CRD.
fn blocks(reader: &mut OperatorReader<'_, '_>) -> Result<(i64, BlockOrder), Refusal> {
    let side = reader
        .int("blocksize")?
        .filter(|&side| side > 0)
        .ok_or_else(|| Refusal::invalid(ReasonCode::Blocks, "`blocksize` has to be positive"))?;
    match reader.text("mode", "DCR")? {
        "DCR" => Ok((side, BlockOrder::Slow)),
        "CRD" => Ok((side, BlockOrder::Fast)),
        other => Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    }
}
