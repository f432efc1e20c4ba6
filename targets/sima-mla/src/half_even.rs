//! Shared by both kernels: the scalars of each channel, only those that round half to even, and the loops.

use strait_plugin_sdk::form::{Affine, Arithmetic, Requantization, Rounding};
use strait_plugin_sdk::kernel::{Batch, Epilogue, InRegisters, KernelError, Loops, PerChannel, per_channel};

/// A constant made from the scalars of each channel; one for all where the form has one set of them.
pub(crate) fn constants<T>(
    form: &Requantization,
    constant: impl Fn(&Affine) -> Option<T>,
) -> Result<PerChannel<T>, KernelError> {
    per_channel(form, |channel| match channel.arithmetic() {
        Arithmetic::Affine(a) if a.rounding == Rounding::HalfEven || a.shift == 0 => constant(&a),
        _ => None,
    })
}

/// The loops of a form: one accumulator at a time by the epilogue of this crate, whole vectors of them, where the
/// machine has some, by the host's batch kernel for the same form.
pub(crate) fn loops(
    epilogue: impl Epilogue,
    form: &Requantization,
    clamp: Option<[i32; 2]>,
) -> Result<Box<dyn Loops>, KernelError> {
    let loops = InRegisters::new(epilogue, form, clamp);
    Ok(Box::new(loops.with_batch(Batch::new(form)?)))
}
