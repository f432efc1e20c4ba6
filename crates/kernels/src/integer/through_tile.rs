//! Loops that store a tile of accumulators in memory, and then let a batch kernel requantize them.

use super::{
    bytes::{clamp, width},
    epilogue::bounds,
    loops::Loops,
    sums::Sums,
    tiles::LONG_PIECE,
};
use crate::context::Context;
use crate::error::KernelError;
use crate::integer::output_tile::{Axis, OutputTile};
use std::borrow::Cow;
use strait_requantize::{IntType, Requantization};

/// The extents and channels of a tile, for a kernel that requantizes the whole tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Number of rows. The accumulators are `[rows][columns]` without gaps.
    pub rows: usize,
    /// Number of columns of each row.
    pub columns: usize,
    /// Which axis is the channel axis.
    pub channels: Axis,
    /// The channel that the first row or column belongs to.
    pub first_channel: usize,
}

impl Tile {
    /// The channel that the accumulator at index `at` belongs to.
    pub fn channel(&self, at: usize) -> usize {
        self.first_channel
            + match self.channels {
                Axis::Rows => at / self.columns.max(1),
                Axis::Columns => at % self.columns.max(1),
            }
    }

    /// Computes the codes that the form defines for these accumulators. An accumulator outside of the form's domain is
    /// first clamped to the domain.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if the form is not legal.
    pub fn defined<T: Copy + Into<i64>>(
        &self,
        form: &Requantization,
        accumulators: &[T],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        let width = width(form.out());
        for (at, (&x, to)) in accumulators.iter().zip(out.chunks_exact_mut(width)).enumerate() {
            let channel = self.channel(at).min(form.channels().unwrap_or(1).saturating_sub(1));
            let (low, high) = form.domain(channel).into_inner();
            let code = form
                .eval(channel, x.into().min(high).max(low))
                .map_err(|e| KernelError::Requantization(e.to_string()))?;
            to.copy_from_slice(&code.to_ne_bytes()[..width]);
        }
        Ok(())
    }
}

/// A batch kernel. It is called once for each tile of accumulators that fits in the first-level cache, and not for each
/// element. A target implements this trait if it computes the requantization itself, and so do kernels behind the C
/// interface.
pub trait TileKernel: Send + Sync {
    /// Number of elements that a tile should have if its accumulators are already in memory. If each call of the kernel
    /// takes long, this number should be larger than what fits in the first-level cache.
    fn piece(&self) -> usize {
        LONG_PIECE
    }

    /// Requantizes `tile.rows × tile.columns` accumulators into the same number of elements of the form's output type.
    ///
    /// # Errors
    /// Anything that stops the kernel. The run then ends with [`KernelError::Tile`].
    fn run(&self, form: &Requantization, tile: &Tile, accumulators: &[i32], out: &mut [u8]) -> Result<(), KernelError>;

    /// Like [`TileKernel::run`], for accumulators of 64 bits. Unless the kernel implements this function itself, the
    /// codes are those that the form defines. An accumulator outside of the form's domain is first clamped to the
    /// domain.
    ///
    /// # Errors
    /// The same as for [`TileKernel::run`].
    fn run_wide(
        &self,
        form: &Requantization,
        tile: &Tile,
        accumulators: &[i64],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        tile.defined(form, accumulators, out)
    }
}

/// Loops that pass their accumulators to a batch kernel. After the kernel, they apply the clamp themselves.
#[derive(Clone, Debug)]
pub struct ThroughTile<K> {
    kernel: K,
    form: Requantization,
    clamp: Option<[i32; 2]>,
}

impl<K: TileKernel> ThroughTile<K> {
    /// Makes the loops that requantize by `form` with `kernel`.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if the form or the clamp is not legal.
    pub fn new(kernel: K, form: Requantization, clamp: Option<[i32; 2]>) -> Result<ThroughTile<K>, KernelError> {
        form.check()?;
        Ok(ThroughTile { kernel, form, clamp })
    }
}

impl<K: TileKernel> Loops for ThroughTile<K> {
    fn out(&self) -> IntType {
        self.form.out()
    }

    fn channels(&self) -> Option<usize> {
        self.form.channels()
    }

    fn piece(&self) -> usize {
        self.kernel.piece().max(2)
    }

    fn finish(&self, _: Context, sums: Sums<'_>, stride: usize, place: &OutputTile<'_>) -> Result<(), KernelError> {
        let out = self.form.out();
        let (rows, columns) = (place.rows, place.columns);
        let row_bytes = columns * width(out);
        let mut results = vec![0; rows * row_bytes];
        let tile = Tile {
            rows,
            columns,
            channels: place.axis,
            first_channel: place.first_channel,
        };
        match sums {
            Sums::I32(sums) => {
                let sums = dense(sums, stride, &tile);
                self.kernel.run(&self.form, &tile, &sums, &mut results)?;
            }
            Sums::I64(sums) => {
                let sums = dense(sums, stride, &tile);
                self.kernel.run_wide(&self.form, &tile, &sums, &mut results)?;
            }
        }
        if let Some(ends) = self.clamp {
            clamp(out, bounds(out, Some(ends)), &mut results);
        }
        for (row, results) in results.chunks_exact(row_bytes.max(1)).enumerate() {
            // SAFETY: tiles of different tasks do not overlap, and the borrow ends in this statement.
            unsafe { place.bytes(width(out), row, 0, columns) }.copy_from_slice(results);
        }
        Ok(())
    }
}

/// The accumulators of a tile without gaps between the rows.
fn dense<'a, T: Copy>(sums: &'a [T], stride: usize, tile: &Tile) -> Cow<'a, [T]> {
    if stride == tile.columns {
        return Cow::Borrowed(&sums[..tile.rows * tile.columns]);
    }
    let rows = sums.chunks(stride).take(tile.rows);
    Cow::Owned(rows.flat_map(|row| &row[..tile.columns]).copied().collect())
}
