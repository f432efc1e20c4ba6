//! Confidence intervals for the difference between two models on the same samples.
//!
//! | spread | what is compared | interval |
//! |---|---|---|
//! | [`Spread::Counted`] | percentage of right answers | Agresti and Min (2005): half a sample is added to each of the four outcomes (each of the two models is right or wrong), so that a few samples without a difference do not prove that there is none |
//! | [`Spread::Alike`] | percentage of equal answers | Wilson's interval of that percentage |
//! | [`Spread::AlikeInClusters`] | percentage of equal answers, of which a sample has several | Wilson's interval for the number of independent answers that would be as certain (`clusters.rs`) |
//! | [`Spread::Clustered`] | a mean over answers, of which a sample has several | Student's t, with the samples as clusters (`clusters.rs`) |
//! | [`Spread::Mean`] | mean over samples | Student's t of the differences for each sample |
//! | [`Spread::Normal`] | a statistic whose variance has a formula | normal |
//! | [`Spread::Drawn`] | everything else | percentiles of a bootstrap over samples (`resample.rs`) |

use crate::{
    clusters::{Cluster, ClusteredShare, ratio},
    proportion::{Paired, Proportion},
    quantiles::{normal_quantile, t_quantile},
};

/// The distribution of a measured difference. The confidence interval of the difference follows from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Spread {
    /// The distribution is not known.
    #[default]
    Unknown,
    /// The number of samples on which only one of the two models is right. The difference is in percentage points.
    Counted(Paired),
    /// The fraction of samples on which the two models agree. The difference is the percentage of the other samples.
    Alike(Proportion),
    /// Like `Alike`, for samples that have several answers.
    AlikeInClusters(ClusteredShare),
    /// A mean over answers, of which a sample has several. It has Student's t distribution.
    Clustered {
        /// Standard error of the mean.
        error: f64,
        /// Number of samples.
        samples: usize,
    },
    /// The mean over samples of a difference. It has Student's t distribution.
    Mean {
        /// Standard error of the mean.
        error: f64,
        /// Number of samples.
        samples: usize,
    },
    /// A normal distribution with this standard error.
    Normal(f64),
    /// The differences found on resampled sets, in ascending order.
    Drawn(Vec<f64>),
}

impl Spread {
    /// The mean of `differences`, summed in their order, and the distribution of this mean.
    pub fn of_mean(differences: &[f64]) -> (f64, Spread) {
        let samples = differences.len();
        let mean = differences.iter().sum::<f64>() / samples.max(1) as f64;
        if samples < 2 {
            return (mean, Spread::Unknown);
        }
        let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
        let error = (squares / (samples - 1) as f64 / samples as f64).sqrt();
        (mean, Spread::Mean { error, samples })
    }

    /// The difference in percentage points between the shares of two models on the same samples. For each sample, `pairs`
    /// has the counts of the first and of the second model, and the number of answers.
    ///
    /// If no sample differs, the answers say nothing about how they depend on each other. Then each sample counts as one
    /// answer without a difference ([`Spread::Counted`]).
    pub fn of_change(pairs: &[([u64; 2], u64)]) -> (f64, Spread) {
        let counted = pairs.iter().filter(|(_, of)| *of > 0);
        let clusters: Vec<Cluster> = counted
            .map(|&([before, after], of)| (after as f64 - before as f64, of as f64))
            .collect();
        let (difference, answers) = clusters
            .iter()
            .fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        // A single rounding, so that a gate that allows exactly this loss is met.
        let value = 100.0 * difference / f64::max(answers, 1.0);
        let samples = clusters.len();
        if clusters.iter().all(|(difference, _)| *difference == 0.0) {
            let none = Paired {
                gained: 0,
                lost: 0,
                samples: samples as u64,
            };
            let spread = if samples > 1 {
                Spread::Counted(none)
            } else {
                Spread::Unknown
            };
            return (value, spread);
        }
        let spread = ratio(&clusters)
            .1
            .map_or(Spread::Unknown, |variance| Spread::Clustered {
                error: 100.0 * variance.sqrt(),
                samples,
            });
        (value, spread)
    }

    /// Standard error of the difference.
    pub fn standard_error(&self) -> Option<f64> {
        match self {
            Spread::Unknown => None,
            Spread::Counted(paired) => paired.standard_error(),
            Spread::Alike(share) => {
                let (n, p) = (share.samples as f64, share.percent() / 100.0);
                (n > 1.0).then(|| 100.0 * (p * (1.0 - p) / n).sqrt())
            }
            Spread::AlikeInClusters(share) => share.standard_error(),
            Spread::Mean { error, .. } | Spread::Clustered { error, .. } | Spread::Normal(error) => Some(*error),
            Spread::Drawn(drawn) => {
                let n = drawn.len() as f64;
                let mean = drawn.iter().sum::<f64>() / n;
                let squares: f64 = drawn.iter().map(|difference| (difference - mean).powi(2)).sum();
                (n > 1.0).then(|| (squares / (n - 1.0)).sqrt())
            }
        }
    }

    /// The number below which the true difference lies with probability `p`, if `value` is the measured difference.
    pub fn quantile(&self, value: f64, p: f64) -> Option<f64> {
        match self {
            Spread::Unknown => None,
            Spread::Counted(paired) => {
                let (gained, lost) = (paired.gained as f64 + 0.5, paired.lost as f64 + 0.5);
                let n = paired.samples as f64 + 2.0;
                let difference = (gained - lost) / n;
                let variance = ((gained + lost) / n - difference * difference) / n;
                let end = difference + normal_quantile(p) * variance.sqrt();
                (paired.samples > 0).then(|| 100.0 * end.clamp(-1.0, 1.0))
            }
            Spread::Alike(share) => {
                let [low, high] = share.interval_at(normal_quantile(p).abs());
                (share.samples > 0).then_some(if p < 0.5 { low - 100.0 } else { high - 100.0 })
            }
            Spread::AlikeInClusters(share) => share.quantile(p).map(|end| end - 100.0),
            Spread::Mean { error, samples } | Spread::Clustered { error, samples } => {
                Some(value + t_quantile(p, samples.saturating_sub(1)) * error)
            }
            Spread::Normal(error) => Some(value + normal_quantile(p) * error),
            Spread::Drawn(drawn) => {
                // The quantile is interpolated linearly between neighbours in the sorted list, as numpy.quantile does
                // by default.
                let at = p * drawn.len().checked_sub(1)? as f64;
                let (low, rest) = (at.floor() as usize, at.fract());
                let below = *drawn.get(low)?;
                let above = drawn.get(low + 1).copied().unwrap_or(below);
                Some(below + rest * (above - below))
            }
        }
    }

    /// The two-sided 95 % confidence interval around the measured difference `value`.
    pub fn interval(&self, value: f64) -> Option<[f64; 2]> {
        Some([self.quantile(value, 0.025)?, self.quantile(value, 0.975)?])
    }

    /// How the interval is computed, in a few words for a report.
    pub fn by(&self) -> Option<&'static str> {
        Some(match self {
            Spread::Unknown => return None,
            Spread::Counted(_) => "paired counts (Agresti and Min)",
            Spread::Alike(_) => "the share's own (Wilson)",
            Spread::AlikeInClusters(_) => "the share's own (Wilson), samples as clusters",
            Spread::Clustered { .. } => "paired differences (Student's t), samples as clusters",
            Spread::Mean { .. } => "paired differences (Student's t)",
            Spread::Normal(_) => "paired placements (DeLong)",
            Spread::Drawn(_) => "paired bootstrap over samples, 1000 resamples",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_the_t_interval_of_its_differences() {
        let (mean, spread) = Spread::of_mean(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let [low, high] = spread.interval(mean).unwrap();
        // By hand: 3.5 ± 2.5706 · √(3.5 / 6).
        assert!(
            (low - 1.536_68).abs() < 2e-3 && (high - 5.463_32).abs() < 2e-3,
            "{low} {high}"
        );
        assert_eq!(Spread::of_mean(&[2.0]).1.interval(2.0), None);
        assert_eq!(Spread::of_mean(&[2.0, 2.0]).1.interval(2.0), Some([2.0, 2.0]));
    }

    #[test]
    fn counts_without_a_difference_still_have_an_interval() {
        // Agresti and Min (2005) add 0.5 to each of the four cells. With 10 samples the total becomes 12.
        let none = Spread::Counted(Paired {
            gained: 0,
            lost: 0,
            samples: 10,
        });
        let [low, high] = none.interval(0.0).unwrap();
        let expected = 100.0 * 1.959_964 * (1.0f64 / 12.0 / 12.0).sqrt();
        assert!(
            (low + expected).abs() < 1e-4 && (high - expected).abs() < 1e-4,
            "{low} {high}"
        );
        let some = Spread::Counted(Paired {
            gained: 3,
            lost: 7,
            samples: 100,
        });
        let [low, high] = some.interval(-4.0).unwrap();
        assert!(low < -4.0 && high > -4.0 && low > -12.0 && high < 4.0, "{low} {high}");
    }

    #[test]
    fn what_is_drawn_has_the_percentiles_of_the_draws() {
        let drawn = Spread::Drawn((0..=1000).map(f64::from).collect());
        assert_eq!(drawn.interval(0.0), Some([25.0, 975.0]));
        assert_eq!(drawn.quantile(0.0, 0.0505), Some(50.5));
        assert_eq!(Spread::Drawn(vec![]).interval(0.0), None);
        assert_eq!(Spread::Unknown.interval(1.0), None);
    }

    #[test]
    fn agreement_has_the_interval_of_its_share() {
        let share = Proportion { count: 1, samples: 29 };
        let [low, high] = Spread::Alike(share).interval(0.0).unwrap();
        let expected = share.interval();
        assert!((low + 100.0 - expected[0]).abs() < 1e-9 && (high + 100.0 - expected[1]).abs() < 1e-9);
    }

    #[test]
    fn a_change_varies_as_its_samples_do() {
        // d = −2, 1, 0, −1 over 4, 2, 3, 1 answers. D = −0.2, so the residuals are −1.2, 1.4, 0.6, −0.8.
        let pairs = [([3, 1], 4), ([0, 1], 2), ([2, 2], 3), ([1, 0], 1), ([0, 0], 0)];
        let (value, spread) = Spread::of_change(&pairs);
        assert!((value + 20.0).abs() < 1e-12);
        let error = 100.0 * (4.0 / 3.0 * (1.44 + 1.96 + 0.36 + 0.64) / 100.0f64).sqrt();
        assert!((spread.standard_error().unwrap() - error).abs() < 1e-9);
        // Student's t with three degrees of freedom: 3.182.
        let [low, high] = spread.interval(value).unwrap();
        assert!(
            (high - (-20.0 + 3.182 * error)).abs() < 0.3 && (low + high + 40.0).abs() < 1e-9,
            "{low} {high}"
        );
        let (none, spread) = Spread::of_change(&[([5, 5], 9); 10]);
        assert!(none == 0.0 && spread.interval(0.0).is_some_and(|[low, high]| low < -1.0 && high > 1.0));
        assert_eq!(Spread::of_change(&[([5, 4], 9)]).1, Spread::Unknown);
        assert_eq!(Spread::of_change(&[([5, 5], 9)]).1, Spread::Unknown);
    }
}
