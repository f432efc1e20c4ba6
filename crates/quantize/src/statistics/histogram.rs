//! Histograms that merge exactly.
//!
//! Bin i covers [i·2^k, (i + 1)·2^k). So there is an edge at 0, and going from k to k + 1 merges whole bins in pairs,
//! because ⌊⌊x / 2^k⌋ / 2⌋ = ⌊x / 2^(k+1)⌋. The exponent k is the smallest one with which at most [`MAX_BINS`] bins
//! cover all elements and 0. So k depends only on the elements themselves, not on their order or grouping.

use strait_kernels::{Context, float};

/// The largest number of bins. Widths are powers of two, so the number of bins that cover the range lies between half
/// of this limit and this limit.
pub const MAX_BINS: usize = 4096;

/// The exponent of the finest bins. It is used if only zeros were seen. 2^−150 is smaller than every subnormal f32.
const FINEST: i16 = -150;

/// The largest number of elements whose bins are found by sorting. If there are more elements, they are counted in an
/// array with an entry for every bin.
pub(super) const FEW: usize = 512;

/// From this exponent up to 0, the factor 2^−exponent is a normal f32 of at least 1, with which every product is exact.
const SHORTEST: i16 = -127;

/// Counts of elements in bins of width 2^exponent.
///
/// Only bins with elements are stored. So a small tensor takes little memory, even if its range is large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    exponent: i16,
    /// The indices of the bins with elements, in ascending order. Their magnitudes are at most [`MAX_BINS`].
    indices: Vec<i16>,
    /// For each bin in `indices`, the number of elements.
    counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            exponent: FINEST,
            indices: Vec::new(),
            counts: Vec::new(),
        }
    }
}

/// 2^exponent. For every exponent of a histogram of f32, this is a normal f64.
fn power(exponent: i16) -> f64 {
    f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52)
}

/// ⌊x / 2^exponent⌋. It is exact, because scaling an f32 by a power of two is exact in f64.
pub(super) fn bin(x: f64, exponent: i16) -> i64 {
    floor(x * power(-exponent))
}

/// Returns ⌊x⌋ for a number x that fits i64. The conversion to i64 truncates towards zero, which is one too high for
/// negative numbers that are not integers; this function corrects that.
fn floor(x: f64) -> i64 {
    let whole = x as i64;
    whole.saturating_sub(i64::from(x < whole as f64))
}

impl Histogram {
    /// A histogram with the bins and counts in `bins`. `None` if the bins are not consistent. Used for reading a file.
    pub(super) fn from_parts(exponent: i16, bins: Vec<(i16, u64)>) -> Option<Histogram> {
        let ascending = bins.windows(2).all(|two| two[0].0 < two[1].0);
        let near_zero = bins
            .iter()
            .all(|(index, _)| usize::from(index.unsigned_abs()) <= MAX_BINS);
        let sane = (FINEST..=128).contains(&exponent) && bins.len() <= MAX_BINS;
        let filled = bins.iter().all(|(_, count)| *count > 0);
        let countable = bins
            .iter()
            .try_fold(0u64, |sum, (_, count)| sum.checked_add(*count))
            .is_some();
        (ascending && near_zero && sane && filled && countable).then(|| {
            let (indices, counts) = bins.into_iter().unzip();
            Histogram {
                exponent,
                indices,
                counts,
            }
        })
    }

    /// log2 of the width of a bin.
    pub fn exponent(&self) -> i16 {
        self.exponent
    }

    /// The index of the first bin with elements. 0 if there is none.
    pub fn first(&self) -> i64 {
        self.indices.first().copied().map_or(0, i64::from)
    }

    /// The bins with elements, in ascending order, with their counts.
    pub fn occupied(&self) -> impl ExactSizeIterator<Item = (i16, u64)> + '_ {
        self.indices.iter().copied().zip(self.counts.iter().copied())
    }

    /// The width of a bin in real units.
    pub fn width(&self) -> f64 {
        power(self.exponent)
    }

    /// The number of counted elements.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Lower edge and count of each bin with elements, in ascending order.
    pub fn filled(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let width = self.width();
        self.occupied()
            .map(move |(index, count)| (f64::from(index) * width, count))
    }

    /// Lower edge and count of each bin, from the first to the last one with elements, in ascending order.
    pub fn bins(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let width = self.width();
        let mut occupied = self.occupied().peekable();
        let last = if self.indices.is_empty() { -1 } else { self.last() };
        (self.first()..=last).map(move |index| {
            let here = occupied.next_if(|(occupied, _)| i64::from(*occupied) == index);
            (index as f64 * width, here.map_or(0, |(_, count)| count))
        })
    }

    /// Makes the bins so wide that elements from `min` to `max` can be counted too. Returns the bins of both.
    pub(super) fn make_room(&mut self, min: f32, max: f32) -> [i64; 2] {
        let (min, max) = (f64::from(min), f64::from(max));
        let largest = min.abs().max(max.abs());
        // With the exponent ⌊log2 largest⌋ − 12, the outermost bin would have an index of at least 4096, which is one
        // too many. So the search starts with an exponent that is too small but with which no index overflows.
        let start = if largest == 0.0 {
            FINEST
        } else {
            (largest.log2().floor() as i16 - 13).max(FINEST)
        };
        self.coarsen_to(start);
        while self.span(bin(min, self.exponent), bin(max, self.exponent)) > MAX_BINS as i64 {
            self.coarsen();
        }
        [bin(min, self.exponent), bin(max, self.exponent)]
    }

    /// The factor 1 / width, if it is an f32 of at least 1 with which every product is exact.
    pub(super) fn exact_scale(&self) -> Option<f32> {
        (SHORTEST..=0)
            .contains(&self.exponent)
            .then(|| power(-self.exponent) as f32)
    }

    /// Counts the finite elements. `min` and `max` are the smallest and the largest of them. `all_finite` says that there
    /// are no others.
    pub(super) fn add(&mut self, (elements, all_finite): (&[f32], bool), min: f32, max: f32) {
        let [low, high] = self.make_room(min, max);
        let (scale, bins) = (power(-self.exponent), (high - low + 1) as usize);
        let finite = elements.iter().filter(|x| x.is_finite());
        // The span is at most MAX_BINS and contains bin 0, so every index fits into i16.
        let index = |x: &f32| floor(f64::from(*x) * scale);
        if elements.len() <= FEW {
            let (mut indices, mut len) = ([0; FEW], 0);
            for (place, x) in indices.iter_mut().zip(finite) {
                *place = index(x) as i16;
                len += 1;
            }
            let indices = &mut indices[..len];
            indices.sort_unstable();
            self.absorb(indices.chunk_by(i16::eq).map(|same| (same[0], same.len() as u64)));
        } else if let Some(scale) = self.exact_scale().filter(|_| all_finite) {
            let counts = float::count_in_bins(&Context::detect(), elements, scale, low as i32, bins);
            self.add_counts(low, &counts);
        } else {
            let mut counts = vec![0u64; bins];
            finite.for_each(|x| counts[(index(x) - low) as usize] += 1);
            self.add_counts(low, &counts);
        }
    }

    /// Adds the counts of consecutive bins from `low` on, for which there is room.
    pub(super) fn add_counts(&mut self, low: i64, counts: &[u64]) {
        let all = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        self.absorb(all.map(|(at, &count)| ((low + at as i64) as i16, count)));
    }

    /// Adds the counts of another histogram.
    pub(super) fn merge(&mut self, other: &Histogram) {
        if other.indices.is_empty() {
            return;
        }
        let mut other = other.clone();
        self.coarsen_to(other.exponent);
        other.coarsen_to(self.exponent);
        while self.span(other.first(), other.last()) > MAX_BINS as i64 {
            self.coarsen();
            other.coarsen();
        }
        self.absorb(other.occupied());
    }

    /// Adds the counts of bins with the same width. The bins must be in ascending order.
    fn absorb(&mut self, bins: impl Iterator<Item = (i16, u64)>) {
        // After a few samples, nearly every bin has elements already.
        let mut at = 0;
        let mut new = Vec::new();
        for (index, added) in bins {
            while self.indices.get(at).is_some_and(|own| *own < index) {
                at += 1;
            }
            if self.indices.get(at) == Some(&index) {
                self.counts[at] = self.counts[at].saturating_add(added);
            } else {
                new.push((index, added));
            }
        }
        if !new.is_empty() {
            self.insert(new);
        }
    }

    /// Inserts bins that had no elements before. They must be in ascending order.
    fn insert(&mut self, mut bins: Vec<(i16, u64)>) {
        let mut own = self.indices.len();
        let all = own + bins.len();
        self.indices.reserve_exact(bins.len());
        self.counts.reserve_exact(bins.len());
        self.indices.resize(all, 0);
        self.counts.resize(all, 0);
        // From the last bin on, each bin is moved to its place before its old place is needed for another one.
        for to in (0..all).rev() {
            if bins.is_empty() {
                break;
            }
            let new = bins.pop_if(|(new, _)| own == 0 || self.indices[own - 1] < *new);
            let (index, count) = new.unwrap_or_else(|| {
                own -= 1;
                (self.indices[own], self.counts[own])
            });
            (self.indices[to], self.counts[to]) = (index, count);
        }
    }

    /// The index of the last bin with elements. 0 if there is none.
    pub fn last(&self) -> i64 {
        self.indices.last().copied().map_or(0, i64::from)
    }

    /// Returns the number of bins in the smallest range of bins that includes all bins with elements, the bins `low`
    /// and `high`, and bin 0.
    fn span(&self, low: i64, high: i64) -> i64 {
        high.max(self.last()).max(0) - low.min(self.first()).min(0) + 1
    }

    fn coarsen_to(&mut self, exponent: i16) {
        while self.exponent < exponent {
            if self.indices.is_empty() {
                self.exponent = exponent;
            } else {
                self.coarsen();
            }
        }
    }

    /// Doubles the width: bins 2i and 2i + 1 become bin i.
    fn coarsen(&mut self) {
        self.exponent += 1;
        let mut kept = 0;
        for at in 0..self.indices.len() {
            let (index, count) = (self.indices[at].div_euclid(2), self.counts[at]);
            if kept > 0 && self.indices[kept - 1] == index {
                self.counts[kept - 1] = self.counts[kept - 1].saturating_add(count);
            } else {
                (self.indices[kept], self.counts[kept]) = (index, count);
                kept += 1;
            }
        }
        self.indices.truncate(kept);
        self.counts.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(elements: &[f32]) -> Histogram {
        let mut h = Histogram::default();
        for x in elements {
            h.add((&[*x], true), *x, *x);
        }
        h
    }

    #[test]
    fn the_exponent_is_the_smallest_that_fits_the_range_with_zero() {
        // 1.0 needs bins up to ⌊1 / 2^k⌋ ≤ 4095: k = −11 gives 2048, k = −12 would give 4096.
        assert_eq!(of(&[1.0]).exponent(), -11);
        // −1.0 needs the bins from −1 / 2^k to bin 0, one bin more than 1 / 2^k: k = −12 would give 4097.
        assert_eq!(of(&[-1.0]).exponent(), -11);
        assert_eq!(of(&[1.0, -1.0]).exponent(), -10);
        assert_eq!(of(&[0.0]).exponent(), FINEST);
        assert_eq!(of(&[f32::MAX]).exponent(), 116);
    }

    #[test]
    fn growing_by_many_powers_keeps_every_count() {
        let elements = [0.0, 1e-45, -1e-45, 1e-20, 3.0, -7.5, 1e30, f32::MAX, f32::MIN];
        let h = of(&elements);
        assert_eq!(h.total(), elements.len() as u64);
        let mut reversed = elements;
        reversed.reverse();
        assert_eq!(of(&reversed), h);
        let bins: Vec<(f64, u64)> = h.bins().collect();
        assert!(bins.len() <= MAX_BINS && bins[0].1 > 0 && bins[bins.len() - 1].1 > 0);
        assert_eq!(bins.iter().filter(|(_, count)| *count > 0).count(), h.occupied().len());
    }

    /// Few elements are sorted, and many are counted. Both ways give the same bins as adding the elements one by one.
    #[test]
    fn the_way_of_counting_changes_no_bin() {
        let elements: Vec<f32> = (0..3 * FEW).map(|i| ((i * 7919) % 1009) as f32 / 64.0 - 3.0).collect();
        let (min, max) = elements.iter().fold((0f32, 0f32), |(a, b), x| (a.min(*x), b.max(*x)));
        let (mut whole, mut pieces) = (Histogram::default(), Histogram::default());
        whole.add((&elements, true), min, max);
        elements
            .chunks(FEW / 2)
            .for_each(|piece| pieces.add((piece, false), min, max));
        assert_eq!(whole, pieces);
        assert_eq!(whole, of(&elements));
    }

    #[test]
    fn an_element_lies_in_its_bin() {
        let h = of(&[0.3, 0.7, -0.2]);
        for x in [0.3f32, 0.7, -0.2] {
            let x = f64::from(x);
            let hit = h
                .bins()
                .any(|(low, count)| count > 0 && low <= x && x < low + h.width());
            assert!(hit, "{x} is in no bin");
        }
    }
}
