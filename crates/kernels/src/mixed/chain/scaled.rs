//! Quantizes images whose channels are multiplied by a number each, as squeeze-and-excitation does.

use super::narrowing::Narrowing;
use crate::context::Context;
use crate::error::{KernelError, expect_len, product};
use crate::integer::{
    PerChannel,
    batch::{Constants, Elements, Kernel, Tile, TileJob},
    bytes::width,
    lanes::by_lane,
    tiles::{Array, LONG_PIECE},
};
use crate::parallel::Shared;
use crate::simd::I32s;
use strait_requantize::quantize::Quantization;

/// Computes `quantize(x·factor)`, with a factor for each channel of each image. The product is rounded to f32.
#[derive(Clone, Debug)]
pub struct QuantizeScaled(Narrowing);

impl QuantizeScaled {
    /// Returns `None` if vectors do not compute this quantization.
    pub fn new(quantization: Quantization) -> Option<QuantizeScaled> {
        Narrowing::new(quantization).map(QuantizeScaled)
    }

    /// Quantizes images with these extents: batch, channels and positions. If `last` is true, the channels of `x` and `out` are
    /// last in memory. `factors` is `[batch, channels]`.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if slices and extents do not fit together.
    pub fn run(
        &self,
        cx: &Context,
        [batch, channels, positions]: [usize; 3],
        last: bool,
        [x, factors]: [&[f32]; 2],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        let to = self.0.quantization.out;
        let (count, bytes) = (product(&[channels, positions]), width(to));
        expect_len("the input", x.len(), count.and_then(|count| product(&[batch, count])))?;
        expect_len("the factors", factors.len(), product(&[batch, channels]))?;
        expect_len("the output", out.len(), product(&[x.len(), bytes]))?;
        if x.is_empty() {
            return Ok(());
        }
        let extents = if last {
            [positions, channels, 1]
        } else {
            [1, channels, positions]
        };
        let array = Array::new(extents, Some(channels))?;
        let images = x.chunks_exact(channels * positions).zip(factors.chunks_exact(channels));
        for ((x, factors), out) in images.zip(out.chunks_exact_mut(channels * positions * bytes)) {
            let values: Vec<_> = factors.iter().map(|factor| [factor.to_bits() as i32]).collect();
            let constants = Constants::new(&values, false);
            let lanes = PerChannel::Channels(factors.into());
            array.for_each_tile(LONG_PIECE, &Shared::new(out), |start, place| {
                let bounds = [to.min(), to.max()];
                let tile = Tile {
                    out: Elements::Codes(to),
                    bounds,
                    source: &x[start..],
                    stride: place.columns,
                    place,
                };
                if !cx.run_on_vectors(TileJob::new(tile, &Product(self.0), &constants)) {
                    let lane = |factor: &f32, x: f32| self.0.quantization.eval(x * factor);
                    by_lane(to, bounds, (&x[start..], place.columns), place, &lanes, lane);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

struct Product(Narrowing);

impl Kernel<1> for Product {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[factor]: &[V; 1], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { self.0.vectors::<V>().code(x.multiply_f32(factor)) }
    }
}
