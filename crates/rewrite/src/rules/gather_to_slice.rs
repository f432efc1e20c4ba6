//! **Pattern**: a gather with one constant index, or with constant indices that ascend in equal steps.
//! **Why**: exporters use gather to pick queries, keys and values, or the first token. A slice picks the same elements, and
//! some targets support slice but not gather.
//! **Preconditions**: the extent of the axis is fixed, and every index is smaller than this extent.
//! **Exactness**: exact, because a slice copies the same elements.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use smallvec::smallvec;
use strait_core::op::{Slice, Squeeze};
use strait_core::shape::axis_of;
use strait_core::{NewNode, Op, Patch, Source, Term};

/// The rule that replaces a gather by a slice if its indices are constant and evenly spaced.
pub const RULE: NodeRule = NodeRule {
    name: "gather-to-slice",
    anchors: || vec![Term::Gather],
    depth: || 1,
    is_fusion: false,
    look,
};

/// The first index and the step. `None` if the indices do not ascend evenly.
fn progression(indices: &[i64]) -> Option<(i64, i64)> {
    match *indices {
        [] => None,
        [one] => Some((one, 1)),
        [first, second, ..] => {
            let step = second - first;
            let even = indices.windows(2).all(|pair| pair[1] - pair[0] == step);
            (step > 0 && even).then_some((first, step))
        }
    }
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (Op::Gather(gather), x) = (&site.node.op, site.operand(0)?) else {
        return Err(NoMatch);
    };
    let (_, constant) = site.constant(site.operand(1)?).ok_or(NoMatch)?;
    let (indices, one) = (constant.to_i64().map_err(|_| NoMatch)?, constant.shape().is_empty());
    let dims = site.dims(x).ok_or(NoMatch)?;
    let axis = axis_of(gather.axis, dims.len()).ok_or(NoMatch)?;
    let extent = i64::try_from(dims[axis]).map_err(|_| NoMatch)?;
    let axis = axis as i64;
    if constant.shape().len() > 1 || !indices.iter().all(|&index| (-extent..extent).contains(&index)) {
        return Err(NoMatch);
    }
    let from_begin = |&index: &i64| if index < 0 { index + extent } else { index };
    let from_begin: Vec<i64> = indices.iter().map(from_begin).collect();
    let (Some((first, step)), Some(&last)) = (progression(&from_begin), from_begin.last()) else {
        return Err(NoMatch);
    };
    let slice = Slice {
        starts: smallvec![first],
        ends: smallvec![last + 1],
        axes: smallvec![axis],
        steps: smallvec![step],
    };
    let mut add = vec![NewNode::new(slice, &[Some(Source::Old(x))], &[site.id])];
    if one {
        let squeeze = Squeeze { axes: smallvec![axis] };
        add.push(NewNode::new(squeeze, &[Some(Source::New(0, 0))], &[site.id]));
    }
    site.replaced_by(add)
}
