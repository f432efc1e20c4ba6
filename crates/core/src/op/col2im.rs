//! Puts an image together from overlapping blocks, and adds up where they overlap.

use super::prelude::*;

op! {
    /// Adds overlapping blocks into an image of one to three axes. Elements at the same position are summed.
    ///
    /// Operand: `x` `[N, C·taps, blocks]`. The blocks are those that a window of extents `block` cuts out of the padded
    /// image when it slides over the image. Result: `[N, C, image…]`. Tap k of block b is added at position b·stride +
    /// k·dilation − begin, where begin is the padding before the axis.
    Col2Im = "col2im" v 1: Real, 1 {
        /// Shape of the image.
        image: SmallVec<[u32; 4]>,
        /// Size of a block along each axis, in taps.
        block: SmallVec<[u32; 4]>,
        /// Stride along each axis.
        stride: SmallVec<[u32; 2]>,
        /// Padding: first the padding before each axis, then the padding after each axis.
        pad: SmallVec<[u32; 4]>,
        /// Dilation along each axis.
        dilation: SmallVec<[u32; 2]>,
    }
}

impl OpFacts for Col2Im {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::all_float(operands)?;
        let axes = self.image.len();
        let lists = [
            self.block.len(),
            self.stride.len(),
            self.dilation.len(),
            self.pad.len() / 2,
        ];
        support::ensure(
            lists == [axes; 4] && (1..=3).contains(&axes) && self.pad.len().is_multiple_of(2),
            ReasonCode::Operands,
            || format!("block, stride, dilation and pad must describe {axes} axes, one to three"),
        )?;
        let blocks = self.blocks()?;
        let taps = self.block.iter().try_fold(1u64, |n, &taps| n.checked_mul(taps.into()));
        let taps = taps.filter(|&taps| taps > 0);
        let count = blocks.iter().try_fold(1u64, |n, &blocks| n.checked_mul(blocks));
        let (Some(taps), [batch, Dim::Fixed(columns), found]) = (taps, &x.shape[..]) else {
            let text = format!("{x} has no three axes, or blocks of {:?} no taps", self.block);
            return Err(Reason::new(ReasonCode::Operands, text));
        };
        support::ensure(
            columns % taps == 0 && found.fixed() == count,
            ReasonCode::Operands,
            || format!("{x} is not made of {blocks:?} blocks of {taps} taps"),
        )?;
        let mut shape: Shape = smallvec![*batch, Dim::Fixed(columns / taps)];
        shape.extend(self.image.iter().map(|&extent| Dim::Fixed(extent.into())));
        support::one(x.elem, shape)
    }
}

impl Col2Im {
    /// Returns the number of blocks along each axis.
    ///
    /// # Errors
    /// The window is longer than the padded axis.
    pub fn blocks(&self) -> Result<SmallVec<[u64; 4]>, Reason> {
        let along = |axis: usize| {
            let lists = [&self.stride[..], &self.dilation, &self.pad];
            let window = support::Window::along(axis, self.block[axis].into(), lists);
            let extent = support::window_extent(Dim::Fixed(self.image[axis].into()), window)?;
            Ok(extent.fixed().unwrap_or(0))
        };
        (0..self.image.len()).map(along).collect()
    }
}
