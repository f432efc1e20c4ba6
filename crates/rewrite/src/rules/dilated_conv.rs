//! **Pattern**: a pad, reshapes and transposes move blocks of an image into the batch axis, a conv is computed on the
//! blocks, and further nodes put its results back in their places and crop them. Functions of one variable may follow the
//! conv.
//! **Why**: TensorFlow and Keras write a dilated convolution in this way (SpaceToBatchND, Conv2D, BatchToSpaceND). A single
//! dilated convolution moves no elements, pads at no cost, and also runs on targets that do not support batches.
//! **Preconditions**: all shapes are fixed. The convolution has stride 1 along each axis that is cut into blocks. The nodes
//! between the image and the convolution have no other readers. If the crop removes more than the pad added, it remains as a
//! separate slice after the dilated convolution.
//! **Exactness**: exact, because the same products are added.

use crate::blocks::{Image, MOST_MOVES, moves};
use crate::matching::{GraphNode, is_function};
use crate::miss::{Miss, NoMatch};
use crate::permute::is_identity;
use crate::rule::NodeRule;
use crate::view::View;
use smallvec::SmallVec;
use strait_core::op::{Conv, PadMode, Reshape, Transpose};
use strait_core::{NewNode, NodeId, Op, Patch, Reason, ReasonCode, Source, Term, ValueId, refused};

/// The rule that recognises a dilated convolution written as a convolution on blocks in the batch.
pub const RULE: NodeRule = NodeRule {
    name: "dilated-conv",
    anchors: || vec![Term::Conv, Term::Reshape, Term::Transpose, Term::Slice],
    depth: || MOST_MOVES + 2,
    is_fusion: true,
    look,
};

/// The value in which the blocks are back in their places, and the nodes that lead to it.
struct Back {
    value: ValueId,
    places: Vec<Option<usize>>,
    /// The functions of one variable between the convolution and `value`.
    functions: Vec<NodeId>,
    /// All nodes between the convolution and `value`, the last one first.
    nodes: Vec<NodeId>,
}

impl Back {
    /// Finds the value in which the blocks are back in their places. This value comes after the convolution and before
    /// the crop, if there is one. If no node reads the convolution's result, the rule does not match.
    fn behind(site: &GraphNode<'_>, image: &Image, result: ValueId) -> Result<Back, Miss> {
        let text = "its results are not put back in the places of what they are from";
        let other = || Miss::from(Reason::new(ReasonCode::BlockOrder, text));
        let dims = site.dims(result).ok_or_else(other)?;
        let (mut value, mut view) = (result, View::of(&dims));
        let (mut functions, mut nodes) = (Vec::new(), Vec::new());
        let mut found: Option<Back> = None;
        while nodes.len() < MOST_MOVES {
            let reader = site.only_reader(value);
            let Some(node) = reader.filter(|reader| reader.input(0) == Some(value)) else {
                let is_output = site.graph.is_output(value);
                return match found {
                    _ if !is_output && site.graph.uses(value).next().is_none() => Err(NoMatch),
                    Some(found) => Ok(found),
                    None if is_output || site.graph.uses(value).count() > 1 => {
                        let text = "a result for blocks is used elsewhere too";
                        refused(ReasonCode::SeveralUses, text)
                    }
                    None => Err(other()),
                };
            };
            let Some(made) = node.output() else { break };
            if is_function(&node) {
                functions.push(node.id);
            } else {
                match node.dims(made).and_then(|shape| view.behind(&node, &shape)) {
                    Some(next) => view = next,
                    None => break,
                }
            }
            nodes.insert(0, node.id);
            value = made;
            if let Some(places) = image.places(&view, &dims) {
                let back = Back {
                    value,
                    places,
                    functions: functions.clone(),
                    nodes: nodes.clone(),
                };
                if crop(site, value).is_some() {
                    return Ok(back);
                }
                found = found.or(Some(back));
            }
        }
        found.ok_or_else(other)
    }
}

/// If the only reader of a value is a slice with step 1, returns the slice, its result, and the number of positions
/// that the slice cuts off at the start and at the end of each axis. Otherwise returns `None`.
fn crop(site: &GraphNode<'_>, value: ValueId) -> Option<(NodeId, ValueId, Vec<[u64; 2]>)> {
    let reader = site.only_reader(value)?;
    let (Op::Slice(slice), 1) = (&reader.node.op, reader.node.inputs.len()) else {
        return None;
    };
    let shape = &site.graph.value(value)?.ty.shape;
    let mut cut = vec![[0, 0]; shape.len()];
    for (axis, start, step, count) in slice.spans(shape).ok()? {
        let extent = shape[axis].fixed()?;
        cut[axis] = [start, extent.checked_sub(start.checked_add(count)?)?];
        (step == 1).then_some(())?;
    }
    Some((reader.id, reader.output()?, cut))
}

/// Finds the pad node that padded the image with zeros. Returns this node, the value before it, and the padding at the
/// start and at the end of each spatial axis of the convolution. Returns `None` if there is no such node, or if this
/// node also padded other axes.
fn padding(site: &GraphNode<'_>, image: &Image) -> Option<(NodeId, ValueId, Vec<[u64; 2]>)> {
    let producer = site.producer(image.value, Term::Pad)?;
    let (Op::Pad(pad), Some(source), 1) = (&producer.node.op, producer.input(0), producer.node.inputs.len()) else {
        return None;
    };
    let rank = image.shape.len();
    let amount = |at: usize| pad.amounts.get(at).and_then(|&amount| u64::try_from(amount).ok());
    let spatial = image.axes.get(2..)?;
    let outer = (0..rank).filter(|&axis| !spatial.contains(&Some(axis)));
    let nothing = outer
        .flat_map(|axis| [axis, axis + rank])
        .all(|at| amount(at) == Some(0));
    (nothing && pad.mode == PadMode::Constant && pad.value == 0.0).then_some(())?;
    let of = |axis: &Option<usize>| match *axis {
        Some(axis) => Some([amount(axis)?, amount(axis + rank)?]),
        None => Some([0, 0]),
    };
    Some((producer.id, source, spatial.iter().map(of).collect::<Option<_>>()?))
}

/// The dilated convolution on an image with the given padding and cropping. `None` if more is cropped than padded.
fn dilated(conv: &Conv, image: &Image, padded: &[[u64; 2]], cropped: &[[u64; 2]]) -> Option<Conv> {
    let count = image.sides.len();
    let mut dilated = conv.clone();
    for (axis, &side) in image.sides.iter().enumerate() {
        for end in 0..2 {
            let own = &mut dilated.pad[axis + end * count];
            let pad = u64::from(*own).checked_mul(side)?.checked_add(padded[axis][end])?;
            *own = u32::try_from(pad.checked_sub(cropped[axis][end])?).ok()?;
        }
        dilated.dilation[axis] = u32::try_from(u64::from(dilated.dilation[axis]).checked_mul(side)?).ok()?;
    }
    Some(dilated)
}

/// The permutation in which the given axes come first, in their order, followed by all other axes.
fn first(axes: impl Iterator<Item = usize>, rank: usize) -> SmallVec<[u32; 4]> {
    let mut order: SmallVec<[u32; 4]> = axes.map(|axis| axis as u32).collect();
    let others = (0..rank as u32).filter(|axis| !order.contains(axis));
    let others: Vec<u32> = others.collect();
    order.extend(others);
    order
}

/// A chain of nodes of a patch. Each node reads the one before it.
struct Chain {
    add: Vec<NewNode>,
    last: Source,
    shape: Vec<u64>,
}

impl Chain {
    fn then(&mut self, op: impl Into<Op>, operands: &[Option<Source>], origins: &[NodeId]) {
        self.add.push(NewNode::new(op, operands, origins));
        self.last = Source::New(self.add.len() as u16 - 1, 0);
    }

    /// Permutes axes, then adds or removes axes of extent 1.
    fn as_shape(&mut self, permutation: SmallVec<[u32; 4]>, shape: &[u64], origins: &[NodeId]) {
        if !is_identity(&permutation) {
            self.shape = permutation.iter().map(|&axis| self.shape[axis as usize]).collect();
            self.then(Transpose { permutation }, &[Some(self.last)], origins);
        }
        if self.shape != shape {
            self.shape = shape.to_vec();
            let shape = shape.iter().map(|&extent| extent as i64).collect();
            self.then(Reshape { shape }, &[Some(self.last)], origins);
        }
    }
}

/// Finds the convolution near the node at which the rule started. Either it is this node itself, or there are only
/// nodes that move elements between this node and the convolution.
fn convolution<'a>(site: &GraphNode<'a>) -> Option<GraphNode<'a>> {
    let is_conv = |node: &GraphNode<'_>| matches!(node.node.op, Op::Conv(_));
    let mut above = *site;
    for _ in 0..MOST_MOVES {
        if is_conv(&above) {
            return Some(above);
        }
        above = site.maker(above.input(0)?)?;
        if !(moves(&above.node.op) || is_function(&above) || is_conv(&above)) {
            break;
        }
    }
    let mut below = *site;
    for _ in 0..MOST_MOVES {
        below = site.only_reader(below.output()?)?;
        if is_conv(&below) {
            return Some(below);
        }
        moves(&below.node.op).then_some(())?;
    }
    None
}

fn look(anchor: &GraphNode<'_>) -> Result<Patch, Miss> {
    let site = convolution(anchor).ok_or(NoMatch)?;
    match rewritten(&site) {
        // The reason is reported only at the convolution, and not at nodes around it that only move elements.
        Err(Miss::Refused(_)) if site.id != anchor.id => Err(NoMatch),
        outcome => outcome,
    }
}

fn rewritten(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let Op::Conv(conv) = &site.node.op else {
        return Err(NoMatch);
    };
    let image = Image::in_front(site, site.operand(0)?).ok_or(NoMatch)?;
    let steps = |(&side, &stride): (&u64, &u32)| side > 1 && stride != 1;
    if image.sides.iter().zip(&conv.stride).any(steps) {
        let text = "it steps by more than one position of a block, which no dilated convolution does";
        return refused(ReasonCode::BlockStride, text);
    }
    let back = Back::behind(site, &image, site.result()?)?;
    patch(site, conv, &image, &back).ok_or(NoMatch)
}

fn patch(site: &GraphNode<'_>, conv: &Conv, image: &Image, back: &Back) -> Option<Patch> {
    let spatial = image.sides.len();
    let none = vec![[0, 0]; spatial];
    // The numbers of positions that are cropped from the spatial axes. Other axes must not be cropped.
    let cropped = crop(site, back.value).and_then(|(id, result, cut)| {
        let mut cropped = none.clone();
        for (place, amounts) in back.places.iter().zip(cut).filter(|(_, amounts)| *amounts != [0, 0]) {
            *cropped.get_mut((*place)?.checked_sub(2)?)? = amounts;
        }
        Some((id, result, cropped))
    });
    let padded = padding(site, image);
    let pads = padded.as_ref().map_or(&none, |(_, _, pads)| pads);
    let with_crop = cropped.and_then(|(id, result, cropped)| Some((id, result, dilated(conv, image, pads, &cropped)?)));
    let mut behind = back.nodes.clone();
    let (replaced, conv) = match with_crop {
        Some((id, result, conv)) => {
            behind.insert(0, id);
            (result, conv)
        }
        None => (back.value, dilated(conv, image, pads, &none)?),
    };
    let mut front = image.nodes.clone();
    let image_value = padded.as_ref().map_or(image.value, |&(id, source, _)| {
        front.push(id);
        source
    });
    let shape = site.dims(image_value)?;
    let extent = |axis: &Option<usize>| axis.map_or(1, |axis| shape[axis]);
    let operand: Vec<u64> = image.axes.iter().map(extent).collect();
    let mut chain = Chain {
        add: Vec::new(),
        last: Source::Old(image_value),
        shape: shape.clone(),
    };
    chain.as_shape(
        first(image.axes.iter().flatten().copied(), shape.len()),
        &operand,
        &front,
    );
    let around = front.iter().chain(&back.nodes);
    let origins: Vec<NodeId> = std::iter::once(&site.id).chain(around).copied().collect();
    let operands = site.operands_with(chain.last);
    chain.then(conv, &operands, &origins);
    // The new nodes get the grids that the model gives for the old values.
    let grid = |id: NodeId| site.graph.value(*site.graph.node(id)?.outputs.first()?)?.quant.clone();
    let keep = |chain: &mut Chain, id: NodeId| {
        if let (Some(node), Some(grid)) = (chain.add.last_mut(), grid(id)) {
            node.quant.push(Some(grid));
        }
    };
    keep(&mut chain, site.id);
    for &id in &back.functions {
        let operand = Some(chain.last);
        chain.then(site.graph.node(id)?.op.clone(), &[operand], &[id]);
        keep(&mut chain, id);
    }
    let made = site.dims(replaced)?;
    chain.shape = vec![1; spatial + 2];
    for (place, &extent) in back.places.iter().zip(&made) {
        if let Some(axis) = *place {
            chain.shape[axis] = extent;
        }
    }
    chain.as_shape(
        first(back.places.iter().flatten().copied(), spatial + 2),
        &made,
        &behind,
    );
    // Removing the old nodes frees the names of their results. But if the model gives a grid for the result of the
    // convolution or of a function, only the last node is removed here, so that no value loses its grid. Another rule
    // then removes the other nodes, which are dead.
    let mut remove = behind;
    let mut computing = std::iter::once(&site.id).chain(&back.functions);
    match computing.any(|&id| grid(id).is_some()) {
        true => remove.truncate(1),
        false => remove.push(site.id),
    }
    Some(Patch {
        add: chain.add,
        replace: vec![(replaced, chain.last)],
        remove,
        ..Patch::default()
    })
}
