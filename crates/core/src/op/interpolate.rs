//! Table lookup with linear interpolation between the entries.

use super::prelude::*;
use strait_requantize::Rounding;
use strait_requantize::function::Interpolated;

op! {
    /// A function of one code. A table has some values of the function, and the other values are interpolated linearly;
    /// see [`Interpolated`]. Operands: `x`, of 4, 8 or 16 bits, and `table`, which has an entry of at most 16 bits for
    /// every 2^`step` codes, starting with the smallest code of the type, and one more entry at the end. The result has
    /// the table's element type.
    Interpolate = "interpolate" v 1: Integer, 2 {
        /// log2 of the distance between two entries: neighbouring entries belong to codes that differ by 2^`step`.
        step: u8,
        /// How an interpolated value is rounded.
        rounding: Rounding,
    }
}

impl Interpolate {
    /// Returns the function on codes of type `x`. Returns `None` if the type has more than 16 bits, or if `step` is 0
    /// or exceeds the number of bits of the type.
    pub fn on(&self, x: Elem) -> Option<Interpolated> {
        let lines = Interpolated {
            elements: x.int_type()?,
            step: self.step,
            rounding: self.rounding,
        };
        lines.entries().map(|_| lines)
    }
}

impl OpFacts for Interpolate {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, table) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        let entries = self.on(x.elem).and_then(Interpolated::entries);
        let entries = entries.ok_or_else(|| {
            let text = format!("2^{} codes of {} are not between two entries", self.step, x.elem);
            Reason::new(ReasonCode::Lookup, text)
        })?;
        let codes = table.elem.int_type().is_some_and(|codes| codes.bits() <= 16);
        support::ensure(
            codes && table.shape.as_slice() == [Dim::Fixed(entries as u64)],
            ReasonCode::Lookup,
            || format!("the table is {table}, not one of {entries} codes"),
        )?;
        support::one(table.elem, x.shape.clone())
    }
}
