//! Compares the ranges in rules with what was observed.

use crate::annotate::analyses::Reach;
use crate::annotate::settings::{Annotation, RangeFrom};
use crate::observers::{GridKind, MinMax, grid};
use crate::statistics::Statistics;
use strait_core::{ConfigId, Graph, Module, NodeId, Origin, Port, ValueId};

/// A rule's range is reported if it is at least this many times as wide as the observed range. Codes then lose two
/// bits.
const WIDE: f64 = 4.0;

/// A range in a rule that does not fit what was observed.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleRange {
    /// The node that makes the value. If the range belongs to an operand, or if the value is an input, it is the node
    /// that reads the value.
    pub node: NodeId,
    /// The value that the range belongs to.
    pub value: ValueId,
    /// The range: the smallest and the largest number.
    pub range: [f32; 2],
    /// The smallest and the largest observed number, limited to the numbers that matter to readers.
    pub seen: [f32; 2],
    /// How accuracy is lost because the range does not fit.
    pub unfitting: Unfitting,
}

/// How accuracy is lost by a range that does not fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unfitting {
    /// Numbers saturate. The field is the fraction of the observed numbers that saturate. It is only as precise as a
    /// bin of the histogram.
    Clips(f64),
    /// The range of the rule is this many times as wide as the observed range.
    Wide(f64),
    /// The value shares its grid with other values, and the grid has this range instead of the rule's.
    Overruled([f32; 2]),
}

/// Finds the ranges in rules that do not fit the observed numbers, among those that determine a grid of a node on the
/// accelerator. Ranges of values come first, then ranges of operands.
pub(crate) fn rule_ranges(module: &Module, how: &Annotation<'_>, reach: &Reach) -> Vec<RuleRange> {
    let graph = module.main();
    let settings = how.settings;
    let values = settings.values.iter().filter_map(|(&value, own)| {
        let from = own.range.as_ref()?;
        let made = graph.producer(value).map(|(id, _)| (id, result_of(graph, id, value)));
        let read = graph.uses(value).map(|at| (at.node, Port::Operand(at.operand.into())));
        let mut ports = made.into_iter().chain(read);
        ports.find_map(|(node, port)| Some((node, value, from, graph.quant.id(node, port)?)))
    });
    let operands = settings.operands.iter().filter_map(|(&(node, index), own)| {
        let from = own.range.as_ref()?;
        let value = graph.node(node)?.inputs.get(index).copied().flatten()?;
        Some((node, value, from, graph.quant.id(node, Port::Operand(index))?))
    });
    let found = values.chain(operands).filter_map(|(node, value, from, config)| {
        let &RangeFrom::Rule(range) = from else { return None };
        let statistics = how.observation.elements(module.name(graph.value(value)?.name))?;
        let (seen, unfitting) = unfitting(graph, config, range, reach, value, statistics)?;
        Some(RuleRange {
            node,
            value,
            range,
            seen,
            unfitting,
        })
    });
    found.collect()
}

fn result_of(graph: &Graph, id: NodeId, value: ValueId) -> Port {
    let node = graph.node(id);
    let position = node.and_then(|node| node.outputs.iter().position(|&output| output == value));
    Port::Result(position.unwrap_or(0))
}

fn unfitting(
    graph: &Graph,
    config: ConfigId,
    range: [f32; 2],
    reach: &Reach,
    value: ValueId,
    statistics: &Statistics,
) -> Option<([f32; 2], Unfitting)> {
    let (scheme, made) = (graph.quant.config(config)?.scheme, graph.quant.grid(config)?);
    let kind = GridKind::of(scheme);
    let (scale, zero) = made.params.as_tensor()?;
    let [low, high] = reach.range(value, statistics.into(), &MinMax, kind).ok()?;
    let seen = [statistics.min()?.max(low), statistics.max()?.min(high)];
    let [first, last] = scheme.range()?.map(|code| (code - i64::from(zero)) as f64);
    // A group has a single grid, whose range may come from any member. Grids that had to be coarser, and grids that
    // were given before annotation, are reported by another finding.
    match made.origin {
        Origin::Coarsened => {}
        Origin::Rule | Origin::Observed if *made.params == grid(kind, range).ok()? => {}
        Origin::Rule | Origin::Observed => {
            let ends = [first, last].map(|code| (f64::from(scale) * code) as f32);
            return Some((seen, Unfitting::Overruled(ends)));
        }
        _ => return None,
    }
    // Numbers up to half a step beyond the last code are still rounded to the last code.
    let ends = [first - 0.5, last + 0.5].map(|code| f64::from(scale) * code);
    let [least, most] = seen.map(f64::from);
    if least < ends[0] || most > ends[1] {
        let within = |low: f64, high: f64| low < ends[1] && high > ends[0];
        return Some((seen, Unfitting::Clips(share_beyond(statistics, [least, most], within))));
    }
    let width = |[low, high]: [f32; 2]| match kind.symmetric {
        true => f64::from(high.abs().max(low.abs())),
        false => f64::from(high.max(0.0)) - f64::from(low.min(0.0)),
    };
    let times = width(range) / width(seen);
    (times >= WIDE && times.is_finite()).then_some((seen, Unfitting::Wide(times)))
}

/// Returns the fraction of the observed numbers that lie outside of a grid. `least` and `most` are the smallest and the
/// largest observed number, and the caller knows that at least one of them lies outside.
fn share_beyond(statistics: &Statistics, [least, most]: [f64; 2], within: impl Fn(f64, f64) -> bool) -> f64 {
    let width = statistics.histogram.width();
    let (mut all, mut beyond) = (0u64, 0u64);
    for (low, count) in statistics.histogram.bins() {
        let high = low + width;
        if low <= most && high >= least {
            all = all.saturating_add(count);
            beyond = beyond.saturating_add(if within(low, high) { 0 } else { count });
        }
    }
    beyond.max(1) as f64 / all.max(1) as f64
}
