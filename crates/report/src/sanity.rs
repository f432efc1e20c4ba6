//! The sanity check: runs both models on the first calibration samples, and compares their outputs.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

/// Comparison of the integer model with the float model on the first calibration samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sanity {
    /// Number of samples that both models ran on; 0 if there are none.
    pub samples: u64,
    /// The outputs in the order of the model. An output that is concatenated from several tensors also has a line for
    /// each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<SanityOutput>,
    /// The first layers at which the error jumps, if an output has a fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<ErrorJump>,
    /// A rule for the configuration with which the faulty outputs improve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Remedy>,
}

/// An output of the model, compared between both models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SanityOutput {
    /// Name of the output.
    pub output: String,
    /// If this line is for one part of a concatenated output: the tensor that is this part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Number of samples for which the output has the same shape in both models. Other samples are not compared.
    pub compared: u64,
    /// Ratio of the float model's output to the integer model's error, in dB. Absent for integers, and if the float
    /// model's output is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snr: Option<f64>,
    /// If the output is an answer, the number of samples for which the integer model gives another answer. The answer
    /// is the index of the largest number, or a single integer. If the output ends the model and is not computed by a
    /// softmax, near ties do not count. Let d be the largest number of the float model's output minus the mean of its
    /// numbers. The integer model's class is accepted if the float model's number for this class is at most d/8 below
    /// the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differ: Option<u64>,
    /// Signs that the output is useless, about which the user is warned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Why the output cannot be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<Unjudged>,
}

/// Why an output of the integer model cannot be compared with the float model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unjudged {
    /// The output has another shape than the float model's, for every sample.
    Extents,
    /// The output has no elements in either model.
    Empty,
    /// The output consists of several integers. They are not a single answer, and an error in decibels makes no sense
    /// for them.
    Integers,
    /// All elements of the float model's output are NaN or infinite.
    NotANumber,
    /// All elements of the float model's output are 0, so there is nothing to compare an error with.
    Zero,
}

/// A sign that an output no longer shows what the float model computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The output's SNR is below 10 dB.
    Noise,
    /// The output is constant, and the float model's is not.
    Constant,
    /// At least two answers differ from the float model's.
    Answers,
    /// The output has no elements, and the float model's has some.
    Empty,
    /// The output is NaN or infinite where the float model has a number.
    NotANumber,
}

/// A layer at which the error jumps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ErrorJump {
    /// Name of the layer in the model.
    pub layer: String,
    /// The tensor that the layer computes.
    pub tensor: String,
    /// The smallest SNR of the tensors that the layer reads, in dB, but at most 40.
    pub before: f64,
    /// SNR of the tensor that the layer computes, in dB.
    pub after: f64,
}

/// A rule that the user can add to the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Remedy {
    /// The rule in TOML, ready to be pasted into a configuration.
    pub toml: String,
    /// The smallest SNR in dB that the faulty outputs have in a simulation with the rule.
    pub snr: Option<f64>,
    /// True if no output has a fault in that simulation.
    pub mends: bool,
}

impl Sanity {
    /// The outputs that have at least one fault.
    pub fn faulty(&self) -> impl Iterator<Item = &SanityOutput> {
        self.outputs.iter().filter(|output| !output.faults.is_empty())
    }
}

impl Display for SanityOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.output)?;
        if let Some(part) = &self.part {
            write!(f, " ({part})")?;
        }
        let snr = self.snr.map(|snr| format!("{snr:.1} dB"));
        let answers = self.differ.map(|differ| match differ {
            0 => "the float model's answers".to_owned(),
            _ => format!("{differ} of {} answers differ from the float model's", self.compared),
        });
        let faults = self.faults.iter().filter_map(|fault| fault.told()).map(str::to_owned);
        let all: Vec<String> = snr.into_iter().chain(answers).chain(faults).collect();
        match self.unjudged {
            Some(why) => write!(f, " not judged ({})", why.told()),
            None => write!(f, " {}", all.join(", ")),
        }
    }
}

impl Unjudged {
    fn told(self) -> &'static str {
        match self {
            Unjudged::Extents => "its extents differ from the float model's",
            Unjudged::Empty => "it is empty in both models",
            Unjudged::Integers => "it holds integers",
            Unjudged::NotANumber => "the float model's is NaN or infinite throughout",
            Unjudged::Zero => "the float model's is 0 throughout",
        }
    }
}

impl Fault {
    /// Describes a fault in a few words. `None` if the figures of the output already show the fault.
    fn told(self) -> Option<&'static str> {
        match self {
            Fault::Noise | Fault::Answers => None,
            Fault::Constant => Some("constant where the float model's is not"),
            Fault::Empty => Some("empty where the float model's is not"),
            Fault::NotANumber => Some("NaN or infinite where the float model has numbers"),
        }
    }
}

impl Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.mends, self.snr) {
            (true, Some(snr)) => write!(f, "with this rule a simulation has nothing to warn of, at {snr:.1} dB:"),
            (true, None) => write!(f, "with this rule a simulation has nothing to warn of:"),
            (false, Some(snr)) => write!(f, "this rule alone does not mend it, a simulation has {snr:.1} dB:"),
            (false, None) => write!(f, "this rule alone does not mend it:"),
        }
    }
}
