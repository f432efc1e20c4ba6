//! **Pattern**: a transpose that only moves axes of extent 1.
//! **Why**: such a transpose does not change the order of the elements in memory. A reshape does the same at no cost, and
//! can be merged with other reshapes.
//! **Preconditions**: at most one extent of the shape is unknown.
//! **Exactness**: exact.

use crate::matching::GraphNode;
use crate::permute::{moves, permuted};
use smallvec::SmallVec;
use strait_core::op::Reshape;
use strait_core::{Dim, GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term};

/// The rule that replaces a transpose that moves no elements with a reshape.
pub struct TransposeToReshape;

impl Rule for TransposeToReshape {
    fn name(&self) -> &'static str {
        "transpose-to-reshape"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Transpose]
    }

    fn depth(&self) -> usize {
        1
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Op::Transpose(transpose), Some(x), Some(y)) = (&site.node.op, site.input(0), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let Some(value) = site.graph.value(x) else {
            return Ok(Outcome::NoMatch);
        };
        let dims: Vec<Dim> = permuted(&value.ty.shape, &transpose.permutation).collect();
        // In a reshape, an extent of 0 would mean that the operand's extent is copied.
        let is_open = |dim: &&Dim| dim.fixed().is_none();
        if moves(&value.ty.shape, &transpose.permutation)
            || dims.contains(&Dim::Fixed(0))
            || dims.iter().filter(is_open).count() > 1
        {
            return Ok(Outcome::NoMatch);
        }
        let shape: SmallVec<[i64; 4]> = dims
            .iter()
            .map(|dim| dim.fixed().map_or(-1, |extent| extent as i64))
            .collect();
        Ok(Outcome::Apply(Patch {
            add: vec![NewNode::new(Reshape { shape }, &[Some(Source::Old(x))], &[at])],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
