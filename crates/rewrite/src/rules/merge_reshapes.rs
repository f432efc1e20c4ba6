//! **Pattern**: a reshape, flatten, squeeze or unsqueeze of the result of another such node.
//! **Why**: exporters of transformers write chains of these nodes. One reshape does the same as the whole chain.
//! **Preconditions**: the shape of the last result is fixed.
//! **Exactness**: exact, because all of these nodes keep the elements in row-major order.

use crate::matching::GraphNode;
use strait_core::op::Reshape;
use strait_core::{GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Rule, Source, Term};

/// The rule that merges two reshapes in a row into one.
pub struct MergeReshapes;

/// The terms of ops that only reshape.
pub(super) const RESHAPES: &[Term] = &[Term::Reshape, Term::Flatten, Term::Squeeze, Term::Unsqueeze];

impl Rule for MergeReshapes {
    fn name(&self) -> &'static str {
        "merge-reshapes"
    }

    fn anchors(&self) -> Vec<Term> {
        RESHAPES.to_vec()
    }

    fn depth(&self) -> usize {
        2
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(x), Some(y)) = (site.input(0), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let Some(first) = RESHAPES.iter().find_map(|&term| site.producer(x, term)) else {
            return Ok(Outcome::NoMatch);
        };
        let (Some(source), Some(dims)) = (first.input(0), site.dims(y)) else {
            return Ok(Outcome::NoMatch);
        };
        // In a reshape, an extent of 0 means that the operand's extent is copied. For an empty tensor, the rule would
        // gain nothing.
        if dims.contains(&0) {
            return Ok(Outcome::NoMatch);
        }
        let merged = Reshape {
            shape: dims.iter().map(|&d| d as i64).collect(),
        };
        Ok(Outcome::Apply(Patch {
            add: vec![NewNode::new(merged, &[Some(Source::Old(source))], &[at, first.id])],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
