//! Both models on the first calibration samples.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

/// The integer model beside the float model on the first calibration samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sanity {
    /// Number of the samples that both models ran on; 0 where there are no samples.
    pub samples: u64,
    /// The outputs in the order of the model; an output that is joined of several tensors has a line for each besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<SanityOutput>,
    /// The first layers at which the error jumps, where an output is at fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<ErrorJump>,
    /// The rule that the layers lead to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Remedy>,
}

/// An output of both models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SanityOutput {
    /// Its name.
    pub output: String,
    /// The tensor that this part of it is, where it is joined of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Number of samples for which it has the same extents in both models; the others are not compared.
    pub compared: u64,
    /// Ratio of the float model's output to the integer model's error, in dB; absent for integers, and where the float model's
    /// output is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snr: Option<f64>,
    /// Number of samples that are answered otherwise than by the float model, of an output that is an answer: the position of its
    /// largest number, or one integer. Of numbers that nothing reads, and that no softmax makes, one that the float model has
    /// within an eighth of the way from its largest to its mean is no other answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differ: Option<u64>,
    /// The faults that are warned of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Reason why nothing can be said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<Unjudged>,
}

/// A reason why an output of the integer model cannot be held against the float model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unjudged {
    /// It has other extents than the float model's, for every sample.
    Extents,
    /// It has no elements, and neither has the float model's.
    Empty,
    /// It holds several integers, which are neither an answer nor have noise.
    Integers,
    /// All numbers of the float model are NaN or infinite.
    NotANumber,
    /// All numbers of the float model are 0, so that there is nothing that an error could be compared with.
    Zero,
}

/// A sign that nothing of the float model is left in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Its SNR is below 10 dB.
    Noise,
    /// It is constant, and the float model's is not.
    Constant,
    /// At least two answers differ from the float model's.
    Answers,
    /// It has no elements, and the float model's has some.
    Empty,
    /// It is NaN or infinite where the float model has a number.
    NotANumber,
}

/// A layer at which the error jumps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ErrorJump {
    /// The layer, by its name in the model.
    pub layer: String,
    /// The tensor that it makes.
    pub tensor: String,
    /// The smallest SNR of what it reads, in dB; at most 40, which stands for all that is better.
    pub before: f64,
    /// The SNR of the tensor, in dB.
    pub after: f64,
}

/// A rule for the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Remedy {
    /// TOML, as it stands in a configuration.
    pub toml: String,
    /// The least SNR of an output that was at fault, in dB, in a simulation with the rule.
    pub snr: Option<f64>,
    /// True if no output is at fault in that simulation.
    pub mends: bool,
}

impl Sanity {
    /// The outputs that are at fault.
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
    /// Words for what the figures of the output do not say.
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
