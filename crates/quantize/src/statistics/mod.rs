//! Statistics of one float value. They are collected before a target is chosen.
//!
//! All statistics here merge exactly: the result does not depend on the order of the samples, or on how they were split
//! over threads. So the same data always gives the same bytes.

mod channels;
mod clamped;
mod coverage;
mod file;
mod histogram;
mod leaders;
mod observation;

pub use channels::Channels;
pub use coverage::Coverage;
pub use file::{FileError, StatisticsKey, read, write};
pub use histogram::{Histogram, MAX_BINS};
pub use leaders::Leaders;
pub(crate) use leaders::rows;
pub use observation::{JoinError, Kind, Observation, Record, UnknownKind};

use strait_kernels::{Context, float};

/// The smallest and the largest element of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRange {
    /// The position of the sample in the data.
    pub sample: u64,
    /// The smallest finite element. +∞ if there is none.
    pub min: f32,
    /// The largest finite element. −∞ if there is none.
    pub max: f32,
    /// The number of elements that are NaN. These elements are counted nowhere else.
    pub nan: u64,
}

impl SampleRange {
    /// The range of a sample without elements.
    fn nothing(sample: u64) -> SampleRange {
        SampleRange {
            sample,
            min: f32::INFINITY,
            max: f32::NEG_INFINITY,
            nan: 0,
        }
    }
}

/// Statistics of one value over all samples.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Statistics {
    /// Counts in bins whose width is a power of two.
    pub histogram: Histogram,
    /// One entry per sample, in ascending order of samples.
    pub samples: Vec<SampleRange>,
    /// The number of elements that are exactly zero. Every grid represents zero without error.
    pub zeros: u64,
    /// The number of elements that are −∞, and the number that are ∞. These elements are counted nowhere else.
    pub infinite: [u64; 2],
}

/// The largest number of bytes that the bins of a histogram can take if `elements` elements are counted.
fn most_bytes_of_bins(elements: u64) -> u64 {
    elements.min(MAX_BINS as u64) * (size_of::<i16>() + size_of::<u64>()) as u64
}

/// Returns the largest number of bytes that the [`Statistics`] of a value with `elements` elements can take for
/// `samples` samples.
pub(crate) fn most_bytes(elements: u64, samples: u64) -> u64 {
    let ranges = samples.saturating_mul(size_of::<SampleRange>() as u64);
    most_bytes_of_bins(elements.saturating_mul(samples)).saturating_add(ranges)
}

/// The largest number of bytes that [`Leaders`] can take for values with `rows` rows, over `samples` samples.
pub(crate) fn most_bytes_of_leaders(rows: u64, samples: u64) -> u64 {
    2 * most_bytes_of_bins(rows.saturating_mul(samples))
}

impl Statistics {
    /// The smallest finite element, if any was seen.
    pub fn min(&self) -> Option<f32> {
        self.finite(|sample| sample.min).reduce(f32::min)
    }

    /// The largest finite element, if any was seen.
    pub fn max(&self) -> Option<f32> {
        self.finite(|sample| sample.max).reduce(f32::max)
    }

    fn finite(&self, end: fn(&SampleRange) -> f32) -> impl Iterator<Item = f32> {
        self.samples.iter().map(end).filter(|end| end.is_finite())
    }

    /// The number of elements that are NaN.
    pub fn nan(&self) -> u64 {
        self.samples.iter().fold(0, |all, one| all.saturating_add(one.nan))
    }

    /// The number of all elements.
    pub fn count(&self) -> u64 {
        let others = [self.nan(), self.infinite[0], self.infinite[1]];
        others.into_iter().fold(self.histogram.total(), u64::saturating_add)
    }

    /// True if the value was computed in runs, but was always an empty tensor.
    pub fn is_empty(&self) -> bool {
        !self.samples.is_empty() && self.count() == 0
    }

    /// Adds the elements of one sample. A sample may be added in several pieces.
    pub fn add(&mut self, sample: u64, elements: &[f32]) {
        let mut range = SampleRange::nothing(sample);
        let cx = Context::detect();
        let mut finite = 0;
        for block in elements.chunks(BLOCK) {
            if let Some(found) = float::range(&cx, block) {
                range.min = range.min.min(found.min);
                range.max = range.max.max(found.max);
                self.zeros += found.zeros;
                finite += block.len();
                continue;
            }
            for &x in block {
                if x.is_finite() {
                    range.min = range.min.min(x);
                    range.max = range.max.max(x);
                    self.zeros += u64::from(x == 0.0);
                    finite += 1;
                } else if x.is_nan() {
                    range.nan += 1;
                } else {
                    self.infinite[usize::from(x > 0.0)] += 1;
                }
            }
        }
        if finite > 0 {
            let all_finite = finite == elements.len();
            self.histogram.add((elements, all_finite), range.min, range.max);
        }
        self.add_range(range);
    }

    fn add_range(&mut self, range: SampleRange) {
        match self.samples.binary_search_by_key(&range.sample, |s| s.sample) {
            Ok(at) => {
                self.samples[at].min = self.samples[at].min.min(range.min);
                self.samples[at].max = self.samples[at].max.max(range.max);
                self.samples[at].nan = self.samples[at].nan.saturating_add(range.nan);
            }
            Err(at) => self.samples.insert(at, range),
        }
    }

    /// Adds other statistics. The order and grouping of merges do not change a single bit of the result.
    pub fn merge(&mut self, other: &Statistics) {
        self.histogram.merge(&other.histogram);
        self.zeros = self.zeros.saturating_add(other.zeros);
        for (count, added) in self.infinite.iter_mut().zip(other.infinite) {
            *count = count.saturating_add(added);
        }
        for &range in &other.samples {
            self.add_range(range);
        }
    }
}

/// The number of elements that are looked at together.
const BLOCK: usize = 4096;
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: &[(u64, Vec<f32>)]) -> Statistics {
        let mut all = Statistics::default();
        for (sample, elements) in samples {
            all.add(*sample, elements);
        }
        all
    }

    proptest! {
        #[test]
        fn the_order_and_the_grouping_of_samples_change_no_bit(
            mut data in prop::collection::vec(prop::collection::vec(prop::num::f32::ANY, 0..40), 1..8),
            split in 0usize..8,
        ) {
            let numbered: Vec<(u64, Vec<f32>)> = data.drain(..).enumerate().map(|(i, v)| (i as u64, v)).collect();
            let forward = of(&numbered);
            let mut reversed = numbered.clone();
            reversed.reverse();
            prop_assert_eq!(&forward, &of(&reversed));
            let (left, right) = numbered.split_at(split.min(numbered.len()));
            let mut merged = of(right);
            merged.merge(&of(left));
            prop_assert_eq!(&forward, &merged);
        }
    }

    #[test]
    fn elements_that_are_not_finite_are_counted_and_left_out() {
        let s = of(&[(
            0,
            vec![f32::NAN, f32::INFINITY, 0.0, f32::NEG_INFINITY, f32::INFINITY, -1.0],
        )]);
        assert_eq!((s.nan(), s.infinite, s.zeros), (1, [1, 2], 1));
        assert_eq!((s.min(), s.max()), (Some(-1.0), Some(0.0)));
        assert_eq!((s.histogram.total(), s.count(), s.is_empty()), (2, 6, false));
    }

    #[test]
    fn blocks_of_finite_elements_add_what_each_element_adds() {
        let mut elements: Vec<f32> = (0..3 * BLOCK as i32 + 37)
            .map(|i| (i % 1009 - 400) as f32 * 0.37)
            .collect();
        let each = |elements: &[f32]| {
            let mut all = Statistics::default();
            elements.chunks(1).for_each(|one| all.add(0, one));
            all
        };
        for (at, with) in [
            (0, 0.0),
            (1, -0.0),
            (5, f32::NAN),
            (BLOCK + 3, f32::INFINITY),
            (9, 1e-42),
            (11, -1e-42),
        ] {
            elements[at] = with;
            for len in [1, 15, 16, 17, 600, BLOCK, 3 * BLOCK + 37] {
                let (found, expect) = (of(&[(0, elements[..len].to_vec())]), each(&elements[..len]));
                assert_eq!(found, expect, "{at} {len}");
                let bits = |s: &Statistics| [s.min(), s.max()].map(|end| end.map(f32::to_bits));
                assert_eq!(bits(&found), bits(&expect));
            }
        }
        let scaled: Vec<f32> = elements.iter().filter(|x| x.is_finite()).map(|x| x * 1e30).collect();
        assert_eq!(of(&[(0, scaled.clone())]), each(&scaled));
        let zeros = [[-0.0; 40], [0.0; 40]].concat();
        assert_eq!(of(&[(0, zeros)]).min().map(f32::to_bits), Some((-0.0f32).to_bits()));
    }

    #[test]
    fn the_nan_of_each_sample_are_known() {
        let s = of(&[
            (4, vec![f32::NAN, 1.0, f32::NAN]),
            (2, vec![]),
            (4, vec![f32::NAN]),
            (9, vec![2.0]),
        ]);
        let by_sample: Vec<(u64, u64)> = s.samples.iter().map(|one| (one.sample, one.nan)).collect();
        assert_eq!((by_sample, s.nan()), (vec![(2, 0), (4, 3), (9, 0)], 3));
    }

    #[test]
    fn what_is_reached_without_an_element_is_empty_and_what_is_not_reached_is_not() {
        assert!(of(&[(0, vec![])]).is_empty());
        assert!(!Statistics::default().is_empty());
        assert!(
            ![vec![f32::NAN], vec![f32::INFINITY], vec![0.0]]
                .into_iter()
                .any(|one| of(&[(0, one)]).is_empty())
        );
    }
}
