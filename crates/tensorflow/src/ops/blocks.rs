//! Blocks of an image that become batches or channels, and back.

use strait_core::op::{Identity, Reshape, Slice};
use strait_core::{Dim, ReasonCode};
use strait_import::{Arg, Refusal};

use super::Row;
use super::layout::{Layout, layout};
use super::pad::{amounts, constant};
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("SpaceToBatchND", |node| space_to_batch(node, None)),
    ("BatchToSpaceND", |node| batch_to_space(node, None)),
    ("SpaceToBatch", |node| {
        let block = square(node)?;
        space_to_batch(node, Some(block))
    }),
    ("BatchToSpace", |node| {
        let block = square(node)?;
        batch_to_space(node, Some(block))
    }),
    ("SpaceToDepth", space_to_depth),
    ("DepthToSpace", depth_to_space),
];

fn invalid(text: impl Into<String>) -> Refusal {
    Refusal::invalid(ReasonCode::Blocks, text)
}

/// A block of two equal sides, which older operators have as an attribute.
fn square(node: &mut Node<'_, '_>) -> Result<Vec<i64>, Refusal> {
    Ok(vec![side(node)?; 2])
}

fn side(node: &mut Node<'_, '_>) -> Result<i64, Refusal> {
    let side = node.int("block_size")?.filter(|&side| side > 0);
    side.ok_or_else(|| invalid("`block_size` has to be positive"))
}

/// The sides of a block, which operand 1 has where no attribute does, and the operand behind it.
fn block(node: &mut Node<'_, '_>, given: Option<Vec<i64>>) -> Result<(Vec<i64>, usize), Refusal> {
    let (block, next) = match given {
        Some(block) => (block, 1),
        None => (node.known_ints(1, "block")?.unwrap_or_default(), 2),
    };
    match !block.is_empty() && block.iter().all(|&side| side > 0) {
        true => Ok((block, next)),
        false => Err(invalid(format!("its block is {block:?}"))),
    }
}

/// The extents behind the batch, of which at least `least` are there.
fn behind_batch(node: &mut Node<'_, '_>, x: &Arg, least: usize) -> Result<Vec<i64>, Refusal> {
    let shape = node.arg_type(x)?.shape;
    let extent = |dim: &Dim| {
        dim.fixed()
            .and_then(|extent| i64::try_from(extent).ok())
            .filter(|&extent| extent > 0)
    };
    let extents: Option<Vec<i64>> = shape.iter().skip(1).map(extent).collect();
    let extents =
        extents.ok_or_else(|| invalid("an axis behind the batch is symbolic or empty; bind it to a number"))?;
    match extents.len() >= least {
        true => Ok(extents),
        false => Err(invalid(format!(
            "an operand of rank {} for a block of {least} sides",
            shape.len()
        ))),
    }
}

fn product(a: i64, b: i64) -> Result<i64, Refusal> {
    a.checked_mul(b).ok_or_else(|| invalid("an extent overflows"))
}

/// A quotient without remainder.
fn exact(extent: i64, divisor: i64) -> Result<i64, Refusal> {
    match extent.checked_rem(divisor) {
        Some(0) => Ok(extent / divisor),
        _ => Err(invalid(format!(
            "an extent of {extent} is not made of whole blocks of {divisor}"
        ))),
    }
}

/// Pads, splits each axis of the image in blocks and positions in a block, and puts the positions in front of the batch.
fn space_to_batch(node: &mut Node<'_, '_>, given: Option<Vec<i64>>) -> Result<(), Refusal> {
    let (block, next) = block(node, given)?;
    let paddings = amounts(node, next, "padding", block.len())?;
    let mut x = Arg::Operand(0);
    let rank = node.rank(0)?;
    if paddings.iter().any(|pair| *pair != [0, 0]) {
        let mut all = vec![[0, 0]];
        all.extend(paddings);
        all.resize(rank.max(all.len()), [0, 0]);
        x = node.push(constant(&all, 0.0), &[x])?;
    }
    let extents = behind_batch(node, &x, block.len())?;
    let (image, rest) = extents.split_at(block.len());
    let (mut split, mut joined) = (vec![0], vec![-1]);
    for (&extent, &side) in image.iter().zip(&block) {
        let blocks = exact(extent, side)?;
        split.extend([blocks, side]);
        joined.push(blocks);
    }
    split.extend(rest);
    joined.extend(rest);
    let axes = block.len() as u32;
    let positions = (0..axes).map(|axis| 2 * axis + 2);
    let blocks = (0..axes).map(|axis| 2 * axis + 1);
    let rest = 2 * axes + 1..split.len() as u32;
    let order: Vec<u32> = positions.chain([0]).chain(blocks).chain(rest).collect();
    let split = node.reshaped(&x, &split)?;
    let turned = node.transposed(&split, &order)?;
    node.finish(Reshape { shape: joined.into() }, &[turned])
}

/// The inverse, which crops at the end.
fn batch_to_space(node: &mut Node<'_, '_>, given: Option<Vec<i64>>) -> Result<(), Refusal> {
    let (block, next) = block(node, given)?;
    let crops = amounts(node, next, "crop", block.len())?;
    let x = Arg::Operand(0);
    let extents = behind_batch(node, &x, block.len())?;
    let (image, rest) = extents.split_at(block.len());
    let mut split = block.clone();
    split.push(-1);
    split.extend(&extents);
    let mut joined = vec![0];
    for (&extent, &side) in image.iter().zip(&block) {
        joined.push(product(extent, side)?);
    }
    joined.extend(rest);
    let axes = block.len() as u32;
    let pairs = (0..axes).flat_map(|axis| [axes + 1 + axis, axis]);
    let rest = 2 * axes + 1..split.len() as u32;
    let order: Vec<u32> = std::iter::once(axes).chain(pairs).chain(rest).collect();
    let split = node.reshaped(&x, &split)?;
    let turned = node.transposed(&split, &order)?;
    if crops.iter().all(|pair| *pair == [0, 0]) {
        return node.finish(Reshape { shape: joined.into() }, &[turned]);
    }
    let whole = node.reshaped(&turned, &joined)?;
    let mut slice = Slice {
        starts: Default::default(),
        ends: Default::default(),
        axes: Default::default(),
        steps: Default::default(),
    };
    for (axis, (&extent, [begin, end])) in joined.iter().skip(1).zip(crops).enumerate() {
        if begin + end > extent {
            return Err(invalid(format!(
                "an extent of {extent} is cropped by {begin} and {end}"
            )));
        }
        slice.starts.push(begin);
        slice.ends.push(extent - end);
        slice.axes.push(axis as i64 + 1);
        slice.steps.push(1);
    }
    node.finish(slice, &[whole])
}

/// Blocks of b by b positions become channels; the position in a block is the slower part of a channel.
fn space_to_depth(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let b = side(node)?;
    let layout = layout(node)?;
    let x = Arg::Operand(0);
    let extents: [i64; 3] = behind_batch(node, &x, 3)?
        .try_into()
        .map_err(|_| invalid("the operand needs rank 4"))?;
    let (split, order, joined): ([i64; 6], [u32; 6], [i64; 4]) = match (layout, extents) {
        (Layout::Last, [h, w, c]) => {
            let (rows, columns) = (exact(h, b)?, exact(w, b)?);
            let depth = product(product(b, b)?, c)?;
            (
                [0, rows, b, columns, b, c],
                [0, 1, 3, 2, 4, 5],
                [0, rows, columns, depth],
            )
        }
        (Layout::First, [c, h, w]) => {
            let (rows, columns) = (exact(h, b)?, exact(w, b)?);
            let depth = product(product(b, b)?, c)?;
            (
                [0, c, rows, b, columns, b],
                [0, 3, 5, 1, 2, 4],
                [0, depth, rows, columns],
            )
        }
    };
    regroup(node, split, order, joined)
}

/// The inverse.
fn depth_to_space(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let b = side(node)?;
    let layout = layout(node)?;
    let x = Arg::Operand(0);
    let extents: [i64; 3] = behind_batch(node, &x, 3)?
        .try_into()
        .map_err(|_| invalid("the operand needs rank 4"))?;
    let (split, order, joined): ([i64; 6], [u32; 6], [i64; 4]) = match (layout, extents) {
        (Layout::Last, [h, w, c]) => {
            let depth = exact(c, product(b, b)?)?;
            let joined = [0, product(h, b)?, product(w, b)?, depth];
            ([0, h, w, b, b, depth], [0, 1, 3, 2, 4, 5], joined)
        }
        (Layout::First, [c, h, w]) => {
            let depth = exact(c, product(b, b)?)?;
            let joined = [0, depth, product(h, b)?, product(w, b)?];
            ([0, b, b, depth, h, w], [0, 3, 4, 1, 5, 2], joined)
        }
    };
    regroup(node, split, order, joined)
}

/// The axes split, permuted and joined again; a 0 keeps the batch as it is.
fn regroup(node: &mut Node<'_, '_>, split: [i64; 6], order: [u32; 6], joined: [i64; 4]) -> Result<(), Refusal> {
    if split[1..] == [1; 5] {
        return node.finish(Identity {}, &[Arg::Operand(0)]);
    }
    let split = node.reshaped(&Arg::Operand(0), &split)?;
    let turned = node.transposed(&split, &order)?;
    let shape = joined.as_slice().into();
    node.finish(Reshape { shape }, &[turned])
}
