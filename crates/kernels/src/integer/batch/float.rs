use super::{ALL, Kernel, Prepared, direct::direct, ends, prepared};
use crate::simd::I32s;
use std::sync::Arc;
use strait_requantize::form::{Arithmetic, Channel};

/// True if the whole number `whole` fits in an i32. The limit 2^31 is exact in f32.
pub(super) fn is_i32(whole: f32) -> bool {
    const LIMIT: f32 = (1_u32 << 31) as f32;
    (-LIMIT..LIMIT).contains(&whole)
}

/// Makes the kernel for all channels. If a product or a result could leave i32, the kernel first clamps accumulators to
/// a range in which no product and no result leaves i32.
pub(super) fn kind(channels: &[Channel<'_>], range: [i32; 2], tensor: bool) -> Option<Arc<dyn Prepared>> {
    let values: Vec<[i32; 4]> = channels
        .iter()
        .map(|channel| {
            let Arithmetic::Float(f) = channel.arithmetic() else {
                return None;
            };
            let fits = |x: i64| {
                let rounded = (x as f32 * f.scale).round_ties_even();
                is_i32(rounded) && i32::try_from(rounded as i64 + i64::from(f.zero_point)).is_ok()
            };
            let [low, high] = ends(channel, range, fits)?;
            Some([low, high, f.scale.to_bits() as i32, f.zero_point])
        })
        .collect::<Option<_>>()?;
    Some(if values.iter().all(|&[low, high, ..]| [low, high] == ALL) {
        let values: Vec<_> = values
            .iter()
            .map(|&[_, _, scale, zero_point]| [scale, zero_point])
            .collect();
        direct(Float, &values, tensor)
    } else {
        prepared(FloatClamped, &values, tensor)
    })
}

/// Computes `half_even(f32(x)·scale) + zero_point`.
pub(super) struct Float;

impl Kernel<2> for Float {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[scale, zero_point]: &[V; 2], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { x.to_f32().multiply_f32(scale).round_f32().add(zero_point) }
    }
}

/// Like [`Float`], but first clamps accumulators to the range in which products are i32.
pub(super) struct FloatClamped;

impl Kernel<4> for FloatClamped {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[low, high, scale, zero_point]: &[V; 4], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { Float.lanes(&[scale, zero_point], x.max(low).min(high)) }
    }
}
