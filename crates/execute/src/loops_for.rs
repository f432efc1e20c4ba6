//! The trait that provides the loops for a requantization.

use crate::error::StepError;
use strait_kernels::integer::{Loops, standard};
use strait_requantize::Requantization;

/// Provides the loops for a requantization and the clamp behind it. A target implements it, and so does the host.
pub trait LoopsFor: Send + Sync {
    /// The loops that compute clamp(form(accumulator)).
    ///
    /// # Errors
    /// [`StepError::Target`] if the target has none for this form.
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
