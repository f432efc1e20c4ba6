//! The answer of one layer.

use crate::{
    hypothesis::Hypothesis,
    rules::Rule,
    vectors::{Axis, Layer},
};
use std::fmt;
use strait_requantize::Requantization;

/// Everything that was tried on one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The layer's name.
    pub layer: String,
    /// Number of recorded outputs.
    pub outputs: usize,
    /// Number of distinct accumulators, channel by channel.
    pub accumulators: usize,
    /// The lowest and the highest output, where results may be saturated.
    pub ends: [i32; 2],
    /// The lowest and the highest accumulator.
    pub range: [i64; 2],
    /// Parts of the file that have to be read otherwise than it says for the layer to be explained.
    pub rereadings: Vec<Rereading>,
    /// Arithmetics that explain the layer, the best one first: those that give every recorded value. Where there is none, the
    /// one that gives most, with those that no more values speak against than are wrong in the file anyway.
    pub explained: Vec<Explained>,
    /// Arithmetics that do not, the nearest first.
    pub refuted: Vec<Refuted>,
}

/// Something that is not as the file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rereading {
    /// The axis of the channels is this one.
    Channels(Axis),
    /// The input's zero point is another one.
    InputZeroPoint {
        /// The one in the file.
        stated: i64,
        /// The one with which the layer is explained.
        found: i64,
    },
    /// The output's zero point is another one.
    ZeroPoint {
        /// The one in the file.
        stated: i32,
        /// The one with which the layer is explained.
        found: i32,
    },
}

/// An arithmetic, or a rule that makes one of scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Whose parameters were looked for.
    Hypothesis(Hypothesis),
    /// Whose parameters follow from the scales in the file.
    Rule(Rule),
}

/// An arithmetic that explains a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The arithmetic.
    pub subject: Subject,
    /// With parameters that do so. Others may, too.
    pub form: Requantization,
    /// At which of the two ends, low and high, it has to be clamped to the codes that were recorded.
    pub clamps: [bool; 2],
    /// Of each channel the least and the largest factor that the data leave with this zero point, of a multiplication and a
    /// shift with one rounding that gives every value. Not every number between them is one of so many bits.
    pub factors: Vec<[f64; 2]>,
    /// Number of recorded outputs that it does not give.
    pub missed: usize,
    /// The first of them in the order of the file, at most [`OUTLIERS`].
    pub outliers: Vec<Witness>,
}

/// The most outliers that an answer names.
pub const OUTLIERS: usize = 20;

/// An arithmetic that does not explain a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Refuted {
    /// The arithmetic.
    pub subject: Subject,
    /// With the parameters that give most values.
    pub form: Requantization,
    /// A recorded value that these do not give: the first accumulator of the first channel that has one.
    pub witness: Witness,
    /// Number of recorded outputs that it does not give.
    pub missed: usize,
}

/// A recorded value that an arithmetic does not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The channel.
    pub channel: usize,
    /// The accumulator.
    pub accumulator: i64,
    /// Place of the output in the file's array, axis by axis.
    pub place: Vec<usize>,
    /// Result of the arithmetic; `None` where it overflows.
    pub expected: Option<i32>,
    /// The recorded output.
    pub found: i32,
}

impl Answer {
    /// True if an arithmetic gives every recorded value, read as the file says it.
    pub fn is_exact(&self) -> bool {
        self.rereadings.is_empty() && self.missed() == Some(0)
    }

    /// Number of outputs that the best arithmetic does not give; `None` where nothing explains the layer.
    pub fn missed(&self) -> Option<usize> {
        self.explained.first().map(|best| best.missed)
    }

    /// True if the layer is explained, read as the file says it, but for so large a share of its outputs.
    pub fn is_within(&self, tolerated: Tolerance) -> bool {
        let most = (self.outputs as f64 * tolerated.share()).floor();
        self.rereadings.is_empty() && self.missed().is_some_and(|missed| missed as f64 <= most)
    }
}

/// A share of recorded outputs that may be wrong: a percentage.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Tolerance {
    percent: f64,
}

/// Text that is no share of outputs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a share of the outputs; right is a percentage from 0% to 10%, `0.1%` for instance")]
pub struct ToleranceError(String);

impl Tolerance {
    /// The share, from 0 to 1.
    pub fn share(self) -> f64 {
        self.percent / 100.0
    }
}

impl std::str::FromStr for Tolerance {
    type Err = ToleranceError;

    fn from_str(text: &str) -> Result<Tolerance, ToleranceError> {
        let percent = text
            .strip_suffix('%')
            .and_then(|number| number.trim().parse::<f64>().ok());
        match percent {
            Some(percent) if (0.0..=10.0).contains(&percent) => Ok(Tolerance { percent }),
            _ => Err(ToleranceError(text.to_owned())),
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.percent)
    }
}

impl Subject {
    /// Bits that it takes to write down what the subject leaves open of a channel.
    pub(crate) fn parameters(&self) -> u8 {
        match self {
            Subject::Rule(_) => 0,
            Subject::Hypothesis(hypothesis) => hypothesis.parameters(),
        }
    }

    /// True if both are of one family and one rounding, and differ in width alone.
    pub fn is_width_of(&self, other: &Subject) -> bool {
        match (self, other) {
            (Subject::Hypothesis(a), Subject::Hypothesis(b)) => a.is_width_of(b),
            _ => false,
        }
    }

    /// A name for a row of a table.
    pub fn name(&self) -> String {
        match self {
            Subject::Hypothesis(hypothesis) => hypothesis.name(),
            Subject::Rule(rule) => rule.name().to_owned(),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Hypothesis(hypothesis) => hypothesis.fmt(f),
            Subject::Rule(rule) => rule.fmt(f),
        }
    }
}

impl Rereading {
    /// True if it is about the input's zero point.
    pub(crate) fn is_of_input_zero(&self) -> bool {
        matches!(self, Rereading::InputZeroPoint { .. })
    }
}

impl fmt::Display for Rereading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rereading::Channels(Axis::Last) => f.write_str("if the channels are read last"),
            Rereading::Channels(Axis::Second) => f.write_str("if axis 1 is read as that of the channels"),
            Rereading::InputZeroPoint { stated, found } => {
                write!(f, "if the input's zero point is {found} instead of {stated}")
            }
            Rereading::ZeroPoint { stated, found } => write!(f, "if the zero point is {found} instead of {stated}"),
        }
    }
}

impl Witness {
    /// The value that an arithmetic does not give, with the place of its output in the file.
    pub(crate) fn of(layer: &Layer, channel: usize, value: &crate::Value, expected: Option<i32>) -> Witness {
        Witness {
            channel,
            accumulator: value.accumulator,
            place: layer.place(value.at),
            expected,
            found: value.output,
        }
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "accumulator {} of channel {}: ", self.accumulator, self.channel)?;
        match self.expected {
            Some(expected) => write!(f, "expected {expected}, found {}", self.found),
            None => write!(f, "expected none, as it overflows there, found {}", self.found),
        }
    }
}
