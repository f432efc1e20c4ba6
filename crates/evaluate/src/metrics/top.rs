//! **top1** and **top5**: the percentage of samples with a right answer. An answer is right for top1 if the label is
//! the class with the largest score, and for top5 if the label is among the five classes with the largest scores.

use crate::seen::EvaluatedSample;
use crate::{
    accuracy::{Change, Figure},
    answers::Question,
    error::EvaluateError,
    interval::Spread,
    meter::{Meter, MetricFigures, Note, Runs},
    proportion::{Paired, Proportion},
};

/// Counts the right answers in one output.
pub struct Top {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// What kind of answer the output holds.
    pub question: Question,
    /// An answer is right if the label is among the `most` classes with the largest scores.
    pub most: usize,
    /// The right class of each sample.
    pub labels: Vec<u32>,
}

impl Meter for Top {
    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        let Some(&label) = self.labels.get(seen.sample) else {
            return Err(EvaluateError::Defect("a sample has no label".into()));
        };
        let right = self.question.is_right(seen, self.index, &self.name, label, self.most)?;
        Ok(Note::Right(right))
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        let change = runs.float.map(|float| {
            let paired = paired(&right(float), &right(runs.integer));
            Change::new(paired.points(), Spread::Counted(paired))
        });
        MetricFigures {
            float: runs.float.map(|notes| share(notes).into()),
            integer: Some(share(runs.integer).into()),
            simulated: runs.simulated.map(|notes| Figure::from(share(notes))),
            change,
            ..MetricFigures::default()
        }
    }
}

fn right(notes: &[Note]) -> Vec<bool> {
    notes.iter().map(|note| matches!(note, Note::Right(true))).collect()
}

fn share(notes: &[Note]) -> Proportion {
    Proportion {
        count: right(notes).iter().filter(|&&right| right).count() as u64,
        samples: notes.len() as u64,
    }
}

fn paired(float: &[bool], integer: &[bool]) -> Paired {
    let only =
        |one: &[bool], other: &[bool]| one.iter().zip(other).filter(|&(&one, &other)| one && !other).count() as u64;
    Paired {
        gained: only(integer, float),
        lost: only(float, integer),
        samples: integer.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_execute::Tensor;

    fn top(most: usize, labels: Vec<u32>) -> Top {
        Top {
            index: 0,
            name: "y".into(),
            question: Question::Scores(7),
            most,
            labels,
        }
    }

    fn note(top: &Top, scores: [f32; 7]) -> Result<bool, EvaluateError> {
        let outputs = [Tensor::from_values(&[1, 7], &scores).unwrap()];
        let seen = EvaluatedSample {
            sample: 0,
            inputs: &[],
            outputs: &outputs,
            beside: [None; 2],
        };
        top.note(&seen).map(|note| matches!(note, Note::Right(true)))
    }

    #[test]
    fn a_label_is_right_among_the_largest_and_ties_go_to_the_first() {
        let scores = [0.5, 0.5, 0.1, 0.4, 0.3, 0.2, 0.0];
        for (label, first, five) in [(0, true, true), (1, false, true), (5, false, true), (2, false, false)] {
            assert_eq!(note(&top(1, vec![label]), scores), Ok(first), "{label}");
            assert_eq!(note(&top(5, vec![label]), scores), Ok(five), "{label}");
        }
    }

    #[test]
    fn a_score_that_is_no_number_is_refused_with_its_sample() {
        let stop = note(&top(1, vec![0]), [0.0, f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap_err();
        assert!(stop.to_string().contains("\"y\" holds NaN at 1: sample 0"), "{stop}");
    }

    #[test]
    fn only_the_samples_on_which_one_model_is_right_make_a_difference() {
        let notes = |right: [bool; 5]| right.map(Note::Right).to_vec();
        let (float, integer) = (
            notes([true, true, false, false, true]),
            notes([true, false, true, false, true]),
        );
        let found = top(1, vec![]).measure(Runs {
            integer: &integer,
            float: Some(&float),
            simulated: None,
        });
        assert_eq!(
            (found.float.unwrap().count, found.integer.unwrap().count),
            (Some(3), Some(3))
        );
        let change = found.change.unwrap();
        assert_eq!(
            (change.value, change.spread),
            (
                0.0,
                Spread::Counted(Paired {
                    gained: 1,
                    lost: 1,
                    samples: 5
                })
            )
        );
    }
}
