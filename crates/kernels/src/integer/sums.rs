//! Accumulators of 32 and of 64 bits.

/// The integer type of the accumulators in a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// Accumulators of 32 bits.
    #[default]
    I32,
    /// Accumulators of 64 bits.
    I64,
}

/// A slice of accumulators, of 32 or of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums<'a> {
    /// Accumulators of 32 bits.
    I32(&'a [i32]),
    /// Accumulators of 64 bits.
    I64(&'a [i64]),
}

/// A buffer for the accumulators of a tile, of 32 or of 64 bits.
pub(crate) enum Room<const N: usize> {
    /// A buffer for accumulators of 32 bits.
    I32([i32; N]),
    /// A buffer for accumulators of 64 bits.
    I64([i64; N]),
}

impl<const N: usize> Room<N> {
    /// A buffer that is filled with zeros.
    pub(crate) fn new(carrier: Carrier) -> Room<N> {
        match carrier {
            Carrier::I32 => Room::I32([0; N]),
            Carrier::I64 => Room::I64([0; N]),
        }
    }

    /// All accumulators of the buffer.
    pub(crate) fn sums(&self) -> Sums<'_> {
        match self {
            Room::I32(sums) => Sums::I32(sums),
            Room::I64(sums) => Sums::I64(sums),
        }
    }
}
