//! The form `scale31`: y = sat(⌊(x · m + a) / 2^s + 1/2⌋ + z), computed as by the chip's multiplier.

use strait_plugin_sdk::form::{Affine, Arithmetic, Requantization, Rounding};
use strait_plugin_sdk::kernel::{Epilogue, InRegisters, KernelError, Loops, PerChannel, per_channel};

struct Scale31(PerChannel<Constants>);

#[derive(Clone, Copy)]
struct Constants {
    factor: i64,
    /// The addend, including the half for rounding.
    addend: i64,
    shift: u32,
    zero_point: i64,
}

impl Constants {
    /// The constants of a channel; `None` if this multiplier cannot compute them.
    fn new(affine: Affine) -> Option<Constants> {
        let shift = u32::from(affine.shift);
        let usable = affine.rounding == Rounding::HalfUp && (1..63).contains(&shift);
        usable.then(|| Constants {
            factor: affine.factor.into(),
            addend: affine.addend + (1 << (shift - 1)),
            shift,
            zero_point: affine.zero_point.into(),
        })
    }
}

impl Epilogue for Scale31 {
    type Constants = Constants;

    fn constants(&self) -> &PerChannel<Constants> {
        &self.0
    }

    #[inline(always)]
    fn lane(&self, c: &Constants, accumulator: i32) -> i32 {
        // The product is at most 2^62 and a half, so it fits into 64 bits.
        let rounded = (i64::from(accumulator) * c.factor + c.addend) >> c.shift;
        (rounded + c.zero_point).clamp(i32::MIN.into(), i32::MAX.into()) as i32
    }
}

/// Prepares the loops of one layer.
pub(crate) fn prepare(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    let constants = per_channel(form, |channel| match channel.arithmetic() {
        Arithmetic::Affine(affine) => Constants::new(affine),
        _ => None,
    })?;
    Ok(Box::new(InRegisters::new(Scale31(constants), form, clamp)))
}
