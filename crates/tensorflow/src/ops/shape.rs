//! Reads operators that change the shape or the order of axes, but not the elements.

use bytes::Bytes;
use strait_core::op::{Expand, Reshape, Squeeze, Transpose, Unsqueeze};
use strait_core::{ReasonCode, TensorData};
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
        let axis = one(reader, 1, "axis")?;
        let axes = std::iter::once(axis).collect();
        reader.finish(Unsqueeze { axes }, &[Arg::Operand(0)])
    }),
    ("Transpose", transpose),
    ("BroadcastTo", broadcast),
];

/// The number in an operand that is a single integer.
pub(super) fn one(reader: &mut OperatorReader<'_, '_>, position: usize, what: &str) -> Result<i64, Refusal> {
    match reader.known_ints(position, what)?.as_deref() {
        Some(&[number]) => Ok(number),
        Some(other) => {
            let text = format!("its {what} is {other:?}, and not one number");
            Err(Refusal::invalid(ReasonCode::OperandType, text))
        }
        None => Err(Refusal::invalid(
            ReasonCode::MissingOperand,
            format!("its {what} is missing"),
        )),
    }
}

/// Reads a reshape. In a TensorFlow shape, 0 is an extent of 0; in the IR it would stand for the extent of the operand.
fn reshape(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if let Some(shape) = reader.late_list(1)? {
        let args = reader.late_operands(&[1])?;
        return reader.finish(Reshape { shape: shape.into() }, &args);
    }
    let shape = reader.known_ints(1, "shape")?;
    let shape = shape.ok_or_else(|| Refusal::invalid(ReasonCode::Reshape, "the shape is missing"))?;
    if !shape.contains(&0) {
        return reader.finish(Reshape { shape: shape.into() }, &[Arg::Operand(0)]);
    }
    let ty = reader.ty(0)?;
    let extents = shape.iter().map(|&extent| u64::try_from(extent.max(0)).ok());
    let extents: Option<Vec<u64>> = extents.collect();
    let is_empty = ty.shape.iter().any(|dim| dim.fixed().is_none_or(|extent| extent == 0));
    let extents = extents.filter(|_| is_empty).ok_or_else(|| {
        let text = format!("from {:?} to {shape:?}, where a 0 is an extent", ty.shape);
        Refusal::invalid(ReasonCode::Reshape, text)
    })?;
    reader.room(&extents)?;
    reader.finish_constant(TensorData::new(ty.elem, &extents, Bytes::new())?);
    Ok(())
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
    if let Some(shape) = reader.late_list(1)? {
        let args = reader.late_operands(&[1])?;
        return reader.finish(Expand { shape: shape.into() }, &args);
    }
    let shape = reader.known_ints(1, "shape")?;
    let shape = shape.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the shape is missing"))?;
    reader.finish(Expand { shape: shape.into() }, &[Arg::Operand(0)])
}
