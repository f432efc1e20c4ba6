//! Recognises convolutions on blocks of an image: before the convolution, the blocks are moved into the batch axis, and
//! after it, they are moved back to their places.

use crate::matching::GraphNode;
use crate::view::{Part, View, joined};
use strait_core::{NodeId, Op, Term, ValueId};

/// The largest number of nodes that are searched between an image and the convolution. Exporters do not write longer
/// chains.
pub(crate) const MOST_MOVES: usize = 12;

/// True for ops that only move elements.
pub(crate) fn moves(op: &Op) -> bool {
    matches!(
        op,
        Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) | Op::Transpose(_)
    )
}

/// Gives each entry that has no axis yet one of the axes in `ones`, in their order. These axes have extent 1.
fn fill(axes: &mut [Option<usize>], ones: Vec<usize>) {
    let mut ones = ones.into_iter();
    axes.iter_mut()
        .filter(|axis| axis.is_none())
        .for_each(|axis| *axis = ones.next());
}

/// The image before a convolution on blocks: the batch of the convolution's operand consists of blocks of this image.
pub(crate) struct Image {
    pub(crate) value: ValueId,
    pub(crate) shape: Vec<u64>,
    /// For each axis of the operand, the axis of the image that it comes from. `None` if the axis has an extent of 1
    /// and does not come from an axis of the image.
    pub(crate) axes: Vec<Option<usize>>,
    /// For each spatial axis of the operand, the extent of a block along it.
    pub(crate) sides: Vec<u64>,
    /// For each spatial axis, the part of the batch axis that counts the positions inside a block. `None` if a block
    /// has extent 1 along the axis.
    positions: Vec<Option<Part>>,
    /// The part of the batch axis that is the batch of the image itself.
    batch: Option<Part>,
    /// The nodes between the image and the operand.
    pub(crate) nodes: Vec<NodeId>,
}

impl Image {
    /// Finds the parts of an image from which the axes of an operand come. `value` is the image, `shape` its shape, and
    /// `view` describes the operand's axes. Returns `None` if the batch axis of the operand has no blocks of the image.
    fn new(value: ValueId, shape: &[u64], view: &View, nodes: &[NodeId]) -> Option<Image> {
        let (batch, others) = view.axes.split_first()?;
        let mut axes = vec![None];
        let mut sides = Vec::new();
        for (place, parts) in others.iter().enumerate() {
            let (axis, side) = match **parts {
                [] => (None, 1),
                [part] if part.extent.checked_mul(part.stride) == Some(shape[part.axis]) => {
                    (Some(part.axis), part.stride)
                }
                _ => return None,
            };
            axes.push(axis);
            match place {
                0 if side != 1 => return None,
                0 => {}
                _ => sides.push(side),
            }
        }
        let mut image = Image {
            value,
            shape: shape.to_vec(),
            axes,
            positions: vec![None; sides.len()],
            sides,
            batch: None,
            nodes: nodes.to_vec(),
        };
        let mut stride = 1;
        for part in batch.iter().rev() {
            let place = Some(Part {
                axis: 0,
                stride,
                ..*part
            });
            let spatial = image.axes.iter().skip(2).position(|&axis| axis == Some(part.axis));
            match spatial {
                _ if part.stride != 1 => return None,
                Some(axis) if image.sides[axis] == part.extent => image.positions[axis] = place,
                None if part.extent == shape[part.axis] && image.batch.is_none() => {
                    (image.batch, image.axes[0]) = (place, Some(part.axis));
                }
                _ => return None,
            }
            stride *= part.extent;
        }
        let is_used = |(axis, &extent): (usize, &u64)| {
            extent == 1 || image.axes.iter().filter(|&&own| own == Some(axis)).count() == 1
        };
        let is_whole = shape.iter().enumerate().all(is_used);
        let whole = image
            .sides
            .iter()
            .zip(&image.positions)
            .all(|(&side, place)| (side > 1) == place.is_some());
        let blocks = image.sides.iter().any(|&side| side > 1);
        (is_whole && whole && blocks).then_some(())?;
        let ones = (0..shape.len()).filter(|&axis| shape[axis] == 1);
        fill(&mut image.axes, ones.collect());
        Some(image)
    }

    /// Finds the image from which the blocks in a convolution's operand are made. If the image was padded, this is the
    /// padded image.
    pub(crate) fn in_front(site: &GraphNode<'_>, operand: ValueId) -> Option<Image> {
        let (mut value, mut path) = (operand, Vec::new());
        let mut found = None;
        while path.len() < MOST_MOVES {
            let mover = site.maker(value).filter(|maker| moves(&maker.node.op))?;
            path.push(mover);
            value = mover.input(0)?;
            let shape = site.dims(value)?;
            let mut view = Some(View::of(&shape));
            for node in path.iter().rev() {
                let result = node.output().and_then(|result| node.dims(result));
                view = view.zip(result).and_then(|(view, result)| view.behind(node, &result));
            }
            let nodes: Vec<NodeId> = path.iter().map(|node| node.id).collect();
            let image = view.and_then(|view| Image::new(value, &shape, &view, &nodes));
            let is_padded = site.producer(value, Term::Pad).is_some();
            match image {
                Some(image) if is_padded => return Some(image),
                Some(image) => found = found.or(Some(image)),
                None => {}
            }
            if !site.graph.producer(value).is_some_and(|(_, node)| moves(&node.op)) {
                return found;
            }
        }
        found
    }

    /// Returns, for each axis of `view`, the axis of the convolution's result to which it corresponds after the blocks
    /// were put back in their places. `view` describes a value that was made from the convolution's result by moving
    /// elements. Returns `None` if the blocks are not back in their places.
    pub(crate) fn places(&self, view: &View, result: &[u64]) -> Option<Vec<Option<usize>>> {
        let whole = |axis: usize| Part {
            axis,
            extent: result[axis],
            stride: 1,
        };
        let mut expected = vec![joined(self.batch), joined([whole(1)])];
        for (axis, position) in self.positions.iter().enumerate() {
            expected.push(joined([whole(axis + 2)].into_iter().chain(*position)));
        }
        let place = |parts: &Vec<Part>| match parts.is_empty() {
            true => Some(None),
            false => expected.iter().position(|own| own == parts).map(Some),
        };
        let mut places: Vec<Option<usize>> = view.axes.iter().map(place).collect::<Option<_>>()?;
        let is_there = |(axis, parts): (usize, &Vec<Part>)| parts.is_empty() || places.contains(&Some(axis));
        expected.iter().enumerate().all(is_there).then_some(())?;
        let ones = (0..expected.len()).filter(|&axis| expected[axis].is_empty());
        fill(&mut places, ones.collect());
        Some(places)
    }
}
