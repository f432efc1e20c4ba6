//! Reads operators that change the shape or the order of axes, but not the elements.

use bytes::Bytes;
use strait_core::op::{Expand, Reshape, Squeeze, Transpose, Unsqueeze};
use strait_core::{ReasonCode, TensorData};
use strait_import::{Arg, Refusal};

use super::Row;
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("Reshape", reshape),
    ("Squeeze", |node| {
        let axes = node.ints("squeeze_dims")?.unwrap_or_default().into();
        node.finish(Squeeze { axes }, &[Arg::Operand(0)])
    }),
    ("ExpandDims", |node| {
        let axis = one(node, 1, "axis")?;
        let axes = std::iter::once(axis).collect();
        node.finish(Unsqueeze { axes }, &[Arg::Operand(0)])
    }),
    ("Transpose", transpose),
    ("BroadcastTo", broadcast),
];

/// A single integer given as an operand.
pub(super) fn one(node: &mut Node<'_, '_>, position: usize, what: &str) -> Result<i64, Refusal> {
    match node.known_ints(position, what)?.as_deref() {
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

/// A 0 in a TensorFlow shape is an extent. In the IR it would copy the operand's extent.
fn reshape(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    if let Some(shape) = node.late_list(1)? {
        let args = node.late_operands(&[1])?;
        return node.finish(Reshape { shape: shape.into() }, &args);
    }
    let shape = node.known_ints(1, "shape")?;
    let shape = shape.ok_or_else(|| Refusal::invalid(ReasonCode::Reshape, "the shape is missing"))?;
    if !shape.contains(&0) {
        return node.finish(Reshape { shape: shape.into() }, &[Arg::Operand(0)]);
    }
    let ty = node.ty(0)?;
    let extents = shape.iter().map(|&extent| u64::try_from(extent.max(0)).ok());
    let extents: Option<Vec<u64>> = extents.collect();
    let is_empty = ty.shape.iter().any(|dim| dim.fixed().is_none_or(|extent| extent == 0));
    let extents = extents.filter(|_| is_empty).ok_or_else(|| {
        let text = format!("from {:?} to {shape:?}, where a 0 is an extent", ty.shape);
        Refusal::invalid(ReasonCode::Reshape, text)
    })?;
    node.room(&extents)?;
    node.finish_constant(TensorData::new(ty.elem, &extents, Bytes::new())?);
    Ok(())
}

fn transpose(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let order = node.known_ints(1, "order of axes")?;
    let order = order.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the order of axes is missing"))?;
    let rank = node.rank(0)?;
    let axes: Result<Vec<usize>, Refusal> = order.iter().map(|&axis| node.axis(axis, rank)).collect();
    let permutation = axes?.into_iter().map(|axis| axis as u32).collect();
    node.finish(Transpose { permutation }, &[Arg::Operand(0)])
}

fn broadcast(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    if let Some(shape) = node.late_list(1)? {
        let args = node.late_operands(&[1])?;
        return node.finish(Expand { shape: shape.into() }, &args);
    }
    let shape = node.known_ints(1, "shape")?;
    let shape = shape.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the shape is missing"))?;
    node.finish(Expand { shape: shape.into() }, &[Arg::Operand(0)])
}
