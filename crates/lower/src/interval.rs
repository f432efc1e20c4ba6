//! Sound bounds of accumulators: from types, clamps, weights and biases alone, never from calibration data.

use std::collections::BTreeMap;
use strait_core::{Graph, Module, Node, Op, ValueId};
use strait_requantize::Per;

/// An interval of integers, both ends included.
pub type Interval = (i64, i64);

/// Bounds of Σ w·q + b per channel for q in `x`; `weight` holds the codes channel by channel. An element that is padding
/// reads as a code of `x` too, so the border needs no case of its own.
pub fn product_bounds(weight: &[i32], bias: &[i64], x: Interval) -> Vec<Interval> {
    let each = weight.len() / bias.len().max(1);
    bias.iter()
        .enumerate()
        .map(|(c, &b)| {
            weight[c * each..(c + 1) * each].iter().fold((b, b), |(low, high), &w| {
                let (p, q) = (i64::from(w) * x.0, i64::from(w) * x.1);
                (low.saturating_add(p.min(q)), high.saturating_add(p.max(q)))
            })
        })
        .collect()
}

/// Bounds of the values of a lowered graph, computed when asked for.
pub struct Bounds<'a> {
    module: &'a Module,
    graph: &'a Graph,
    known: BTreeMap<ValueId, Per<Interval>>,
}

/// How far back bounds are followed; past it, a value's type bounds it.
const DEPTH: usize = 8;

impl<'a> Bounds<'a> {
    /// Bounds over one graph.
    pub fn new(module: &'a Module, graph: &'a Graph) -> Bounds<'a> {
        Bounds {
            module,
            graph,
            known: BTreeMap::new(),
        }
    }

    /// The interval that every element of a value lies in: per channel where its parameters are.
    /// `None` for a value that is not an integer.
    pub fn of(&mut self, value: ValueId) -> Option<Per<Interval>> {
        self.follow(value, DEPTH)
    }

    fn follow(&mut self, value: ValueId, depth: usize) -> Option<Per<Interval>> {
        if let Some(known) = self.known.get(&value) {
            return Some(known.clone());
        }
        let own = self.graph.value(value)?.ty.elem.int_type()?;
        let whole = (i64::from(own.min()), i64::from(own.max()));
        let found = match self.module.constant(self.graph, value) {
            Some(tensor) => tensor
                .to_i64()
                .ok()
                .and_then(|v| Some((*v.iter().min()?, *v.iter().max()?)))
                .map(Per::Tensor),
            None => match self.graph.producer(value) {
                Some((_, node)) if depth > 0 => self.node(node, depth - 1),
                _ => None,
            },
        };
        let found = found.map(|per| per.map(|&(low, high)| (low.max(whole.0), high.min(whole.1))));
        let found = found.unwrap_or(Per::Tensor(whole));
        self.known.insert(value, found.clone());
        Some(found)
    }

    /// The smallest interval around all channels of operand `index`.
    fn hull(&mut self, node: &Node, index: usize, depth: usize) -> Option<Interval> {
        let value = node.inputs.get(index).copied().flatten()?;
        let all = self.follow(value, depth)?;
        let low = all.values().iter().map(|i| i.0).min()?;
        Some((low, all.values().iter().map(|i| i.1).max()?))
    }

    fn node(&mut self, node: &Node, depth: usize) -> Option<Per<Interval>> {
        let own = match &node.op {
            Op::Conv(conv) => {
                let x = self.hull(node, 0, depth)?;
                let pad = i64::from(conv.pad_value);
                let pads = conv.pad.iter().any(|&p| p > 0);
                self.products(node, if pads { (x.0.min(pad), x.1.max(pad)) } else { x })?
            }
            Op::Gemm(gemm) if gemm.is_canonical() => {
                let x = self.hull(node, 0, depth)?;
                self.products(node, x)?
            }
            Op::MatMul(op) => {
                let (a, b) = (self.hull(node, 0, depth)?, self.hull(node, 1, depth)?);
                let shape = &self.graph.value(node.inputs[0]?)?.ty;
                let inner = i64::try_from(*shape.dims()?.last()?).ok()?;
                let one = product(shift(a, op.a_zero), shift(b, op.b_zero));
                Per::Tensor((one.0.saturating_mul(inner), one.1.saturating_mul(inner)))
            }
            Op::Mul(op) => {
                let (a, b) = (self.hull(node, 0, depth)?, self.hull(node, 1, depth)?);
                Per::Tensor(product(shift(a, op.a_zero), shift(b, op.b_zero)))
            }
            Op::Add(_) => {
                let (a, b) = (self.hull(node, 0, depth)?, self.hull(node, 1, depth)?);
                Per::Tensor((a.0.saturating_add(b.0), a.1.saturating_add(b.1)))
            }
            Op::Sub(_) => {
                let (a, b) = (self.hull(node, 0, depth)?, self.hull(node, 1, depth)?);
                Per::Tensor((a.0.saturating_sub(b.1), a.1.saturating_sub(b.0)))
            }
            Op::ShiftLeft(op) => {
                let x = shift(self.hull(node, 0, depth)?, op.zero);
                Per::Tensor((x.0 << op.bits, x.1 << op.bits))
            }
            Op::SumPool(op) => {
                let x = self.hull(node, 0, depth)?;
                let pad = i64::from(op.pad_value);
                let count: i64 = op.size.iter().map(|&s| i64::from(s)).product();
                Per::Tensor((x.0.min(pad).saturating_mul(count), x.1.max(pad).saturating_mul(count)))
            }
            Op::Reduce(op) => {
                let x = self.hull(node, 0, depth)?;
                let dims = self.graph.value(node.inputs[0]?)?.ty.dims()?;
                let axes = op.reduced(dims.len()).ok()?;
                let count: i64 = axes.iter().map(|&a| dims[a] as i64).product();
                Per::Tensor((x.0.saturating_mul(count), x.1.saturating_mul(count)))
            }
            Op::Clamp(op) => {
                let x = self.hull(node, 0, depth)?;
                let (low, high) = (i64::from(op.min), i64::from(op.max));
                Per::Tensor((x.0.clamp(low, high), x.1.clamp(low, high)))
            }
            Op::Requantize(op) => {
                let value = node.inputs[0]?;
                let mut x = self.follow(value, depth)?;
                // Channels of the form meet those of the value only where both run along one axis.
                if op.form.channels().is_some() && self.channel_axis(value) != Some(op.axis as usize) {
                    x = Per::Tensor(self.hull(node, 0, depth)?);
                }
                requantized(&op.form, &x, None)?
            }
            Op::MaxPool(_) | Op::AveragePool(_) | Op::GlobalAveragePool(_) | Op::Reshape(_) | Op::Transpose(_) => {
                Per::Tensor(self.hull(node, 0, depth)?)
            }
            Op::Lookup(_) => Per::Tensor(self.hull(node, 1, depth)?),
            _ => return None,
        };
        match &node.fused {
            Some(fused) => requantized(&fused.requant, &own, fused.clamp),
            None => Some(own),
        }
    }

    /// The axis of the channels of a sum of products, whose bounds are per channel.
    fn channel_axis(&self, value: ValueId) -> Option<usize> {
        match self.graph.producer(value)?.1.op {
            Op::Conv(_) => Some(1),
            _ => self.graph.value(value)?.ty.shape.len().checked_sub(1),
        }
    }

    fn products(&self, node: &Node, x: Interval) -> Option<Per<Interval>> {
        let weight = self.module.constant(self.graph, node.inputs[1]?)?;
        let channels = *weight.shape().first()? as usize;
        let codes: Vec<i32> = weight.to_i64().ok()?.iter().map(|&w| w as i32).collect();
        let bias = match node.inputs.get(2).copied().flatten() {
            Some(bias) => self.module.constant(self.graph, bias)?.to_i64().ok()?,
            None => vec![0; channels],
        };
        Some(Per::Channel(product_bounds(&codes, &bias, x).into()))
    }
}

fn shift(x: Interval, zero: i32) -> Interval {
    (x.0 - i64::from(zero), x.1 - i64::from(zero))
}

fn product(a: Interval, b: Interval) -> Interval {
    let corners = [a.0, a.1].map(|p| [p.saturating_mul(b.0), p.saturating_mul(b.1)]);
    let all = corners.as_flattened();
    (
        all.iter().copied().min().unwrap_or(0),
        all.iter().copied().max().unwrap_or(0),
    )
}

/// A form does not decrease on its domain, so its ends bound it; outside the domain nothing is said.
fn requantized(
    form: &strait_requantize::Requantization,
    x: &Per<Interval>,
    clamp: Option<[i32; 2]>,
) -> Option<Per<Interval>> {
    let channels = form.channels().or(x.channels()).unwrap_or(1);
    let mut hull: Option<Interval> = None;
    for c in 0..channels {
        let &(low, high) = x.get(c)?;
        let (low, high) = (form.eval(c, low).ok()?, form.eval(c, high).ok()?);
        let (low, high) = match clamp {
            Some([a, b]) => (low.clamp(a, b.max(a)), high.clamp(a, b.max(a))),
            None => (low, high),
        };
        let (low, high) = (i64::from(low), i64::from(high));
        hull = Some(hull.map_or((low, high), |h| (h.0.min(low), h.1.max(high))));
    }
    hull.map(Per::Tensor)
}
