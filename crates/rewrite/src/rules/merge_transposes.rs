//! **Pattern**: a transpose of the result of another transpose.
//! **Why**: exporters write pairs of transposes that cancel each other.
//! **Exactness**: exact. If `first` and `second` are the two permutations, axis i of the result is axis `first[second[i]]`
//! of the operand of the first transpose.

use crate::matching::GraphNode;
use crate::pattern::{Pattern, Slot, op};
use strait_core::op::Transpose;
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term};

/// The rule that merges two transposes in a row into one.
pub struct MergeTransposes;

const SOURCE: Slot = Slot(0);
const FIRST: Slot = Slot(1);
const PAIR: Pattern = op(
    &[Term::Transpose],
    &[op(&[Term::Transpose], &[Pattern::Any(SOURCE)]).shared().keep(FIRST)],
);

impl Rule for MergeTransposes {
    fn name(&self) -> &'static str {
        "merge-transposes"
    }

    fn anchors(&self) -> Vec<Term> {
        PAIR.anchors()
    }

    fn depth(&self) -> usize {
        PAIR.depth()
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let found = match PAIR.at(&site) {
            Ok(found) => found,
            Err(miss) => return Ok(miss),
        };
        let (Some(first), Some(source), Some(y)) = (found.node(FIRST), found.value(SOURCE), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let (Op::Transpose(inner), Op::Transpose(outer)) = (&first.node.op, &site.node.op) else {
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
                &found.nodes,
            )],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
