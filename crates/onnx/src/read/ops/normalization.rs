//! Normalizations and softmax.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::Dim;
use strait_core::ReasonCode;
use strait_core::op::{BatchNormalization, Flatten, LayerNormalization, Reshape, Softmax};

pub(super) const ROWS: &[Row] = &[
    Row::new("BatchNormalization", 7, batch_normalization),
    Row::new("LayerNormalization", 17, layer_normalization),
    Row::new("Softmax", 1, softmax),
];

const DEFAULT_EPSILON: f32 = 1e-5;

fn batch_normalization(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    site.only("training_mode", 0)?;
    // 0, up to operator set 8: statistics per element and not per channel.
    site.only("spatial", 1)?;
    site.ignore(&["momentum"]);
    let epsilon = site.float("epsilon")?.unwrap_or(DEFAULT_EPSILON);
    let operands = [0, 1, 2, 3, 4].map(Arg::Operand);
    site.finish(BatchNormalization { epsilon }, &operands)
}

fn layer_normalization(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    // 1: the statistics are computed in 32-bit floats.
    site.only("stash_type", 1)?;
    let op = LayerNormalization {
        axis: site.int("axis")?.unwrap_or(-1),
        epsilon: site.float("epsilon")?.unwrap_or(DEFAULT_EPSILON),
    };
    site.finish(op, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])
}

/// From operator set 13 on, softmax runs along one axis. Before, it runs over all axes from `axis` on together: the operand
/// is taken as a matrix, [d0·…·d(axis−1), d(axis)·…]. That is softmax along one axis where all but one of them have
/// extent 1, and a reshape on both sides elsewhere.
fn softmax(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    if site.opset() >= 13 {
        let axis = site.int("axis")?.unwrap_or(-1);
        return site.finish(Softmax { axis }, &[Arg::Operand(0)]);
    }
    let axis = site.int("axis")?.unwrap_or(1);
    let shape = site.ty(0)?.shape;
    let rank = shape.len() as i64;
    let first = if axis < 0 { axis + rank } else { axis };
    if !(0..rank).contains(&first) {
        return Err(Refusal::invalid(
            ReasonCode::Axis,
            format!("axis {axis} is outside rank {rank}"),
        ));
    }
    let mut wide = (first..rank).filter(|&a| shape[a as usize] != Dim::Fixed(1));
    match (wide.next(), wide.next()) {
        (only, None) => {
            let axis = only.unwrap_or(first);
            site.finish(Softmax { axis }, &[Arg::Operand(0)])
        }
        _ => {
            // In the shape to return to, a symbolic extent has no number; the operand of the reshape no longer has it.
            let back = shape.iter().map(|d| d.fixed().and_then(|d| i64::try_from(d).ok()));
            let back = back.collect::<Option<_>>().ok_or_else(|| {
                Refusal::invalid(
                    ReasonCode::SymbolicSoftmax,
                    "softmax over several axes of a symbolic shape; bind it to numbers",
                )
            })?;
            let matrix = site.push(Flatten { axis: first }, &[Arg::Operand(0)])?;
            let softmax = site.push(Softmax { axis: 1 }, &[matrix])?;
            site.finish(Reshape { shape: back }, &[softmax])
        }
    }
}
