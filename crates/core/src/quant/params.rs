//! Scale and zero point of a value.

use crate::shape::Dim;
use std::num::NonZeroU32;
use std::sync::Arc;
use strait_requantize::Per;

/// The grid of a quantized value: real = scale × (q − zero point).
#[derive(Clone, Debug, PartialEq)]
pub struct QuantParams {
    /// Step between neighbouring codes, in real units; positive and finite.
    pub scale: Per<f32>,
    /// The code of real zero.
    pub zero_point: Per<i32>,
    /// The axis that `scale` and `zero_point` run along where they are per channel or per block.
    pub axis: Option<u8>,
    /// Elements along the axis that share a scale. `scale` and `zero_point` then have one number for each block of the
    /// tensor, in row-major order. Absent: one for each index of the axis.
    pub block: Option<NonZeroU32>,
}

impl QuantParams {
    /// One grid for the whole tensor.
    pub fn tensor(scale: f32, zero_point: i32) -> QuantParams {
        QuantParams {
            scale: Per::Tensor(scale),
            zero_point: Per::Tensor(zero_point),
            axis: None,
            block: None,
        }
    }

    /// A symmetric grid per index of `axis`.
    pub fn channel(scales: Arc<[f32]>, axis: u8) -> QuantParams {
        QuantParams {
            scale: Per::Channel(scales),
            axis: Some(axis),
            ..QuantParams::tensor(1.0, 0)
        }
    }

    /// Scale and zero point where both are per tensor.
    pub fn as_tensor(&self) -> Option<(f32, i32)> {
        match (&self.scale, &self.zero_point) {
            (Per::Tensor(scale), Per::Tensor(zero_point)) => Some((*scale, *zero_point)),
            _ => None,
        }
    }

    /// The number of scales or zero points of a tensor of this shape: one for each index of the grid's axis, or one for
    /// each block. None where an extent is not known, or the blocks do not fill the axis.
    pub fn parts(&self, shape: &[Dim]) -> Option<u64> {
        let axis = usize::from(self.axis?);
        let extent = shape.get(axis)?.fixed()?;
        let Some(block) = self.block.map(|block| u64::from(block.get())) else {
            return Some(extent);
        };
        let mut others = shape.iter().enumerate().filter(|(at, _)| *at != axis);
        let others = others.try_fold(1u64, |product, (_, extent)| product.checked_mul(extent.fixed()?))?;
        extent
            .is_multiple_of(block)
            .then(|| (extent / block).checked_mul(others))?
    }
}
