//! An output as the answer to a question.

use strait_execute::Tensor;

use crate::{
    error::EvaluateError,
    meter::{Output, Seen},
};

/// The question that an output answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// A float for each of so many classes: the largest one is asked for.
    Scores(usize),
    /// One integer or truth value: it is the class.
    Class,
    /// So many integers or truth values, or none, which are the same in two models or not.
    Numbers(usize),
}

impl Question {
    /// The question that an output answers; `None` for less than two floats.
    pub fn of(output: &Output) -> Option<Question> {
        match (output.elem.is_float(), output.count()) {
            (false, 1) => Some(Question::Class),
            (false, count) => Some(Question::Numbers(count)),
            (true, 0 | 1) => None,
            (true, count) => Some(Question::Scores(count)),
        }
    }

    /// Number of classes, where it is known.
    pub fn classes(self) -> Option<usize> {
        match self {
            Question::Scores(classes) => Some(classes),
            Question::Class | Question::Numbers(_) => None,
        }
    }

    /// The answer that is the label: whether its class is among the `most` with the largest scores. Of equal scores the
    /// first class is the larger one.
    ///
    /// # Errors
    /// As for [`Seen::numbers`].
    pub fn is_right(
        self,
        seen: &Seen<'_>,
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

    /// The model's answer: of floats the position of the largest, the first one where several are equal; otherwise what the
    /// output holds.
    ///
    /// # Errors
    /// As for [`Seen::numbers`].
    pub fn answer(self, seen: &Seen<'_>, index: usize, name: &str) -> Result<Answer, EvaluateError> {
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
    /// A class.
    Class(i64),
    /// The digest of several numbers.
    Numbers([u8; 32]),
}

/// The numbers of a tensor of integers or truth values.
pub(crate) fn integers(output: &Tensor) -> Result<Vec<i64>, EvaluateError> {
    Ok(output.to_data()?.to_i64()?)
}
