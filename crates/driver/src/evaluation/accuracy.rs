//! Counting answers.

use serde::{Deserialize, Serialize};

use super::{
    answers::Answer,
    share::{Paired, Share},
};

/// Measured accuracy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accuracy {
    /// On how many samples.
    pub samples: u64,
    /// Share of samples whose answer is the right class.
    pub top1: Option<Top1>,
    /// Share of samples on which the answer of the integer model is that of the float model.
    pub agreement: Option<Share>,
    /// The float graph that rounds where the integer one has codes; measured where it is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Simulated>,
}

/// Accuracy of the simulation. Against that of the float model it says what the grids cost, against that of the integer
/// model what the target's arithmetic does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulated {
    /// Share of samples whose answer is the right class.
    pub top1: Option<Share>,
    /// Share of samples on which the answer of the integer model is that of the simulation.
    pub agreement: Share,
}

impl Simulated {
    /// Compares the answers of the simulation to the same samples with those of the integer model, and with what is right.
    pub fn new(integer: &[Answer], simulated: &[Answer], labels: Option<&[u32]>) -> Simulated {
        Simulated {
            top1: labels.map(|labels| same(simulated, labels)),
            agreement: same(integer, simulated),
        }
    }
}

/// Share of samples with the same answer.
fn same<A: PartialEq<B>, B>(left: &[A], right: &[B]) -> Share {
    Share {
        count: left.iter().zip(right).filter(|&(left, right)| left == right).count() as u64,
        samples: left.len() as u64,
    }
}

/// Top-1 accuracy of the models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Top1 {
    /// The integer model.
    pub integer: Share,
    /// The float model.
    pub float: Option<Share>,
    /// From float to integer.
    pub change: Option<Paired>,
}

impl Accuracy {
    /// Compares answers to the same samples, with each other and with what is right.
    pub fn new(integer: &[Answer], float: Option<&[Answer]>, labels: Option<&[u32]>) -> Accuracy {
        let samples = integer.len() as u64;
        let top1 = labels.map(|labels| {
            // Of the samples, those where one model is right and the other is not.
            let only = |right: &[Answer], wrong: &[Answer]| {
                let answers = right.iter().zip(wrong).zip(labels);
                answers
                    .filter(|&((right, wrong), label)| right == label && wrong != label)
                    .count() as u64
            };
            Top1 {
                integer: same(integer, labels),
                float: float.map(|float| same(float, labels)),
                change: float.map(|float| Paired {
                    gained: only(integer, float),
                    lost: only(float, integer),
                    samples,
                }),
            }
        });
        Accuracy {
            samples,
            top1,
            agreement: float.map(|float| same(integer, float)),
            simulated: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes<const N: usize>(of: [i64; N]) -> [Answer; N] {
        of.map(Answer::Class)
    }

    #[test]
    fn answers_are_counted_by_what_they_are() {
        let (float, integer, labels) = (classes([1, 1, 2, 3, 1]), classes([1, 2, 1, 3, 1]), [1; 5]);
        let accuracy = Accuracy::new(&integer, Some(&float), Some(&labels));
        let top1 = accuracy.top1.unwrap();
        let counts = (
            top1.integer.count,
            top1.float.unwrap().count,
            accuracy.agreement.unwrap().count,
        );
        assert_eq!(counts, (3, 3, 3));
        let expected = Paired {
            gained: 1,
            lost: 1,
            samples: 5,
        };
        assert_eq!(top1.change, Some(expected));
    }

    #[test]
    fn a_simulation_is_counted_beside_the_integers() {
        let simulated = Simulated::new(&classes([1, 2, 3]), &classes([1, 2, 1]), Some(&[1, 1, 1]));
        assert_eq!((simulated.agreement.count, simulated.top1.unwrap().count), (2, 2));
        assert_eq!(Simulated::new(&classes([1]), &classes([2]), None).top1, None);
    }

    #[test]
    fn what_is_not_known_is_not_stated() {
        let accuracy = Accuracy::new(&classes([1]), None, Some(&[1]));
        assert_eq!((accuracy.agreement, accuracy.top1.unwrap().float), (None, None));
        let accuracy = Accuracy::new(&classes([1]), Some(&classes([1])), None);
        assert_eq!((accuracy.top1, accuracy.agreement.unwrap().count), (None, 1));
    }

    #[test]
    fn several_numbers_agree_as_a_whole_and_are_no_class() {
        let numbers = [[1; 32], [2; 32]].map(Answer::Numbers);
        let other = [[1; 32], [3; 32]].map(Answer::Numbers);
        let accuracy = Accuracy::new(&numbers, Some(&other), Some(&[1, 1]));
        assert_eq!(accuracy.agreement.map(|share| share.count), Some(1));
        assert_eq!(accuracy.top1.map(|top1| top1.integer.count), Some(0));
        assert!(Answer::Class(-1) != u32::MAX);
    }
}
