//! Codes of 4 bits in words of 32 bits, and how a vector of them becomes floats.

use super::F32s;
#[cfg(target_arch = "x86_64")]
use super::intrinsics::intrinsics;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// The bits of the float 2²³. A float with these bits and an integer below 2²³ in its mantissa is 2²³ plus this integer.
pub(crate) const MAGIC: u32 = 0x4B00_0000;

/// How many of the eight codes in a word lie in its lower 20 bits. The mantissa of a float has room for these. The codes
/// above them are moved down by 20 bits first.
pub(crate) const LOWER: usize = 5;

/// Vectors of f32 that can be made from words with eight codes of 4 bits in each.
pub(crate) trait Nibbles: F32s {
    /// A vector of words.
    type Words: Copy;
    /// Loads `LANES` words.
    ///
    /// # Safety
    /// `LANES` words must be readable at `from`, and the machine must have the instruction set.
    unsafe fn load_words(from: *const u32) -> Self::Words;
    /// Moves every word down by 20 bits.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn upper(words: Self::Words) -> Self::Words;
    /// Computes `2²³ + (word & mask)` in every lane. The mask must be less than 2²³.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn masked(words: Self::Words, mask: u32) -> Self;
    /// Computes `(self − zero)·scale` in every lane, with two roundings.
    ///
    /// # Safety
    /// The machine must have the instruction set.
    unsafe fn scaled(self, zero: Self, scale: Self) -> Self;
}

impl Nibbles for [f32; 8] {
    type Words = [u32; 8];

    #[inline(always)]
    unsafe fn load_words(from: *const u32) -> [u32; 8] {
        // SAFETY: the caller guarantees that the words are readable, and an array has the alignment of its elements.
        unsafe { *from.cast::<[u32; 8]>() }
    }

    #[inline(always)]
    unsafe fn upper(words: [u32; 8]) -> [u32; 8] {
        words.map(|word| word >> 20)
    }

    #[inline(always)]
    unsafe fn masked(words: [u32; 8], mask: u32) -> Self {
        words.map(|word| f32::from_bits(word & mask | MAGIC))
    }

    #[inline(always)]
    unsafe fn scaled(self, zero: Self, scale: Self) -> Self {
        std::array::from_fn(|lane| (self[lane] - zero[lane]) * scale[lane])
    }
}

#[cfg(target_arch = "x86_64")]
impl Nibbles for __m256 {
    type Words = __m256i;

    intrinsics! {
        load_words(from: *const u32) -> __m256i = _mm256_loadu_si256(from.cast());
        upper(words: __m256i) -> __m256i = _mm256_srli_epi32::<20>(words);
        masked(words: __m256i, mask: u32) -> Self = _mm256_castsi256_ps(_mm256_or_si256(
            _mm256_and_si256(words, _mm256_set1_epi32(mask.cast_signed())),
            _mm256_set1_epi32(MAGIC.cast_signed()),
        ));
        scaled(self, zero: Self, scale: Self) -> Self = _mm256_mul_ps(_mm256_sub_ps(self, zero), scale);
    }
}

#[cfg(target_arch = "x86_64")]
impl Nibbles for __m512 {
    type Words = __m512i;

    intrinsics! {
        load_words(from: *const u32) -> __m512i = _mm512_loadu_si512(from.cast());
        upper(words: __m512i) -> __m512i = _mm512_srli_epi32::<20>(words);
        // The table 0xEA is (a & b) | c.
        masked(words: __m512i, mask: u32) -> Self = _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<0xEA>(
            words,
            _mm512_set1_epi32(mask.cast_signed()),
            _mm512_set1_epi32(MAGIC.cast_signed()),
        ));
        scaled(self, zero: Self, scale: Self) -> Self = _mm512_mul_ps(_mm512_sub_ps(self, zero), scale);
    }
}
