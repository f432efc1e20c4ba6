//! Chooses the codes of a layer from what it reads and what it should make at some of its positions.

use super::layers::Layer;
use super::task::{LayerOutcome, Task};
use crate::error::Error;
use crate::fidelity::{HELD, is_gain};
use crate::layer::candidates::{Candidate, Choice, Problem};
use crate::layer::moments::Moments;
use crate::layer::positions::{Positions, exponent, to_integers};
use rayon::prelude::*;
use std::collections::BTreeMap;
use strait_core::{Port, TensorData};
use strait_execute::Tensor;

/// The number of positions of a layer, over all samples, from which its codes are chosen.
const POSITIONS: usize = 6_000;

/// The largest number of inputs at all positions of a layer together.
const ELEMENTS: usize = 8 << 20;

/// What the groups of a layer read and should make: first where codes are computed, then where they are compared.
pub(crate) type Observed = [Vec<Positions>; 2];

impl Layer {
    /// Room for so many positions of each group.
    pub(crate) fn empty(&self, positions: usize) -> Vec<Positions> {
        let (width, outputs) = (self.geometry.width(), self.geometry.outputs());
        (0..self.geometry.groups())
            .map(|_| Positions::new([width, outputs], positions))
            .collect()
    }

    /// What the layer reads and should make at some positions of one sample. The positions are evenly spread, and begin
    /// elsewhere in each sample. What the layer reads as codes is in integers, as the moments need it.
    pub(crate) fn gather(&self, sample: usize, samples: usize, x: &Tensor, y: &Tensor) -> Vec<Positions> {
        let (Ok(of_x), Ok(of_y)) = (x.values::<f32>(), y.values::<f32>()) else {
            return self.empty(0);
        };
        let all = self.geometry.positions(y.shape());
        let most = POSITIONS.min(ELEMENTS / (self.geometry.width() * self.geometry.groups()).max(1));
        let count = all.min(most.div_ceil(samples.max(1)));
        let mut groups = self.empty(count);
        // The fractional parts of multiples of the golden ratio are spread evenly.
        let offset = (sample as f64 * 0.618_033_988_749_895).fract();
        for at in 0..count {
            let position = ((at as f64 + offset) * all as f64 / count as f64) as usize;
            let (x, y) = ((of_x, x.shape()), (of_y, y.shape()));
            self.geometry.gather(position.min(all - 1), x, y, &mut groups);
        }
        if let Some(scale) = self.scale {
            groups
                .iter_mut()
                .for_each(|positions| to_integers(&mut positions.x, f64::from(scale)));
        }
        groups
    }
}

/// Makes the candidates of all groups of a layer and chooses one.
pub(crate) fn solve(task: &Task<'_>, layer: &Layer, mut observed: Observed) -> Result<LayerOutcome, Error> {
    let missing = || Error::Defect("a parameter is missing".into());
    let tensor = task.float.data(layer.weights).ok_or_else(missing)?;
    let weights = tensor.to_f32().map_err(|error| Error::Defect(error.to_string()))?;
    let bias = layer
        .bias
        .and_then(|bias| task.float.data(bias))
        .map(TensorData::to_f32);
    let bias = bias.transpose().map_err(|error| Error::Defect(error.to_string()))?;
    let codes = task.annotated.main().quant.baked(layer.node, Port::Operand(1));
    let codes = codes.and_then(|codes| task.annotated.data(codes)).ok_or_else(missing)?;
    let rounded = codes.to_i64().map_err(|error| Error::Defect(error.to_string()))?;
    let steps = integers(layer, &mut observed);
    let (outputs, [learned, held]) = (layer.geometry.outputs(), observed);
    let numbers: usize = held.iter().map(|positions| positions.y.len()).sum();
    let groups: Vec<(Vec<usize>, Vec<Candidate>)> = learned
        .into_par_iter()
        .zip(held)
        .enumerate()
        .map(|(group, (learned, held))| {
            let indices = layer.geometry.weights(group);
            let own: Vec<f32> = indices.iter().filter_map(|&at| weights.get(at).copied()).collect();
            let lattice = layer.lattice(tensor.shape(), &indices);
            let nearest: Vec<i32> = indices
                .iter()
                .filter_map(|&at| Some(*rounded.get(at)? as i32))
                .collect();
            let problem = Problem {
                held: &held,
                samples: task.samples.count() / HELD,
                steps,
                weights: &own,
                bias: bias
                    .as_ref()
                    .and_then(|bias| bias.get(group * outputs..(group + 1) * outputs)),
                corrects: task.algorithms.correct_bias && layer.corrects,
                lattice: &lattice,
                nearest: &nearest,
            };
            (
                indices,
                problem.candidates(Moments::of(learned), task.algorithms.repair),
            )
        })
        .collect();
    // A candidate of the layer has to exist for each of its groups.
    let mut errors: BTreeMap<Choice, (usize, Vec<f64>)> = BTreeMap::new();
    for candidate in groups.iter().flat_map(|(_, candidates)| candidates) {
        let (count, errors) = errors.entry(candidate.choice).or_default();
        errors.resize(candidate.errors.len(), 0.0);
        errors
            .iter_mut()
            .zip(&candidate.errors)
            .for_each(|(sum, error)| *sum += error);
        *count += 1;
    }
    errors.retain(|_, (count, _)| *count == groups.len());
    let mut choice = Choice::Nearest;
    for (&other, (_, after)) in &errors {
        // A choice that changes more has to be clearly better.
        if errors.get(&choice).is_some_and(|(_, before)| is_gain(before, after)) {
            choice = other;
        }
    }
    let root = |errors: &[f64]| (errors.iter().sum::<f64>() / numbers.max(1) as f64).sqrt();
    let errors: Vec<(Choice, f64)> = errors
        .iter()
        .map(|(&choice, (_, errors))| (choice, root(errors)))
        .collect();
    let mut chosen = vec![0; weights.len()];
    let mut corrected = Vec::new();
    for (indices, candidates) in &groups {
        let candidate = candidates
            .iter()
            .find(|candidate| candidate.choice == choice)
            .ok_or_else(missing)?;
        for (&index, &code) in indices.iter().zip(&candidate.codes) {
            chosen[index] = i64::from(code);
        }
        corrected.extend(candidate.bias.iter().flatten().copied());
    }
    let chosen = TensorData::from_integers(codes.elem(), tensor.shape(), &chosen);
    let chosen = chosen.map_err(|error| Error::Defect(error.to_string()))?;
    let bias = match corrected.is_empty() {
        true => None,
        false => {
            let made = TensorData::from_values(&[corrected.len() as u64], &corrected);
            Some(made.map_err(|error| Error::Defect(error.to_string()))?)
        }
    };
    Ok(LayerOutcome {
        choice,
        errors,
        grid: layer.grid.clone(),
        weights: matches!(choice, Choice::Round | Choice::Repair).then_some(chosen),
        bias,
    })
}

/// Converts what was observed in real numbers to integers, and returns the steps of x and y.
fn integers(layer: &Layer, observed: &mut Observed) -> [f64; 2] {
    let all = || observed.iter().flatten();
    let largest = |of: fn(&Positions) -> &[f32]| {
        let magnitudes = all().flat_map(of).map(|element| element.abs());
        2f64.powi(exponent(magnitudes.fold(0.0, f32::max)))
    };
    let y = largest(|positions| &positions.y);
    // Codes are in integers already. Real numbers get a grid with 2^15 steps.
    let x = match layer.scale {
        Some(scale) => f64::from(scale),
        None => largest(|positions| &positions.x) * 2f64.powi(7),
    };
    let all: Vec<&mut Positions> = observed.iter_mut().flatten().collect();
    all.into_par_iter().for_each(|positions| {
        if layer.scale.is_none() {
            to_integers(&mut positions.x, x);
        }
        to_integers(&mut positions.y, y);
    });
    [x, y]
}
