//! Reads functions along one axis: softmax, log-softmax and hardmax.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{Cast, Flatten, Op, Reduction, Relation, Reshape, Softmax};
use strait_core::{Dim, ReasonCode};

pub(super) const ROWS: &[Row] = &[
    Row::new("Softmax", 1, |reader| {
        along(reader, |_, x, axis| Ok((Softmax { axis }.into(), vec![x])))
    })
    .and(&[11, 13]),
    Row::new("LogSoftmax", 1, |reader| {
        along(reader, |reader, x, axis| reader.log_softmax(&x, axis))
    })
    .and(&[11, 13]),
    Row::new("Hardmax", 1, |reader| along(reader, hardmax)).and(&[11, 13]),
];

/// The op that gives the node's result, and its operands.
type Last = (Op, Vec<Arg>);

/// Computes 1 for the largest element along an axis, and 0 for all others. If several elements are equally large, only
/// the one with the smallest index gets 1.
fn hardmax(reader: &mut OperatorReader<'_, '_>, x: Arg, axis: i64) -> Result<Last, Refusal> {
    let extents = reader.extents(&x)?;
    let axis = reader.axis(axis, extents.len())?;
    let extent = extents[axis];
    let mut shape = vec![1; extents.len()];
    shape[axis] = extent.unsigned_abs();
    let positions = reader.counted(&shape, extent)?;
    let largest = reader.reduced(Reduction::Max, &x, &[axis as i64])?;
    let is_largest = reader.compare(Relation::Equal, &x, &largest)?;
    let behind = reader.number(&positions, extent as f64)?;
    let candidates = reader.select(&is_largest, &positions, &behind)?;
    let first = reader.reduced(Reduction::Min, &candidates, &[axis as i64])?;
    let is_first = reader.compare(Relation::Equal, &positions, &first)?;
    let to = reader.arg_type(&x)?.elem;
    Ok((Cast { to }.into(), vec![is_first]))
}

/// Applies a function along an axis. From operator set 13 on, the function runs along one axis. Up to operator set 12,
/// it runs over all axes from `axis` on together: the operand is seen as a matrix [d0·…·d(axis−1), d(axis)·…]. If only
/// one of these axes has an extent other than 1, the function simply runs along that axis. Otherwise a reshape is added
/// before the function and one after it.
fn along(
    reader: &mut OperatorReader<'_, '_>,
    function: fn(&mut OperatorReader<'_, '_>, Arg, i64) -> Result<Last, Refusal>,
) -> Result<(), Refusal> {
    if reader.opset() >= 13 {
        let axis = reader.int("axis")?.unwrap_or(-1);
        let (op, args) = function(reader, Arg::Operand(0), axis)?;
        return reader.finish(op, &args);
    }
    let axis = reader.int("axis")?.unwrap_or(1);
    let shape = reader.ty(0)?.shape;
    let rank = shape.len() as i64;
    let first = reader.axis(axis, shape.len())? as i64;
    let mut wide = (first..rank).filter(|&a| shape[a as usize] != Dim::Fixed(1));
    match (wide.next(), wide.next()) {
        (only, None) => {
            let (op, args) = function(reader, Arg::Operand(0), only.unwrap_or(first))?;
            reader.finish(op, &args)
        }
        _ => {
            // The second reshape restores the original shape. No extent of this shape may be symbolic, because the
            // reshape could not take the extent from its operand, which is a matrix.
            let back = shape.iter().map(|d| d.fixed().and_then(|d| i64::try_from(d).ok()));
            let back = back.collect::<Option<_>>().ok_or_else(|| {
                Refusal::invalid(
                    ReasonCode::SymbolicSoftmax,
                    "softmax over several axes of a symbolic shape; bind it to numbers",
                )
            })?;
            let matrix = reader.push(Flatten { axis: first }, &[Arg::Operand(0)])?;
            let (op, args) = function(reader, matrix, 1)?;
            let result = reader.push(op, &args)?;
            reader.finish(Reshape { shape: back }, &[result])
        }
    }
}
