//! Histograms that merge without error.
//!
//! Bin i covers [i·2^k, (i + 1)·2^k): there is an edge at 0, and going from k to k + 1 adds whole bins in pairs, because
//! ⌊⌊x / 2^k⌋ / 2⌋ = ⌊x / 2^(k+1)⌋. The exponent k is the smallest at which the bins from min(0, x) to max(0, x) are at
//! most [`MAX_BINS`], so it is a function of the data as a set: order and grouping do not matter.

/// The largest number of bins. As widths are powers of two, between a half and all of them are in use.
pub const MAX_BINS: usize = 4096;

/// The exponent of the finest bins, where nothing but zeros was seen: 2^−150 is below every subnormal f32.
const FINEST: i16 = -150;

/// Counts in bins of width 2^exponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    exponent: i16,
    first: i64,
    counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            exponent: FINEST,
            first: 0,
            counts: Vec::new(),
        }
    }
}

/// 2^exponent; every exponent of a histogram of f32 is in the range of normal f64.
fn power(exponent: i16) -> f64 {
    f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52)
}

/// ⌊x / 2^exponent⌋, exact: scaling an f32 by a power of two is exact in f64.
fn bin(x: f64, exponent: i16) -> i64 {
    (x * power(-exponent)).floor() as i64
}

impl Histogram {
    /// A histogram of these parts, if they belong together; for reading a file.
    pub(super) fn from_parts(exponent: i16, first: i64, counts: Vec<u64>) -> Option<Histogram> {
        let last = first.checked_add(counts.len() as i64)?;
        let sane = (FINEST..=128).contains(&exponent) && counts.len() <= MAX_BINS;
        let near_zero = first.unsigned_abs() <= MAX_BINS as u64 && last.unsigned_abs() <= MAX_BINS as u64;
        (sane && near_zero).then_some(Histogram {
            exponent,
            first,
            counts,
        })
    }

    /// log2 of the width of a bin.
    pub fn exponent(&self) -> i16 {
        self.exponent
    }

    /// The index of the first stored bin.
    pub fn first(&self) -> i64 {
        self.first
    }

    /// The counts, from the first stored bin on.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The width of a bin in real units.
    pub fn width(&self) -> f64 {
        power(self.exponent)
    }

    /// The number of elements counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Lower edge and count of each bin, ascending.
    pub fn bins(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let width = self.width();
        self.counts
            .iter()
            .enumerate()
            .map(move |(i, &count)| ((self.first + i as i64) as f64 * width, count))
    }

    /// Counts the finite elements; `min` and `max` are the smallest and the largest of them.
    pub(super) fn add(&mut self, elements: &[f32], min: f32, max: f32) {
        let (min, max) = (f64::from(min), f64::from(max));
        let largest = min.abs().max(max.abs());
        // At 2^(⌊log2 largest⌋ − 12) the outermost bin has an index of 4096 or more, one too many: the search starts
        // below the answer, and no index overflows.
        let start = if largest == 0.0 {
            FINEST
        } else {
            (largest.log2().floor() as i16 - 13).max(FINEST)
        };
        self.coarsen_to(start);
        while self.span(bin(min, self.exponent), bin(max, self.exponent)) > MAX_BINS as i64 {
            self.coarsen();
        }
        self.cover(bin(min, self.exponent), bin(max, self.exponent));
        let (scale, first) = (power(-self.exponent), self.first);
        for &x in elements {
            if x.is_finite() {
                let index = (f64::from(x) * scale).floor() as i64 - first;
                self.counts[index as usize] += 1;
            }
        }
    }

    /// Adds the counts of another histogram.
    pub(super) fn merge(&mut self, other: &Histogram) {
        if other.counts.is_empty() {
            return;
        }
        let mut other = other.clone();
        self.coarsen_to(other.exponent);
        other.coarsen_to(self.exponent);
        while self.span(other.first, other.last()) > MAX_BINS as i64 {
            self.coarsen();
            other.coarsen();
        }
        self.cover(other.first, other.last());
        let offset = (other.first - self.first) as usize;
        for (count, added) in self.counts[offset..].iter_mut().zip(&other.counts) {
            *count += added;
        }
    }

    /// The last stored bin; meaningless where there is none.
    fn last(&self) -> i64 {
        self.first + self.counts.len() as i64 - 1
    }

    /// How many bins lie between the outermost of: the stored ones, `low`, `high`, and bin 0.
    fn span(&self, low: i64, high: i64) -> i64 {
        let (mut low, mut high) = (low.min(0), high.max(0));
        if !self.counts.is_empty() {
            (low, high) = (low.min(self.first), high.max(self.last()));
        }
        high - low + 1
    }

    /// Makes room for the bins from `low` to `high`, and no more: the outermost stored bins are always in use.
    fn cover(&mut self, low: i64, high: i64) {
        if self.counts.is_empty() {
            self.first = low;
            self.counts = vec![0; (high - low + 1) as usize];
            return;
        }
        if low < self.first {
            let missing = (self.first - low) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = low;
        }
        if high > self.last() {
            self.counts.resize((high - self.first + 1) as usize, 0);
        }
    }

    fn coarsen_to(&mut self, exponent: i16) {
        while self.exponent < exponent {
            if self.counts.is_empty() {
                self.exponent = exponent;
            } else {
                self.coarsen();
            }
        }
    }

    /// Doubles the width: bins 2i and 2i + 1 become bin i.
    fn coarsen(&mut self) {
        self.exponent += 1;
        if self.counts.is_empty() {
            return;
        }
        let first = self.first.div_euclid(2);
        let mut counts = vec![0; (self.last().div_euclid(2) - first + 1) as usize];
        for (index, &count) in self.counts.iter().enumerate() {
            counts[((self.first + index as i64).div_euclid(2) - first) as usize] += count;
        }
        (self.first, self.counts) = (first, counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(elements: &[f32]) -> Histogram {
        let mut h = Histogram::default();
        for x in elements {
            h.add(&[*x], *x, *x);
        }
        h
    }

    #[test]
    fn the_exponent_is_the_smallest_that_fits_the_range_with_zero() {
        // 1.0 needs bins up to ⌊1 / 2^k⌋ ≤ 4095: k = −11 gives 2048, k = −12 would give 4096.
        assert_eq!(of(&[1.0]).exponent(), -11);
        // −1.0 needs the bins from −1 / 2^k to that of zero, which is one more: k = −12 would give 4097.
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
        assert!(h.counts().len() <= MAX_BINS && h.counts()[0] > 0 && h.counts().last() > Some(&0));
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
