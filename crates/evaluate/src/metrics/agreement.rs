//! **agreement**: the percentage of samples for which the integer model gives the same answer as the float model.

use crate::seen::EvaluatedSample;
use crate::{
    accuracy::{Change, Figure},
    answers::{Answer, Question},
    error::EvaluateError,
    interval::Spread,
    meter::{Meter, MetricFigures, Note, Runs},
    proportion::Proportion,
};

/// Compares the models' answers in one output.
pub struct Agreement {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// What kind of answer the output holds.
    pub question: Question,
}

impl Meter for Agreement {
    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        Ok(Note::Answer(self.question.answer(seen, self.index, &self.name)?))
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        let integer = answers(runs.integer);
        let with = |other: Option<&[Note]>| other.map(|notes| alike(&integer, &answers(notes)));
        let share = with(runs.float);
        MetricFigures {
            integer: share.map(Figure::from),
            simulated: with(runs.simulated).map(Figure::from),
            change: share.map(|share| Change::new(-share.lost(), Spread::Alike(share))),
            ..MetricFigures::default()
        }
    }
}

fn answers(notes: &[Note]) -> Vec<Option<Answer>> {
    let answer = |note: &Note| match note {
        Note::Answer(answer) => Some(*answer),
        _ => None,
    };
    notes.iter().map(answer).collect()
}

fn alike(left: &[Option<Answer>], right: &[Option<Answer>]) -> Proportion {
    Proportion {
        count: left.iter().zip(right).filter(|(left, right)| left == right).count() as u64,
        samples: left.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes<const N: usize>(of: [i64; N]) -> Vec<Note> {
        of.map(|class| Note::Answer(Answer::Class(class))).to_vec()
    }

    fn measured(integer: &[Note], float: Option<&[Note]>, simulated: Option<&[Note]>) -> MetricFigures {
        let question = Question::Scores(4);
        let agreement = Agreement {
            index: 0,
            name: "y".into(),
            question,
        };
        agreement.measure(Runs {
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
        assert_eq!(found.change.unwrap().value, -40.0);
        assert!(measured(&integer, None, None).integer.is_none());
    }

    #[test]
    fn several_numbers_agree_as_a_whole() {
        let numbers = [[1; 32], [2; 32]].map(|digest| Note::Answer(Answer::Numbers(digest)));
        let other = [[1; 32], [3; 32]].map(|digest| Note::Answer(Answer::Numbers(digest)));
        assert_eq!(measured(&numbers, Some(&other), None).integer.unwrap().count, Some(1));
    }
}
