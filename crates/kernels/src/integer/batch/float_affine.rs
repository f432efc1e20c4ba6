use super::{Kernel, Prepared, direct::direct, ends, float::is_i32};
use crate::simd::I32s;
use std::sync::Arc;
use strait_requantize::form::{Arithmetic, Channel};

/// Makes the kernel for all channels. The kernel first clamps accumulators to the range in which each result is an i32.
pub(super) fn kind(channels: &[Channel<'_>], range: [i32; 2], tensor: bool) -> Option<Arc<dyn Prepared>> {
    let values: Vec<_> = channels
        .iter()
        .map(|channel| {
            let Arithmetic::FloatAffine(f) = channel.arithmetic() else {
                return None;
            };
            let fits = |x: i64| is_i32((x as f32 * f.factor * f.scale + f.offset).round_ties_even());
            let [low, high] = ends(channel, range, fits)?;
            let [factor, scale, offset] = [f.factor, f.scale, f.offset].map(|x| x.to_bits() as i32);
            Some([low, high, factor, scale, offset])
        })
        .collect::<Option<_>>()?;
    Some(direct(FloatAffine, &values, tensor))
}

/// Computes `half_even(f32(x)·factor·scale + offset)`, with every operation rounded to f32.
pub(super) struct FloatAffine;

impl Kernel<5> for FloatAffine {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[low, high, factor, scale, offset]: &[V; 5], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let x = x.max(low).min(high).to_f32();
            x.multiply_f32(factor).multiply_f32(scale).add_f32(offset).round_f32()
        }
    }
}
