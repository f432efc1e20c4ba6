//! A box that a model found, as the mean average precision notes it.

/// A box behind its image: whether it is a hit, for each overlap a bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    pub(crate) class: u32,
    pub(crate) score: f64,
    pub(crate) hits: u16,
}
