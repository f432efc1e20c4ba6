//! Reads operators that move blocks of an image into the batch or the channels, and back.

use strait_core::ReasonCode;
use strait_import::{Arg, BlockOrder, Refusal};

use super::Row;
use super::layout::{finish, layout, to_first};
use super::pad::amounts;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("SpaceToBatchND", |reader| {
        let (block, paddings) = block(reader, "padding")?;
        reader.finish_space_to_batch(&block, &paddings)
    }),
    ("BatchToSpaceND", |reader| {
        let (block, crops) = block(reader, "crop")?;
        reader.finish_batch_to_space(&block, &crops)
    }),
    ("SpaceToBatch", |reader| {
        let block = [side(reader)?; 2];
        let paddings = amounts(reader, 1, "padding", 2)?;
        reader.finish_space_to_batch(&block, &paddings)
    }),
    ("BatchToSpace", |reader| {
        let block = [side(reader)?; 2];
        let crops = amounts(reader, 1, "crop", 2)?;
        reader.finish_batch_to_space(&block, &crops)
    }),
    ("SpaceToDepth", |reader| {
        let (side, layout) = (side(reader)?, layout(reader)?);
        let image = to_first(reader, layout, Arg::Operand(0))?;
        let (op, image) = reader.space_to_depth(&image, side, BlockOrder::Slow)?;
        finish(reader, layout, op, &[image])
    }),
    ("DepthToSpace", |reader| {
        let (side, layout) = (side(reader)?, layout(reader)?);
        let image = to_first(reader, layout, Arg::Operand(0))?;
        let (op, image) = reader.depth_to_space(&image, side, BlockOrder::Slow)?;
        finish(reader, layout, op, &[image])
    }),
];

fn side(reader: &mut OperatorReader<'_, '_>) -> Result<i64, Refusal> {
    let side = reader.int("block_size")?.filter(|&side| side > 0);
    side.ok_or_else(|| Refusal::invalid(ReasonCode::Blocks, "`block_size` has to be positive"))
}

/// The sides of a block (operand 1), and the amounts of padding or cropping before and after each axis (operand 2).
fn block(reader: &mut OperatorReader<'_, '_>, what: &str) -> Result<(Vec<i64>, Vec<[i64; 2]>), Refusal> {
    let block = reader.known_ints(1, "block")?.unwrap_or_default();
    let amounts = amounts(reader, 2, what, block.len())?;
    Ok((block, amounts))
}
