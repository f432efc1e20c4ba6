//! Reads operators whose results have extents that depend on data.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::smallvec;
use strait_core::op::{Gather, NonMaxSuppression, NonZero, Reshape, Squeeze, Unique};

pub(super) const ROWS: &[Row] = &[
    Row::new("NonZero", 9, |reader| reader.finish(NonZero {}, &[Arg::Operand(0)])).and(&[13]),
    Row::new("Compress", 9, compress).and(&[11, 28]),
    Row::new("Unique", 11, unique).and(&[28]),
    Row::new("NonMaxSuppression", 10, non_max_suppression).and(&[11]),
];

/// Reads Compress, which keeps the slices along an axis for which a condition is true. If no axis is given, the operand
/// is treated as a list of its elements. The condition may be shorter than the axis.
fn compress(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let positions = reader.push(NonZero {}, &[Arg::Operand(1)])?;
    let positions = reader.push(Squeeze { axes: smallvec![0] }, &[positions])?;
    match reader.int("axis")? {
        Some(axis) => reader.finish(Gather { axis }, &[Arg::Operand(0), positions]),
        None => {
            let all = reader.push(Reshape { shape: smallvec![-1] }, &[Arg::Operand(0)])?;
            reader.finish(Gather { axis: 0 }, &[all, positions])
        }
    }
}

fn unique(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let sorted = reader.int("sorted")?.unwrap_or(1) != 0;
    match reader.int("axis")? {
        Some(axis) => reader.finish(Unique { axis, sorted }, &[Arg::Operand(0)]),
        None => {
            let all = reader.push(Reshape { shape: smallvec![-1] }, &[Arg::Operand(0)])?;
            reader.finish(Unique { axis: 0, sorted }, &[all])
        }
    }
}

fn non_max_suppression(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let centers = reader.int("center_point_box")?.unwrap_or(0) != 0;
    let operands: Vec<Arg> = (0..reader.operand_count()).map(Arg::Operand).collect();
    reader.finish(NonMaxSuppression { centers }, &operands)
}
