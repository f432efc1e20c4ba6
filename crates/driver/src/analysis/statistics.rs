//! Statistics of the tensors of a layer: what was observed, compared with the grid, and the weights, compared with their
//! codes.

use strait_core::{Granularity, Module, Port, QuantParams, Scheme, TensorData, ValueId};
use strait_kernels::{Context, float};
use strait_quantize::statistics::Statistics;

use crate::{
    report::{TensorStatistics, WeightStatistics},
    sanity::Squares,
};

use super::{Analysed, Group};

/// The fraction of the numbers that are not outliers.
const MOST: f64 = 0.999;

impl Analysed<'_> {
    /// Describes a computed tensor. `None` if it was not observed.
    pub(super) fn tensor(&self, value: ValueId) -> Option<TensorStatistics> {
        let (module, graph) = (&self.built.annotated, self.built.annotated.main());
        let tensor = module.name(graph.value(value)?.name).to_owned();
        let seen = self.observation.elements(&tensor)?;
        let range = [seen.min()?, seen.max()?].map(f64::from);
        let grid = self.grid(value);
        let count = seen.count().max(1) as f64;
        Some(TensorStatistics {
            most: magnitude_at(seen, MOST),
            clipped: grid.map(|(ends, step)| outside(seen, ends, step)),
            zeros: seen.zeros as f64 / count,
            seen: range,
            tensor,
            grid: grid.map(|(ends, _)| ends),
        })
    }

    /// Describes the weights of a layer.
    pub(super) fn weights(&self, group: &Group) -> Option<WeightStatistics> {
        let CodedWeights {
            tensor,
            per_tensor,
            channels,
        } = self.coded_weights(group)?;
        let zero = channels.iter().filter(|channel| channel.most == 0.0);
        let lost = channels
            .iter()
            .filter(|channel| channel.most > 0.0 && channel.most_code == 0.0);
        let mut squares = Squares::default();
        channels.iter().for_each(|channel| squares.merge(channel.squares));
        Some(WeightStatistics {
            tensor,
            snr: squares.snr(),
            per_tensor,
            channels: channels.len() as u64,
            spread: spread(&channels),
            zero: zero.count() as u64,
            lost: lost.count() as u64,
        })
    }

    /// The channels of the weights of a layer, and their codes. `None` if no weights have codes.
    pub(super) fn coded_weights(&self, group: &Group) -> Option<CodedWeights> {
        let (module, graph) = (&self.built.annotated, self.built.annotated.main());
        let node = graph.node(group.main)?;
        let mut constant = (0..node.inputs.len()).filter_map(|index| {
            let value = node.input(index)?;
            let codes = graph.quant.baked(group.main, Port::Operand(index))?;
            let id = graph.quant.id(group.main, Port::Operand(index))?;
            let config = graph.quant.config(id)?;
            (!config.scheme.is_of_sums()).then_some((value, codes, config.scheme, graph.quant.params(id)?))
        });
        let (value, codes, scheme, grid) = constant.next()?;
        let numbers = module.data(graph.data_of(value)?)?;
        let (axis, per_tensor) = match (scheme.policy().per(), grid.axis) {
            (Granularity::Channel { axis }, _) => (axis.into(), false),
            (Granularity::Block { .. }, _) => (0, false),
            (Granularity::Tensor, axis) => (axis.unwrap_or(0).into(), true),
        };
        let reals = grid.reals(module.data(codes)?).ok().flatten()?;
        Some(CodedWeights {
            tensor: module.name(graph.value(value)?.name).to_owned(),
            per_tensor,
            channels: channels(numbers, &reals, axis)?,
        })
    }

    /// The grid of a tensor: the smallest and the largest number that a code stands for, and the step.
    pub(super) fn grid(&self, value: ValueId) -> Option<([f64; 2], f64)> {
        let graph = self.built.annotated.main();
        let left = graph.left(value).or_else(|| {
            let mut readers = graph.uses(value);
            readers.find_map(|at| graph.quant.id(at.node, Port::Operand(at.operand.into())))
        })?;
        let grid = graph.quant.params(left)?;
        let ends = ends(graph.quant.config(left)?.scheme, &grid)?;
        Some((ends, f64::from(grid.as_tensor()?.0)))
    }
}

/// The weights of a layer that have codes.
pub(super) struct CodedWeights {
    pub(super) tensor: String,
    /// True if the whole tensor has one scale.
    pub(super) per_tensor: bool,
    pub(super) channels: Vec<Channel>,
}

/// The smallest and the largest number that a code stands for.
fn ends(scheme: Scheme, grid: &QuantParams) -> Option<[f64; 2]> {
    let ([low, high], (scale, zero)) = (scheme.range()?, grid.as_tensor()?);
    Some([low, high].map(|code| (code - i64::from(zero)) as f64 * f64::from(scale)))
}

/// The magnitude that this fraction of the numbers does not exceed, to the accuracy of the histogram's bins.
fn magnitude_at(seen: &Statistics, fraction: f64) -> f64 {
    let width = seen.histogram.width();
    // The outer edge of a bin is the one that is farther from 0.
    let edge = |low: f64| low.abs().max((low + width).abs());
    let mut bins: Vec<(f64, u64)> = seen.histogram.bins().map(|(low, count)| (edge(low), count)).collect();
    bins.sort_by(|one, other| one.0.total_cmp(&other.0));
    let wanted = fraction * seen.histogram.total() as f64;
    let mut counted = 0.0;
    let found = bins.iter().find(|(_, count)| {
        counted += *count as f64;
        counted >= wanted
    });
    found.map_or(0.0, |(edge, _)| *edge)
}

/// The fraction of the numbers that saturate: those that are farther outside of the grid than half a step. Numbers in a
/// bin that reaches into the grid do not count.
pub(super) fn outside(seen: &Statistics, [low, high]: [f64; 2], step: f64) -> f64 {
    let width = seen.histogram.width();
    let is_out = |&(edge, _): &(f64, u64)| edge + width <= low - step / 2.0 || edge >= high + step / 2.0;
    let out: u64 = seen.histogram.filled().filter(is_out).map(|(_, count)| count).sum();
    out as f64 / seen.histogram.total().max(1) as f64
}

/// What is known of one channel of weights.
#[derive(Clone, Copy, Default)]
pub(super) struct Channel {
    pub(super) most: f64,
    most_code: f64,
    pub(super) squares: Squares,
}

fn channels(numbers: &TensorData, reals: &[f32], axis: usize) -> Option<Vec<Channel>> {
    let (shape, numbers) = (numbers.shape(), numbers.to_f32().ok()?);
    let count = usize::try_from(*shape.get(axis)?).ok()?;
    let inner: u64 = shape.iter().skip(axis + 1).product();
    let inner = usize::try_from(inner.max(1)).ok()?;
    let mut found = vec![Channel::default(); count];
    let (rows, cx) = (numbers.chunks(inner).zip(reals.chunks(inner)), Context::detect());
    for (at, (numbers, reals)) in rows.enumerate() {
        let Some(channel) = found.get_mut(at % count.max(1)) else {
            continue;
        };
        // No comparison with NaN is true, so NaN is skipped.
        let larger = |most: f32, x: &f32| if x.abs() > most { x.abs() } else { most };
        let most = |of: &[f32]| {
            let range = float::range(&cx, of).map(|range| range.max.abs().max(range.min.abs()));
            range.unwrap_or_else(|| of.iter().fold(0.0, larger)).into()
        };
        channel.most = channel.most.max(most(numbers));
        channel.most_code = channel.most_code.max(most(reals));
        channel.squares.add_all(numbers, reals);
    }
    Some(found)
}

/// The largest magnitude of a channel, divided by the median of those that are not 0.
fn spread(channels: &[Channel]) -> Option<f64> {
    let mut most: Vec<f64> = channels
        .iter()
        .map(|channel| channel.most)
        .filter(|&most| most > 0.0)
        .collect();
    most.sort_by(f64::total_cmp);
    let (median, last) = (most.get(most.len() / 2)?, most.last()?);
    Some(last / median)
}

/// True if a module has the tensor under this name, so that a rule can name it.
pub(super) fn has_tensor(module: &Module, name: &str) -> bool {
    module.main().values().any(|(_, value)| module.name(value.name) == name)
}
