//! The answer of one layer.

use crate::{
    edges::Bounds,
    hypothesis::Hypothesis,
    rules::Rule,
    search,
    vectors::{Layer, VectorsError},
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
    /// The lowest and the highest output.
    pub ends: [i32; 2],
    /// The lowest and the highest accumulator.
    pub range: [i64; 2],
    /// Arithmetics that give every recorded value.
    pub explained: Vec<Explained>,
    /// Arithmetics that do not.
    pub refuted: Vec<Refuted>,
}

/// An arithmetic, or a rule that makes one of scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Whose parameters were looked for.
    Hypothesis(Hypothesis),
    /// Whose parameters follow from the scales in the file.
    Rule(Rule),
}

/// An arithmetic that gives every recorded value.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The arithmetic.
    pub subject: Subject,
    /// With parameters that do so. Others may, too.
    pub form: Requantization,
    /// At which of the two ends, low and high, it has to be clamped to the codes that were recorded.
    pub clamps: [bool; 2],
    /// Of each channel the least and the largest factor that the data leave with this zero point, of a multiplication and a
    /// shift with one rounding. Not every number between them is one of so many bits.
    pub factors: Vec<[f64; 2]>,
}

/// An arithmetic that does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Refuted {
    /// The arithmetic.
    pub subject: Subject,
    /// With parameters that come near.
    pub form: Requantization,
    /// The first recorded value that these do not give.
    pub witness: Witness,
    /// Number of accumulators with other results.
    pub differing: usize,
}

/// A recorded value that an arithmetic does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The channel.
    pub channel: usize,
    /// The accumulator.
    pub accumulator: i64,
    /// Result of the arithmetic; `None` where it overflows.
    pub expected: Option<i32>,
    /// The recorded output.
    pub found: i32,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Hypothesis(hypothesis) => hypothesis.fmt(f),
            Subject::Rule(rule) => rule.fmt(f),
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

/// The most zero points that are tried one after the other.
const MOST_ZEROS: i64 = 1024;

/// Holds a layer against every hypothesis, and against every rule where it has scales.
///
/// # Errors
/// A layer that leaves more zero points open than are tried. `file` is for the message.
pub fn identify(file: &str, layer: &Layer) -> Result<Answer, VectorsError> {
    let bounds = Bounds::new(layer);
    let zeros = bounds.zero_points();
    if i64::from(*zeros.end()) - i64::from(*zeros.start()) >= MOST_ZEROS {
        return Err(VectorsError {
            file: file.to_owned(),
            array: Some(format!("{}/zero_point", layer.name)),
            wrong: format!(
                "it is missing, and the outputs leave {} ..= {}",
                zeros.start(),
                zeros.end()
            ),
            right: "the output's zero point, or accumulators on both sides of zero".into(),
        });
    }
    let mut answer = Answer {
        layer: layer.name.clone(),
        outputs: layer.outputs,
        accumulators: layer.channels.iter().map(Vec::len).sum(),
        ends: bounds.ends,
        range: [
            layer
                .channels
                .iter()
                .filter_map(|pairs| Some(pairs.first()?.0))
                .min()
                .unwrap_or(0),
            layer
                .channels
                .iter()
                .filter_map(|pairs| Some(pairs.last()?.0))
                .max()
                .unwrap_or(0),
        ],
        explained: Vec::new(),
        refuted: Vec::new(),
    };
    if let Some(scales) = &layer.scales {
        for rule in Rule::ALL {
            let mut forms = zeros
                .clone()
                .filter_map(|zero| rule.form(layer, scales, zero).ok())
                .peekable();
            let Some(first) = forms.peek().cloned() else { continue };
            let explains = forms.find(|form| answer.held(layer, form).is_none());
            answer.add(&bounds, Subject::Rule(rule), explains.unwrap_or(first));
        }
    }
    let mut refuted: Option<Hypothesis> = None;
    for hypothesis in Hypothesis::all() {
        // Widths come from the widest to the narrowest, whose factors are among those of the former.
        if refuted.is_some_and(|wider| wider.is_width_of(&hypothesis) && wider.bits >= hypothesis.bits) {
            continue;
        }
        let Some(form) = search::form(&hypothesis, &bounds) else {
            continue;
        };
        if !answer.add(&bounds, Subject::Hypothesis(hypothesis), form) {
            refuted = Some(hypothesis);
        }
    }
    Ok(answer)
}

impl Answer {
    /// The first recorded value that a form does not give, and the number of them.
    fn held(&self, layer: &Layer, form: &Requantization) -> Option<(Witness, usize)> {
        let [low, high] = self.ends;
        let mut first = None;
        let mut differing = 0;
        for (channel, pairs) in layer.channels.iter().enumerate() {
            let scalars = form.channel(channel.min(form.channels().unwrap_or(1).saturating_sub(1)));
            for &(accumulator, found) in pairs {
                let expected = scalars.as_ref().ok().and_then(|form| form.eval(accumulator).ok());
                let expected = expected.map(|code| code.min(high).max(low));
                if expected != Some(found) {
                    differing += 1;
                    first.get_or_insert(Witness {
                        channel,
                        accumulator,
                        expected,
                        found,
                    });
                }
            }
        }
        first.map(|witness| (witness, differing))
    }

    /// Holds a form against every recorded value; true if it gives them.
    fn add(&mut self, bounds: &Bounds<'_>, subject: Subject, form: Requantization) -> bool {
        match self.held(bounds.layer, &form) {
            None => {
                let factors = match &subject {
                    Subject::Hypothesis(hypothesis) => search::factors(hypothesis, &form, bounds),
                    Subject::Rule(_) => Vec::new(),
                };
                self.explained.push(Explained {
                    subject,
                    clamps: clamps(bounds.layer, &form, self.ends),
                    form,
                    factors,
                });
                true
            }
            Some((witness, differing)) => {
                self.refuted.push(Refuted {
                    subject,
                    form,
                    witness,
                    differing,
                });
                false
            }
        }
    }
}

/// True at an end beyond which the form alone would go.
fn clamps(layer: &Layer, form: &Requantization, [low, high]: [i32; 2]) -> [bool; 2] {
    let mut clamps = [false; 2];
    for (channel, pairs) in layer.channels.iter().enumerate() {
        let code = |pair: Option<&(i64, i32)>| {
            let channel = channel.min(form.channels().unwrap_or(1).saturating_sub(1));
            form.eval(channel, pair?.0).ok()
        };
        clamps[0] |= code(pairs.first()).is_some_and(|code| code < low);
        clamps[1] |= code(pairs.last()).is_some_and(|code| code > high);
    }
    clamps
}
