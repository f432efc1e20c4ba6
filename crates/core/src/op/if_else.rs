//! Chooses between two graphs.

use super::prelude::*;

op! {
    /// Runs one of two graphs of the module, and returns the outputs of this graph. The first operand is the condition,
    /// a single boolean. If it is true, `then_graph` runs, and otherwise `else_graph`. All other operands are the
    /// inputs of both graphs.
    ///
    /// The results of both graphs have the same element types and ranks. If an extent differs between the two graphs,
    /// it is only known at run time.
    If = "if" v 1: Elsewhere, 1 to 65_536 {
        /// The position in the module of the graph that runs if the condition is true.
        then_graph: u32,
        /// The position in the module of the graph that runs if the condition is false.
        else_graph: u32,
    }
}

impl OpFacts for If {
    fn infer(&self, _: &Operands<'_>) -> Result<Results, Reason> {
        Err(Reason::new(
            ReasonCode::ModuleNeeded,
            "the results of a choice are those of the graphs that it names",
        ))
    }
}
