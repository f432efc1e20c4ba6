//! **Pattern**: a concat with operands that have no elements, for instance an empty cache or an empty slice.
//! **Why**: such an operand adds nothing to the result, and calibration cannot measure a range for it.
//! **Preconditions**: at least one operand with elements is left.
//! **Exactness**: exact.

use crate::matching::GraphNode;
use strait_core::{Dim, GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term, ValueId};

/// The rule that drops members without elements from a concat.
pub struct ConcatWithoutEmpty;

impl Rule for ConcatWithoutEmpty {
    fn name(&self) -> &'static str {
        "concat-without-empty"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Concat]
    }

    fn depth(&self) -> usize {
        1
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Op::Concat(_), Some(y)) = (&site.node.op, site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let has_elements = |value: &ValueId| {
            let value = site.graph.value(*value);
            value.is_none_or(|value| !value.ty.shape.contains(&Dim::Fixed(0)))
        };
        let members = || site.node.inputs.iter().flatten();
        let left: Vec<ValueId> = members().copied().filter(has_elements).collect();
        if left.is_empty() || left.len() == members().count() {
            return Ok(Outcome::NoMatch);
        }
        let left: Vec<Option<Source>> = left.into_iter().map(|value| Some(Source::Old(value))).collect();
        Ok(Outcome::Apply(Patch {
            add: vec![NewNode::new(site.node.op.clone(), &left, &[at])],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
