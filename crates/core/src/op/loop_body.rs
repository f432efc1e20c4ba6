//! Repetition of a graph.

use super::{Infer, Operands, Results};
use crate::attribute::op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;

op! {
    /// A graph of the module, run again and again.
    ///
    /// The operands are the most runs (i64, one element), whether there is a first run (bool, one element), the first values
    /// of what is carried from run to run, and what every run reads. Either of the first two may be absent: then it does not
    /// end the loop.
    ///
    /// The body's inputs are the number of runs before it (i64, a scalar), the condition (bool, a scalar), what is carried,
    /// and what every run reads. Its outputs are whether there is another run (bool, one element), what is carried, and
    /// elements of stacks. The results are what is carried behind the last run, and the stacks: all elements of one
    /// output, along a new first axis.
    ///
    /// A carried value keeps element type and rank. Where its extents change, the body's input has named ones.
    Loop = "loop" v 1 {
        /// The position of the body in the module.
        body: u32,
        /// The number of values that are carried.
        carried: u32,
        /// The number of runs, whatever the operands and the body's condition are; −1 where it depends on them.
        trips: i64,
    }
}

impl Loop {
    /// Operands in front of the carried values: the most runs, and the condition of the first.
    pub const BOUNDS: usize = 2;
}

impl Infer for Loop {
    const ARITY: (usize, usize) = (0, 65_536);

    fn infer(&self, _: &Operands<'_>) -> Result<Results, Reason> {
        Err(Reason::new(
            ReasonCode::ModuleNeeded,
            "the results of a loop are those of its body",
        ))
    }
}
