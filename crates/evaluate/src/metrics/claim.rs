//! A box that a model found, as it is kept to compute the mean average precision.

/// A box that a model found, after it was compared with the objects of the image, so that its coordinates are no
/// longer needed. Bit i of `hits` says whether the box is a hit at the i-th overlap threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    pub(crate) class: u32,
    pub(crate) score: f64,
    pub(crate) hits: u16,
}
