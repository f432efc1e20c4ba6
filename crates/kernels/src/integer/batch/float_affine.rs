use super::{ALL, Kernel, Prepared, direct::direct, ends, float::is_i32, prepared};
use crate::simd::I32s;
use std::sync::Arc;
use strait_requantize::form::{Arithmetic, Channel};

/// Makes the kernel for all channels. If a result could leave i32, the kernel first clamps accumulators to the range in which
/// each result is an i32.
pub(super) fn kind(channels: &[Channel<'_>], range: [i32; 2], tensor: bool) -> Option<Arc<dyn Prepared>> {
    let values: Vec<[i32; 5]> = channels
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
    Some(if values.iter().all(|&[low, high, ..]| [low, high] == ALL) {
        let values: Vec<_> = values.iter().map(|&[_, _, a, b, c]| [a, b, c]).collect();
        direct(FloatAffine, &values, tensor)
    } else {
        prepared(FloatAffineClamped, &values, tensor)
    })
}

/// Computes `half_even(f32(x)·factor·scale + offset)`, with every operation rounded to f32.
pub(super) struct FloatAffine;

impl Kernel<3> for FloatAffine {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[factor, scale, offset]: &[V; 3], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let x = x.to_f32().multiply_f32(factor);
            x.multiply_f32(scale).add_f32(offset).round_f32()
        }
    }
}

/// Like [`FloatAffine`], but first clamps accumulators to the range in which results are i32.
pub(super) struct FloatAffineClamped;

impl Kernel<5> for FloatAffineClamped {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[low, high, factor, scale, offset]: &[V; 5], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { FloatAffine.lanes(&[factor, scale, offset], x.max(low).min(high)) }
    }
}
