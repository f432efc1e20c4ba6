//! Chooses the range with the smallest mean squared error of quantization.

use super::density::Density;
use super::levels::Levels;
use super::{GridKind, Observer, ValueStatistics, extremes, inside_of, least_error};
use crate::statistics::{Histogram, Statistics};
use strait_core::Reason;

/// Searches the clipped ranges [min·i/64, max·j/64] for the one with the smallest expected squared error. For a
/// symmetric grid, these are the ranges [−M·i/64, M·i/64], where M is the largest magnitude. If several ranges have the
/// same error, the widest is taken. Zeros have no error, because every grid has a code for zero.
///
/// With a step s, an element inside the range has the squared error s²/12, as if it were uniformly distributed within a
/// step. An element outside has its squared distance from the range. This is not accurate enough for grids with fewer
/// than 64 levels, for grids with scales that are powers of two, and for symmetric grids, because their levels depend
/// on more than the range. For these grids, the levels are listed, and the squared distance to the nearest level is
/// integrated over bins of uniform density.
///
/// **Source.** PPQ's mse observer. It tries nine ranges of a symmetric grid, and assumes levels that are half as far
/// apart as the quantizer's levels.
///
/// **Precondition.** The codes are integers.
#[derive(Clone, Copy, Debug)]
pub struct MeanSquaredError;

/// The number of candidates for each end of the range.
const CANDIDATES: u32 = 64;

/// With fewer levels than this, a step is so wide that elements are not uniformly distributed within it. Errors are
/// then computed from the histogram, whose bins (at least 2,048) are much narrower than a step.
const FEW_LEVELS: i64 = 64;

/// For each bin, the sums Σ count, Σ count·x and Σ count·x² over all bins before it, where x is the centre of each of
/// these bins.
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

    /// The moments of the elements below `edge`, which is rounded to the nearest edge of a bin.
    fn below(&self, edge: f64) -> [f64; 3] {
        let index = ((edge - self.first) / self.width)
            .round()
            .clamp(0.0, (self.sums.len() - 1) as f64);
        self.sums[index as usize]
    }

    /// Σ (x − at)² over the elements whose moments are `moments`.
    fn squares(moments: [f64; 3], at: f64) -> f64 {
        (moments[2] - 2.0 * at * moments[1] + at * at * moments[0]).max(0.0)
    }

    fn error(&self, [low, high]: [f64; 2], zeros: f64, steps: f64) -> f64 {
        let all = self.sums[self.sums.len() - 1];
        let (under, upto) = (self.below(low), self.below(high));
        let over = [all[0] - upto[0], all[1] - upto[1], all[2] - upto[2]];
        let inside = (upto[0] - under[0] - zeros).max(0.0);
        let step = (high - low) / steps;
        Moments::squares(under, low) + Moments::squares(over, high) + inside * step * step / 12.0
    }
}

/// How the expected squared error of a range is computed.
enum Error {
    Uniform { moments: Moments, zeros: f64, steps: f64 },
    LaidOut { density: Density, grid: GridKind },
}

impl Error {
    fn new(statistics: &Statistics, grid: GridKind) -> Error {
        let steps = (grid.codes[1] - grid.codes[0]).max(1);
        if grid.symmetric || grid.power_of_two || steps < FEW_LEVELS {
            let density = Density::new(&statistics.histogram, statistics.zeros);
            return Error::LaidOut { density, grid };
        }
        Error::Uniform {
            moments: Moments::new(&statistics.histogram),
            zeros: statistics.zeros as f64,
            steps: steps as f64,
        }
    }

    fn of(&self, range: [f64; 2]) -> f64 {
        match self {
            Error::Uniform { moments, zeros, steps } => moments.error(range, *zeros, *steps),
            Error::LaidOut { density, grid } => {
                let levels = Levels::of(*grid, range.map(|end| end as f32));
                levels.map_or(f64::INFINITY, |levels| density.squared_error(&levels))
            }
        }
    }
}

impl Observer for MeanSquaredError {
    fn range(&self, seen: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        let statistics = seen.elements;
        let [min, max] = extremes(statistics)?;
        let (min, max) = (f64::from(min.min(0.0)), f64::from(max.max(0.0)));
        let error = Error::new(statistics, grid);
        let ranges = inside_of([min, max], grid.symmetric, CANDIDATES);
        let best = least_error(ranges, [min, max], |range| error.of(range));
        Ok(best.map(|end| end as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::tests::{ASYMMETRIC, POWER, SYMMETRIC, bell};
    use crate::statistics::Statistics;

    fn statistics(elements: &[f32]) -> Statistics {
        let mut s = Statistics::default();
        s.add(0, elements);
        s
    }

    #[test]
    fn a_uniform_value_is_not_clipped() {
        let elements: Vec<f32> = (0..10_000).map(|i| i as f32 / 10_000.0).collect();
        let [low, high] = MeanSquaredError
            .range((&statistics(&elements)).into(), ASYMMETRIC)
            .unwrap();
        assert!(low == 0.0 && high > 0.97, "[{low}, {high}]");
    }

    #[test]
    fn a_rare_outlier_is_clipped_when_that_pays() {
        // 10⁶ elements lie within ±1, and one is 100. A range that includes 100 has the error 10⁶·(0.4²)/12, and a
        // range clipped at 2 has the error 98².
        let mut elements: Vec<f32> = (0..1_000_000).map(|i| (i as f32 / 500_000.0) - 1.0).collect();
        elements.push(100.0);
        let [_, high] = MeanSquaredError
            .range((&statistics(&elements)).into(), ASYMMETRIC)
            .unwrap();
        assert!(high < 60.0, "{high}");
    }

    /// Compares the result with trying every candidate, where each element is rounded to the grid of the candidate's
    /// range.
    #[test]
    fn the_search_finds_what_trying_all_ranges_on_the_elements_finds() {
        let mut elements = bell(3000, 1.0);
        elements.extend([3.5, -4.0, 0.0, 0.0]);
        let [min, max] = extremes(&statistics(&elements)).unwrap().map(f64::from);
        for codes in [[-128, 127], [-8, 7], [0, 15]] {
            for grid in [ASYMMETRIC, SYMMETRIC, POWER] {
                let grid = GridKind { codes, ..grid };
                if grid.symmetric && codes[0] == 0 {
                    continue;
                }
                let error = |range: [f64; 2]| {
                    let params = crate::observers::grid(grid, range.map(|end| end as f32)).unwrap();
                    let (scale, zero) = params.as_tensor().unwrap();
                    let [first, last] = codes.map(|code| (code - i64::from(zero)) as f64);
                    let rounded = |x: f64| (x / f64::from(scale)).round().clamp(first, last) * f64::from(scale);
                    elements
                        .iter()
                        .map(|&x| (f64::from(x) - rounded(x.into())).powi(2))
                        .sum::<f64>()
                };
                let shares = || (1..=64).map(|i| f64::from(i) / 64.0);
                let reach = max.max(-min);
                let least = match grid.symmetric {
                    true => shares()
                        .map(|s| error([-s * reach, s * reach]))
                        .fold(f64::INFINITY, f64::min),
                    false => {
                        let both = shares().flat_map(|a| shares().step_by(3).map(move |b| [min * a, max * b]));
                        both.map(error).fold(f64::INFINITY, f64::min)
                    }
                };
                let found = error(
                    MeanSquaredError
                        .range((&statistics(&elements)).into(), grid)
                        .unwrap()
                        .map(f64::from),
                );
                assert!(found <= 1.05 * least, "{grid:?}: {found}, {least}");
            }
        }
    }
}
