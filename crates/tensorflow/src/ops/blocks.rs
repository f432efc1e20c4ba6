//! Reads operators that move blocks of an image into the batch or the channels, and back.

use strait_core::ReasonCode;
use strait_import::{Arg, BlockOrder, Refusal};

use super::Row;
use super::layout::{finish, layout, to_first};
use super::pad::amounts;
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("SpaceToBatchND", |node| {
        let (block, paddings) = block(node, "padding")?;
        node.finish_space_to_batch(&block, &paddings)
    }),
    ("BatchToSpaceND", |node| {
        let (block, crops) = block(node, "crop")?;
        node.finish_batch_to_space(&block, &crops)
    }),
    ("SpaceToBatch", |node| {
        let block = [side(node)?; 2];
        let paddings = amounts(node, 1, "padding", 2)?;
        node.finish_space_to_batch(&block, &paddings)
    }),
    ("BatchToSpace", |node| {
        let block = [side(node)?; 2];
        let crops = amounts(node, 1, "crop", 2)?;
        node.finish_batch_to_space(&block, &crops)
    }),
    ("SpaceToDepth", |node| {
        let (side, layout) = (side(node)?, layout(node)?);
        let image = to_first(node, layout, Arg::Operand(0))?;
        let (op, image) = node.space_to_depth(&image, side, BlockOrder::Slow)?;
        finish(node, layout, op, &[image])
    }),
    ("DepthToSpace", |node| {
        let (side, layout) = (side(node)?, layout(node)?);
        let image = to_first(node, layout, Arg::Operand(0))?;
        let (op, image) = node.depth_to_space(&image, side, BlockOrder::Slow)?;
        finish(node, layout, op, &[image])
    }),
];

fn side(node: &mut Node<'_, '_>) -> Result<i64, Refusal> {
    let side = node.int("block_size")?.filter(|&side| side > 0);
    side.ok_or_else(|| Refusal::invalid(ReasonCode::Blocks, "`block_size` has to be positive"))
}

/// The sides of a block (operand 1), and the amount of padding or cropping for each (operand 2).
fn block(node: &mut Node<'_, '_>, what: &str) -> Result<(Vec<i64>, Vec<[i64; 2]>), Refusal> {
    let block = node.known_ints(1, "block")?.unwrap_or_default();
    let amounts = amounts(node, 2, what, block.len())?;
    Ok((block, amounts))
}
