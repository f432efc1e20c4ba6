//! The register tile of dense convolutions.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array of registers would move them to memory"
)]

use super::{BLOCK, COLUMNS, Line, PANEL, PANELS, Sums};
use crate::simd::{Dots, Job, Simd, prefetch};
#[cfg(target_arch = "x86_64")]
use {super::HALF, crate::simd::Avx512, std::arch::x86_64::*};

/// A register tile: some rows of a block, times some panels.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    /// The addresses of what the taps read, `[taps][BLOCK]`.
    pub(super) table: &'a [*const u8],
    /// The lines of each panel, one panel after the other.
    pub(super) lines: &'a [Line],
    /// Number of output channels of the tile.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only kernels for x86-64 read it")
    )]
    pub(super) outputs: usize,
    /// The lines of the only panel for groups of eight bytes, if there are any.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only kernels for x86-64 read it")
    )]
    pub(super) octets: &'a [Line],
    /// The numbers that the sums of the channels start from, beginning with those of the first panel.
    pub(super) starts: &'a [i32],
    /// Number of groups of four input channels.
    pub(super) groups: usize,
    pub(super) flip: u8,
    /// The first row.
    pub(super) row: usize,
    /// Where the lines start that will be read soon. For each line of a panel, one of them is brought nearer.
    pub(super) ahead: *const Line,
}

impl Tile<'_> {
    /// Computes the tile with `height` rows and `panels` panels, and stores its sums.
    ///
    /// # Safety
    /// The machine must have the instruction set `S`. The table must have rows from `row` to `row + height`, the lines must
    /// be those of `panels` panels, and each address in the table must be that of `4·groups` bytes that can be read.
    #[inline(always)]
    pub(super) unsafe fn call<S: Simd>(self, height: usize, panels: usize, sums: &mut Sums) {
        macro_rules! sizes {
            ($($height:literal)*) => {
                match (height, panels) {
                    $(
                        ($height, 1) => S::call(TileJob::<$height, 1>(self, sums)),
                        ($height, 2) => S::call(TileJob::<$height, 2>(self, sums)),
                        ($height, _) => S::call(TileJob::<$height, PANELS>(self, sums)),
                    )*
                    _ => {}
                }
            };
        }
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { sizes!(1 2 3 4 5 6 7 8) }
    }

    /// Computes the sums of `HEIGHT` rows and `WIDTH` panels.
    ///
    /// # Safety
    /// The same as for [`Tile::call`].
    #[inline(always)]
    pub(crate) unsafe fn sums<S: Simd, const HEIGHT: usize, const WIDTH: usize>(&self) -> [[S::Dots; WIDTH]; HEIGHT] {
        let &Tile {
            table,
            lines,
            starts,
            groups,
            flip,
            row,
            mut ahead,
            ..
        } = self;
        let depth = lines.len() / WIDTH;
        let (starts, _) = starts.as_chunks::<PANEL>();
        // SAFETY: the caller guarantees the instruction set.
        let mut sums = unsafe { [[S::Dots::new(0, &[0; PANEL]); WIDTH]; HEIGHT] };
        // Loops over indices, here and below: an iterator over an array of registers would move them to memory.
        for r in 0..HEIGHT {
            for p in 0..WIDTH {
                // SAFETY: the caller guarantees the instruction set.
                sums[r][p] = unsafe { S::Dots::new(0, &starts[p]) };
            }
        }
        for (tap, addresses) in table.chunks_exact(BLOCK).enumerate() {
            let mut rows = [std::ptr::null(); HEIGHT];
            rows.copy_from_slice(&addresses[row..row + HEIGHT]);
            let mut panels: [&[Line]; WIDTH] = [&[]; WIDTH];
            for (p, panel) in panels.iter_mut().enumerate() {
                *panel = &lines[p * depth + tap * groups..][..groups];
            }
            for g in 0..groups {
                prefetch(ahead);
                ahead = ahead.wrapping_add(1);
                // SAFETY: each address is that of `4·groups` bytes, and each panel has `groups` lines. The caller guarantees
                // the instruction set.
                unsafe {
                    for r in 0..HEIGHT {
                        let four = rows[r].add(4 * g).cast::<[u8; 4]>().read_unaligned();
                        for p in 0..WIDTH {
                            let line = &panels[p].get_unchecked(g).0;
                            sums[r][p] = sums[r][p].add_codes(line, four, flip);
                        }
                    }
                }
            }
        }
        sums
    }
}

#[cfg(target_arch = "x86_64")]
impl Tile<'_> {
    /// Computes the sums of `HEIGHT` rows and `WIDTH` panels on AVX-512.
    ///
    /// # Safety
    /// The same as for [`Tile::call`]. The machine must have AVX-512 with VNNI.
    #[inline(always)]
    pub(crate) unsafe fn vectors<const HEIGHT: usize, const WIDTH: usize>(&self) -> [[__m512i; WIDTH]; HEIGHT] {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let mut vectors = [[_mm512_setzero_si512(); WIDTH]; HEIGHT];
            if WIDTH == 1 && !self.octets.is_empty() {
                // The second half of a panel may have no channel.
                let sums = match (self.outputs > HALF, self.flip) {
                    (true, 0) => self.by_eights::<HEIGHT, 2, false>(),
                    (true, _) => self.by_eights::<HEIGHT, 2, true>(),
                    (false, 0) => self.by_eights::<HEIGHT, 1, false>(),
                    (false, _) => self.by_eights::<HEIGHT, 1, true>(),
                };
                for r in 0..HEIGHT {
                    vectors[r][0] = sums[r];
                }
                return vectors;
            }
            let sums = self.sums::<Avx512, HEIGHT, WIDTH>();
            for r in 0..HEIGHT {
                for p in 0..WIDTH {
                    vectors[r][p] = sums[r][p].0;
                }
            }
            vectors
        }
    }

    /// Computes the sums of `HEIGHT` rows and `HALVES` halves of the only panel. A load of eight bytes serves two products, where
    /// a load of four serves one. With one panel, there are so few products for each load that this matters. If `FLIP` is
    /// false, the elements are unsigned bytes already.
    ///
    /// # Safety
    /// As for [`Tile::vectors`].
    #[inline(always)]
    unsafe fn by_eights<const HEIGHT: usize, const HALVES: usize, const FLIP: bool>(&self) -> [__m512i; HEIGHT] {
        let pairs = self.groups.div_ceil(2);
        // SAFETY: each address is that of `4·groups` bytes, and `HALVES` lines are packed for each pair of groups. The caller
        // guarantees the instruction set.
        unsafe {
            let flip = _mm512_set1_epi8(self.flip.cast_signed());
            let unsigned = |codes| if FLIP { _mm512_add_epi8(codes, flip) } else { codes };
            let starts = _mm512_loadu_si512(self.starts[..PANEL].as_ptr().cast());
            let mut sums = [[_mm512_setzero_si512(); HALVES]; HEIGHT];
            if HALVES == 2 {
                for r in 0..HEIGHT {
                    sums[r][0] = starts;
                }
            }
            for (tap, addresses) in self.table.chunks_exact(BLOCK).enumerate() {
                let mut rows = [std::ptr::null(); HEIGHT];
                rows.copy_from_slice(&addresses[self.row..self.row + HEIGHT]);
                let lines = self.octets[HALVES * tap * pairs..][..HALVES * pairs].as_ptr();
                let halves = |pair: usize| {
                    let mut lines_of = [_mm512_setzero_si512(); HALVES];
                    for h in 0..HALVES {
                        lines_of[h] = _mm512_loadu_si512(lines.add(HALVES * pair + h).cast());
                    }
                    lines_of
                };
                for g in 0..self.groups / 2 {
                    let lines = halves(g);
                    for r in 0..HEIGHT {
                        let eight = rows[r].add(8 * g).cast::<i64>().read_unaligned();
                        let eight = unsigned(_mm512_set1_epi64(eight));
                        for h in 0..HALVES {
                            sums[r][h] = _mm512_dpbusd_epi32(sums[r][h], eight, lines[h]);
                        }
                    }
                }
                if !self.groups.is_multiple_of(2) {
                    let line = halves(pairs - 1)[0];
                    for r in 0..HEIGHT {
                        let four = rows[r].add(8 * (pairs - 1)).cast::<i32>().read_unaligned();
                        let four = unsigned(_mm512_set1_epi32(four));
                        sums[r][0] = _mm512_dpbusd_epi32(sums[r][0], four, line);
                    }
                }
            }
            let mut results = [starts; HEIGHT];
            for r in 0..HEIGHT {
                results[r] = match sums[r][..] {
                    // The other part of a sum is in the neighbouring lane.
                    [front, back] => _mm512_add_epi32(front, _mm512_shuffle_epi32::<0b10_11_00_01>(back)),
                    [front, ..] => {
                        let back = _mm512_srli_epi64::<32>(front);
                        let sum = _mm512_cvtepi64_epi32(_mm512_add_epi32(front, back));
                        _mm512_add_epi32(starts, _mm512_zextsi256_si512(sum))
                    }
                    [] => starts,
                };
            }
            results
        }
    }
}

/// A job that computes a register tile of `HEIGHT` rows times `WIDTH` panels and stores its sums. Only [`Tile::call`] makes
/// such jobs.
struct TileJob<'a, const HEIGHT: usize, const WIDTH: usize>(Tile<'a>, &'a mut Sums);

impl<const HEIGHT: usize, const WIDTH: usize> Job for TileJob<'_, HEIGHT, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let TileJob(tile, to) = self;
        // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`. Whoever made the job upholds the
        // rest of the safety contract.
        let sums = unsafe { tile.sums::<S, HEIGHT, WIDTH>() };
        for r in 0..HEIGHT {
            let (columns, _) = to.0[(tile.row + r) * COLUMNS..][..COLUMNS].as_chunks_mut::<PANEL>();
            for p in 0..WIDTH {
                columns[p] = sums[r][p].to_array();
            }
        }
    }
}
