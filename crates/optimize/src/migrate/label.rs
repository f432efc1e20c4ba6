//! Which factor belongs to which element of a tensor.

/// The class of each element of a tensor. It depends on the positions along some axes only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The axes, in ascending order.
    pub(crate) axes: Vec<usize>,
    /// The class at each position along the axes, in row-major order.
    pub(crate) classes: Vec<u32>,
}

impl Label {
    /// A label along one axis.
    pub(crate) fn along(axis: usize, classes: Vec<u32>) -> Label {
        Label {
            axes: vec![axis],
            classes,
        }
    }

    /// The label after the axes have changed their order: axis i of the result is axis `permutation[i]`.
    pub(crate) fn transposed(&self, shape: &[usize], permutation: &[usize]) -> Option<Label> {
        let place = |axis: &usize| permutation.iter().position(|from| from == axis);
        let mut moved: Vec<(usize, usize)> = Vec::new();
        for axis in &self.axes {
            moved.push((place(axis)?, *axis));
        }
        moved.sort_unstable();
        let extents: Vec<usize> = moved
            .iter()
            .map(|(_, from)| shape.get(*from).copied())
            .collect::<Option<_>>()?;
        let count: usize = extents.iter().product();
        let classes = (0..count).map(|index| {
            let (mut rest, mut positions) = (index, vec![0; shape.len()]);
            for (&(_, from), &extent) in moved.iter().zip(&extents).rev() {
                positions[from] = rest % extent;
                rest /= extent;
            }
            self.at(shape, &positions)
        });
        Some(Label {
            classes: classes.collect::<Option<_>>()?,
            axes: moved.into_iter().map(|(to, _)| to).collect(),
        })
    }

    /// The label of the same elements in another shape. Only axes are merged or taken apart.
    pub(crate) fn reshaped(&self, shape: &[usize], new: &[usize]) -> Option<Label> {
        let mut label = Label {
            axes: Vec::new(),
            classes: vec![0],
        };
        let mut is_first = true;
        for (old, made) in runs(shape, new)? {
            let own: Vec<usize> = self.axes.iter().copied().filter(|axis| old.contains(axis)).collect();
            if own.is_empty() {
                continue;
            }
            // With several runs, a class would depend on positions of all of them.
            if !is_first || own.len() != self.axes.len() {
                return None;
            }
            is_first = false;
            let extents: Vec<usize> = old.clone().map(|axis| shape[axis]).collect();
            let count: usize = extents.iter().product();
            let mut classes = Vec::with_capacity(count);
            for index in 0..count {
                let (mut rest, mut positions) = (index, vec![0; shape.len()]);
                for axis in old.clone().rev() {
                    positions[axis] = rest % shape[axis];
                    rest /= shape[axis];
                }
                classes.push(self.at(shape, &positions)?);
            }
            label = Label {
                axes: made.clone().collect(),
                classes,
            };
        }
        Some(label.reduced(new))
    }

    /// The class at a position, given along all axes.
    pub(crate) fn at(&self, shape: &[usize], positions: &[usize]) -> Option<u32> {
        let mut index = 0;
        for &axis in &self.axes {
            index = index * shape.get(axis)? + positions.get(axis)?;
        }
        self.classes.get(index).copied()
    }

    /// Leaves out axes along which the classes do not change.
    fn reduced(mut self, shape: &[usize]) -> Label {
        let mut at = 0;
        while at < self.axes.len() {
            let inner: usize = self.axes[at + 1..].iter().map(|&axis| shape[axis]).product();
            let extent = shape[self.axes[at]];
            let blocks: Vec<&[u32]> = self.classes.chunks(inner.max(1)).collect();
            let is_same = blocks
                .chunks(extent.max(1))
                .all(|own| own.iter().all(|block| *block == own[0]));
            if is_same && self.axes.len() > 1 {
                self.classes = blocks
                    .iter()
                    .step_by(extent.max(1))
                    .flat_map(|block| block.iter().copied())
                    .collect();
                self.axes.remove(at);
            } else {
                at += 1;
            }
        }
        self
    }
}

/// Ranges of axes of two shapes with the same number of elements that belong together: (old axes, new axes).
type Runs = Vec<(std::ops::Range<usize>, std::ops::Range<usize>)>;

/// Cuts two shapes into the shortest runs of axes with the same numbers of elements.
fn runs(shape: &[usize], new: &[usize]) -> Option<Runs> {
    let (mut found, mut at, mut to) = (Vec::new(), 0, 0);
    while at < shape.len() || to < new.len() {
        let (first, start) = (at, to);
        let take = |shape: &[usize], at: &mut usize| {
            let extent = shape.get(*at).copied();
            *at += usize::from(extent.is_some());
            extent.unwrap_or(1)
        };
        let (mut one, mut other) = (take(shape, &mut at), take(new, &mut to));
        while one != other {
            if one == 0 || other == 0 || (at >= shape.len() && one < other) || (to >= new.len() && other < one) {
                return None;
            }
            match one < other {
                true => one *= take(shape, &mut at),
                false => other *= take(new, &mut to),
            }
        }
        found.push((first..at, start..to));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_taken_apart_and_joined_again() {
        let label = Label::along(2, vec![0, 1, 2, 3, 4, 5]);
        let heads = label.reshaped(&[1, 5, 6], &[1, 5, 2, 3]).unwrap();
        assert_eq!((heads.axes.as_slice(), heads.classes.len()), (&[2, 3][..], 6));
        let moved = heads.transposed(&[1, 5, 2, 3], &[0, 2, 1, 3]).unwrap();
        assert_eq!(moved.axes, [1, 3]);
        let back = moved.transposed(&[1, 2, 5, 3], &[0, 2, 1, 3]).unwrap();
        assert_eq!(back.reshaped(&[1, 5, 2, 3], &[1, 5, 6]).unwrap(), label);
    }

    #[test]
    fn a_transpose_changes_the_order_of_two_axes_of_a_label() {
        let label = Label {
            axes: vec![0, 1],
            classes: vec![0, 1, 2, 3, 4, 5],
        };
        let turned = label.transposed(&[2, 3], &[1, 0]).unwrap();
        assert_eq!(turned.classes, [0, 3, 1, 4, 2, 5]);
    }

    #[test]
    fn planes_of_channels_become_one_axis() {
        let label = Label::along(1, vec![7, 8]);
        let flat = label.reshaped(&[1, 2, 2, 2], &[1, 8]).unwrap();
        assert_eq!(flat, Label::along(1, vec![7, 7, 7, 7, 8, 8, 8, 8]));
        assert_eq!(flat.reshaped(&[1, 8], &[1, 2, 4]).unwrap(), Label::along(1, vec![7, 8]));
        // Channels that become mixed with the other axis of a label have no label.
        assert_eq!(moved_apart(), None);
    }

    fn moved_apart() -> Option<Label> {
        let label = Label {
            axes: vec![0, 2],
            classes: vec![0, 1, 2, 3],
        };
        label.reshaped(&[2, 3, 2], &[6, 2])
    }
}
