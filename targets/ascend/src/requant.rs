//! The form `requant`, AscendRequant: sat8(max(rint(f32(acc) · scale), 0) + offset). The maximum is only taken if the
//! form has a ReLU.

use strait_plugin_sdk::form::{Arithmetic, Requantization};
use strait_plugin_sdk::kernel::{Batch, Epilogue, InRegisters, KernelError, Loops, PerChannel, per_channel};

struct Constants {
    scale: f32,
    offset: i32,
}

struct Requant(PerChannel<Constants>);

/// A product with a larger magnitude than this number saturates. Offsets and codes have at most 16 bits, so 2^24 plus
/// an offset still lies beyond every code. The number is exact in `f32`, and so is every integer below it.
const FAR: f32 = 16_777_216.0;

impl Epilogue for Requant {
    type Constants = Constants;

    fn constants(&self) -> &PerChannel<Constants> {
        &self.0
    }

    #[inline(always)]
    fn lane(&self, c: &Constants, accumulator: i32) -> i32 {
        // The scale is finite and positive, so the product is not NaN. An infinite product is clamped.
        let rounded = (accumulator as f32 * c.scale).round_ties_even();
        rounded.clamp(-FAR, FAR) as i32 + c.offset
    }
}

/// Prepares the loops of a requantization in `f32`. The form's results have at most 16 bits, and its offset is in the
/// range of its results.
pub(crate) fn prepare(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    let out = form.out();
    let constants = per_channel(form, |channel| match channel.arithmetic() {
        Arithmetic::Float(f) if out.bits() <= 16 && out.range().contains(&f.zero_point) => Some(Constants {
            scale: f.scale,
            offset: f.zero_point,
        }),
        _ => None,
    })?;
    // max(r, 0) + offset = max(r + offset, offset), so the form's ReLU is a clamp of its results.
    let [low, high] = form.range();
    let clamp = clamp.map_or([low, high], |ends| ends.map(|end| end.max(low).min(high)));
    // Whole vectors of accumulators are computed by the host's kernel for the same form.
    let loops = InRegisters::new(Requant(constants), form, Some(clamp));
    Ok(Box::new(loops.with_batch(Batch::new(form)?)))
}
