//! Who computes a requantization.

use crate::error::StepError;
use strait_kernels::integer::{Loops, standard};
use strait_requantize::Requantization;

/// Gives the loops for a requantization and the clamp behind it: a target, or the host itself.
pub trait LoopsFor: Send + Sync {
    /// The loops that compute clamp(form(accumulator)).
    ///
    /// # Errors
    /// [`StepError::Target`] where the target has none for this form.
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError>;
}

/// The host's own loops, which know every form.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standard;

impl LoopsFor for Standard {
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError> {
        Ok(standard(form, clamp)?)
    }
}
