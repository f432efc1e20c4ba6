//! Reads an output of a model as the answer to a question, such as the class of a picture.

use strait_execute::Tensor;

use crate::error::EvaluateError;
use crate::seen::{EvaluatedSample, Output};

/// The kind of answer that an output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// One float for each class. The field is the number of classes. The answer is the class with the largest float.
    Scores(usize),
    /// One integer or boolean. It is the class itself.
    Class,
    /// Several integers or booleans. The field says how many there are; it may be 0. Two models agree if each of these
    /// integers or booleans is equal in both.
    Numbers(usize),
}

impl Question {
    /// The kind of answer that an output holds. `None` for an output of floats with fewer than two elements.
    pub fn of(output: &Output) -> Option<Question> {
        match (output.elem.is_float(), output.count()) {
            (false, 1) => Some(Question::Class),
            (false, count) => Some(Question::Numbers(count)),
            (true, 0 | 1) => None,
            (true, count) => Some(Question::Scores(count)),
        }
    }

    /// Number of classes, if it is known.
    pub fn classes(self) -> Option<usize> {
        match self {
            Question::Scores(classes) => Some(classes),
            Question::Class | Question::Numbers(_) => None,
        }
    }

    /// True if the model's answer is right. For scores, it is right if the label is among the `most` classes with the
    /// largest scores. For any other answer, it is right if it equals the label. If two scores are equal, the score of
    /// the earlier class counts as larger.
    ///
    /// # Errors
    /// As for [`EvaluatedSample::numbers`].
    pub fn is_right(
        self,
        seen: &EvaluatedSample<'_>,
        index: usize,
        name: &str,
        label: u32,
        most: usize,
    ) -> Result<bool, EvaluateError> {
        let Question::Scores(_) = self else {
            return Ok(self.answer(seen, index, name)? == Answer::Class(i64::from(label)));
        };
        let (scores, label) = (seen.numbers(index, name)?, label as usize);
        let own = scores.get(label).copied().unwrap_or(f32::NEG_INFINITY);
        let before = |&(class, &score): &(usize, &f32)| score > own || (score == own && class < label);
        Ok(scores.iter().enumerate().filter(before).count() < most)
    }

    /// Returns the model's answer. For an output of floats, it is the index of the largest float; if several are
    /// equally large, the index of the first of them. For any other output, it is the content of the output.
    ///
    /// # Errors
    /// As for [`EvaluatedSample::numbers`].
    pub fn answer(self, seen: &EvaluatedSample<'_>, index: usize, name: &str) -> Result<Answer, EvaluateError> {
        let output = seen.output(index)?;
        match self {
            Question::Scores(_) => {
                let scores = seen.numbers(index, name)?;
                let best = (scores.iter().enumerate()).reduce(|best, next| if next.1 > best.1 { next } else { best });
                Ok(Answer::Class(best.map_or(0, |(class, _)| class as i64)))
            }
            Question::Class => Ok(Answer::Class(integers(output)?.first().copied().unwrap_or_default())),
            Question::Numbers(_) => Ok(Answer::Numbers(blake3::hash(output.view().bytes()).into())),
        }
    }
}

/// A model's answer to one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The index of a class.
    Class(i64),
    /// A digest of several numbers. Digests can be compared without keeping the numbers.
    Numbers([u8; 32]),
}

/// The elements of a tensor of integers or booleans.
pub(crate) fn integers(output: &Tensor) -> Result<Vec<i64>, EvaluateError> {
    Ok(output.to_data()?.to_i64()?)
}
