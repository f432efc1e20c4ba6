//! For each instruction set, the few vector operations that the compiler does not use by itself.

#[cfg(target_arch = "x86_64")]
mod affine;
mod affine_words;
mod byte_tables;
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only x86-64 has vectors so far")
)]
mod i32s;
#[cfg(target_arch = "x86_64")]
mod intrinsics;
mod job;
mod nibbles;
#[cfg(target_arch = "x86_64")]
mod permuted;
mod prefetch;

use crate::isa::Isa;
pub(crate) use affine_words::{AffineWords, LOW_BITS};
pub(crate) use byte_tables::ByteTables;
pub(crate) use i32s::I32s;
pub(crate) use job::Job;
#[cfg(target_arch = "x86_64")]
pub(crate) use job::{with_avx2, with_avx512};
pub(crate) use nibbles::{LOWER, MAGIC, Nibbles};
pub(crate) use prefetch::prefetch;
#[cfg(target_arch = "x86_64")]
pub(crate) use {
    affine::affine_sums,
    i32s::silu,
    permuted::{permuted, permuted_sums, shuffled},
    prefetch::in_order,
};

/// An instruction set that a [`Job`] is compiled for.
pub(crate) trait Simd {
    /// The instruction set that this type stands for.
    const ISA: Isa;
    /// The instruction set's vectors of f32.
    type F32s: Nibbles;
    /// Sixteen accumulators of dot products. A dot product is of four bytes or of two 16-bit words.
    type Dots: Dots;

    /// Runs a part of a job by a function call. The part is compiled once and not inlined in each caller, so it should
    /// be large enough to be worth a function call.
    ///
    /// # Safety
    /// The machine must have the instruction set. This is so if the calling code is compiled for the same instruction
    /// set.
    unsafe fn call<J: Job>(job: J) -> J::Output;
}

/// A vector of f32 with a fused multiply-add. On every instruction set, each lane computes `f32::mul_add`.
pub(crate) trait F32s: Copy {
    /// Number of lanes of the vector.
    const LANES: usize;
    /// Number of rows of a GEMM tile. It is the largest number whose accumulators (two vectors a row) fit in registers.
    const ROWS: usize;
    /// A vector whose lanes are all `x`.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn splat(x: f32) -> Self;
    /// Loads `LANES` elements.
    ///
    /// # Safety
    /// `LANES` elements must be readable at `from`, and the machine must have the instruction set.
    unsafe fn load(from: *const f32) -> Self;
    /// Stores `LANES` elements.
    ///
    /// # Safety
    /// `LANES` elements must be writable at `to`, and the machine must have the instruction set.
    unsafe fn store(self, to: *mut f32);
    /// `self + x·y` in every lane, rounded once.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn add_product(self, x: f32, y: Self) -> Self;
}

/// Sixteen i32 accumulators of dot products. There are dot products of bytes and of words. In a product of bytes, each
/// operand has four bytes; one operand is unsigned and the other signed. In a product of words, each operand has two
/// signed 16-bit words. Sums wrap as i32 does.
pub(crate) trait Dots: Copy {
    /// Number of rows that the largest register tile has.
    const ROWS: usize;
    /// True if register tiles of three panels are faster than narrower ones.
    const WIDE: bool;
    /// Makes sixteen accumulators. Lane `l` starts from `start + columns[l]`.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn new(start: i32, columns: &[i32; 16]) -> Self;
    /// The values of the accumulators.
    fn to_array(self) -> [i32; 16];
    /// Adds `Σⱼ panel[4·l + j] · four[j]` to lane `l`. The panel is the unsigned operand if `PANEL_UNSIGNED` is true,
    /// otherwise `four` is.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn add_dots<const PANEL_UNSIGNED: bool>(self, panel: &[u8; 64], four: [u8; 4]) -> Self;
    /// Like `add_dots` with four codes, of which each byte XOR `flip` (0 or 0x80) is an unsigned number.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    #[inline(always)]
    unsafe fn add_codes(self, panel: &[u8; 64], four: [u8; 4], flip: u8) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { self.add_dots::<false>(panel, four.map(|byte| byte ^ flip)) }
    }
    /// Adds a dot product to lane `l`: the two 16-bit words in `panel` from byte `4·l` on times the two words in `two`.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn add_words(self, panel: &[u8; 64], two: [u8; 4]) -> Self;
    /// Adds `weight·bytes[l]` to lane `l`. The bytes are signed if `SIGNED` is true.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn add_scaled<const SIGNED: bool>(self, bytes: &[u8; 16], weight: i32) -> Self;
    /// Adds `weight·words[l]` to lane `l`.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn add_scaled_words(self, words: &[i16; 16], weight: i32) -> Self;
}

/// Only instructions that, as the compiler assumes, every machine has.
pub(crate) struct Scalar;
impl Simd for Scalar {
    const ISA: Isa = Isa::Scalar;
    type F32s = [f32; 8];
    type Dots = [i32; 16];

    #[inline(always)]
    unsafe fn call<J: Job>(job: J) -> J::Output {
        job.run::<Scalar>()
    }
}

impl F32s for [f32; 8] {
    const LANES: usize = 8;
    const ROWS: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        [x; 8]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller guarantees that the elements are readable, and an array of f32 has the same alignment as
        // f32.
        unsafe { *from.cast::<[f32; 8]>() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller guarantees that the elements are writable, and an array of f32 has the same alignment as
        // f32.
        unsafe { *to.cast::<[f32; 8]>() = self }
    }

    #[inline(always)]
    unsafe fn add_product(self, x: f32, y: Self) -> Self {
        let mut sums = self;
        for (sum, &y) in sums.iter_mut().zip(&y) {
            *sum = x.mul_add(y, *sum);
        }
        sums
    }
}

impl Dots for [i32; 16] {
    // The compiler keeps the accumulators of one row in vector registers, but not those of several rows.
    const ROWS: usize = 1;
    const WIDE: bool = false;

    #[inline(always)]
    unsafe fn new(start: i32, columns: &[i32; 16]) -> Self {
        let mut sums = *columns;
        for sum in &mut sums {
            *sum = sum.wrapping_add(start);
        }
        sums
    }

    #[inline(always)]
    fn to_array(self) -> [i32; 16] {
        self
    }

    #[inline(always)]
    unsafe fn add_dots<const PANEL_UNSIGNED: bool>(self, panel: &[u8; 64], four: [u8; 4]) -> Self {
        let widen = |byte: u8, unsigned: bool| {
            if unsigned {
                i32::from(byte)
            } else {
                i32::from(byte.cast_signed())
            }
        };
        let mut sums = self;
        for (sum, column) in sums.iter_mut().zip(panel.chunks_exact(4)) {
            for (&p, &f) in column.iter().zip(&four) {
                *sum = sum.wrapping_add(widen(p, PANEL_UNSIGNED) * widen(f, !PANEL_UNSIGNED));
            }
        }
        sums
    }

    #[inline(always)]
    unsafe fn add_words(self, panel: &[u8; 64], two: [u8; 4]) -> Self {
        let widen = |[a, b, c, d]: [u8; 4]| [[a, b], [c, d]].map(|word| i32::from(i16::from_ne_bytes(word)));
        let [f, g] = widen(two);
        let mut sums = self;
        for (sum, &column) in sums.iter_mut().zip(panel.as_chunks::<4>().0) {
            let [p, q] = widen(column);
            *sum = sum.wrapping_add(p * f).wrapping_add(q * g);
        }
        sums
    }

    #[inline(always)]
    unsafe fn add_scaled_words(self, words: &[i16; 16], weight: i32) -> Self {
        let mut sums = self;
        for (sum, &word) in sums.iter_mut().zip(words) {
            *sum = sum.wrapping_add(weight.wrapping_mul(word.into()));
        }
        sums
    }

    #[inline(always)]
    unsafe fn add_scaled<const SIGNED: bool>(self, bytes: &[u8; 16], weight: i32) -> Self {
        let mut sums = self;
        for (sum, &byte) in sums.iter_mut().zip(bytes) {
            let byte = if SIGNED {
                i32::from(byte.cast_signed())
            } else {
                i32::from(byte)
            };
            *sum = sum.wrapping_add(weight.wrapping_mul(byte));
        }
        sums
    }
}

/// Interleaves four lines of sixteen bytes. Byte `4·l + j` of the result is byte `l` of line `j`, XOR `flip`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn interleave(lines: &[[u8; 16]; 4], flip: u8) -> [u8; 64] {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86-64. The loads read whole arrays. The last step converts between types of 64 bytes,
    // and every bit pattern is valid for both.
    unsafe {
        let flip = _mm_set1_epi8(flip.cast_signed());
        let [a, b, c, d] = lines;
        let (a, b) = (_mm_loadu_si128(a.as_ptr().cast()), _mm_loadu_si128(b.as_ptr().cast()));
        let (c, d) = (_mm_loadu_si128(c.as_ptr().cast()), _mm_loadu_si128(d.as_ptr().cast()));
        let (a, b, c, d) = (
            _mm_xor_si128(a, flip),
            _mm_xor_si128(b, flip),
            _mm_xor_si128(c, flip),
            _mm_xor_si128(d, flip),
        );
        let (ab, cd) = (_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d));
        let (ab_high, cd_high) = (_mm_unpackhi_epi8(a, b), _mm_unpackhi_epi8(c, d));
        std::mem::transmute::<[__m128i; 4], [u8; 64]>([
            _mm_unpacklo_epi16(ab, cd),
            _mm_unpackhi_epi16(ab, cd),
            _mm_unpacklo_epi16(ab_high, cd_high),
            _mm_unpackhi_epi16(ab_high, cd_high),
        ])
    }
}

/// Interleaves four lines of sixteen bytes. Byte `4·l + j` of the result is byte `l` of line `j`, XOR `flip`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn interleave(lines: &[[u8; 16]; 4], flip: u8) -> [u8; 64] {
    let mut row = [0; 64];
    for l in 0..16 {
        for j in 0..4 {
            row[4 * l + j] = lines[j][l] ^ flip;
        }
    }
    row
}

/// Interleaves two lines of sixteen words. Words `2·l` and `2·l + 1` of the result are word `l` of the first and of the
/// second line.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn interleave_words([a, b]: &[[i16; 16]; 2]) -> [u8; 64] {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86-64. The loads read halves of whole arrays. The last step converts between types of 64
    // bytes, and every bit pattern is valid for both.
    unsafe {
        let load = |line: &[i16; 16], half: usize| _mm_loadu_si128(line.as_ptr().add(8 * half).cast());
        let (front, back) = ([load(a, 0), load(b, 0)], [load(a, 1), load(b, 1)]);
        std::mem::transmute::<[__m128i; 4], [u8; 64]>([
            _mm_unpacklo_epi16(front[0], front[1]),
            _mm_unpackhi_epi16(front[0], front[1]),
            _mm_unpacklo_epi16(back[0], back[1]),
            _mm_unpackhi_epi16(back[0], back[1]),
        ])
    }
}

/// Interleaves two lines of sixteen words. Words `2·l` and `2·l + 1` of the result are word `l` of the first and of the
/// second line.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn interleave_words([a, b]: &[[i16; 16]; 2]) -> [u8; 64] {
    let mut row = [0; 64];
    for (to, (a, b)) in row.as_chunks_mut::<4>().0.iter_mut().zip(a.iter().zip(b)) {
        let [[p, q], [r, s]] = [a.to_ne_bytes(), b.to_ne_bytes()];
        *to = [p, q, r, s];
    }
    row
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::intrinsics::intrinsics;
    use super::{Dots, F32s, Job, Simd, with_avx2, with_avx512};
    use crate::isa::Isa;
    use std::arch::x86_64::*;

    /// x86-64 with AVX2 and FMA.
    pub(crate) struct Avx2;
    impl Simd for Avx2 {
        const ISA: Isa = Isa::Avx2;
        type F32s = __m256;
        type Dots = Pairs;

        #[inline(always)]
        unsafe fn call<J: Job>(job: J) -> J::Output {
            // SAFETY: the caller upholds the safety contract of this method.
            unsafe { with_avx2(job) }
        }
    }

    /// x86-64 with AVX-512 and VNNI.
    pub(crate) struct Avx512;
    impl Simd for Avx512 {
        const ISA: Isa = Isa::Avx512;
        type F32s = __m512;
        type Dots = Vnni;

        #[inline(always)]
        unsafe fn call<J: Job>(job: J) -> J::Output {
            // SAFETY: the caller upholds the safety contract of this method.
            unsafe { with_avx512(job) }
        }
    }

    impl F32s for __m256 {
        const LANES: usize = 8;
        const ROWS: usize = 6;

        intrinsics! {
            splat(x: f32) -> Self = _mm256_set1_ps(x);
            load(from: *const f32) -> Self = _mm256_loadu_ps(from);
            store(self, to: *mut f32) = _mm256_storeu_ps(to, self);
            add_product(self, x: f32, y: Self) -> Self = _mm256_fmadd_ps(_mm256_set1_ps(x), y, self);
        }
    }

    impl F32s for __m512 {
        const LANES: usize = 16;
        const ROWS: usize = 12;

        intrinsics! {
            splat(x: f32) -> Self = _mm512_set1_ps(x);
            load(from: *const f32) -> Self = _mm512_loadu_ps(from);
            store(self, to: *mut f32) = _mm512_storeu_ps(to, self);
            add_product(self, x: f32, y: Self) -> Self = _mm512_fmadd_ps(_mm512_set1_ps(x), y, self);
        }
    }

    /// Sixteen accumulators for AVX2, each as two neighbouring i32, which are added at the end. Bytes are widened to i16, and
    /// `vpmaddwd` adds the products of two neighbours.
    #[derive(Clone, Copy)]
    pub(crate) struct Pairs([__m256i; 4]);

    impl Dots for Pairs {
        const ROWS: usize = 6;
        const WIDE: bool = true;

        #[inline(always)]
        unsafe fn new(start: i32, columns: &[i32; 16]) -> Self {
            // SAFETY: the caller guarantees that the machine has AVX2. Each load reads 16 of the 64 bytes of `columns`.
            unsafe {
                let start = _mm_set1_epi32(start);
                let mut sums = [_mm256_setzero_si256(); 4];
                for (i, sum) in sums.iter_mut().enumerate() {
                    let four = _mm_loadu_si128(columns.as_ptr().add(4 * i).cast());
                    // The second i32 of each accumulator starts at 0.
                    *sum = _mm256_cvtepu32_epi64(_mm_add_epi32(four, start));
                }
                Pairs(sums)
            }
        }

        #[inline(always)]
        fn to_array(self) -> [i32; 16] {
            let Pairs([a, b, c, d]) = self;
            // SAFETY: a value of this type exists only on a machine with AVX2. The last step converts between types of
            // 64 bytes, and every bit pattern is valid for both.
            unsafe {
                // `vphaddd` works on each half of a register separately, so the two middle quarters have to be swapped.
                let low = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_hadd_epi32(a, b));
                let high = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_hadd_epi32(c, d));
                std::mem::transmute::<[__m256i; 2], [i32; 16]>([low, high])
            }
        }

        #[inline(always)]
        unsafe fn add_dots<const PANEL_UNSIGNED: bool>(self, panel: &[u8; 64], four: [u8; 4]) -> Self {
            // SAFETY: the caller guarantees that the machine has AVX2. Each load reads 16 of the 64 bytes of `panel`.
            unsafe {
                let four = _mm_cvtsi32_si128(i32::from_ne_bytes(four));
                let four = if PANEL_UNSIGNED {
                    _mm_cvtepi8_epi16(four)
                } else {
                    _mm_cvtepu8_epi16(four)
                };
                let four = _mm256_broadcastq_epi64(four);
                let mut sums = self.0;
                for (i, sum) in sums.iter_mut().enumerate() {
                    let bytes = _mm_loadu_si128(panel.as_ptr().add(16 * i).cast());
                    let wide = if PANEL_UNSIGNED {
                        _mm256_cvtepu8_epi16(bytes)
                    } else {
                        _mm256_cvtepi8_epi16(bytes)
                    };
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(wide, four));
                }
                Pairs(sums)
            }
        }

        #[inline(always)]
        unsafe fn add_words(self, panel: &[u8; 64], two: [u8; 4]) -> Self {
            // SAFETY: the caller guarantees that the machine has AVX2. Each load reads 16 of the 64 bytes of `panel`.
            // If both products are 2^30, `vpmaddwd` wraps, as a sum in i32 does.
            unsafe {
                let two = _mm256_set1_epi64x(i64::from(u32::from_ne_bytes(two)));
                let mut sums = self.0;
                for (i, sum) in sums.iter_mut().enumerate() {
                    let words = _mm_loadu_si128(panel.as_ptr().add(16 * i).cast());
                    // Each 64-bit lane has two words and then zeros, so the second i32 of each accumulator gets 0.
                    let wide = _mm256_cvtepu32_epi64(words);
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(wide, two));
                }
                Pairs(sums)
            }
        }

        #[inline(always)]
        unsafe fn add_scaled_words(self, words: &[i16; 16], weight: i32) -> Self {
            // SAFETY: the caller guarantees that the machine has AVX2. Each load reads four of the sixteen words.
            unsafe {
                // The second factor of each pair is 0, so only `weight` times the word is added.
                let weight = _mm256_set1_epi64x(i64::from(weight.cast_unsigned()));
                let mut sums = self.0;
                for (i, sum) in sums.iter_mut().enumerate() {
                    let wide = _mm256_cvtepi16_epi64(_mm_loadl_epi64(words.as_ptr().add(4 * i).cast()));
                    *sum = _mm256_add_epi32(*sum, _mm256_mullo_epi32(wide, weight));
                }
                Pairs(sums)
            }
        }

        #[inline(always)]
        unsafe fn add_scaled<const SIGNED: bool>(self, bytes: &[u8; 16], weight: i32) -> Self {
            // SAFETY: the caller guarantees that the machine has AVX2. The load reads the 16 bytes of `bytes`.
            unsafe {
                // The second factor of each pair is 0, so only `weight` times the byte is added.
                let weight = _mm256_set1_epi64x(i64::from(weight.cast_unsigned()));
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                let four = [
                    bytes,
                    _mm_srli_si128::<4>(bytes),
                    _mm_srli_si128::<8>(bytes),
                    _mm_srli_si128::<12>(bytes),
                ];
                let mut sums = self.0;
                for (sum, bytes) in sums.iter_mut().zip(four) {
                    let wide = if SIGNED {
                        _mm256_cvtepi8_epi64(bytes)
                    } else {
                        _mm256_cvtepu8_epi64(bytes)
                    };
                    *sum = _mm256_add_epi32(*sum, _mm256_mullo_epi32(wide, weight));
                }
                Pairs(sums)
            }
        }
    }

    /// Sixteen accumulators for AVX-512, in a single register.
    #[derive(Clone, Copy)]
    pub(crate) struct Vnni(pub(crate) __m512i);

    impl Dots for Vnni {
        const ROWS: usize = 8;
        const WIDE: bool = true;

        #[inline(always)]
        unsafe fn new(start: i32, columns: &[i32; 16]) -> Self {
            // SAFETY: the caller guarantees that the machine has VNNI. The load reads the 64 bytes of `columns`.
            unsafe {
                Vnni(_mm512_add_epi32(
                    _mm512_set1_epi32(start),
                    _mm512_loadu_si512(columns.as_ptr().cast()),
                ))
            }
        }

        #[inline(always)]
        fn to_array(self) -> [i32; 16] {
            // SAFETY: both types have 64 bytes, and every bit pattern is valid for both.
            unsafe { std::mem::transmute::<__m512i, [i32; 16]>(self.0) }
        }

        #[inline(always)]
        unsafe fn add_dots<const PANEL_UNSIGNED: bool>(self, panel: &[u8; 64], four: [u8; 4]) -> Self {
            // SAFETY: the caller guarantees that the machine has VNNI. The load reads the 64 bytes of `panel`.
            // `vpdpbusd` takes its first factor as unsigned and adds without saturation.
            unsafe {
                let panel = _mm512_loadu_si512(panel.as_ptr().cast());
                let four = _mm512_set1_epi32(i32::from_ne_bytes(four));
                Vnni(if PANEL_UNSIGNED {
                    _mm512_dpbusd_epi32(self.0, panel, four)
                } else {
                    _mm512_dpbusd_epi32(self.0, four, panel)
                })
            }
        }

        #[inline(always)]
        unsafe fn add_codes(self, panel: &[u8; 64], four: [u8; 4], flip: u8) -> Self {
            // SAFETY: the caller guarantees that the machine has VNNI. The load reads the 64 bytes of `panel`.
            unsafe {
                let panel = _mm512_loadu_si512(panel.as_ptr().cast());
                // An addition of 0x80 flips the highest bit. As an addition of bytes it stays in the vector unit, where it
                // costs nothing, whereas four bytes that are flipped before would have to be moved there.
                let four = _mm512_set1_epi32(i32::from_ne_bytes(four));
                let four = _mm512_add_epi8(four, _mm512_set1_epi8(flip.cast_signed()));
                Vnni(_mm512_dpbusd_epi32(self.0, four, panel))
            }
        }

        #[inline(always)]
        unsafe fn add_words(self, panel: &[u8; 64], two: [u8; 4]) -> Self {
            // SAFETY: the caller guarantees that the machine has VNNI. The load reads the 64 bytes of `panel`.
            // `vpdpwssd` adds without saturation.
            unsafe {
                let panel = _mm512_loadu_si512(panel.as_ptr().cast());
                let two = _mm512_set1_epi32(i32::from_ne_bytes(two));
                Vnni(_mm512_dpwssd_epi32(self.0, panel, two))
            }
        }

        #[inline(always)]
        unsafe fn add_scaled_words(self, words: &[i16; 16], weight: i32) -> Self {
            // SAFETY: the caller guarantees that the machine has AVX-512. The load reads the sixteen words.
            unsafe {
                let wide = _mm512_cvtepi16_epi32(_mm256_loadu_si256(words.as_ptr().cast()));
                Vnni(_mm512_add_epi32(
                    self.0,
                    _mm512_mullo_epi32(wide, _mm512_set1_epi32(weight)),
                ))
            }
        }

        #[inline(always)]
        unsafe fn add_scaled<const SIGNED: bool>(self, bytes: &[u8; 16], weight: i32) -> Self {
            // SAFETY: the caller guarantees that the machine has AVX-512. The load reads the 16 bytes of `bytes`.
            unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                let wide = if SIGNED {
                    _mm512_cvtepi8_epi32(bytes)
                } else {
                    _mm512_cvtepu8_epi32(bytes)
                };
                Vnni(_mm512_add_epi32(
                    self.0,
                    _mm512_mullo_epi32(wide, _mm512_set1_epi32(weight)),
                ))
            }
        }
    }
}
