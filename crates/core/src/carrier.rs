//! The integer type that holds a sum of codes.

use crate::attribute::words;
use crate::elem::Elem;

words! {
    /// The type that an accumulator is carried in: wide enough for every value that the sum can have, which is proved when
    /// a graph is lowered, and as wide or wider than what the target adds in.
    Carrier {
        /// 32 bits.
        I32 = "i32",
        /// 64 bits: for products of 16-bit codes.
        I64 = "i64",
    } implied I32
}

impl Carrier {
    /// The element type of such accumulators.
    pub fn elem(self) -> Elem {
        match self {
            Carrier::I32 => Elem::I32,
            Carrier::I64 => Elem::I64,
        }
    }
}
