//! Reports the progress of the compiler's steps to the caller. The caller may show the progress or stop the work.

use std::ops::ControlFlow;

use strait_execute::Demand;

use crate::CompileError;

/// Follows the work and may stop it. The methods are called from one thread at a time.
pub trait Watch {
    /// A step begins. `step` is its name, for people to read. `total` is the number of its parts, if the step has
    /// parts. The compiler's steps are `observe`, `rewrite`, `quantize`, `ranges`, `optimise`,
    /// `fuse`, `verify` and `simulate`.
    fn begin(&self, step: &str, total: Option<usize>) {
        let _ = (step, total);
    }

    /// `done` parts of the step are finished.
    fn advance(&self, done: usize) {
        let _ = done;
    }

    /// Runs on `samples` samples are about to begin. `demand` is the memory and other resources that each run takes.
    fn admitted(&self, demand: &Demand, samples: usize) {
        let _ = (demand, samples);
    }

    /// The step has ended.
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
    /// Runs `work` as a step with `total` parts. `work` gets a function that it calls with the number of finished
    /// parts.
    ///
    /// # Errors
    /// Errors of `work`, or [`CompileError::Interrupted`] if the caller asked to stop before the step.
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
