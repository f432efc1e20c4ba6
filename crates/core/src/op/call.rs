//! Calls a graph.

use super::{Infer, Operands, Results};
use crate::attribute::op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;

op! {
    /// The results of another graph of the module for these operands. Only the module knows their types; the verifier
    /// compares them with those of the called graph.
    Call = "call" v 1 {
        /// The position of the called graph in the module.
        graph: u32,
    }
}

impl Infer for Call {
    const ARITY: (usize, usize) = (0, 65_536);

    fn infer(&self, _: &Operands<'_>) -> Result<Results, Reason> {
        Err(Reason::new(
            ReasonCode::ModuleNeeded,
            "the results of a call are those of the called graph",
        ))
    }
}
