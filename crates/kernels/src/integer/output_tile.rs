//! Where the results of a tile are written.

use crate::parallel::Shared;

/// Which axis of a tile is the channel axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Row `r` belongs to channel `first + r`. Images are computed in this way: a row has positions of one channel.
    Rows,
    /// Column `c` belongs to channel `first + c`. The output of a matrix product is written in this way: a row has all
    /// channels of one position.
    Columns,
}

/// A tile of the output. It has several rows of consecutive elements.
#[derive(Clone, Copy)]
pub struct OutputTile<'a> {
    pub(crate) out: &'a Shared<'a, u8>,
    /// The index of the output element at which the tile starts.
    pub(crate) at: usize,
    pub(crate) row_stride: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) axis: Axis,
    pub(crate) first_channel: usize,
}

impl<'a> OutputTile<'a> {
    /// The part of this tile that has the rows `from..from + rows`.
    #[inline(always)]
    pub(crate) fn rows(self, from: usize, rows: usize) -> OutputTile<'a> {
        let first_channel = self.first_channel + if self.axis == Axis::Rows { from } else { 0 };
        OutputTile {
            at: self.at + from * self.row_stride,
            rows,
            first_channel,
            ..self
        }
    }

    /// The bytes of `count` elements in a row of the output.
    ///
    /// # Safety
    /// No other borrow of these bytes may be alive.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn bytes(&self, width: usize, row: usize, column: usize, count: usize) -> &'a mut [u8] {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            self.out
                .slice((self.at + row * self.row_stride + column) * width, count * width)
        }
    }
}
