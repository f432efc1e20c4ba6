//! Chains in the registers in which the sums of convolutions were computed, on AVX-512.
//!
//! Some results are computed from approximations. Vectors with a result that may differ from the definition are remembered,
//! and these results are computed once more, as they are defined, when the tile is complete. So no registers have to be saved
//! in the middle of it.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array of registers would move them to memory"
)]

use super::ends::{Ends, Plain, SiluReals};
use super::silu_of_sums::SiluOfSums;
use super::{Activation, ChainSlice, FloatChain};
use crate::integer::{
    OutputTile,
    batch::{Codes, Direct, Elements, for_size, store_rows},
    channels_last::{DenseTile, End, Line, Piece, depthwise_sums},
};
use crate::mixed::CodeSlice;
use crate::simd::I32s;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use strait_requantize::IntType;

/// Number of lanes of a vector.
const LANES: usize = 16;
/// The largest number of vectors in a row of a tile.
const VECTORS: usize = 4;

/// The kernel for a chain whose only operand are accumulators, if there is one.
pub(super) fn direct(chain: &FloatChain) -> Option<Box<dyn Direct>> {
    let [Some(grids)] = &chain.operands[..] else {
        return None;
    };
    let constants = grids.vectors.clone();
    Some(match (chain.activation, &chain.narrowing) {
        (Activation::Silu, None) => boxed(chain, SiluReals(constants)),
        (Activation::Silu, Some(_)) => boxed(chain, SiluOfSums::new(chain)?),
        (activation, None) => boxed(
            chain,
            Plain::<true> {
                constants,
                activation,
                narrowing: None,
            },
        ),
        (activation, Some(narrowing)) if narrowing.elements().bytes() == 1 => boxed(
            chain,
            Plain::<false> {
                constants,
                activation,
                narrowing: Some(*narrowing),
            },
        ),
        _ => return None,
    })
}

fn boxed<K: Ends<C> + 'static, const C: usize>(chain: &FloatChain, ends: K) -> Box<dyn Direct> {
    Box::new(InChain {
        ends,
        chain: chain.clone(),
    })
}

struct InChain<K, const C: usize> {
    ends: K,
    /// The definition.
    chain: FloatChain,
}

/// A row of vectors with results that are not certain.
#[derive(Clone, Copy)]
struct Doubt {
    /// The place of the row: the index of a tile, and the row in the tile.
    tile: usize,
    row: usize,
    lanes: [u16; VECTORS],
    sums: [__m512i; VECTORS],
}

/// The rows that have to be computed once more.
struct Doubts<const N: usize> {
    count: usize,
    rows: [MaybeUninit<Doubt>; N],
}

impl<const N: usize> Doubts<N> {
    fn new() -> Doubts<N> {
        Doubts {
            count: 0,
            rows: [const { MaybeUninit::uninit() }; N],
        }
    }

    #[inline(always)]
    fn push(&mut self, doubt: Doubt) {
        if let Some(to) = self.rows.get_mut(self.count) {
            to.write(doubt);
            self.count += 1;
        }
    }

    /// Computes the results that are not certain as they are defined. `tiles` has the place of each tile.
    #[cold]
    #[inline(never)]
    fn settle(&self, chain: &FloatChain, tiles: &[OutputTile<'_>]) {
        let width = chain.elements().bytes();
        for doubt in &self.rows[..self.count] {
            // SAFETY: as many rows were written as are counted. Both types have the same bytes. Nothing else borrows the
            // results, as the caller of the kernel guarantees.
            unsafe {
                let doubt = doubt.assume_init_ref();
                let sums: [[i32; LANES]; VECTORS] = std::mem::transmute(doubt.sums);
                let place = &tiles[doubt.tile];
                for column in 0..place.columns {
                    if doubt.lanes[column / LANES] >> (column % LANES) & 1 == 1 {
                        let sum = [sums[column / LANES][column % LANES]];
                        let to = place.bytes(width, doubt.row, column, 1);
                        let operand = ChainSlice::Codes(CodeSlice::I32(&sum));
                        chain.define(operand, place.first_channel + column, to);
                    }
                }
            }
        }
    }
}

/// Computes and writes the results of a row of vectors. Returns the lanes that are not certain.
///
/// # Safety
/// The machine must have AVX-512, and nothing else may borrow the bytes of the row, of which there are at most as many as the
/// vectors have.
#[inline(always)]
unsafe fn finish<K: Ends<C>, const C: usize, const W: usize>(
    ends: &K,
    of: &[[__m512i; C]],
    sums: [__m512i; W],
    out: (Elements, [__m512i; 2]),
    to: &mut [u8],
) -> [u16; VECTORS] {
    // SAFETY: only bytes of the row are stored. The caller guarantees the instruction set.
    unsafe {
        let mut lanes = [0; VECTORS];
        let mut four = [_mm512_setzero_si512(); VECTORS];
        for p in 0..W {
            (four[p], lanes[p]) = ends.lanes(&of[p], sums[p]);
        }
        if K::REALS {
            for p in 0..W {
                let left = to.len().saturating_sub(64 * p).min(64);
                four[p].store_first(to.as_mut_ptr().wrapping_add(64 * p), left);
            }
            return lanes;
        }
        packed(four, out).store_first(to.as_mut_ptr(), to.len().min(64));
        lanes
    }
}

/// Saturates four vectors of codes to bytes.
///
/// # Safety
/// The machine must have AVX-512.
#[inline(always)]
unsafe fn packed(four: [__m512i; VECTORS], (out, [low, high]): (Elements, [__m512i; 2])) -> __m512i {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        match out {
            Elements::Codes(IntType::I8 | IntType::I4) => __m512i::to_i8(four).clamp_i8(low, high),
            _ => __m512i::to_u8(four).clamp_u8(low, high),
        }
    }
}

impl<K: Ends<C>, const C: usize> Direct for InChain<K, C> {
    unsafe fn dense(&self, tile: &DenseTile<'_>, size: [usize; 2], codes: &Codes<'_>, place: &OutputTile<'_>) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { for_size!(size, self.tile(tile, codes, place)) }
    }

    unsafe fn depthwise(
        &self,
        piece: &Piece<'_>,
        scratch: &mut Vec<Line>,
        codes: &Codes<'_>,
        places: [OutputTile<'_>; 2],
    ) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.piece(piece, scratch, codes, places) }
    }
}

impl<K: Ends<C>, const C: usize> InChain<K, C> {
    /// Computes a register tile of `HEIGHT` rows and `WIDTH` panels.
    ///
    /// # Safety
    /// As for [`Codes::dense`].
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    unsafe fn tile<const HEIGHT: usize, const WIDTH: usize>(
        &self,
        tile: &DenseTile<'_>,
        codes: &Codes<'_>,
        place: &OutputTile<'_>,
    ) {
        let mut doubts = Doubts::<8>::new();
        let out = self.chain.elements();
        // SAFETY: the caller guarantees the instruction set and that the tile is legal, and that nothing else borrows the
        // results.
        unsafe {
            let sums = tile.vectors::<HEIGHT, WIDTH>();
            let mut of = [[_mm512_setzero_si512(); C]; WIDTH];
            for p in 0..WIDTH {
                of[p] = self.ends.constants().at(place.first_channel + LANES * p);
            }
            let out = (out, out.bounds(codes.bounds));
            // The rows are spelled out: the compiler would leave a loop as it is, and move the sums to memory.
            macro_rules! rows {
                ($($r:literal)*) => {
                    $(if $r < HEIGHT {
                        let mut row = [_mm512_setzero_si512(); WIDTH];
                        for p in 0..WIDTH {
                            row[p] = sums[$r][p];
                        }
                        let to = place.bytes(out.0.bytes(), $r, 0, place.columns);
                        let lanes = finish(&self.ends, &of, row, out, to);
                        if any(lanes) {
                            doubts.push(doubt(0, $r, lanes, row));
                        }
                    })*
                };
            }
            // Four rows of one panel fill a vector of bytes.
            macro_rules! four_rows {
                ($($first:literal: $($r:literal)*,)*) => {
                    $(if $first < HEIGHT {
                        let mut four = [_mm512_setzero_si512(); VECTORS];
                        $(if $r < HEIGHT {
                            let (results, lanes) = self.ends.lanes(&of[0], sums[$r][0]);
                            four[$r - $first] = results;
                            if lanes != 0 {
                                doubts.push(doubt(0, $r, [lanes, 0, 0, 0], [sums[$r][0]]));
                            }
                        })*
                        store_rows(packed(four, out), place, $first, 4.min(HEIGHT - $first));
                    })*
                };
            }
            match WIDTH {
                1 if !K::REALS => {
                    four_rows!(0: 0 1 2 3, 4: 4 5 6 7,);
                }
                _ => {
                    rows!(0 1 2 3 4 5 6 7);
                }
            }
        }
        if doubts.count > 0 {
            doubts.settle(&self.chain, &[*place]);
        }
    }

    /// Computes a piece of a depthwise convolution.
    ///
    /// # Safety
    /// As for [`Codes::depthwise`].
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    unsafe fn piece(&self, piece: &Piece<'_>, scratch: &mut Vec<Line>, codes: &Codes<'_>, places: [OutputTile<'_>; 2]) {
        let out = self.chain.elements();
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let mut write = Write {
                ends: &self.ends,
                of: [[_mm512_setzero_si512(); C]; VECTORS],
                out: (out, out.bounds(codes.bounds)),
                places,
                doubts: Doubts::new(),
            };
            for (v, of) in write.of.iter_mut().enumerate().take(places[0].columns.div_ceil(LANES)) {
                *of = self.ends.constants().at(places[0].first_channel + LANES * v);
            }
            depthwise_sums(piece, scratch, &mut write);
            if write.doubts.count > 0 {
                write.doubts.settle(&self.chain, &places);
            }
        }
    }
}

/// True if a lane is set.
#[inline(always)]
fn any([a, b, c, d]: [u16; VECTORS]) -> bool {
    a | b | c | d != 0
}

/// The description of a row with results that are not certain.
#[inline(always)]
fn doubt<const W: usize>(tile: usize, row: usize, lanes: [u16; VECTORS], of: [__m512i; W]) -> Doubt {
    // SAFETY: zeros are valid vectors.
    let mut sums: [__m512i; VECTORS] = unsafe { std::mem::zeroed() };
    sums[..W].copy_from_slice(&of);
    Doubt { tile, row, lanes, sums }
}

/// Writes the results of a depthwise convolution.
struct Write<'a, K, const C: usize> {
    ends: &'a K,
    /// The constants of each vector of channels.
    of: [[__m512i; C]; VECTORS],
    out: (Elements, [__m512i; 2]),
    places: [OutputTile<'a>; 2],
    /// There is room for all positions of a piece.
    doubts: Doubts<64>,
}

impl<K: Ends<C>, const C: usize> End for Write<'_, K, C> {
    #[inline(always)]
    unsafe fn take<const V: usize>(&mut self, row: usize, x: usize, sums: [__m512i; V]) {
        let place = &self.places[row];
        // SAFETY: the caller guarantees the instruction set, and that nothing else borrows the results.
        unsafe {
            let to = place.bytes(self.out.0.bytes(), x, 0, place.columns);
            let lanes = finish(self.ends, &self.of, sums, self.out, to);
            if any(lanes) {
                self.doubts.push(doubt(row, x, lanes, sums));
            }
        }
    }
}
