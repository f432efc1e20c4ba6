//! Counting answers.

use serde::{Deserialize, Serialize};

use super::share::{Paired, Share};

/// The answers of two models to one sample, and the right one: classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The float model's, where there is one.
    pub float: Option<u32>,
    /// The integer model's.
    pub integer: u32,
    /// The right one, where it is known.
    pub label: Option<u32>,
}

/// How many answers were right, or the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    samples: u64,
    labelled: u64,
    compared: u64,
    float_right: u64,
    integer_right: u64,
    gained: u64,
    lost: u64,
    same: u64,
}

impl Tally {
    /// Counts one sample.
    pub fn add(&mut self, answer: Answer) {
        let right = |class: u32| answer.label == Some(class);
        let integer_right = right(answer.integer);
        self.samples += 1;
        self.labelled += u64::from(answer.label.is_some());
        self.integer_right += u64::from(integer_right);
        if let Some(float) = answer.float {
            let float_right = right(float);
            self.compared += 1;
            self.float_right += u64::from(float_right);
            self.gained += u64::from(integer_right && !float_right);
            self.lost += u64::from(float_right && !integer_right);
            self.same += u64::from(float == answer.integer);
        }
    }

    /// The figures.
    pub fn accuracy(&self) -> Accuracy {
        let of_all = |count| Share {
            count,
            samples: self.samples,
        };
        let labelled = self.labelled > 0 && self.labelled == self.samples;
        let compared = self.compared > 0 && self.compared == self.samples;
        Accuracy {
            samples: self.samples,
            top1: labelled.then(|| Top1 {
                integer: of_all(self.integer_right),
                float: compared.then(|| of_all(self.float_right)),
                change: compared.then_some(Paired {
                    gained: self.gained,
                    lost: self.lost,
                    samples: self.samples,
                }),
            }),
            agreement: compared.then(|| of_all(self.same)),
        }
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accuracy {
    /// On how many samples.
    pub samples: u64,
    /// How often the largest output is that of the right class.
    pub top1: Option<Top1>,
    /// How often the largest output of the integer model is that of the float model.
    pub agreement: Option<Share>,
}

/// How often models are right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Top1 {
    /// The integer model.
    pub integer: Share,
    /// The float model.
    pub float: Option<Share>,
    /// From float to integer.
    pub change: Option<Paired>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_what_they_are() {
        let mut tally = Tally::default();
        for (float, integer, label) in [(1, 1, 1), (1, 2, 1), (2, 1, 1), (3, 3, 1), (1, 1, 1)] {
            tally.add(Answer {
                float: Some(float),
                integer,
                label: Some(label),
            });
        }
        let accuracy = tally.accuracy();
        let top1 = accuracy.top1.unwrap();
        assert_eq!(
            (
                top1.integer.count,
                top1.float.unwrap().count,
                accuracy.agreement.unwrap().count
            ),
            (3, 3, 3)
        );
        assert_eq!(
            top1.change,
            Some(Paired {
                gained: 1,
                lost: 1,
                samples: 5
            })
        );
    }

    #[test]
    fn what_is_not_known_is_not_stated() {
        let mut tally = Tally::default();
        tally.add(Answer {
            float: None,
            integer: 1,
            label: Some(1),
        });
        let accuracy = tally.accuracy();
        assert_eq!((accuracy.agreement, accuracy.top1.unwrap().float), (None, None));
        let mut tally = Tally::default();
        tally.add(Answer {
            float: Some(1),
            integer: 1,
            label: None,
        });
        let accuracy = tally.accuracy();
        assert_eq!((accuracy.top1, accuracy.agreement.unwrap().count), (None, 1));
    }
}
