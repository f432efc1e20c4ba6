//! Reads operators that change the shape or the order of axes, but not the elements.

use strait_core::ReasonCode;
use strait_core::op::{Expand, Reshape, Squeeze, Transpose, Unsqueeze};
use strait_import::{Arg, Refusal};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("Reshape", reshape),
    ("Squeeze", |reader| {
        let axes = reader.ints("squeeze_dims")?.unwrap_or_default().into();
        reader.finish(Squeeze { axes }, &[Arg::Operand(0)])
    }),
    ("ExpandDims", |reader| {
        let axis = reader.given_int(1, "axis")?;
        let axes = std::iter::once(axis).collect();
        reader.finish(Unsqueeze { axes }, &[Arg::Operand(0)])
    }),
    ("Transpose", transpose),
    ("BroadcastTo", broadcast),
];

/// Reads a reshape. In a TensorFlow shape, 0 is an extent of 0; in the IR it would stand for the extent of the operand.
fn reshape(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (shape, args) = reader.shape_operand(1, ReasonCode::Reshape)?;
    if args.len() > 1 || !shape.contains(&0) {
        return reader.finish(Reshape { shape: shape.into() }, &args);
    }
    let extents: Vec<i64> = shape.iter().map(|&extent| extent.max(0)).collect();
    reader.finish_empty(&extents)
}

fn transpose(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let order = reader.known_ints(1, "order of axes")?;
    let order = order.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the order of axes is missing"))?;
    let rank = reader.rank(0)?;
    let axes: Result<Vec<usize>, Refusal> = order.iter().map(|&axis| reader.axis(axis, rank)).collect();
    let permutation = axes?.into_iter().map(|axis| axis as u32).collect();
    reader.finish(Transpose { permutation }, &[Arg::Operand(0)])
}

fn broadcast(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (shape, args) = reader.shape_operand(1, ReasonCode::Axes)?;
    reader.finish(Expand { shape: shape.into() }, &args)
}
