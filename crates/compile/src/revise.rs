//! Revisions: compiling a model again with other rules, and quantizing only the part that the new rules touch.
//!
//! Placing is one pass over the graph, so all of it is done again. The lowered graph is also made as a whole, once
//! every node is known to have a form. Annotation and baking redo only the regions that the change touches. The later
//! steps, fusion and verification, look at the whole model.

use crate::{Built, CompileError, Task, Watch, compile::build_from, hold};

impl Built {
    /// Compiles with other rules. The result is the same as what [`compile`](crate::compile()) makes of `task`. The
    /// task has to be the one that this model was compiled from, except for the rules and the statistics that they
    /// need.
    ///
    /// # Errors
    /// As for [`compile`](crate::compile()).
    pub fn revise(&self, task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
        let mut built = self.rebuild(task, watch)?;
        hold(task, &mut built, watch)?;
        Ok(built)
    }

    /// Like [`Built::revise`], but without the final check [`hold`], just as [`build`](crate::build()) is
    /// [`compile`](crate::compile()) without it. A search uses this and checks only the model that it ends with.
    ///
    /// # Errors
    /// The same as those of [`build`](crate::build()).
    pub fn rebuild(&self, task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
        build_from(task, Some(self), watch)
    }
}
