//! `requant`: AscendRequant, sat8(rint(f32(acc) · scale) + offset).

use strait_kernels::{
    KernelError,
    integer::{Epilogue, InRegisters, Loops, PerChannel},
};
use strait_requantize::Requantization;

#[derive(Clone, Copy)]
struct Constants {
    scale: f32,
    offset: i32,
}

struct Requant(PerChannel<Constants>);

/// Beyond this a result is saturated whatever its offset: 2^24 is above every code of 16 bits, and every whole number
/// up to it is an `f32`.
const FAR: f32 = 16_777_216.0;

impl Epilogue for Requant {
    type Constants = Constants;

    fn channels(&self) -> Option<usize> {
        self.0.channels()
    }

    #[inline(always)]
    fn constants(&self, channel: usize) -> Constants {
        self.0.get(channel)
    }

    #[inline(always)]
    fn lane(&self, c: Constants, accumulator: i32) -> i32 {
        // The scale is finite and positive, so the product is no NaN; an infinite one is far.
        let rounded = (accumulator as f32 * c.scale).round_ties_even();
        rounded.clamp(-FAR, FAR) as i32 + c.offset
    }
}

/// The loops of a `Float` that narrows to at most 16 bits, with an offset that is one of its codes.
pub(crate) fn prepare(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    form.check().map_err(|e| KernelError::Requantization(e.to_string()))?;
    let Requantization::Float { scale, zp, out } = form else {
        return Err(KernelError::Requantization(format!(
            "a {} has no float scale",
            form.kind()
        )));
    };
    if out.bits() > 16 || !out.range().contains(zp) {
        return Err(KernelError::Requantization(format!("an offset of {zp} into {out}")));
    }
    let constants = scale.map(|scale| Constants {
        scale: *scale,
        offset: *zp,
    });
    let constants = match form.channels() {
        None => constants.values().first().copied().map(PerChannel::tensor),
        Some(_) => PerChannel::channels_of(constants.values().iter().copied()),
    };
    let constants = constants.ok_or_else(|| KernelError::Requantization("a form without a channel".into()))?;
    Ok(Box::new(InRegisters::new(Requant(constants), *out, clamp)))
}
