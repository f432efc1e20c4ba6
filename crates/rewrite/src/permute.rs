//! Permutations of axes, and ops that can be computed on permuted operands.
//!
//! A permutation p is used as in a transpose: axis i of the result is axis p\[i\] of the operand. A value v is carried
//! by p if its readers read `transpose(v, p)` instead of v.

use crate::matching::GraphNode;
use smallvec::SmallVec;
use strait_core::op::{ArgReduce, Concat, Pad, Reduce, Reshape, Slice, Split};
use strait_core::shape::axis_of;
use strait_core::{Dim, Op, ValueId};

/// A permutation of axes.
pub(crate) type Permutation = SmallVec<[u32; 4]>;

/// The permutation that changes nothing.
pub(crate) fn identity(rank: usize) -> Permutation {
    (0..rank as u32).collect()
}

/// True if a permutation changes nothing.
pub(crate) fn is_identity(p: &[u32]) -> bool {
    p.iter().enumerate().all(|(i, &axis)| i == axis as usize)
}

/// The permutation `first` followed by `second`: axis i of the result is axis `first[second[i]]`.
pub(crate) fn behind(first: &[u32], second: &[u32]) -> Permutation {
    second.iter().map(|&axis| first[axis as usize]).collect()
}

/// The permutation that leads from the result of `from` to the result of `to`.
pub(crate) fn between(from: &[u32], to: &[u32]) -> Permutation {
    let place = |axis: &u32| from.iter().position(|own| own == axis).unwrap_or(0) as u32;
    to.iter().map(place).collect()
}

/// The inverse of a permutation.
pub(crate) fn inverse(p: &[u32]) -> Permutation {
    between(p, &identity(p.len()))
}

/// True if a transpose moves elements in memory. It moves none if only axes of extent 1 change their places.
pub(crate) fn moves(shape: &[Dim], p: &[u32]) -> bool {
    let mut long = p.iter().filter(|&&axis| shape[axis as usize] != Dim::Fixed(1));
    let mut last = None;
    long.any(|axis| last.replace(axis).is_some_and(|last| last > axis))
}

/// Reorders a list with one entry for each axis: its entries come out in the order of the permuted axes.
pub(crate) fn permuted<T: Clone>(list: &[T], p: &[u32]) -> impl Iterator<Item = T> {
    p.iter().map(|&axis| list[axis as usize].clone())
}

/// A node that was changed so that it works on permuted operands.
pub(crate) struct Carried {
    /// The changed op.
    pub(crate) op: Op,
    /// The permutation of each operand. If a permutation has more axes than the operand, axes of extent 1 are first
    /// inserted before the operand's axes.
    pub(crate) operands: Vec<Permutation>,
    /// The permutation of each result.
    pub(crate) results: Vec<Permutation>,
}

/// The side of a node on which a permutation is required.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// At an operand.
    Operand,
    /// At a result.
    Result,
}

/// Returns the node, changed so that one of its operands, or one of its results, is permuted by `p`. Returns `None` if
/// this is not possible for the op.
pub(crate) fn carried(site: &GraphNode<'_>, side: Side, p: &Permutation) -> Option<Carried> {
    let op = &site.node.op;
    let shape = |v: ValueId| site.graph.value(v).map(|v| &v.ty.shape);
    let count = site.node.inputs.len();
    let rank = shape(site.output()?)?.len();
    let everywhere = |op: Op| {
        Some(Carried {
            op,
            operands: vec![p.clone(); count],
            results: vec![p.clone(); site.node.outputs.len()],
        })
    };
    let place = |axis: usize| p.iter().position(|&own| own as usize == axis);
    match op {
        Op::Relu(_) | Op::Clip(_) | Op::LeakyRelu(_) | Op::HardSigmoid(_) | Op::Elu(_) | Op::Unary(_) => {
            everywhere(op.clone())
        }
        Op::Cast(_) | Op::Identity(_) => everywhere(op.clone()),
        Op::Add(_)
        | Op::Sub(_)
        | Op::Mul(_)
        | Op::Div(_)
        | Op::Pow(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Select(_) => (p.len() == rank).then(|| everywhere(op.clone())).flatten(),
        Op::Concat(concat) => {
            let axis = place(axis_of(concat.axis, rank)?)? as i64;
            everywhere(Concat { axis }.into())
        }
        Op::Split(split) => {
            let axis = place(axis_of(split.axis, rank)?)? as i64;
            let sizes = split.sizes.clone();
            everywhere(Split { axis, sizes }.into())
        }
        Op::Slice(slice) if count == 1 => {
            let axes: Option<_> = (slice.axes.iter())
                .map(|&own| Some(place(axis_of(own, rank)?)? as i64))
                .collect();
            let axes = axes?;
            everywhere(Slice { axes, ..*slice.clone() }.into())
        }
        Op::Pad(pad) if count == 1 => {
            let (begins, ends) = pad.amounts.split_at(pad.amounts.len() / 2);
            let amounts = permuted(begins, p).chain(permuted(ends, p)).collect();
            everywhere(
                Pad {
                    amounts,
                    ..*pad.clone()
                }
                .into(),
            )
        }
        Op::Reduce(reduce) => {
            let rank = shape(site.input(0)?)?.len();
            let reduced = reduce.reduced(rank).ok()?;
            let axes = reduced
                .iter()
                .map(|&axis| Some(place(axis)? as i64))
                .collect::<Option<_>>()?;
            let op = Reduce {
                axes,
                ..*reduce.clone()
            }
            .into();
            reducing(op, side, p, &reduced, reduce.keep_dims)
        }
        Op::ArgReduce(arg) => {
            let rank = shape(site.input(0)?)?.len();
            let reduced = axis_of(arg.axis, rank)?;
            let axis = place(reduced)? as i64;
            let op = ArgReduce { axis, ..*arg.clone() }.into();
            reducing(op, side, p, &[reduced], arg.keep_dims)
        }
        Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) if count == 1 => {
            let (from, to) = (shape(site.input(0)?)?, shape(site.output()?)?);
            let (operand, result) = match side {
                Side::Operand => (p.clone(), renumbered(from, to, p)?),
                Side::Result => (renumbered(to, from, p)?, p.clone()),
            };
            let named = to.iter().filter(|dim| dim.fixed().is_none()).count();
            let extent = |dim: Dim| match dim.fixed() {
                Some(0) => None,
                Some(extent) => i64::try_from(extent).ok(),
                None => (named == 1).then_some(-1),
            };
            let shape = permuted(to, &result).map(extent).collect::<Option<_>>()?;
            Some(Carried {
                op: Reshape { shape }.into(),
                operands: vec![operand],
                results: vec![result],
            })
        }
        _ => None,
    }
}

/// Permutes a node that reduces axes. The node drops the reduced axes, or keeps them with an extent of 1 if `keeps` is
/// true.
fn reducing(op: Op, side: Side, p: &Permutation, reduced: &[usize], keeps: bool) -> Option<Carried> {
    let result = match (side, keeps) {
        (_, true) => p.clone(),
        (Side::Operand, false) => {
            let left = p.iter().filter(|&&axis| !reduced.contains(&(axis as usize)));
            let before = |axis: u32| reduced.iter().filter(|&&other| other < axis as usize).count() as u32;
            left.map(|&axis| axis - before(axis)).collect()
        }
        (Side::Result, false) => return None,
    };
    Some(Carried {
        op,
        operands: vec![p.clone()],
        results: vec![result],
    })
}

/// Converts the permutation `p` of the shape `from` to the corresponding permutation of the shape `to`. The two shapes
/// differ only by axes of extent 1. In the result, these axes keep their places.
fn renumbered(from: &[Dim], to: &[Dim], p: &[u32]) -> Option<Permutation> {
    let long = |shape: &[Dim]| -> Vec<usize> {
        let axes = 0..shape.len();
        axes.filter(|&axis| shape[axis] != Dim::Fixed(1)).collect()
    };
    let (own, other) = (long(from), long(to));
    let same = own.len() == other.len() && own.iter().zip(&other).all(|(&a, &b)| from[a] == to[b]);
    same.then_some(())?;
    let mut order = p.iter().filter_map(|&axis| {
        let place = own.iter().position(|&long| long == axis as usize)?;
        Some(other[place] as u32)
    });
    (0..to.len())
        .map(|axis| match to[axis] {
            Dim::Fixed(1) => Some(axis as u32),
            _ => order.next(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(axes: &[u32]) -> Permutation {
        axes.into()
    }

    #[test]
    fn a_permutation_and_its_inverse_move_nothing() {
        let back = p(&[0, 2, 3, 1]);
        assert_eq!(inverse(&back), p(&[0, 3, 1, 2]));
        assert!(is_identity(&behind(&back, &inverse(&back))));
        assert_eq!(behind(&back, &between(&back, &p(&[3, 2, 1, 0]))), p(&[3, 2, 1, 0]));
    }

    #[test]
    fn axes_of_extent_one_move_no_elements() {
        let shape = [1, 1, 1, 8].map(Dim::Fixed);
        assert!(!moves(&shape, &[0, 3, 1, 2]));
        let shape = [2, 1, 1, 8].map(Dim::Fixed);
        assert!(!moves(&shape, &[0, 3, 1, 2]));
        assert!(moves(&shape, &[3, 0, 1, 2]));
        assert!(!moves(&[2, 0].map(Dim::Fixed), &[0, 1]));
    }

    #[test]
    fn a_permutation_goes_through_axes_of_extent_one() {
        let (line, image) = ([5, 7, 3].map(Dim::Fixed), [5, 1, 7, 3].map(Dim::Fixed));
        assert_eq!(renumbered(&line, &image, &[0, 2, 1]), Some(p(&[0, 1, 3, 2])));
        assert_eq!(renumbered(&image, &line, &[0, 3, 1, 2]), Some(p(&[0, 2, 1])));
        assert_eq!(renumbered(&line, &[5, 3, 7].map(Dim::Fixed), &[0, 2, 1]), None);
    }
}
