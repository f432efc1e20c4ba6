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

/// Returns p·ln(p/c) for a part with c = `elements`, to which `more` clipped elements are added: p = c + `more`.
fn gained(elements: f64, more: f64) -> f64 {
    (elements + more) * ln((elements + more) / elements)
}

/// Returns Σ p·ln q over levels. `upto` has the sums of [`Bins`] at each end of a level. The clipped elements belong to
/// the outermost levels.
fn cross(upto: &[[f64; 3]], clipped: [f64; 2]) -> f64 {
    let levels = || upto.windows(2).map(|ends| [0, 1].map(|k| ends[1][k] - ends[0][k]));
    // A level without elements adds nothing, whatever its mean is.
    let means: Vec<f64> = levels().map(|[n, occupied]| (n / occupied).max(1.0)).collect();
    // In a loop that does nothing else, several logarithms are computed at the same time.
    let logarithms: Vec<f64> = means.iter().map(|&mean| ln(mean)).collect();
    let mut elements: Vec<f64> = levels().map(|[n, _]| n).collect();
    let [low, high] = clipped;
    elements.first_mut().into_iter().for_each(|n| *n += low);
    elements.last_mut().into_iter().for_each(|n| *n += high);
    (elements.iter().zip(&logarithms)).fold(0.0, |sum, (n, logarithm)| sum + n * logarithm)
}

/// A histogram, with sums over all bins before each bin.
struct Bins {
    first: f64,
    width: f64,
    /// 1 / width.
    per_width: f64,
    counts: Vec<f64>,
    /// The bins with n > 0 in ascending order. Here n is the count of a bin.
    occupied: Vec<usize>,
    /// For each bin, three sums over all bins before it: Σ n, the number of bins with n > 0, and Σ n·ln n.
    sums: Vec<[f64; 3]>,
}

impl Bins {
    fn new(histogram: &Histogram, zeros: u64) -> Bins {
        let count = |low: f64, count: u64| if low == 0.0 { count.saturating_sub(zeros) } else { count } as f64;
        let counts: Vec<f64> = histogram.bins().map(|(low, n)| count(low, n)).collect();
        let mut occupied = Vec::new();
        let mut sums = vec![[0.0; 3]];
        let mut sum = [0.0; 3];
        for (bin, &n) in counts.iter().enumerate() {
            occupied.extend((n > 0.0).then_some(bin));
            sum = [sum[0] + n, occupied.len() as f64, sum[2] + n_ln_n(n)];
            sums.push(sum);
        }
        Bins {
            first: histogram.first() as f64 * histogram.width(),
            width: histogram.width(),
            per_width: 1.0 / histogram.width(),
            counts,
            occupied,
            sums,
        }
    }

    /// The number of bins whose centres lie below x.
    fn below(&self, x: f64) -> usize {
        // Widths are powers of two, so the product is the quotient.
        let bins = ((x - self.first) * self.per_width - 0.5).clamp(0.0, self.counts.len() as f64);
        // This is `bins.ceil()`, without the call that it is on processors that may not have an instruction for it.
        let whole = bins as u32;
        (whole + u32::from(f64::from(whole) < bins)) as usize
    }

    /// The outermost occupied bins from bin `from` to the bin before `to`.
    fn outermost(&self, [from, to]: [usize; 2]) -> Option<[usize; 2]> {
        let [before, upto] = [from, to].map(|bin| self.sums[bin][1] as usize);
        let inside = self.occupied.get(before..upto)?;
        Some([*inside.first()?, *inside.last()?])
    }

    fn over(&self, [from, to]: [usize; 2]) -> [f64; 3] {
        [0, 1, 2].map(|k| self.sums[to][k] - self.sums[from][k])
    }

    /// Returns KL(P‖Q) for `count` levels that start at `lowest` and are `step` apart. Returns `None` if no bin belongs to
    /// these levels, or if the outermost levels already show that the divergence is not below `least`: if bins are joined
    /// to parts, the parts have at most the divergence of the bins. Here the parts are the two outermost levels and
    /// everything between them, which show what clipping costs. For most ranges, this is enough.
    ///
    /// Let N be the number of elements, I the number of elements that are not clipped, and p the counts of the bins
    /// including clipped elements. If a level has C elements in o occupied bins, q = C/o for each of these bins. The
    /// divergence is (Σ p·ln p − Σ p·ln q)/N − ln N + ln I.
    fn divergence(&self, lowest: f64, step: f64, count: usize, least: f64) -> Option<f64> {
        // The bins below a level.
        let below = |level: usize| self.below(lowest + (level as i64 as f64 - 0.5) * step);
        let inside = [below(0), below(count)];
        let [low, high] = self.outermost(inside)?;
        let all = self.sums[self.counts.len()][0];
        let kept = self.over(inside);
        let clipped = [self.sums[inside[0]][0], all - self.sums[inside[1]][0]];
        // If the lowest and the highest bin are the same bin, it gets the clipped elements of both sides.
        let added = match low == high {
            true => [(low, clipped[0] + clipped[1]), (high, 0.0)],
            false => [(low, clipped[0]), (high, clipped[1])],
        };
        let entropy = added.iter().fold(kept[2], |sum, &(bin, more)| {
            sum + (n_ln_n(self.counts[bin] + more) - n_ln_n(self.counts[bin]))
        });
        let of_cross = |cross: f64| Some((entropy - cross) / all - ln(all) + ln(kept[0]));
        // If the levels are closer together than the bins, each bin has a level of its own, and q is the count of the
        // bin itself.
        if step <= self.width {
            let more = |sum, &(bin, more): &(usize, f64)| sum + more * ln(self.counts[bin]);
            return of_cross(added.iter().fold(kept[2], more));
        }
        // A step is an f32 and a width a power of two, so edges and centres are exact. Since a level is wider than a bin,
        // it has the centre of at least one bin.
        let level = |bin: usize| ((self.first + (bin as f64 + 0.5) * self.width - lowest) / step + 0.5) as usize;
        let [first, last] = [low, high].map(level);
        let outer = [[inside[0], below(first + 1)], [below(last), inside[1]]].map(|bins| self.over(bins)[0]);
        let parts = match first == last {
            true => gained(outer[0], clipped[0] + clipped[1]),
            false => gained(outer[0], clipped[0]) + gained(outer[1], clipped[1]),
        };
        if parts / all + ln(kept[0] / all) > least + NOISE {
            return None;
        }
        let upto = |level: usize| self.sums[if level == first { inside[0] } else { below(level) }];
        let upto: Vec<[f64; 3]> = (first..=last + 1).map(upto).collect();
        of_cross(cross(&upto, clipped))
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
            if let Some(Levels::Even { lowest, step, count }) = levels
                && let Some(divergence) = bins.divergence(lowest, step, count, best.0)
                && divergence < best.0 - NOISE
            {
                best = (divergence, range);
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
                    let found = bins.divergence(lowest, step, count, f64::INFINITY).unwrap();
                    if high % 5 == 0 && low % 7 == 0 {
                        let expected = brute(&statistics, &levels);
                        assert!((found - expected).abs() < 1e-9, "{range:?}: {found}, {expected}");
                    }
                    least = least.min(found);
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
