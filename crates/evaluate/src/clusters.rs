//! Confidence intervals for percentages and means over answers, if samples have several answers each.
//!
//! The answers to one sample are not independent: a text that is hard at one token is often hard at the next. So the
//! samples are the units that are drawn, and their answers are *clusters*. Let sample i have n_i answers that count, of
//! which c_i have some property. Over the m samples with n_i > 0, let N = Σ n_i. Then:
//!
//! ```text
//! p      = Σ c_i / N
//! Var(p) = m / (m − 1) · Σ (c_i − p·n_i)² / N²
//! ```
//!
//! This is the variance of a ratio of two means, linearised (Cochran 1977, Sampling Techniques, sections 6.3 and 9A.1).
//! If all n_i are 1, it is the usual p(1 − p)/(m − 1). Differences between two models use the same formula with the
//! difference d_i of their c_i on the same sample.
//!
//! An interval p ± t·√Var(p) can leave the range from 0 to 100 % and is too narrow for p near its ends. Instead, the
//! interval is Wilson's for the number of independent answers that would have this variance, n = p(1 − p)/Var(p), but at
//! most N (Korn and Graubard 1998). Since m may be small, n is multiplied by (z/t)², where z and t are the quantiles of the
//! normal distribution and of Student's t with m − 1 degrees of freedom. If p is 0 or 1, nothing is known about how
//! answers depend on each other, and n = m: each sample counts as one answer.
//!
//! Sums are computed in the order of the samples.

use crate::quantiles::{normal_quantile, t_quantile};

/// What counts of one sample: a sum over its answers, and the number of answers.
pub(crate) type Cluster = (f64, f64);

/// The sum over all answers divided by their number, and the variance of this ratio. The variance is only known for at
/// least two samples with answers.
pub(crate) fn ratio(clusters: &[Cluster]) -> (f64, Option<f64>) {
    let (sum, answers) = clusters
        .iter()
        .fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    let mean = if answers > 0.0 { sum / answers } else { f64::NAN };
    let residuals = clusters.iter().filter(|(_, n)| *n > 0.0).map(|(c, n)| c - mean * n);
    (
        mean,
        variance_of_total(residuals).map(|variance| variance / (answers * answers)),
    )
}

/// The variance of the sum of residuals whose mean is 0: m/(m − 1)·Σ r².
pub(crate) fn variance_of_total(residuals: impl Iterator<Item = f64>) -> Option<f64> {
    let (samples, squares) = residuals.fold((0.0, 0.0), |(m, sum), r| (m + 1.0, sum + r * r));
    (samples > 1.0).then(|| samples / (samples - 1.0) * squares)
}

/// How many answers have some property, if samples have several answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusteredShare {
    /// Number of answers that have the property.
    pub count: u64,
    /// Number of all answers that count.
    pub answers: u64,
    /// Number of samples that have such answers.
    pub samples: u64,
    /// The number of independent answers that would give as much certainty, before the factor for few samples. `None`
    /// if there are fewer than two samples.
    effective: Option<f64>,
}

impl ClusteredShare {
    /// Sums up the answers of samples. For each sample: how many of its answers have the property, and how many count.
    pub fn new(samples: &[[u64; 2]]) -> ClusteredShare {
        let counted = samples.iter().filter(|[_, of]| *of > 0);
        let clusters: Vec<Cluster> = counted.map(|&[count, of]| (count as f64, of as f64)).collect();
        let (p, variance) = ratio(&clusters);
        let answers = samples.iter().map(|[_, of]| of).sum::<u64>();
        let count = samples.iter().map(|[count, _]| count).sum::<u64>();
        let effective = variance.map(|variance| match variance {
            _ if count == 0 || count == answers => clusters.len() as f64,
            variance => (p * (1.0 - p) / variance).min(answers as f64),
        });
        ClusteredShare {
            count,
            answers,
            samples: clusters.len() as u64,
            effective,
        }
    }

    /// The percentage of answers that have the property; 0 if there are no answers.
    pub fn percent(self) -> f64 {
        100.0 * self.count as f64 / self.answers.max(1) as f64
    }

    /// The percentage of answers that do not have the property, with a single rounding.
    pub fn lost(self) -> f64 {
        100.0 * self.answers.saturating_sub(self.count) as f64 / self.answers.max(1) as f64
    }

    /// Standard error of the percentage.
    pub fn standard_error(self) -> Option<f64> {
        let p = self.percent() / 100.0;
        Some(100.0 * (p * (1.0 - p) / self.effective?).sqrt())
    }

    /// The percentage below which the true one lies with probability `q`.
    pub(crate) fn quantile(self, q: f64) -> Option<f64> {
        let z = normal_quantile(q).abs();
        let t = t_quantile(q, self.samples.saturating_sub(1) as usize).abs();
        let shrunk = if z > 0.0 { (z / t).powi(2) } else { 1.0 };
        let n = self.effective? * shrunk;
        let p = self.percent() / 100.0;
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let half = if q < 0.5 { -half } else { half };
        let end = 100.0 * (p + z * z / (2.0 * n) + half) / (1.0 + z * z / n);
        Some(end.clamp(0.0, 100.0))
    }

    /// The 95 % confidence interval in percent.
    pub fn interval(self) -> Option<[f64; 2]> {
        Some([self.quantile(0.025)?, self.quantile(0.975)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proportion::Proportion;

    #[test]
    fn one_answer_for_each_sample_has_the_usual_variance() {
        let clusters: Vec<Cluster> = (0..20).map(|at| (f64::from(u8::from(at % 4 == 0)), 1.0)).collect();
        let (p, variance) = ratio(&clusters);
        assert_eq!(p, 0.25);
        assert!((variance.unwrap() - 0.25 * 0.75 / 19.0).abs() < 1e-15);
    }

    #[test]
    fn answers_that_all_agree_within_a_sample_count_as_one() {
        // 30 samples of 50 answers, all right or all wrong: as 30 independent answers, of which 12 are right.
        let samples: Vec<[u64; 2]> = (0..30).map(|at| [if at % 5 < 2 { 50 } else { 0 }, 50]).collect();
        let share = ClusteredShare::new(&samples);
        assert_eq!((share.percent(), share.answers, share.samples), (40.0, 1500, 30));
        let error = share.standard_error().unwrap();
        assert!((error - 100.0 * (0.4 * 0.6 / 29.0f64).sqrt()).abs() < 1e-9, "{error}");
        let [low, high] = share.interval().unwrap();
        let alone = Proportion { count: 12, samples: 30 }.interval();
        assert!(
            (low - alone[0]).abs() < 1.5 && (high - alone[1]).abs() < 1.5,
            "{low} {high} {alone:?}"
        );
    }

    #[test]
    fn answers_that_are_spread_evenly_count_at_most_each() {
        let share = ClusteredShare::new(&[[25, 50]; 30]);
        let [low, high] = share.interval().unwrap();
        let independent = Proportion {
            count: 750,
            samples: 1500,
        }
        .interval();
        assert!(
            low <= independent[0] && high >= independent[1] && high - low < 6.0,
            "{low} {high}"
        );
    }

    #[test]
    fn shares_at_the_ends_and_few_samples_promise_little() {
        // As 20 samples of one answer, and a little wider since the variance is estimated.
        let [low, high] = ClusteredShare::new(&[[50, 50]; 20]).interval().unwrap();
        let alone = Proportion { count: 20, samples: 20 }.interval();
        assert!(
            high == 100.0 && low < alone[0] && low > alone[0] - 3.0,
            "{low} {alone:?}"
        );
        assert_eq!(ClusteredShare::new(&[[3, 7]]).interval(), None);
        assert_eq!(ClusteredShare::new(&[[3, 7], [0, 0]]).interval(), None);
        assert_eq!(ClusteredShare::new(&[]).percent(), 0.0);
    }
}
