//! The numbers of a sum with factors, for vectors of words.

/// The low part of a number has so many bits. The high part of a factor has at most 15 bits and a sign.
pub(crate) const LOW_BITS: u32 = 14;

/// The numbers of a sum for vectors of words.
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only kernels for x86-64 read it")
)]
pub(crate) struct AffineWords {
    pub(crate) flips: [u8; 2],
    /// The high parts: the first factor in the low half and the second in the high half, and the offset.
    pub(crate) high: [i32; 2],
    /// The low parts.
    pub(crate) low: [i32; 2],
    pub(crate) shift: u32,
    pub(crate) bounds: [u8; 2],
    pub(crate) signed: bool,
}
