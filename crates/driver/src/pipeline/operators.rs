//! The graph on codes from which files with an integer operator for each op are written.

use strait_core::Module;
use strait_target::TargetError;

use super::{files::refused, job::Job, lowered::Lowered};

/// The graph of operators on codes, for one sample. Files with an operator for each node of the model are made of it.
pub(super) fn operators(job: &Job<'_>, lowered: &Lowered) -> Result<Module, TargetError> {
    let annotated = &lowered.built.annotated;
    let module = strait_lower::operators(annotated, job.target.spec());
    let mut module = module.map_err(|error| refused(error.to_string()))?;
    strait_lower::name_outputs(&mut module, annotated);
    Ok(module)
}
