//! Blocks of an image that become channels or samples, and back.

use super::Row;
use crate::read::site::{Arg, Refusal, Site, option, options};
use crate::schema::tflite::Activation;
use strait_core::ReasonCode;
use strait_core::op::{Op, Pad, PadMode, Reshape, Slice};

pub(super) const ROWS: &[Row] = &[
    Row::new("DEPTH_TO_SPACE", 2, depth_to_space),
    Row::new("SPACE_TO_DEPTH", 2, space_to_depth),
    Row::new("SPACE_TO_BATCH_ND", 4, space_to_batch),
    Row::new("BATCH_TO_SPACE_ND", 4, batch_to_space),
];

fn misfit(text: String) -> Refusal {
    Refusal::invalid(ReasonCode::Reshape, text)
}

/// Extents of the image behind its batch, and the size of a block.
fn sizes(site: &mut Site<'_, '_>, size: i32) -> Result<([i64; 3], i64), Refusal> {
    site.of_rank(0, 4)?;
    let shape = site.ty(0)?.shape;
    let mut extents = [0; 3];
    for (extent, dim) in extents.iter_mut().zip(&shape[1..]) {
        let fixed = dim.fixed().and_then(|extent| i64::try_from(extent).ok());
        *extent = fixed.ok_or_else(|| {
            Refusal::invalid(
                ReasonCode::SymbolicAxis,
                "an axis of the image is symbolic; bind it to a number",
            )
        })?;
    }
    match size {
        1.. => Ok((extents, size.into())),
        _ => Err(misfit(format!("its blocks are of size {size}"))),
    }
}

/// The block is in front of the channels that are left.
fn depth_to_space(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let options = options!(site, DepthToSpaceOptions);
    let ([h, w, c], b) = sizes(site, option!(options, block_size, 0))?;
    if c % b.saturating_mul(b) != 0 {
        return Err(misfit(format!("{c} channels are no blocks of {b} by {b}")));
    }
    let left = c / (b * b);
    let image = site.image(&Arg::Operand(0))?;
    let apart = site.reshaped(&image, &[0, b, b, left, h, w])?;
    let turned = site.transposed(&apart, &[0, 3, 4, 1, 5, 2])?;
    let image = site.reshaped(&turned, &[0, left, h.saturating_mul(b), w.saturating_mul(b)])?;
    site.finish_image(image, Activation::None)
}

fn space_to_depth(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let options = options!(site, SpaceToDepthOptions);
    let ([h, w, c], b) = sizes(site, option!(options, block_size, 0))?;
    if h % b != 0 || w % b != 0 {
        return Err(misfit(format!("an image of {h} by {w} is no blocks of {b} by {b}")));
    }
    let image = site.image(&Arg::Operand(0))?;
    let apart = site.reshaped(&image, &[0, c, h / b, b, w / b, b])?;
    let turned = site.transposed(&apart, &[0, 3, 5, 1, 2, 4])?;
    let channels = c.saturating_mul(b).saturating_mul(b);
    let image = site.reshaped(&turned, &[0, channels, h / b, w / b])?;
    site.finish_image(image, Activation::None)
}

/// Operands: x of 3 or 4 axes, the extents of a block, and paddings or crops. Answers with the extents of x, those of the block,
/// and the amounts.
fn blocks(site: &mut Site<'_, '_>) -> Result<(Vec<i64>, Vec<i64>, Vec<i64>), Refusal> {
    let extents = site.extents(&Arg::Operand(0))?;
    let block = site.known_ints(1, "block")?.unwrap_or_default();
    let amounts = site.known_ints(2, "amounts")?.unwrap_or_default();
    let fits = (1..=2).contains(&block.len())
        && extents.len() == block.len() + 2
        && amounts.len() == 2 * block.len()
        && block.iter().all(|&size| size > 0)
        && amounts.iter().all(|&amount| amount >= 0);
    match fits {
        true => Ok((extents, block, amounts)),
        false => Err(misfit(format!(
            "blocks {block:?} and amounts {amounts:?} do not fit {} axes",
            extents.len()
        ))),
    }
}

fn space_to_batch(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let (mut extents, block, paddings) = blocks(site)?;
    let rank = extents.len();
    let mut amounts = vec![0; 2 * rank];
    for axis in 0..block.len() {
        (amounts[axis + 1], amounts[axis + 1 + rank]) = (paddings[2 * axis], paddings[2 * axis + 1]);
        extents[axis + 1] = extents[axis + 1]
            .saturating_add(paddings[2 * axis])
            .saturating_add(paddings[2 * axis + 1]);
    }
    let pad = Pad {
        amounts: amounts.into(),
        mode: PadMode::Constant,
        value: 0.0,
    };
    let padded = site.push(pad, &[Arg::Operand(0)])?;
    let (mut apart, mut joined) = (vec![extents[0]], vec![extents[0]]);
    for (axis, &size) in block.iter().enumerate() {
        let extent = extents[axis + 1];
        if extent % size != 0 {
            return Err(misfit(format!("an axis of {extent} is no blocks of {size}")));
        }
        apart.extend([extent / size, size]);
        joined[0] = joined[0].saturating_mul(size);
        joined.push(extent / size);
    }
    apart.push(extents[rank - 1]);
    joined.push(extents[rank - 1]);
    let apart = site.reshaped(&padded, &apart)?;
    let turned = site.transposed(
        &apart,
        if block.len() == 1 {
            &[2, 0, 1, 3]
        } else {
            &[2, 4, 0, 1, 3, 5]
        },
    )?;
    site.finish(Reshape { shape: joined.into() }, &[turned])
}

fn batch_to_space(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let (extents, block, crops) = blocks(site)?;
    let rank = extents.len();
    let all = block.iter().fold(1i64, |all, &size| all.saturating_mul(size));
    if extents[0] % all != 0 {
        return Err(misfit(format!("{} samples are no blocks of {all}", extents[0])));
    }
    let mut apart = block.clone();
    apart.push(extents[0] / all);
    apart.extend(&extents[1..]);
    let mut joined = vec![extents[0] / all];
    joined.extend(
        block
            .iter()
            .zip(&extents[1..])
            .map(|(&size, &extent)| size.saturating_mul(extent)),
    );
    joined.push(extents[rank - 1]);
    let apart = site.reshaped(&Arg::Operand(0), &apart)?;
    let turned = site.transposed(
        &apart,
        if block.len() == 1 {
            &[1, 2, 0, 3]
        } else {
            &[2, 3, 0, 4, 1, 5]
        },
    )?;
    let axes: Vec<usize> = (0..block.len())
        .filter(|&axis| (crops[2 * axis], crops[2 * axis + 1]) != (0, 0))
        .collect();
    let whole: Op = Reshape {
        shape: joined.as_slice().into(),
    }
    .into();
    if axes.is_empty() {
        return site.finish(whole, &[turned]);
    }
    let image = site.push(whole, &[turned])?;
    let op = Slice {
        starts: axes.iter().map(|&axis| crops[2 * axis]).collect(),
        ends: axes
            .iter()
            .map(|&axis| joined[axis + 1].saturating_sub(crops[2 * axis + 1]))
            .collect(),
        axes: axes.iter().map(|&axis| axis as i64 + 1).collect(),
        steps: axes.iter().map(|_| 1).collect(),
    };
    site.finish(op, &[image])
}
