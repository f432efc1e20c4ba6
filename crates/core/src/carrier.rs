//! The integer type of accumulators.

use crate::attribute::words;
use crate::elem::Elem;

words! {
    /// The integer type of an accumulator. Lowering proves that every value of the accumulator fits in the type. The
    /// type is at least as wide as the accumulator of the target.
    Carrier {
        /// Accumulators of 32 bits.
        I32 = "i32",
        /// Accumulators of 64 bits, for products of 16-bit codes.
        I64 = "i64",
    } implied I32
}

impl Carrier {
    /// Returns the element type of accumulators of this type.
    pub fn elem(self) -> Elem {
        match self {
            Carrier::I32 => Elem::I32,
            Carrier::I64 => Elem::I64,
        }
    }
}
