//! **Pattern**: a square that is written as a power: pow(x, 2).
//! **Why**: no target can raise codes to a power, and all targets can multiply them. The rules that recognise normalizations
//! accept both forms of a square.
//! **Preconditions**: the result has the shape of x: broadcasting x with the exponent does not make it larger.
//! **Exactness**: exact. Both x·x and pow(x, 2) are the square of x, rounded once.

use crate::matching::GraphNode;
use strait_core::op::Mul;
use strait_core::{GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Rule, Source, Term};

/// The rule that replaces a square by a product.
pub struct SquareToMultiplication;

impl Rule for SquareToMultiplication {
    fn name(&self) -> &'static str {
        "square-to-multiplication"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Pow]
    }

    fn depth(&self) -> usize {
        1
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(x), Some(exponent), Some(y)) = (site.input(0), site.input(1), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let ty = |id| site.graph.value(id).map(|value| &value.ty);
        let is_square = site
            .floats(exponent)
            .is_some_and(|(_, exponents)| !exponents.is_empty() && exponents.iter().all(|&exponent| exponent == 2.0));
        if !is_square || ty(x) != ty(y) {
            return Ok(Outcome::NoMatch);
        }
        let mut patch = Patch::default();
        let operand = Some(Source::Old(x));
        patch.add.push(NewNode::new(Mul::float(), &[operand, operand], &[at]));
        patch.replace.push((y, Source::New(0, 0)));
        patch.remove.push(at);
        Ok(Outcome::Apply(patch))
    }
}
