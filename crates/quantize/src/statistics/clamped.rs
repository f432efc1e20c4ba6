//! Statistics of values and of what clamping them to [0, most] gives, in one pass over the values.
//!
//! A clamped value y has the elements of its operand x that lie in (0, most), and zeros and `most` in place of the others.
//! The bins of y are at most as wide as those of x, since its range is part of that of x and 0. So elements in (0, most)
//! are counted in bins of y, of which 2^n in a row are a bin of x, and all other elements in bins of x.

use super::histogram::{FEW, bin};
use super::{BLOCK, SampleRange, Statistics};
use strait_kernels::{Context, float};

impl Statistics {
    /// Adds the elements of one sample, and the same elements clamped to [0, `most`] to `clamped`. Both are then what
    /// [`Statistics::add`] would make of them. Returns false if nothing was added: if an element is not finite or −0.0, for
    /// few elements, and if bins have an unusual width.
    pub(crate) fn add_with_clamped(
        &mut self,
        sample: u64,
        elements: &[f32],
        most: f32,
        clamped: &mut Statistics,
    ) -> bool {
        let cx = Context::detect();
        if elements.len() <= FEW || most <= 0.0 {
            return false;
        }
        let (mut range, mut zeros) = (SampleRange::nothing(sample), 0);
        for block in elements.chunks(BLOCK) {
            let Some(found) = float::range(&cx, block) else {
                return false;
            };
            range.min = range.min.min(found.min);
            range.max = range.max.max(found.max);
            zeros += found.zeros;
        }
        let is_negative_zero = |x: &f32| x.to_bits() == (-0f32).to_bits();
        if zeros > 0 && elements.iter().fold(false, |any, x| any | is_negative_zero(x)) {
            return false;
        }
        let of_clamped = SampleRange {
            min: range.min.clamp(0.0, most) + 0.0,
            max: range.max.clamp(0.0, most) + 0.0,
            ..range
        };
        let [low, high] = self.histogram.make_room(range.min.min(0.0), range.max);
        let [_, last] = clamped.histogram.make_room(of_clamped.min, of_clamped.max);
        let narrower = u32::try_from(self.histogram.exponent() - clamped.histogram.exponent());
        let (Ok(narrower), Some(fine), Some(coarse)) =
            (narrower, clamped.histogram.exact_scale(), self.histogram.exact_scale())
        else {
            return false;
        };
        let (bins, high) = ((last + 1) as usize, high.max(0));
        let all = (coarse, low as i32, (high - low + 1) as usize);
        let mut inside = float::count_clamped(&cx, elements, (fine, bins, most), all);
        let mut counts = inside.split_off(bins);
        let below: u64 = counts[..(-low) as usize].iter().sum();
        let above = elements.len() as u64 - inside.iter().sum::<u64>() - below - zeros;
        for (at, count) in inside.iter().enumerate() {
            counts[((at as i64 >> narrower) - low) as usize] += count;
        }
        inside[0] += below + zeros;
        if above > 0 {
            inside[bin(most.into(), clamped.histogram.exponent()) as usize] += above;
        }
        self.histogram.add_counts(low, &counts);
        clamped.histogram.add_counts(0, &inside);
        self.zeros += zeros;
        clamped.zeros += below + zeros;
        self.add_range(range);
        clamped.add_range(of_clamped);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(samples: &[Vec<f32>], most: f32) -> [Statistics; 2] {
        let (mut x, mut y) = (Statistics::default(), Statistics::default());
        for (sample, elements) in (0..).zip(samples) {
            x.add(sample, elements);
            let clamp = |x: &f32| {
                if *x < 0.0 {
                    0.0
                } else if *x > most {
                    most
                } else {
                    *x
                }
            };
            y.add(sample, &elements.iter().map(clamp).collect::<Vec<f32>>());
        }
        [x, y]
    }

    /// `None` if a sample could not be added.
    fn at_once(samples: &[Vec<f32>], most: f32) -> Option<[Statistics; 2]> {
        let (mut x, mut y) = (Statistics::default(), Statistics::default());
        let added = (0..)
            .zip(samples)
            .all(|(sample, elements)| x.add_with_clamped(sample, elements, most, &mut y));
        added.then_some([x, y])
    }

    proptest! {
        #[test]
        fn one_pass_gives_the_statistics_of_both(
            seeds in prop::collection::vec((1u32..1000, -3f32..3.0, -12i32..6), 1..4),
            most in prop::sample::select(vec![6.0, 1.0, 1e-3, 1000.0, f32::INFINITY]),
        ) {
            let sample = |&(seed, shift, size): &(u32, f32, i32)| {
                let number = |i: u32| ((i * 7919 + seed) % 1009) as f32 / 500.0 - 1.0 + shift;
                (0..700 + seed).map(|i| if i % 13 == 0 { 0.0 } else { number(i) * 2f32.powi(size) }).collect()
            };
            let samples: Vec<Vec<f32>> = seeds.iter().map(sample).collect();
            match at_once(&samples, most) {
                Some(found) => prop_assert_eq!(found, both(&samples, most)),
                // As long as no element is above zero, the bins of the clamped elements are the finest.
                None => prop_assert!(samples.iter().any(|elements| elements.iter().all(|x| *x <= 0.0))),
            }
        }
    }

    #[test]
    fn signs_and_ends_are_those_of_two_passes() {
        let ramp = |from: f32, to: f32| {
            (0..1000)
                .map(|i| from + (to - from) * i as f32 / 999.0)
                .collect::<Vec<f32>>()
        };
        for (from, to) in [(-1.0, 1.0), (0.5, 20.0), (0.0, 6.0), (7.0, 8.0)] {
            let samples = [ramp(from, to)];
            let found = at_once(&samples, 6.0).map(|both| both.map(|s| format!("{s:?}")));
            assert_eq!(
                found,
                Some(both(&samples, 6.0).map(|s| format!("{s:?}"))),
                "{from} {to}"
            );
        }
        for odd in [-0.0, f32::NAN, f32::INFINITY] {
            let mut with = ramp(-1.0, 1.0);
            with[7] = odd;
            assert_eq!(at_once(&[with], 6.0), None);
        }
        assert_eq!(at_once(&[vec![1.0; FEW]], 6.0), None);
        assert_eq!(at_once(&[ramp(-9.0, -1.0)], 6.0), None);
    }
}
