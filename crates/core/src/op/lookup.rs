//! Table lookup.

use super::prelude::*;

op! {
    /// `table[x]`: any function of one code. Operands: `x`, of 4, 8 or 16 bits, and `table`, with one entry for each
    /// code, starting with the smallest code of the type. The result has the table's element type.
    Lookup = "lookup" v 1: Integer, 2 {}
}

impl OpFacts for Lookup {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, table) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        let codes = x.elem.int_type().filter(|codes| codes.bits() <= 16);
        let codes = codes.ok_or_else(|| Reason::new(ReasonCode::Lookup, format!("{} cannot index a table", x.elem)))?;
        let entries = 1u64 << codes.bits();
        support::ensure(
            table.shape.as_slice() == [Dim::Fixed(entries)],
            ReasonCode::Lookup,
            || format!("the table has shape {:?}, not [{entries}]", table.shape),
        )?;
        support::one(table.elem, x.shape.clone())
    }
}
