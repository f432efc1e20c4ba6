//! The error of a layer if its activations, its weights and its results are rounded, with factors.

use super::apply::{Factors, factors, scaled};
use super::gather::{Seen, Watched};
use super::label::Label;
use super::walk::Walk;
use crate::algebra::products::{Matrix, products};
use strait_core::{DataId, Module, NodeId, Parts, Port, Scheme, ValueId};

/// Grids with a zero point for the whole tensor, as the target has them for one operand.
#[derive(Clone, Copy, Debug)]
struct Codes {
    /// The smallest and the largest code.
    range: [f64; 2],
    is_symmetric: bool,
    has_powers_of_two: bool,
}

/// Scale and zero point.
#[derive(Clone, Copy, Debug)]
struct Step {
    scale: f64,
    zero: f64,
    range: [f64; 2],
}

impl Codes {
    fn of(scheme: Option<Scheme>) -> Option<Codes> {
        let scheme = scheme?;
        let range = scheme.range()?;
        Some(Codes {
            range: range.map(|end| end as f64),
            is_symmetric: scheme.policy().is_symmetric(),
            has_powers_of_two: scheme.policy().has_powers_of_two(),
        })
    }

    /// The grid from the smallest to the largest number.
    fn step(&self, [low, high]: [f64; 2]) -> Step {
        let ([low, high], [first, last]) = ([low.min(0.0), high.max(0.0)], self.range);
        let (mut scale, mut zero) = match self.is_symmetric {
            true => (high.max(-low) / last, 0.0),
            false => ((high - low) / (last - first), 0.0),
        };
        if scale <= 0.0 || !scale.is_finite() {
            scale = 1.0;
        }
        if self.has_powers_of_two {
            let mut power = 1.0;
            while power < scale {
                power *= 2.0;
            }
            while power / 2.0 >= scale {
                power /= 2.0;
            }
            scale = power;
        }
        if !self.is_symmetric {
            zero = (first - low / scale).round_ties_even();
        }
        Step {
            scale,
            zero,
            range: self.range,
        }
    }
}

impl Step {
    fn rounded(&self, x: f64) -> f64 {
        let code = (x / self.scale).round_ties_even() + self.zero;
        (code.clamp(self.range[0], self.range[1]) - self.zero) * self.scale
    }
}

/// What trials work on.
pub(crate) struct Trials<'a> {
    pub(crate) float: &'a Module,
    pub(crate) annotated: &'a Module,
    pub(crate) walk: &'a Walk,
    pub(crate) seen: &'a Seen,
}

impl Trials<'_> {
    /// For each sample that judges, the squared error of a layer's results divided by their mean square.
    pub(crate) fn errors(&self, layer: &Watched, all: &Factors) -> Option<Vec<f64>> {
        let (id, table) = (layer.node, &self.annotated.main().quant);
        let codes = |port| {
            Codes::of(
                table
                    .scheme_of(id, port)
                    .filter(|_| table.params_of(id, port).is_some()),
            )
        };
        let weights = self.float.main().data_of(self.float.main().node(id)?.input(1)?)?;
        let (x, y) = (codes(Port::Operand(0)), codes(Port::Result(0)));
        let [of_x, of_y] = [
            self.of_label(self.walk.read(layer.values[0]), all),
            self.of_label(self.walk.made(layer.values[1]), all),
        ];
        let x = x.and_then(|codes| Some(codes.step(self.ends(layer.values[0], &of_x)?)));
        let y = y.and_then(|codes| Some(codes.step(self.ends(layer.values[1], &of_y)?)));
        let rounded = self.weights(id, weights, all)?;
        let (outputs, width) = (layer.geometry.outputs(), layer.geometry.width());
        let groups = self.seen.positions.get(&id)?;
        let mut errors = vec![0.0; self.seen.held];
        let mut power = 0.0;
        for (group, positions) in groups.iter().enumerate() {
            let own: Vec<f64> = layer
                .geometry
                .weights(group)
                .iter()
                .map(|&at| rounded.get(at).copied().unwrap_or(0.0))
                .collect();
            let inputs = layer.geometry.channels_of_inputs(group);
            let read: Vec<f64> = positions
                .x
                .iter()
                .enumerate()
                .map(|(at, &number)| {
                    let factor = inputs
                        .get(at % width.max(1))
                        .and_then(|&channel| of_x.get(channel))
                        .copied()
                        .unwrap_or(1.0);
                    let number = f64::from(number) / factor;
                    x.map_or(number, |step| step.rounded(number))
                })
                .collect();
            let mut made = vec![0.0; positions.count() * outputs];
            let (rows, columns) = (Matrix::new(&read, width), Matrix::new(&own, width));
            products(rows, columns, (&mut made, outputs), false, |out, sum| *out = sum);
            let bias = self.bias(id);
            let each = made.len().div_ceil(self.seen.held.max(1)).max(1);
            for (at, (sum, &float)) in made.iter().zip(&positions.y).enumerate() {
                let output = group * outputs + at % outputs.max(1);
                let factor = of_y.get(output).copied().unwrap_or(1.0);
                let bias = bias.as_ref().and_then(|bias| bias.get(output)).copied().unwrap_or(0.0);
                let number = sum + f64::from(bias) / factor;
                let number = y.map_or(number, |step| step.rounded(number)) * factor;
                let difference = number - f64::from(float);
                power += f64::from(float) * f64::from(float);
                if let Some(error) = errors.get_mut(at / each) {
                    *error += difference * difference;
                }
            }
        }
        let power = power / self.seen.held.max(1) as f64;
        (power > 0.0).then(|| errors.iter().map(|error| error / power).collect())
    }

    fn bias(&self, id: NodeId) -> Option<Vec<f32>> {
        let graph = self.float.main();
        let data = graph.data_of(graph.node(id)?.input(2)?)?;
        Some(self.float.data(data)?.to_f32().ok()?.into_owned())
    }

    /// The factors at each position of a label. The list is empty if there is no label.
    fn of_label(&self, label: Option<&Label>, all: &Factors) -> Vec<f64> {
        label.map_or_else(Vec::new, |label| factors(self.walk, label, all))
    }

    /// The ends of a value after its channels were divided by factors.
    fn ends(&self, value: ValueId, factors: &[f64]) -> Option<[f64; 2]> {
        let [_, all] = self.seen.ends.get(&value)?;
        let of = |side: usize| {
            all.iter()
                .enumerate()
                .filter(|(_, ends)| ends[0] <= ends[1])
                .map(move |(channel, ends)| f64::from(ends[side]) / factors.get(channel).copied().unwrap_or(1.0))
        };
        Some([of(0).fold(0.0, f64::min), of(1).fold(0.0, f64::max)])
    }

    /// The weights of a layer with factors, rounded on grids like those that they have now.
    fn weights(&self, id: NodeId, data: DataId, all: &Factors) -> Option<Vec<f64>> {
        let tensor = self.float.data(data)?;
        let mut numbers = match scaled(self.float, self.walk, data, all) {
            Some(numbers) => numbers,
            None => tensor.to_f32().ok()?.iter().map(|&x| f64::from(x)).collect(),
        };
        let table = &self.annotated.main().quant;
        let port = Port::Operand(1);
        let (Some(codes), Some(grid)) = (Codes::of(table.scheme_of(id, port)), table.params_of(id, port)) else {
            return Some(numbers);
        };
        let shape: Vec<usize> = tensor.shape().iter().map(|&extent| extent as usize).collect();
        let parts = Parts::of_grid(&grid, &shape).unwrap_or(Parts::WHOLE);
        let mut ends = vec![[0.0f64; 2]; parts.count()];
        for (at, &number) in numbers.iter().enumerate() {
            if let Some(end) = ends.get_mut(parts.of(at)) {
                *end = [end[0].min(number), end[1].max(number)];
            }
        }
        let steps: Vec<Step> = ends.into_iter().map(|ends| codes.step(ends)).collect();
        for (at, number) in numbers.iter_mut().enumerate() {
            if let Some(step) = steps.get(parts.of(at)) {
                *number = step.rounded(*number);
            }
        }
        Some(numbers)
    }
}
