//! How accumulators leave a loop.

use super::{
    bytes::{store, width},
    epilogue::Epilogue,
};
use crate::{error::KernelError, parallel::Shared};
use strait_requantize::IntType;

/// Along which axis of a tile the channels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Row `r` is channel `first + r`: images, whose rows are the positions of one channel.
    Rows,
    /// Column `c` is channel `first + c`: matrices, whose rows are all channels of one position.
    Columns,
}

/// A tile of the output: rows of consecutive elements.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub(crate) out: &'a Shared<'a, u8>,
    /// Element of the output where the tile starts, and elements from one row to the next.
    pub(crate) at: usize,
    pub(crate) row_stride: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) axis: Axis,
    pub(crate) first_channel: usize,
}

impl<'a> Place<'a> {
    /// The rows `from..from + rows` of this tile.
    #[inline(always)]
    pub(crate) fn rows(self, from: usize, rows: usize) -> Place<'a> {
        let first_channel = self.first_channel + if self.axis == Axis::Rows { from } else { 0 };
        Place {
            at: self.at + from * self.row_stride,
            rows,
            first_channel,
            ..self
        }
    }

    /// The output bytes of `count` elements of a row.
    ///
    /// # Safety
    /// No other borrow of them is alive.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn bytes(&self, width: usize, row: usize, column: usize, count: usize) -> &'a mut [u8] {
        // SAFETY: the caller's promise.
        unsafe {
            self.out
                .slice((self.at + row * self.row_stride + column) * width, count * width)
        }
    }
}

/// Where a loop's accumulators go. Implemented by [`InRegisters`] and [`ThroughTile`](super::ThroughTile); for each of
/// its implementors all [`Loops`](super::Loops) are compiled.
///
/// A loop calls `vector` for sixteen columns after sixteen columns of each row of a tile, in any order, then `end`.
pub trait Finish: Send + Sync {
    /// What a task holds between `vector` and `end`.
    type Scratch: Default;

    /// The element type of the results.
    fn out(&self) -> IntType;

    /// How many channels there are parameters for; `None` if one set serves any number.
    fn channels(&self) -> Option<usize>;

    /// Takes the accumulators of the columns `column..column + 16` of a row; those beyond the tile are to be ignored.
    fn vector(
        &self,
        scratch: &mut Self::Scratch,
        place: &Place<'_>,
        row: usize,
        column: usize,
        accumulators: [i32; 16],
    );

    /// The tile is complete.
    fn end(&self, scratch: &mut Self::Scratch, place: &Place<'_>) -> Result<(), KernelError>;
}

/// Refuses parameters for another number of channels.
pub(crate) fn check_channels(finish: &impl Finish, wanted: usize) -> Result<(), KernelError> {
    match finish.channels() {
        Some(found) if found != wanted => Err(KernelError::Shape(format!(
            "the requantization has {found} channels, the output {wanted}"
        ))),
        _ => Ok(()),
    }
}

/// Computes an epilogue on the accumulators in their registers: the loops are compiled for it.
#[derive(Clone, Debug)]
pub struct InRegisters<E> {
    epilogue: E,
    out: IntType,
    low: i32,
    high: i32,
}

impl<E: Epilogue> InRegisters<E> {
    /// The loops that compute `clamp(saturate(epilogue(accumulator)))`, where `out` says what to saturate to. The clamp's
    /// ends are codes; if they are not in order, the lower one wins.
    pub fn new(epilogue: E, out: IntType, clamp: Option<[i32; 2]>) -> InRegisters<E> {
        let [low, high] = super::epilogue::bounds(out, clamp);
        InRegisters {
            epilogue,
            out,
            low,
            high,
        }
    }
}

impl<E: Epilogue> Finish for InRegisters<E> {
    type Scratch = ();

    fn out(&self) -> IntType {
        self.out
    }

    fn channels(&self) -> Option<usize> {
        self.epilogue.channels()
    }

    #[inline(always)]
    fn vector(&self, (): &mut (), place: &Place<'_>, row: usize, column: usize, accumulators: [i32; 16]) {
        let results = match place.axis {
            Axis::Rows => self.epilogue.positions(place.first_channel + row, accumulators),
            Axis::Columns => self.epilogue.across(place.first_channel + column, accumulators),
        };
        let limited = results.map(|v| v.min(self.high).max(self.low));
        let count = (place.columns - column).min(16);
        // SAFETY: tiles of different tasks are disjoint, and this borrow ends here.
        store(self.out, &limited, unsafe {
            place.bytes(width(self.out), row, column, count)
        });
    }

    #[inline(always)]
    fn end(&self, (): &mut (), _: &Place<'_>) -> Result<(), KernelError> {
        Ok(())
    }
}
