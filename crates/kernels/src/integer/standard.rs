//! Picks one of the host's loops for a form.

use super::{
    batch::Batch,
    epilogue::{Affine, Double, Doubling, Epilogue, Float, FloatAffine, Shift, Steps},
    finish::InRegisters,
    loops::Loops,
};
use crate::error::KernelError;
use strait_requantize::{
    Requantization,
    form::{Arithmetic, Channel},
};

/// The host's loops for a form, followed by a clamp. `clamp` has the smallest and the largest code that a result may
/// be. A target that is only a table runs on these loops.
///
/// # Errors
/// [`KernelError::Requantization`] if the form or the clamp is not legal.
pub fn standard(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    let clamp = Some(bounds(form, clamp)?);
    let channels = || (0..form.channels().unwrap_or(1)).filter_map(|c| form.channel(c).ok());
    let doubling = |channel: &Channel<'_>| matches!(channel.arithmetic(), Arithmetic::Doubling(_));
    let family = channels().find(doubling).or_else(|| channels().next());
    let batch = Batch::new(form)?;
    match family.map(|channel| channel.arithmetic()) {
        Some(Arithmetic::Affine(_)) => match Shift::new(form) {
            Ok(shift) => Ok(loops(shift, form, clamp, batch)),
            // `Shift` cannot compute the form, because it has a factor, an addend, a zero point, or a shift above 30.
            Err(_) => Ok(loops(Affine::new(form)?, form, clamp, batch)),
        },
        Some(Arithmetic::Doubling(_)) => Ok(loops(Doubling::new(form)?, form, clamp, batch)),
        Some(Arithmetic::Float(_)) => Ok(loops(Float::new(form)?, form, clamp, batch)),
        Some(Arithmetic::Double(_)) => Ok(loops(Double::new(form)?, form, clamp, batch)),
        Some(Arithmetic::FloatAffine(_)) => Ok(loops(FloatAffine::new(form)?, form, clamp, batch)),
        Some(Arithmetic::Steps(_)) => Ok(loops(Steps::new(form)?, form, clamp, batch)),
        None => Err(KernelError::Requantization(format!("{} has no channel", form.kind()))),
    }
}

/// The smallest and the largest result of a legal form after the clamp. The bounds of the clamp are codes.
pub(super) fn bounds(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<[i32; 2], KernelError> {
    form.check().map_err(|e| KernelError::Requantization(e.to_string()))?;
    if let Some([low, high]) = clamp
        && low > high
    {
        return Err(KernelError::Requantization(format!(
            "the clamp [{low}, {high}] is empty"
        )));
    }
    // If the form contains a ReLU, `range` already takes it into account. The clamp limits this range further.
    let bounds = clamp.map_or(form.range(), |[low, high]| {
        form.range().map(|end| end.max(low).min(high))
    });
    Ok(bounds.map(|end| end.clamp(form.out().min(), form.out().max())))
}

fn loops<E: Epilogue>(epilogue: E, form: &Requantization, clamp: Option<[i32; 2]>, batch: Batch) -> Box<dyn Loops> {
    Box::new(InRegisters::new(epilogue, form, clamp).with_batch(batch))
}
