//! **agreement**: the percentage of answers that the integer model gives as the float model does.
//!
//! If each sample has one answer, the interval is Wilson's. If a sample has several, samples are clusters
//! (`clusters.rs`).

use strait_execute::Tensor;

use crate::seen::EvaluatedSample;
use crate::{
    accuracy::{Change, Figure},
    answers::{Answers, Question},
    clusters::ClusteredShare,
    error::EvaluateError,
    interval::Spread,
    labels::Labels,
    meter::{Meter, MetricFigures, Note, Runs},
    proportion::Proportion,
};

/// Compares the models' answers in one output.
pub struct Agreement {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// What kind of answers the output holds.
    pub question: Question,
    /// Labels that say which answers do not count. Without them, all answers count.
    pub labels: Option<Labels>,
}

impl Meter for Agreement {
    /// A single answer is kept. Several answers are compared while both models run, so that they need not be kept.
    fn compares(&self) -> bool {
        self.question.answers() > 1
    }

    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        let labels = self.labels.as_ref().map(|labels| labels.of(seen.sample)).transpose()?;
        let counts = |at: usize| (labels.as_ref()).is_none_or(|labels| labels.get(at).is_some_and(Option::is_some));
        if self.compares() && seen.beside.iter().all(Option::is_none) {
            return Ok(Note::Nothing);
        }
        let own = self.question.answer(seen, self.index, &self.name)?;
        if !self.compares() {
            return Ok(if counts(0) { Note::Answer(own) } else { Note::Nothing });
        }
        let compared = |outputs: &[Tensor]| {
            let other = EvaluatedSample { outputs, ..*seen };
            let other = self.question.answer(&other, self.index, &self.name)?;
            let (Answers::Classes(own), Answers::Classes(other)) = (&own, other) else {
                return Err(EvaluateError::Defect(
                    "numbers of unknown count are several answers".into(),
                ));
            };
            let pairs = own.iter().zip(&other).enumerate().filter(|(at, _)| counts(*at));
            let alike = pairs.clone().filter(|(_, (own, other))| own == other).count();
            Ok([alike, pairs.count()].map(|count| count as u64))
        };
        let [float, simulated] = seen.beside.map(|outputs| outputs.map(compared).transpose());
        Ok(Note::Alike([float?, simulated?]))
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        if self.compares() {
            return self.of_clusters(runs.integer);
        }
        let with = |other: Option<&[Note]>| {
            let share = alike(runs.integer, other?);
            (share.samples > 0).then_some(share)
        };
        let share = with(runs.float);
        let answers = share.or(with(runs.simulated)).map(|share| share.samples);
        let compared = runs.float.is_some() || runs.simulated.is_some();
        MetricFigures {
            integer: share.map(Figure::from),
            simulated: with(runs.simulated).map(Figure::from),
            change: share.map(|share| Change::new(-share.lost(), Spread::Alike(share))),
            answers: answers.filter(|_| self.labels.is_some()),
            note: (compared && answers.is_none()).then(|| NONE_COUNTS.to_owned()),
            ..MetricFigures::default()
        }
    }
}

const NONE_COUNTS: &str = "no answer has a label that counts";

impl Agreement {
    fn of_clusters(&self, notes: &[Note]) -> MetricFigures {
        let with = |other: usize| -> Option<ClusteredShare> {
            let counts = notes.iter().map(|note| match note {
                Note::Alike(counts) => counts[other],
                _ => None,
            });
            Some(ClusteredShare::new(&counts.collect::<Option<Vec<_>>>()?))
        };
        let [float, simulated] = [with(0), with(1)].map(|share| share.filter(|share| share.answers > 0));
        let one = [with(0), with(1)].into_iter().flatten().next();
        let note = one.and_then(|share| match (share.answers, share.interval()) {
            (0, _) => Some(NONE_COUNTS),
            (_, None) => Some(super::ONE_SAMPLE),
            _ => None,
        });
        MetricFigures {
            integer: float.map(Figure::from),
            simulated: simulated.map(Figure::from),
            change: float.map(|share| Change::new(-share.lost(), Spread::AlikeInClusters(share))),
            answers: float.or(simulated).map(|share| share.answers),
            note: note.map(str::to_owned),
            ..MetricFigures::default()
        }
    }
}

/// The share of samples with the same answer, among those whose answer counts.
fn alike(left: &[Note], right: &[Note]) -> Proportion {
    let answers = left.iter().zip(right).filter_map(|pair| match pair {
        (Note::Answer(left), Note::Answer(right)) => Some(left == right),
        _ => None,
    });
    let answers: Vec<bool> = answers.collect();
    Proportion {
        count: answers.iter().filter(|&&alike| alike).count() as u64,
        samples: answers.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{answers::Scores, labels::Classes};

    fn agreement(question: Question, labels: Option<Labels>) -> Agreement {
        Agreement {
            index: 0,
            name: "y".into(),
            question,
            labels,
        }
    }

    fn classes<const N: usize>(of: [i64; N]) -> Vec<Note> {
        of.map(|class| Note::Answer(Answers::Classes(vec![class]))).to_vec()
    }

    fn measured(integer: &[Note], float: Option<&[Note]>, simulated: Option<&[Note]>) -> MetricFigures {
        agreement(Question::Classes(1), None).measure(Runs {
            integer,
            float,
            simulated,
        })
    }

    #[test]
    fn answers_are_counted_by_what_they_are() {
        let (float, integer) = (classes([1, 1, 2, 3, 1]), classes([1, 2, 1, 3, 1]));
        let found = measured(&integer, Some(&float), Some(&integer));
        assert_eq!(found.integer.unwrap().count, Some(3));
        assert_eq!(found.simulated.unwrap().count, Some(5));
        assert_eq!((found.change.unwrap().value, found.answers), (-40.0, None));
        assert!(measured(&integer, None, None).integer.is_none());
    }

    #[test]
    fn numbers_of_unknown_count_agree_as_a_whole() {
        let numbers = [[1; 32], [2; 32]].map(|digest| Note::Answer(Answers::Numbers(digest)));
        let other = [[1; 32], [3; 32]].map(|digest| Note::Answer(Answers::Numbers(digest)));
        assert_eq!(measured(&numbers, Some(&other), None).integer.unwrap().count, Some(1));
    }

    #[test]
    fn each_position_is_an_answer_unless_its_label_is_ignored() {
        let scores = Scores {
            outer: 1,
            classes: 2,
            inner: 3,
        };
        let labels = Labels {
            classes: Classes::OfSamples(vec![]),
            ignore: Some(0),
            answers: 3,
        };
        assert!(agreement(Question::Scores(scores), Some(labels)).compares());
        let meter = agreement(Question::Scores(scores), None);
        let tensor = |values: [f32; 6]| [Tensor::from_values(&[1, 2, 3], &values).unwrap()];
        let (own, float) = (
            tensor([1.0, 0.0, 5.0, 0.0, 1.0, 4.0]),
            tensor([1.0, 2.0, 3.0, 0.0, 1.0, 4.0]),
        );
        let seen = EvaluatedSample {
            sample: 0,
            inputs: &[],
            outputs: &own,
            beside: [Some(&float), None],
        };
        // The answers are 0, 1, 0 and 0, 0, 1.
        let note = meter.note(&seen).unwrap();
        assert!(matches!(note, Note::Alike([Some([1, 3]), None])), "{note:?}");
        let notes = [note, Note::Alike([Some([3, 3]), None])];
        let found = meter.measure(Runs {
            integer: &notes,
            float: None,
            simulated: None,
        });
        assert_eq!((found.integer.unwrap().count, found.answers), (Some(4), Some(6)));
        assert!((found.change.unwrap().value + 100.0 / 3.0).abs() < 1e-12);
    }
}
