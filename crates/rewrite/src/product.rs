//! Finds the layer with constant weights before a value, and folds an affine map of its channels into it.
//!
//! A layer here is a conv, a transposed conv or a gemm; the code calls it `product`. Nodes that only move elements may
//! be between the layer and the value. If a map treats all elements of a channel alike, it can be computed before these
//! nodes: f(move(x)) = move(f(x)). The moving nodes then follow the layer.

mod channels;

use crate::blocks::{MOST_MOVES, moves};
use crate::matching::{GraphNode, push};
use crate::miss::Miss;
use crate::rounding::rounded;
use crate::view::View;
use channels::Channels;
use std::borrow::Cow;
use strait_core::{NewNode, NodeId, Op, Patch, ReasonCode, Source, ValueId, refused};

/// At most this many nodes between a layer and a value are skipped. The limit counts nodes that only move elements, and
/// nodes that apply an affine map to each channel.
pub(crate) const MOST_MAPS: usize = 2 * MOST_MOVES;

/// The largest number of branches of a concat that are searched.
pub(crate) const MOST_BRANCHES: usize = 1024;

/// The largest distance, in nodes, at which a rule finds a layer (a conv, a transposed conv or a gemm) before an
/// operand.
pub(crate) const DEPTH: usize = MOST_MOVES + 2;

/// For each channel of a layer's result x, the factor and the summand of y = factor·x + summand.
pub(crate) type Affine = Vec<(f64, f64)>;

/// A node before a value, and the nodes between them, which only move elements.
pub(crate) struct InFront<'a> {
    pub(crate) node: GraphNode<'a>,
    /// The nodes that only move elements, the last one first.
    moves: Vec<GraphNode<'a>>,
    /// The axes of the node's result that the axes of the value come from.
    view: View,
    /// The axis of the node's result along which the channels lie. `channels` is their number.
    pub(crate) axis: usize,
    pub(crate) channels: usize,
    /// True if another node also reads the value, or one of the values between it and the node.
    pub(crate) is_shared: bool,
}

/// The axis of the result along which the channels of a layer (a conv, a transposed conv or a gemm) lie.
fn channel_axis(product: &GraphNode<'_>) -> Option<usize> {
    match &product.node.op {
        Op::Conv(_) | Op::ConvTranspose(_) => Some(1),
        // If beta is not 1, it would also scale the summand, which is added to the bias.
        Op::Gemm(gemm) if gemm.beta == 1.0 => {
            let result = product.graph.value(product.output()?)?;
            result.ty.shape.len().checked_sub(1)
        }
        _ => None,
    }
}

/// The axis along which the channels of a batch normalization lie.
fn normalized_axis(node: &GraphNode<'_>) -> Option<usize> {
    matches!(node.node.op, Op::BatchNormalization(_)).then_some(1)
}

/// The axis along which a concat joins.
fn joined_axis(concat: &GraphNode<'_>) -> Option<usize> {
    match &concat.node.op {
        Op::Concat(concat) => usize::try_from(concat.axis).ok(),
        _ => None,
    }
}

/// True if there is a layer (a conv, a transposed conv or a gemm) before a value, and all nodes between them move
/// elements or apply an affine map to each channel. These maps will be folded into the layer one after the other. Until
/// then, rules do not change such a value, so that the order in which rules run does not matter.
pub(crate) fn is_taken(site: &GraphNode<'_>, mut value: ValueId) -> bool {
    let is_constant = |value| numbers(site, value).is_some_and(|(shape, _)| is_list(&shape));
    for _ in 0..MOST_MAPS {
        let Some(node) = site.maker(value) else {
            return false;
        };
        if channel_axis(&node).is_some() {
            return true;
        }
        let operand = match &node.node.op {
            Op::Add(_) | Op::Mul(_) => {
                let mut orders = node.both_orders().into_iter();
                orders.find(|&(_, constant)| is_constant(constant)).map(|(x, _)| x)
            }
            op if moves(op) || matches!(op, Op::Slice(_) | Op::BatchNormalization(_)) => node.input(0),
            _ => None,
        };
        match operand {
            Some(operand) => value = operand,
            None => return false,
        }
    }
    false
}

/// True if at most one axis of a shape is longer than 1.
fn is_list(shape: &[u64]) -> bool {
    shape.iter().filter(|&&extent| extent != 1).count() <= 1
}

/// Returns the shape and the elements of a constant value. Nodes that only move elements may have made the value from a
/// constant, if at most one axis of the value is longer than 1: the order of the elements is then the same.
pub(crate) fn numbers<'a>(site: &GraphNode<'a>, value: ValueId) -> Option<(Vec<u64>, Cow<'a, [f32]>)> {
    let (shape, root) = root(site, value)?;
    Some((shape, site.floats(root)?.1))
}

/// Returns the shape of a value, and the constant from which nodes that only move elements have made the value. If
/// there are no such nodes, this is the value itself. Returns `None` if the value does not come from a constant.
fn root(site: &GraphNode<'_>, value: ValueId) -> Option<(Vec<u64>, ValueId)> {
    let shape = site.dims(value)?;
    let mut root = value;
    for _ in 0..MOST_MOVES {
        if site.floats(root).is_some() {
            return Some((shape, root));
        }
        let mover = site
            .maker(root)
            .filter(|maker| moves(&maker.node.op) && is_list(&shape))?;
        root = mover.input(0)?;
    }
    None
}

/// Returns the view after a node that only moves elements. The view does not say which positions a slice has cut off.
/// This is not needed, because the affine map of a channel is the same at all positions.
fn behind(view: &View, node: &GraphNode<'_>) -> Option<View> {
    let shape = node.dims(node.output()?)?;
    match &node.node.op {
        Op::Slice(_) => Some(view.cut(&node.dims(node.input(0)?)?, &shape)),
        _ => view.behind(node, &shape),
    }
}

impl<'a> InFront<'a> {
    /// The layer (a conv, a transposed conv or a gemm) before a value.
    pub(crate) fn product(site: &GraphNode<'a>, value: ValueId) -> Option<InFront<'a>> {
        InFront::find(site, value, channel_axis)
    }

    /// The concat before a value. The axis along which it joins counts as the axis of its channels.
    pub(crate) fn concat(site: &GraphNode<'a>, value: ValueId) -> Option<InFront<'a>> {
        InFront::find(site, value, joined_axis)
    }

    /// The batch normalization before a value.
    pub(crate) fn normalization(site: &GraphNode<'a>, value: ValueId) -> Option<InFront<'a>> {
        InFront::find(site, value, normalized_axis)
    }

    fn find(site: &GraphNode<'a>, value: ValueId, axis: fn(&GraphNode<'_>) -> Option<usize>) -> Option<InFront<'a>> {
        let (mut moved, mut path) = (value, Vec::new());
        let mut is_shared = false;
        let (node, axis) = loop {
            let node = site.maker(moved)?;
            is_shared |= !site.used_once(moved);
            if let Some(axis) = axis(&node) {
                break (node, axis);
            }
            let is_move = moves(&node.node.op) || matches!(node.node.op, Op::Slice(_));
            if !is_move || node.node.inputs.len() != 1 || path.len() == MOST_MOVES {
                return None;
            }
            moved = node.input(0)?;
            path.push(node);
        };
        // If there are no moves, unknown extents do not matter, except for the extent of the channels.
        let shape: Vec<u64> = if path.is_empty() {
            let shape = &site.graph.value(moved)?.ty.shape;
            shape.iter().map(|extent| extent.fixed().unwrap_or(u64::MAX)).collect()
        } else {
            site.dims(moved)?
        };
        let mut view = View::of(&shape);
        for node in path.iter().rev() {
            view = behind(&view, node)?;
        }
        Some(InFront {
            node,
            moves: path,
            view,
            axis,
            channels: usize::try_from(*shape.get(axis)?).ok()?,
            is_shared,
        })
    }

    /// Returns, for each channel, the index of its number in a list of `count` numbers that lie along an axis of the value.
    /// Returns `None` if this axis has anything other than channels along it.
    fn places(&self, axis: usize, count: usize) -> Option<impl Iterator<Item = usize> + use<>> {
        let (stride, extent) = match self.view.axes.get(axis)?[..] {
            [] => (1, 1),
            [part] if part.axis == self.axis => (part.stride, part.extent),
            _ => return None,
        };
        let fits = extent == count as u64 && (extent > 1 || self.channels == 1);
        let stride = usize::try_from(stride).ok().filter(|_| fits)?;
        Some((0..self.channels).map(move |channel| channel / stride % count))
    }

    /// For each channel, the element of `given` that belongs to it. The elements of `given` lie along axis `axis` of
    /// the value.
    pub(crate) fn spread<T: Copy>(&self, axis: usize, given: &[T]) -> Option<Vec<T>> {
        self.places(axis, given.len())?
            .map(|place| given.get(place).copied())
            .collect()
    }

    /// Returns, for each channel, the element of a constant that is combined with the value `x`. The constant must have
    /// a single element, or its elements must lie along an axis that is a part of the channels. Otherwise the result is
    /// `None`.
    pub(crate) fn constant(&self, site: &GraphNode<'_>, x: ValueId, constant: ValueId) -> Option<Vec<f64>> {
        let (shape, root) = root(site, constant)?;
        site.keeps_type(x).then_some(())?;
        let (_, values) = site.exact(root)?;
        if let [value] = *values {
            return Some(vec![value; self.channels]);
        }
        let missing = self.view.axes.len().checked_sub(shape.len())?;
        let axis = shape.iter().position(|&extent| extent != 1)?;
        self.spread(axis + missing, &values).filter(|_| is_list(&shape))
    }

    /// Adds copies of the moving nodes (nodes that only move elements) to a patch, after its last node. The copies
    /// replace the old moving nodes and the nodes `at`, whose result is `y`.
    pub(crate) fn moved(&self, patch: &mut Patch, at: &[NodeId], y: ValueId) {
        let mut last = Source::New(patch.add.len() as u16 - 1, 0);
        for node in self.moves.iter().rev() {
            last = push(patch, NewNode::new(node.node.op.clone(), &[Some(last)], &[node.id]));
        }
        patch.replace.push((y, last));
        patch.remove.extend(at);
        patch.remove.extend(self.moves.iter().map(|node| node.id));
    }

    /// Makes the patch that folds an affine map of the channels into the layer. The patch changes the weights only if
    /// there are factors, and the bias only if there are factors or summands. `at` are the nodes that compute the map,
    /// the last one first. Their result is `y`.
    ///
    /// For weights w and bias b of a channel with factor f and summand s, where a missing bias is 0: w' = f·w and b' =
    /// f·b + s. Both are computed in f64 and rounded to f32 once. If w and b already come from such a map, their values
    /// before rounding are used.
    pub(crate) fn folded(&self, affine: &Affine, at: &[NodeId], y: ValueId) -> Result<Patch, Miss> {
        let product = &self.node;
        if self.is_shared {
            return refused(ReasonCode::SeveralUses, "its operand is used elsewhere too");
        }
        let is_given = |node: &GraphNode<'_>| {
            let result = node.output().and_then(|result| node.graph.value(result));
            result.is_some_and(|result| result.quant.is_some())
        };
        if !self.moves.is_empty() && self.moves.iter().chain([product]).any(is_given) {
            let text = "the model gives grids for what is moved between it and the product";
            return refused(ReasonCode::GivenGrid, text);
        }
        let not_finite = "a folded weight or bias is not finite";
        let mut patch = Patch::default();
        let mut operands: Vec<Option<Source>> = (0..2).map(|index| product.input(index).map(Source::Old)).collect();
        if affine.iter().any(|&(factor, _)| factor != 1.0) {
            let weight = product.input(1).and_then(|weight| product.exact(weight));
            let is_canonical = !matches!(&product.node.op, Op::Gemm(gemm) if !gemm.is_canonical());
            let weight = weight.filter(|(weight, _)| {
                is_canonical && Channels::new(&product.node.op, weight.shape()).count() == affine.len()
            });
            let Some((weight, numbers)) = weight else {
                return refused(ReasonCode::NotConstant, "the weights of its producer are not constants");
            };
            let channels = Channels::new(&product.node.op, weight.shape());
            let scaled = |(i, &w): (usize, &f64)| w * affine[channels.of(i)].0;
            let numbers = numbers.iter().enumerate().map(scaled).collect();
            operands[1] = rounded(&mut patch, "weight", weight.shape(), numbers)?;
            if operands[1].is_none() {
                return refused(ReasonCode::NotFinite, not_finite);
            }
        }
        let own = match product.input(2) {
            None => None,
            Some(bias) => match product.per_last_axis(bias, affine.len()) {
                None => {
                    return refused(ReasonCode::Bias, "there is a bias that is no constant per channel");
                }
                own => own,
            },
        };
        if own.is_some() || affine.iter().any(|&(_, summand)| summand != 0.0) {
            let bias = |(channel, &(factor, summand)): (usize, &(f64, f64))| {
                own.as_ref().map_or(0.0, |own| own[channel]) * factor + summand
            };
            let bias = affine.iter().enumerate().map(bias).collect();
            match rounded(&mut patch, "bias", &[affine.len() as u64], bias)? {
                None => return refused(ReasonCode::NotFinite, not_finite),
                bias => operands.push(bias),
            }
        }
        let origins: Vec<NodeId> = [product.id].iter().chain(at).copied().collect();
        push(&mut patch, NewNode::new(product.node.op.clone(), &operands, &origins));
        self.moved(&mut patch, at, y);
        patch.remove.push(product.id);
        Ok(patch)
    }
}
