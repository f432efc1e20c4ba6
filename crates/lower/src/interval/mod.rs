//! Sound bounds of accumulators. They are computed only from types, clamps, weights and biases, never from calibration
//! data.

mod reach;

use crate::taps::{Taps, Window};
pub(crate) use reach::Reach;
use strait_core::op::{Conv, Reduction};
use strait_core::shape::window_elements;
use strait_core::{Addend, Channels, Elem, Graph, Module, Node, Op, TensorData, TensorError, ValueId, WeightZero};
use strait_requantize::range::{self, Accumulator, Order, Summands};
use strait_requantize::{IntType, Per, Requantization};
use strait_target::TargetSpec;
use strait_target::spec::{OpRow, Overflow};

/// An interval of integers, both ends included.
pub type Interval = (i64, i64);

/// Returns the interval from the smallest to the largest code of an activation's type. Every code is in it: numbers
/// outside of the calibrated range saturate at the ends of the type.
pub(crate) fn any_code(codes: IntType) -> Interval {
    (codes.min().into(), codes.max().into())
}

/// Returns what has to be proved about the sums of an op that reads activations of type `activation`. If the target's
/// accumulator wraps, only the final sum has to fit. Otherwise every partial sum has to fit, in whatever order the
/// terms are added.
pub(crate) fn accumulator(spec: &TargetSpec, op: &OpRow, activation: IntType) -> Accumulator {
    let row = spec.accumulator.get(&activation.into());
    Accumulator {
        bits: op.accumulator.or(row.map(|row| row.bits)).unwrap_or(32),
        order: match row.map(|row| row.overflow) {
            Some(Overflow::Wrap) => Order::Final,
            Some(Overflow::Saturate | Overflow::Undefined) | None => Order::Any,
        },
    }
}

/// Finds which taps of a convolution can read padding, from the extents of its weights, operand and result. Returns
/// `None` if there is no padding.
pub(crate) fn conv_taps(conv: &Conv, kernel: &[u64], operand: &[u64], result: &[u64]) -> Option<Taps> {
    if conv.pad.iter().all(|&p| p == 0) {
        return None;
    }
    Some(Taps::of(&Window {
        size: kernel.get(2..)?,
        stride: &conv.stride,
        dilation: &conv.dilation,
        pad: &conv.pad,
        operand: operand.get(2..)?,
        positions: result.get(2..)?,
    }))
}

/// Describes the codes that the taps of a convolution can read: any code in `codes`, and the code `code` where a tap
/// lies outside of the operand.
pub(crate) fn input(codes: Interval, taps: Option<&Taps>, code: i32) -> range::Input<'_> {
    range::Input {
        codes,
        zero_point: 0,
        padding: taps.map(|taps| range::Padding {
            code: code.into(),
            taps: &taps.outside,
            interior: taps.interior,
        }),
        any_pattern: false,
    }
}

/// Returns for each channel the interval of the sums Σ w·q + b, with the weights w, the operand's codes q and the bias
/// b. `weight` holds the weights channel by channel, with their zero points subtracted.
pub(crate) fn sums<'a>(
    weight: &'a [i32],
    bias: &'a [i64],
    input: range::Input<'a>,
) -> impl Iterator<Item = range::Products<'a>> {
    let each = weight.len() / bias.len().max(1);
    bias.iter().enumerate().map(move |(c, &bias)| range::Products {
        weights: &weight[c * each..(c + 1) * each],
        bias,
        input,
    })
}

/// Returns the bounds of values that are stored in a type with the range `whole`. A value beyond this range wraps. So
/// if a computed value can lie outside of the range, the stored value can be any number in it.
fn held(found: Option<Reach>, whole: Interval) -> Reach {
    let fits = |&(low, high): &Interval| {
        let held = whole.0 <= low && high <= whole.1;
        held && i64::MIN < low && high < i64::MAX
    };
    let found = found.filter(|reach| reach.bounds().values().iter().all(fits));
    found.unwrap_or_else(|| Reach::tensor(whole))
}

/// Bounds of the values of a lowered graph. The bounds of a value are computed from the bounds of all values that it
/// depends on, from operands to results. So they do not depend on the order in which bounds are requested.
pub struct Bounds<'a> {
    module: &'a Module,
    graph: &'a Graph,
    known: KnownBounds,
}

/// The known bounds of values, by index of the value. They stay valid while nodes are added to the graph.
#[derive(Default)]
pub(crate) struct KnownBounds(Vec<Option<Reach>>);

impl KnownBounds {
    /// Records the interval that contains every element of a value.
    pub(crate) fn set(&mut self, value: ValueId, interval: Interval) {
        self.keep(value, Reach::tensor(interval));
    }

    fn keep(&mut self, value: ValueId, reach: Reach) {
        let all = &mut self.0;
        all.resize(all.len().max(value.index() + 1), None);
        all[value.index()] = Some(reach);
    }
}

impl<'a> Bounds<'a> {
    /// Creates the bounds for a graph without cycles. No bounds are known yet.
    pub fn new(module: &'a Module, graph: &'a Graph) -> Bounds<'a> {
        Bounds::knowing(module, graph, KnownBounds::default())
    }

    /// Creates the bounds for a graph. The bounds in `known` are already known.
    pub(crate) fn knowing(module: &'a Module, graph: &'a Graph, known: KnownBounds) -> Bounds<'a> {
        Bounds { module, graph, known }
    }

    /// The bounds that are known so far.
    pub(crate) fn into_known(self) -> KnownBounds {
        self.known
    }

    /// Returns the interval that contains every element of a value. If the value's parameters differ by channel,
    /// returns one interval for each channel, along [`Bounds::axis`]. Returns `None` if the value is not an integer.
    /// `i64::MIN` as lower end means that there is no lower bound, and `i64::MAX` as upper end that there is no upper
    /// bound.
    pub fn of(&mut self, value: ValueId) -> Option<Per<Interval>> {
        Some(self.reach(value)?.bounds().clone())
    }

    /// Returns the axis for whose indices [`Bounds::of`] gives separate intervals. Returns `None` if there is one
    /// interval for all elements.
    pub fn axis(&mut self, value: ValueId) -> Option<usize> {
        self.reach(value)?.axis()
    }

    /// The bounds of a value, with their axis.
    pub(crate) fn reach(&mut self, value: ValueId) -> Option<Reach> {
        // The values that are still to be computed are in a list: recursion would be too deep for large graphs.
        let mut open = vec![value];
        while let Some(&at) = open.last() {
            let (count, missing) = (open.len(), |v: &ValueId| self.is_open(*v));
            if missing(&at)
                && let Some((_, node)) = self.graph.producer(at)
            {
                open.extend(node.inputs.iter().flatten().copied().filter(missing));
            }
            if open.len() == count {
                open.pop();
                self.settle(at);
            }
        }
        self.look(value)
    }

    /// True if the bounds of the value's operands have to be found first.
    fn is_open(&self, value: ValueId) -> bool {
        let is_integer = |id| self.graph.value(id).is_some_and(|v| v.ty.elem.is_integer());
        self.known.0.get(value.index()).is_none_or(Option::is_none)
            && self.graph.producer(value).is_some()
            && is_integer(value)
    }

    /// Computes the bounds of a value and stores them. The bounds of its operands must be known.
    fn settle(&mut self, value: ValueId) {
        if let Some(found) = self.look(value) {
            self.known.keep(value, found);
        }
    }

    /// Computes the bounds of a value from the known bounds of its operands.
    fn look(&self, value: ValueId) -> Option<Reach> {
        if let Some(Some(known)) = self.known.0.get(value.index()) {
            return Some(known.clone());
        }
        let whole = self.graph.value(value)?.ty.elem.integers()?;
        let ends = |v: Vec<i64>| Some((*v.iter().min()?, *v.iter().max()?));
        let found = match self.module.constant(self.graph, value) {
            Some(tensor) => tensor.to_i64().ok().and_then(ends).map(Reach::tensor),
            None => self.graph.producer(value).and_then(|(_, node)| self.node(node)),
        };
        Some(held(found, whole))
    }

    /// The smallest interval that contains all channels of operand `index`.
    fn hull(&self, node: &Node, index: usize) -> Option<Interval> {
        self.look(node.input(index)?)?.hull()
    }

    /// Finds the bounds of a node's operands.
    fn operands(&mut self, node: &Node) {
        for &value in node.inputs.iter().flatten() {
            if self.graph.producer(value).is_some() {
                self.of(value);
            }
        }
    }

    /// Handles a pool whose parameters differ by position, so that the constant `picks` selects a channel of parameters
    /// for each position. Returns for each channel the interval of the sums of its windows, and the number of elements
    /// in its largest window. Returns `None` if the channel depends on more than the position.
    ///
    /// Take a window of k taps. Let n of them read elements in [l, h], and let the others read the padding value z. The
    /// sum of the window lies in n·[l, h] + (k − n)·z. Both ends of this interval are linear in n, so the smallest and
    /// the largest n of a channel give the channel's bounds.
    pub(crate) fn by_channel(&mut self, node: &Node, picks: ValueId, channels: usize) -> Option<Vec<(Interval, u64)>> {
        let Op::SumPool(op) = &node.op else { return None };
        self.operands(node);
        let (low, high) = self.hull(node, 0)?;
        let dims = |v: ValueId| self.graph.value(v)?.ty.dims();
        let (operand, result) = (dims(node.inputs[0]?)?, dims(*node.outputs.first()?)?);
        let elements = op.elements(operand.get(2..)?, result.get(2..)?)?;
        let by_position = spread(self.module.constant(self.graph, picks)?, &result)?;
        let mut ends: Vec<Option<(u64, u64)>> = vec![None; channels];
        for (&channel, &n) in by_position.iter().zip(&elements) {
            let own = ends.get_mut(usize::try_from(channel).ok()?)?;
            *own = Some(own.map_or((n, n), |(least, most)| (least.min(n), most.max(n))));
        }
        let taps = op.size.iter().try_fold(1i64, |n, &s| n.checked_mul(s.into()))?;
        let sum = |n: i64, code: i64| {
            let padding = (taps - n).checked_mul(op.pad_value.into())?;
            n.checked_mul(code)?.checked_add(padding)
        };
        let bounds = |&own: &Option<(u64, u64)>| {
            // If no position selects a channel, the bounds of this channel do not matter, and the bounds of any window
            // can be used.
            let (least, most) = own.unwrap_or((0, taps.unsigned_abs()));
            let ends = [i64::try_from(least).ok()?, i64::try_from(most).ok()?];
            let all = |code| Some([sum(ends[0], code)?, sum(ends[1], code)?]);
            let (lows, highs) = (all(low)?, all(high)?);
            Some(((lows[0].min(lows[1]), highs[0].max(highs[1])), most))
        };
        ends.iter().map(bounds).collect()
    }

    /// Returns the interval of a node's accumulators before the step that is fused into the node. It lies within the
    /// range of the accumulators' type; if nothing else is known, it is this whole range. Returns `None` if the node
    /// makes no integers.
    pub(crate) fn accumulators(&mut self, node: &Node) -> Option<Reach> {
        let ty = |id: &Option<ValueId>| self.graph.value((*id)?).map(|v| &v.ty);
        let operands: Vec<_> = node.own_inputs().iter().map(ty).collect();
        let made = node.op.infer(&operands).ok()?;
        let whole = made.first()?.elem.integers()?;
        self.operands(node);
        Some(held(self.accumulate(node), whole))
    }

    fn node(&self, node: &Node) -> Option<Reach> {
        let own = self.accumulate(node)?;
        let Some(fused) = &node.fused else {
            return Some(own);
        };
        requantized(&fused.requant, self.form_axis(node), &own, fused.clamp)
    }

    /// Returns the channel axis of the node's requantization form. The form may be fused into the node, or the node may
    /// be a requantization itself. Returns `None` if the form has no channels.
    fn form_axis(&self, node: &Node) -> Option<usize> {
        let result = self.graph.value(*node.outputs.first()?)?;
        match node.channels(result.ty.shape.len()) {
            Some(Channels::Axis(axis)) => Some(axis),
            Some(Channels::Picked(_)) | None => None,
        }
    }

    /// Returns the bounds of a node's accumulators before the step that is fused into the node. The accumulators
    /// include the codes of another tensor, if the node adds them.
    fn accumulate(&self, node: &Node) -> Option<Reach> {
        let made = self.made(node)?;
        let Some((Addend { zero, form }, codes)) = node.addend() else {
            return Some(made);
        };
        let codes = Reach::tensor(shift(self.look(codes)?.hull()?, *zero));
        let added = requantized(form, None, &codes, None)?.hull()?;
        Some(made.map(|&sum| range::add(sum, added)))
    }

    fn made(&self, node: &Node) -> Option<Reach> {
        Some(match &node.op {
            Op::Conv(conv) => {
                let x = self.hull(node, 0)?;
                let dims = |v: Option<ValueId>| self.graph.value(v?)?.ty.dims();
                let (operand, result) = (dims(node.inputs[0])?, dims(node.result())?);
                let taps = conv_taps(conv, &dims(node.inputs[1])?, &operand, &result);
                self.products(node, Some(1), input(x, taps.as_ref(), conv.pad_value))?
            }
            Op::Gemm(gemm) if gemm.is_canonical() => {
                let x = self.hull(node, 0)?;
                self.products(node, None, input(x, None, 0))?
            }
            Op::MatMul(op) => {
                let (a, b) = (self.hull(node, 0)?, self.hull(node, 1)?);
                let shape = &self.graph.value(node.inputs[0]?)?.ty;
                let inner = *shape.dims()?.last()?;
                let pairs = range::Pairs {
                    count: inner,
                    first: (a, op.a_zero.into()),
                    second: (b, op.b_zero.into()),
                    any_pattern: false,
                };
                Reach::tensor(pairs.range().interval())
            }
            Op::Mul(op) => {
                let (a, b) = (self.hull(node, 0)?, self.hull(node, 1)?);
                Reach::tensor(range::multiply(shift(a, op.a_zero), shift(b, op.b_zero)))
            }
            Op::Add(_) => match self.summed_by_channel(node) {
                Some(sums) => sums,
                None => Reach::tensor(range::add(self.hull(node, 0)?, self.hull(node, 1)?)),
            },
            Op::Sub(_) => {
                let (a, b) = (self.hull(node, 0)?, self.hull(node, 1)?);
                Reach::tensor(range::subtract(a, b))
            }
            Op::ShiftLeft(op) => {
                let x = shift(self.hull(node, 0)?, op.zero);
                Reach::tensor(range::multiply(x, (1 << op.bits.min(62), 1 << op.bits.min(62))))
            }
            // Both factors are positive, and each rounding keeps the order, so the ends of the operands give the ends.
            Op::ScaledAdd(op) => {
                let (form, a, b) = (op.form()?, self.hull(node, 0)?, self.hull(node, 1)?);
                let at = |a: i64, b: i64| Some(i64::from(form.eval(i32::try_from(a).ok()?, i32::try_from(b).ok()?)));
                Reach::tensor((at(a.0, b.0)?, at(a.1, b.1)?))
            }
            Op::SumPool(op) => {
                let x = self.hull(node, 0)?;
                let count = window_elements(&op.size);
                let x = if op.pad.iter().any(|&p| p > 0) || op.ceil {
                    around(x, op.pad_value)
                } else {
                    x
                };
                Reach::tensor(range::repeat(x, count))
            }
            Op::Reduce(op) => {
                let x = self.hull(node, 0)?;
                let dims = self.graph.value(node.inputs[0]?)?.ty.dims()?;
                let axes = op.reduced(dims.len()).ok()?;
                Reach::tensor(match op.reduction {
                    Reduction::Sum => range::repeat(x, axes.iter().map(|&a| dims[a]).product()),
                    Reduction::Max | Reduction::Min | Reduction::Mean => x,
                    Reduction::Product => return None,
                })
            }
            Op::Clamp(op) => {
                let x = self.hull(node, 0)?;
                let (low, high) = (i64::from(op.min), i64::from(op.max));
                Reach::tensor((x.0.clamp(low, high), x.1.clamp(low, high)))
            }
            Op::Requantize(op) => requantized(&op.form, self.form_axis(node), &self.look(node.inputs[0]?)?, None)?,
            // The result for an empty window is the smallest code.
            Op::MaxPool(op) => {
                let x = self.hull(node, 0)?;
                let (lowest, _) = self.graph.value(node.inputs[0]?)?.ty.elem.integers()?;
                let empty = may_be_empty(&op.size, &op.pad, &op.dilation, op.ceil);
                Reach::tensor(if empty { (x.0.min(lowest), x.1.max(lowest)) } else { x })
            }
            // Padding that is included in the mean is read as the zero point. The result for an empty window is also
            // the zero point.
            Op::AveragePool(op) => {
                let x = self.hull(node, 0)?;
                let counts = op.count_include_pad && op.pad.iter().any(|&p| p > 0);
                if counts || may_be_empty(&op.size, &op.pad, &op.dilation, op.ceil) {
                    let zero = match &self.graph.value(node.inputs[0]?)?.quant {
                        Some(grid) => grid.as_tensor()?.1,
                        None => 0,
                    };
                    Reach::tensor(around(x, zero))
                } else {
                    Reach::tensor(x)
                }
            }
            Op::GlobalAveragePool(_) | Op::IntegerResize(_) | Op::Reshape(_) | Op::Transpose(_) => {
                Reach::tensor(self.hull(node, 0)?)
            }
            // The results lie between entries of the table, because a straight line lies between its end points.
            Op::Lookup(_) | Op::Interpolate(_) => Reach::tensor(self.hull(node, 1)?),
            Op::IntegerSoftmax(op) => {
                let [low, high] = op.softmax().ok()?.range().map(i64::from);
                Reach::tensor((low, high))
            }
            _ => return None,
        })
    }

    /// The bounds of a sum of two values. One of them must have bounds by channel and the shape of the result.
    fn summed_by_channel(&self, node: &Node) -> Option<Reach> {
        let &[Some(a), Some(b)] = &node.inputs[..] else {
            return None;
        };
        let shape = |value: ValueId| Some(&self.graph.value(value)?.ty.shape);
        let by_channel = |value| self.look(value).filter(|reach| reach.axis().is_some());
        let (channels, own, other) = [(a, b), (b, a)]
            .into_iter()
            .find_map(|(own, other)| Some((by_channel(own)?, own, other)))?;
        let other = self.look(other)?.hull()?;
        let alike = shape(own)? == shape(*node.outputs.first()?)?;
        alike.then(|| channels.map(|&sum| range::add(sum, other)))
    }

    /// Returns the bounds of the accumulators of a product (a node such as `conv`), one interval for each output
    /// channel. The channels lie along `axis`, or along the last axis if `axis` is `None`.
    fn products(&self, node: &Node, axis: Option<usize>, input: range::Input<'_>) -> Option<Reach> {
        let weight = self.module.constant(self.graph, node.inputs[1]?)?;
        let result = &self.graph.value(*node.outputs.first()?)?.ty.shape;
        let axis = axis.or(result.len().checked_sub(1))?;
        let channels = *weight.shape().first()? as usize;
        let weights = less(weight, channels, node.op.weight_zero()).ok()?;
        let mut bias = vec![0; channels];
        let mut added = (0, 0);
        if let Some(value) = node.input(2) {
            let constant = self.module.constant(self.graph, value)?;
            // The bias has one number for each channel, or another shape that broadcasts.
            match constant.shape() {
                [outputs] if *outputs as usize == channels => bias = constant.to_i64().ok()?,
                _ => added = self.look(value)?.hull()?,
            }
        }
        let each = sums(&weights, &bias, input).map(|sum| range::add(sum.range().interval(), added));
        Reach::along(result, axis, each.collect())
    }
}

/// The weights, channel by channel: the codes minus the zero points.
///
/// # Errors
/// The codes are no integers.
pub(crate) fn less(codes: &TensorData, channels: usize, zeros: Option<&WeightZero>) -> Result<Vec<i32>, TensorError> {
    fn of<T: Copy>(codes: &[T], channels: usize, zeros: Option<&WeightZero>, whole: impl Fn(T) -> i32) -> Vec<i32> {
        let each = (codes.len() / channels.max(1)).max(1);
        let mut weights = Vec::with_capacity(codes.len());
        for (channel, codes) in codes.chunks(each).enumerate() {
            let zero = zeros.map_or(0, |zeros| zeros.of(channel));
            weights.extend(codes.iter().map(|&code| whole(code).saturating_sub(zero)));
        }
        weights
    }
    Ok(match codes.elem() {
        Elem::I8 => of(&codes.values::<i8>()?, channels, zeros, i32::from),
        Elem::U8 => of(&codes.values::<u8>()?, channels, zeros, i32::from),
        // Both the code and the zero point have at most 16 bits.
        _ => of(&codes.to_i64()?, channels, zeros, |code| code as i32),
    })
}

/// The smallest interval that contains the intervals of all channels.
pub(crate) fn around_all(all: &Per<Interval>) -> Option<Interval> {
    let low = all.values().iter().map(|i| i.0).min()?;
    Some((low, all.values().iter().map(|i| i.1).max()?))
}

/// Returns, for each position of the shape [N, C, spatial…] in row-major order, the channel that `picks` selects.
/// Returns `None` if the channel differs along N or C.
fn spread(picks: &TensorData, result: &[u64]) -> Option<Vec<i64>> {
    let values = picks.to_i64().ok()?;
    let missing = result.len().checked_sub(picks.shape().len())?;
    let mut positions = vec![0usize];
    for (axis, &extent) in result.iter().enumerate() {
        let own = axis.checked_sub(missing).map_or(1, |axis| picks.shape()[axis]);
        if axis < 2 && own != 1 {
            return None;
        }
        if axis >= 2 {
            let own = usize::try_from(own).ok()?;
            let step = |&at: &usize| (0..extent as usize).map(move |i| at * own + if own == 1 { 0 } else { i });
            positions = positions.iter().flat_map(step).collect();
        }
    }
    positions.into_iter().map(|at| values.get(at).copied()).collect()
}

/// The smallest interval that contains both `x` and `code`.
fn around(x: Interval, code: i32) -> Interval {
    (x.0.min(code.into()), x.1.max(code.into()))
}

/// True if a window may contain no element at all. A window without gaps always contains an element if each padding is
/// narrower than the window.
pub(crate) fn may_be_empty(size: &[u32], pad: &[u32], dilation: &[u32], ceil: bool) -> bool {
    let padded = pad.iter().any(|&p| p > 0);
    let gaps = dilation.iter().any(|&d| d > 1);
    let wide = size.iter().cycle().zip(pad).any(|(&size, &pad)| pad >= size);
    ceil || padded && (gaps || wide)
}

fn shift(x: Interval, zero: i32) -> Interval {
    range::subtract(x, (zero.into(), zero.into()))
}

/// Returns the bounds of a requantized value. Inside its domain, a form never gives a smaller code for a larger
/// operand, so the ends of the operand's interval give the bounds. Returns `None` if one of these ends lies outside of
/// the domain. The form's channels lie along `axis`.
fn requantized(form: &Requantization, axis: Option<usize>, x: &Reach, clamp: Option<[i32; 2]>) -> Option<Reach> {
    // Each channel of the form needs its own interval, so the intervals must lie along the same axis.
    let x = match form.channels() {
        Some(_) => x.only_along(axis)?,
        None => x.clone(),
    };
    let channels = form.channels().or(x.bounds().channels()).unwrap_or(1);
    let mut hull: Option<Interval> = None;
    for c in 0..channels {
        let &(low, high) = x.bounds().get(c)?;
        let (low, high) = (form.eval(c, low).ok()?, form.eval(c, high).ok()?);
        let (low, high) = match clamp {
            Some([a, b]) => (low.clamp(a, b.max(a)), high.clamp(a, b.max(a))),
            None => (low, high),
        };
        let (low, high) = (i64::from(low), i64::from(high));
        hull = Some(hull.map_or((low, high), |h| (h.0.min(low), h.1.max(high))));
    }
    hull.map(Reach::tensor)
}

#[cfg(test)]
mod tests;
