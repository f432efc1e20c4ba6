//! Chooses the range whose quantization has the smallest relative entropy.

use super::levels::Levels;
use super::{GridKind, Observer, ValueStatistics, extremes, inside_of};
use crate::logarithm::ln;
use crate::statistics::Histogram;
use strait_core::Reason;

/// Searches the clipped ranges [min·i/32, max·j/32] for the one with the smallest divergence KL(P‖Q) = Σ P·ln(P/Q). For
/// a symmetric grid, these are the ranges [−M·i/32, M·i/32], where M is the largest magnitude. Logarithms are natural,
/// and the sum is over the bins whose centres the grid reaches. If several ranges have the same divergence, the widest
/// is taken. P and Q are distributions over the bins of the histogram:
///
/// - P has the counts of the bins. Clipped elements are added to the outermost occupied bins.
/// - Q replaces the count of each occupied bin by the mean of the occupied bins that belong to the same level. Clipped
///   elements are left out of Q. P and Q are divided by their sums.
/// - The levels are those of the final grid, with its zero point and, if scales are powers of two, with such a scale. A
///   bin belongs to the level nearest to its centre.
/// - Elements that are exactly zero are left out, because every grid has zero.
///
/// **Source.** TensorRT's entropy calibration, and PPQ's observer `kl`. Both look at |x|, and so support only symmetric
/// grids, and treat the first bins as one bin. PPQ rounds the scale to the nearest power of two afterwards, so its
/// final scale is not the one that it measured.
///
/// **Precondition.** The codes are integers.
#[derive(Clone, Copy, Debug)]
pub struct Kl;

/// The number of candidates for each end of the range.
const CANDIDATES: u32 = 32;

/// n·ln n, and 0 for n = 0.
fn n_ln_n(n: f64) -> f64 {
    if n > 0.0 { n * ln(n) } else { 0.0 }
}

/// A histogram, with sums over all bins before each bin.
struct Bins {
    first: f64,
    width: f64,
    counts: Vec<f64>,
    /// For each bin, three sums over all bins before it: Σ n, the number of bins with n > 0, and Σ n·ln n. Here n is
    /// the count of a bin.
    sums: Vec<[f64; 3]>,
}

impl Bins {
    fn new(histogram: &Histogram, zeros: u64) -> Bins {
        let count = |low: f64, count: u64| if low == 0.0 { count.saturating_sub(zeros) } else { count } as f64;
        let counts: Vec<f64> = histogram.bins().map(|(low, n)| count(low, n)).collect();
        let mut sums = vec![[0.0; 3]];
        let mut sum = [0.0; 3];
        for &n in &counts {
            sum = [sum[0] + n, sum[1] + f64::from(u8::from(n > 0.0)), sum[2] + n_ln_n(n)];
            sums.push(sum);
        }
        Bins {
            first: histogram.first() as f64 * histogram.width(),
            width: histogram.width(),
            counts,
            sums,
        }
    }

    /// The number of bins whose centres lie below x.
    fn below(&self, x: f64) -> usize {
        let bins = ((x - self.first) / self.width - 0.5).ceil();
        bins.clamp(0.0, self.counts.len() as f64) as usize
    }

    fn over(&self, from: usize, to: usize) -> [f64; 3] {
        [0, 1, 2].map(|k| self.sums[to][k] - self.sums[from][k])
    }

    /// Returns KL(P‖Q) for `count` levels that start at `lowest` and are `step` apart.
    ///
    /// Let N be the number of elements, I the number of elements that are not clipped, and p the counts of the bins
    /// including clipped elements. If a level has C elements in o occupied bins, q = C/o for each of these bins. The
    /// divergence is (Σ p·ln p − Σ p·ln q)/N − ln N + ln I.
    fn divergence(&self, lowest: f64, step: f64, count: usize) -> f64 {
        let from = self.below(lowest - step / 2.0);
        let to = self.below(lowest + (count as f64 - 0.5) * step);
        let kept = self.over(from.min(to), to);
        let outermost = |mut bins: Box<dyn Iterator<Item = usize>>| bins.find(|&bin| self.counts[bin] > 0.0);
        let ends = [outermost(Box::new(from..to)), outermost(Box::new((from..to).rev()))];
        let [Some(low), Some(high)] = ends else {
            return f64::INFINITY;
        };
        let all = self.sums[self.counts.len()][0];
        let clipped = [self.sums[from][0], all - self.sums[to][0]];
        let mut entropy = kept[2];
        // If the lowest and the highest bin are the same bin, it gets the clipped elements of both sides.
        let added: &[(usize, f64)] = match low == high {
            true => &[(low, clipped[0] + clipped[1])],
            false => &[(low, clipped[0]), (high, clipped[1])],
        };
        for &(bin, more) in added {
            entropy += n_ln_n(self.counts[bin] + more) - n_ln_n(self.counts[bin]);
        }
        // If the levels are closer together than the bins, each bin has a level of its own, and q is the count of the
        // bin itself.
        if step <= self.width {
            let cross = added
                .iter()
                .fold(kept[2], |sum, &(bin, more)| sum + more * ln(self.counts[bin]));
            return (entropy - cross) / all - ln(all) + ln(kept[0]);
        }
        let mut cross = 0.0;
        let mut at = from;
        while at < to {
            let centre = self.first + (at as f64 + 0.5) * self.width;
            let level = ((centre - lowest) / step + 0.5).floor();
            let end = self.below(lowest + (level + 0.5) * step).clamp(at + 1, to);
            let [elements, occupied, _] = self.over(at, end);
            if elements > 0.0 {
                let more = added
                    .iter()
                    .filter(|(bin, _)| (at..end).contains(bin))
                    .map(|(_, more)| more);
                cross += more.fold(elements, |sum, more| sum + more) * ln(elements / occupied);
            }
            at = end;
        }
        (entropy - cross) / all - ln(all) + ln(kept[0])
    }
}

impl Observer for Kl {
    fn range(&self, seen: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        let statistics = seen.elements;
        let [min, max] = extremes(statistics)?;
        let (min, max) = (f64::from(min.min(0.0)), f64::from(max.max(0.0)));
        let bins = Bins::new(&statistics.histogram, statistics.zeros);
        let mut best = (f64::INFINITY, [min as f32, max as f32]);
        let mut last = None;
        for range in inside_of([min, max], grid.symmetric, CANDIDATES) {
            let range = range.map(|end| end as f32);
            // If scales are powers of two, many ranges give the same grid.
            let levels = Levels::of(grid, range);
            if levels == last {
                continue;
            }
            if let Some(Levels::Even { lowest, step, count }) = levels {
                let divergence = bins.divergence(lowest, step, count);
                if divergence < best.0 - NOISE {
                    best = (divergence, range);
                }
            }
            last = levels;
        }
        Ok(best.1)
    }
}

/// Two divergences that differ by less than this number count as equal. The sums have 2^12 terms in f64, so such a
/// difference may be a rounding error.
const NOISE: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::tests::{ASYMMETRIC, POWER, SYMMETRIC, bell};
    use crate::statistics::Statistics;

    #[test]
    fn logarithms_are_near_those_of_the_system() {
        for x in [1e-300, 0.1, 0.70, 0.71, 1.0, 1.41, 1.42, 3.0, 1e9, 1.8e19] {
            assert!((ln(x) - f64::ln(x)).abs() <= 4e-16 * f64::ln(x).abs() + 1e-16, "{x}");
        }
    }

    /// The relative entropy by its definition, with arrays of probabilities.
    fn brute(statistics: &Statistics, levels: &Levels) -> f64 {
        let Levels::Even { lowest, step, count } = *levels else {
            panic!()
        };
        let width = statistics.histogram.width();
        let zeros = |low: f64| if low == 0.0 { statistics.zeros } else { 0 };
        let bins: Vec<(f64, f64)> = statistics
            .histogram
            .bins()
            .map(|(low, n)| (low + width / 2.0, (n - zeros(low)) as f64))
            .collect();
        let level = |x: f64| ((x - lowest) / step).round();
        let is_kept = |x: f64| (lowest - step / 2.0..lowest + (count as f64 - 0.5) * step).contains(&x);
        let kept: Vec<(f64, f64)> = bins.iter().copied().filter(|&(x, n)| is_kept(x) && n > 0.0).collect();
        let mut p: Vec<f64> = kept.iter().map(|(_, n)| *n).collect();
        let clipped = |side: &dyn Fn(f64) -> bool| -> f64 {
            bins.iter()
                .filter(|(x, _)| !is_kept(*x) && side(*x))
                .map(|(_, n)| n)
                .sum()
        };
        p[0] += clipped(&|x| x < lowest);
        *p.last_mut().unwrap() += clipped(&|x| x > lowest);
        let q: Vec<f64> = kept
            .iter()
            .map(|(x, _)| {
                let same: Vec<f64> = kept
                    .iter()
                    .filter(|(y, _)| level(*y) == level(*x))
                    .map(|(_, n)| *n)
                    .collect();
                same.iter().sum::<f64>() / same.len() as f64
            })
            .collect();
        let sum = |v: &[f64]| v.iter().sum::<f64>();
        p.iter()
            .zip(&q)
            .map(|(a, b)| a / sum(&p) * f64::ln((a / sum(&p)) / (b / sum(&q))))
            .sum()
    }

    #[test]
    fn the_divergence_is_that_of_the_definition_and_the_least() {
        let mut elements = bell(600, 1.0);
        elements.extend([0.0; 50]);
        elements.push(9.0);
        let mut statistics = Statistics::default();
        statistics.add(0, &elements);
        let bins = Bins::new(&statistics.histogram, statistics.zeros);
        let [min, max] = extremes(&statistics).unwrap();
        let sixteen = GridKind {
            codes: [-32768, 32767],
            ..ASYMMETRIC
        };
        let four = |grid| GridKind { codes: [-8, 7], ..grid };
        for grid in [four(ASYMMETRIC), four(SYMMETRIC), four(POWER), sixteen] {
            let mut least = f64::INFINITY;
            for high in 1..=CANDIDATES {
                for low in 1..=CANDIDATES {
                    let share = |i: u32, end: f32| (f64::from(end) * f64::from(i) / f64::from(CANDIDATES)) as f32;
                    let reach = share(high, max.max(-min));
                    let range = if grid.symmetric {
                        [-reach, reach]
                    } else {
                        [share(low, min), share(high, max)]
                    };
                    let levels = Levels::of(grid, range).unwrap();
                    let Levels::Even { lowest, step, count } = levels else {
                        panic!()
                    };
                    if high % 5 == 0 && low % 7 == 0 {
                        let (found, expected) = (bins.divergence(lowest, step, count), brute(&statistics, &levels));
                        assert!((found - expected).abs() < 1e-9, "{range:?}: {found}, {expected}");
                    }
                    least = least.min(bins.divergence(lowest, step, count));
                }
            }
            let found = Levels::of(grid, Kl.range((&statistics).into(), grid).unwrap()).unwrap();
            assert!((brute(&statistics, &found) - least).abs() < 1e-9, "{grid:?}");
        }
    }

    #[test]
    fn an_outlier_is_clipped_and_zeros_alone_are_a_range() {
        let mut elements = bell(100_000, 1.0);
        elements.push(300.0);
        let mut statistics = Statistics::default();
        statistics.add(0, &elements);
        let [low, high] = Kl.range((&statistics).into(), ASYMMETRIC).unwrap();
        assert!(high < 100.0 && low > -10.0, "[{low}, {high}]");
        let mut zeros = Statistics::default();
        zeros.add(0, &[0.0; 9]);
        assert_eq!(Kl.range((&zeros).into(), ASYMMETRIC), Ok([0.0, 0.0]));
    }
}
