//! Notes what a model answers to each sample, and how sure it is. Notes of two models tell which samples they answer
//! differently, although the models never ran side by side.

use crate::seen::EvaluatedSample;
use crate::{
    answers::{Answers, Question},
    error::EvaluateError,
    meter::{Meter, MetricFigures, Note, Runs},
};

use super::OneAnswer;

/// Notes the only answer to each sample that one output holds.
pub struct Answered {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// What kind of answers the output holds. It has one answer to each sample.
    pub question: Question,
}

impl Meter for Answered {
    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        if let Question::Scores(scores) = self.question {
            let numbers = seen.numbers(self.index, &self.name)?;
            let (class, score) = scores.best(&numbers, 0);
            let others = scores.row(&numbers, 0).enumerate().filter(|(other, _)| *other != class);
            let next = others.map(|(_, score)| score).fold(f32::NEG_INFINITY, f32::max);
            return Ok(Note::Answered(OneAnswer {
                class: class as i64,
                score: Some([f64::from(score), f64::from(score) - f64::from(next)]),
            }));
        }
        Ok(match self.question.answer(seen, self.index, &self.name)? {
            Answers::Classes(classes) => classes
                .first()
                .map_or(Note::Nothing, |&class| Note::Answered(OneAnswer { class, score: None })),
            Answers::Numbers(_) => Note::Nothing,
        })
    }

    /// The answers themselves are the result, so there is no figure.
    fn measure(&self, _: Runs<'_>) -> MetricFigures {
        MetricFigures::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::Scores;
    use strait_execute::Tensor;

    #[test]
    fn the_margin_is_over_the_next_largest_score() {
        let meter = Answered {
            index: 0,
            name: "y".into(),
            question: Question::Scores(Scores {
                outer: 1,
                classes: 4,
                inner: 1,
            }),
        };
        let outputs = [Tensor::from_values(&[1, 4], &[0.25f32, 2.0, -1.0, 1.5]).unwrap()];
        let seen = EvaluatedSample {
            sample: 0,
            inputs: &[],
            outputs: &outputs,
            beside: [None; 2],
        };
        let expected = OneAnswer {
            class: 1,
            score: Some([2.0, 0.5]),
        };
        let note = meter.note(&seen).unwrap();
        assert!(matches!(note, Note::Answered(found) if found == expected), "{note:?}");
    }
}
