//! Noise: an estimate of how much the outputs of a graph differ from the outputs of the float model because of the
//! grids.
//!
//! Rounding adds an error to each element. The mean square of this error is the noise of the grid. For numbers spread
//! over many steps of size s, it is s²/12. Numbers below half a step become zero, and their noise is their own mean
//! square. A node passes the noise of each operand on with a gain g. So the noise of a result is the sum Σ g·n over the
//! operands, plus the noise of the result's own grid. The gain depends on the node:
//! - In a convolution or Gemm with constant weights, the gain is the sum of the squared weights of an output, averaged
//!   over the outputs. The errors δ of the weights themselves add Σ δ²·E\[x²\].
//! - If a node multiplies two values, the gain is E\[other²\] for an elementwise multiplication, where `other` is the
//!   other operand. For a MatMul whose results are sums of K terms, it is K·E\[other²\].
//! - In a sum or difference, and in an op that moves or chooses elements, the gain is 1. In a concatenation, it is the
//!   operand's share of the elements.
//! - In any other node, the gain is E\[y²\]/E\[x²\], which keeps the ratio of noise to signal.
//!
//! The same gains, followed backwards through the graph, tell how much of a grid's noise arrives at an output. The
//! calculation treats errors as independent, which is only approximately true, so an estimate is right to within a few
//! decibels. It decides only what is reported, and does not influence any grid.

use crate::annotate::settings::Annotation;
use crate::logarithm::ln;
use crate::observers::{GridKind, grid};
use crate::statistics::Statistics;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::f64::consts::LN_10;
use strait_core::shape::element_count;
use strait_core::{Graph, Kind, Module, Node, NodeId, Op, Port, QuantParams, Scheme, TensorData, ValueId};
use strait_kernels::{Context, float};

/// The noise of an annotated graph.
pub(crate) struct Noise<'a> {
    module: &'a Module,
    graph: &'a Graph,
    order: Vec<NodeId>,
    /// For each value, the mean square of its elements, if known.
    power: Vec<Option<f64>>,
    /// For each value, the noise in the result of its node, before rounding to the value's own grid adds further noise.
    incoming: Vec<f64>,
    /// For each value, the noise after its node has stored the value, including rounding to the value's own grid.
    leaving: Vec<f64>,
    /// The statistics of values, and of the elements of constants.
    seen: BTreeMap<ValueId, Cow<'a, Statistics>>,
    /// For each convolution or Gemm with constant weights, the sum of the squared weights of an output, averaged over
    /// the outputs.
    weights: BTreeMap<NodeId, f64>,
}

impl<'a> Noise<'a> {
    /// Estimates the noise of the main graph of an annotated module.
    pub(crate) fn new(module: &'a Module, how: &'a Annotation<'_>) -> Noise<'a> {
        let graph = module.main();
        let bound = graph.value_bound();
        let mut noise = Noise {
            module,
            graph,
            order: graph.topological_order().unwrap_or_default(),
            power: vec![None; bound],
            incoming: vec![0.0; bound],
            leaving: vec![0.0; bound],
            seen: BTreeMap::new(),
            weights: BTreeMap::new(),
        };
        for (id, value) in graph.values() {
            let statistics = match module.constant(graph, id) {
                Some(tensor) if is_read(graph, id) => of_constant(tensor).map(Cow::Owned),
                Some(_) => None,
                None => how.observation.elements(module.name(value.name)).map(Cow::Borrowed),
            };
            noise.power[id.index()] = statistics.as_deref().and_then(power);
            noise.seen.extend(statistics.map(|statistics| (id, statistics)));
        }
        for (port, &input) in graph.inputs().iter().enumerate() {
            let rounded = noise.rounded_at(input, NodeId::OUTSIDE, Port::Input(port));
            noise.leaving[input.index()] = rounded.unwrap_or(0.0);
        }
        for at in 0..noise.order.len() {
            let id = noise.order[at];
            let Some(node) = graph.node(id) else { continue };
            noise.weigh(id, node);
            let mut sum = noise.of_weights(id, node, |_| true).unwrap_or(0.0);
            for (index, &operand) in node.inputs.iter().enumerate() {
                let Some(operand) = operand else { continue };
                let port = Port::Operand(index);
                // If the operand is rounded to codes for this reader, the rounding adds noise. Otherwise the reader
                // uses the codes that the producer stored.
                let left = graph
                    .left_by(&graph.quant, operand)
                    .map(|config| graph.quant.root(config));
                let read = graph.quant.id(id, port).map(|config| graph.quant.root(config));
                let made = read.filter(|_| read != left && noise.gain(id, node, index) > 0.0);
                let rounded = made.and_then(|_| noise.rounded_at(operand, id, port)).unwrap_or(0.0);
                sum += noise.gain(id, node, index) * (noise.leaving[operand.index()] + rounded);
            }
            for (index, &result) in node.outputs.iter().enumerate() {
                let same = || {
                    let root = |port| graph.quant.id(id, port).map(|config| graph.quant.root(config));
                    node.op.term().moves_codes() && root(Port::Operand(0)) == root(Port::Result(index))
                };
                let rounded = noise.rounded_at(result, id, Port::Result(index)).filter(|_| !same());
                noise.incoming[result.index()] = sum;
                noise.leaving[result.index()] = sum + rounded.unwrap_or(0.0);
            }
        }
        noise
    }

    /// The mean squared error that the grid at a port causes in a value.
    fn rounded_at(&self, value: ValueId, node: NodeId, port: Port) -> Option<f64> {
        let scheme = self.graph.quant.scheme_of(node, port)?;
        scheme.range().filter(|_| !scheme.is_of_sums())?;
        let (scale, _) = self.graph.quant.params_of(node, port)?.as_tensor()?;
        Some(rounding(self.seen.get(&value)?, scale))
    }

    /// Returns the mean squared error that is caused by the grid on which the producer stores the value. If the
    /// producer stores no codes, the grid on which the first reader reads the value is used instead.
    pub(crate) fn rounded(&self, value: ValueId) -> Option<f64> {
        let (node, port, _) = self.grid_of(value)?;
        self.rounded_at(value, node, port)
    }

    /// The mean squared error that rounding would cause if the grid were made for this value alone.
    pub(crate) fn rounded_alone(&self, value: ValueId) -> Option<f64> {
        let (.., scheme) = self.grid_of(value)?;
        let seen = self.seen.get(&value)?;
        let (scale, _) = grid(GridKind::of(scheme), [seen.min()?, seen.max()?])
            .ok()?
            .as_tensor()?;
        Some(rounding(seen, scale))
    }

    /// The port at which a value is rounded to codes, with the scheme of these codes.
    fn grid_of(&self, value: ValueId) -> Option<(NodeId, Port, Scheme)> {
        let left = self.graph.left_by(&self.graph.quant, value);
        let read = self.graph.uses(value);
        let read = read.filter_map(|at| self.graph.quant.id(at.node, Port::Operand(at.operand.into())));
        let mut configs = left
            .into_iter()
            .chain(read)
            .filter_map(|id| self.graph.quant.config(id));
        let config = configs.find(|config| config.scheme.range().is_some() && !config.scheme.is_of_sums())?;
        Some((config.node, config.port, config.scheme))
    }

    /// Returns the accuracy, in decibels, that a part of an output loses if it is rounded. Besides this rounding, only
    /// the part's own noise is counted.
    pub(crate) fn cost_of_part(&self, part: ValueId, rounded: f64) -> f64 {
        // If a part is requantized to the shared grid, its own noise and the noise of this rounding add up. If the
        // part's node stores the part directly on the shared grid, `leaving` already includes the rounding.
        decibels(
            (self.incoming[part.index()] + rounded).max(self.leaving[part.index()]),
            rounded,
        )
    }

    /// The loss in decibels from rounding some channels of a convolution or Gemm whose result is an output.
    pub(crate) fn cost_of_channels(&self, id: NodeId, channels: &[usize], rounded: f64) -> f64 {
        let Some(node) = self.graph.node(id) else { return 0.0 };
        let weights = node
            .input(1)
            .and_then(|weights| self.module.constant(self.graph, weights));
        let (Some(x), Some(tensor)) = (node.input(0), weights) else {
            return 0.0;
        };
        let outputs = self.outputs(node, tensor);
        let Ok(weights) = tensor.to_f32() else { return 0.0 };
        let each = (weights.len() / outputs).max(1);
        let rows = channels.iter().filter_map(|&channel| weights.chunks(each).nth(channel));
        let cx = Context::detect();
        let squares: f64 = rows.map(|row| float::squares(&cx, row)).sum();
        let of_weights = self.of_weights(id, node, |channel| channels.contains(&channel));
        let of_weights = of_weights.unwrap_or(0.0) * outputs as f64;
        let incoming = (squares * self.leaving[x.index()] + of_weights) / channels.len().max(1) as f64;
        decibels(incoming + rounded, rounded)
    }

    /// For each pair of a value and an amount of noise in `of`, returns the loss in decibels that this noise causes at
    /// the output that it affects most.
    pub(crate) fn costs(&self, of: &[(ValueId, f64)]) -> Vec<f64> {
        let mut costs = vec![0.0f64; of.len()];
        for &output in self.graph.outputs() {
            let total = self.leaving[output.index()];
            let mut heard = vec![0.0; self.power.len()];
            heard[output.index()] = 1.0;
            for &id in self.order.iter().rev() {
                let Some(node) = self.graph.node(id) else { continue };
                let result: f64 = node.outputs.iter().map(|y| heard[y.index()]).sum();
                for (index, &operand) in node.inputs.iter().enumerate().filter(|_| result > 0.0) {
                    if let Some(operand) = operand {
                        heard[operand.index()] += result * self.gain(id, node, index);
                    }
                }
            }
            for (cost, &(value, noise)) in costs.iter_mut().zip(of) {
                *cost = cost.max(decibels(total, noise * heard[value.index()]));
            }
        }
        costs
    }

    /// The noise in a product's result that comes from rounding the weights of some channels.
    pub(crate) fn of_weights(&self, id: NodeId, node: &Node, channels: impl Fn(usize) -> bool) -> Option<f64> {
        self.weights.get(&id)?;
        let (power, tensor) = (
            self.power[node.input(0)?.index()]?,
            self.module.constant(self.graph, node.input(1)?)?,
        );
        let grid = self.graph.quant.params_of(id, Port::Operand(1))?;
        let codes = self.graph.quant.scheme_of(id, Port::Operand(1))?.range()?;
        let outputs = self.outputs(node, tensor);
        let weights = tensor.to_f32().ok()?;
        Some(errors(&weights, outputs, (&grid, codes), channels) * power / outputs as f64)
    }

    /// Computes the entry of `weights` for a convolution or Gemm. It is the sum of the squared weights of an output,
    /// averaged over the outputs.
    fn weigh(&mut self, id: NodeId, node: &Node) {
        if !matches!(node.op, Op::Conv(_) | Op::Gemm(_)) {
            return;
        }
        let weights = node.input(1);
        let tensor = weights.and_then(|weights| self.module.constant(self.graph, weights));
        if let Some((tensor, weights)) = tensor.and_then(|tensor| Some((tensor, tensor.to_f32().ok()?))) {
            let sum = float::squares(&Context::detect(), &weights);
            self.weights.insert(id, sum / self.outputs(node, tensor) as f64);
        }
    }

    /// The number of output channels of a product.
    fn outputs(&self, node: &Node, weights: &TensorData) -> usize {
        let result = node.outputs.first().and_then(|&y| self.graph.value(y));
        let last = result.and_then(|y| y.ty.shape.last()?.fixed());
        let outputs = match node.op {
            Op::Conv(_) => weights.shape().first().copied(),
            _ => last,
        };
        outputs.unwrap_or(1).max(1) as usize
    }

    /// The gain of an operand of a node.
    fn gain(&self, id: NodeId, node: &Node, index: usize) -> f64 {
        let (Some(x), Some(&y)) = (node.input(index), node.outputs.first()) else {
            return 0.0;
        };
        let powers = |value: ValueId| self.power[value.index()];
        let other = || node.input(1 - index.min(1)).and_then(powers);
        let ratio = || {
            powers(y)
                .zip(powers(x))
                .filter(|(_, x)| *x > 0.0)
                .map_or(1.0, |(y, x)| y / x)
        };
        let elements = |value: ValueId| element_count(&self.graph.value(value)?.ty.shape).map(|count| count as f64);
        match (&node.op, self.weights.get(&id)) {
            (Op::Conv(_) | Op::Gemm(_), Some(&sum)) => match index {
                0 => sum,
                _ => 0.0,
            },
            (Op::Mul(_), _) => other().unwrap_or(1.0),
            (Op::MatMul(_), _) => {
                let summed = self.graph.value(x).and_then(|x| {
                    let from_last = if index == 0 { 1 } else { 2 };
                    x.ty.shape
                        .len()
                        .checked_sub(from_last)
                        .and_then(|axis| x.ty.shape[axis].fixed())
                });
                summed.unwrap_or(1) as f64 * other().unwrap_or(1.0)
            }
            (Op::Concat(_), _) => elements(x).zip(elements(y)).map_or(1.0, |(x, y)| x / y.max(1.0)),
            (Op::Add(_) | Op::Sub(_), _) => 1.0,
            (op, _) => match op.term().kind() {
                Kind::Rearranges | Kind::Moves | Kind::Extends | Kind::Selects => 1.0,
                _ => ratio(),
            },
        }
    }
}

/// True if a constant is read like an activation, and not as weights or a bias.
fn is_read(graph: &Graph, constant: ValueId) -> bool {
    graph.uses(constant).any(|at| {
        let product = graph
            .node(at.node)
            .is_some_and(|node| matches!(node.op, Op::Conv(_) | Op::Gemm(_)));
        !product || at.operand == 0
    })
}

/// 10·log10(`total` / (`total` − `part`)): the decibels by which `total` shrinks if `part` is taken away.
pub(crate) fn decibels(total: f64, part: f64) -> f64 {
    match part > 0.0 && total > 0.0 {
        true => -10.0 / LN_10 * ln((1.0 - part / total).max(1e-20)),
        false => 0.0,
    }
}

/// The statistics of a constant's elements. `None` if they are not floats.
pub(crate) fn of_constant(tensor: &TensorData) -> Option<Statistics> {
    let elements = tensor.to_f32().ok().filter(|_| tensor.elem().is_float())?;
    let mut statistics = Statistics::default();
    statistics.add(0, &elements);
    Some(statistics)
}

/// The mean square of the observed numbers. Each number is known to within half a bin of the histogram.
fn power(statistics: &Statistics) -> Option<f64> {
    mean(statistics, |x| x * x)
}

/// The mean squared error from rounding the observed numbers to a grid with step `scale` that covers all of them.
pub(crate) fn rounding(statistics: &Statistics, scale: f32) -> f64 {
    let step = f64::from(scale);
    let error = |x: f64| {
        if 2.0 * x.abs() < step {
            x * x
        } else {
            step * step / 12.0
        }
    };
    mean(statistics, error).unwrap_or(0.0)
}

/// The mean of a function over the observed numbers. The function must map zero to zero.
fn mean(statistics: &Statistics, of: impl Fn(f64) -> f64) -> Option<f64> {
    let (width, total) = (statistics.histogram.width(), statistics.histogram.total());
    let sum: f64 = statistics
        .histogram
        .occupied()
        .map(|(index, count)| {
            // Zeros are counted in the bin that begins at zero.
            let zeros = if index == 0 { statistics.zeros.min(count) } else { 0 };
            (count - zeros) as f64 * of((f64::from(index) + 0.5) * width)
        })
        .sum();
    (total > 0).then(|| sum / total as f64)
}

/// The sum of the squared errors that quantization causes in the weights of some channels.
fn errors(
    weights: &[f32],
    channels: usize,
    (grid, codes): (&QuantParams, [i64; 2]),
    counts: impl Fn(usize) -> bool,
) -> f64 {
    if grid.block.is_some() {
        return 0.0;
    }
    let (cx, each) = (Context::detect(), (weights.len() / channels).max(1));
    let rows = weights.chunks(each).enumerate().filter(|(channel, _)| counts(*channel));
    let of_row = |(channel, row): (usize, &[f32])| {
        let zero = grid.zero_point.get(channel).copied().unwrap_or(0);
        let scale = grid.scale.get(channel).copied().unwrap_or(1.0);
        float::squared_errors(&cx, row, (scale.into(), zero.into()), codes.map(|code| code as f64))
    };
    rows.map(of_row).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f32]) -> Statistics {
        let mut statistics = Statistics::default();
        statistics.add(0, numbers);
        statistics
    }

    /// Compares the result with rounding each number by itself, for numbers that spread over many steps, and for
    /// numbers of which some become zero.
    #[test]
    fn rounding_is_the_mean_squared_error() {
        let spread: Vec<f32> = (0..5000).map(|at| (at * 7919 % 5003) as f32 / 500.0).collect();
        let small: Vec<f32> = spread.iter().map(|x| x * 0.03).collect();
        for (numbers, scale) in [(&spread, 0.1), (&spread, 0.7), (&small, 0.7)] {
            let error = |&x: &f32| f64::from(x - scale * (x / scale).round()).powi(2);
            let expected = numbers.iter().map(error).sum::<f64>() / numbers.len() as f64;
            let found = rounding(&of(numbers), scale);
            assert!((found / expected - 1.0).abs() < 0.1, "{found} for {expected}");
        }
        // Zeros have no rounding error, but count like other numbers.
        let half = of(&[0.0, 0.0, 0.25, 0.25]);
        assert!((rounding(&half, 1.0) / 0.031_25 - 1.0).abs() < 0.01);
        assert!((power(&half).unwrap() / 0.031_25 - 1.0).abs() < 0.01);
    }

    #[test]
    fn weights_are_wrong_by_what_their_codes_lose() {
        let grid = QuantParams::channel([1.0f32, 0.5].into(), 0);
        let of = |counts: fn(usize) -> bool| errors(&[0.25, 2.0, 0.25, 100.0], 2, (&grid, [-127, 127]), counts);
        // In channel 0, which has the scale 1, 0.25 becomes 0. In channel 1, which has the scale 0.5, 0.25 also becomes
        // 0, and 100 is clipped to 63.5.
        assert_eq!(of(|channel| channel == 0), 0.0625);
        assert_eq!(of(|channel| channel == 1), 0.0625 + 36.5 * 36.5);
    }

    #[test]
    fn half_of_the_noise_is_three_decibels() {
        assert!((decibels(2.0, 1.0) - 3.0103).abs() < 1e-4);
        assert_eq!((decibels(2.0, 0.0), decibels(0.0, 0.0)), (0.0, 0.0));
    }
}
