//! The ways in which the codes and the bias of a layer can be made, each with its error on samples that were left out of
//! the moments.

use super::moments::Moments;
use super::positions::Positions;
use crate::algebra::cholesky::Square;
use crate::algebra::plane::{Lattice, nearest_plane};
use crate::algebra::products::{Matrix, products};
use crate::algebra::search;

/// How the codes and the bias of a layer were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// Each weight is rounded to the nearest code, and the bias is the model's.
    Nearest,
    /// The codes are the nearest ones. The bias makes the mean of each output that of the float model.
    Bias,
    /// The weights of an output are rounded together, so that their errors compensate each other.
    Round,
    /// The weights are first fitted to the results of the float model, and then rounded together. So they also
    /// compensate errors of the layers before.
    Repair,
}

/// Which algorithms may act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Algorithms {
    /// Biases may be corrected.
    pub correct_bias: bool,
    /// Weights may be rounded together.
    pub round: bool,
    /// Before they are rounded together, weights may be fitted to the results of the float model.
    pub repair: bool,
    /// The ranges of activations may be chosen by the error at the outputs.
    pub ranges: bool,
    /// Scale may move between the activations and the weights of matrix products.
    pub smooth: bool,
    /// Scale may move between the weights of neighbouring layers.
    pub equalize: bool,
}

/// One layer, or one group of a convolution.
#[derive(Debug)]
pub(crate) struct Problem<'a> {
    /// The positions on which the candidates are compared, and the number of samples that they come from.
    pub(crate) held: &'a Positions,
    pub(crate) samples: usize,
    /// real = step × element, for x and y.
    pub(crate) steps: [f64; 2],
    /// The weights of the float model, output by output.
    pub(crate) weights: &'a [f32],
    /// The bias of the float model. `None` if the layer has no bias.
    pub(crate) bias: Option<&'a [f32]>,
    /// True if another bias can be chosen.
    pub(crate) corrects: bool,
    pub(crate) lattice: &'a Lattice,
    /// The codes to which the weights were rounded one by one.
    pub(crate) nearest: &'a [i32],
}

/// Codes and a bias that a layer can have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) choice: Choice,
    pub(crate) codes: Vec<i32>,
    pub(crate) bias: Option<Vec<f32>>,
    /// For each sample that was held back, the sum of the squared errors of the outputs.
    pub(crate) errors: Vec<f64>,
}

/// The part of the mean diagonal of H that is added to its diagonal. So inputs that are nearly the same do not get large weights
/// that cancel each other.
const DAMPING: f64 = 0.01;

/// The same if the layer was seen at fewer positions than [`FEW`] for each of its inputs, so that H itself is uncertain.
const DAMPING_OF_FEW: f64 = 0.1;

/// A layer was seen at few positions if there are fewer than so many for each of its inputs.
const FEW: f64 = 8.0;

impl Choice {
    /// The word for the choice in reports.
    pub fn name(self) -> &'static str {
        match self {
            Choice::Nearest => "nearest",
            Choice::Bias => "bias",
            Choice::Round => "round",
            Choice::Repair => "repair",
        }
    }
}

impl Problem<'_> {
    /// All candidates, in the order of [`Choice`]. `moments` are those of the positions from which codes and biases are computed.
    /// `repair` says if the weights may be fitted before they are rounded.
    pub(crate) fn candidates(&self, mut moments: Moments, repair: bool) -> Vec<Candidate> {
        let corrects = self.corrects;
        let mut inputs = moments.inputs(corrects);
        let mut found = vec![self.candidate(Choice::Nearest, self.nearest.to_vec(), None)];
        if corrects {
            found.push(self.candidate(Choice::Bias, self.nearest.to_vec(), Some(&moments)));
        }
        let means = corrects.then_some(&moments);
        let is_few = moments.count < FEW * self.held.width as f64;
        let damping = inputs.mean() * if is_few { DAMPING_OF_FEW } else { DAMPING };
        if damping > 0.0 && inputs.factor(damping) {
            let real: Vec<f64> = self.weights.iter().map(|&weight| weight.into()).collect();
            let codes = self.rounded(&inputs, &real);
            found.push(self.candidate(Choice::Round, codes, means));
            if repair {
                let fitted = self.fitted(&moments, &inputs, (corrects, damping));
                let codes = self.rounded(&inputs, &fitted);
                found.push(self.candidate(Choice::Repair, codes, means));
            }
        }
        found
    }

    /// The weights W' = (cov(y, x) + λ·W)·(cov(x, x) + λ·I)⁻¹, with which the layer computes from its inputs in the
    /// quantized model what the float model computes.
    fn fitted(&self, moments: &Moments, inputs: &Square, (centred, damping): (bool, f64)) -> Vec<f64> {
        let unit = self.steps[1] / self.steps[0];
        let width = self.held.width.max(1);
        let mut fitted = moments.results(centred);
        for (at, (element, &weight)) in fitted.iter_mut().zip(self.weights).enumerate() {
            // A bias that stays is no part of what the weights should compute.
            let bias = self.bias.and_then(|bias| bias.get(at / width)).filter(|_| !centred);
            let own = bias.map_or(0.0, |&bias| {
                f64::from(bias) / self.steps[0] * moments.x[at % width] / moments.count
            });
            *element = *element * unit - own + damping * f64::from(weight);
        }
        inputs.solve(&mut fitted);
        fitted
    }

    fn rounded(&self, inputs: &Square, targets: &[f64]) -> Vec<i32> {
        let mut codes = nearest_plane(inputs, targets, self.lattice);
        if inputs.size() <= search::MOST_WEIGHTS {
            search::nearest_point(inputs, targets, self.lattice, &mut codes);
        }
        codes
    }

    /// A candidate with these codes. With moments, its bias is mean(y) − Ŵ·mean(x).
    fn candidate(&self, choice: Choice, codes: Vec<i32>, moments: Option<&Moments>) -> Candidate {
        let [x_step, y_step] = self.steps;
        let width = self.held.width;
        let weights: Vec<f64> = codes
            .iter()
            .enumerate()
            .map(|(at, &code)| self.lattice.real(at, code))
            .collect();
        let bias: Option<Vec<f32>> = moments.map(|moments| {
            let rows = weights.chunks(width.max(1)).zip(&moments.y);
            let bias = rows.map(|(row, y)| {
                let product: f64 = row.iter().zip(&moments.x).map(|(weight, x)| weight * x).sum();
                ((y * y_step - product * x_step) / moments.count) as f32
            });
            bias.collect()
        });
        let own = bias.as_deref().or(self.bias).unwrap_or_default();
        let outputs = self.held.outputs;
        let mut errors = vec![0.0; self.held.count() * outputs];
        let (x, rows) = (Matrix::new(&self.held.x, width), Matrix::new(&weights, width));
        products(x, rows, (&mut errors, outputs), false, |out, sum| *out = sum);
        let mut found = vec![0.0; self.samples];
        let each = errors.len().div_ceil(self.samples.max(1)).max(1);
        for (at, (sum, y)) in errors.iter().zip(&self.held.y).enumerate() {
            let made = sum * x_step + own.get(at % outputs).copied().map_or(0.0, f64::from);
            let difference = made - f64::from(*y) * y_step;
            if let Some(error) = found.get_mut(at / each) {
                *error += difference * difference;
            }
        }
        Candidate {
            choice,
            codes,
            bias,
            errors: found,
        }
    }
}
