//! The host's own loops for every form.

use super::{
    batch::Batch,
    epilogue::{Accumulators, Affine, Doubling, Epilogue, Float, Shift, Steps},
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
    let batch = Batch::new(form)?;
    fn loops<E: Epilogue>(epilogue: E, out: IntType, clamp: Option<[i32; 2]>, batch: Option<Batch>) -> Box<dyn Loops> {
        Box::new(InRegisters::new(epilogue, out, clamp).with_batch(batch))
    }
    Ok(match form.kind() {
        FormKind::ArithFolded => match Shift::new(form) {
            Ok(shift) => loops(shift, out, clamp, batch),
            // A shift above 30.
            Err(_) => loops(Affine::new(form)?, out, clamp, batch),
        },
        FormKind::FractionalZero | FormKind::TfLite | FormKind::Fixed => loops(Affine::new(form)?, out, clamp, batch),
        FormKind::Gemmlowp => loops(Doubling::new(form)?, out, clamp, batch),
        FormKind::Float => loops(Float::new(form)?, out, clamp, batch),
        FormKind::Steps => loops(Steps::new(form)?, out, clamp, batch),
    })
}

/// The loops without a requantization: their results are the `i32` accumulators.
pub fn accumulators() -> Box<dyn Loops> {
    Box::new(InRegisters::new(Accumulators, IntType::I32, None))
}
