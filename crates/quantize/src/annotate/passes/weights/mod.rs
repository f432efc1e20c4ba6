//! The grids of weights.

mod equal_sums;
mod least;
mod multiplied;
mod product;
mod weight_only;

pub(super) use equal_sums::weights as multiplied;
pub(super) use multiplied::Weights;
pub(super) use weight_only::weights as alone;
