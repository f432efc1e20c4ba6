//! Reads operators that change the shape or the order of axes, but not the elements.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::ReasonCode;
use strait_core::op::{Flatten, Reshape, Squeeze, Transpose, Unsqueeze};

pub(super) const ROWS: &[Row] = &[
    Row::new("Reshape", 5, reshape).and(&[13, 14, 19, 21, 23, 24, 25]),
    Row::new("Flatten", 1, |reader| {
        let axis = reader.int("axis")?.unwrap_or(1);
        reader.finish(Flatten { axis }, &[Arg::Operand(0)])
    })
    .and(&[9, 11, 13, 21, 23, 24, 25]),
    Row::new("Squeeze", 1, |reader| {
        let axes = reader.list("axes", 1, 13)?.unwrap_or_default().into();
        reader.finish(Squeeze { axes }, &[Arg::Operand(0)])
    })
    .and(&[11, 13, 21, 23, 24, 25]),
    Row::new("Unsqueeze", 1, |reader| {
        let axes = reader.list("axes", 1, 13)?;
        let axes = axes
            .ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the axes are missing"))?
            .into();
        reader.finish(Unsqueeze { axes }, &[Arg::Operand(0)])
    })
    .and(&[11, 13, 21, 23, 24, 25]),
    Row::new("Transpose", 1, transpose).and(&[13, 21, 23, 24, 25]),
];

fn reshape(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (shape, args) = reader.shape_operand(1, ReasonCode::Reshape)?;
    if args.len() > 1 {
        reader.only("allowzero", 0)?;
    } else if reader.flag("allowzero")? && shape.contains(&0) {
        // Unless `allowzero` is set, a 0 in the shape stands for the operand's extent at that position.
        return reader.finish_empty(&shape);
    }
    reader.finish(Reshape { shape: shape.into() }, &args)
}

/// Permutes the axes. By default, their order is reversed.
fn transpose(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    let permutation = match reader.ints("perm")? {
        None => (0..rank as u32).rev().collect(),
        Some(axes) => {
            let axes: Result<_, _> = axes.iter().map(|&a| u32::try_from(a)).collect();
            axes.map_err(|_| Refusal::invalid(ReasonCode::Permutation, "`perm` has a negative axis"))?
        }
    };
    reader.finish(Transpose { permutation }, &[Arg::Operand(0)])
}
