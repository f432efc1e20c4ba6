//! The host's own loops for every form.

use super::{
    epilogue::{Accumulators, Affine, Doubling, Float, FloatAffine, Shift, Steps},
    finish::InRegisters,
    loops::Loops,
};
use crate::error::KernelError;
use strait_requantize::{
    IntType, Requantization,
    form::{Arithmetic, Channel},
};

/// The loops for a form and the clamp behind it (both ends are codes and belong to it): what a target that is only a
/// table runs on.
///
/// # Errors
/// [`KernelError::Requantization`] where the form or the clamp is not legal.
pub fn standard(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    form.check().map_err(|e| KernelError::Requantization(e.to_string()))?;
    if let Some([low, high]) = clamp
        && low > high
    {
        return Err(KernelError::Requantization(format!(
            "the clamp [{low}, {high}] is empty"
        )));
    }
    let out = form.out();
    // A ReLU inside of the form is a clamp of its results.
    let [low, high] = form.range();
    let clamp = Some(clamp.map_or([low, high], |ends| ends.map(|end| end.max(low).min(high))));
    let channels = || (0..form.channels().unwrap_or(1)).filter_map(|c| form.channel(c).ok());
    let doubling = |channel: &Channel<'_>| matches!(channel.arithmetic(), Arithmetic::Doubling(_));
    let family = channels().find(doubling).or_else(|| channels().next());
    Ok(match family.map(|channel| channel.arithmetic()) {
        Some(Arithmetic::Affine(_)) => match Shift::new(form) {
            Ok(shift) => Box::new(InRegisters::new(shift, out, clamp)),
            // A factor, an addend, a zero point, or a shift above 30.
            Err(_) => Box::new(InRegisters::new(Affine::new(form)?, out, clamp)),
        },
        Some(Arithmetic::Doubling(_)) => Box::new(InRegisters::new(Doubling::new(form)?, out, clamp)),
        Some(Arithmetic::Float(_)) => Box::new(InRegisters::new(Float::new(form)?, out, clamp)),
        Some(Arithmetic::FloatAffine(_)) => Box::new(InRegisters::new(FloatAffine::new(form)?, out, clamp)),
        Some(Arithmetic::Steps(_)) => Box::new(InRegisters::new(Steps::new(form)?, out, clamp)),
        None => return Err(KernelError::Requantization(format!("{} has no channel", form.kind()))),
    })
}

/// The loops without a requantization: their results are the `i32` accumulators.
pub fn accumulators() -> Box<dyn Loops> {
    Box::new(InRegisters::new(Accumulators, IntType::I32, None))
}
