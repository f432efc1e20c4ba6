//! Observers: an observer finds the range that a grid covers, from the statistics of a value.
//!
//! An observer is a pure function of statistics that merge exactly. So a range does not depend on the order of the
//! samples, or on how they were split. [`Word`] in [`strait_target`] lists the names of the observers, and says for
//! what each of them can be used. The file of an observer in this module documents what it computes.

mod arq;
mod constant;
mod density;
mod floating;
mod grid;
mod hfmg;
mod ifmr;
mod isotone;
mod kl;
mod levels;
mod min_max;
mod moving_average;
mod mse;
mod percentile;

pub use arq::Arq;
pub use constant::Constant;
pub use floating::Floating;
pub(crate) use grid::grid;
pub use hfmg::Hfmg;
pub use ifmr::Ifmr;
pub use isotone::{Isotone, is_ranked};
pub use kl::Kl;
pub use min_max::MinMax;
pub use moving_average::MovingAverage;
pub use mse::MeanSquaredError;
pub use percentile::Percentile;

use crate::statistics::{Kind, Leaders, Observation, Statistics};
use strait_core::shape::axis_of;
use strait_core::{Reason, ReasonCode, refused};
use strait_target::spec::{CodeKind, Observed, Observer as Word, ObserverOptions};

/// The kind of grid for which an observer makes a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridKind {
    /// The smallest and the largest code, if codes are integers.
    pub codes: [i64; 2],
    /// True if the zero point is fixed at 0.
    pub symmetric: bool,
    /// True if the scale is a power of two.
    pub power_of_two: bool,
    /// The format, if codes are small floats.
    pub float: Option<SmallFloat>,
}

impl GridKind {
    /// The smallest and the largest number at scale 1 and zero point 0.
    pub fn ends(self) -> [f64; 2] {
        match self.float {
            Some(float) => [-float.largest(), float.largest()],
            None => self.codes.map(|code| code as f64),
        }
    }
}

/// A small float: a sign, an exponent and a fraction, with subnormal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallFloat {
    exponent_bits: u8,
    fraction_bits: u8,
}

impl SmallFloat {
    /// Makes the format with `bits` bits in total. If there would be more than 8 exponent bits or 10 fraction bits, or
    /// no exponent bit, the nearest allowed number is taken.
    pub fn new(bits: u8, exponent_bits: u8) -> SmallFloat {
        let exponent_bits = exponent_bits.clamp(1, 8);
        let fraction_bits = bits.saturating_sub(1 + exponent_bits).min(10);
        SmallFloat {
            exponent_bits,
            fraction_bits,
        }
    }

    /// Returns the largest finite number of the format, as the Open Compute Project defines the small formats. In
    /// formats with fewer than 8 bits, every code is a number. With 4 bits of exponent and 3 of fraction, the last code
    /// is NaN. In all other formats, codes with the last exponent are NaN and ∞, as in IEEE 754.
    fn largest(self) -> f64 {
        let (e, f) = (i32::from(self.exponent_bits), i32::from(self.fraction_bits));
        let (bias, last) = ((1 << (e - 1)) - 1, (1 << e) - 1);
        // 2 − units·2^−f, where 2^−f is the value of the fraction's last bit.
        let below_two = |units: i32| 2.0 - f64::from(units) * 2f64.powi(-f);
        match (e, f) {
            (4, 3) => below_two(2) * 2f64.powi(last - bias),
            _ if e + f < 7 => below_two(1) * 2f64.powi(last - bias),
            _ => below_two(1) * 2f64.powi(last - 1 - bias),
        }
    }
}

/// The statistics of one value.
#[derive(Clone, Copy, Debug)]
pub struct ValueStatistics<'a> {
    /// The statistics of all elements.
    pub elements: &'a Statistics,
    /// The statistics of the two largest elements of each row. They exist if an observer asked for them.
    pub leaders: Option<&'a Leaders>,
}

impl<'a> From<&'a Statistics> for ValueStatistics<'a> {
    fn from(elements: &'a Statistics) -> ValueStatistics<'a> {
        ValueStatistics {
            elements,
            leaders: None,
        }
    }
}

/// Chooses the range [low, high] of real numbers that a grid covers.
pub trait Observer: Send + Sync {
    /// The range. There is none if the value was never seen, had only NaN, or had infinite elements.
    fn range(&self, seen: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason>;
}

/// An observer with its settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObserverChoice {
    /// The observer.
    pub observer: Word,
    /// The settings. Settings that belong to other observers are ignored.
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
    /// Returns the kinds of statistics that the observer needs besides the statistics of the elements, for a value of
    /// rank `rank`. Returns `None` if the value does not have the axis that the settings name.
    pub fn needs(&self, rank: usize) -> Option<Vec<Kind>> {
        if self.observer != Word::Isotone {
            return Some(Vec::new());
        }
        let axis = axis_of(self.options.axis.unwrap_or(-1), rank)?;
        Some(vec![Kind::Leaders {
            axis: u32::try_from(axis).ok()?,
        }])
    }

    /// The statistics that the observer reads, for the value `name` of rank `rank`.
    pub fn seen<'a>(&self, observation: &'a Observation, name: &str, rank: usize) -> Option<ValueStatistics<'a>> {
        let leaders = self.needs(rank).into_iter().flatten().find_map(|kind| match kind {
            Kind::Leaders { axis } => observation.leaders(axis, name),
            Kind::Elements | Kind::Peaks | Kind::Channels { .. } => None,
        });
        Some(ValueStatistics {
            elements: observation.elements(name)?,
            leaders,
        })
    }

    /// The implementation of the chosen observer.
    fn make(&self) -> Box<dyn Observer> {
        match self.observer {
            Word::MinMax => Box::new(MinMax),
            Word::MovingAverage => Box::new(MovingAverage::new(&self.options)),
            Word::Percentile => Box::new(Percentile::new(&self.options)),
            Word::Kl => Box::new(Kl),
            Word::Mse => Box::new(MeanSquaredError),
            Word::Isotone => Box::new(Isotone),
            Word::Ifmr => Box::new(Ifmr::new(&self.options)),
            Word::Hfmg => Box::new(Hfmg::new(&self.options)),
            Word::Arq => Box::new(Arq),
            Word::Constant => Box::new(Constant),
            Word::Floating => Box::new(Floating),
        }
    }
}

impl ObserverChoice {
    /// The range of weights, which are either a whole tensor or one channel.
    ///
    /// # Errors
    /// The observer does not support the grid, or a weight is NaN or infinite.
    pub fn range_of_weights(&self, weights: &[f32], grid: GridKind) -> Result<[f32; 2], Reason> {
        let statistics = of_constant(weights)?;
        self.range_of(Observed::Weights, (&statistics).into(), grid)
    }

    fn range_of(&self, observed: Observed, seen: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        let codes = grid.float.map_or(CodeKind::Integers, |_| CodeKind::Floats);
        match self.observer.refusal(observed, codes) {
            None => self.make().range(seen, grid),
            Some(text) => refused(ReasonCode::Range, text),
        }
    }
}

impl Observer for ObserverChoice {
    /// The range of an activation. If the observer does not support the grid, the error lists the observers that do.
    fn range(&self, seen: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        // The code that chose the observer has already checked whether only the largest elements of the value matter,
        // so this is not checked again.
        self.range_of(Observed::Ranked, seen, grid)
    }
}

/// Returns the range with the smallest error, or the first of several with this error. Returns `otherwise` if no range
/// has a finite error.
fn least_error<T: Copy>(
    ranges: impl Iterator<Item = [T; 2]>,
    otherwise: [T; 2],
    error: impl Fn([T; 2]) -> f64,
) -> [T; 2] {
    let mut best = (f64::INFINITY, otherwise);
    for range in ranges {
        let error = error(range);
        if error < best.0 {
            best = (error, range);
        }
    }
    best.1
}

/// Returns ranges inside [`min`, `max`], the widest first. Each end is multiplied by the fractions i / `candidates`,
/// with i from 1 to `candidates`. On a symmetric grid, both ends are equally far from zero.
fn inside_of([min, max]: [f64; 2], symmetric: bool, candidates: u32) -> impl Iterator<Item = [f64; 2]> {
    let whole = candidates..=candidates;
    let shares = |is_whole: bool| if is_whole { whole.clone() } else { 1..=candidates };
    let (highs, lows) = (shares(!symmetric && max <= 0.0), shares(symmetric || min == 0.0));
    let share = move |i: u32| f64::from(i) / f64::from(candidates);
    let both = highs
        .rev()
        .flat_map(move |high| lows.clone().rev().map(move |low| [low, high]));
    both.map(move |[low, high]| {
        let reach = share(high) * max.max(-min);
        match symmetric {
            true => [-reach, reach],
            false => [min * share(low), max * share(high)],
        }
    })
}

/// Adjusts a range for a symmetric grid as Ascend's tools do: the end that is farther from zero decides the scale. If
/// it is the lower end, the scale is this end divided by the number of negative codes. If it is the upper end, the
/// scale is this end divided by the number of positive codes. So if the lower end is farther from zero, the upper end
/// is moved a little towards zero. Ranges for other grids stay as they are.
fn by_farther_end([low, high]: [f32; 2], grid: GridKind) -> [f32; 2] {
    let [first, last] = grid.codes.map(|code| code as f64);
    if !grid.symmetric || first >= 0.0 || high >= -low {
        return [low, high];
    }
    [low, high.min((f64::from(low) * last / first) as f32)]
}

/// The statistics of a constant. An element that is NaN is an error here, whereas NaN in samples is left out.
pub(crate) fn of_constant(elements: &[f32]) -> Result<Statistics, Reason> {
    let mut statistics = Statistics::default();
    statistics.add(0, elements);
    match statistics.nan() {
        0 => Ok(statistics),
        nan => refused(ReasonCode::NotFinite, format!("{nan} of its elements are NaN")),
    }
}

/// The minimum and maximum, if the statistics can be used for a range. Elements that are NaN do not count.
fn extremes(statistics: &Statistics) -> Result<[f32; 2], Reason> {
    let [below, above] = statistics.infinite;
    let infinite = below.saturating_add(above);
    if infinite > 0 {
        let text = format!("{infinite} of its elements are infinite in the calibration data");
        return refused(ReasonCode::NotFinite, text);
    }
    match (statistics.min(), statistics.max()) {
        (Some(min), Some(max)) => Ok([min, max]),
        // Without elements, any grid is fine.
        _ if statistics.is_empty() => Ok([0.0; 2]),
        _ if statistics.nan() > 0 => refused(
            ReasonCode::NotFinite,
            "all of its elements are NaN in the calibration data",
        ),
        _ => refused(ReasonCode::NotObserved, "the calibration data never reached it"),
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
        codes: [0, 0],
        float: Some(SmallFloat {
            exponent_bits: 4,
            fraction_bits: 3,
        }),
        ..POWER
    };

    /// Elements around a number a little above zero, most of them within `spread`. Each element is the sum of four
    /// pseudo-random numbers.
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
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// This also holds for the moving average, which depends on the positions of samples and not on when they arrive.
        #[test]
        fn no_observer_depends_on_the_order_or_the_grouping_of_samples(
            data in prop::collection::vec(prop::collection::vec(-50f32..90.0, 1..60), 1..7),
            split in 0usize..7,
            grid in grids(),
        ) {
            let of = |samples: &mut dyn Iterator<Item = usize>| {
                let (mut elements, mut leaders) = (Statistics::default(), Leaders::default());
                for index in samples {
                    elements.add(index as u64, &data[index]);
                    let rows = data[index].len() / 2;
                    leaders.add(&data[index][..2 * rows], &[rows, 2], 1);
                }
                (elements, leaders)
            };
            let forward = of(&mut (0..data.len()));
            let split = split.min(data.len());
            let mut merged = of(&mut (split..data.len()).rev());
            let first = of(&mut (0..split));
            merged.0.merge(&first.0);
            merged.1.merge(&first.1);
            for &word in Word::ALL {
                let (choice, kinds) = (ObserverChoice::from(word), [grid, E4M3]);
                for kind in kinds {
                    let range = |(elements, leaders): &(Statistics, Leaders)| {
                        choice.range(ValueStatistics { elements, leaders: Some(leaders) }, kind)
                    };
                    let found = range(&forward);
                    let codes = kind.float.map_or(CodeKind::Integers, |_| CodeKind::Floats);
                    let is_told = word.serves(Observed::Ranked, codes) && (word != Word::Isotone || forward.1.ends.is_some());
                    prop_assert_eq!(found.is_ok(), is_told, "{} {:?}", word, found);
                    prop_assert_eq!(range(&merged), found.clone(), "{}", word);
                    prop_assert_eq!(range(&forward), found.clone(), "{}", word);
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
        let refused = |word: Word, grid| {
            ObserverChoice::from(word)
                .range((&statistics).into(), grid)
                .unwrap_err()
                .text
        };
        let text = refused(Word::Constant, ASYMMETRIC);
        assert!(
            text.starts_with("the observer `constant` makes no ranges of integers for"),
            "{text}"
        );
        assert!(
            text.ends_with("minmax, moving_average, percentile, kl, mse, isotone, ifmr, hfmg"),
            "{text}"
        );
        let text = refused(Word::Kl, E4M3);
        assert!(text.ends_with("those that do are minmax, constant, floating"), "{text}");
    }

    #[test]
    fn the_largest_small_floats_are_the_published_ones() {
        for (bits, exponent_bits, largest) in [
            (8, 4, 448.0),
            (8, 5, 57_344.0),
            (6, 3, 28.0),
            (6, 2, 7.5),
            (4, 2, 6.0),
            (16, 5, 65_504.0),
            (16, 8, f64::from(f32::from_bits(0x7F7F_0000))),
        ] {
            assert_eq!(SmallFloat::new(bits, exponent_bits).largest(), largest);
        }
    }
}
