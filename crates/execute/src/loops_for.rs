//! Who computes a requantization.

use crate::error::StepError;
use strait_kernels::integer::{Loops, standard};
use strait_requantize::Requantization;
use strait_target::{Target, TargetError};

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

/// The loops of a target. A form that its table does not accept stands only in front of fusion, where nothing of the
/// target computes it; the host does.
#[derive(Clone, Copy)]
pub struct TargetLoops<'a>(pub &'a dyn Target);

impl LoopsFor for TargetLoops<'_> {
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError> {
        match self.0.loops(form, clamp) {
            Err(TargetError::NoForm { .. }) => Standard.loops_for(form, clamp),
            other => other.map_err(|error| StepError::Target(error.to_string())),
        }
    }
}
