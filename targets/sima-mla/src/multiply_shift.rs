//! The forms `fractional-zero`, `tflite` and `common-grid`: round((acc · m + a) / 2^s) + z, ties to even, in 64 bits.

use crate::half_even::{constants, loops};
use strait_plugin_sdk::form::Requantization;
use strait_plugin_sdk::kernel::{Epilogue, KernelError, Loops, PerChannel};

/// The constants of one channel. Let acc be an accumulator, m the multiplier and a the addend. The sum v = acc · m + a
/// is divided by 2^s and rounded half to even, as `shift.rs` explains. The sum fits into 64 bits if the form is legal.
struct Constants {
    factor: i64,
    addend: i64,
    shift: u32,
    /// The mask 2^s − 1, which selects the lowest s bits.
    mask: u64,
    half: u64,
    zero_point: i64,
}

struct MultiplyShift(PerChannel<Constants>);

impl Epilogue for MultiplyShift {
    type Constants = Constants;

    fn constants(&self) -> &PerChannel<Constants> {
        &self.0
    }

    #[inline(always)]
    fn lane(&self, c: &Constants, accumulator: i32) -> i32 {
        let v = i64::from(accumulator) * c.factor + c.addend;
        let quotient = v >> c.shift;
        let rest = v as u64 & c.mask;
        let rounded = quotient + i64::from(rest + (quotient as u64 & 1) > c.half);
        (rounded + c.zero_point).clamp(i32::MIN.into(), i32::MAX.into()) as i32
    }
}

/// Prepares the loops of a `FractionalZero`, a `TfLite` or a `Fixed`.
pub(crate) fn prepare(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    let constants = constants(form, |a| {
        Some(Constants {
            factor: a.factor.into(),
            addend: a.addend,
            shift: a.shift.into(),
            mask: (1 << a.shift) - 1,
            half: if a.shift == 0 { 1 } else { 1 << (a.shift - 1) },
            zero_point: a.zero_point.into(),
        })
    })?;
    loops(MultiplyShift(constants), form, clamp)
}
