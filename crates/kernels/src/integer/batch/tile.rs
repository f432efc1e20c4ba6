use super::{Kernel, constants::Constants, narrow::Elements, source::Source};
use crate::context::VectorJob;
use crate::integer::output_tile::{Axis, OutputTile};
use crate::simd::I32s;

/// A tile of elements that are requantized, and where the results are written.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a, S> {
    pub(crate) out: Elements,
    /// The smallest and the largest result: codes, or the bits of two real numbers.
    pub(crate) bounds: [i32; 2],
    /// The elements. Row `r` of the tile starts at element `r·stride`.
    pub(crate) source: S,
    pub(crate) stride: usize,
    pub(crate) place: &'a OutputTile<'a>,
}

/// A job that computes the results of a tile with the kernel `K`.
pub(crate) struct TileJob<'a, S, K, const C: usize> {
    tile: Tile<'a, S>,
    kernel: &'a K,
    constants: &'a Constants<C>,
}

impl<'a, S: Source, K: Kernel<C, S::Lanes>, const C: usize> TileJob<'a, S, K, C> {
    pub(crate) fn new(tile: Tile<'a, S>, kernel: &'a K, constants: &'a Constants<C>) -> TileJob<'a, S, K, C> {
        TileJob {
            tile,
            kernel,
            constants,
        }
    }
}

impl<S: Source, K: Kernel<C, S::Lanes>, const C: usize> VectorJob for TileJob<'_, S, K, C> {
    #[inline(always)]
    unsafe fn run<V: I32s>(self) {
        let TileJob {
            tile:
                Tile {
                    out,
                    bounds,
                    source,
                    stride,
                    place,
                },
            kernel,
            constants,
        } = self;
        let OutputTile {
            rows,
            columns,
            row_stride,
            first_channel,
            axis,
            ..
        } = *place;
        // If consecutive rows have the same constants, they are treated as one long row.
        let across = axis == Axis::Columns && constants.channels().is_some();
        let alike =
            constants.channels().is_none() || across && constants.repeat() && constants.channels() == Some(columns);
        let (rows, columns) = if alike && stride == columns && row_stride == columns {
            (1, rows * columns)
        } else {
            (rows, columns)
        };
        if across && rows > 1 {
            // SAFETY: the caller upholds the safety contract of this method.
            return unsafe { self.by_columns::<V>() };
        }
        for row in 0..rows {
            let x = source.part(row * stride, columns);
            // SAFETY: tiles of different tasks do not overlap, and the borrow ends before the next row.
            let to = unsafe { place.bytes(out.bytes(), row, 0, columns) };
            // SAFETY: the caller upholds the safety contract of this method.
            unsafe {
                let bounds = out.bounds::<V>(bounds);
                if across {
                    let mut run = constants.from(first_channel);
                    line::<V, S, K, C>(kernel, x, out, to, bounds, || run.next());
                } else {
                    let splat = constants.splat(first_channel + row);
                    line::<V, S, K, C>(kernel, x, out, to, bounds, || splat);
                }
            }
        }
    }
}

impl<S: Source, K: Kernel<C, S::Lanes>, const C: usize> TileJob<'_, S, K, C> {
    /// Computes several rows of channels: up to four vectors of channels in all rows, then the next ones. So the constants
    /// of channels are loaded once for all rows.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn by_columns<V: I32s>(&self) {
        let Tile {
            out,
            bounds,
            source,
            stride,
            place,
        } = self.tile;
        let (block, width) = (4 * V::LANES, out.bytes());
        let mut constants = self.constants.from(place.first_channel);
        // SAFETY: loads stay inside of the source, because only elements that exist are loaded, and stores stay inside of
        // the bytes of each row. Tiles of different tasks do not overlap, and each borrow ends before the next row. The
        // caller guarantees the instruction set.
        unsafe {
            let bounds = out.bounds::<V>(bounds);
            let mut column = 0;
            while column < place.columns {
                let count = block.min(place.columns - column);
                let vectors = count.div_ceil(V::LANES);
                let mut of = [[V::splat(0); C]; 4];
                of.iter_mut().take(vectors).for_each(|of| *of = constants.next());
                if count == vectors * V::LANES {
                    match vectors {
                        1 => self.block::<V, 1>(column, &of, bounds),
                        2 => self.block::<V, 2>(column, &of, bounds),
                        3 => self.block::<V, 3>(column, &of, bounds),
                        _ => self.block::<V, 4>(column, &of, bounds),
                    }
                } else {
                    for row in 0..place.rows {
                        let x = source.part(row * stride + column, count);
                        let to = place.bytes(width, row, column, count).as_mut_ptr();
                        let mut four = [V::splat(0); 4];
                        for (i, results) in four.iter_mut().enumerate().take(vectors) {
                            let left = V::LANES.min(count - i * V::LANES);
                            *results = self.kernel.lanes(&of[i], x.load_first(i * V::LANES, left));
                        }
                        store_first(out, four, bounds, to, count * width);
                    }
                }
                column += count;
            }
        }
    }
}

impl<S: Source, K: Kernel<C, S::Lanes>, const C: usize> TileJob<'_, S, K, C> {
    /// Computes `N` whole vectors of channels, from a column on, in all rows. `of` has the constants of each vector.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn block<V: I32s, const N: usize>(&self, column: usize, of: &[[V; C]; 4], bounds: [V; 2]) {
        let Tile {
            out,
            source,
            stride,
            place,
            ..
        } = self.tile;
        let (count, width) = (N * V::LANES, out.bytes());
        // SAFETY: whole vectors of elements are loaded, which `part` has checked, and stores stay inside of the bytes of each
        // row. Tiles of different tasks do not overlap, and each borrow ends before the next row. The caller guarantees the
        // instruction set.
        unsafe {
            for row in 0..place.rows {
                let x = source.part(row * stride + column, count);
                let to = place.bytes(width, row, column, count).as_mut_ptr();
                let mut four = [V::splat(0); 4];
                for i in 0..N {
                    four[i] = self.kernel.lanes(&of[i], x.load(i * V::LANES));
                }
                match N {
                    4 => out.store(four, bounds, |i, elements| elements.store(to.add(i * 4 * V::LANES))),
                    _ => store_first(out, four, bounds, to, count * width),
                }
            }
        }
    }
}

/// Stores the first `bytes` bytes of four vectors of results.
///
/// # Safety
/// The bytes must be writable, and the machine must have the instruction set of the vectors `V`.
#[inline(always)]
pub(crate) unsafe fn store_first<V: I32s>(out: Elements, four: [V; 4], bounds: [V; 2], to: *mut u8, bytes: usize) {
    let vector = 4 * V::LANES;
    // SAFETY: only bytes that exist are stored. The caller guarantees the instruction set.
    unsafe {
        out.store(four, bounds, |i, elements| {
            let left = bytes.saturating_sub(i * vector).min(vector);
            elements.store_first(to.wrapping_add(i * vector), left);
        });
    }
}

/// Computes the results of a row, four vectors at a time. `constants` returns the constants of one vector after the
/// other.
///
/// # Safety
/// The machine must have the instruction set of the vectors `V`.
#[inline(always)]
unsafe fn line<V: I32s, S: Source, K: Kernel<C, S::Lanes>, const C: usize>(
    kernel: &K,
    x: S,
    out: Elements,
    to: &mut [u8],
    bounds: [V; 2],
    mut constants: impl FnMut() -> [V; C],
) {
    let block = 4 * V::LANES;
    let vector = 4 * V::LANES;
    let width = out.bytes();
    assert_eq!(to.len(), x.len() * width, "a row of results for a row of elements");
    // SAFETY: loads and stores stay inside of the slices. A full block lies inside of the slices. Of the last block,
    // which may be shorter, only the elements that exist are loaded and stored. The caller guarantees the instruction
    // set.
    unsafe {
        let (mut at, mut to) = (0, to.as_mut_ptr());
        for _ in 0..x.len() / block {
            let mut four = [V::splat(0); 4];
            for (i, results) in four.iter_mut().enumerate() {
                *results = kernel.lanes(&constants(), x.load(at + i * V::LANES));
            }
            out.store(four, bounds, |i, elements| elements.store(to.add(i * vector)));
            at += block;
            to = to.add(block * width);
        }
        let left = x.len() % block;
        if left > 0 {
            let part = |whole: usize, i: usize, size: usize| whole.saturating_sub(i * size).min(size);
            let mut four = [V::splat(0); 4];
            for (i, results) in four.iter_mut().enumerate() {
                let x = x.load_first(at + i * V::LANES, part(left, i, V::LANES));
                *results = kernel.lanes(&constants(), x);
            }
            out.store(four, bounds, |i, elements| {
                elements.store_first(to.wrapping_add(i * vector), part(left * width, i, vector));
            });
        }
    }
}
