//! **Pattern**: a gather with one constant index, or with constant indices that ascend in equal steps.
//! **Why**: exporters use gather to pick queries, keys and values, or the first token. A slice picks the same elements, and
//! some targets support slice but not gather.
//! **Preconditions**: the extent of the axis is fixed, and every index is smaller than this extent.
//! **Exactness**: exact, because a slice copies the same elements.

use crate::matching::GraphNode;
use smallvec::smallvec;
use strait_core::op::{Slice, Squeeze};
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term};

/// The rule that replaces a gather by a slice if its indices are constant and evenly spaced.
pub struct GatherToSlice;

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

impl Rule for GatherToSlice {
    fn name(&self) -> &'static str {
        "gather-to-slice"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Gather]
    }

    fn depth(&self) -> usize {
        1
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Op::Gather(gather), Some(x), Some(indices), Some(y)) =
            (&site.node.op, site.input(0), site.input(1), site.output())
        else {
            return Ok(Outcome::NoMatch);
        };
        let (Some(dims), Some((_, constant))) = (site.dims(x), site.constant(indices)) else {
            return Ok(Outcome::NoMatch);
        };
        let (Ok(indices), one) = (constant.to_i64(), constant.shape().is_empty()) else {
            return Ok(Outcome::NoMatch);
        };
        let rank = dims.len() as i64;
        let axis = if gather.axis < 0 {
            gather.axis + rank
        } else {
            gather.axis
        };
        let extent = usize::try_from(axis).ok().and_then(|axis| dims.get(axis)).copied();
        let Some(extent) = extent.and_then(|extent| i64::try_from(extent).ok()) else {
            return Ok(Outcome::NoMatch);
        };
        if constant.shape().len() > 1 || !indices.iter().all(|&index| (-extent..extent).contains(&index)) {
            return Ok(Outcome::NoMatch);
        }
        let from_begin: Vec<i64> = indices
            .iter()
            .map(|&index| if index < 0 { index + extent } else { index })
            .collect();
        let (Some((first, step)), Some(&last)) = (progression(&from_begin), from_begin.last()) else {
            return Ok(Outcome::NoMatch);
        };
        let slice = Slice {
            starts: smallvec![first],
            ends: smallvec![last + 1],
            axes: smallvec![axis],
            steps: smallvec![step],
        };
        let mut add = vec![NewNode::new(slice, &[Some(Source::Old(x))], &[at])];
        if one {
            let squeeze = Squeeze { axes: smallvec![axis] };
            add.push(NewNode::new(squeeze, &[Some(Source::New(0, 0))], &[at]));
        }
        let result = Source::New(u16::from(one), 0);
        Ok(Outcome::Apply(Patch {
            add,
            replace: vec![(y, result)],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
