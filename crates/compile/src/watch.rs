//! Whoever watches the steps of the compiler.

use std::ops::ControlFlow;

use strait_execute::Demand;

use crate::CompileError;

/// Somebody who watches the work and may stop it. Methods are called from one thread at a time.
pub trait Watch {
    /// A step begins, which people know by this word or these; `total` is the number of its parts, where it has any. The compiler
    /// has the steps `observe`, `rewrite`, `quantize`, `fuse`, `verify` and `simulate`.
    fn begin(&self, step: &str, total: Option<usize>) {
        let _ = (step, total);
    }

    /// So many parts of the step are done.
    fn advance(&self, done: usize) {
        let _ = done;
    }

    /// Runs of this demand on so many samples are going to begin.
    fn admitted(&self, demand: &Demand, samples: usize) {
        let _ = (demand, samples);
    }

    /// The step is over.
    fn end(&self) {}

    /// True if the work is to stop as soon as possible.
    fn interrupted(&self) -> bool {
        false
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watch for Silent {}

impl dyn Watch + '_ {
    /// Does `work` as a step of so many parts; `work` is given what to call with the number of parts that are done.
    ///
    /// # Errors
    /// Those of `work`, and [`CompileError::Interrupted`] where the step need not begin.
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
