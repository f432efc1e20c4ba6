//! **psnr**: the mean over samples of the peak signal-to-noise ratio against references, in decibels.
//!
//! Let y be an output, r its reference with n elements, and `peak` the largest value that an element can have:
//!
//! ```text
//! 10 · log10 (peak² · n / Σ (y − r)²)
//! ```
//!
//! Elements are compared as they are, and not rounded, clipped or cropped. Equal outputs get 200 dB.

use strait_samples::Array;

use crate::seen::EvaluatedSample;
use crate::{
    accuracy::{Change, Figure},
    error::EvaluateError,
    meter::{Meter, MetricFigures, Note, Runs, numbers},
};

use super::ratio;

/// Compares one output with references.
pub struct Psnr {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// The largest value that an element can have.
    pub peak: f64,
    /// The labels. For each sample there are as many numbers as the output has.
    pub references: Array,
}

impl Meter for Psnr {
    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        let found = seen.numbers(self.index, &self.name)?;
        let expected = self.references.reals_of(seen.sample);
        if expected.len() != found.len() {
            let message = format!(
                "the output {:?} has {} numbers, and reference {} of {} has {}",
                self.name,
                found.len(),
                seen.sample,
                self.references.name(),
                expected.len()
            );
            return Err(EvaluateError::unfit(message));
        }
        let pairs = found.iter().zip(&expected);
        let error: f64 = pairs.map(|(&y, &r)| (f64::from(y) - f64::from(r)).powi(2)).sum();
        if !error.is_finite() {
            let message = format!(
                "the output {:?} of sample {}, or its reference, is not finite",
                self.name, seen.sample
            );
            return Err(EvaluateError::not_finite(message));
        }
        Ok(Note::Number(ratio(self.peak * self.peak * found.len() as f64, error)))
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        let integer = numbers(runs.integer);
        let float = runs.float.map(numbers);
        MetricFigures {
            change: float.as_ref().map(|float| Change::of_means(float, &integer)),
            float: float.map(|float| Figure::mean(&float)),
            integer: Some(Figure::mean(&integer)),
            simulated: runs.simulated.map(|notes| Figure::mean(&numbers(notes))),
            ..MetricFigures::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_execute::Tensor;
    use strait_samples::{NumberType, encode};

    #[test]
    fn the_error_is_held_against_the_peak() {
        let references = Array::parse("r", &encode(NumberType::U8, &[2, 2], &[10, 20, 30, 40]).into()).unwrap();
        let psnr = Psnr {
            index: 0,
            name: "y".into(),
            peak: 255.0,
            references,
        };
        let note = |sample, values: &[f32]| {
            let outputs = [Tensor::from_values(&[1, values.len()], values).unwrap()];
            psnr.note(&EvaluatedSample {
                sample,
                inputs: &[],
                outputs: &outputs,
                beside: [None; 2],
            })
        };
        let notes = [note(0, &[11.0, 22.0]).unwrap(), note(1, &[30.0, 40.0]).unwrap()];
        let first = 10.0 * (255.0f64 * 255.0 / 2.5).log10();
        let found = psnr.measure(Runs {
            integer: &notes,
            float: Some(&notes),
            simulated: None,
        });
        assert!((found.integer.unwrap().value - (first + 200.0) / 2.0).abs() < 1e-9);
        assert_eq!(found.change.unwrap().value, 0.0);
        let stop = note(1, &[1.0]).unwrap_err().to_string();
        assert!(stop.contains("has 1 numbers, and reference 1 of r has 2"), "{stop}");
        assert!(note(0, &[f32::INFINITY, 0.0]).is_err());
    }
}
