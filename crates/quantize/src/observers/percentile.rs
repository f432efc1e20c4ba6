//! The observer of percentiles: it leaves out a small fraction of the elements at each end.

use super::{GridKind, Observer, ValueStatistics, extremes};
use crate::statistics::Histogram;
use strait_core::Reason;
use strait_target::spec::ObserverOptions;

/// The range that leaves out 100 − p percent of the elements at each end, where p is the percentile that is set for
/// this end. The range is read from the merged histogram of all samples by linear interpolation inside a bin.
///
/// **Source.** PPQ's percentile observer, which computes the percentiles of each batch and averages them.
///
/// **Precondition.** The codes are integers.
#[derive(Clone, Copy, Debug)]
pub struct Percentile {
    /// The percentile p for the lower and for the upper end, in percent: above 50 and at most 100.
    percents: [f64; 2],
}

impl Percentile {
    /// The default for p, in percent.
    pub const DEFAULT: f64 = 99.99;

    /// The observer with `percentile` and `lower_percentile` from the settings.
    pub fn new(options: &ObserverOptions) -> Percentile {
        Percentile {
            percents: percents(options, Self::DEFAULT),
        }
    }
}

/// The percentile p for the lower and for the upper end, in percent: from 50 to 100.
pub(super) fn percents(options: &ObserverOptions, default: f64) -> [f64; 2] {
    let upper = options.percentile.unwrap_or(default);
    [options.lower_percentile.unwrap_or(upper), upper].map(|percent| percent.clamp(50.0, 100.0))
}

/// Returns the range that leaves out the fraction 1 − p/100 of the elements at each end. The first of `percents` is p
/// for the lower end, and the second is p for the upper end. The range does not reach beyond minimum and maximum.
pub(super) fn inside(histogram: &Histogram, percents: [f64; 2], [min, max]: [f32; 2]) -> [f32; 2] {
    let low = quantile(histogram, 1.0 - percents[0] / 100.0) as f32;
    let high = quantile(histogram, percents[1] / 100.0) as f32;
    [low.clamp(min, max), high.clamp(min, max)]
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
    fn range(&self, seen: ValueStatistics<'_>, _: GridKind) -> Result<[f32; 2], Reason> {
        let statistics = seen.elements;
        let extremes = extremes(statistics)?;
        Ok(inside(&statistics.histogram, self.percents, extremes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::tests::ASYMMETRIC;
    use crate::statistics::Statistics;

    #[test]
    fn a_single_outlier_in_ten_thousand_is_left_out() {
        let mut s = Statistics::default();
        let mut elements: Vec<f32> = (0..100_000).map(|i| i as f32 / 100_000.0).collect();
        elements.push(50.0);
        s.add(0, &elements);
        let of = |percent| {
            let percents = [percent; 2];
            Percentile { percents }.range((&s).into(), ASYMMETRIC).unwrap()
        };
        let [low, high] = of(99.99);
        assert!(low >= 0.0 && (0.99..1.05).contains(&high), "[{low}, {high}]");
        assert_eq!(of(100.0), [0.0, 50.0]);
        let options = ObserverOptions {
            percentile: Some(100.0),
            lower_percentile: Some(99.0),
            ..ObserverOptions::default()
        };
        let [low, high] = Percentile::new(&options).range((&s).into(), ASYMMETRIC).unwrap();
        assert!((0.005..0.015).contains(&low) && high == 50.0, "[{low}, {high}]");
    }
}
