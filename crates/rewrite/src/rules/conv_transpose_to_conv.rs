//! **Pattern**: a transposed convolution over one to three axes, with constant weights.
//! **Why**: every target can compute a convolution, and few can compute a transposed one. Take all positions of the result
//! that leave the same remainder r when divided by the stride s. The results at these positions are the results of a
//! convolution, whose kernel consists of every s-th tap of the original kernel, the last tap first. For one axis there are s
//! such convolutions (s·s for two axes, s·s·s for three). The rule merges all of them into one convolution, which has the
//! outputs of all of them as its output channels, and then moves the results from the channels to their positions. If a
//! function of one variable follows the transposed convolution, it is applied before the results are moved, so that, for
//! example, a ReLU becomes part of the convolution. The convolution computes the same products as the transposed
//! convolution. If the stride does not divide the kernel size, it also computes products with zeros. Grids that the model
//! gives are kept.
//! **Preconditions**: the transposed convolution has no dilation, its strides are not longer than its kernel, and all shapes
//! are fixed. No node follows that another rule can still fold into the transposed convolution, such as a batch
//! normalization, a multiplication or an addition.
//! **Exactness**: exact in real numbers. In f32, the products are added in another order.

use super::{
    batch_normalization_into_producer, batch_normalization_spelled_out, bias_into_producer, factors_into_producer,
    scalar_into_producer,
};
use crate::blocks::{MOST_MOVES, moves};
use crate::matching::{GraphNode, is_function};
use crate::miss::{Miss, NoMatch};
use crate::rounding::rounded;
use crate::rule::NodeRule;
use smallvec::SmallVec;
use strait_core::op::{Conv, ConvTranspose, Identity, Reshape, Slice, Transpose};
use strait_core::rule::EVERYWHERE;
use strait_core::{NewNode, Node, NodeId, Op, Patch, QuantParams, Rule, Source, Term, ValueId};
use strait_requantize::Per;

/// The rule that replaces a transposed convolution by a convolution.
pub const RULE: NodeRule = NodeRule {
    name: "conv-transpose-to-conv",
    anchors: || vec![Term::ConvTranspose],
    depth: || EVERYWHERE,
    is_fusion: false,
    look,
};

/// One spatial axis of a transposed convolution, described as a convolution.
#[derive(Clone, Copy)]
struct Axis {
    stride: usize,
    kernel: usize,
    /// The number of taps of each of the `stride` convolutions.
    taps: usize,
    /// The padding before the operand and after it.
    pad: [u32; 2],
    /// The number of positions of the convolution.
    positions: u64,
    /// The first position that belongs to the result, after the results of the convolutions were interleaved.
    first: u64,
}

impl Axis {
    fn new(op: &ConvTranspose, axis: usize, extents: [u64; 2], kernel: u64) -> Option<Axis> {
        let [from, to] = extents;
        let (stride, begin) = (u64::from(op.stride[axis]), u64::from(op.pad[axis]));
        if op.dilation[axis] != 1 || stride == 0 || stride > kernel || from == 0 || to == 0 {
            return None;
        }
        let taps = kernel.div_ceil(stride);
        // Without cropping, the transposed convolution would have more positions in its result. Of these, the rule
        // needs the positions from `begin` to `begin + to - 1`. The convolutions make `stride` positions at a time.
        let (least, most) = (begin / stride, (begin + to - 1) / stride);
        let front = (taps - 1).saturating_sub(least);
        let back = (most + 1).saturating_sub(from);
        let positions = (from + front + back + 1).checked_sub(taps)?;
        Some(Axis {
            stride: usize::try_from(stride).ok()?,
            kernel: usize::try_from(kernel).ok()?,
            taps: usize::try_from(taps).ok()?,
            pad: [u32::try_from(front).ok()?, u32::try_from(back).ok()?],
            positions,
            first: begin.checked_sub(stride * (taps - 1 - front))?,
        })
    }

    /// Returns the tap of the kernel that becomes tap `at` of the convolution for the remainder `rest`. Returns `None`
    /// if tap `at` is zero.
    fn tap(self, rest: usize, at: usize) -> Option<usize> {
        let tap = self.stride * (self.taps - 1 - at) + rest;
        (tap < self.kernel).then_some(tap)
    }
}

/// Describes all spatial axes as axes of a convolution. `None` if the rule does not support one of them.
fn axes(op: &ConvTranspose, x: &[u64], y: &[u64], weight: &[u64]) -> Option<SmallVec<[Axis; 2]>> {
    let spatial = x.len().checked_sub(2).filter(|count| (1..=3).contains(count))?;
    (0..spatial)
        .map(|axis| Axis::new(op, axis, [x[axis + 2], y[axis + 2]], weight[axis + 2]))
        .collect()
}

/// The weights of the convolution. They are ordered by the output of each group, then by the remainder along each axis.
fn phases(weight: &[f64], inputs: usize, per_group: usize, groups: usize, axes: &[Axis]) -> Vec<f64> {
    let product = |size: fn(&Axis) -> usize| axes.iter().map(size).product::<usize>();
    let (rests, taps, kernel) = (product(|a| a.stride), product(|a| a.taps), product(|a| a.kernel));
    let each = inputs / groups.max(1);
    let mut made = Vec::with_capacity(groups * per_group * rests * each * taps);
    for group in 0..groups {
        for output in 0..per_group {
            for rest in 0..rests {
                for input in 0..each {
                    let from = ((group * each + input) * per_group + output) * kernel;
                    made.extend((0..taps).map(|at| {
                        let (mut place, mut rest, mut at, mut size) = (Some(0), rest, at, 1);
                        for axis in axes.iter().rev() {
                            let tap = axis.tap(rest % axis.stride, at % axis.taps);
                            place = place.zip(tap).map(|(place, tap)| place + tap * size);
                            (rest, at, size) = (rest / axis.stride, at / axis.taps, size * axis.kernel);
                        }
                        place
                            .and_then(|place| weight.get(from + place))
                            .copied()
                            .unwrap_or_default()
                    }));
                }
            }
        }
    }
    made
}

/// True if a reader of the result can still be folded into the transposed convolution. Nodes that only move elements
/// may come before this reader.
fn is_read_first(site: &GraphNode<'_>, mut value: ValueId) -> Result<bool, Miss> {
    let folding = [
        batch_normalization_spelled_out::RULE,
        batch_normalization_into_producer::RULE,
        scalar_into_producer::RULE,
        factors_into_producer::RULE,
        bias_into_producer::RULE,
    ];
    for _ in 0..=MOST_MOVES {
        let Some(reader) = site.only_reader(value) else {
            return Ok(false);
        };
        let term = reader.node.op.term();
        for rule in folding.iter().filter(|rule| rule.anchors().contains(&term)) {
            match (rule.look)(&reader) {
                Ok(_) => return Ok(true),
                Err(error @ Miss::Failed(_)) => return Err(error),
                Err(_) => {}
            }
        }
        let passes = moves(&reader.node.op) || matches!(term, Term::Slice | Term::Mul);
        match reader.output().filter(|_| passes) {
            Some(result) => value = result,
            None => return Ok(false),
        }
    }
    Ok(false)
}

/// Repeats a grid along the outputs of a group, or along a bias, if each output becomes `rests` outputs.
fn repeated(grid: &QuantParams, groups: usize, rests: usize) -> QuantParams {
    fn each<T: Copy>(per: &Per<T>, groups: usize, rests: usize) -> Per<T> {
        match per {
            Per::Tensor(value) => Per::Tensor(*value),
            Per::Channel(values) => {
                let one = || values.iter().flat_map(|&value| std::iter::repeat_n(value, rests));
                (0..groups).flat_map(|_| one()).collect()
            }
        }
    }
    QuantParams {
        scale: each(&grid.scale, groups, rests),
        zero_point: each(&grid.zero_point, groups, rests),
        axis: grid.axis.map(|_| 0),
        ..grid.clone()
    }
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (Op::ConvTranspose(op), x, y) = (&site.node.op, site.operand(0)?, site.result()?) else {
        return Err(NoMatch);
    };
    if is_read_first(site, y)? {
        return Err(NoMatch);
    }
    let function = site.only_reader(y).filter(is_function);
    let weight = site.input(1).and_then(|weight| site.exact(weight));
    let (Some((weight, values)), Some(from), Some(to)) = (weight, site.dims(x), site.dims(y)) else {
        return Err(NoMatch);
    };
    let empty = |dims: &[u64]| dims.contains(&0);
    let axes = axes(op, &from, &to, weight.shape());
    let axes = axes
        .filter(|_| !empty(&from) && !empty(&to) && !empty(weight.shape()))
        .ok_or(NoMatch)?;
    let (groups, inputs, per_group) = (op.groups as usize, weight.shape()[0], weight.shape()[1]);
    let rests: usize = axes.iter().map(|axis| axis.stride).product();
    let bias = site.input(2).map(|bias| site.exact(bias).ok_or(NoMatch)).transpose()?;
    let folded = phases(&values, inputs as usize, per_group as usize, groups, &axes);
    let outputs = to[1] * rests as u64;
    let shape: Vec<u64> = [outputs, inputs / groups as u64]
        .into_iter()
        .chain(axes.iter().map(|axis| axis.taps as u64))
        .collect();
    let grid = |value: Option<ValueId>| site.graph.value(value?)?.quant.as_ref();
    let mut patch = Patch::default();
    let mut add = Vec::new();
    // If the model gives a grid, an identity node holds it until the rule for identities removes this node.
    let mut given = |data: Option<Source>, grid: Option<QuantParams>| {
        let Some(grid) = grid else { return data };
        let mut node = NewNode::new(Identity {}, &[data], &[site.id]);
        node.quant.push(Some(grid.into()));
        add.push(node);
        Some(Source::New(add.len() as u16 - 1, 0))
    };
    let own = grid(site.input(1)).map(|grid| repeated(grid, groups, rests));
    let weight = rounded(&mut patch, "weight", &shape, folded)?;
    let mut operands = vec![Some(Source::Old(x)), given(weight, own)];
    if let Some((_, bias)) = bias {
        let numbers = bias.iter().flat_map(|&b| std::iter::repeat_n(b, rests)).collect();
        let bias = rounded(&mut patch, "bias", &[outputs], numbers)?;
        let own = grid(site.input(2)).map(|grid| repeated(grid, 1, rests));
        operands.push(given(bias, own));
    }
    if operands.contains(&None) {
        return Err(NoMatch);
    }
    let pads = |end: usize| axes.iter().map(move |axis| axis.pad[end]);
    let conv = Conv {
        pad: pads(0).chain(pads(1)).collect(),
        groups: op.groups,
        ..Conv::plain(axes.len())
    };
    let with = |op: Op, operands: &[Option<Source>], of: NodeId| {
        let mut node = NewNode::new(op, operands, &[of]);
        let made = site.graph.node(of).and_then(Node::result);
        node.quant.push(grid(made).cloned());
        node
    };
    add.push(with(conv.into(), &operands, site.id));
    let mut then = |op: Op, of: NodeId| {
        let last = Source::New(add.len() as u16 - 1, 0);
        add.push(with(op, &[Some(last)], of));
    };
    if let Some(function) = &function {
        then(function.node.op.clone(), function.id);
    }
    let count = axes.len() as u32;
    if rests > 1 {
        let head = || [to[0] as i64, to[1] as i64].into_iter();
        let apart = axes.iter().map(|axis| axis.stride as i64);
        let apart = apart.chain(axes.iter().map(|axis| axis.positions as i64));
        let shape = head().chain(apart).collect();
        then(Reshape { shape }.into(), site.id);
        // In the permutation, each axis is followed by the axis of its remainders.
        let places = (0..count).flat_map(|axis| [2 + count + axis, 2 + axis]);
        let permutation = [0, 1].into_iter().chain(places).collect();
        then(Transpose { permutation }.into(), site.id);
        let joined = axes.iter().map(|axis| axis.positions as i64 * axis.stride as i64);
        let shape = head().chain(joined).collect();
        then(Reshape { shape }.into(), site.id);
    }
    let made = axes.iter().map(|axis| axis.positions * axis.stride as u64);
    if made.zip(&to[2..]).any(|(made, &wanted)| made != wanted) {
        let starts = axes.iter().map(|axis| axis.first as i64);
        let ends = axes
            .iter()
            .zip(&to[2..])
            .map(|(axis, &extent)| (axis.first + extent) as i64);
        let slice = Slice {
            starts: starts.collect(),
            ends: ends.collect(),
            axes: (2..2 + i64::from(count)).collect(),
            steps: axes.iter().map(|_| 1).collect(),
        };
        then(slice.into(), site.id);
    }
    let result = Source::New(add.len() as u16 - 1, 0);
    let last = function.as_ref().unwrap_or(site);
    Ok(Patch {
        add,
        replace: vec![(last.result()?, result)],
        remove: function.iter().chain([site]).map(|node| node.id).collect(),
        ..patch
    })
}
