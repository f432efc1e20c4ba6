//! Percentages of samples, with their confidence intervals.

/// The two-sided 95 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// How many of the samples have some property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proportion {
    /// Number of samples that have the property.
    pub count: u64,
    /// Number of all samples.
    pub samples: u64,
}

impl Proportion {
    /// The percentage of samples that have the property; 0 if there are no samples.
    pub fn percent(self) -> f64 {
        100.0 * self.count as f64 / self.samples.max(1) as f64
    }

    /// Returns the percentage of samples that do not have the property. It is computed with a single rounding, so that
    /// a gate that allows exactly this percentage as a loss is met.
    pub fn lost(self) -> f64 {
        100.0 * self.samples.saturating_sub(self.count) as f64 / self.samples.max(1) as f64
    }

    /// Returns the 95 % confidence interval in percent, by Wilson (1927). Here p is the fraction of samples that have
    /// the property, n is the number of samples, and z is the 97.5 % quantile of the normal distribution:
    ///
    /// ```text
    /// (p + z²/2n  ±  z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n)
    /// ```
    ///
    /// Unlike p ± z·√(p(1−p)/n), this interval always lies between 0 and 100, and is also right if p is near 0 or 1.
    pub fn interval(self) -> [f64; 2] {
        self.interval_at(Z)
    }

    /// The confidence interval for another quantile `z` than that of a 95 % interval.
    pub(crate) fn interval_at(self, z: f64) -> [f64; 2] {
        if self.samples == 0 {
            return [0.0, 100.0];
        }
        let n = self.samples as f64;
        let p = self.count as f64 / n;
        let centre = p + z * z / (2.0 * n);
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let scale = 100.0 / (1.0 + z * z / n);
        [(scale * (centre - half)).max(0.0), (scale * (centre + half)).min(100.0)]
    }
}

/// How the answers of two models on the same samples differ: the number of samples on which only one of the models is
/// right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paired {
    /// Samples on which only the second model is right.
    pub gained: u64,
    /// Samples on which only the first model is right.
    pub lost: u64,
    /// All samples, including those on which both are right or both are wrong.
    pub samples: u64,
}

impl Paired {
    /// The second model's percentage of right answers minus the first model's, in percentage points.
    pub fn points(self) -> f64 {
        100.0 * (self.gained as f64 - self.lost as f64) / self.samples.max(1) as f64
    }

    /// Returns the standard error of [`Paired::points`], or `None` for fewer than two samples.
    ///
    /// Each sample contributes a difference d of −1, 0 or 1. If s² is the sample variance of d over n samples, the
    /// error is √(s²/n). Since both models run on the same samples, this error is far smaller than that of the
    /// difference between two independent percentages.
    pub fn standard_error(self) -> Option<f64> {
        let n = self.samples as f64;
        let (sum, squares) = (self.gained as f64 - self.lost as f64, (self.gained + self.lost) as f64);
        (self.samples > 1).then(|| 100.0 * ((squares - sum * sum / n) / (n - 1.0) / n).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 5e-3
    }

    #[test]
    fn intervals_are_those_of_the_literature() {
        // The score method in table I of Newcombe (1998), Statistics in Medicine 17.
        for (count, samples, low, high) in [
            (81, 263, 25.53, 36.62),
            (15, 148, 6.24, 16.05),
            (0, 20, 0.0, 16.11),
            (1, 29, 0.61, 17.18),
        ] {
            let [found_low, found_high] = Proportion { count, samples }.interval();
            assert!(
                near(found_low, low) && near(found_high, high),
                "{count}/{samples}: {found_low} {found_high}"
            );
        }
    }

    #[test]
    fn points_that_are_lost_meet_a_demand_of_as_many() {
        // In f64, 100 - 99.6 is slightly more than 0.4.
        let lost = |count, samples| Proportion { count, samples }.lost();
        assert_eq!((lost(498, 500), lost(941, 1000), lost(0, 0)), (0.4, 5.9, 0.0));
    }

    #[test]
    fn intervals_stay_inside() {
        for samples in [0, 1, 2, 1000] {
            for count in [0, samples] {
                let share = Proportion { count, samples };
                let [low, high] = share.interval();
                assert!(0.0 <= low && low <= high && high <= 100.0, "{share:?}");
                assert!(share.percent().is_finite());
            }
        }
    }

    #[test]
    fn the_paired_error_is_that_of_the_mean_of_differences() {
        let paired = Paired {
            gained: 3,
            lost: 7,
            samples: 100,
        };
        assert_eq!(paired.points(), -4.0);
        let mean: f64 = -0.04;
        let squares = 3.0 * (1.0 - mean).powi(2) + 7.0 * (-1.0 - mean).powi(2) + 90.0 * mean.powi(2);
        let expected = 100.0 * (squares / 99.0 / 100.0).sqrt();
        assert!((paired.standard_error().unwrap() - expected).abs() < 1e-12);
        assert_eq!(
            Paired {
                gained: 0,
                lost: 0,
                samples: 5
            }
            .standard_error(),
            Some(0.0)
        );
        assert_eq!(
            Paired {
                gained: 0,
                lost: 1,
                samples: 1
            }
            .standard_error(),
            None
        );
    }
}
