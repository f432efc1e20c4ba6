//! Finds grids that are given away: almost all codes of such a grid are spent on a single number.
//!
//! Let M be the number with the largest magnitude among the numbers on a grid. Suppose that each other number is either
//! close to M or very small compared with M. Then the codes in between are never used, and all the small numbers have
//! to share the few codes near zero. Zeros have a code on every grid and lose nothing, so a grid for only zeros and M
//! is fine.

use crate::annotate::analyses::{Role, computed, role};
use crate::statistics::{Observation, Statistics};
use strait_core::{Graph, Module, Node, NodeId, Op, Placement, Port, QuantParams, ValueId};
use strait_requantize::Per;
use strait_target::TargetSpec;

/// Let M be the largest magnitude of the numbers on a grid. Numbers with a magnitude of at least this fraction of M
/// count as close to M. The grid is reported if the magnitudes of all other numbers are at most 1 − 0.99 = 1% of M.
/// Those numbers then share less than 6 of 256 codes, or less than 3 if they lie on one side of zero.
const SHARE: f64 = 0.99;

/// A value on a grid that spends almost all of its codes on a single number.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenAway {
    /// The node that makes the value. For a constant or an input, the node that reads it.
    pub node: NodeId,
    /// The node that the grid belongs to. It makes or reads the value.
    pub(crate) reader: NodeId,
    /// For weights, these are the channels whose grids are given away, or all channels if they share one grid. For
    /// other values, the list is empty.
    pub(crate) channels: Vec<usize>,
    /// The value whose grid is given away.
    pub value: ValueId,
    /// The number of steps of the grid, from the first code to the last.
    pub steps: i64,
    /// How much accuracy the grid loses.
    pub loss: Loss,
}

/// How much accuracy is lost on a grid that spends almost all of its codes on a single number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The channel, if there is one grid per channel.
    pub channel: Option<usize>,
    /// The number on which almost all codes of the grid are spent: the one with the largest magnitude.
    pub extreme: f32,
    /// The part of the grid that lies between this number and all other numbers, in [0.99, 1].
    pub share: f64,
    /// The number of codes that are left for all other numbers.
    pub codes: f64,
}

/// Finds the grids of an annotated graph that spend almost all of their codes on a single number, in the order of the
/// nodes. Activations are judged by their statistics, and constants by their elements.
///
/// An element beyond the grid saturates and does not count. If a value's codes come from another value, only that other
/// value is reported. A grid that is more than twice as wide as the range of its elements is not checked, because it
/// was made for another reason: for example, the grid of a dead channel is made for its bias.
pub(crate) fn given_away(module: &Module, spec: &TargetSpec, observation: &Observation) -> Vec<GivenAway> {
    let graph = module.main();
    let mut told = vec![false; graph.value_bound()];
    let mut found = Vec::new();
    for id in graph.topological_order().unwrap_or_default() {
        let Some(node) = graph.node(id) else { continue };
        if node.place != Placement::Accelerator {
            continue;
        }
        let operands = node.inputs.iter().copied().enumerate();
        let values = operands.filter_map(|(index, value)| Some((Port::Operand(index), value?)));
        let results = node.outputs.iter().enumerate();
        let results = results.map(|(index, &value)| (Port::Result(index), value));
        for (port, value) in values.chain(results) {
            // If a value has several readers, it is reported only once, for the first reader. But weights are checked
            // for each reader, because each reader has its own grid for the weights.
            let role = role_of(graph, spec, node, port);
            let is_weight = role == Role::Weight;
            // Biases and accumulators need no check, because they have 32 bits or more, and gains need none, because
            // they have 16 bits.
            if matches!(role, Role::Bias | Role::Gain | Role::Shifted) {
                continue;
            }
            if !is_weight && std::mem::replace(&mut told[value.index()], true) {
                continue;
            }
            // Accumulators have so many codes that they need no check either.
            let config = graph.quant.scheme_of(id, port).filter(|scheme| !scheme.is_of_sums());
            let config = config.and_then(|scheme| scheme.range());
            let (Some(codes), Some(grid)) = (config, graph.quant.params_of(id, port)) else {
                continue;
            };
            let lost = if is_weight {
                of_parameters(module, graph, value, (&grid, codes[1] as f64))
            } else {
                let loss = of_activation(module, graph, (id, node), value, (&grid, codes), observation);
                loss.map(|loss| (loss, Vec::new()))
            };
            let maker = graph.producer(value).map_or(id, |(producer, _)| producer);
            found.extend(lost.map(|(loss, channels)| GivenAway {
                node: maker,
                reader: id,
                channels,
                value,
                steps: codes[1] - codes[0],
                loss,
            }));
        }
    }
    found
}

fn role_of(graph: &Graph, spec: &TargetSpec, node: &Node, port: Port) -> Role {
    match (computed(spec, node), port) {
        (Some((_, recipe)), Port::Operand(index)) => role(graph, node, recipe, index),
        _ => Role::Activation,
    }
}

fn of_activation(
    module: &Module,
    graph: &Graph,
    (id, node): (NodeId, &Node),
    value: ValueId,
    (grid, codes): (&QuantParams, [i64; 2]),
    observation: &Observation,
) -> Option<Loss> {
    let (scale, zero) = grid.as_tensor()?;
    let reach = codes.map(|code| f64::from(scale) * (code - i64::from(zero)) as f64);
    if let Some(tensor) = module.constant(graph, value) {
        let mut numbers = tensor.to_f32().ok()?.into_owned();
        numbers.retain(|&x| (reach[0] - f64::from(scale)..=reach[1] + f64::from(scale)).contains(&f64::from(x)));
        return of_numbers(&numbers, scale, reach[1].max(-reach[0]));
    }
    // Codes that a node only moves are reported at the node that makes them.
    let same = || graph.quant.params_of(id, Port::Operand(0)).as_deref() == Some(grid);
    let moved = node.inputs.len() == 1 && node.outputs.contains(&value) && !matches!(node.op, Op::Pad(_)) && same();
    let name = module.name(graph.value(value)?.name);
    if moved {
        None
    } else {
        of_statistics(observation.elements(name)?, scale, reach)
    }
}

/// The loss of the channel that loses most accuracy, and the list of all channels that lose accuracy.
fn of_parameters(
    module: &Module,
    graph: &Graph,
    value: ValueId,
    (grid, codes): (&QuantParams, f64),
) -> Option<(Loss, Vec<usize>)> {
    // Grids by block are not checked: blocks are so small that this cannot happen.
    if grid.block.is_some() {
        return None;
    }
    let tensor = module.constant(graph, value)?;
    let numbers = tensor.to_f32().ok()?;
    let Per::Channel(scales) = &grid.scale else {
        let scale = *grid.scale.get(0)?;
        let loss = of_numbers(&numbers, scale, f64::from(scale) * codes)?;
        return Some((loss, (0..*tensor.shape().first()? as usize).collect()));
    };
    let each = (numbers.len() / scales.len().max(1)).max(1);
    let rows = numbers.chunks(each).zip(&**scales).enumerate();
    let losses = rows.filter_map(|(channel, (row, &scale))| {
        let loss = of_numbers(row, scale, f64::from(scale) * codes)?;
        Some(Loss {
            channel: Some(channel),
            ..loss
        })
    });
    let losses: Vec<Loss> = losses.collect();
    let channels = losses.iter().filter_map(|loss| loss.channel).collect();
    // If several channels lose equally much, the first one is taken.
    let worst = losses
        .into_iter()
        .reduce(|worst, other| if other.share > worst.share { other } else { worst });
    worst.map(|loss| (loss, channels))
}

/// Returns what a list of numbers loses on a grid, or `None` if nothing is lost. For most tensors the search ends
/// early, at the first number that lies between the large and the small numbers.
fn of_numbers(numbers: &[f32], scale: f32, reach: f64) -> Option<Loss> {
    let largest = largest_magnitude(numbers);
    let most = f64::from(largest);
    if 2.0 * most < reach {
        return None;
    }
    let extreme = numbers.iter().copied().find(|x| x.abs() == largest)?;
    let (mut low, mut high, mut others) = (0.0f64, 0.0f64, false);
    for &x in numbers.iter().filter(|x| x.is_finite()) {
        let (x, size) = (f64::from(x), f64::from(x.abs()));
        if size >= SHARE * most {
            continue;
        }
        if size > (1.0 - SHARE) * most {
            return None;
        }
        (low, high, others) = (low.min(x), high.max(x), others || x != 0.0);
    }
    others.then(|| loss(extreme, most, [low, high], scale))
}

/// The largest magnitude of the finite numbers, or 0 if there is none. Magnitudes are compared by their bits, which the
/// compiler does with vectors.
fn largest_magnitude(numbers: &[f32]) -> f32 {
    const INFINITE: i32 = f32::INFINITY.to_bits().cast_signed();
    let bits = numbers.iter().fold(0, |most: i32, x| {
        let bits = x.abs().to_bits().cast_signed();
        let bits = if bits < INFINITE { bits } else { 0 };
        if bits > most { bits } else { most }
    });
    f32::from_bits(bits.cast_unsigned())
}

/// Computes the loss from statistics. It is only as precise as a bin of the histogram, which has at least 2,048 bins.
fn of_statistics(statistics: &Statistics, scale: f32, reach: [f64; 2]) -> Option<Loss> {
    let width = statistics.histogram.width();
    let held = statistics
        .histogram
        .occupied()
        .map(|(index, count)| (f64::from(index) * width, count))
        .filter(|&(low, _)| low <= reach[1] && low + width >= reach[0]);
    let held: Vec<(f64, u64)> = held.collect();
    let size = |low: f64| low.abs().max((low + width).abs());
    let (first, last) = (held.first()?.0, held.last()?.0);
    let ends = [statistics.min()?, statistics.max()?].map(f64::from);
    let ends = [ends[0].max(first), ends[1].min(last + width)];
    let extreme = if -ends[0] > ends[1] { ends[0] } else { ends[1] };
    let most = extreme.abs();
    if 2.0 * most < reach[1].max(-reach[0]) {
        return None;
    }
    let (mut low, mut high, mut others) = (0.0f64, 0.0f64, 0u64);
    for &(edge, count) in &held {
        if size(edge) >= SHARE * most {
            continue;
        }
        if size(edge) > (1.0 - SHARE) * most {
            return None;
        }
        (low, high, others) = (low.min(edge), high.max(edge + width), others + count);
    }
    (others > statistics.zeros).then(|| loss(extreme as f32, most, [low, high], scale))
}

fn loss(extreme: f32, most: f64, [low, high]: [f64; 2], scale: f32) -> Loss {
    Loss {
        channel: None,
        extreme,
        share: 1.0 - high.max(-low) / most,
        codes: (high - low) / f64::from(scale),
    }
}
