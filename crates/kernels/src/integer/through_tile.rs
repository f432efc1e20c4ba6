//! The loops with a tile of accumulators between them and the requantization.

use super::{
    bytes::{store, width},
    finish::{Axis, Finish, Place},
};
use crate::error::KernelError;
use strait_requantize::{IntType, Requantization};

/// What a tile is, for a kernel that takes it as a whole.
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

/// The accumulators of a tile, and its results.
#[derive(Default)]
pub struct TileScratch {
    accumulators: Vec<i32>,
    results: Vec<u8>,
}

impl<K: TileKernel> Finish for ThroughTile<K> {
    type Scratch = TileScratch;

    fn out(&self) -> IntType {
        self.form.out()
    }

    fn channels(&self) -> Option<usize> {
        self.form.channels()
    }

    #[inline(always)]
    fn vector(&self, scratch: &mut TileScratch, place: &Place<'_>, row: usize, column: usize, accumulators: [i32; 16]) {
        let elements = place.rows * place.columns;
        if scratch.accumulators.len() != elements {
            scratch.accumulators.resize(elements, 0);
        }
        let count = (place.columns - column).min(16);
        let start = row * place.columns + column;
        scratch.accumulators[start..start + count].copy_from_slice(&accumulators[..count]);
    }

    fn end(&self, scratch: &mut TileScratch, place: &Place<'_>) -> Result<(), KernelError> {
        let out = self.form.out();
        let row_bytes = place.columns * width(out);
        scratch.results.resize(place.rows * row_bytes, 0);
        let tile = Tile {
            rows: place.rows,
            columns: place.columns,
            channels: place.axis,
            first_channel: place.first_channel,
        };
        self.kernel
            .run(&self.form, &tile, &scratch.accumulators, &mut scratch.results)?;
        for (row, results) in scratch.results.chunks_exact_mut(row_bytes.max(1)).enumerate() {
            if let Some([low, high]) = self.clamp {
                for sixteen in results.chunks_mut(16 * width(out)) {
                    let values = super::bytes::load(out, sixteen).map(|v| v.min(high).max(low));
                    store(out, &values, sixteen);
                }
            }
            // SAFETY: tiles of different tasks are disjoint, and this borrow ends here.
            unsafe { place.bytes(width(out), row, 0, place.columns) }.copy_from_slice(results);
        }
        Ok(())
    }
}
