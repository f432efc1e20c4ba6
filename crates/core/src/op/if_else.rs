//! Chooses between two graphs.

use super::{Infer, Operands, Results};
use crate::attribute::op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;

op! {
    /// The results of one of two graphs of the module: of `then_graph` if the first operand, a single boolean, is true,
    /// and of `else_graph` otherwise. The operands after the condition are the inputs of both graphs.
    ///
    /// The results of both graphs have the same element types and ranks. An extent in which they differ depends on
    /// data.
    If = "if" v 1 {
        /// The position in the module of the graph that runs if the condition is true.
        then_graph: u32,
        /// The position in the module of the graph that runs if the condition is false.
        else_graph: u32,
    }
}

impl Infer for If {
    const ARITY: (usize, usize) = (1, 65_536);

    fn infer(&self, _: &Operands<'_>) -> Result<Results, Reason> {
        Err(Reason::new(
            ReasonCode::ModuleNeeded,
            "the results of a choice are those of the graphs that it names",
        ))
    }
}
