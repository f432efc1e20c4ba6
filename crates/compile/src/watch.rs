//! Whoever watches the steps of the compiler.

use std::ops::ControlFlow;

use strait_execute::Demand;

use crate::CompileError;

/// A step that is worth a line on a console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Runs of the float graph on samples.
    Observe,
    /// The rules of a target's table.
    Rewrite,
    /// Placing, annotating and lowering, in as many turns as refusals ask for.
    Quantize,
    /// Fusions, row by row.
    Fuse,
    /// The fused graph held against the lowered one.
    Verify,
    /// Runs of the fake-quantized model on samples.
    Simulate,
}

/// Somebody who watches the work and may stop it. Methods are called from one thread at a time.
pub trait Watch {
    /// A step begins; `total` is the number of its parts, where it has any.
    fn begin(&self, step: Step, total: Option<usize>) {
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
    pub(crate) fn step<T, E: From<CompileError>>(
        &self,
        step: Step,
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
