//! The trait [`Loops`], through which kernels call the requantization of a target.

use super::{
    batch::Codes,
    bytes::width,
    sums::{Carrier, Sums},
    tiles::LONG_PIECE,
};
use crate::context::Context;
use crate::error::KernelError;
use crate::integer::output_tile::OutputTile;
use strait_requantize::IntType;

/// The loops of one layer, together with the layer's requantization. They are prepared once, when the plan is made.
///
/// The loops are the methods of `dyn Loops`. They are compiled once for all requantizations, and call
/// [`finish`](Loops::finish) for each tile of accumulators. A target uses [`InRegisters`](super::InRegisters) or
/// [`ThroughTile`](super::ThroughTile), which implement this trait. Code outside of this crate can only wrap one of
/// these two types, because only this crate can write to an [`OutputTile`].
///
/// Each loop computes `clamp(requantize(accumulator))`, and writes elements of type [`Loops::out`] as bytes. Sums are
/// computed in 32 or in 64 bits. The packed weights decide which of the two widths is used. If there are no packed
/// weights, the argument `carrier` decides. If the requantization has parameters per channel, the loop's output must
/// have the same number of channels. The output of an elementwise loop of two operands has one channel.
///
/// Each loop fails with [`KernelError::Shape`] if slices, extents and channels do not fit together, and with
/// [`KernelError::Tile`] if a batch kernel of the target fails.
pub trait Loops: Send + Sync {
    /// The element type of the results. If nothing is requantized, so that the results are the accumulators, this type
    /// is I32, even for accumulators of 64 bits.
    fn out(&self) -> IntType;

    /// True if the results are the accumulators themselves. They are then as wide as the accumulators.
    fn keeps(&self) -> bool {
        false
    }

    /// Number of channels that have parameters; `None` if one set of parameters serves any number of channels.
    fn channels(&self) -> Option<usize>;

    /// Number of elements that a tile should have if its accumulators are already in memory.
    fn piece(&self) -> usize {
        LONG_PIECE
    }

    /// The kernel with which convolutions requantize their sums in registers, if these loops have one. It then replaces
    /// [`finish`](Loops::finish).
    #[doc(hidden)]
    fn codes(&self) -> Option<Codes<'_>> {
        None
    }

    /// True if these loops requantize whole vectors. Thousands of results are then computed in no time.
    #[doc(hidden)]
    fn has_vectors(&self) -> bool {
        false
    }

    /// Turns the accumulators of a tile into results, on the instruction set of `cx`. Row `r` of the tile starts at
    /// accumulator `r·stride`. The tile is small enough for the first-level cache, unless [`Loops::piece`] asks for
    /// larger tiles.
    ///
    /// # Errors
    /// [`KernelError::Tile`] if a batch kernel of the target fails.
    fn finish(&self, cx: Context, sums: Sums<'_>, stride: usize, place: &OutputTile<'_>) -> Result<(), KernelError>;
}

impl dyn Loops + '_ {
    /// Number of bytes of a result, if the accumulators have this type.
    pub(crate) fn width(&self, carrier: Carrier) -> usize {
        match carrier {
            Carrier::I64 if self.keeps() => size_of::<i64>(),
            Carrier::I32 | Carrier::I64 => width(self.out()),
        }
    }

    /// Checks that the parameters are for `wanted` channels, or for any number.
    pub(crate) fn check_channels(&self, wanted: usize) -> Result<(), KernelError> {
        match self.channels() {
            Some(found) if found != wanted => Err(KernelError::Shape(format!(
                "the requantization has {found} channels, the output {wanted}"
            ))),
            _ => Ok(()),
        }
    }

    /// Finishes accumulators of 32 bits. They are widened first if the results have to be accumulators of 64 bits.
    pub(crate) fn finish_narrow(
        &self,
        cx: Context,
        carrier: Carrier,
        accumulators: &[i32],
        stride: usize,
        place: &OutputTile<'_>,
    ) -> Result<(), KernelError> {
        if carrier == Carrier::I64 && self.keeps() {
            let wide: Vec<i64> = accumulators.iter().map(|&x| x.into()).collect();
            return self.finish(cx, Sums::I64(&wide), stride, place);
        }
        self.finish(cx, Sums::I32(accumulators), stride, place)
    }
}

/// How a code of one operand becomes an accumulator on the common grid.
#[derive(Clone, Copy)]
pub enum Addend<'a> {
    /// The accumulator is looked up in a table with one entry per code. Entry 0 is for the smallest code of the type,
    /// which is I8 or U8.
    Table(&'a [i32; 256]),
    /// The accumulator is computed from the code, which has up to 16 bits: `±requantize((code − zero)·2^bits)`.
    Codes {
        /// The zero point that is subtracted from the code.
        zero: i32,
        /// The number of bits by which the difference is shifted left. The shifted differences have to fit in 32 bits.
        bits: u8,
        /// Requantizes the numbers `(code − zero)·2^bits` to accumulators (I32). `None` if these numbers are the
        /// accumulators.
        loops: Option<&'a dyn Loops>,
        /// True if the operand is subtracted.
        negative: bool,
    },
}
