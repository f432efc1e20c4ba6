//! Operators of all formats that move blocks of an image into the batch or the channels, and back.

use strait_core::op::{Identity, Op, Pad, PadMode, Reshape};
use strait_core::{Dim, ReasonCode};

use crate::compose::slice_along;
use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

/// The order of the channels that hold the elements of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOrder {
    /// The position in the block varies slowest: all channels of the first position come first.
    Slow,
    /// The position in the block varies fastest: all positions of the first channel come first.
    Fast,
}

fn invalid(text: impl Into<String>) -> Refusal {
    Refusal::invalid(ReasonCode::Blocks, text)
}

fn product(a: i64, b: i64) -> Result<i64, Refusal> {
    a.checked_mul(b).ok_or_else(|| invalid("an extent overflows"))
}

/// The quotient of two extents. Refuses a division with a remainder.
fn exact(extent: i64, divisor: i64) -> Result<i64, Refusal> {
    match extent.checked_rem(divisor) {
        Some(0) => Ok(extent / divisor),
        _ => Err(invalid(format!(
            "an extent of {extent} is not made of whole blocks of {divisor}"
        ))),
    }
}

fn sides_of(block: &[i64]) -> Result<(), Refusal> {
    match !block.is_empty() && block.iter().all(|&side| side > 0) {
        true => Ok(()),
        false => Err(invalid(format!("its block is {block:?}"))),
    }
}

impl Layer<'_, '_> {
    /// Rearranges the channels of an image (channels first) into blocks of `side` by `side` positions. This takes
    /// several ops. Returns the last op, which is not added to the graph yet, and the operand of this op.
    ///
    /// # Errors
    /// The operand is not an image, or its channels do not make up whole blocks.
    pub fn depth_to_space(&mut self, image: &Arg, side: i64, order: BlockOrder) -> Result<(Op, Arg), Refusal> {
        sides_of(&[side])?;
        let [c, h, w] = self.image_extents(image)?;
        if side == 1 {
            return Ok((Identity {}.into(), image.clone()));
        }
        let depth = exact(c, product(side, side)?)?;
        let joined = [0, depth, product(h, side)?, product(w, side)?];
        let (split, order) = match order {
            BlockOrder::Slow => ([0, side, side, depth, h, w], [0, 3, 4, 1, 5, 2]),
            BlockOrder::Fast => ([0, depth, side, side, h, w], [0, 1, 4, 2, 5, 3]),
        };
        self.regrouped(image, split, order, joined)
    }

    /// Rearranges blocks of positions into channels; this is the inverse of [`Layer::depth_to_space`].
    ///
    /// # Errors
    /// The operand is not an image, or its extents are not multiples of the block's side.
    pub fn space_to_depth(&mut self, image: &Arg, side: i64, order: BlockOrder) -> Result<(Op, Arg), Refusal> {
        sides_of(&[side])?;
        let [c, h, w] = self.image_extents(image)?;
        if side == 1 {
            return Ok((Identity {}.into(), image.clone()));
        }
        let (rows, columns) = (exact(h, side)?, exact(w, side)?);
        let joined = [0, product(product(c, side)?, side)?, rows, columns];
        let order = match order {
            BlockOrder::Slow => [0, 3, 5, 1, 2, 4],
            BlockOrder::Fast => [0, 1, 3, 5, 2, 4],
        };
        self.regrouped(image, [0, c, rows, side, columns, side], order, joined)
    }

    /// The number of channels, rows and columns of an image with channels first.
    fn image_extents(&mut self, image: &Arg) -> Result<[i64; 3], Refusal> {
        let extents: Result<[i64; 3], _> = self.behind_batch(image, 3)?.try_into();
        extents.map_err(|_| invalid("the operand needs rank 4"))
    }

    /// Splits axes of an image, permutes the resulting axes, and joins them again. A 0 in a shape keeps the extent of
    /// the batch.
    fn regrouped(
        &mut self,
        image: &Arg,
        split: [i64; 6],
        order: [u32; 6],
        joined: [i64; 4],
    ) -> Result<(Op, Arg), Refusal> {
        let split = self.reshaped(image, &split)?;
        let turned = self.transposed(&split, &order)?;
        let shape = joined.as_slice().into();
        Ok((Reshape { shape }.into(), turned))
    }

    /// The extents of all axes after the batch axis. Refuses an operand with fewer than `least` of these axes.
    fn behind_batch(&mut self, x: &Arg, least: usize) -> Result<Vec<i64>, Refusal> {
        let shape = self.arg_type(x)?.shape;
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

    /// Ends the node with a space-to-batch of the node's first operand: the axes after the batch are padded and cut
    /// into blocks, and the positions within a block become axes in front of the batch.
    ///
    /// # Errors
    /// The operand does not fit the block.
    pub fn finish_space_to_batch(&mut self, block: &[i64], paddings: &[[i64; 2]]) -> Result<(), Refusal> {
        sides_of(block)?;
        let mut x = Arg::Operand(0);
        let rank = self.rank(0)?;
        if paddings.iter().any(|pair| *pair != [0, 0]) {
            let mut amounts = vec![0; 2 * rank.max(paddings.len() + 1)];
            let ends = amounts.len() / 2;
            for (axis, &[begin, end]) in paddings.iter().enumerate() {
                (amounts[axis + 1], amounts[axis + 1 + ends]) = (begin, end);
            }
            let pad = Pad {
                amounts: amounts.into(),
                mode: PadMode::Constant,
                value: 0.0,
            };
            x = self.push(pad, &[x])?;
        }
        let extents = self.behind_batch(&x, block.len())?;
        let (image, rest) = extents.split_at(block.len());
        let (mut split, mut joined) = (vec![0], vec![-1]);
        for (&extent, &side) in image.iter().zip(block) {
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
        let split = self.reshaped(&x, &split)?;
        let turned = self.transposed(&split, &order)?;
        self.finish(Reshape { shape: joined.into() }, &[turned])
    }

    /// Ends the node with a batch-to-space, the inverse of [`Layer::finish_space_to_batch`]. After the blocks are
    /// joined, the axes are cropped.
    ///
    /// # Errors
    /// The operand does not fit the block, or the crop is larger than an axis.
    pub fn finish_batch_to_space(&mut self, block: &[i64], crops: &[[i64; 2]]) -> Result<(), Refusal> {
        sides_of(block)?;
        let x = Arg::Operand(0);
        let extents = self.behind_batch(&x, block.len())?;
        let (image, rest) = extents.split_at(block.len());
        let mut split = block.to_vec();
        split.push(-1);
        split.extend(&extents);
        let mut joined = vec![0];
        for (&extent, &side) in image.iter().zip(block) {
            joined.push(product(extent, side)?);
        }
        joined.extend(rest);
        let axes = block.len() as u32;
        let pairs = (0..axes).flat_map(|axis| [axes + 1 + axis, axis]);
        let rest = 2 * axes + 1..split.len() as u32;
        let order: Vec<u32> = std::iter::once(axes).chain(pairs).chain(rest).collect();
        let split = self.reshaped(&x, &split)?;
        let turned = self.transposed(&split, &order)?;
        if crops.iter().all(|pair| *pair == [0, 0]) {
            return self.finish(Reshape { shape: joined.into() }, &[turned]);
        }
        let whole = self.reshaped(&turned, &joined)?;
        let mut parts = Vec::new();
        for (axis, (&extent, &[begin, end])) in joined.iter().skip(1).zip(crops).enumerate() {
            let cropped = extent.checked_sub(end).filter(|&last| last >= begin);
            let last =
                cropped.ok_or_else(|| invalid(format!("an extent of {extent} is cropped by {begin} and {end}")))?;
            parts.push((axis as i64 + 1, [begin, last, 1]));
        }
        self.finish(slice_along(parts), &[whole])
    }
}
