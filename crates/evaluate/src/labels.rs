//! The right class of each answer.

use std::borrow::Cow;

use strait_samples::Array;

use crate::error::EvaluateError;

/// Where labels are kept.
#[derive(Clone, Debug)]
pub enum Classes {
    /// One label for each sample.
    OfSamples(Vec<i64>),
    /// An array with the labels of all answers of a sample at each index of its first axis. They are read when they
    /// are needed.
    Stored(Array),
}

/// The labels of the answers in one output.
#[derive(Clone, Debug)]
pub struct Labels {
    /// The labels.
    pub classes: Classes,
    /// The label of answers that do not count, such as padding.
    pub ignore: Option<i64>,
    /// Number of answers of a sample.
    pub answers: usize,
}

impl Labels {
    /// The labels of all answers to a sample. An answer that does not count has `None`.
    ///
    /// # Errors
    /// A label is not a whole number, or the labels do not fit the answers, which is a bug of ours.
    pub fn of(&self, sample: usize) -> Result<Vec<Option<i64>>, EvaluateError> {
        let all = match &self.classes {
            Classes::OfSamples(labels) => labels
                .get(sample)
                .map(|label| Cow::Borrowed(std::slice::from_ref(label))),
            Classes::Stored(array) if Some(sample) < array.samples() => {
                let whole = array.integers_of(sample).ok_or_else(|| {
                    let message = format!("labels {sample} of {} are not whole numbers", array.name());
                    EvaluateError::unfit(message).help("a label is a class, which is a whole number from 0 on")
                })?;
                Some(Cow::Owned(whole))
            }
            Classes::Stored(_) => None,
        };
        let all = all.filter(|all| all.len() == self.answers);
        let all = all.ok_or_else(|| EvaluateError::Defect("a sample has too few labels".into()))?;
        let counts = |&label: &i64| (Some(label) != self.ignore).then_some(label);
        Ok(all.iter().map(counts).collect())
    }
}
