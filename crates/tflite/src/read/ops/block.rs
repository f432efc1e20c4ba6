//! Reads operators that move blocks of an image into the channels or the batch, and back.

use super::Row;
use crate::read::site::{Arg, Refusal, Site, option, options};
use crate::schema::Activation;
use strait_core::ReasonCode;
use strait_import::BlockOrder;

pub(super) const ROWS: &[Row] = &[
    Row::new("DEPTH_TO_SPACE", 2, |site| {
        let options = options!(site, DepthToSpaceOptions);
        let side = option!(options, block_size, 0);
        let image = site.image(&Arg::Operand(0))?;
        let (op, image) = site.depth_to_space(&image, side.into(), BlockOrder::Slow)?;
        let image = site.push(op, &[image])?;
        site.finish_image(image, Activation::None)
    }),
    Row::new("SPACE_TO_DEPTH", 2, |site| {
        let options = options!(site, SpaceToDepthOptions);
        let side = option!(options, block_size, 0);
        let image = site.image(&Arg::Operand(0))?;
        let (op, image) = site.space_to_depth(&image, side.into(), BlockOrder::Slow)?;
        let image = site.push(op, &[image])?;
        site.finish_image(image, Activation::None)
    }),
    Row::new("SPACE_TO_BATCH_ND", 4, |site| {
        let (block, paddings) = blocks(site)?;
        site.finish_space_to_batch(&block, &paddings)
    }),
    Row::new("BATCH_TO_SPACE_ND", 4, |site| {
        let (block, crops) = blocks(site)?;
        site.finish_batch_to_space(&block, &crops)
    }),
];

/// The sides of a block and its paddings or crops. Operands: x of 3 or 4 axes, the sides, and the paddings or crops.
fn blocks(site: &mut Site<'_, '_>) -> Result<(Vec<i64>, Vec<[i64; 2]>), Refusal> {
    let rank = site.rank(0)?;
    let block = site.known_ints(1, "block")?.unwrap_or_default();
    let amounts = site.known_ints(2, "amounts")?.unwrap_or_default();
    let fits = (1..=2).contains(&block.len())
        && rank == block.len() + 2
        && amounts.len() == 2 * block.len()
        && amounts.iter().all(|&amount| amount >= 0);
    match fits {
        true => Ok((block, amounts.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())),
        false => Err(Refusal::invalid(
            ReasonCode::Blocks,
            format!("blocks {block:?} and amounts {amounts:?} do not fit {rank} axes"),
        )),
    }
}
