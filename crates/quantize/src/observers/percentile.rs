//! The middle share of all elements.

use super::{GridKind, Observer, extremes};
use crate::statistics::{Histogram, Statistics};
use strait_core::Reason;

/// The range that holds all but a share 1 − p of the elements below and as much above, read off the histogram by linear
/// interpolation inside a bin.
#[derive(Clone, Copy, Debug)]
pub struct Percentile {
    /// p in percent, above 50 and at most 100.
    percent: f64,
}

impl Percentile {
    /// The share that is used where none is given, in percent.
    pub const DEFAULT: f64 = 99.99;

    /// For p in percent; the configuration keeps it in (50, 100].
    pub fn new(percent: f64) -> Percentile {
        Percentile {
            percent: percent.clamp(50.0, 100.0),
        }
    }
}

/// The real number below which `share` of the elements lie.
fn quantile(histogram: &Histogram, share: f64) -> f64 {
    let wanted = share * histogram.total() as f64;
    let mut below = 0.0;
    for (low, count) in histogram.bins() {
        let count = count as f64;
        if below + count >= wanted && count > 0.0 {
            return low + histogram.width() * ((wanted - below) / count);
        }
        below += count;
    }
    f64::INFINITY
}

impl Observer for Percentile {
    fn name(&self) -> &'static str {
        "percentile"
    }

    fn range(&self, statistics: &Statistics, _: GridKind) -> Result<[f32; 2], Reason> {
        let [min, max] = extremes(statistics)?;
        let share = self.percent / 100.0;
        let low = quantile(&statistics.histogram, 1.0 - share) as f32;
        let high = quantile(&statistics.histogram, share) as f32;
        Ok([low.clamp(min, max), high.clamp(min, max)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_outlier_in_ten_thousand_is_left_out() {
        let mut s = Statistics::default();
        let mut elements: Vec<f32> = (0..100_000).map(|i| i as f32 / 100_000.0).collect();
        elements.push(50.0);
        s.add(0, &elements);
        let grid = GridKind {
            codes: [-128, 127],
            symmetric: false,
            power_of_two: false,
        };
        let [low, high] = Percentile::new(99.99).range(&s, grid).unwrap();
        assert!(low >= 0.0 && (0.99..1.05).contains(&high), "[{low}, {high}]");
        assert_eq!(Percentile::new(100.0).range(&s, grid).unwrap(), [0.0, 50.0]);
    }
}
