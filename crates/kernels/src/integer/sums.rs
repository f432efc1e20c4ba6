//! Accumulators of both carriers.

/// Type that carries the accumulators of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// 32 bits.
    #[default]
    I32,
    /// 64 bits.
    I64,
}

/// Accumulators of one carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums<'a> {
    /// Of 32 bits.
    I32(&'a [i32]),
    /// Of 64 bits.
    I64(&'a [i64]),
}

impl Sums<'_> {
    /// Type that carries them.
    pub fn carrier(&self) -> Carrier {
        match self {
            Sums::I32(_) => Carrier::I32,
            Sums::I64(_) => Carrier::I64,
        }
    }
}

/// Room for the accumulators of a tile.
pub(crate) enum Room<const N: usize> {
    /// Of 32 bits.
    I32([i32; N]),
    /// Of 64 bits.
    I64([i64; N]),
}

impl<const N: usize> Room<N> {
    /// Zeros.
    pub(crate) fn new(carrier: Carrier) -> Room<N> {
        match carrier {
            Carrier::I32 => Room::I32([0; N]),
            Carrier::I64 => Room::I64([0; N]),
        }
    }

    /// All of it.
    pub(crate) fn sums(&self) -> Sums<'_> {
        match self {
            Room::I32(sums) => Sums::I32(sums),
            Room::I64(sums) => Sums::I64(sums),
        }
    }
}
