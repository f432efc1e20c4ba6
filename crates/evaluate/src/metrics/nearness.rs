//! **cosine** and **snr**: how near an output of the integer model is to the same output of the float model.
//!
//! Let x be the float model's output on a sample, and y the integer model's output:
//!
//! ```text
//! cosine   the mean over samples of  Σ x·y / √(Σ x² · Σ y²)      1 if both x and y are 0, and 0 if only one of them is
//! snr      10 · log10 (Σ x² / Σ (x − y)²)                        both sums over all samples
//! ```
//!
//! Products are computed in f64 and added in the order of the output's elements. Equal outputs get an SNR of 200 dB. If
//! two float32 outputs differ at all, their SNR is at most about 150 dB. If the output is a concatenation, the SNR of
//! each part is reported too, because a part with large numbers would hide the errors of the other parts.

use std::borrow::Cow;

use strait_execute::Tensor;

use crate::{
    accuracy::{Change, Figure, PartFigure},
    error::EvaluateError,
    meter::{Meter, MetricFigures, Note, Runs},
    parts::ConcatenatedParts,
    resample,
    seen::{EvaluatedSample, floats},
};

/// The SNR in decibels that stands for equal outputs.
const MOST_DECIBELS: f64 = 200.0;

/// Compares the elements of one output.
pub struct Nearness {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// Which of the two metrics to compute.
    pub of: Of,
    /// The parts of the output that are reported separately.
    pub parts: Option<ConcatenatedParts>,
}

/// The metric that is computed: one of the two in this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The cosine of the angle between the outputs.
    Cosine,
    /// The ratio of the signal's power to the error's power.
    Snr,
}

impl Meter for Nearness {
    fn compares(&self) -> bool {
        true
    }

    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        if seen.beside.iter().all(Option::is_none) {
            return Ok(Note::Nothing);
        }
        let own = floats(seen.output(self.index)?)?;
        let with = |other: Option<&[Tensor]>, part: Option<usize>| {
            let other = other.and_then(|outputs| outputs.get(self.index));
            other
                .map(|other| {
                    let other = floats(other)?;
                    self.compared(&self.of_part(&other, part), &self.of_part(&own, part), seen.sample)
                })
                .transpose()
        };
        let [float, simulated] = seen.beside;
        let both = |part| Ok::<_, EvaluateError>([with(float, part)?, with(simulated, part)?]);
        match &self.parts {
            None => Ok(Note::Compared(both(None)?)),
            Some(parts) => {
                let each = (0..parts.names.len()).map(|part| both(Some(part)));
                Ok(Note::InParts(both(None)?, each.collect::<Result<_, _>>()?))
            }
        }
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        let pairs = |part: Option<usize>, which: usize| {
            let pair = |note: &Note| match (note, part) {
                (Note::Compared(pairs) | Note::InParts(pairs, _), None) => pairs.get(which).copied().flatten(),
                (Note::InParts(_, parts), Some(part)) => parts.get(part)?.get(which).copied().flatten(),
                _ => None,
            };
            let found: Option<Vec<[f64; 2]>> = runs.integer.iter().map(pair).collect();
            found.filter(|pairs| !pairs.is_empty())
        };
        let figure = |part: Option<usize>, which: usize| pairs(part, which).map(|pairs| self.figure(&pairs));
        let names = self.parts.iter().flat_map(|parts| &parts.names).enumerate();
        let parts = names.map(|(part, name)| PartFigure {
            part: name.clone(),
            integer: figure(Some(part), 0),
            simulated: figure(Some(part), 1),
        });
        let parts = parts.collect();
        MetricFigures {
            parts,
            integer: figure(None, 0),
            simulated: figure(None, 1),
            change: pairs(None, 0).filter(|_| self.of == Of::Cosine).map(|pairs| {
                let cosines: Vec<f64> = pairs.iter().map(|[cosine, _]| *cosine).collect();
                Change::of_means(&vec![1.0; cosines.len()], &cosines)
            }),
            ..MetricFigures::default()
        }
    }
}

impl Nearness {
    /// The elements of one part of the output, or all elements if `part` is `None`.
    fn of_part<'n>(&self, numbers: &'n [f32], part: Option<usize>) -> Cow<'n, [f32]> {
        match (&self.parts, part) {
            (Some(parts), Some(part)) => Cow::Owned(parts.numbers(part, numbers).collect()),
            _ => Cow::Borrowed(numbers),
        }
    }

    /// Computes the two numbers that are kept of one sample. For `cosine`, one of them is the cosine, and the other is
    /// not used. For `snr`, they are the power of the signal and the power of the error.
    fn compared(&self, expected: &[f32], found: &[f32], sample: usize) -> Result<[f64; 2], EvaluateError> {
        if expected.len() != found.len() {
            let message = format!(
                "the output {:?} has {} numbers in one model and {} in the other for sample {sample}",
                self.name,
                expected.len(),
                found.len()
            );
            return Err(EvaluateError::unfit(message));
        }
        if let Some(at) = expected.iter().chain(found).position(|x| !x.is_finite()) {
            let at = at % expected.len().max(1);
            let message = format!(
                "the output {:?} of sample {sample} is NaN or infinite at {at}",
                self.name
            );
            return Err(EvaluateError::not_finite(message).help("look at the model, or leave the sample out"));
        }
        let pairs = || expected.iter().zip(found).map(|(&x, &y)| (f64::from(x), f64::from(y)));
        let power: f64 = pairs().map(|(x, _)| x * x).sum();
        Ok(match self.of {
            Of::Snr => [power, pairs().map(|(x, y)| (x - y) * (x - y)).sum()],
            Of::Cosine => {
                let other: f64 = pairs().map(|(_, y)| y * y).sum();
                let product: f64 = pairs().map(|(x, y)| x * y).sum();
                let cosine = match (power == 0.0, other == 0.0) {
                    (true, true) => 1.0,
                    (false, false) => product / (power.sqrt() * other.sqrt()),
                    _ => 0.0,
                };
                [cosine, 0.0]
            }
        })
    }

    fn figure(&self, pairs: &[[f64; 2]]) -> Figure {
        match self.of {
            Of::Cosine => Figure::mean(&pairs.iter().map(|[cosine, _]| *cosine).collect::<Vec<f64>>()),
            Of::Snr => {
                let value = decibels(pairs, None);
                let spread = resample::drawn(pairs.len(), |weights| decibels(pairs, Some(weights)));
                Figure::spread(value, spread)
            }
        }
    }
}

/// Computes the ratio of the power of all signals to the power of all errors, in decibels. A sample with weight w
/// counts as w samples.
fn decibels(pairs: &[[f64; 2]], weights: Option<&[u32]>) -> f64 {
    let weight = |sample: usize| weights.map_or(1.0, |weights| weights.get(sample).copied().unwrap_or(0).into());
    let (mut power, mut error) = (0.0, 0.0);
    for (sample, [p, e]) in pairs.iter().enumerate() {
        power += weight(sample) * p;
        error += weight(sample) * e;
    }
    ratio(power, error)
}

/// The ratio of two powers in decibels (10 · log10), limited to ±200 dB.
pub fn ratio(power: f64, error: f64) -> f64 {
    match (power == 0.0, error == 0.0) {
        (_, true) => MOST_DECIBELS,
        (true, false) => -MOST_DECIBELS,
        _ => (10.0 * (libm::log10(power) - libm::log10(error))).clamp(-MOST_DECIBELS, MOST_DECIBELS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(of: Of, float: &[[f32; 2]], integer: &[[f32; 2]]) -> MetricFigures {
        let meter = Nearness {
            index: 0,
            name: "y".into(),
            of,
            parts: None,
        };
        let notes: Vec<Note> = (float.iter().zip(integer).enumerate())
            .map(|(sample, (float, integer))| {
                let tensor = |values: &[f32; 2]| [Tensor::from_values(&[1, 2], values).unwrap()];
                let (float, integer) = (tensor(float), tensor(integer));
                let seen = EvaluatedSample {
                    sample,
                    inputs: &[],
                    outputs: &integer,
                    beside: [Some(&float), None],
                };
                meter.note(&seen).unwrap()
            })
            .collect();
        meter.measure(Runs {
            integer: &notes,
            float: None,
            simulated: None,
        })
    }

    #[test]
    fn a_cosine_is_that_of_the_angle_and_zeros_are_told() {
        let found = measured(
            Of::Cosine,
            &[[1.0, 0.0], [0.0, 0.0], [2.0, 2.0]],
            &[[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]],
        );
        let expected = (0.5f64.sqrt() + 1.0 + 0.0) / 3.0;
        assert!((found.integer.unwrap().value - expected).abs() < 1e-12);
        assert!((found.change.unwrap().value - (expected - 1.0)).abs() < 1e-12);
        assert!(found.simulated.is_none());
    }

    #[test]
    fn the_ratio_is_that_of_all_powers_and_all_errors() {
        let found = measured(Of::Snr, &[[3.0, 4.0], [0.0, 5.0]], &[[3.0, 4.5], [0.0, 5.0]]);
        let figure = found.integer.unwrap();
        assert!((figure.value - 10.0 * (50.0f64 / 0.25).log10()).abs() < 1e-9);
        assert!(figure.interval.is_some() && found.change.is_none());
        let equal = measured(Of::Snr, &[[1.0, 2.0]], &[[1.0, 2.0]]);
        assert_eq!(equal.integer.unwrap().value, MOST_DECIBELS);
        assert_eq!(ratio(0.0, 1.0), -MOST_DECIBELS);
    }

    /// The numbers in one part are in the hundreds, and each has an error of 1. The numbers in the other part are in
    /// the tenths, and their errors are as large as the numbers.
    #[test]
    fn a_part_that_is_lost_is_seen_beside_one_in_large_numbers() {
        let meter = Nearness {
            index: 0,
            name: "y".into(),
            of: Of::Snr,
            parts: Some(ConcatenatedParts {
                names: vec!["boxes".into(), "scores".into()],
                of: vec![0, 1, 0, 1],
                ..ConcatenatedParts::default()
            }),
        };
        let tensor = |values: &[f32; 4]| [Tensor::from_values(&[4], values).unwrap()];
        let (float, integer) = (tensor(&[100.0, 0.5, 300.0, 0.25]), tensor(&[101.0, 0.0, 300.0, 0.0]));
        let seen = EvaluatedSample {
            sample: 0,
            inputs: &[],
            outputs: &integer,
            beside: [Some(&float), None],
        };
        let found = meter.measure(Runs {
            integer: &[meter.note(&seen).unwrap()],
            float: None,
            simulated: None,
        });
        let told = |figure: Option<Figure>, expected: f64| (figure.unwrap().value - expected).abs() < 1e-9;
        assert!(told(found.integer, 10.0 * (100_000.312_5f64 / 1.3125).log10()));
        assert_eq!(found.parts.len(), 2);
        assert!(told(found.parts[0].integer, 50.0) && told(found.parts[1].integer, 0.0));
        assert_eq!(
            (found.parts[1].part.as_str(), found.parts[1].simulated.is_none()),
            ("scores", true)
        );
    }

    #[test]
    fn what_is_not_finite_is_refused_with_its_sample() {
        let meter = Nearness {
            index: 0,
            name: "y".into(),
            of: Of::Snr,
            parts: None,
        };
        let stop = meter.compared(&[0.0, 1.0], &[0.0, f32::INFINITY], 7).unwrap_err();
        assert!(
            stop.to_string().contains("of sample 7 is NaN or infinite at 1"),
            "{stop}"
        );
    }
}
