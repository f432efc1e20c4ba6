//! The observer IFMR of Ascend's tools.

use super::density::Density;
use super::percentile::{inside, percents};
use super::{GridKind, Observer, ValueStatistics, by_farther_end, extremes};
use strait_core::Reason;
use strait_target::spec::ObserverOptions;

/// First, the percentile p is applied at both ends, which gives a range [min, max] that contains zero. If there are n
/// elements, min is the k-th smallest and max is the k-th largest, where k = n − ⌊p·n⌋, and k is at least 1. Then the
/// factors r from 0.7 to 1.3 (included) in steps of 0.01 are tried. The first factor with the smallest squared error is
/// taken. For a grid with a zero point, the factor r gives the range [min, r·max]. For a symmetric grid with codes of b
/// bits, it gives the scale r·max/(2^(b−1) − 1), or −r·min/2^(b−1) if the lower end is farther from zero.
///
/// **Source.** AMCT's IFMR ("input feature map reconstruction"), the default for activations on Ascend, with AMCT's
/// default settings. A figure in AMCT's documentation shows a search of both ends. AMCT's implementations search only
/// the upper end, and so does this observer.
///
/// **Distance from the documented rule.** AMCT sorts the elements of one batch, or of a few joined batches. Here all
/// samples are merged, so the percentile is read from the histogram by linear interpolation inside a bin, and the error
/// is integrated over bins of uniform density, without zeros. AMCT measures the error before the zero point is rounded.
/// Here the error is that of the final grid. AMCT's PyTorch version leaves out the last factor, 1.3.
///
/// **Precondition.** The codes are integers.
#[derive(Clone, Copy, Debug)]
pub struct Ifmr {
    /// The percentiles for the lower and for the upper side.
    percents: [f64; 2],
    factors: [f64; 2],
    step: f64,
}

impl Ifmr {
    /// The default for the percentile p on each side, in percent.
    pub const PERCENT: f64 = 99.9999;

    /// The observer with `percentile`, `lower_percentile`, `search_range` and `search_step` from the settings.
    pub fn new(options: &ObserverOptions) -> Ifmr {
        Ifmr {
            percents: percents(options, Self::PERCENT),
            factors: options.search_range.unwrap_or([0.7, 1.3]),
            step: options.search_step.unwrap_or(0.01).max(1e-3),
        }
    }
}

impl Observer for Ifmr {
    fn range(&self, seen: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        let statistics = seen.elements;
        let extremes = extremes(statistics)?;
        let [min, max] = inside(&statistics.histogram, self.percents, extremes);
        let (min, max) = (min.min(0.0), max.max(0.0));
        let density = Density::new(&statistics.histogram, statistics.zeros);
        // The number of factors after the first. The small addition makes up for rounding in the quotient.
        let last = ((self.factors[1] - self.factors[0]) / self.step + 1e-6).clamp(0.0, 1e4) as u32;
        let ranges = (0..=last).map(|i| {
            let factor = self.factors[0] + f64::from(i) * self.step;
            let reach = |end: f32| (f64::from(end) * factor) as f32;
            match grid.symmetric {
                true => by_farther_end([reach(min), reach(max)], grid),
                false => [min, reach(max)],
            }
        });
        Ok(density.least_error(grid, ranges, [min, max]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::tests::{ASYMMETRIC, SYMMETRIC, bell};
    use crate::statistics::Statistics;

    /// The documented rule, applied to the elements themselves: they are sorted, and for every factor each of them is
    /// rounded.
    fn documented(elements: &[f32], symmetric: bool) -> [f64; 2] {
        let mut sorted: Vec<f64> = elements.iter().map(|&x| f64::from(x)).collect();
        sorted.sort_by(f64::total_cmp);
        let k = (sorted.len() as f64 - (0.999999 * sorted.len() as f64).floor()) as usize;
        let (min, max) = (sorted[k - 1].min(0.0), sorted[sorted.len() - k].max(0.0));
        let farther = max.max(-min);
        let steps = if max < -min { 128.0 } else { 127.0 };
        let ranges = (0..=60).map(|i| 0.7 + 0.01 * f64::from(i)).map(|r| match symmetric {
            true => [-r * farther, r * farther],
            false => [min, r * max],
        });
        let loss = |[low, high]: [f64; 2]| {
            let scale = if symmetric { high / steps } else { (high - low) / 255.0 };
            let rounded = |x: f64| (x.clamp(low, high) / scale).round() * scale;
            sorted.iter().map(|x| (x - rounded(*x)).powi(2)).sum::<f64>()
        };
        ranges
            .map(|range| (loss(range), range))
            .reduce(|best, next| if next.0 < best.0 { next } else { best })
            .unwrap()
            .1
    }

    #[test]
    fn the_factor_is_that_of_the_documented_rule() {
        for (elements, spread) in [(bell(20_000, 3.0), 0.02), (bell(5_000, 0.2), 0.02)] {
            let mut statistics = Statistics::default();
            statistics.add(0, &elements);
            for grid in [ASYMMETRIC, SYMMETRIC] {
                let found = Ifmr::new(&ObserverOptions::default())
                    .range((&statistics).into(), grid)
                    .unwrap();
                let expected = documented(&elements, grid.symmetric);
                let span = expected[1] - expected[0];
                // For a symmetric grid, the end that is farther from zero determines the range.
                let farther = found[1].max(-found[0]);
                let found = if grid.symmetric { [-farther, farther] } else { found };
                for (found, expected) in found.into_iter().zip(expected) {
                    let apart = (f64::from(found) - expected).abs();
                    assert!(apart <= spread * span, "{grid:?}: {found}, {expected}");
                }
            }
        }
    }
}
