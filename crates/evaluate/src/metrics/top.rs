//! **top1** and **top5**: the percentage of right answers. An answer is right for top1 if the label is the class with the
//! largest score, and for top5 if the label is among the five classes with the largest scores. If two scores are equal,
//! the score of the earlier class counts as larger.
//!
//! If each sample has one answer, the interval is Wilson's, and that of the change is by Agresti and Min. If a sample has
//! several, samples are clusters (`clusters.rs`).

use crate::seen::EvaluatedSample;
use crate::{
    accuracy::{Change, Figure},
    answers::{Answers, Question},
    clusters::ClusteredShare,
    error::EvaluateError,
    interval::Spread,
    labels::Labels,
    meter::{Meter, MetricFigures, Note, Runs},
    proportion::{Paired, Proportion},
};

/// Counts the right answers in one output.
pub struct Top {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// What kind of answers the output holds.
    pub question: Question,
    /// An answer is right if the label is among the `most` classes with the largest scores.
    pub most: usize,
    /// The right answers.
    pub labels: Labels,
}

impl Meter for Top {
    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        let labels = self.labels.of(seen.sample)?;
        let counted = || {
            labels
                .iter()
                .enumerate()
                .filter_map(|(at, label)| Some((at, (*label)?)))
        };
        let right = match self.question {
            Question::Scores(scores) => {
                let numbers = seen.numbers(self.index, &self.name)?;
                let is_right = |&(at, label): &(usize, i64)| {
                    let label = usize::try_from(label).unwrap_or(usize::MAX);
                    let row = scores.row(&numbers, at);
                    let own = row.clone().nth(label).unwrap_or(f32::NEG_INFINITY);
                    let before = |&(class, score): &(usize, f32)| score > own || (score == own && class < label);
                    label < scores.classes && row.enumerate().filter(before).take(self.most).count() < self.most
                };
                counted().filter(is_right).count()
            }
            question => match question.answer(seen, self.index, &self.name)? {
                Answers::Classes(answers) => counted().filter(|&(at, label)| answers.get(at) == Some(&label)).count(),
                Answers::Numbers(_) => return Err(EvaluateError::Defect("numbers of unknown count are judged".into())),
            },
        };
        Ok(Note::Right([right, counted().count()].map(|count| count as u64)))
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        let integer = right(runs.integer);
        let answers: u64 = integer.iter().map(|[_, of]| of).sum();
        if answers == 0 {
            return MetricFigures {
                note: Some("no answer has a label that counts".to_owned()),
                ..MetricFigures::default()
            };
        }
        let several = self.question.answers() > 1;
        let figure = |counts: &[[u64; 2]]| match several {
            true => ClusteredShare::new(counts).into(),
            false => Figure::from(share(counts)),
        };
        let change = runs.float.map(|float| {
            let float = right(float);
            if several {
                let pairs = float
                    .iter()
                    .zip(&integer)
                    .map(|(&[before, of], &[after, _])| ([before, after], of));
                let (value, spread) = Spread::of_change(&pairs.collect::<Vec<_>>());
                return Change::new(value, spread);
            }
            let paired = paired(&float, &integer);
            Change::new(paired.points(), Spread::Counted(paired))
        });
        let integer = figure(&integer);
        MetricFigures {
            float: runs.float.map(|notes| figure(&right(notes))),
            integer: Some(integer),
            simulated: runs.simulated.map(|notes| figure(&right(notes))),
            change,
            answers: (several || self.labels.ignore.is_some()).then_some(answers),
            note: integer.interval.is_none().then(|| super::ONE_SAMPLE.to_owned()),
            ..MetricFigures::default()
        }
    }
}

/// How many answers to each sample are right, and how many count.
fn right(notes: &[Note]) -> Vec<[u64; 2]> {
    let counts = |note: &Note| match note {
        Note::Right(counts) => *counts,
        _ => [0; 2],
    };
    notes.iter().map(counts).collect()
}

fn share(counts: &[[u64; 2]]) -> Proportion {
    Proportion {
        count: counts.iter().map(|[right, _]| right).sum(),
        samples: counts.iter().map(|[_, of]| of).sum(),
    }
}

fn paired(float: &[[u64; 2]], integer: &[[u64; 2]]) -> Paired {
    let only = |one: &[[u64; 2]], other: &[[u64; 2]]| {
        let pairs = one.iter().zip(other);
        pairs.filter(|([one, _], [other, _])| one > other).count() as u64
    };
    Paired {
        gained: only(integer, float),
        lost: only(float, integer),
        samples: share(integer).samples,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{answers::Scores, labels::Classes};
    use strait_execute::Tensor;

    fn top(most: usize, outer: usize, labels: Vec<i64>) -> Top {
        let scores = Scores {
            outer,
            classes: 7 / outer,
            inner: 1,
        };
        Top {
            index: 0,
            name: "y".into(),
            question: Question::Scores(scores),
            most,
            labels: Labels {
                classes: Classes::OfSamples(labels),
                ignore: Some(-100),
                answers: 1,
            },
        }
    }

    fn note(top: &Top, scores: [f32; 7]) -> Result<[u64; 2], EvaluateError> {
        let outputs = [Tensor::from_values(&[1, 7], &scores).unwrap()];
        let seen = EvaluatedSample {
            sample: 0,
            inputs: &[],
            outputs: &outputs,
            beside: [None; 2],
        };
        top.note(&seen).map(|note| right(&[note])[0])
    }

    #[test]
    fn a_label_is_right_among_the_largest_and_ties_go_to_the_first() {
        let scores = [0.5, 0.5, 0.1, 0.4, 0.3, 0.2, 0.0];
        for (label, first, five) in [(0, 1, 1), (1, 0, 1), (5, 0, 1), (2, 0, 0)] {
            assert_eq!(note(&top(1, 1, vec![label]), scores), Ok([first, 1]), "{label}");
            assert_eq!(note(&top(5, 1, vec![label]), scores), Ok([five, 1]), "{label}");
        }
        assert_eq!(note(&top(1, 1, vec![-100]), scores), Ok([0, 0]));
    }

    #[test]
    fn a_score_that_is_no_number_is_refused_with_its_sample() {
        let stop = note(&top(1, 1, vec![0]), [0.0, f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap_err();
        assert!(stop.to_string().contains("\"y\" holds NaN at 1: sample 0"), "{stop}");
    }

    fn measured(top: &Top, float: &[[u64; 2]], integer: &[[u64; 2]]) -> MetricFigures {
        let notes = |of: &[[u64; 2]]| of.iter().copied().map(Note::Right).collect::<Vec<_>>();
        top.measure(Runs {
            integer: &notes(integer),
            float: Some(&notes(float)),
            simulated: None,
        })
    }

    #[test]
    fn only_the_samples_on_which_one_model_is_right_make_a_difference() {
        // The last sample does not count.
        let float = [[1, 1], [1, 1], [0, 1], [0, 1], [1, 1], [0, 0]];
        let integer = [[1, 1], [0, 1], [1, 1], [0, 1], [1, 1], [0, 0]];
        let found = measured(&top(1, 1, vec![]), &float, &integer);
        assert_eq!(
            (found.float.unwrap().count, found.integer.unwrap().count, found.answers),
            (Some(3), Some(3), Some(5))
        );
        let change = found.change.unwrap();
        let paired = Paired {
            gained: 1,
            lost: 1,
            samples: 5,
        };
        assert_eq!((change.value, change.spread), (0.0, Spread::Counted(paired)));
        let none = measured(&top(1, 1, vec![]), &[[0, 0]], &[[0, 0]]);
        assert!(none.integer.is_none() && none.note.unwrap().contains("label that counts"));
    }

    #[test]
    fn several_answers_of_a_sample_are_a_cluster() {
        let found = measured(&top(1, 3, vec![]), &[[3, 4], [2, 2], [1, 3]], &[[2, 4], [2, 2], [0, 3]]);
        assert_eq!((found.answers, found.integer.unwrap().count), (Some(9), Some(4)));
        let change = found.change.unwrap();
        assert!((change.value + 200.0 / 9.0).abs() < 1e-12 && change.by.unwrap().contains("clusters"));
        let one = measured(&top(1, 3, vec![]), &[[3, 4]], &[[2, 4]]);
        assert!(one.integer.unwrap().interval.is_none() && one.note.unwrap().contains("a single sample"));
    }
}
