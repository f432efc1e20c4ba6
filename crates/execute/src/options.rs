//! Options for running a graph.

use crate::loops_for::{LoopsFor, Standard};
use strait_kernels::Context;

/// Options for making a plan.
#[derive(Clone, Copy)]
pub struct PlanOptions<'a> {
    /// The instruction set to use. The choice does not change any result.
    pub context: Context,
    /// Provides the loops for requantizations.
    pub loops: &'a dyn LoopsFor,
    /// True if integer primitives are joined into fast loops. Joins do not change any result, but an observer does not
    /// see the values that exist only inside of a join.
    pub join: bool,
}

impl Default for PlanOptions<'_> {
    /// Returns the defaults: the best instruction set of this machine, Strait's own loops, and joins.
    fn default() -> Self {
        PlanOptions {
            context: Context::detect(),
            loops: &Standard,
            join: true,
        }
    }
}
