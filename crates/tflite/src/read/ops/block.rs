//! Reads operators that move blocks of an image into the channels or the batch, and back.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use crate::schema::Activation;
use strait_core::ReasonCode;
use strait_import::BlockOrder;

pub(super) const ROWS: &[Row] = &[
    Row::new("DEPTH_TO_SPACE", 2, |reader| {
        let options = options!(reader, DepthToSpaceOptions);
        let side = option!(options, block_size, 0);
        let image = reader.image(&Arg::Operand(0))?;
        let (op, image) = reader.depth_to_space(&image, side.into(), BlockOrder::Slow)?;
        let image = reader.push(op, &[image])?;
        reader.finish_image(image, Activation::None)
    })
    .on_one_grid(),
    Row::new("SPACE_TO_DEPTH", 2, |reader| {
        let options = options!(reader, SpaceToDepthOptions);
        let side = option!(options, block_size, 0);
        let image = reader.image(&Arg::Operand(0))?;
        let (op, image) = reader.space_to_depth(&image, side.into(), BlockOrder::Slow)?;
        let image = reader.push(op, &[image])?;
        reader.finish_image(image, Activation::None)
    })
    .on_one_grid(),
    Row::new("SPACE_TO_BATCH_ND", 4, |reader| {
        let (block, paddings) = blocks(reader)?;
        reader.finish_space_to_batch(&block, &paddings)
    })
    .on_one_grid(),
    Row::new("BATCH_TO_SPACE_ND", 4, |reader| {
        let (block, crops) = blocks(reader)?;
        reader.finish_batch_to_space(&block, &crops)
    })
    .on_one_grid(),
];

/// The sides of a block (operand 1), and the paddings or crops (operand 2). Operand 0 must have 3 or 4 axes.
fn blocks(reader: &mut OperatorReader<'_, '_>) -> Result<(Vec<i64>, Vec<[i64; 2]>), Refusal> {
    let rank = reader.rank(0)?;
    let block = reader.known_ints(1, "block")?.unwrap_or_default();
    let amounts = reader.known_ints(2, "amounts")?.unwrap_or_default();
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
