//! The bootstrap: computes a statistic on many sets that are drawn from the samples, with replacement.
//!
//! If two models are compared, both of them are measured on the same drawn sets, so that their difference does not
//! depend on how hard the drawn samples are. The generator and its seed are fixed, so the same samples give the same
//! interval on every machine.

use crate::interval::Spread;

/// Number of sets that are drawn for one interval.
const RESAMPLES: usize = 1000;

/// The random generator SplitMix64 (Steele, Lea and Flood 2014), with seed 0.
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number below `end`. It is the upper half of the 128-bit product of `end` and a random number of
    /// 64 bits. The distribution of these numbers is almost uniform: its bias is below end / 2^64.
    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

/// Returns the distribution of a statistic over the drawn sets. The function `statistic` gets, for each sample, how
/// often it was drawn. A set for which the statistic is not finite is left out, for example a set without any object.
pub(crate) fn drawn(samples: usize, mut statistic: impl FnMut(&[u32]) -> f64) -> Spread {
    let [spread] = together(samples, |weights| [statistic(weights)]);
    spread
}

/// The distributions of several statistics over the same drawn sets.
pub(crate) fn together<const N: usize>(samples: usize, mut statistics: impl FnMut(&[u32]) -> [f64; N]) -> [Spread; N] {
    let mut found: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(RESAMPLES));
    let mut generator = Generator(0);
    let mut weights = vec![0u32; samples];
    for _ in 0..RESAMPLES {
        // If there is only one sample, all drawn sets are the same.
        if samples < 2 {
            break;
        }
        weights.fill(0);
        for _ in 0..samples {
            if let Some(weight) = weights.get_mut(generator.below(samples)) {
                *weight += 1;
            }
        }
        for (found, value) in found.iter_mut().zip(statistics(&weights)) {
            if value.is_finite() {
                found.push(value);
            }
        }
    }
    found.map(|mut found| {
        if found.len() < RESAMPLES / 2 {
            return Spread::Unknown;
        }
        found.sort_by(f64::total_cmp);
        Spread::Drawn(found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut generator = Generator(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| generator.next()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn a_mean_spreads_as_theory_says() {
        let numbers: Vec<f64> = (0..400).map(|i| f64::from(i * 7919 % 1000) / 1000.0).collect();
        let mean = numbers.iter().sum::<f64>() / 400.0;
        let spread = drawn(400, |weights| {
            weights
                .iter()
                .zip(&numbers)
                .map(|(&w, x)| f64::from(w) * x)
                .sum::<f64>()
                / 400.0
        });
        let Some([low, high]) = spread.interval(mean) else {
            panic!("no interval")
        };
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 399.0;
        let half = 1.96 * (variance / 400.0).sqrt();
        assert!((low - (mean - half)).abs() < 0.2 * half && (high - (mean + half)).abs() < 0.2 * half);
    }

    #[test]
    fn few_samples_and_what_is_never_finite_have_no_spread() {
        assert_eq!(drawn(1, |_| 1.0), Spread::Unknown);
        assert_eq!(drawn(9, |_| f64::NAN), Spread::Unknown);
    }
}
