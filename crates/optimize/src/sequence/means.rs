//! Corrects the bias of a layer without changing its codes.
//!
//! Let e = y − y_f be the error of an output at one position, with y of the quantized model and y_f of the float model. The new
//! bias is b + d with d = −mean(e), so that the mean of the output is right. Only sums over positions are needed: Σ e and Σ e²
//! of each output for each sample. With them, Σ (e + d)² = Σ e² + 2·d·Σ e + n·d² is the error with the new bias. The
//! layer does not have to run again: what it has made is shifted by d where it is read later.

use super::layers::Layer;
use super::shift::{OutputAxis, Shift};
use super::task::{LayerOutcome, Task};
use crate::error::Error;
use crate::fidelity::{is_gain, is_held};
use crate::layer::candidates::Choice;
use strait_core::TensorData;
use strait_exchange::{Portable, Reader};
use strait_execute::Tensor;

/// The sums of a layer's errors for one sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    /// The number of positions.
    count: f64,
    /// Σ e of each output.
    errors: Vec<f64>,
    /// Σ e² of each output. Only set for samples that judge.
    squares: Vec<f64>,
}

impl Portable for Sums {
    fn write(&self, out: &mut Vec<u8>) {
        self.count.write(out);
        self.errors.write(out);
        self.squares.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Option<Sums> {
        Some(Sums {
            count: Portable::read(from)?,
            errors: Portable::read(from)?,
            squares: Portable::read(from)?,
        })
    }
}

impl Sums {
    /// Compares what the float model and the quantized model have made for one sample.
    pub(crate) fn of(layer: &Layer, sample: usize, [y_float, y]: [&Tensor; 2]) -> Sums {
        let outputs = layer.geometry.outputs() * layer.geometry.groups();
        let (Ok(of_float), Ok(of_y)) = (y_float.values::<f32>(), y.values::<f32>()) else {
            return Sums::default();
        };
        let run = OutputAxis::of(layer).run(y.shape()).max(1);
        let mut sums = vec![[0.0; 2]; outputs];
        let block = (run * outputs).max(1);
        for (y, y_float) in of_y.chunks(block).zip(of_float.chunks(block)) {
            let runs = y.chunks(run).zip(y_float.chunks(run));
            for (sums, (y, y_float)) in sums.iter_mut().zip(runs) {
                for (y, y_float) in y.iter().zip(y_float) {
                    let e = f64::from(y - y_float);
                    *sums = [sums[0] + e, sums[1] + e * e];
                }
            }
        }
        let count = (of_y.len() / outputs.max(1)) as f64;
        let squares = sums.iter().map(|[_, squares]| *squares);
        Sums {
            count,
            errors: sums.iter().map(|[sum, _]| *sum).collect(),
            squares: if is_held(sample) { squares.collect() } else { Vec::new() },
        }
    }

    /// Σ (e + d)² over all outputs, each with its own d.
    fn error(&self, shifts: &[f64]) -> f64 {
        let each = self.errors.iter().zip(&self.squares).zip(shifts);
        each.map(|((sum, squares), d)| squares + 2.0 * d * sum + self.count * d * d)
            .sum()
    }
}

/// Chooses the bias of a layer. `sums` has the sums of all samples. Also returns what is added to each output.
pub(crate) fn solve(task: &Task<'_>, layer: &Layer, sums: &[Sums]) -> Result<(LayerOutcome, Shift), Error> {
    let outputs = layer.geometry.outputs() * layer.geometry.groups();
    let bias = layer
        .bias
        .and_then(|bias| task.float.data(bias))
        .map(TensorData::to_f32);
    let bias = bias.transpose().map_err(|error| Error::Defect(error.to_string()))?;
    let mut outcome = LayerOutcome {
        choice: Choice::Nearest,
        errors: Vec::new(),
        grid: layer.grid.clone(),
        weights: None,
        bias: None,
    };
    let (mut count, mut means) = (0.0, vec![0.0; outputs]);
    for (_, sums) in sums.iter().enumerate().filter(|(at, _)| !is_held(*at)) {
        count += sums.count;
        means.iter_mut().zip(&sums.errors).for_each(|(mean, sum)| *mean += sum);
    }
    let shifts: Vec<f64> = means.iter().map(|sum| -sum / f64::max(count, 1.0)).collect();
    let held: Vec<&Sums> = sums
        .iter()
        .enumerate()
        .filter(|(at, _)| is_held(*at))
        .map(|(_, sums)| sums)
        .collect();
    let numbers = held.iter().map(|sums| sums.count).sum::<f64>() * outputs as f64;
    let mut errors = |choice: Choice, shifts: &[f64]| {
        let errors: Vec<f64> = held.iter().map(|sums| sums.error(shifts)).collect();
        let root = (errors.iter().sum::<f64>() / numbers.max(1.0)).max(0.0).sqrt();
        outcome.errors.push((choice, root));
        errors
    };
    let before = errors(Choice::Nearest, &vec![0.0; outputs]);
    let mut added = vec![0.0; outputs];
    if let Some(bias) = bias.filter(|_| layer.corrects)
        && is_gain(&before, &errors(Choice::Bias, &shifts))
    {
        added = shifts.iter().map(|&shift| shift as f32).collect();
        let corrected: Vec<f32> = bias.iter().zip(&added).map(|(bias, shift)| bias + shift).collect();
        let corrected = TensorData::from_values(&[outputs as u64], &corrected);
        outcome.bias = Some(corrected.map_err(|error| Error::Defect(error.to_string()))?);
        outcome.choice = Choice::Bias;
    }
    Ok((outcome, Shift::new(layer, added)))
}
