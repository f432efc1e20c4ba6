//! Describes values whose elements were moved by transposes and reshapes. For each axis of such a value, a view lists
//! the parts of the original value's axes from which this axis was made.

use crate::matching::GraphNode;
use strait_core::Op;

/// A part of an axis of the original value: `extent` positions along this axis, with a distance of `stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) axis: usize,
    pub(crate) extent: u64,
    pub(crate) stride: u64,
}

/// For each axis of a value, the parts that it consists of, the slowest-varying first. An axis of extent 1 has no
/// parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) axes: Vec<Vec<Part>>,
}

/// Appends a part to an axis. If the part continues the last part on the same axis of the original value, the two parts
/// are merged.
fn append(axis: &mut Vec<Part>, part: Part) {
    match axis.last_mut() {
        _ if part.extent == 1 => {}
        Some(last) if last.axis == part.axis && Some(last.stride) == part.stride.checked_mul(part.extent) => {
            last.extent *= part.extent;
            last.stride = part.stride;
        }
        _ => axis.push(part),
    }
}

/// Joins parts to one list. Parts of extent 1 are left out, and parts that continue each other are merged.
pub(crate) fn joined(parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
    let mut list = Vec::new();
    parts.into_iter().for_each(|part| append(&mut list, part));
    list
}

impl View {
    /// The view of an original value with the extents `shape`, before anything was moved.
    pub(crate) fn of(shape: &[u64]) -> View {
        let whole = |(axis, &extent): (usize, &u64)| {
            joined([Part {
                axis,
                extent,
                stride: 1,
            }])
        };
        View {
            axes: shape.iter().enumerate().map(whole).collect(),
        }
    }

    /// Returns the view after a node that only moves elements and whose result has the extents `shape`. Returns `None`
    /// for other nodes, and if the node splits an axis in such a way that a part would not have a whole number of
    /// positions.
    pub(crate) fn behind(&self, site: &GraphNode<'_>, shape: &[u64]) -> Option<View> {
        match &site.node.op {
            Op::Transpose(transpose) => {
                let axis = |&axis: &u32| self.axes.get(axis as usize).cloned();
                let axes = transpose.permutation.iter().map(axis).collect::<Option<_>>()?;
                Some(View { axes })
            }
            Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => self.reshaped(shape),
            _ => None,
        }
    }

    /// The view after a slice from the shape `from` to the shape `to`. If an axis is cut, it no longer counts as an
    /// axis of the original value.
    pub(crate) fn cut(&self, from: &[u64], to: &[u64]) -> View {
        let axis = |(axis, parts): (usize, &Vec<Part>)| match (from.get(axis), to.get(axis)) {
            (Some(from), Some(to)) if from == to => parts.clone(),
            (_, to) => joined([Part {
                axis: usize::MAX,
                extent: to.copied().unwrap_or(1),
                stride: 1,
            }]),
        };
        View {
            axes: self.axes.iter().enumerate().map(axis).collect(),
        }
    }

    fn reshaped(&self, shape: &[u64]) -> Option<View> {
        let mut rest = self.axes.iter().flatten().copied();
        let mut open: Option<Part> = None;
        let mut axes = Vec::with_capacity(shape.len());
        for &extent in shape {
            let (mut axis, mut left) = (Vec::new(), extent);
            while left > 1 {
                let part = open.take().or_else(|| rest.next())?;
                if left.is_multiple_of(part.extent) {
                    append(&mut axis, part);
                    left /= part.extent;
                } else {
                    let behind = part
                        .extent
                        .checked_div(left)
                        .filter(|_| part.extent.is_multiple_of(left))?;
                    let slow = Part {
                        extent: left,
                        stride: part.stride.checked_mul(behind)?,
                        ..part
                    };
                    append(&mut axis, slow);
                    open = Some(Part { extent: behind, ..part });
                    left = 1;
                }
            }
            axes.push(axis);
        }
        (!shape.contains(&0) && open.is_none() && rest.next().is_none()).then_some(View { axes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(axis: usize, extent: u64, stride: u64) -> Part {
        Part { axis, extent, stride }
    }

    #[test]
    fn an_axis_that_is_cut_in_blocks_has_its_positions_apart() {
        let view = View::of(&[1, 6, 5]).reshaped(&[1, 3, 2, 5]).unwrap();
        assert_eq!(
            view.axes,
            [vec![], vec![part(1, 3, 2)], vec![part(1, 2, 1)], vec![part(2, 5, 1)]]
        );
        let whole = view.reshaped(&[6, 5]).unwrap();
        assert_eq!(whole.axes, [vec![part(1, 6, 1)], vec![part(2, 5, 1)]]);
        let one = view.reshaped(&[30]).unwrap();
        assert_eq!(one.axes, [vec![part(1, 6, 1), part(2, 5, 1)]]);
        assert_eq!(one.reshaped(&[1, 6, 5]), Some(View::of(&[1, 6, 5])));
    }

    #[test]
    fn axes_that_are_no_parts_of_each_other_are_no_view() {
        assert_eq!(View::of(&[2, 3]).reshaped(&[3, 2]), None);
        assert_eq!(View::of(&[0, 3]).reshaped(&[3, 0]), None);
        assert_eq!(View::of(&[6]).reshaped(&[3]), None);
    }
}
