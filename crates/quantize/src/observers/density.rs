//! Treats elements as a density that is uniform within each bin of a histogram.

use super::GridKind;
use super::levels::Levels;
use crate::statistics::{Histogram, MAX_BINS};

/// A density ρ of elements, with its integrals up to the lower edge of each bin.
#[derive(Clone, Debug)]
pub(super) struct Density {
    first: f64,
    width: f64,
    /// The number of elements in each bin.
    counts: Vec<f64>,
    /// ∫ρ, ∫xρ and ∫x²ρ from −∞ to each edge of a bin. There is one entry more than there are bins.
    sums: Vec<[f64; 3]>,
}

/// ∫1, ∫x and ∫x² from a to b.
fn integrals(a: f64, b: f64) -> [f64; 3] {
    [b - a, (b * b - a * a) / 2.0, (b * b * b - a * a * a) / 3.0]
}

impl Density {
    /// The density of a histogram, without the `zeros` elements that are exactly zero, because every grid has zero.
    pub(super) fn new(histogram: &Histogram, zeros: u64) -> Density {
        let width = histogram.width();
        let count = |low: f64, count: u64| if low == 0.0 { count.saturating_sub(zeros) } else { count } as f64;
        let counts: Vec<f64> = histogram.bins().map(|(low, n)| count(low, n)).collect();
        let first = histogram.first() as f64 * width;
        let mut sums = vec![[0.0; 3]];
        let mut sum = [0.0; 3];
        for (index, count) in counts.iter().enumerate() {
            let low = first + index as f64 * width;
            let added = integrals(low, low + width);
            sum = [0, 1, 2].map(|k| sum[k] + count / width * added[k]);
            sums.push(sum);
        }
        Density {
            first,
            width,
            counts,
            sums,
        }
    }

    /// ∫ρ, ∫xρ and ∫x²ρ from −∞ to x.
    fn upto(&self, x: f64) -> [f64; 3] {
        let index = ((x - self.first) / self.width).floor();
        if index < 0.0 {
            return [0.0; 3];
        }
        let index = index as usize;
        let Some(count) = self.counts.get(index) else {
            return self.sums[self.counts.len()];
        };
        let part = integrals(self.first + index as f64 * self.width, x);
        [0, 1, 2].map(|k| self.sums[index][k] + count / self.width * part[k])
    }

    /// Returns the range in `ranges` with the smallest squared error on its grid. If several have the same error,
    /// returns the first of them. If no range gives a grid, returns `otherwise`.
    pub(super) fn least_error(
        &self,
        grid: GridKind,
        ranges: impl Iterator<Item = [f32; 2]>,
        otherwise: [f32; 2],
    ) -> [f32; 2] {
        let error = |levels: Levels| self.squared_error(&levels);
        super::least_error(ranges, otherwise, |range| {
            Levels::of(grid, range).map_or(f64::INFINITY, error)
        })
    }

    /// Returns ∫(x − Q(x))²·ρ, where ρ is the density of the elements and Q(x) is the level nearest to x. This is the
    /// expected sum of the squared errors of all elements.
    pub(super) fn squared_error(&self, levels: &Levels) -> f64 {
        match *levels {
            // If there are more levels than a histogram can have bins, the levels are not visited one by one.
            Levels::Even { lowest, step, count } if count > MAX_BINS => self.by_step(lowest, step, count),
            _ => self.by_levels(levels),
        }
    }

    /// Adds up the error level by level. Between the midpoints to the neighbouring levels, a level l has the error ∫(x
    /// − l)²ρ = ∫x²ρ − 2l·∫xρ + l²·∫ρ.
    fn by_levels(&self, levels: &Levels) -> f64 {
        let (mut error, mut before) = (0.0, [0.0; 3]);
        for index in 0..levels.count() {
            let level = levels.at(index);
            let upto = match index + 1 {
                next if next < levels.count() => self.upto((level + levels.at(next)) / 2.0),
                _ => self.sums[self.counts.len()],
            };
            let [n, x, xx] = [0, 1, 2].map(|k| upto[k] - before[k]);
            error += (xx - 2.0 * level * x + level * level * n).max(0.0);
            before = upto;
        }
        error
    }

    /// Computes the error for grids with several levels in each bin. It adds s²/12, with s = `step`, for each element
    /// between the outermost levels, and the squared distance to the nearer outermost level for each element beyond
    /// them.
    fn by_step(&self, lowest: f64, step: f64, count: usize) -> f64 {
        let highest = lowest + (count - 1) as f64 * step;
        let (under, upto, all) = (self.upto(lowest), self.upto(highest), self.sums[self.counts.len()]);
        let squares = |[n, x, xx]: [f64; 3], at: f64| (xx - 2.0 * at * x + at * at * n).max(0.0);
        let over = [0, 1, 2].map(|k| all[k] - upto[k]);
        squares(under, lowest) + squares(over, highest) + (upto[0] - under[0]) * step * step / 12.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Statistics;

    /// The squared error, computed from many points in each bin and the level nearest to each point.
    fn brute(histogram: &Histogram, levels: &Levels) -> f64 {
        let points = 2000;
        let all: Vec<f64> = (0..levels.count()).map(|index| levels.at(index)).collect();
        let nearest = |x: f64| {
            let above = all.partition_point(|l| *l < x);
            let near = all[above.saturating_sub(1)..(above + 1).min(all.len())].iter();
            near.map(|l| (x - l) * (x - l)).fold(f64::INFINITY, f64::min)
        };
        let bins = histogram.bins().map(|(low, count)| {
            let xs = (0..points).map(|i| low + histogram.width() * (f64::from(i) + 0.5) / f64::from(points));
            count as f64 * xs.map(nearest).sum::<f64>() / f64::from(points)
        });
        bins.sum()
    }

    #[test]
    fn the_error_is_the_integral() {
        let elements: Vec<f32> = (0..400).map(|i| (i * i % 37) as f32 * 0.11 - 1.3).collect();
        let mut statistics = Statistics::default();
        statistics.add(0, &elements);
        let density = Density::new(&statistics.histogram, 0);
        let even = |lowest, step, count| Levels::Even { lowest, step, count };
        for (levels, within) in [
            (even(-1.5, 0.4, 16), 1e-4),
            (even(-0.7, 0.9, 3), 1e-4),
            (even(-2.0, 0.013, 256), 1e-4),
            (even(0.5, 0.01, 2), 1e-4),
            (Levels::Listed(vec![-1.0, -0.25, 0.0, 0.25, 1.0, 2.5]), 1e-4),
            // These levels are nearer to each other than bins, which are 2^−9 wide. The error then follows from the step.
            (even(-1.0, 0.000_7, 5000), 1e-3),
            (even(-1.5, 0.000_1, 50_000), 0.05),
        ] {
            let (found, expected) = (density.squared_error(&levels), brute(&statistics.histogram, &levels));
            assert!((found - expected).abs() <= within * expected, "{found}, {expected}");
        }
    }

    #[test]
    fn zeros_cost_nothing() {
        let mut statistics = Statistics::default();
        statistics.add(0, &[0.0; 1000]);
        statistics.add(0, &[1.0]);
        let of = |zeros| {
            let density = Density::new(&statistics.histogram, zeros);
            density.squared_error(&Levels::Listed(vec![0.0, 1.0]))
        };
        assert!(of(1000) < 1e-6 && of(0) > 50.0 * of(1000), "{} {}", of(0), of(1000));
    }
}
