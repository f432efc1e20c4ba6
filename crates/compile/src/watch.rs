//! Progress of the compiler's steps, for a caller who wants to show it or to stop.

use std::ops::ControlFlow;

use strait_execute::Demand;

use crate::CompileError;

/// Follows the work and may stop it. The methods are called from one thread at a time.
pub trait Watch {
    /// A step begins. `step` is its name, for people to read. `total` is the number of its parts, if it has parts. The
    /// compiler's steps are `observe`, `rewrite`, `quantize`, `fuse`, `verify` and `simulate`.
    fn begin(&self, step: &str, total: Option<usize>) {
        let _ = (step, total);
    }

    /// This number of parts of the step is done.
    fn advance(&self, done: usize) {
        let _ = done;
    }

    /// Runs on this number of samples are about to begin, and each takes this amount of resources.
    fn admitted(&self, demand: &Demand, samples: usize) {
        let _ = (demand, samples);
    }

    /// The step is over.
    fn end(&self) {}

    /// True if the work should stop as soon as possible.
    fn interrupted(&self) -> bool {
        false
    }
}

/// A [`Watch`] that shows nothing and never stops the work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watch for Silent {}

impl dyn Watch + '_ {
    /// Runs `work` as a step with this number of parts. `work` gets a function to call with the number of parts that
    /// are done.
    ///
    /// # Errors
    /// Those of `work`; [`CompileError::Interrupted`] if the caller asked to stop before the step.
    pub fn step<T, E: From<CompileError>>(
        &self,
        step: &str,
        total: Option<usize>,
        work: impl FnOnce(&mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<T, E>,
    ) -> Result<T, E> {
        if self.interrupted() {
            return Err(CompileError::Interrupted.into());
        }
        self.begin(step, total);
        let result = work(&mut |done| {
            self.advance(done);
            match self.interrupted() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        self.end();
        result
    }
}
