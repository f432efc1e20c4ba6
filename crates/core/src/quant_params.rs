//! Scale and zero point of a value.

use std::sync::Arc;
use strait_requantize::Per;

/// The grid of a quantized value: real = scale × (q − zero point).
#[derive(Clone, Debug, PartialEq)]
pub struct QuantParams {
    /// Step between neighbouring codes, in real units; positive and finite.
    pub scale: Per<f32>,
    /// The code of real zero.
    pub zero_point: Per<i32>,
    /// The axis that `scale` and `zero_point` run along where they are per channel.
    pub axis: Option<u8>,
}

impl QuantParams {
    /// One grid for the whole tensor.
    pub fn tensor(scale: f32, zero_point: i32) -> QuantParams {
        QuantParams {
            scale: Per::Tensor(scale),
            zero_point: Per::Tensor(zero_point),
            axis: None,
        }
    }

    /// A symmetric grid per index of `axis`.
    pub fn channel(scales: Arc<[f32]>, axis: u8) -> QuantParams {
        QuantParams {
            scale: Per::Channel(scales),
            zero_point: Per::Tensor(0),
            axis: Some(axis),
        }
    }

    /// Scale and zero point where both are per tensor.
    pub fn as_tensor(&self) -> Option<(f32, i32)> {
        match (&self.scale, &self.zero_point) {
            (Per::Tensor(scale), Per::Tensor(zero_point)) => Some((*scale, *zero_point)),
            _ => None,
        }
    }
}
