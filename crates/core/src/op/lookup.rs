//! Table lookup.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::elem::Elem;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::Dim;

op! {
    /// `table[x]`: any function of one 8-bit variable. Operands: `x` (i8 or u8) and `table` with 256 entries, in the order of
    /// the codes from the type's minimum up. Result: the table's element type.
    Lookup = "lookup" v 1 {}
}

impl Infer for Lookup {
    const ARITY: (usize, usize) = (2, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, table) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        support::ensure(matches!(x.elem, Elem::I8 | Elem::U8), ReasonCode::Lookup, || {
            format!("{} cannot index a table", x.elem)
        })?;
        support::ensure(table.shape.as_slice() == [Dim::Fixed(256)], ReasonCode::Lookup, || {
            format!("the table has shape {:?}, not [256]", table.shape)
        })?;
        support::one(table.elem, x.shape.clone())
    }
}
