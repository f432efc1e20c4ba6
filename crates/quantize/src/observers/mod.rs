//! Observers: from the statistics of a value to the range that its grid covers.

mod min_max;
mod mse;
mod percentile;

pub use min_max::MinMax;
pub use mse::MeanSquaredError;
pub use percentile::Percentile;

use crate::statistics::Statistics;
use strait_core::{Reason, ReasonCode};

/// Properties of the grid that an observer makes a range for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridKind {
    /// Smallest and largest code.
    pub codes: [i64; 2],
    /// The zero point is fixed at 0.
    pub symmetric: bool,
    /// The scale is a power of two.
    pub power_of_two: bool,
}

/// Chooses the range [low, high] of real numbers that a grid covers.
pub trait Observer: Send + Sync {
    /// As configurations name it.
    fn name(&self) -> &'static str;

    /// The range; a value that was never seen, or held NaN or infinities, has none.
    fn range(&self, statistics: &Statistics, grid: GridKind) -> Result<[f32; 2], Reason>;
}

/// The observers by name, with the percentile where that is one.
pub fn by_name(name: &str, percentile: Option<f64>) -> Option<Box<dyn Observer>> {
    match name {
        "minmax" => Some(Box::new(MinMax)),
        "percentile" => Some(Box::new(Percentile::new(percentile.unwrap_or(Percentile::DEFAULT)))),
        "mse" => Some(Box::new(MeanSquaredError)),
        _ => None,
    }
}

/// The extremes, where the statistics can be used at all.
fn extremes(statistics: &Statistics) -> Result<[f32; 2], Reason> {
    let not_finite = statistics.nan + statistics.infinite.iter().sum::<u64>();
    if not_finite > 0 {
        return Err(Reason::new(
            ReasonCode::NotFinite,
            format!("{not_finite} of its elements are NaN or infinite in the calibration data"),
        ));
    }
    match (statistics.min(), statistics.max()) {
        (Some(min), Some(max)) => Ok([min, max]),
        _ => Err(Reason::new(
            ReasonCode::NotObserved,
            "the calibration data never reached it",
        )),
    }
}
