//! The host's own loops for every form.

use super::{
    epilogue::{Accumulators, Affine, Doubling, Float, Shift, Steps},
    finish::InRegisters,
    loops::Loops,
};
use crate::error::KernelError;
use strait_requantize::{FormKind, IntType, Requantization};

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
    Ok(match form.kind() {
        FormKind::ArithFolded => match Shift::new(form) {
            Ok(shift) => Box::new(InRegisters::new(shift, out, clamp)),
            // A shift above 30.
            Err(_) => Box::new(InRegisters::new(Affine::new(form)?, out, clamp)),
        },
        FormKind::FractionalZero | FormKind::TfLite | FormKind::Fixed => {
            Box::new(InRegisters::new(Affine::new(form)?, out, clamp))
        }
        FormKind::Gemmlowp => Box::new(InRegisters::new(Doubling::new(form)?, out, clamp)),
        FormKind::Float => Box::new(InRegisters::new(Float::new(form)?, out, clamp)),
        FormKind::Steps => Box::new(InRegisters::new(Steps::new(form)?, out, clamp)),
    })
}

/// The loops without a requantization: their results are the `i32` accumulators.
pub fn accumulators() -> Box<dyn Loops> {
    Box::new(InRegisters::new(Accumulators, IntType::I32, None))
}
