//! Reads operators that repeat, crop and pad tensors.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::SmallVec;
use strait_core::ReasonCode;
use strait_core::op::{Expand, Identity, Mul, Pad, PadMode};
use strait_import::slice_along;

pub(super) const ROWS: &[Row] = &[
    Row::new("Tile", 6, tile).and(&[13]),
    Row::new("Expand", 8, expand).and(&[13]),
    Row::new("CenterCropPad", 18, center_crop_pad),
];

/// Broadcasts the operand against a tensor with the given extents.
fn expand(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (shape, args) = reader.shape_operand(1, ReasonCode::Axes)?;
    reader.finish(Expand { shape: shape.into() }, &args)
}

/// Reads Tile, which puts copies of the operand side by side.
fn tile(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if let Some(repeats) = reader.late_list(1)? {
        return tile_late(reader, &repeats);
    }
    let repeats = reader.known_ints(1, "repeats")?;
    let repeats = repeats.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the repeats are missing"))?;
    let (op, args) = reader.tiled(Arg::Operand(0), &repeats)?;
    reader.finish(op, &args)
}

/// Reads Tile with numbers of copies that are computed at run time. A gather repeats the positions along each axis.
fn tile_late(reader: &mut OperatorReader<'_, '_>, repeats: &[i64]) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    if repeats.len() != rank {
        let text = format!("{} repeats for rank {rank}", repeats.len());
        return Err(Refusal::invalid(ReasonCode::Axes, text));
    }
    let list = reader.indices(1)?;
    let mut x = Arg::Operand(0);
    for (axis, _) in repeats.iter().enumerate().filter(|(_, count)| **count != 1) {
        let extent = reader.extent_at(&x, axis)?;
        let count = reader.part(&list, 0, axis as i64, axis as i64 + 1)?;
        let length = reader.push(Mul::float(), &[extent, count])?;
        let first = Arg::Constant(reader.integers(&[1], &[0])?);
        x = reader.cyclic(&x, axis, first, length)?;
    }
    reader.finish(Identity {}, &[x])
}

/// Crops or pads at the centre. An axis that is too long loses equally many elements at both ends, or one more at the
/// end. An axis that is too short gets zeros in the same way.
fn center_crop_pad(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let wanted = reader.known_ints(1, "shape")?;
    let wanted = wanted.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the shape is missing"))?;
    let extents = reader.extents(&Arg::Operand(0))?;
    let rank = extents.len();
    let axes = reader
        .ints("axes")?
        .map_or_else(|| (0..rank as i64).collect(), <[i64]>::to_vec);
    if axes.len() != wanted.len() || wanted.iter().any(|&extent| extent < 0) {
        let text = format!("the extents {wanted:?} are not those of the axes {axes:?}");
        return Err(Refusal::invalid(ReasonCode::Axes, text));
    }
    let mut crops = Vec::new();
    let mut amounts: SmallVec<[i64; 8]> = SmallVec::from_elem(0, 2 * rank);
    for (&axis, &extent) in axes.iter().zip(&wanted) {
        let axis = reader.axis(axis, rank)?;
        let more = extent - extents[axis];
        match more {
            ..0 => {
                let start = -more / 2;
                crops.push((axis as i64, [start, start + extent, 1]));
            }
            _ => {
                amounts[axis] = more / 2;
                amounts[axis + rank] = more - more / 2;
            }
        }
    }
    let cropped = match crops.is_empty() {
        true => Arg::Operand(0),
        false => reader.push(slice_along(crops), &[Arg::Operand(0)])?,
    };
    let pad = Pad {
        amounts,
        mode: PadMode::Constant,
        value: 0.0,
    };
    reader.finish(pad, &[cropped])
}
