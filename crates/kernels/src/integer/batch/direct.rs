//! Requantizes the sums of convolutions in the registers in which they were computed.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array of registers would move them to memory"
)]

use super::{Constants, Kernel, Prepared, Tile, TileJob};
use crate::context::Context;
use crate::integer::{
    channels_last::{DenseTile, Line, Piece},
    output_tile::OutputTile,
};
use std::sync::Arc;
use strait_requantize::IntType;
#[cfg(target_arch = "x86_64")]
use {
    super::{Elements, constants::WIDEST},
    crate::integer::channels_last::{End, depthwise_sums},
    crate::simd::I32s,
    std::arch::x86_64::*,
};

/// A kernel that requantizes sums in registers, with the bounds of the results. The results are codes of 8 bits.
#[derive(Clone, Copy)]
pub struct Codes<'a> {
    pub(crate) kernel: &'a dyn Direct,
    pub(crate) out: IntType,
    pub(crate) bounds: [i32; 2],
}

impl Codes<'_> {
    /// Computes a register tile of a dense convolution, with `[rows, panels]`, and writes its codes. There are at least four
    /// rows.
    ///
    /// # Safety
    /// The machine must have AVX-512 with VNNI and the tile must be legal, as `Tile::sums` says. No other borrow of the
    /// results may be alive.
    pub(crate) unsafe fn dense(&self, tile: &DenseTile<'_>, size: [usize; 2], place: &OutputTile<'_>) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.kernel.dense(tile, size, self, place) }
    }

    /// Computes a piece of a depthwise convolution and writes its codes. There is a place for each row of the piece.
    ///
    /// # Safety
    /// The machine must have AVX-512 with VNNI. No other borrow of the results may be alive.
    pub(crate) unsafe fn depthwise(&self, piece: &Piece<'_>, scratch: &mut Vec<Line>, places: [OutputTile<'_>; 2]) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.kernel.depthwise(piece, scratch, self, places) }
    }
}

/// Calls a method that has the numbers of rows and of panels of a register tile as constants, for the size `[rows, panels]`.
#[cfg(target_arch = "x86_64")]
macro_rules! for_size {
    ($size:expr, $self:ident.$method:ident $arguments:tt) => {
        for_size!($size, $self.$method $arguments, 4 5 6 7 8)
    };
    ($size:expr, $self:ident.$method:ident $arguments:tt, $($height:literal)*) => {
        match $size {
            $(
                [$height, 1] => $self.$method::<$height, 1> $arguments,
                [$height, 2] => $self.$method::<$height, 2> $arguments,
                [$height, _] => $self.$method::<$height, 3> $arguments,
            )*
            _ => {}
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use for_size;

/// A kernel that requantizes sums in the registers in which they are computed.
pub(crate) trait Direct: Send + Sync {
    /// See [`Codes::dense`].
    ///
    /// # Safety
    /// As for [`Codes::dense`].
    unsafe fn dense(&self, tile: &DenseTile<'_>, size: [usize; 2], codes: &Codes<'_>, place: &OutputTile<'_>);

    /// See [`Codes::depthwise`].
    ///
    /// # Safety
    /// As for [`Codes::depthwise`].
    unsafe fn depthwise(
        &self,
        piece: &Piece<'_>,
        scratch: &mut Vec<Line>,
        codes: &Codes<'_>,
        places: [OutputTile<'_>; 2],
    );
}

/// A kernel with the constants of all channels, which is also compiled for sums in registers.
struct InTile<K, const C: usize> {
    kernel: K,
    constants: Constants<C>,
}

/// Combines a kernel with the constants of all channels, and compiles it for sums in registers, too. If `tensor` is true,
/// one set of constants is used for all channels.
pub(super) fn direct<K: Kernel<C> + Send + Sync + 'static, const C: usize>(
    kernel: K,
    values: &[[i32; C]],
    tensor: bool,
) -> Arc<dyn Prepared> {
    let constants = Constants::new(values, tensor);
    Arc::new(InTile { kernel, constants })
}

impl<K: Kernel<C> + Send + Sync, const C: usize> Prepared for InTile<K, C> {
    fn run(&self, cx: Context, tile: Tile<'_, &[i32]>) -> bool {
        cx.run_on_vectors(TileJob::new(tile, &self.kernel, &self.constants))
    }

    #[cfg(target_arch = "x86_64")]
    fn direct(&self, _: [i32; 2]) -> Option<&dyn Direct> {
        Some(self)
    }
}

#[cfg(target_arch = "x86_64")]
impl<K: Kernel<C> + Send + Sync, const C: usize> Direct for InTile<K, C> {
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
        unsafe {
            match codes.out {
                IntType::I8 | IntType::I4 => self.piece::<true>(piece, scratch, codes, places),
                _ => self.piece::<false>(piece, scratch, codes, places),
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl<K: Kernel<C>, const C: usize> InTile<K, C> {
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
        // SAFETY: the caller guarantees the instruction set and that the tile is legal, and that nothing else borrows the
        // results. Stores stay inside of the bytes of each row.
        unsafe {
            let sums = tile.vectors::<HEIGHT, WIDTH>();
            let mut of = [[_mm512_setzero_si512(); C]; WIDTH];
            for p in 0..WIDTH {
                of[p] = self.constants.at(place.first_channel + WIDEST * p);
            }
            let [low, high] = Elements::Codes(codes.out).bounds::<__m512i>(codes.bounds);
            // The rows are spelled out: the compiler would leave a loop as it is, and move the sums to memory.
            macro_rules! store {
                ($pack:ident, $clamp:ident, $($r:literal)*) => {{
                    $(if $r < HEIGHT {
                        let mut four = [_mm512_setzero_si512(); 4];
                        for p in 0..WIDTH {
                            four[p] = self.kernel.lanes(&of[p], sums[$r][p]);
                        }
                        let to = place.bytes(1, $r, 0, place.columns);
                        let results = __m512i::$pack(four).$clamp(low, high);
                        results.store_first(to.as_mut_ptr(), to.len());
                    })*
                }};
            }
            // Four rows of one panel fill a vector of bytes.
            macro_rules! store_four {
                ($pack:ident, $clamp:ident, $($a:literal $b:literal $c:literal $d:literal,)*) => {{
                    $(if $a < HEIGHT {
                        let mut four = [_mm512_setzero_si512(); 4];
                        four[0] = self.kernel.lanes(&of[0], sums[$a][0]);
                        if $b < HEIGHT {
                            four[1] = self.kernel.lanes(&of[0], sums[$b][0]);
                        }
                        if $c < HEIGHT {
                            four[2] = self.kernel.lanes(&of[0], sums[$c][0]);
                        }
                        if $d < HEIGHT {
                            four[3] = self.kernel.lanes(&of[0], sums[$d][0]);
                        }
                        store_rows(__m512i::$pack(four).$clamp(low, high), place, $a, 4.min(HEIGHT - $a));
                    })*
                }};
            }
            match codes.out {
                IntType::I8 | IntType::I4 if WIDTH == 1 => store_four!(to_i8, clamp_i8, 0 1 2 3, 4 5 6 7,),
                _ if WIDTH == 1 => store_four!(to_u8, clamp_u8, 0 1 2 3, 4 5 6 7,),
                IntType::I8 | IntType::I4 => store!(to_i8, clamp_i8, 0 1 2 3 4 5 6 7),
                _ => store!(to_u8, clamp_u8, 0 1 2 3 4 5 6 7),
            }
        }
    }

    /// Computes a piece of a depthwise convolution, whose codes are signed or not.
    ///
    /// # Safety
    /// As for [`Codes::depthwise`].
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    unsafe fn piece<const SIGNED: bool>(
        &self,
        piece: &Piece<'_>,
        scratch: &mut Vec<Line>,
        codes: &Codes<'_>,
        places: [OutputTile<'_>; 2],
    ) {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let mut end = Write::<'_, K, C, SIGNED> {
                kernel: &self.kernel,
                of: [[_mm512_setzero_si512(); C]; 4],
                bounds: Elements::Codes(codes.out).bounds(codes.bounds),
                places,
            };
            for (v, of) in end.of.iter_mut().enumerate().take(places[0].columns.div_ceil(WIDEST)) {
                *of = self.constants.at(places[0].first_channel + WIDEST * v);
            }
            depthwise_sums(piece, scratch, &mut end);
        }
    }
}

/// Stores up to four rows of at most sixteen bytes from `row` on: a quarter of the vector each.
///
/// # Safety
/// The machine must have AVX-512, and nothing else may borrow the results.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn store_rows(four: __m512i, place: &OutputTile<'_>, row: usize, rows: usize) {
    // SAFETY: only bytes of the rows are stored. The caller upholds the rest of this function's safety contract.
    unsafe {
        if place.columns == WIDEST && place.row_stride == WIDEST {
            let to = place.bytes(1, row, 0, rows * WIDEST);
            four.store_first(to.as_mut_ptr(), to.len());
            return;
        }
        macro_rules! quarters {
            ($($i:literal)*) => {
                $(if $i < rows {
                    let to = place.bytes(1, row + $i, 0, place.columns.min(WIDEST));
                    let mask = (1_u32 << to.len()) - 1;
                    _mm_mask_storeu_epi8(to.as_mut_ptr().cast(), mask as u16, _mm512_extracti32x4_epi32::<$i>(four));
                })*
            };
        }
        quarters!(0 1 2 3);
    }
}

/// Requantizes the sums of a depthwise convolution and writes their codes.
#[cfg(target_arch = "x86_64")]
struct Write<'a, K, const C: usize, const SIGNED: bool> {
    kernel: &'a K,
    /// The constants of each vector of channels.
    of: [[__m512i; C]; 4],
    bounds: [__m512i; 2],
    places: [OutputTile<'a>; 2],
}

#[cfg(target_arch = "x86_64")]
impl<K: Kernel<C>, const C: usize, const SIGNED: bool> End for Write<'_, K, C, SIGNED> {
    #[inline(always)]
    unsafe fn take<const V: usize>(&mut self, row: usize, x: usize, sums: [__m512i; V]) {
        // SAFETY: stores stay inside of the bytes of a position. The caller guarantees the instruction set, and that nothing
        // else borrows the results.
        unsafe {
            let mut four = [_mm512_setzero_si512(); 4];
            for v in 0..V {
                four[v] = self.kernel.lanes(&self.of[v], sums[v]);
            }
            let [low, high] = self.bounds;
            let results = match SIGNED {
                true => __m512i::to_i8(four).clamp_i8(low, high),
                false => __m512i::to_u8(four).clamp_u8(low, high),
            };
            let place = &self.places[row];
            let to = place.bytes(1, x, 0, place.columns);
            match to.first_chunk_mut::<64>() {
                Some(to) if V == 4 => results.store(to.as_mut_ptr()),
                _ => results.store_first(to.as_mut_ptr(), to.len()),
            }
        }
    }
}
