//! Quantiles of the normal distribution and of Student's t distribution.
//!
//! Logarithms and tangents are computed by `libm`, which gives the same bits on every machine. All other functions here
//! are polynomials and square roots.

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
}
