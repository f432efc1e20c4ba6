//! A line of packed bytes.

/// Sixteen groups of four bytes, aligned so that they lie in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Line(pub(super) [u8; 64]);
