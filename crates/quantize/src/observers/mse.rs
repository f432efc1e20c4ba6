//! The range with the least mean squared error of quantization.

use super::{GridKind, Observer, extremes};
use crate::statistics::{Histogram, Statistics};
use strait_core::Reason;

/// Searches the clipped ranges [min·i/64, max·j/64] for the least expected squared error. With step s, an element
/// inside costs s²/12 (uniform within a step; zeros cost nothing, every grid holds them) and one outside its squared
/// distance.
#[derive(Clone, Copy, Debug)]
pub struct MeanSquaredError;

/// Number of candidates for each end of the range.
const CANDIDATES: u32 = 64;

/// Σ count, Σ count·x and Σ count·x² over all bins before each bin; x is the centre of a bin.
struct Moments {
    first: f64,
    width: f64,
    sums: Vec<[f64; 3]>,
}

impl Moments {
    fn new(histogram: &Histogram) -> Moments {
        let width = histogram.width();
        let mut sums = vec![[0.0; 3]];
        let mut sum = [0.0f64; 3];
        for (low, count) in histogram.bins() {
            let (x, n) = (low + width / 2.0, count as f64);
            sum = [sum[0] + n, sum[1] + n * x, sum[2] + n * x * x];
            sums.push(sum);
        }
        Moments {
            first: histogram.first() as f64 * width,
            width,
            sums,
        }
    }

    /// The moments of what lies below `edge`, to the nearest bin.
    fn below(&self, edge: f64) -> [f64; 3] {
        let index = ((edge - self.first) / self.width)
            .round()
            .clamp(0.0, (self.sums.len() - 1) as f64);
        self.sums[index as usize]
    }

    /// Σ (x − at)² over the elements with these moments.
    fn squares(moments: [f64; 3], at: f64) -> f64 {
        (moments[2] - 2.0 * at * moments[1] + at * at * moments[0]).max(0.0)
    }

    fn error(&self, low: f64, high: f64, zeros: f64, steps: f64) -> f64 {
        let all = self.sums[self.sums.len() - 1];
        let (under, upto) = (self.below(low), self.below(high));
        let over = [all[0] - upto[0], all[1] - upto[1], all[2] - upto[2]];
        let inside = (upto[0] - under[0] - zeros).max(0.0);
        let step = (high - low) / steps;
        Moments::squares(under, low) + Moments::squares(over, high) + inside * step * step / 12.0
    }
}

impl Observer for MeanSquaredError {
    fn name(&self) -> &'static str {
        "mse"
    }

    fn range(&self, statistics: &Statistics, grid: GridKind) -> Result<[f32; 2], Reason> {
        let [min, max] = extremes(statistics)?;
        let (min, max) = (f64::from(min.min(0.0)), f64::from(max.max(0.0)));
        let moments = Moments::new(&statistics.histogram);
        let steps = (grid.codes[1] - grid.codes[0]).max(1) as f64;
        let zeros = statistics.zeros as f64;
        let mut best = (f64::INFINITY, [min, max]);
        let share = |i: u32| f64::from(i) / f64::from(CANDIDATES);
        // Widest first, so that of two equally good ranges the one that clips less is kept.
        for high in (1..=CANDIDATES).rev() {
            let lows = if grid.symmetric || min == 0.0 {
                CANDIDATES..=CANDIDATES
            } else {
                1..=CANDIDATES
            };
            for low in lows.rev() {
                let range = if grid.symmetric {
                    let reach = share(high) * max.max(-min);
                    [-reach, reach]
                } else {
                    [min * share(low), max * share(high)]
                };
                let error = moments.error(range[0], range[1], zeros, steps);
                if error < best.0 {
                    best = (error, range);
                }
            }
        }
        Ok([best.1[0] as f32, best.1[1] as f32])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(elements: &[f32]) -> Statistics {
        let mut s = Statistics::default();
        s.add(0, elements);
        s
    }

    const GRID: GridKind = GridKind {
        codes: [-128, 127],
        symmetric: false,
        power_of_two: false,
    };

    #[test]
    fn a_uniform_value_is_not_clipped() {
        let elements: Vec<f32> = (0..10_000).map(|i| i as f32 / 10_000.0).collect();
        let [low, high] = MeanSquaredError.range(&statistics(&elements), GRID).unwrap();
        assert!(low == 0.0 && high > 0.97, "[{low}, {high}]");
    }

    #[test]
    fn a_rare_outlier_is_clipped_when_that_pays() {
        // 10⁶ elements within ±1 and one at 100: covering it costs 10⁶·(0.4²)/12, clipping at 2 costs 98².
        let mut elements: Vec<f32> = (0..1_000_000).map(|i| (i as f32 / 500_000.0) - 1.0).collect();
        elements.push(100.0);
        let [_, high] = MeanSquaredError.range(&statistics(&elements), GRID).unwrap();
        assert!(high < 60.0, "{high}");
    }
}
