//! An output as the answer to a question.

use strait_core::TensorError;
use strait_execute::Tensor;

use crate::{diagnostic::Diagnostic, failure::codes, stop::Stop};

use super::meter::{Output, Seen};

/// The question that an output answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A float for each of so many classes: the largest one is asked for.
    Scores(usize),
    /// One integer or truth value: it is the class.
    Class,
    /// So many integers or truth values, or none, which are the same in two models or not.
    Numbers(usize),
}

impl Asked {
    /// The question that an output answers; `None` for less than two floats.
    pub fn of(output: &Output) -> Option<Asked> {
        match (output.elem.is_float(), output.count()) {
            (false, 1) => Some(Asked::Class),
            (false, count) => Some(Asked::Numbers(count)),
            (true, 0 | 1) => None,
            (true, count) => Some(Asked::Scores(count)),
        }
    }

    /// Number of classes, where it is known.
    pub fn classes(self) -> Option<usize> {
        match self {
            Asked::Scores(classes) => Some(classes),
            Asked::Class | Asked::Numbers(_) => None,
        }
    }

    /// The answer that is the label: whether its class is among the `most` with the largest scores. Of equal scores the
    /// first class is the larger one.
    pub(crate) fn is_right(
        self,
        seen: &Seen<'_>,
        index: usize,
        name: &str,
        label: u32,
        most: usize,
    ) -> Result<bool, Stop> {
        let Asked::Scores(_) = self else {
            return Ok(self.answer(seen, index, name)? == Answer::Class(i64::from(label)));
        };
        let (scores, label) = (seen.numbers(index, name)?, label as usize);
        let own = scores.get(label).copied().unwrap_or(f32::NEG_INFINITY);
        let before = |&(class, &score): &(usize, &f32)| score > own || (score == own && class < label);
        Ok(scores.iter().enumerate().filter(before).count() < most)
    }

    /// The model's answer: of floats the position of the largest, the first one where several are equal; otherwise what the
    /// output holds.
    pub(crate) fn answer(self, seen: &Seen<'_>, index: usize, name: &str) -> Result<Answer, Stop> {
        let output = seen.output(index)?;
        match self {
            Asked::Scores(_) => {
                let scores = seen.numbers(index, name)?;
                let best = (scores.iter().enumerate()).reduce(|best, next| if next.1 > best.1 { next } else { best });
                Ok(Answer::Class(best.map_or(0, |(class, _)| class as i64)))
            }
            Asked::Class => Ok(Answer::Class(integers(output)?.first().copied().unwrap_or_default())),
            Asked::Numbers(_) => Ok(Answer::Numbers(blake3::hash(output.view().bytes()).into())),
        }
    }
}

/// A model's answer to one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A class.
    Class(i64),
    /// The digest of several numbers.
    Numbers([u8; 32]),
}

/// The numbers of a tensor of integers or truth values.
pub(crate) fn integers(output: &Tensor) -> Result<Vec<i64>, Stop> {
    let defect = |error: TensorError| Stop::Defect(error.to_string());
    output.to_data().and_then(|output| output.to_i64()).map_err(defect)
}

/// The refusal of an output that has no answer.
pub(crate) fn no_answer(metric: &str, output: &Output) -> Diagnostic {
    let message = format!(
        "{metric} needs an output with a number for each class; {:?} has {}",
        output.name,
        output.count()
    );
    Diagnostic::error(codes::EVALUATION, message).help("`cosine`, `snr` and `psnr` judge outputs of real numbers")
}
