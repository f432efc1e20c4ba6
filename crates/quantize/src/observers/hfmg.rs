//! The observer HFMG of Ascend's tools.

use super::density::Density;
use super::levels::Levels;
use super::{GridKind, Observer, ValueStatistics, by_farther_end, extremes};
use crate::statistics::{Histogram, MAX_BINS};
use strait_core::Reason;
use strait_target::spec::ObserverOptions;

/// Starts with the whole histogram of B bins, and drops bins at its ends until B/4 are left. In each step, it finds the
/// bins at each end that together hold a hundred-thousandth of all elements. It drops these bins at one end only: at
/// the end where there are more of them, or at the upper end if there are equally many. The interval [l, r] that is
/// left after a step is called a remainder. The range is the remainder with the smallest error, or the first one if
/// several have the same error. To compute the error, the remainder is divided into 2^b cells of equal width for codes
/// of b bits. The centres of the cells are the levels, and the density in each bin is taken as uniform.
///
/// **Source.** AMCT's HFMG ("histogram-based feature map guidance"), for activations on Ascend.
///
/// **Distance from the documented rule.** AMCT puts 1,024 to 8,192 bins over the range of a batch, and splits counts
/// when it merges batches whose bins do not match. Here bins have widths of 2^k and merge exactly. If the settings
/// limit the number of bins to B, B/2 to B bins cover the range including zero. Without this setting, there are at most
/// 4,096 bins. Here the whole histogram also counts as a remainder, and the range never extends beyond the elements
/// that were seen. A symmetric grid reaches on both sides as far as the end of the remainder that is farther from zero.
///
/// **Precondition.** The codes are integers.
#[derive(Clone, Copy, Debug)]
pub struct Hfmg {
    most: usize,
}

impl Hfmg {
    /// The observer with `bins` from the settings.
    pub fn new(options: &ObserverOptions) -> Hfmg {
        Hfmg {
            most: options.bins.map_or(MAX_BINS, |bins| bins as usize),
        }
    }
}

/// The bins of a histogram: their counts, the index of the first bin, and their width.
struct Bins {
    counts: Vec<u64>,
    first: i64,
    width: f64,
}

impl Bins {
    /// The bins of a histogram, merged in pairs until there are at most `most`.
    fn of(histogram: &Histogram, most: usize) -> Bins {
        let mut bins = Bins {
            counts: histogram.bins().map(|(_, count)| count).collect(),
            first: histogram.first(),
            width: histogram.width(),
        };
        while bins.counts.len() > most.max(2) {
            // Zero has to stay at the edge of a bin.
            let odd = bins.first.rem_euclid(2) == 1;
            let counts: Vec<u64> = std::iter::repeat_n(0, usize::from(odd)).chain(bins.counts).collect();
            bins.counts = counts
                .chunks(2)
                .map(|pair| pair.iter().fold(0, |sum: u64, count| sum.saturating_add(*count)))
                .collect();
            (bins.first, bins.width) = (bins.first.div_euclid(2), 2.0 * bins.width);
        }
        bins
    }
}

/// Counts bins from one end until they together hold at least `wanted` elements, and returns this number of bins.
fn given_up(mut bins: impl Iterator<Item = u64>, wanted: u64) -> usize {
    let mut sum = 0u64;
    let before = bins.by_ref().take_while(|count| {
        sum = sum.saturating_add(*count);
        sum < wanted
    });
    before.count() + 1
}

/// The remainders that the search tries, each as its first and last bin.
fn remainders(counts: &[u64]) -> Vec<[usize; 2]> {
    let total = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
    let (wanted, least) = (total.div_ceil(100_000).max(1), counts.len().div_ceil(4));
    let (mut low, mut high) = (0, counts.len().saturating_sub(1));
    let mut found = vec![[low, high]];
    while high - low > least {
        let left = given_up(counts[low..=high].iter().copied(), wanted);
        let right = given_up(counts[low..=high].iter().rev().copied(), wanted);
        let dropped = left.max(right);
        if dropped > high - low {
            break;
        }
        if left > right {
            low += left;
        } else {
            high -= right;
        }
        found.push([low, high]);
    }
    found
}

impl Observer for Hfmg {
    fn range(&self, seen: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        let statistics = seen.elements;
        let [min, max] = extremes(statistics)?;
        let histogram = &statistics.histogram;
        let Bins { counts, first, width } = Bins::of(histogram, self.most);
        let first = first as f64 * width;
        let density = Density::new(histogram, 0);
        let cells = usize::try_from(grid.codes[1] - grid.codes[0] + 1).unwrap_or(usize::MAX);
        let mut best = (f64::INFINITY, [min, max]);
        for [low, high] in remainders(&counts) {
            let step = width * (high - low + 1) as f64 / cells as f64;
            let from = first + low as f64 * width;
            let error = density.squared_error(&Levels::Even {
                lowest: from + step / 2.0,
                step,
                count: cells,
            });
            if error < best.0 {
                let to = first + (high + 1) as f64 * width;
                best = (error, [from as f32, to as f32].map(|end| end.clamp(min, max)));
            }
        }
        Ok(by_farther_end(best.1, grid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::tests::{ASYMMETRIC, bell};
    use crate::statistics::Statistics;

    const FOUR_BITS: GridKind = GridKind {
        codes: [-8, 7],
        ..ASYMMETRIC
    };

    fn hfmg(bins: Option<u32>) -> Hfmg {
        Hfmg::new(&ObserverOptions {
            bins,
            ..ObserverOptions::default()
        })
    }

    #[test]
    fn fewer_bins_are_the_same_elements_in_wider_ones() {
        let mut statistics = Statistics::default();
        statistics.add(0, &bell(10_000, 3.0));
        let whole = Bins::of(&statistics.histogram, MAX_BINS);
        for most in [256, 1000, 2048] {
            let fewer = Bins::of(&statistics.histogram, most);
            assert!(
                (most / 2..=most).contains(&fewer.counts.len()),
                "{most}: {}",
                fewer.counts.len()
            );
            assert_eq!(fewer.counts.iter().sum::<u64>(), 10_000);
            let times = fewer.width / whole.width;
            // Each bin of `whole` belongs to the bin of `fewer` that contains its lower edge.
            let mut expected = vec![0; fewer.counts.len()];
            for (index, count) in whole.counts.iter().enumerate() {
                let edge = (whole.first + index as i64) as f64 / times;
                expected[(edge.floor() - fewer.first as f64) as usize] += count;
            }
            assert_eq!(fewer.counts, expected);
        }
        let of = |bins| hfmg(bins).range((&statistics).into(), FOUR_BITS).unwrap();
        let (whole, fewer) = (of(None), of(Some(512)));
        assert!(
            whole != fewer && (whole[1] - fewer[1]).abs() < 0.1,
            "{whole:?} {fewer:?}"
        );
    }

    #[test]
    fn bins_are_dropped_where_more_of_them_go() {
        // Each step gives up at least one of 20 elements. This is 1 bin if the first bin has an element, and 3 bins if
        // the first two are empty.
        let counts = [1, 0, 0, 5, 9, 4, 1];
        assert_eq!(given_up(counts.iter().copied(), 1), 1);
        assert_eq!(given_up(counts[1..].iter().copied(), 1), 3);
        // At [0, 6], both sides would give up 1 bin, and the upper one is removed. The same happens again until three
        // bins are left.
        assert_eq!(remainders(&counts), [[0, 6], [0, 5], [0, 4], [0, 3], [0, 2]]);
        assert_eq!(remainders(&[0, 0, 7, 7, 7, 7, 7, 7]), [[0, 7], [3, 7], [3, 6], [3, 5]]);
        assert_eq!(remainders(&[3]), [[0, 0]]);
    }

    #[test]
    fn a_rare_outlier_is_left_out() {
        let mut elements = bell(100_000, 1.0);
        elements.push(60.0);
        let mut statistics = Statistics::default();
        statistics.add(0, &elements);
        let [low, high] = hfmg(None).range((&statistics).into(), FOUR_BITS).unwrap();
        assert!(low > -3.0 && high < 3.0, "[{low}, {high}]");
    }

    /// Compares the result with trying every remainder, where the error is computed from many points in each bin.
    #[test]
    fn the_remainder_is_the_best_of_those_that_are_tried() {
        let elements = bell(300, 2.0);
        let mut statistics = Statistics::default();
        statistics.add(0, &elements);
        let histogram = &statistics.histogram;
        let bins: Vec<(f64, u64)> = histogram.bins().collect();
        let counts: Vec<u64> = bins.iter().map(|(_, count)| *count).collect();
        let error = |[low, high]: [f64; 2]| {
            let cell = (high - low) / 16.0;
            let points = bins.iter().flat_map(|&(edge, count)| {
                (0..8).map(move |i| {
                    (
                        edge + histogram.width() * (f64::from(i) + 0.5) / 8.0,
                        count as f64 / 8.0,
                    )
                })
            });
            let distance = |x: f64| x - (low + (((x - low) / cell).floor().clamp(0.0, 15.0) + 0.5) * cell);
            points.map(|(x, count)| count * distance(x).powi(2)).sum::<f64>()
        };
        let edges = |[low, high]: [usize; 2]| [bins[low].0, bins[high].0 + histogram.width()];
        let least = remainders(&counts)
            .into_iter()
            .map(|r| error(edges(r)))
            .fold(f64::INFINITY, f64::min);
        let found = hfmg(None)
            .range((&statistics).into(), FOUR_BITS)
            .unwrap()
            .map(f64::from);
        assert!(error(found) <= 1.01 * least, "{} {least}", error(found));
    }
}
