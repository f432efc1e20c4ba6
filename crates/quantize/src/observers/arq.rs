//! The observer ARQ of Ascend's tools.

use super::{GridKind, Observer, ValueStatistics, extremes};
use strait_core::Reason;

/// Uses the minimum and maximum of weights. On a symmetric grid, the scale is computed as Ascend's tools do:
/// −min/2^(b−1) if the minimum is farther from zero than the maximum (the minimum then gets the code −2^(b−1)),
/// otherwise max/(2^(b−1) − 1). A grid with a zero point covers minimum, maximum and zero. A scale below 2^−23 becomes 1.
///
/// **Source.** AMCT's ARQ ("adaptive range quantization"), for weights on Ascend.
///
/// **Distance from the documented rule.** If a bias would not fit on the accumulator's grid, this compiler raises the
/// scale, whereas AMCT refuses the layer. Weights that are all zero get the scale of the tensor's other channels. AMCT
/// has scales per channel only for convolutions; here the configuration and the target's table decide. If the table's
/// codes begin above −2^(b−1), a minimum that should get this code saturates.
///
/// **Precondition.** The codes are integers. The elements are weights, either a whole tensor or one channel.
#[derive(Clone, Copy, Debug)]
pub struct Arq;

impl Observer for Arq {
    fn range(&self, seen: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        let [min, max] = extremes(seen.elements)?.map(f64::from);
        let (min, max) = (min.min(0.0), max.max(0.0));
        let [first, last] = grid.codes.map(|code| code as f64);
        let scale = match grid.symmetric {
            true if max < -min => -min / (last + 1.0),
            true => max / last,
            false => (max - min) / (last - first),
        };
        let range = if scale < f64::from(f32::EPSILON) {
            [first, last]
        } else if grid.symmetric {
            [first * scale, last * scale]
        } else {
            [min, max]
        };
        Ok(range.map(|end| end as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::tests::{ASYMMETRIC, SYMMETRIC};
    use crate::statistics::Statistics;

    #[test]
    fn the_scale_is_that_of_the_documented_rule() {
        let of = |elements: &[f32], grid: GridKind| {
            let mut statistics = Statistics::default();
            statistics.add(0, elements);
            let range = Arq.range((&statistics).into(), grid).unwrap();
            crate::observers::grid(grid, range).unwrap().as_tensor().unwrap()
        };
        let whole = GridKind {
            codes: [-128, 127],
            ..SYMMETRIC
        };
        for (elements, grid, scale, zero) in [
            // The lower end determines the scale: it is 128 steps from zero, whereas 0.999 is only 127.9 steps.
            (&[-1.0, 0.999][..], whole, 1.0 / 128.0, 0),
            (&[-1.0, 1.0], whole, 1.0 / 127.0, 0),
            (&[-1.0, 0.5], SYMMETRIC, 1.0 / 128.0, 0),
            (&[0.0, 2.55], ASYMMETRIC, 0.01, -128),
            (&[0.0, 1e-8], whole, 1.0, 0),
        ] {
            let found = of(elements, grid);
            assert!(
                (found.0 / scale - 1.0).abs() < 1e-6 && found.1 == zero,
                "{elements:?}: {found:?}"
            );
        }
    }
}
