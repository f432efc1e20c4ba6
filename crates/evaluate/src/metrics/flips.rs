//! Lists the answers that the integer model gives otherwise than the float model.
//!
//! A flip has two margins. The margin of the float model is its largest score minus its score of the integer model's
//! answer; that of the integer model is its largest score minus its score of the float model's answer. If both are
//! small, the decision was close, and the flip is no sign of a fault. Answers that are integers have no scores.

use crate::seen::EvaluatedSample;
use crate::{
    answers::{Answers, Question},
    error::EvaluateError,
    labels::Labels,
    meter::{Meter, MetricFigures, Note, Runs},
};

use super::{Flip, Flipped};

/// Compares the answers in one output one by one.
pub struct Flips {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// What kind of answers the output holds.
    pub question: Question,
    /// The right answers, if they are known. Answers that do not count are left out.
    pub labels: Option<Labels>,
}

impl Meter for Flips {
    fn compares(&self) -> bool {
        true
    }

    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        let Some(outputs) = seen.beside[0] else {
            return Ok(Note::Nothing);
        };
        let float = EvaluatedSample { outputs, ..*seen };
        let labels = self.labels.as_ref().map(|labels| labels.of(seen.sample)).transpose()?;
        let label = |at: usize| labels.as_ref().and_then(|labels| *labels.get(at)?);
        let counts = |at: usize| labels.is_none() || label(at).is_some();
        let [before, after] = [&float, seen].map(|side| self.question.answer(side, self.index, &self.name));
        let (before, after) = match (before?, after?) {
            (Answers::Classes(before), Answers::Classes(after)) => (before, after),
            (before, after) => {
                let flip = Flip {
                    answer: 0,
                    label: None,
                    float: None,
                    integer: None,
                    margins: None,
                };
                let flips = if before == after { vec![] } else { vec![flip] };
                return Ok(Note::Flipped(Flipped { answers: 1, flips }));
            }
        };
        let scores = match self.question {
            Question::Scores(scores) => {
                let [float, integer] = [&float, seen].map(|side| side.numbers(self.index, &self.name));
                Some((scores, [float?, integer?]))
            }
            _ => None,
        };
        let margins = |at: usize, [float, integer]: [i64; 2]| {
            let (scores, [of_float, of_integer]) = scores.as_ref()?;
            let margin = |numbers: &[f32], other: i64| {
                let other = scores.row(numbers, at).nth(usize::try_from(other).ok()?)?;
                Some(f64::from(scores.best(numbers, at).1) - f64::from(other))
            };
            Some([margin(of_float, integer)?, margin(of_integer, float)?])
        };
        let pairs = before.iter().zip(&after).enumerate().filter(|(at, _)| counts(*at));
        let answers = pairs.clone().count() as u64;
        let flips = pairs.filter(|(_, (float, integer))| float != integer);
        let flips = flips.map(|(at, (&float, &integer))| Flip {
            answer: at,
            label: label(at),
            float: Some(float),
            integer: Some(integer),
            margins: margins(at, [float, integer]),
        });
        let flips = flips.collect();
        Ok(Note::Flipped(Flipped { answers, flips }))
    }

    /// The flips themselves are the result, so there is no figure.
    fn measure(&self, _: Runs<'_>) -> MetricFigures {
        MetricFigures::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{answers::Scores, labels::Classes};
    use strait_execute::Tensor;

    #[test]
    fn margins_are_those_of_the_other_answer_and_padding_is_left_out() {
        let scores = Scores {
            outer: 1,
            classes: 3,
            inner: 1,
        };
        let meter = |ignore| Flips {
            index: 0,
            name: "y".into(),
            question: Question::Scores(scores),
            labels: Some(Labels {
                classes: Classes::OfSamples(vec![2]),
                ignore,
                answers: 1,
            }),
        };
        let tensor = |values: [f32; 3]| [Tensor::from_values(&[1, 3], &values).unwrap()];
        let (float, integer) = (tensor([1.0, 0.25, 0.0]), tensor([0.5, 0.625, 0.0]));
        let seen = EvaluatedSample {
            sample: 0,
            inputs: &[],
            outputs: &integer,
            beside: [Some(&float), None],
        };
        let Note::Flipped(found) = meter(None).note(&seen).unwrap() else {
            panic!("no flips")
        };
        let expected = Flip {
            answer: 0,
            label: Some(2),
            float: Some(0),
            integer: Some(1),
            margins: Some([0.75, 0.125]),
        };
        assert_eq!((found.answers, found.flips), (1, vec![expected]));
        let note = meter(Some(2)).note(&seen).unwrap();
        assert!(
            matches!(&note, Note::Flipped(found) if *found == Flipped::default()),
            "{note:?}"
        );
    }
}
