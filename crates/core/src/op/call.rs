//! Calls a graph.

use super::prelude::*;

op! {
    /// Runs another graph of the module with the operands as inputs. The results are the graph's outputs. Type
    /// inference does not know the types of the results; the verifier compares these types with the types of the called
    /// graph's outputs.
    Call = "call" v 1: Elsewhere, 0 to 65_536 {
        /// The position of the called graph in the module.
        graph: u32,
    }
}

impl OpFacts for Call {
    fn infer(&self, _: &Operands<'_>) -> Result<Results, Reason> {
        Err(Reason::new(
            ReasonCode::ModuleNeeded,
            "the results of a call are those of the called graph",
        ))
    }
}
