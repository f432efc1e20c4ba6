//! **perplexity**: e to the mean negative logarithm of the probability that the model gives to the label.
//!
//! ```text
//! probability of class c  = exp(x_c) / Σ exp(x_k)               for scores x (logits)
//!                         = x_c                                 with `probabilities = true`
//! l                       = max + ln Σ exp(x_k − max) − x_label, or −ln x_label
//! L                       = Σ l / N                             over the N answers that count
//! perplexity              = exp(L)
//! ```
//!
//! All of this is computed in float64 with the logarithms of `libm`. A sum goes over the classes in their order; the sum
//! of a sample goes over its answers, and the sum of all goes over the samples. Probabilities are not normalised: those of an
//! integer softmax need not have the sum 1.
//!
//! Samples are clusters (`clusters.rs`). With l_i the sum of sample i and n_i the number of its answers, L is a ratio, and
//! its interval is exp(L ± t·√Var(L)). The change from P₁ to P₂ is linearised: sample i contributes
//! g_i = P₂·(l₂_i − L₂·n_i)/N − P₁·(l₁_i − L₁·n_i)/N, and the variance is m/(m − 1)·Σ g_i².
//!
//! If a label has the probability 0, the perplexity is infinite. Then there is no figure, and a note says so.

use crate::seen::EvaluatedSample;
use crate::{
    accuracy::{Change, Figure},
    answers::Scores,
    clusters::{self, Cluster},
    error::EvaluateError,
    interval::Spread,
    labels::Labels,
    meter::{Meter, MetricFigures, Note, Runs},
};

/// How far from 1 the sum of numbers may be that are taken for probabilities.
const SUM: f64 = 1e-3;

/// The largest number that is taken for a probability. Rounding to a grid may exceed 1 by half a step.
const LARGEST: f64 = 1.05;

/// The largest sum of numbers that are taken for probabilities. Rounding to codes at most doubles a probability, since
/// the code q ≥ 1 comes from at least q − ½ steps.
const MOST: f64 = 2.0 + SUM;

/// Measures how probable the labels are in one output.
pub struct Perplexity {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// Where the scores of the classes are.
    pub scores: Scores,
    /// True if the output has probabilities, false if it has logits. If this is not stated, it has logits, and numbers
    /// that are probabilities are refused.
    pub probabilities: Option<bool>,
    /// The right classes.
    pub labels: Labels,
}

impl Meter for Perplexity {
    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        let labels = self.labels.of(seen.sample)?;
        let numbers = seen.numbers(self.index, &self.name)?;
        let counted = || {
            labels
                .iter()
                .enumerate()
                .filter_map(|(at, label)| Some((at, (*label)?)))
        };
        let row = |at: usize| self.scores.row(&numbers, at).map(f64::from);
        if self.probabilities.is_none()
            && counted().next().is_some()
            && counted().all(|(at, _)| is_distribution(row(at)))
        {
            let message = format!(
                "the output {:?} looks like probabilities, and perplexity takes logits",
                self.name
            );
            return Err(EvaluateError::unfit(message)
                .help("say `probabilities = true` or `probabilities = false` in [[evaluation.metric]]"));
        }
        let (mut sum, mut answers) = (0.0, 0);
        for (at, label) in counted() {
            let label = usize::try_from(label).unwrap_or(usize::MAX);
            let own = row(at).nth(label);
            let own = own.ok_or_else(|| EvaluateError::Defect("a label is not a class".into()))?;
            let surprise = match self.probabilities {
                Some(true) if (0.0..=LARGEST).contains(&own) && row(at).sum::<f64>() <= MOST => -libm::log(own),
                Some(true) => {
                    let message = format!(
                        "the output {:?} of sample {} holds {own} as a probability, of {} in total",
                        self.name,
                        seen.sample,
                        row(at).sum::<f64>()
                    );
                    return Err(EvaluateError::unfit(message)
                        .help("`probabilities = true` is for outputs of a softmax; leave it out for logits"));
                }
                _ => log_sum(row(at)) - own,
            };
            if surprise.is_nan() {
                let message = format!("the output {:?} of sample {} is not finite", self.name, seen.sample);
                return Err(EvaluateError::not_finite(message));
            }
            sum += surprise;
            answers += 1;
        }
        Ok(Note::Total(sum, answers))
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        let integer = Run::of(runs.integer);
        let float = runs.float.map(Run::of);
        let simulated = runs.simulated.map(Run::of);
        let change = float.as_ref().and_then(|float| integer.less(float));
        let infinite = [("float", &float), ("simulated", &simulated)]
            .into_iter()
            .filter_map(|(name, run)| Some((name, run.as_ref()?)))
            .chain([("integer", &integer)])
            .filter(|(_, run)| run.mean == f64::INFINITY)
            .map(|(name, _)| name)
            .collect::<Vec<_>>();
        let note = match (integer.answers, infinite.as_slice()) {
            (0, _) => Some("no answer has a label that counts".to_owned()),
            (_, []) => (integer.clusters.len() < 2).then(|| super::ONE_SAMPLE.to_owned()),
            (_, models) => Some(format!(
                "a label has the probability 0 in the {} model: the perplexity is infinite",
                models.join(" and in the ")
            )),
        };
        MetricFigures {
            float: float.as_ref().and_then(Run::figure),
            integer: integer.figure(),
            simulated: simulated.as_ref().and_then(Run::figure),
            change,
            answers: Some(integer.answers),
            note,
            ..MetricFigures::default()
        }
    }
}

/// What one model's notes say: for each sample with answers that count the sum and the number of these answers, and
/// the mean over all answers.
struct Run {
    clusters: Vec<Cluster>,
    answers: u64,
    mean: f64,
    variance: Option<f64>,
}

impl Run {
    fn of(notes: &[Note]) -> Run {
        let totals = notes.iter().filter_map(|note| match note {
            Note::Total(sum, answers) if *answers > 0 => Some((*sum, *answers as f64)),
            _ => None,
        });
        let clusters: Vec<Cluster> = totals.collect();
        let (mean, variance) = clusters::ratio(&clusters);
        Run {
            answers: clusters.iter().map(|(_, answers)| *answers as u64).sum(),
            clusters,
            mean,
            variance,
        }
    }

    /// The perplexity, if it is finite.
    fn value(&self) -> Option<f64> {
        Some(libm::exp(self.mean)).filter(|value| value.is_finite())
    }

    fn figure(&self) -> Option<Figure> {
        let value = self.value()?;
        let samples = self.clusters.len();
        let spread = self.variance.map_or(Spread::Unknown, |variance| Spread::Clustered {
            error: variance.sqrt(),
            samples,
        });
        let interval = spread.interval(self.mean).map(|ends| ends.map(libm::exp));
        Some(Figure {
            interval: interval.filter(|ends| ends.iter().all(|end| end.is_finite())),
            ..Figure::plain(value)
        })
    }

    /// The change from the other model to this one.
    fn less(&self, other: &Run) -> Option<Change> {
        let (after, before) = (self.value()?, other.value()?);
        let answers = self.answers as f64;
        let pairs = self.clusters.iter().zip(&other.clusters);
        let contributed = pairs.map(|((l2, n), (l1, _))| {
            after * (l2 - self.mean * n) / answers - before * (l1 - other.mean * n) / answers
        });
        let variance = clusters::variance_of_total(contributed);
        let spread = variance.map_or(Spread::Unknown, |variance| Spread::Clustered {
            error: variance.sqrt(),
            samples: self.clusters.len(),
        });
        Some(Change::new(after - before, spread))
    }
}

/// The logarithm of Σ exp(x), without overflow.
fn log_sum(row: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = row.clone().fold(f64::NEG_INFINITY, f64::max);
    largest + libm::log(row.map(|x| libm::exp(x - largest)).sum::<f64>())
}

/// True if all numbers are from 0 to 1 and their sum is 1.
fn is_distribution(row: impl Iterator<Item = f64> + Clone) -> bool {
    row.clone().all(|x| (0.0..=1.0).contains(&x)) && (row.sum::<f64>() - 1.0).abs() <= SUM
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::Classes;
    use strait_execute::Tensor;

    fn perplexity(probabilities: Option<bool>, label: i64) -> Perplexity {
        Perplexity {
            index: 0,
            name: "y".into(),
            scores: Scores {
                outer: 1,
                classes: 3,
                inner: 1,
            },
            probabilities,
            labels: Labels {
                classes: Classes::OfSamples(vec![label]),
                ignore: Some(7),
                answers: 1,
            },
        }
    }

    fn note(meter: &Perplexity, scores: [f32; 3]) -> Result<(f64, u64), EvaluateError> {
        let outputs = [Tensor::from_values(&[1, 3], &scores).unwrap()];
        let seen = EvaluatedSample {
            sample: 0,
            inputs: &[],
            outputs: &outputs,
            beside: [None; 2],
        };
        meter.note(&seen).map(|note| match note {
            Note::Total(sum, answers) => (sum, answers),
            _ => (f64::NAN, 0),
        })
    }

    #[test]
    fn the_surprise_is_that_of_a_softmax_or_of_the_probability_itself() {
        let (third, large) = (3.0f64.ln(), (1.0 + 2.0 * (-1.0f64).exp()).ln());
        for (probabilities, label, scores, expected) in [
            (None, 1, [5.0, 5.0, 5.0], third),
            // Neither overflows nor loses the small numbers.
            (None, 0, [1e4, 9999.0, 9999.0], large),
            (None, 1, [-1e4, -9999.0, -1e4], (1.0 + 2.0 * (-1.0f64).exp()).ln()),
            (Some(true), 2, [0.5, 0.25, 0.25], 4.0f64.ln()),
            (Some(true), 2, [0.5, 0.5, 0.0], f64::INFINITY),
            (Some(false), 2, [0.0, 0.5, 0.5], (2.0 + (-0.5f64).exp()).ln()),
            (None, 0, [f32::NEG_INFINITY, 0.0, 0.0], f64::INFINITY),
        ] {
            let (found, answers) = note(&perplexity(probabilities, label), scores).unwrap();
            assert!(
                found == expected || (found - expected).abs() < 1e-12,
                "{scores:?}: {found} {expected}"
            );
            assert_eq!(answers, 1);
        }
        assert_eq!(note(&perplexity(None, 7), [0.5, 0.25, 0.25]), Ok((0.0, 0)));
    }

    #[test]
    fn what_is_neither_is_refused() {
        for (probabilities, scores, part) in [
            (None, [0.5, 0.25, 0.25], "looks like probabilities"),
            (Some(true), [-0.5, 0.25, 0.25], "holds -0.5 as a probability"),
            (Some(true), [2.5, 0.25, 0.25], "holds 2.5 as a probability"),
            (Some(true), [1.0, 0.75, 0.75], "in total"),
            (None, [f32::INFINITY, 0.25, 0.25], "is not finite"),
        ] {
            let stop = note(&perplexity(probabilities, 0), scores).unwrap_err();
            assert!(stop.to_string().contains(part), "{stop}");
        }
    }

    fn measured(float: &[(f64, u64)], integer: &[(f64, u64)]) -> MetricFigures {
        let notes = |of: &[(f64, u64)]| of.iter().map(|&(sum, n)| Note::Total(sum, n)).collect::<Vec<_>>();
        perplexity(None, 0).measure(Runs {
            integer: &notes(integer),
            float: Some(&notes(float)),
            simulated: None,
        })
    }

    #[test]
    fn the_mean_is_over_answers_and_its_error_over_samples() {
        let found = measured(&[(2.0, 2), (1.0, 4), (0.0, 0)], &[(3.0, 2), (1.5, 4), (0.0, 0)]);
        assert_eq!(found.answers, Some(6));
        let (float, integer) = (0.5f64.exp(), 0.75f64.exp());
        assert!((found.float.unwrap().value - float).abs() < 1e-12);
        assert!((found.integer.unwrap().value - integer).abs() < 1e-12);
        // Residuals of the integer model are 1.5 and −1.5, those of the float model 1 and −1.
        let g = integer * 1.5 / 6.0 - float / 6.0;
        let change = found.change.unwrap();
        assert!((change.value - (integer - float)).abs() < 1e-12);
        assert!((change.standard_error.unwrap() - (2.0 * 2.0 * g * g).sqrt()).abs() < 1e-12);
        // Student's t with one degree of freedom.
        let half = 12.706_204_736 * (2.0 * 2.0 * 0.25f64 * 0.25).sqrt();
        let [low, high] = found.integer.unwrap().interval.unwrap();
        assert!((low.ln() - (0.75 - half)).abs() < 1e-6 && (high.ln() - (0.75 + half)).abs() < 1e-6);
    }

    #[test]
    fn a_label_that_is_impossible_leaves_no_figure() {
        let found = measured(&[(2.0, 2), (1.0, 1)], &[(f64::INFINITY, 2), (1.0, 1)]);
        assert!(found.integer.is_none() && found.change.is_none() && found.float.is_some());
        assert!(found.note.unwrap().contains("probability 0 in the integer model"));
    }
}
