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
//!
//! Logarithms are computed by `libm`, which gives the same bits on every machine. All other functions here are
//! polynomials and square roots.

use crate::{
    clusters::ClusteredShare,
    proportion::{Paired, Proportion},
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

/// Computes the quantile of the normal distribution at the probability `p`, accurate to 16 digits. The rational
/// functions are those of algorithm AS 241 (Wichura 1988).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let ratio = |x: f64, above: [f64; 8], below: [f64; 7]| {
        let polynomial = |of: &[f64]| of.iter().rev().fold(0.0, |sum, &coefficient| sum * x + coefficient);
        polynomial(&above) / (polynomial(&below) * x + 1.0)
    };
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let above = [
            3.387_132_872_796_366_5,
            133.141_667_891_784_38,
            1_971.590_950_306_551_3,
            13_731.693_765_509_46,
            45_921.953_931_549_87,
            67_265.770_927_008_7,
            33_430.575_583_588_13,
            2_509.080_928_730_122_7,
        ];
        let below = [
            42.313_330_701_600_91,
            687.187_007_492_057_9,
            5_394.196_021_424_751,
            21_213.794_301_586_597,
            39_307.895_800_092_71,
            28_729.085_735_721_943,
            5_226.495_278_852_545,
        ];
        return q * ratio(0.180_625 - q * q, above, below);
    }
    let r = (-libm::log(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let tail = if r <= 5.0 {
        let above = [
            1.423_437_110_749_683_5,
            4.630_337_846_156_546,
            5.769_497_221_460_691,
            3.647_848_324_763_204_5,
            1.270_458_252_452_368_4,
            0.241_780_725_177_450_6,
            0.022_723_844_989_269_184,
            7.745_450_142_783_414e-4,
        ];
        let below = [
            2.053_191_626_637_759,
            1.676_384_830_183_803_8,
            0.689_767_334_985_1,
            0.148_103_976_427_480_08,
            0.015_198_666_563_616_457,
            5.475_938_084_995_345e-4,
            1.050_750_071_644_416_9e-9,
        ];
        ratio(r - 1.6, above, below)
    } else {
        let above = [
            6.657_904_643_501_103,
            5.463_784_911_164_114,
            1.784_826_539_917_291_3,
            0.296_560_571_828_504_87,
            0.026_532_189_526_576_124,
            0.001_242_660_947_388_078_4,
            2.711_555_568_743_487_6e-5,
            2.010_334_399_292_288_1e-7,
        ];
        let below = [
            0.599_832_206_555_888,
            0.136_929_880_922_735_8,
            0.014_875_361_290_850_615,
            7.868_691_311_456_133e-4,
            1.846_318_317_510_054_8e-5,
            1.421_511_758_316_446e-7,
            2.044_263_103_389_939_8e-15,
        ];
        ratio(r - 5.0, above, below)
    };
    if q < 0.0 { -tail } else { tail }
}

/// Computes the quantile of Student's t distribution with `freedom` degrees of freedom, at the probability `p`.
///
/// One and two degrees of freedom have closed forms. For three or more, the quantile is computed by the expansion of
/// Abramowitz and Stegun, 26.7.5. The error of the 97.5 % quantile is below 0.4 % for three degrees of freedom, and
/// much smaller for more degrees of freedom.
pub(crate) fn t_quantile(p: f64, freedom: usize) -> f64 {
    match freedom {
        0 => f64::INFINITY.copysign(p - 0.5),
        1 => libm::tan(std::f64::consts::PI * (p - 0.5)),
        2 => (2.0 * p - 1.0) * (2.0 / (4.0 * p * (1.0 - p))).sqrt(),
        _ => {
            let (z, n) = (normal_quantile(p), freedom as f64);
            let s = z * z;
            let terms = [
                z * (s + 1.0) / 4.0,
                z * ((5.0 * s + 16.0) * s + 3.0) / 96.0,
                z * (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0,
                z * ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92_160.0,
            ];
            terms.iter().rev().fold(0.0, |sum, term| (sum + term) / n) + z
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, expected) in [
            (0.5, 0.0),
            (0.95, 1.644_853_626_951_472_8),
            (0.975, 1.959_963_984_540_054),
            (0.001, -3.090_232_306_167_813_6),
            (1e-12, -7.034_483_825_301_131),
        ] {
            assert!(
                (normal_quantile(p) - expected).abs() < 1e-12,
                "{p}: {}",
                normal_quantile(p)
            );
        }
        // The 97.5 % column of Student's t table.
        for (freedom, expected) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (5, 2.571),
            (10, 2.228),
            (30, 2.042),
            (1000, 1.962),
        ] {
            let found = t_quantile(0.975, freedom);
            assert!((found - expected).abs() < 4e-3 * expected, "{freedom}: {found}");
            assert!((t_quantile(0.025, freedom) + found).abs() < 1e-12 * expected);
        }
    }

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
}
