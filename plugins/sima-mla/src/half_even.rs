//! What both kernels take from a form: the scalars of each channel, and only those that round half to even.

use strait_kernels::{KernelError, integer::PerChannel};
use strait_requantize::{
    Requantization, Rounding,
    form::{Affine, Arithmetic},
};

/// A constant made from the scalars of each channel; one for all where the form has one set of them.
pub(crate) fn constants<T: Copy>(
    form: &Requantization,
    constant: impl Fn(&Affine) -> Option<T>,
) -> Result<PerChannel<T>, KernelError> {
    let refused = |text: String| KernelError::Requantization(text);
    let of = |channel: usize| match form.channel(channel).map_err(|e| refused(e.to_string()))?.arithmetic() {
        Arithmetic::Affine(a) if a.rounding == Rounding::HalfEven || a.shift == 0 => {
            constant(&a).ok_or_else(|| refused(format!("a shift by {} of channel {channel}", a.shift)))
        }
        _ => Err(refused(format!(
            "a {} that does not round half to even by shifting",
            form.kind()
        ))),
    };
    match form.channels() {
        None => Ok(PerChannel::tensor(of(0)?)),
        Some(count) => {
            let values = (0..count).map(of).collect::<Result<Vec<T>, _>>()?;
            PerChannel::channels_of(values).ok_or_else(|| refused("a form without a channel".into()))
        }
    }
}
