//! **Pattern**: transpose of a transpose.
//! **Why**: exporters write pairs that cancel.
//! **Exactness**: exact: axis i of the result is axis `first[second[i]]` of the source.

use crate::matching::GraphNode;
use strait_core::op::Transpose;
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term};

/// See the module's documentation.
pub struct MergeTransposes;

impl Rule for MergeTransposes {
    fn name(&self) -> &'static str {
        "merge-transposes"
    }

    fn anchors(&self) -> &'static [Term] {
        &[Term::Transpose]
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(x), Some(y)) = (site.input(0), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let Some(first) = site.producer(x, Term::Transpose) else {
            return Ok(Outcome::NoMatch);
        };
        let (Op::Transpose(inner), Op::Transpose(outer), Some(source)) =
            (&first.node.op, &site.node.op, first.input(0))
        else {
            return Ok(Outcome::NoMatch);
        };
        let permutation = outer
            .permutation
            .iter()
            .map(|&axis| inner.permutation[axis as usize])
            .collect();
        Ok(Outcome::Apply(Patch {
            add: vec![NewNode::new(
                Transpose { permutation },
                &[Some(Source::Old(source))],
                &[at, first.id],
            )],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
