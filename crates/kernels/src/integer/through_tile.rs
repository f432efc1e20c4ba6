//! The loops with a tile of accumulators between them and the requantization.

use super::{
    bytes::{clamp, width},
    epilogue::bounds,
    finish::{Axis, Finish, Place},
};
use crate::{error::KernelError, isa::Context};
use strait_requantize::{IntType, Requantization};

/// Extents and channels of a tile, for a kernel that takes the tile as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows, and columns of each: the accumulators are `[rows][columns]` without gaps.
    pub rows: usize,
    /// See `rows`.
    pub columns: usize,
    /// Along which axis the channels run.
    pub channels: Axis,
    /// The channel of the first row or column.
    pub first_channel: usize,
}

/// A batch kernel: one call per tile of accumulators that fits in the first-level cache, never one per element. What a
/// target gives that computes in its own way, and what crosses the C interface.
pub trait TileKernel: Send + Sync {
    /// Requantizes `tile.rows × tile.columns` accumulators into as many elements of the form's output type.
    ///
    /// # Errors
    /// Whatever stops the kernel; it ends the run with [`KernelError::Tile`].
    fn run(&self, form: &Requantization, tile: &Tile, accumulators: &[i32], out: &mut [u8]) -> Result<(), KernelError>;
}

/// The loops that hand their accumulators to a batch kernel. The clamp behind the form is done by the loops.
#[derive(Clone, Debug)]
pub struct ThroughTile<K> {
    kernel: K,
    form: Requantization,
    clamp: Option<[i32; 2]>,
}

impl<K: TileKernel> ThroughTile<K> {
    /// The loops of one form.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] where the form or the clamp is not legal.
    pub fn new(kernel: K, form: Requantization, clamp: Option<[i32; 2]>) -> Result<ThroughTile<K>, KernelError> {
        form.check().map_err(|e| KernelError::Requantization(e.to_string()))?;
        Ok(ThroughTile { kernel, form, clamp })
    }
}

impl<K: TileKernel> Finish for ThroughTile<K> {
    fn out(&self) -> IntType {
        self.form.out()
    }

    fn channels(&self) -> Option<usize> {
        self.form.channels()
    }

    fn finish(&self, _: Context, accumulators: &[i32], stride: usize, place: &Place<'_>) -> Result<(), KernelError> {
        let out = self.form.out();
        let (rows, columns) = (place.rows, place.columns);
        let mut dense = Vec::new();
        let accumulators = if stride == columns {
            &accumulators[..rows * columns]
        } else {
            accumulators
                .chunks(stride)
                .take(rows)
                .for_each(|row| dense.extend_from_slice(&row[..columns]));
            &dense
        };
        let row_bytes = columns * width(out);
        let mut results = vec![0; rows * row_bytes];
        let tile = Tile {
            rows,
            columns,
            channels: place.axis,
            first_channel: place.first_channel,
        };
        self.kernel.run(&self.form, &tile, accumulators, &mut results)?;
        if let Some(ends) = self.clamp {
            clamp(out, bounds(out, Some(ends)), &mut results);
        }
        for (row, results) in results.chunks_exact(row_bytes.max(1)).enumerate() {
            // SAFETY: tiles of different tasks are disjoint, and this borrow ends here.
            unsafe { place.bytes(width(out), row, 0, columns) }.copy_from_slice(results);
        }
        Ok(())
    }
}
