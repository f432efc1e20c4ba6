//! How near the results of requantizations are to the ideal functions that they approximate. The integers of a
//! requantization (such as a multiplier and a shift) were either chosen by the compiler, or are computed by the runtime
//! from scales.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};
use strait_requantize::decide::Optimality;
use strait_target::spec::{self, Nearness};

/// Difference between a requantization and the ideal function with the exact factor, over all accumulators that can
/// occur.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Distance {
    /// The largest difference in any channel, in units of the result.
    pub max_lsb: u32,
    /// The largest fraction of a channel's accumulators for which the results differ.
    pub share: f64,
    /// Number of accumulators for which the results differ, summed over all channels.
    pub differing: u64,
    /// Number of accumulators that can occur, summed over all channels.
    pub accumulators: u64,
}

impl From<&spec::Distance> for Distance {
    fn from(distance: &spec::Distance) -> Distance {
        Distance {
            max_lsb: distance.max_lsb,
            share: distance.share,
            differing: distance.differing,
            accumulators: distance.accumulators,
        }
    }
}

/// The integers of a requantization that the compiler chose, compared with the ideal function. The compiler can choose
/// them because the target's file stores the integers themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FreeIntegers {
    /// `optimal`: no multiplier and shift within the form's limits come nearer to the ideal function. `best found`: no
    /// other integers are nearer to the exact factor, but there are too many results to compare each with the ideal
    /// function.
    pub found: String,
    /// How far the results with these integers are from the ideal function; absent if the results were not compared.
    pub distance: Option<Distance>,
}

/// The integers, or the scale, that the runtime computes from the scales in its file. They are compared with the ideal
/// function and with the best integers that the form could have. The comparison is only reported; it does not change
/// the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FromScales {
    /// How far the results with the runtime's integers are from the ideal function; absent if there are too many
    /// results to compare.
    pub runtime: Option<Distance>,
    /// How far the results with the best integers are from the ideal function; absent for a form without integers to
    /// choose.
    pub best: Option<Distance>,
    /// Number of channels in which the best integers give results nearer to the ideal function than the runtime's
    /// integers.
    pub better: usize,
    /// Number of channels; one if all have the same integers.
    pub channels: usize,
    /// True if the best integers round once where the runtime rounds twice.
    pub rounds_once: bool,
}

impl Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&off(self.max_lsb, self.share))
    }
}

impl Display for FreeIntegers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.distance {
            Some(distance) => write!(f, "free integers: {}, off the ideal by {distance}", self.found),
            None => write!(
                f,
                "free integers: {}, its results are too many to be compared",
                self.found
            ),
        }
    }
}

impl FreeIntegers {
    /// True if no integers that the form can have give results nearer to the ideal function.
    pub fn is_optimal(&self) -> bool {
        self.found == OPTIMAL
    }
}

impl FromScales {
    /// Returns a sentence that says how far the results with the runtime's integers are from the ideal function, and
    /// whether results with other integers would be nearer. Returns `None` if the results are equal to the ideal
    /// function.
    pub fn remark(&self) -> Option<String> {
        let Some(runtime) = &self.runtime else {
            return Some("the runtime's integers: its results are too many to be compared".to_owned());
        };
        let gain = match &self.best {
            Some(best) if self.better > 0 && self.rounds_once => format!("; rounded once, the best by {best}"),
            Some(best) if self.better > 0 => format!("; the best by {best}"),
            Some(_) => "; no others are nearer".to_owned(),
            None => String::new(),
        };
        (runtime.max_lsb > 0).then(|| format!("the runtime's integers: off the ideal by {runtime}{gain}"))
    }
}

/// Returns the entry of the report for a requantization. Only the first part is present if the compiler chose the
/// integers, and only the second part if the runtime computes them.
pub(super) fn reported(nearness: &Nearness) -> (Option<FreeIntegers>, Option<FromScales>) {
    match nearness {
        Nearness::Chosen { found, distance } => {
            let found = match found {
                Optimality::Optimal => OPTIMAL,
                Optimality::BestFound => "best found",
            };
            let free = FreeIntegers {
                found: found.to_owned(),
                distance: distance.as_ref().map(Distance::from),
            };
            (Some(free), None)
        }
        Nearness::Derived { runtime, gain } => {
            let gain = gain.as_ref();
            let from_scales = FromScales {
                runtime: Some(runtime.into()),
                best: gain.map(|gain| Distance::from(&gain.best)),
                better: gain.map_or(0, |gain| gain.better),
                channels: gain.map_or(0, |gain| gain.channels),
                rounds_once: gain.is_some_and(|gain| gain.rounds_once),
            };
            (None, Some(from_scales))
        }
        Nearness::Unknown => (None, Some(FromScales::default())),
    }
}

const OPTIMAL: &str = "optimal";

/// Describes a distance in words, such as "1 LSB on up to 0.20 % of the accumulators".
fn off(max_lsb: u32, share: f64) -> String {
    match max_lsb {
        0 => "0 LSB".to_owned(),
        _ => format!("{max_lsb} LSB on {} of the accumulators", percent(share)),
    }
}

/// A fraction as a percentage with two significant digits.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    // The second significant digit is the digit for 10^-decimals.
    let decimals = (1 - percent.log10().floor() as i32).clamp(0, 6);
    match percent < 0.000_01 {
        true => "less than 0.00001 %".to_owned(),
        false => format!("up to {percent:.*} %", decimals as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(max_lsb: u32, differing: u64) -> Distance {
        let accumulators = 40_000;
        Distance {
            max_lsb,
            share: differing as f64 / accumulators as f64,
            differing,
            accumulators,
        }
    }

    #[test]
    fn a_share_is_told_with_two_digits_that_count() {
        for (share, expected) in [
            (0.5, "up to 50 %"),
            (0.035_04, "up to 3.5 %"),
            (0.000_219, "up to 0.022 %"),
            (1e-9, "less than 0.00001 %"),
        ] {
            assert_eq!(percent(share), expected);
        }
    }

    #[test]
    fn a_share_never_reads_as_none() {
        for bits in 0..=64 {
            let said = distance_of(0.5f64.powi(bits)).to_string();
            let digits = said.split(' ').filter_map(|word| word.parse::<f64>().ok());
            assert!(digits.min_by(f64::total_cmp) > Some(0.0), "{said}");
        }
    }

    fn distance_of(share: f64) -> Distance {
        Distance {
            share,
            ..distance(1, 1)
        }
    }

    #[test]
    fn what_was_not_compared_is_told_as_that() {
        let free = |found: &str, distance| FreeIntegers {
            found: found.to_owned(),
            distance,
        };
        assert_eq!(
            free(OPTIMAL, Some(distance(1, 500))).to_string(),
            "free integers: optimal, off the ideal by 1 LSB on up to 1.2 % of the accumulators"
        );
        assert_eq!(
            free("best found", None).to_string(),
            "free integers: best found, its results are too many to be compared"
        );
    }

    #[test]
    fn a_gain_is_told_where_there_is_one() {
        let mut layer = FromScales {
            runtime: Some(distance(1, 4_000)),
            best: Some(distance(0, 0)),
            better: 1,
            channels: 1,
            rounds_once: false,
        };
        let off = "the runtime's integers: off the ideal by 1 LSB on up to 10 % of the accumulators";
        assert_eq!(layer.remark(), Some(format!("{off}; the best by 0 LSB")));
        (layer.best, layer.better) = (layer.runtime.clone(), 0);
        assert_eq!(layer.remark(), Some(format!("{off}; no others are nearer")));
        layer.best = None;
        assert_eq!(layer.remark().as_deref(), Some(off));
        layer.runtime = Some(distance(0, 0));
        assert_eq!(layer.remark(), None);
    }
}
