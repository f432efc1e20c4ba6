//! The grids of weights.

mod alone;
mod equal_sums;
mod least;
mod multiplied;
mod product;

pub(super) use alone::weights as alone;
pub(super) use equal_sums::weights as multiplied;
pub(super) use multiplied::Weights;
