//! Finds which integers can occur. There is an interval for every integer value of a graph, or one for each channel if
//! that is tighter.
//!
//! The bounds are sound. They are derived from element types, weights, biases, padding values, clamps and the
//! saturation of requantizations, and never from samples. If this module has no rule for an op, any number of the
//! result's type can occur.
//!
//! The compiler has its own implementation of such bounds, and bases decisions on it. There are two implementations on
//! purpose: neither may use the other, so that each can find mistakes in the other.

mod elementwise;
mod layout;
pub(crate) mod picks;
mod products;
mod range;
mod taps;
mod windows;

pub use range::{Interval, ValueRange};

use crate::elements::for_integers;
use crate::error::VerifyError;
use crate::finding::{Fault, Finding};
pub(crate) use range::extents;
use range::of_elem;
use strait_core::tensor::Element;
use strait_core::{
    Channels, Def, Elem, Graph, GraphId, Kind, Module, Node, NodeId, Op, Placement, Shape, Stage, TensorData, ValueId,
};
use strait_requantize::{OutsideDomain, Requantization};

/// The bounds of one graph.
#[derive(Clone, Debug)]
pub struct Intervals {
    values: Vec<Option<ValueRange>>,
    accumulators: Vec<Option<ValueRange>>,
    findings: Vec<Finding>,
}

impl Intervals {
    /// The bounds of a value. `None` for floats and booleans.
    pub fn value(&self, id: ValueId) -> Option<&ValueRange> {
        self.values.get(id.index())?.as_ref()
    }

    /// Returns the bounds of the numbers that a node computes before its fused requantization. If nothing is fused into
    /// the node, returns the bounds of its first result.
    pub fn accumulator(&self, id: NodeId) -> Option<&ValueRange> {
        self.accumulators.get(id.index())?.as_ref()
    }

    /// Findings for accumulators that can overflow their type, and for requantizations that can get a number outside of
    /// their domain.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// The largest number of intervals for all values together; so many intervals take 1 GiB of memory. When this number is
/// reached, each further value gets only a single interval.
const MOST_INTERVALS: usize = 1 << 26;

/// The number of intervals that may still be stored.
pub(crate) struct Budget(usize);

impl Default for Budget {
    fn default() -> Budget {
        Budget(MOST_INTERVALS)
    }
}

impl Budget {
    /// Returns the range with its interval for each channel if the budget allows it, otherwise with a single interval.
    fn keep(&mut self, range: ValueRange) -> ValueRange {
        let count = range.axes().map(|(_, intervals)| intervals.len()).sum();
        match self.0.checked_sub(count) {
            None => ValueRange::tensor(range.hull()),
            Some(left) => {
                self.0 = left;
                range
            }
        }
    }
}

/// The bounds of every integer value of a graph.
///
/// # Errors
/// The module does not have this graph, or the graph has a cycle.
pub fn intervals(module: &Module, graph: GraphId) -> Result<Intervals, VerifyError> {
    intervals_within(&mut Budget::default(), module, graph)
}

/// Like [`intervals()`], but for several graphs that share one limit for the number of intervals.
pub(crate) fn intervals_within(budget: &mut Budget, module: &Module, graph: GraphId) -> Result<Intervals, VerifyError> {
    let graph = module.graph(graph).ok_or(VerifyError::NoGraph(graph))?;
    let name = |id: NodeId| graph.node(id).map_or_else(String::new, |n| module.name(n.name).into());
    let order = graph.topological_order().map_err(|id| VerifyError::Cycle(name(id)))?;
    let mut analysis = Analysis {
        module,
        graph,
        values: vec![None; graph.value_bound()],
        accumulators: vec![None; graph.node_bound()],
        findings: Vec::new(),
        budget,
    };
    for (id, value) in graph.values() {
        analysis.values[id.index()] = match value.def {
            Def::Data(data) => (module.data(data).and_then(of_tensor)).map(|range| analysis.budget.keep(range)),
            // The range of the type is only a first bound. The bounds of a node's result become tighter when the node
            // is reached.
            Def::Input(_) | Def::Node(..) => of_elem(value.ty.elem).map(ValueRange::tensor),
        };
    }
    for id in order {
        analysis.visit(id);
    }
    Ok(Intervals {
        values: analysis.values,
        accumulators: analysis.accumulators,
        findings: analysis.findings,
    })
}

/// The numbers that each channel of a requantization has to requantize.
enum Met {
    /// The channel of an element is its index along this axis. The numbers of a channel lie in the bounds for this
    /// index. If there is no axis, there is one channel for all elements.
    Along(Option<usize>),
    /// A constant selects the channel. The list has the interval of each channel.
    Picked(Vec<Interval>),
}

struct Analysis<'a> {
    module: &'a Module,
    graph: &'a Graph,
    values: Vec<Option<ValueRange>>,
    accumulators: Vec<Option<ValueRange>>,
    findings: Vec<Finding>,
    budget: &'a mut Budget,
}

impl<'a> Analysis<'a> {
    fn visit(&mut self, id: NodeId) {
        let Some(node) = self.graph.node(id) else { return };
        let results = match self.is_of_the_model(node) {
            true => Vec::new(),
            false => self.results(node).unwrap_or_default(),
        };
        let Some(first) = node.outputs.first().copied() else {
            return;
        };
        let carrier = self.carrier(node);
        let range = results
            .first()
            .map(|range| self.with_addend(node, first, range))
            .zip(carrier);
        // If there is no rule for the op of a node with a fused requantization, any number of the accumulator's type
        // can occur.
        self.accumulators[id.index()] = carrier.map(|(_, whole)| ValueRange::tensor(whole));
        if let Some((range, carrier)) = range {
            let range = self.within(first, range, carrier, node.op.term().kind());
            let range = self.budget.keep(range);
            self.accumulators[id.index()] = Some(range.clone());
            let rank = self.shape(first).map_or(0, |s| s.len());
            let range = match &node.fused {
                Some(fused) => {
                    let met = self.met(node, rank, &range, &fused.requant);
                    let range = self.requantized(first, &range, &fused.requant, met);
                    fused.clamp.map_or(range.clone(), |ends| clamped(&range, ends))
                }
                None => range,
            };
            self.narrow(first, range);
        }
        for (&output, range) in node.outputs.iter().zip(results).skip(1) {
            self.narrow(output, range);
        }
    }

    /// True for a node that computes integers of the model, such as indices and lengths, which wrap if they overflow.
    /// These integers are neither codes nor sums of codes. They occur in host nodes whose results have no grid, and in
    /// all nodes of graphs in the float stage, such as the graphs that control flow refers to.
    fn is_of_the_model(&self, node: &Node) -> bool {
        if self.graph.stage() == Stage::Float {
            return true;
        }
        let grid = |&id: &ValueId| self.graph.value(id).is_some_and(|value| value.quant.is_some());
        matches!(node.place, Placement::Host(_)) && !node.outputs.iter().any(grid)
    }

    /// Stores the bounds of a value, limited to the range of the value's type.
    fn narrow(&mut self, id: ValueId, range: ValueRange) {
        let elem = self.graph.value(id).and_then(|v| of_elem(v.ty.elem));
        // Results that are not integers, such as those of a float lookup, have no bounds.
        if let Some(whole) = elem {
            self.values[id.index()] = Some(self.budget.keep(range.map(|i| i.clamped(whole))));
        }
    }

    /// The bounds of a node's results before its fused requantization. `None` if there is no rule for the op.
    fn results(&mut self, node: &Node) -> Option<Vec<ValueRange>> {
        let one = |range: ValueRange| Some(vec![range]);
        let x = node.inputs.first().copied().flatten()?;
        let y = *node.outputs.first()?;
        match &node.op {
            Op::Conv(op) => one(self.conv(op, node)?),
            Op::Gemm(op) => one(self.gemm(op, node)?),
            Op::MatMul(op) => one(self.matmul(op, node)?),
            Op::Add(_) => one(self.binary(node, Interval::plus)?),
            Op::Sub(_) => one(self.binary(node, Interval::minus)?),
            Op::Mul(op) => {
                let [a, b] = [op.a_zero, op.b_zero].map(|zero| Interval::point(zero.into()));
                one(self.binary(node, |x, y| x.minus(a).times(y.minus(b)))?)
            }
            Op::ShiftLeft(op) => {
                let (zero, factor) = (Interval::point(op.zero.into()), Interval::point(1 << op.bits.min(62)));
                one(self.range(x)?.map(|i| i.minus(zero).times(factor)))
            }
            Op::Requantize(op) => {
                let range = self.range(x)?.clone();
                let rank = self.shape(y).map_or(0, |shape| shape.len());
                let met = self.met(node, rank, &range, &op.form);
                one(self.requantized(y, &range, &op.form, met))
            }
            Op::Clamp(op) => one(clamped(self.range(x)?, [op.min, op.max])),
            Op::Lookup(_) => one(self.lookup(node, 0)?),
            Op::Interpolate(op) => one(self.lookup(node, op.step)?),
            // Results lie between the smallest and the largest neighbour, because the weights are not negative and add
            // up to one.
            Op::IntegerResize(_) => one(ValueRange::tensor(self.range(x)?.hull())),
            Op::IntegerSoftmax(op) => {
                let [low, high] = op.softmax().ok()?.range().map(i64::from);
                one(ValueRange::tensor(Interval { low, high }))
            }
            // The result saturates to the range of its type.
            Op::IntegerLayerNormalization(op) => one(ValueRange::tensor(of_elem(op.to)?)),
            // The sum grows with both codes, because its factors are positive and rounding keeps the order.
            Op::ScaledAdd(op) => {
                let form = op.form()?;
                // Codes have 8 bits.
                let sum = |x: i64, y: i64| i64::from(form.eval(x as i32, y as i32));
                one(self.binary(node, |x, y| Interval {
                    low: sum(x.low, y.low),
                    high: sum(x.high, y.high),
                })?)
            }
            Op::SumPool(op) => one(self.sum_pool(op, [x, y])?),
            Op::MaxPool(op) => one(self.max_pool(op, [x, y])?),
            Op::AveragePool(op) => one(self.average_pool(op, [x, y])?),
            Op::GlobalAveragePool(_) => one(self.per_channel([x, y])?),
            Op::Reduce(op) => one(self.reduce(op, [x, y])?),
            _ => self.moved(node),
        }
    }

    /// The bounds of a value.
    fn range(&self, id: ValueId) -> Option<&ValueRange> {
        self.values.get(id.index())?.as_ref()
    }

    /// The shape of a value.
    fn dims(&self, id: ValueId) -> Option<&'a Shape> {
        Some(&self.graph.value(id)?.ty.shape)
    }

    /// The extents of a value.
    fn extents(&self, id: ValueId) -> Option<Vec<u64>> {
        extents(self.dims(id)?)
    }

    /// The extents of a value that is not empty.
    fn shape(&self, id: ValueId) -> Option<Vec<u64>> {
        let shape = self.extents(id)?;
        shape.iter().all(|&extent| extent > 0).then_some(shape)
    }

    /// The tensor of a constant operand. `None` if it is not a constant.
    fn constant(&self, id: ValueId) -> Option<&'a TensorData> {
        self.module.constant(self.graph, id)
    }

    fn name(&self, id: ValueId) -> String {
        self.graph
            .value(id)
            .map_or_else(String::new, |v| self.module.name(v.name).into())
    }

    /// The type of a node's first result and the range of this type, before anything that is fused into the node.
    fn carrier(&self, node: &Node) -> Option<(Elem, Interval)> {
        let ty = |id: &Option<ValueId>| self.graph.value((*id)?).map(|v| &v.ty);
        let operands: Vec<_> = node.own_inputs().iter().map(ty).collect();
        let made = self.module.result_types(&node.op, &operands, None).ok()?;
        let elem = made.first()?.elem;
        Some((elem, of_elem(elem)?))
    }

    /// The range of an accumulator, with the fused addend included.
    fn with_addend(&mut self, node: &Node, result: ValueId, sums: &ValueRange) -> ValueRange {
        let Some((addend, codes)) = node.addend() else {
            return sums.clone();
        };
        let zero = Interval::point(addend.zero.into());
        let hull = self.range(codes).map(ValueRange::hull);
        let whole = Interval::of_type(addend.form.out());
        let Some(centred) = hull.map(|hull| ValueRange::tensor(hull.minus(zero))) else {
            return sums.map(|sum| sum.plus(whole));
        };
        let axis = self.dims(result).and_then(|shape| node.op.channel_axis(shape.len()));
        let added = self.requantized(result, &centred, &addend.form, Met::Along(axis));
        sums.combined(&added, Interval::plus)
    }

    /// Limits sums to the range of their type. A sum that can overflow is a finding. As an overflow wraps, the sum can
    /// then be any number of its type.
    fn within(
        &mut self,
        result: ValueId,
        range: ValueRange,
        (elem, whole): (Elem, Interval),
        kind: Kind,
    ) -> ValueRange {
        // For a computed i64, an interval that ends at `i64::MIN` or `i64::MAX` also stands for all numbers beyond this
        // end. For an i64 that was only moved, the interval does not.
        let computes = elem == Elem::I64 && matches!(kind, Kind::Accumulates | Kind::Integer);
        let fits = |i: Interval| whole.contains(i) && !(computes && (i.low == whole.low || i.high == whole.high));
        if fits(range.hull()) {
            return range;
        }
        let by_channel = range.axes().next();
        let each = by_channel.map_or_else(|| vec![range.hull()], |(_, each)| each.to_vec());
        let channel = each.iter().position(|&i| !fits(i)).unwrap_or(0);
        let value = self.name(result);
        let fault = Fault::Overflow {
            channel,
            interval: each[channel],
            carrier: elem,
        };
        self.findings.push(Finding { value, fault });
        ValueRange::tensor(whole)
    }

    /// Finds, for each channel of a form, the part of `range` that the channel requantizes. The form is fused into the
    /// node, or the node is a `requantize` with this form.
    fn met(&self, node: &Node, rank: usize, range: &ValueRange, form: &Requantization) -> Met {
        let picks = match node.channels(rank) {
            Some(Channels::Picked(picks)) => picks,
            Some(Channels::Axis(axis)) => return Met::Along(Some(axis)),
            None => return Met::Along(None),
        };
        let channels = form.channels().unwrap_or(1);
        let by_position = |picks: &TensorData| {
            let pool = match node.op {
                Op::SumPool(_) => node,
                _ => self.graph.producer(node.inputs.first().copied().flatten()?)?.1,
            };
            let Op::SumPool(op) = &pool.op else { return None };
            // If something is already fused into the pool, the result of the pool is not a sum.
            if pool.fused.is_some() && !std::ptr::eq(pool, node) {
                return None;
            }
            let (x, y) = (pool.inputs.first().copied().flatten()?, *pool.outputs.first()?);
            let found = picks::elements(op, picks, (&self.shape(x)?, &self.shape(y)?), channels)?;
            Some(picks::sums(op, self.range(x)?.hull(), &found))
        };
        let found = self.constant(picks).and_then(by_position);
        Met::Picked(found.unwrap_or_else(|| vec![range.hull(); channels]))
    }

    /// Returns the bounds of the results of a requantization f. They are computed for each channel of the form or of
    /// the range. An interval [low, high] becomes [f(low), f(high)], because f never decreases.
    fn requantized(&mut self, result: ValueId, range: &ValueRange, form: &Requantization, met: Met) -> ValueRange {
        let image = |channel: usize, interval: Interval| {
            let end = |x| form.eval(channel, x).map(i64::from);
            let (low, high) = (end(interval.low)?, end(interval.high)?);
            Ok::<_, OutsideDomain>(Interval { low, high })
        };
        let images = match (form.channels(), met) {
            (_, Met::Picked(each)) => {
                let images = each.iter().enumerate().map(|(channel, i)| image(channel, *i));
                let images = images.collect::<Result<Vec<_>, _>>();
                // Elements of one channel can be at any position of the tensor, so a single interval covers all
                // channels.
                images.map(|images| images.into_iter().reduce(Interval::hull).map(ValueRange::tensor))
            }
            (None, Met::Along(_)) => range.try_map(|interval| image(0, interval)).map(Some),
            (Some(count), Met::Along(Some(axis))) => {
                let images = (0..count).map(|channel| image(channel, range.at(axis, channel)));
                let images = images.collect::<Result<Vec<_>, _>>();
                images.map(|images| ValueRange::along(self.dims(result)?, axis, images))
            }
            (Some(_), Met::Along(None)) => Ok(None),
        };
        let images = images.unwrap_or_else(|outside| {
            let value = self.name(result);
            let fault = Fault::OutsideDomain(outside);
            self.findings.push(Finding { value, fault });
            None
        });
        images.unwrap_or_else(|| ValueRange::tensor(Interval::of_type(form.out())))
    }
}

fn clamped(range: &ValueRange, [low, high]: [i32; 2]) -> ValueRange {
    range.map(|i| i.clamped(Interval::between(low, high)))
}

/// The bounds of a constant. If only one of its axes has more than one element, there is one interval for each index
/// along this axis.
fn of_tensor(tensor: &TensorData) -> Option<ValueRange> {
    fn of<T: Element + Ord + Into<i64>>(tensor: &TensorData) -> Option<ValueRange> {
        let shape = &tensor.tensor_type().shape;
        let values = tensor.values::<T>().ok()?;
        let mut long = tensor.shape().iter().enumerate().filter(|(_, extent)| **extent > 1);
        match (long.next(), long.next()) {
            (Some((axis, _)), None) => {
                let points = values.iter().map(|&v| Interval::point(v.into()));
                ValueRange::along(shape, axis, points.collect())
            }
            _ => {
                let (low, high) = ((*values.iter().min()?).into(), (*values.iter().max()?).into());
                Some(ValueRange::tensor(Interval { low, high }))
            }
        }
    }
    for_integers!(tensor.elem(), of(tensor))
}
