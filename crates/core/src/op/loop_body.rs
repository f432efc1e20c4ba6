//! Runs a graph repeatedly.

use super::prelude::*;

op! {
    /// Runs a graph of the module again and again, with values that are carried from run to run.
    ///
    /// The operands are the largest number of runs (i64, one element), whether the first run takes place (boolean, one
    /// element), the initial carried values, and values that every run reads. The first two operands are optional. If
    /// one is absent, it does not limit the loop.
    ///
    /// The body's inputs are the number of runs before this one (i64, a scalar), the condition (boolean, a scalar), the
    /// carried values, and the values that every run reads. The body's outputs are whether another run follows
    /// (boolean, one element), the carried values, and values that are stacked. The results of the op are the carried
    /// values after the last run, and the stacks. A stack joins the values that one output had in all runs along a new
    /// first axis.
    ///
    /// A carried value keeps its element type and rank. If its extents change from run to run, the body's input has
    /// named extents.
    Loop = "loop" v 1: Elsewhere, 0 to 65_536 {
        /// The position of the body in the module.
        body: u32,
        /// The number of carried values.
        carried: u32,
        /// The number of runs, if it is known and does not depend on operands or the body's condition; otherwise −1.
        trips: i64,
    }
}

impl Loop {
    /// Number of operands before the carried values: the largest number of runs, and whether the first run takes place.
    pub const BOUNDS: usize = 2;
}

impl OpFacts for Loop {
    fn infer(&self, _: &Operands<'_>) -> Result<Results, Reason> {
        Err(Reason::new(
            ReasonCode::ModuleNeeded,
            "the results of a loop are those of its body",
        ))
    }
}
