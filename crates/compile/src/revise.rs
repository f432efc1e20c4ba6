//! Revisions: compiles a model again with other rules, and quantizes only the part that the new rules affect.
//!
//! Placing is one pass over the graph, so it is done again for the whole graph. The lowered graph is also made as a
//! whole, as soon as it is known that every node can be lowered. Annotation and baking are repeated only for the
//! regions that the change affects. The later steps, fusion and verification, process the whole model.

use crate::{Built, CompileError, Task, Watch, compile::build_from, hold};

impl Built {
    /// Compiles with other rules. The result is the same as that of [`compile`](crate::compile()) for `task`. The task
    /// must be the one from which this model was compiled, except for the rules and the statistics that they need.
    ///
    /// # Errors
    /// Errors of [`compile`](crate::compile()).
    pub fn revise(&self, task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
        let mut built = self.rebuild(task, watch)?;
        hold(task, &mut built, watch)?;
        Ok(built)
    }

    /// Like [`Built::revise`], but without the final check [`hold`]. The search uses this function for its trials, and
    /// checks only its final model.
    ///
    /// # Errors
    /// Errors of [`build`](crate::build()).
    pub fn rebuild(&self, task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
        build_from(task, Some(self), watch)
    }
}
