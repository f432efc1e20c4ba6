//! The form `arith-folded`: round(acc / 2^s), ties to even, in 32 bits.

use crate::half_even::{constants, loops};
use strait_plugin_sdk::form::Requantization;
use strait_plugin_sdk::kernel::{Epilogue, KernelError, Loops, PerChannel};

/// The constants of one channel. For an accumulator x and the shift s, let q = ⌊x / 2^s⌋ and r = x − q·2^s. Rounded
/// half to even, x / 2^s is q, plus one if r + (q mod 2) > 2^(s−1). So a tie is rounded up if q is odd. No intermediate
/// value needs more than 32 bits. For s = 0, `half` is 1 and r is 0, so nothing is added.
struct Constants {
    shift: u32,
    /// The mask 2^s − 1, which selects the lowest s bits.
    mask: u32,
    half: u32,
}

struct Shift(PerChannel<Constants>);

impl Epilogue for Shift {
    type Constants = Constants;

    fn constants(&self) -> &PerChannel<Constants> {
        &self.0
    }

    #[inline(always)]
    fn lane(&self, c: &Constants, accumulator: i32) -> i32 {
        let quotient = accumulator >> c.shift;
        let rest = accumulator as u32 & c.mask;
        quotient + i32::from(rest + (quotient as u32 & 1) > c.half)
    }
}

/// Prepares the loops of an `ArithFolded`.
pub(crate) fn prepare(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    let constants = constants(form, |a| {
        let plain = a.factor == 1 && a.addend == 0 && a.zero_point == 0 && a.shift < 32;
        plain.then(|| Constants {
            shift: a.shift.into(),
            mask: (1 << a.shift) - 1,
            half: if a.shift == 0 { 1 } else { 1 << (a.shift - 1) },
        })
    })?;
    loops(Shift(constants), form, clamp)
}
