//! Observers: from the statistics of a value to the range that its grid covers.
//!
//! An observer is a pure function of statistics that merge without error, so a range does not depend on the order of
//! samples or on how they were split. The words and what each observer serves are a table of [`strait_target`]:
//! [`Word`]. What an observer computes is in its file here.

mod constant;
mod density;
mod floating;
mod hfmg;
mod ifmr;
mod kl;
mod levels;
mod min_max;
mod moving_average;
mod mse;
mod percentile;

pub use constant::Constant;
pub use floating::Floating;
pub use hfmg::Hfmg;
pub use ifmr::Ifmr;
pub use kl::Kl;
pub use min_max::MinMax;
pub use moving_average::MovingAverage;
pub use mse::MeanSquaredError;
pub use percentile::Percentile;

use crate::statistics::Statistics;
use strait_core::{Reason, ReasonCode};
use strait_target::spec::{Codes, Observed, Observer as Word, ObserverOptions};

/// Properties of the grid that an observer makes a range for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridKind {
    /// Smallest and largest code; of small floats, the smallest and the largest value at scale 1.
    pub codes: [i64; 2],
    /// The zero point is fixed at 0.
    pub symmetric: bool,
    /// The scale is a power of two.
    pub power_of_two: bool,
    /// The codes are small floats.
    pub float: Option<SmallFloat>,
}

/// A small float: a sign, an exponent and a fraction, with subnormal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallFloat {
    exponent_bits: u8,
    fraction_bits: u8,
}

impl SmallFloat {
    /// The float of so many bits, which has at least one bit of an exponent and at most 8, and at most 10 of a fraction.
    pub fn new(bits: u8, exponent_bits: u8) -> SmallFloat {
        let exponent_bits = exponent_bits.clamp(1, 8);
        let fraction_bits = bits.saturating_sub(1 + exponent_bits).min(10);
        SmallFloat {
            exponent_bits,
            fraction_bits,
        }
    }
}

/// Chooses the range [low, high] of real numbers that a grid covers.
pub trait Observer: Send + Sync {
    /// The range; a value that was never seen, or held NaN or infinities, has none.
    fn range(&self, statistics: &Statistics, grid: GridKind) -> Result<[f32; 2], Reason>;
}

/// An observer with its settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObserverChoice {
    /// Which one.
    pub observer: Word,
    /// Settings; those of other observers are not read.
    pub options: ObserverOptions,
}

impl From<Word> for ObserverChoice {
    fn from(observer: Word) -> ObserverChoice {
        ObserverChoice {
            observer,
            options: ObserverOptions::default(),
        }
    }
}

impl ObserverChoice {
    /// The observer itself.
    fn make(&self) -> Box<dyn Observer> {
        match self.observer {
            Word::MinMax => Box::new(MinMax),
            Word::MovingAverage => Box::new(MovingAverage::new(&self.options)),
            Word::Percentile => Box::new(Percentile::new(&self.options)),
            Word::Kl => Box::new(Kl),
            Word::Mse => Box::new(MeanSquaredError),
            Word::Ifmr => Box::new(Ifmr::new(&self.options)),
            Word::Hfmg => Box::new(Hfmg),
            Word::Constant => Box::new(Constant),
            Word::Floating => Box::new(Floating),
        }
    }
}

impl Observer for ObserverChoice {
    /// The range of an activation. A grid that the observer makes no range for is refused with the observers that do.
    fn range(&self, statistics: &Statistics, grid: GridKind) -> Result<[f32; 2], Reason> {
        let codes = grid.float.map_or(Codes::Integers, |_| Codes::Floats);
        match self.observer.refusal(Observed::Activations, codes) {
            None => self.make().range(statistics, grid),
            Some(text) => Err(Reason::new(ReasonCode::Range, text)),
        }
    }
}

/// The extremes, where the statistics can be used at all.
fn extremes(statistics: &Statistics) -> Result<[f32; 2], Reason> {
    let not_finite = statistics.nan + statistics.infinite.iter().sum::<u64>();
    if not_finite > 0 {
        return Err(Reason::new(
            ReasonCode::NotFinite,
            format!("{not_finite} of its elements are NaN or infinite in the calibration data"),
        ));
    }
    match (statistics.min(), statistics.max()) {
        (Some(min), Some(max)) => Ok([min, max]),
        _ => Err(Reason::new(
            ReasonCode::NotObserved,
            "the calibration data never reached it",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(super) const ASYMMETRIC: GridKind = GridKind {
        codes: [-128, 127],
        symmetric: false,
        power_of_two: false,
        float: None,
    };
    pub(super) const SYMMETRIC: GridKind = GridKind {
        codes: [-127, 127],
        symmetric: true,
        ..ASYMMETRIC
    };
    pub(super) const POWER: GridKind = GridKind {
        power_of_two: true,
        ..SYMMETRIC
    };
    pub(super) const E4M3: GridKind = GridKind {
        codes: [-448, 448],
        float: Some(SmallFloat {
            exponent_bits: 4,
            fraction_bits: 3,
        }),
        ..POWER
    };

    /// Elements around a little above zero, most of them within `spread`: each the sum of four numbers that are as good as
    /// random.
    pub(super) fn bell(count: usize, spread: f32) -> Vec<f32> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..count)
            .map(|_| spread * (next() + next() + next() + next() + 0.1))
            .collect()
    }

    fn grids() -> impl Strategy<Value = GridKind> {
        let codes = prop::sample::select(vec![[-128, 127], [-8, 7], [0, 15], [-32768, 32767]]);
        (codes, any::<bool>(), any::<bool>()).prop_map(|(codes, symmetric, power_of_two)| GridKind {
            codes,
            symmetric: symmetric && codes[0] < 0,
            power_of_two,
            float: None,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// The moving average too: it goes by the positions of samples, not by their arrival.
        #[test]
        fn no_observer_depends_on_the_order_or_the_grouping_of_samples(
            data in prop::collection::vec(prop::collection::vec(-50f32..90.0, 1..60), 1..7),
            split in 0usize..7,
            grid in grids(),
        ) {
            let of = |samples: &mut dyn Iterator<Item = usize>| {
                let mut all = Statistics::default();
                samples.for_each(|index| all.add(index as u64, &data[index]));
                all
            };
            let forward = of(&mut (0..data.len()));
            let split = split.min(data.len());
            let mut merged = of(&mut (split..data.len()).rev());
            merged.merge(&of(&mut (0..split)));
            for &word in Word::ALL {
                let (choice, kinds) = (ObserverChoice::from(word), [grid, E4M3]);
                for kind in kinds {
                    let found = choice.range(&forward, kind);
                    let codes = kind.float.map_or(Codes::Integers, |_| Codes::Floats);
                    prop_assert_eq!(found.is_ok(), word.serves(Observed::Activations, codes));
                    prop_assert_eq!(choice.range(&merged, kind), found.clone(), "{}", word);
                    if let Ok([low, high]) = found {
                        prop_assert!(low <= high && low.is_finite() && high.is_finite(), "{word}: [{low}, {high}]");
                    }
                }
            }
        }
    }

    #[test]
    fn a_grid_that_an_observer_does_not_serve_is_refused_with_those_that_do() {
        let mut statistics = Statistics::default();
        statistics.add(0, &[1.0]);
        let refused = ObserverChoice::from(Word::Constant)
            .range(&statistics, ASYMMETRIC)
            .unwrap_err();
        assert_eq!(
            refused.text,
            "the observer `constant` makes no ranges of integers for activations; those that do are minmax, \
             moving_average, percentile, kl, mse, ifmr, hfmg"
        );
        let refused = ObserverChoice::from(Word::Kl).range(&statistics, E4M3).unwrap_err();
        assert!(
            refused.text.ends_with("those that do are minmax, constant, floating"),
            "{refused}"
        );
    }
}
