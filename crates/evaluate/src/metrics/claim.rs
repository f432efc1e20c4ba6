//! A box that a model found, as it is kept to compute the mean average precision.

/// A box after matching. Its coordinates are no longer needed. Bit i of `hits` is 1 if the box is a hit at the i-th
/// overlap threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    pub(crate) class: u32,
    pub(crate) score: f64,
    pub(crate) hits: u16,
}
