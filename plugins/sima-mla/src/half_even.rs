//! What both kernels take from a form: the scalars of each channel, and only those that round half to even.

use strait_kernels::{
    KernelError,
    integer::{PerChannel, per_channel},
};
use strait_requantize::{
    Requantization, Rounding,
    form::{Affine, Arithmetic},
};

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
