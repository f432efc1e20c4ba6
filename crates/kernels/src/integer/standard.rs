//! Picks one of Strait's own loops for a form.

use super::{
    batch::Batch,
    epilogue::{Double, Epilogue, Family, Float, FloatAffine, MultiplyShift, Shift, Steps, per_channel},
    in_registers::InRegisters,
    loops::Loops,
};
use crate::error::KernelError;
use strait_requantize::{Requantization, form::Arithmetic};

/// Makes Strait's own loops for a form that is followed by a clamp. `clamp` contains the smallest and the largest code
/// to which results are limited. A target that consists only of a table runs on these loops.
///
/// # Errors
/// [`KernelError::Requantization`] if the form or the clamp is not legal.
pub fn standard(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    let clamp = Some(bounds(form, clamp)?);
    let batch = Batch::new(form)?;
    match form.channel(0)?.arithmetic() {
        Arithmetic::Affine(_) | Arithmetic::Doubling(_) => {
            // `Shift` cannot compute the form if it has a factor, an addend, a zero point, or a shift above 30.
            if let Ok(shifts) = per_channel(form, Shift::of) {
                return Ok(loops(shifts, form, clamp, batch));
            }
            match per_channel(form, MultiplyShift::<false>::of) {
                Ok(points) => Ok(loops(points, form, clamp, batch)),
                Err(_) => Ok(loops(per_channel(form, MultiplyShift::<true>::of)?, form, clamp, batch)),
            }
        }
        Arithmetic::Float(_) => Ok(loops(per_channel(form, Float::of)?, form, clamp, batch)),
        Arithmetic::Double(_) => Ok(loops(per_channel(form, Double::of)?, form, clamp, batch)),
        Arithmetic::FloatAffine(_) => Ok(loops(per_channel(form, FloatAffine::of)?, form, clamp, batch)),
        Arithmetic::Steps(_) => Ok(loops(per_channel(form, Steps::of)?, form, clamp, batch)),
    }
}

/// The smallest and the largest result of a legal form after the clamp. The bounds of the clamp are codes.
pub(super) fn bounds(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<[i32; 2], KernelError> {
    form.check()?;
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
