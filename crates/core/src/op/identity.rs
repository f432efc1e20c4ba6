//! The operand itself.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// The operand itself, under another name.
    Identity = "identity" v 1 {}
}

impl Infer for Identity {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }
}
