//! Adapters through which the executor calls a target's kernels (its loops).

use std::sync::Arc;

use strait_execute::{LoopsFor, StepError};
use strait_kernels::integer::Loops;
use strait_requantize::Requantization;
use strait_target::{Target, TargetError};

/// A target's own kernels, which the executor calls.
#[derive(Clone)]
pub struct TargetLoops(pub Arc<dyn Target>);

/// The target's own model of its arithmetic, which the executor calls in place of kernels. For forms that this model
/// does not cover, the target's other kernels run instead.
#[derive(Clone)]
pub struct OwnLoops(pub Arc<dyn Target>);

fn failed(error: TargetError) -> StepError {
    StepError::Target(error.to_string())
}

impl LoopsFor for TargetLoops {
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError> {
        self.0.loops(form, clamp).map_err(failed)
    }
}

impl LoopsFor for OwnLoops {
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError> {
        match self.0.own_loops(form, clamp).map_err(failed)? {
            Some(loops) => Ok(loops),
            None => self.0.loops(form, clamp).map_err(failed),
        }
    }
}
