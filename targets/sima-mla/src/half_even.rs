//! What the two kernels of this target have in common: the constants of each channel, and the loops. Both kernels are
//! for forms that round half to even.

use strait_plugin_sdk::form::{Affine, Arithmetic, Requantization, Rounding};
use strait_plugin_sdk::kernel::{Batch, Epilogue, InRegisters, KernelError, Loops, PerChannel, per_channel};

/// The constants of each channel, made from the channel's scalars. If the form has a single set of parameters, there is
/// one entry for all channels.
pub(crate) fn constants<T>(
    form: &Requantization,
    constant: impl Fn(&Affine) -> Option<T>,
) -> Result<PerChannel<T>, KernelError> {
    per_channel(form, |channel| match channel.arithmetic() {
        Arithmetic::Affine(a) if a.rounding == Rounding::HalfEven || a.shift == 0 => constant(&a),
        _ => None,
    })
}

/// Makes the loops of a form. Single accumulators are computed by `epilogue`. Whole vectors are computed by the host's
/// batch kernel for the same form, if the machine has vector instructions.
pub(crate) fn loops(
    epilogue: impl Epilogue,
    form: &Requantization,
    clamp: Option<[i32; 2]>,
) -> Result<Box<dyn Loops>, KernelError> {
    let loops = InRegisters::new(epilogue, form, clamp);
    Ok(Box::new(loops.with_batch(Batch::new(form)?)))
}
