//! Averages the minimum and the maximum over the samples.

use super::{GridKind, Observer, ValueStatistics, extremes};
use strait_core::Reason;
use strait_target::spec::ObserverOptions;

/// An exponential moving average of the smallest and of the largest element of each sample:
///
/// m₀ = x₀, mᵢ = (1 − c)·mᵢ₋₁ + c·xᵢ, in f64,
///
/// where x₀, x₁, … are the minimums or the maximums of the samples in the order of their positions in the data, even if
/// they were run in another order. Samples without a finite element are left out. Later samples have more weight. With
/// c = 0.01, the first of 100 samples still has a weight of 0.37.
///
/// **Source.** PyTorch's `MovingAverageMinMaxObserver`, with its default for c. PyTorch averages over batches, and this
/// observer over samples.
///
/// **Precondition.** The statistics have several samples. Those of a constant have only one.
#[derive(Clone, Copy, Debug)]
pub struct MovingAverage {
    constant: f64,
}

impl MovingAverage {
    /// The default for the weight c of a sample against all samples before it.
    pub const DEFAULT: f64 = 0.01;

    /// The observer with `averaging_constant` from the settings. The configuration makes sure that it is in [0, 1].
    pub fn new(options: &ObserverOptions) -> MovingAverage {
        MovingAverage {
            constant: options.averaging_constant.unwrap_or(Self::DEFAULT).clamp(0.0, 1.0),
        }
    }

    fn average(self, extremes: impl Iterator<Item = f32>) -> Option<f64> {
        let finite = extremes.filter(|x| x.is_finite()).map(f64::from);
        finite.reduce(|mean, x| (1.0 - self.constant) * mean + self.constant * x)
    }
}

impl Observer for MovingAverage {
    fn range(&self, seen: ValueStatistics<'_>, _: GridKind) -> Result<[f32; 2], Reason> {
        let statistics = seen.elements;
        let [min, max] = extremes(statistics)?;
        let samples = statistics.samples.iter();
        let low = self.average(samples.clone().map(|sample| sample.min));
        let high = self.average(samples.map(|sample| sample.max));
        Ok([low.map_or(min, |low| low as f32), high.map_or(max, |high| high as f32)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::tests::ASYMMETRIC;
    use crate::statistics::Statistics;

    #[test]
    fn the_order_is_that_of_the_data_and_not_of_arrival() {
        let samples = [(0, [-1.0, 1.0]), (1, [-3.0, 5.0]), (2, [-3.0, 1.0])];
        let of = |order: [usize; 3]| {
            let mut statistics = Statistics::default();
            for (index, elements) in order.map(|i| samples[i]) {
                statistics.add(index, &elements);
            }
            let options = ObserverOptions {
                averaging_constant: Some(0.5),
                ..ObserverOptions::default()
            };
            MovingAverage::new(&options)
                .range((&statistics).into(), ASYMMETRIC)
                .unwrap()
        };
        // ((−1 − 3)/2 − 3)/2 and ((1 + 5)/2 + 1)/2
        assert_eq!(of([0, 1, 2]), [-2.5, 2.0]);
        assert_eq!(of([2, 0, 1]), [-2.5, 2.0]);
    }

    #[test]
    fn one_sample_is_its_own_average() {
        let mut statistics = Statistics::default();
        statistics.add(7, &[0.25, 3.0]);
        statistics.add(8, &[]);
        let found = MovingAverage::new(&ObserverOptions::default()).range((&statistics).into(), ASYMMETRIC);
        assert_eq!(found, Ok([0.25, 3.0]));
    }
}
