//! The trait that provides the loops for a requantization.

use crate::error::StepError;
use strait_kernels::integer::{Loops, standard};
use strait_requantize::Requantization;

/// Provides the loops for a requantization and the clamp after it. The host and each target implement this trait.
pub trait LoopsFor: Send + Sync {
    /// Makes the loops that compute clamp(form(accumulator)).
    ///
    /// # Errors
    /// [`StepError::Target`] if the target has no loops for this form.
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError>;
}

/// Strait's own loops. They support every form.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standard;

impl LoopsFor for Standard {
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError> {
        Ok(standard(form, clamp)?)
    }
}
