//! **auc**: the area under the ROC curve, from 0 to 1.
//!
//! Consider all pairs of a sample with label 1 and a sample with label 0. The area is the fraction of pairs in which
//! the sample with label 1 has the larger score. A pair with equal scores counts half. The score of a sample depends on
//! the output:
//!
//! | score | used for |
//! |---|---|
//! | the number | an output of one number |
//! | the second number minus the first | an output of two classes |
//! | the mean of the squared differences to the input | `score = "reconstruction"`: an autoencoder, which reconstructs badly what it was not trained on |
//!
//! With `group = g`, each group of g consecutive samples that share one label counts as one sample, for example the
//! windows of a recording. Its score is the mean of the scores of the g samples.
//!
//! Intervals are computed as by DeLong, DeLong and Clarke-Pearson (1988). The *placement* of a sample is the fraction
//! of samples of the other class whose scores are on the correct side of its own score: lower scores for a sample with
//! label 1, and higher scores for a sample with label 0. The area is the mean of the placements of either class. For
//! each sample, take the difference of its placements in the two models. Let S₁² be the variance of these differences
//! over the m samples with label 1, and let S₀² be their variance over the n samples with label 0. Then the difference
//! of the areas has the variance S₁²/m + S₀²/n. Placements are computed from ranks (Sun and Xu 2014).

use strait_execute::Tensor;

use crate::seen::{EvaluatedSample, floats};
use crate::{
    accuracy::{Change, Figure},
    answers::integers,
    error::EvaluateError,
    interval::Spread,
    meter::{Meter, MetricFigures, Note, Runs, numbers},
};

/// How the score of a sample is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// The score is the only number of the output.
    Number,
    /// The score is the second number of the output minus the first.
    Second,
    /// The score is the error with which the output reconstructs the input at this index.
    Reconstruction(usize),
}

/// Computes the area under the ROC curve for one output.
pub struct Auc {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// How the score is computed.
    pub score: Score,
    /// Number of consecutive samples that share one label.
    pub group: usize,
    /// For each label: true if the label is 1.
    pub labels: Vec<bool>,
}

impl Meter for Auc {
    fn group(&self) -> usize {
        self.group
    }

    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        Ok(Note::Number(match self.score {
            Score::Reconstruction(input) => self.error(seen, input)?,
            Score::Second => match seen.numbers(self.index, &self.name)?.as_slice() {
                [first, second] => f64::from(*second) - f64::from(*first),
                _ => return Err(EvaluateError::Defect("an output of two numbers has others".into())),
            },
            Score::Number => match seen.output(self.index)? {
                output if output.elem().is_float() => first(&seen.numbers(self.index, &self.name)?),
                output => integers(output)?.first().map_or(0.0, |&x| x as f64),
            },
        }))
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        let placed = |notes: &[Note]| Placed::new(&means(&numbers(notes), self.group), &self.labels);
        let integer = placed(runs.integer);
        let float = runs.float.map(placed);
        let change = float.as_ref().map(|float| {
            let error = integer.less(float).error();
            Change::new(
                integer.area() - float.area(),
                error.map_or(Spread::Unknown, Spread::Normal),
            )
        });
        MetricFigures {
            change,
            float: float.as_ref().map(Placed::figure),
            integer: Some(integer.figure()),
            simulated: runs.simulated.map(|notes| placed(notes).figure()),
            ..MetricFigures::default()
        }
    }
}

impl Auc {
    /// The mean of the squared differences between the elements of the output and those of an input.
    fn error(&self, seen: &EvaluatedSample<'_>, input: usize) -> Result<f64, EvaluateError> {
        let found = seen.numbers(self.index, &self.name)?;
        let expected = seen
            .inputs
            .get(input)
            .map(|input| Tensor::from_bytes(input.elem(), input.shape(), input.bytes()));
        let expected = expected.ok_or_else(|| EvaluateError::Defect("an input is missing".into()))?;
        let expected = floats(&expected?)?;
        let pairs = found.iter().zip(&expected);
        let sum: f64 = pairs.map(|(&y, &x)| (f64::from(y) - f64::from(x)).powi(2)).sum();
        if sum.is_finite() {
            return Ok(sum / found.len().max(1) as f64);
        }
        let message = format!("the output {:?} of sample {} is not finite", self.name, seen.sample);
        Err(EvaluateError::not_finite(message))
    }
}

fn first(numbers: &[f32]) -> f64 {
    numbers.first().copied().map_or(0.0, f64::from)
}

/// The means of each group of `group` consecutive numbers.
fn means(numbers: &[f64], group: usize) -> Vec<f64> {
    let group = group.max(1);
    numbers
        .chunks(group)
        .map(|part| part.iter().sum::<f64>() / part.len() as f64)
        .collect()
}

/// The placements of all samples with label 1, and those of all samples with label 0. The documentation of this module
/// defines placements.
struct Placed([Vec<f64>; 2]);

impl Placed {
    fn new(scores: &[f64], labels: &[bool]) -> Placed {
        let of = |wanted: bool| -> Vec<f64> {
            let both = scores.iter().zip(labels);
            both.filter(|&(_, &label)| label == wanted)
                .map(|(&score, _)| score)
                .collect()
        };
        let (ones, zeros) = (of(true), of(false));
        let all: Vec<f64> = ones.iter().chain(&zeros).copied().collect();
        let ranks = midranks(&all);
        let (of_ones, of_zeros) = ranks.split_at(ones.len());
        let (m, n) = (ones.len() as f64, zeros.len() as f64);
        // The rank of a sample among all samples, minus its rank within its own class, is the number of samples of the
        // other class that have a lower score.
        let above = of_ones.iter().zip(midranks(&ones)).map(|(all, own)| (all - own) / n);
        let below = of_zeros
            .iter()
            .zip(midranks(&zeros))
            .map(|(all, own)| 1.0 - (all - own) / m);
        Placed([above.collect(), below.collect()])
    }

    fn area(&self) -> f64 {
        let [ones, _] = &self.0;
        ones.iter().sum::<f64>() / ones.len() as f64
    }

    /// For each sample, subtracts its placement in the other model from its placement in this model.
    fn less(&self, other: &Placed) -> Placed {
        let of = |class: usize| self.0[class].iter().zip(&other.0[class]).map(|(a, b)| a - b).collect();
        Placed([of(0), of(1)])
    }

    /// The standard error of the difference between the areas under two ROC curves. It is only known if each class has
    /// at least two samples.
    fn error(&self) -> Option<f64> {
        let variance = |placements: &[f64]| {
            let n = placements.len() as f64;
            let mean = placements.iter().sum::<f64>() / n;
            let squares: f64 = placements.iter().map(|x| (x - mean).powi(2)).sum();
            (n > 1.0).then(|| squares / (n - 1.0) / n)
        };
        let [ones, zeros] = &self.0;
        Some((variance(ones)? + variance(zeros)?).sqrt())
    }

    fn figure(&self) -> Figure {
        let (value, error) = (self.area(), self.error());
        let interval = error.and_then(|error| Spread::Normal(error).interval(value));
        Figure {
            interval: interval.map(|ends| ends.map(|end| end.clamp(0.0, 1.0))),
            ..Figure::plain(value)
        }
    }
}

/// The ranks of numbers, starting with 1. Equal numbers all get the mean of their ranks.
fn midranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut begun = 0;
    for equal in order.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
        let rank = begun as f64 + (equal.len() + 1) as f64 / 2.0;
        for &at in equal {
            ranks[at] = rank;
        }
        begun += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(scores: &[f64], labels: &[u8]) -> Placed {
        Placed::new(scores, &labels.iter().map(|&label| label == 1).collect::<Vec<_>>())
    }

    /// The area by its definition: the share of the pairs that are ordered correctly.
    fn by_pairs(scores: &[f64], labels: &[u8]) -> f64 {
        let of = |wanted| {
            scores
                .iter()
                .zip(labels)
                .filter(move |pair| *pair.1 == wanted)
                .map(|pair| *pair.0)
        };
        let pairs = of(1).flat_map(|one| of(0).map(move |zero| f64::from(one > zero) + 0.5 * f64::from(one == zero)));
        let all: Vec<f64> = pairs.collect();
        all.iter().sum::<f64>() / all.len() as f64
    }

    #[test]
    fn the_area_is_the_share_of_pairs_with_ties_as_halves() {
        let scores = [1.0, 2.0, 2.0, 3.0, 0.5, 2.0, 3.0, -0.0, 0.0];
        let labels = [0, 0, 1, 1, 0, 1, 0, 1, 0];
        assert!((placed(&scores, &labels).area() - by_pairs(&scores, &labels)).abs() < 1e-12);
        assert_eq!(placed(&[1.0, 2.0], &[0, 1]).area(), 1.0);
        assert_eq!(placed(&[1.0, 1.0], &[0, 1]).area(), 0.5);
    }

    #[test]
    fn the_error_of_a_difference_is_that_of_its_placements() {
        let labels = [1, 1, 1, 0, 0, 0, 0];
        let (float, integer) = ([3.0, 1.0, 5.0, 0.0, 2.0, 1.0, 4.0], [3.0, 1.0, 2.5, 0.0, 2.0, 1.5, 4.0]);
        let difference = placed(&integer, &labels).less(&placed(&float, &labels));
        // The placements, computed by hand, are [0.75, 0.375, 1] and [0.75, 0.25, 0.75] for the samples labelled 1, and
        // [1, 2/3, 5/6, 1/3] and [1, 2/3, 2/3, 0] for those labelled 0.
        let (ones, zeros) = ([0.0, -0.125, -0.25], [0.0, 0.0, -1.0 / 6.0, -1.0 / 3.0]);
        let variance = |d: &[f64]| {
            let mean = d.iter().sum::<f64>() / d.len() as f64;
            d.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (d.len() - 1) as f64 / d.len() as f64
        };
        let expected = (variance(&ones) + variance(&zeros)).sqrt();
        assert!((difference.error().unwrap() - expected).abs() < 1e-12);
        assert!((difference.area() + 0.125).abs() < 1e-12);
        assert_eq!(placed(&[1.0, 2.0], &[0, 1]).error(), None);
    }

    #[test]
    fn a_group_has_the_mean_of_its_scores() {
        let notes: Vec<Note> = [1.0, 3.0, 0.0, 1.0].map(Note::Number).to_vec();
        let labels = vec![true, false];
        let auc = Auc {
            index: 0,
            name: "y".into(),
            score: Score::Number,
            group: 2,
            labels,
        };
        let found = auc.measure(Runs {
            integer: &notes,
            float: None,
            simulated: None,
        });
        assert_eq!((found.integer.unwrap().value, auc.group()), (1.0, 2));
    }
}
