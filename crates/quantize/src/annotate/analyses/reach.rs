//! Reach: finds for each value which numbers matter to its readers, as an interval.
//!
//! Elements below the lower end of this interval can be replaced by that end, and elements above the upper end by the
//! upper end. This changes the outputs of the graph by no more than the rounding of the readers' results does. So a
//! grid does not need to reach beyond the interval, even if a mask or a padding puts an extreme number into the value:
//! −100, −10000, the smallest f32 or −∞.
//!
//! **Where intervals come from.** Take a softmax over n scores with the largest score M. All scores below M − ln(512·n)
//! together contribute less than n·exp(−ln(512·n)) = 1/512 of what M alone contributes. This is half a step of an 8-bit
//! result with the scale 1/256. So scores below this bound do not matter. All rows share a grid, so the row with the
//! smallest M decides. For a maximum (`max_pool`, `reduce_max`, `maximum`), let m be the smallest result in the
//! samples. Elements of the operands below m do not matter, because they never become a result. For a minimum, elements
//! above the largest result do not matter.
//!
//! **How intervals are passed from a result to the operands.** If the readers of a value y need no numbers below f,
//! there is also a lower bound for the operands from which y is computed. For y = a + b, only numbers of at least f −
//! max b matter in a. For y = a − b, only numbers of at most max a − f matter in b. For y = c·x with constants of one
//! sign, only numbers of at least the smallest f/c matter in x. If an op moves or chooses elements (`select`), its
//! operands get the interval of its result. A value with several readers has the hull of the intervals that its readers
//! need. Readers of any other kind, and the outputs of the model, need every number.
//!
//! **What a value can be** is the range that was seen in the samples. If a value is computed elementwise from inputs of
//! the graph, such as a mask (1 − m)·−10000, its interval also includes every number that the expression can give:
//! samples without a masked element do not show what the mask can be. The result of a choice between two values
//! (`select`) can be any number of either value, even if only one of them was chosen in the samples. If only numbers in
//! [0, 1] were seen in an input or in the result of a cast, it can be any number in [0, 1].
//!
//! Only grids depend on these intervals. Certificates do not: they hold for every code.

use crate::annotate::settings::{Annotation, RangeFrom};
use crate::logarithm::ln;
use crate::observers::{GridKind, Observer, ValueStatistics};
use crate::statistics::{Observation, Statistics};
use strait_core::op::{BinaryFunction, Function, Reduction};
use strait_core::shape::axis_of;
use strait_core::{Elem, Graph, Module, Node, NodeId, Op, Reason, TensorType, ValueId};

/// The lower and the upper end of an interval. An end is infinite if the interval has no bound on this side.
type Interval = [f64; 2];

const ALL: Interval = [f64::NEG_INFINITY, f64::INFINITY];

/// A softmax with a mask may have rows in which all scores are masked. A row is taken as masked if the mask can push
/// scores down by this amount, and the row's largest score is at least this far below the largest score of all rows. It
/// is assumed that no reader uses the result of a masked row. A grid of 8 bits that also covered masked rows would have
/// 256 codes for a range of more than 128, so its steps would be above 1/2. The scores of all other rows would then be
/// wrong by up to 1/4, and their exp by about a quarter. If a softmax has no mask, no row is taken as masked, because
/// the scores of ordinary rows may also be this far apart.
const MASKED_ROW: f64 = 128.0;

/// The largest number of values that the search for a softmax's mask visits, going back from the softmax. Normally only
/// a few values lie between the softmax and the mask.
const FARTHEST_MASK: usize = 64;

/// If the observed range is more than this many times as wide as the interval that is needed, the interval itself is
/// used as range. Too few of the histogram's bins (there are at least 2,048) then lie in the interval for an observer
/// to work.
const COARSE: f64 = 8.0;

/// For each value of a graph, two intervals: the numbers that the value can be, and the numbers that matter to its
/// readers. They depend only on the float graph and its statistics.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// For each value, the interval of the numbers that matter to its readers. `None` if nobody reads the value.
    matters: Vec<Option<Interval>>,
    /// For each value, the interval of the numbers that it can be. `None` if nothing is known about it.
    can_be: Vec<Option<Interval>>,
}

impl Reach {
    /// Finds the intervals of all values. One pass in `order` finds which numbers each value can be. A second pass in
    /// the opposite direction finds which of these numbers matter.
    pub(crate) fn new(module: &Module, graph: &Graph, order: &[NodeId], how: &Annotation<'_>) -> Reach {
        let bound = graph.value_bound();
        let mut known = ValueIntervals {
            module,
            graph,
            observation: how.observation,
            can_be: vec![None; bound],
            computed: vec![false; bound],
        };
        known.inputs(how);
        for node in order.iter().filter_map(|&id| graph.node(id)) {
            known.node(node);
        }
        let mut matters: Vec<Option<Interval>> = vec![None; bound];
        for output in graph.outputs() {
            matters[output.index()] = Some(ALL);
        }
        for node in order.iter().rev().filter_map(|&id| graph.node(id)) {
            let result = node.outputs.iter().fold(None, |all, y| hull(all, matters[y.index()]));
            for (index, &operand) in node.inputs.iter().enumerate() {
                let Some(operand) = operand else { continue };
                let read = known.reads(node, index, operand, result);
                matters[operand.index()] = hull(matters[operand.index()], read);
            }
        }
        Reach {
            matters,
            can_be: known.can_be,
        }
    }

    /// The values whose intervals differ between this analysis and `other`. Both are analyses of the same graph.
    pub(crate) fn differing(&self, other: &Reach) -> impl Iterator<Item = ValueId> {
        let (matters, can_be) = (
            self.matters.iter().zip(&other.matters),
            self.can_be.iter().zip(&other.can_be),
        );
        let apart = matters
            .zip(can_be)
            .enumerate()
            .filter(|(_, (a, b))| a.0 != a.1 || b.0 != b.1);
        apart.map(|(index, _)| ValueId::new(index))
    }

    /// Returns the range of a value's grid. It is the range that the observer finds, limited to the numbers that
    /// matter, and extended to numbers that can occur although they are not in the samples.
    pub(crate) fn range(
        &self,
        value: ValueId,
        of: ValueStatistics<'_>,
        observer: &dyn Observer,
        kind: GridKind,
    ) -> Result<[f32; 2], Reason> {
        let Some((needed, seen)) = self.needed(value, of.elements) else {
            return observer.range(of, kind);
        };
        let span = |[low, high]: Interval| high - low;
        if span(seen) > COARSE * span(needed) {
            return Ok(needed.map(|end| end as f32));
        }
        let chosen = observer.range(of, kind)?.map(f64::from);
        // An observer that clips may choose an end that lies outside the needed interval. Such an end is replaced by
        // the nearer end of the needed interval.
        let chosen = chosen.map(|end| end.max(needed[0]).min(needed[1]));
        let low = if needed[0] < seen[0] { needed[0] } else { chosen[0] };
        let high = if needed[1] > seen[1] { needed[1] } else { chosen[1] };
        Ok([low, high].map(|end| end as f32))
    }

    /// Returns the interval that the grid of a value must cover, and the interval that was observed. Returns `None` if
    /// both are the same.
    fn needed(&self, value: ValueId, statistics: &Statistics) -> Option<(Interval, Interval)> {
        let [floor, ceiling] = self.matters.get(value.index()).copied().flatten()?;
        let seen = extremes(statistics)?;
        let can_be = self.can_be.get(value.index()).copied().flatten().unwrap_or(seen);
        let low = if floor.is_finite() {
            can_be[0].min(seen[0])
        } else {
            seen[0]
        };
        let high = if ceiling.is_finite() {
            can_be[1].max(seen[1])
        } else {
            seen[1]
        };
        // If all elements lie below the interval, or all above, they are replaced by the nearer end of the interval.
        // The range is cut only if this saves at least one bit: for a smaller gain, it is better to keep the ends than
        // to saturate numbers.
        let cut = [low, high].map(|end| end.max(floor).min(ceiling));
        let span = |[low, high]: Interval| high.max(0.0) - low.min(0.0);
        let needed = if span([low, high]) >= 2.0 * span(cut) {
            cut
        } else {
            [low, high]
        };
        (needed != seen && needed.iter().all(|end| end.is_finite())).then_some((needed, seen))
    }
}

/// The smallest and the largest observed element. Infinite elements count too.
fn extremes(statistics: &Statistics) -> Option<Interval> {
    let [below, above] = statistics.infinite.map(|count| count > 0);
    let [low, high] = ALL;
    let ends = [statistics.min(), statistics.max()].map(|end| end.map(f64::from));
    let least = if below {
        Some(low)
    } else {
        ends[0].or(above.then_some(high))
    };
    let most = if above {
        Some(high)
    } else {
        ends[1].or(below.then_some(low))
    };
    Some([least?, most?])
}

fn hull(a: Option<Interval>, b: Option<Interval>) -> Option<Interval> {
    match (a, b) {
        (Some(a), Some(b)) => Some([a[0].min(b[0]), a[1].max(b[1])]),
        (a, b) => a.or(b),
    }
}

/// The smallest interval that contains two intervals. `None` if one of them is not known.
fn hull_of([a, b]: [Option<Interval>; 2]) -> Option<Interval> {
    hull(Some(a?), Some(b?))
}

/// Returns the smallest interval that contains f(x, y) for each end x of `a` and each end y of `b`. If one of these
/// results is NaN, the interval is unbounded.
fn of_ends(a: Interval, b: Interval, f: impl Fn(f64, f64) -> f64) -> Interval {
    let ends = a.map(|x| b.map(|y| f(x, y)));
    let ends = ends.as_flattened();
    if ends.iter().any(|end| end.is_nan()) {
        return ALL;
    }
    ends.iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &end| {
            [low.min(end), high.max(end)]
        })
}

/// Computes the interval that each value can be in, node by node in the order of the graph.
struct ValueIntervals<'a> {
    module: &'a Module,
    graph: &'a Graph,
    observation: &'a Observation,
    can_be: Vec<Option<Interval>>,
    /// For each value, true if it is computed by elementwise operations from inputs of the graph.
    computed: Vec<bool>,
}

impl ValueIntervals<'_> {
    fn observed(&self, value: ValueId) -> Option<Interval> {
        let name = self.module.name(self.graph.value(value)?.name);
        extremes(self.observation.elements(name)?)
    }

    fn set(&mut self, value: ValueId, can_be: Option<Interval>, computed: bool) {
        self.can_be[value.index()] = can_be;
        self.computed[value.index()] = computed;
    }

    fn inputs(&mut self, how: &Annotation<'_>) {
        for &input in self.graph.inputs() {
            let said = match how.range(input) {
                Some(RangeFrom::Rule(range) | RangeFrom::Grid(range)) => Some(range.map(f64::from)),
                _ => None,
            };
            let can_be = said.or_else(|| self.observed(input).map(unit));
            self.set(input, can_be, true);
        }
    }

    /// The interval of a value. The elements of a constant are read only when its interval is first needed.
    fn of(&mut self, value: ValueId) -> Option<Interval> {
        if self.graph.data_of(value).is_some() && self.can_be[value.index()].is_none() {
            let tensor = self.module.constant(self.graph, value)?.to_f32().ok()?;
            let ends = tensor.iter().map(|&x| [f64::from(x); 2]).map(Some);
            let nan = tensor.iter().any(|x| x.is_nan());
            self.can_be[value.index()] = ends.reduce(hull).flatten().filter(|_| !nan);
        }
        self.can_be[value.index()]
    }

    fn node(&mut self, node: &Node) {
        let is_computed = |value: ValueId| self.computed[value.index()];
        let computed = node.inputs.iter().flatten().any(|&x| is_computed(x));
        let [a, b] = [0, 1].map(|index| node.input(index).filter(|_| computed).and_then(|x| self.of(x)));
        let chosen = |known: &mut Self| hull_of([1, 2].map(|index| node.input(index).and_then(|x| known.of(x))));
        let found = match (&node.op, a, b) {
            (Op::Add(_), Some(a), Some(b)) => Some(of_ends(a, b, |a, b| a + b)),
            (Op::Sub(_), Some(a), Some(b)) => Some(of_ends(a, b, |a, b| a - b)),
            (Op::Mul(_), Some(a), Some(b)) => Some(of_ends(a, b, |a, b| a * b)),
            (Op::Div(_), Some(a), Some(b)) if b[0] > 0.0 || b[1] < 0.0 => Some(of_ends(a, b, |a, b| a / b)),
            (Op::Binary(op), Some(a), Some(b)) if op.function == BinaryFunction::Minimum => {
                Some(of_ends(a, b, f64::min))
            }
            (Op::Binary(op), Some(a), Some(b)) if op.function == BinaryFunction::Maximum => {
                Some(of_ends(a, b, f64::max))
            }
            (Op::Select(_), ..) => chosen(self),
            (Op::Relu(_), Some([low, high]), _) => Some([low.max(0.0), high.max(0.0)]),
            (Op::Unary(unary), Some([low, high]), _) if unary.function == Function::Neg => Some([-high, -low]),
            (op, Some(x), _) if moves(op) => Some(x),
            _ => None,
        };
        for &y in &node.outputs {
            let seen = self.observed(y);
            match &node.op {
                // Integers are not observed, so no interval is known for the operand of a cast from integers to floats.
                // A cast from booleans gives 0 or 1. For other integers, the observed range of the result is used.
                Op::Cast(_) => {
                    let elem = node.input(0).and_then(|x| self.graph.value(x)).map(|x| x.ty.elem);
                    let can_be = if elem == Some(Elem::Bool) {
                        Some([0.0, 1.0])
                    } else {
                        seen.map(unit)
                    };
                    self.set(y, can_be, true);
                }
                _ => self.set(y, hull(seen, found), found.is_some()),
            }
        }
    }

    /// The interval of operand `index`.
    fn operand(&mut self, node: &Node, index: usize) -> Option<Interval> {
        self.of(node.input(index)?)
    }

    /// The interval of operand `index`, if it is a constant.
    fn constant(&mut self, node: &Node, index: usize) -> Option<Interval> {
        let constant = node.input(index).filter(|&c| self.graph.data_of(c).is_some());
        self.of(constant?)
    }

    /// Returns the numbers of operand `index` that matter to a node. `result` are the numbers of the node's result that
    /// matter to its readers.
    fn reads(&mut self, node: &Node, index: usize, operand: ValueId, result: Option<Interval>) -> Option<Interval> {
        let seen = |known: &Self| node.result().and_then(|y| known.observed(y)).unwrap_or(ALL);
        // If nobody reads the result, no numbers of the operands matter either.
        let [low, high] = result?;
        let found = match (&node.op, index) {
            (Op::Softmax(softmax), 0) => [self.lowest_score(operand, softmax.axis).unwrap_or(ALL[0]), ALL[1]],
            (Op::MaxPool(_), 0) => [low.max(seen(self)[0]), high],
            (Op::Reduce(reduce), 0) if reduce.reduction == Reduction::Max => [low.max(seen(self)[0]), high],
            (Op::Reduce(reduce), 0) if reduce.reduction == Reduction::Min => [low, high.min(seen(self)[1])],
            (Op::Binary(op), _) if op.function == BinaryFunction::Maximum => [low.max(seen(self)[0]), high],
            (Op::Binary(op), _) if op.function == BinaryFunction::Minimum => [low, high.min(seen(self)[1])],
            (op, 0) if moves(op) => [low, high],
            (Op::Concat(_), _) | (Op::Select(_), 1 | 2) => [low, high],
            (Op::Add(_), 0 | 1) => {
                let b = self.operand(node, 1 - index);
                b.map_or(ALL, |b| number([low - b[1], high - b[0]]))
            }
            (Op::Sub(_), 0) => {
                let b = self.operand(node, 1);
                b.map_or(ALL, |b| number([low + b[0], high + b[1]]))
            }
            (Op::Sub(_), 1) => {
                let a = self.operand(node, 0);
                a.map_or(ALL, |a| number([a[0] - high, a[1] - low]))
            }
            (Op::Mul(_), 0 | 1) => {
                let c = self.constant(node, 1 - index);
                c.map_or(ALL, |c| divided([low, high], c))
            }
            (Op::Div(_), 0) => match self.constant(node, 1) {
                Some(c) if c[0] > 0.0 || c[1] < 0.0 => divided([low, high], [1.0 / c[1], 1.0 / c[0]]),
                _ => ALL,
            },
            (Op::Unary(unary), 0) if unary.function == Function::Neg => [-high, -low],
            _ => ALL,
        };
        Some(if found[0] <= found[1] { found } else { ALL })
    }

    /// Returns the lower bound for the scores of a softmax over `axis`. In every row, except rows in which all scores
    /// are masked, the softmax maps scores below this bound to practically zero.
    fn lowest_score(&mut self, scores: ValueId, axis: i64) -> Option<f64> {
        let value = self.graph.value(scores)?;
        let n = extent(&value.ty, axis)?;
        let observation = self.observation;
        let peaks = observation.peaks(self.module.name(value.name))?;
        let [least, most] = [peaks.min()?, peaks.max()?].map(f64::from);
        let masked = most - MASKED_ROW;
        let least = if least >= masked || !self.is_masked(scores) {
            least
        } else {
            let bins = peaks
                .histogram
                .filled()
                .filter(|&(low, _)| low + peaks.histogram.width() > masked);
            bins.map(|(low, _)| low.max(masked)).next()?
        };
        Some(least - ln(512.0 * n as f64))
    }

    /// True if a mask may push all scores of a row down. A mask is a constant, or is computed from inputs. It is added
    /// to the scores or chosen instead of them, and its numbers are far below the scores. Also true if the search for a
    /// mask takes too long.
    fn is_masked(&mut self, scores: ValueId) -> bool {
        let graph = self.graph;
        let mut open = vec![scores];
        for _ in 0..FARTHEST_MASK {
            let Some(value) = open.pop() else { return false };
            let Some((_, node)) = graph.producer(value) else {
                continue;
            };
            let operands = node.inputs.iter().flatten().copied();
            match &node.op {
                Op::Add(_) | Op::Sub(_) | Op::Select(_) | Op::Binary(_) => {
                    for operand in operands {
                        let is_given = graph.data_of(operand).is_some() || self.computed[operand.index()];
                        let far = |[low, high]: Interval| low <= -MASKED_ROW || high >= MASKED_ROW;
                        if is_given && self.of(operand).is_none_or(far) {
                            return true;
                        }
                        open.push(operand);
                    }
                }
                Op::Mul(_) | Op::Div(_) | Op::Concat(_) | Op::Unary(_) => open.extend(operands),
                op if moves(op) => open.extend(operands),
                _ => {}
            }
        }
        !open.is_empty()
    }
}

/// If the interval lies inside [0, 1], extends it to all of [0, 1]. A value in [0, 1] is a mask or a fraction, and the
/// samples need not show each number that the value can be.
fn unit(seen: Interval) -> Interval {
    if seen[0] >= 0.0 && seen[1] <= 1.0 {
        [0.0, 1.0]
    } else {
        seen
    }
}

/// Replaces an end that is NaN by an infinite end, so that the interval has no bound on this side.
fn number([low, high]: Interval) -> Interval {
    [
        if low.is_nan() { ALL[0] } else { low },
        if high.is_nan() { ALL[1] } else { high },
    ]
}

/// Returns the interval of the numbers x for which c·x can lie between `low` and `high`, where c is any number in the
/// interval `c`. All numbers in `c` must have the same sign. Infinite ends stay infinite.
fn divided([low, high]: Interval, c: Interval) -> Interval {
    if !(c[0] > 0.0 || c[1] < 0.0) || !c.iter().all(|c| c.is_finite()) {
        return ALL;
    }
    number(of_ends([low, high], c, |x, c| x / c))
}

/// True if every element of the op's result is an element of its first operand, or a constant that the op inserts. The
/// constant was then observed along with these elements.
fn moves(op: &Op) -> bool {
    match op {
        Op::Resize(resize) => resize.moves(),
        Op::Concat(_) | Op::Select(_) | Op::Binary(_) => false,
        _ => op.term().moves_codes(),
    }
}

/// The extent of an axis. Negative axes count from the end.
pub(crate) fn extent(ty: &TensorType, axis: i64) -> Option<u64> {
    ty.shape.get(axis_of(axis, ty.shape.len())?)?.fixed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An observer whose range excludes the whole interval that matters.
    struct Clips;

    impl Observer for Clips {
        fn range(&self, _: ValueStatistics<'_>, _: GridKind) -> Result<[f32; 2], Reason> {
            Ok([-8.0, -3.0])
        }
    }

    #[test]
    fn the_ends_of_a_range_never_cross() {
        let mut statistics = Statistics::default();
        statistics.add(0, &[-8.0, -3.0, 1.0]);
        let reach = Reach {
            matters: vec![Some([-1.0, f64::INFINITY])],
            can_be: vec![None],
        };
        let kind = GridKind {
            codes: [-128, 127],
            symmetric: false,
            power_of_two: false,
            float: None,
        };
        assert_eq!(
            reach.range(ValueId::new(0), (&statistics).into(), &Clips, kind),
            Ok([-1.0, -1.0])
        );
    }
}
