//! **Pattern**: the function silu(x) as a single op.
//! **Why**: a target that has no lookup for silu may have a lookup for sigmoid and a multiplication of two tensors. It can
//! then compute silu(x) as x · sigmoid(x). The result of the sigmoid gets a grid of its own.
//! **Exactness**: exact in real numbers. In f32, the product is rounded once, with and without this rule.

use crate::matching::{GraphNode, unary};
use strait_core::op::{Function, Mul};
use strait_core::{GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Rule, Source, Term};

/// The rule that splits a SiLU into a sigmoid and a product.
pub struct SiluToSigmoid;

impl Rule for SiluToSigmoid {
    fn name(&self) -> &'static str {
        "silu-to-sigmoid"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Silu]
    }

    fn depth(&self) -> usize {
        1
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(x), Some(y)) = (site.input(0), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let x = Some(Source::Old(x));
        Ok(Outcome::Apply(Patch {
            add: vec![
                NewNode::new(unary(Function::Sigmoid), &[x], &[at]),
                NewNode::new(Mul::float(), &[x, Some(Source::New(0, 0))], &[at]),
            ],
            replace: vec![(y, Source::New(1, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
