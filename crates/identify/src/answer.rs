//! The result of the search for one layer.

use crate::{
    hypothesis::Hypothesis,
    rules::RuntimeRule,
    vectors::{ChannelAxis, RecordedLayer},
};
use std::fmt;
use strait_requantize::Requantization;

/// The result for one layer: the arithmetics that explain it, and those that do not.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Name of the layer.
    pub layer: String,
    /// Number of recorded outputs.
    pub outputs: usize,
    /// Number of distinct accumulators, counted for each channel and summed.
    pub accumulators: usize,
    /// Lowest and highest output. Results may be saturated there.
    pub ends: [i32; 2],
    /// Lowest and highest accumulator.
    pub range: [i64; 2],
    /// The statements of the file that are probably wrong. The layer can only be explained if they are replaced.
    pub rereadings: Vec<Rereading>,
    /// The arithmetics that explain the layer, the best first. If some arithmetics produce every recorded value, the
    /// list has exactly these. Otherwise the list has the arithmetic with the fewest wrong outputs, and each arithmetic
    /// with so few more wrong outputs that wrong values in the file can be the cause.
    pub explained: Vec<Explained>,
    /// The arithmetics that do not explain the layer. Those with the fewest wrong outputs come first.
    pub refuted: Vec<Refuted>,
}

/// Something that the file states wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rereading {
    /// The channels lie along this axis, and not along the one that the file implies.
    Channels(ChannelAxis),
    /// The zero point of the input differs from the stated one.
    InputZeroPoint {
        /// Zero point that the file states.
        stated: i64,
        /// Zero point with which the layer can be explained.
        found: i64,
    },
    /// The zero point of the output differs from the stated one.
    ZeroPoint {
        /// Zero point that the file states.
        stated: i32,
        /// Zero point with which the layer can be explained.
        found: i32,
    },
}

/// A possible explanation of a layer: an arithmetic whose parameters are searched for, or a rule that computes the
/// parameters from scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// An arithmetic whose parameters were searched for.
    Hypothesis(Hypothesis),
    /// A rule that computes the parameters from the scales in the file.
    Rule(RuntimeRule),
}

/// An arithmetic that explains a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The arithmetic or rule.
    pub subject: Subject,
    /// The arithmetic with parameters that explain the layer. Other parameters may explain the layer, too.
    pub form: Requantization,
    /// Whether results have to be clamped to the lowest recorded code, and whether to the highest.
    pub clamps: [bool; 2],
    /// For each channel, the smallest and the largest factor with which the arithmetic, with its zero point, produces
    /// every value. The list is empty unless the arithmetic is a multiplication and a shift with one rounding, and
    /// produces every value. Not every number between these two factors fits the multiplier's width.
    pub factors: Vec<[f64; 2]>,
    /// Number of recorded outputs that the arithmetic does not produce.
    pub missed: usize,
    /// The first recorded outputs that the arithmetic does not produce, in the order of the file, at most [`OUTLIERS`].
    pub outliers: Vec<Witness>,
}

/// The maximum number of outliers in an answer.
pub const OUTLIERS: usize = 20;

/// An arithmetic that does not explain a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Refuted {
    /// The arithmetic or rule.
    pub subject: Subject,
    /// The arithmetic with the parameters that produce the most values.
    pub form: Requantization,
    /// A recorded value that these parameters do not produce. It is the one with the smallest accumulator, in the first
    /// channel that has such a value.
    pub witness: Witness,
    /// Number of recorded outputs that the arithmetic does not produce.
    pub missed: usize,
}

/// A recorded value that an arithmetic does not produce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Channel of the value.
    pub channel: usize,
    /// Accumulator of the value.
    pub accumulator: i64,
    /// Index of the output in the file's array, one number for each axis.
    pub place: Vec<usize>,
    /// The output that the arithmetic produces; `None` if it overflows.
    pub expected: Option<i32>,
    /// The recorded output.
    pub found: i32,
}

impl Answer {
    /// True if an arithmetic produces every recorded value, and no statement of the file had to be replaced.
    pub fn is_exact(&self) -> bool {
        self.rereadings.is_empty() && self.missed() == Some(0)
    }

    /// Number of outputs that the best arithmetic does not produce; `None` if nothing explains the layer.
    pub fn missed(&self) -> Option<usize> {
        self.explained.first().map(|best| best.missed)
    }

    /// True if the layer is explained, no statement of the file had to be replaced, and the best arithmetic is wrong
    /// for at most the tolerated fraction of the outputs.
    pub fn is_within(&self, tolerated: Tolerance) -> bool {
        let most = (self.outputs as f64 * tolerated.share()).floor();
        self.rereadings.is_empty() && self.missed().is_some_and(|missed| missed as f64 <= most)
    }
}

/// The fraction of recorded outputs that may be wrong, written as a percentage.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Tolerance {
    percent: f64,
}

/// The error for a text that is not a percentage from 0 to 10.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a share of the outputs; right is a percentage from 0% to 10%, `0.1%` for instance")]
pub struct ToleranceError(String);

impl Tolerance {
    /// The fraction, from 0 to 1.
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
    /// Number of bits that are needed to write down the free parameters of one channel.
    pub(crate) fn parameters(&self) -> u8 {
        match self {
            Subject::Rule(_) => 0,
            Subject::Hypothesis(hypothesis) => hypothesis.parameters(),
        }
    }

    /// True if both subjects have the same family and the same rounding. Their multipliers may have different widths.
    pub fn is_width_of(&self, other: &Subject) -> bool {
        match (self, other) {
            (Subject::Hypothesis(a), Subject::Hypothesis(b)) => a.is_width_of(b),
            _ => false,
        }
    }

    /// A proposed name for the table row that states this arithmetic.
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

impl fmt::Display for Rereading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rereading::Channels(ChannelAxis::Last) => f.write_str("if the channels are read last"),
            Rereading::Channels(ChannelAxis::Second) => f.write_str("if axis 1 is read as that of the channels"),
            Rereading::InputZeroPoint { stated, found } => {
                write!(f, "if the input's zero point is {found} instead of {stated}")
            }
            Rereading::ZeroPoint { stated, found } => write!(f, "if the zero point is {found} instead of {stated}"),
        }
    }
}

impl Witness {
    /// Makes the witness for a value that an arithmetic does not produce. The witness contains the index of the output
    /// in the file's array.
    pub(crate) fn of(
        layer: &RecordedLayer,
        channel: usize,
        value: &crate::RecordedValue,
        expected: Option<i32>,
    ) -> Witness {
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
