//! Chooses the scale with the smallest squared error from a short list of scales.

use super::density::Density;
use super::{GridKind, Observer, ValueStatistics, extremes};
use strait_core::Reason;

/// Chooses one of the scales 2^−7, 2^−5, 2^−3, 1, 2², 2⁴ and 2⁶: the scale with which quantization has the smallest
/// expected squared error. If several scales have the same error, the smallest of them is chosen.
///
/// **Source.** PPQ's floating observer, which measures 4,096 elements of the first samples. Here the error is
/// integrated over the histogram of all elements, with a uniform density in each bin.
///
/// **Precondition.** The codes are small floats.
#[derive(Clone, Copy, Debug)]
pub struct Floating;

const EXPONENTS: [i32; 7] = [-7, -5, -3, 0, 2, 4, 6];

impl Observer for Floating {
    fn range(&self, seen: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        let statistics = seen.elements;
        extremes(statistics)?;
        let density = Density::new(&statistics.histogram, statistics.zeros);
        let at = |scale: f64| grid.ends().map(|end| (end * scale) as f32);
        let ranges = EXPONENTS.iter().map(|exponent| at(2f64.powi(*exponent)));
        Ok(density.least_error(grid, ranges, at(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::Constant;
    use crate::observers::tests::E4M3;
    use crate::statistics::Statistics;

    #[test]
    fn the_scale_follows_the_size_of_the_elements() {
        let of = |size: f32| {
            let elements: Vec<f32> = (-500..500).map(|i| i as f32 / 500.0 * size).collect();
            let mut statistics = Statistics::default();
            statistics.add(0, &elements);
            Floating.range((&statistics).into(), E4M3).unwrap()[1] / 448.0
        };
        // 448·2^6 is the largest number that any of the candidate scales reaches, and 2^−9·2^−7 is the smallest level.
        assert_eq!((of(20_000.0), of(1e-4)), (64.0, 2f32.powi(-7)));
        assert_eq!(
            Constant.range((&Statistics::default()).into(), E4M3),
            Ok([-448.0, 448.0])
        );
    }
}
