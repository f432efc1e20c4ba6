//! **Pattern**: an elementwise op with two operands, one of which is the result of an expand, which repeats a value along
//! axes.
//! **Why**: an elementwise op broadcasts its operands by itself. JAX writes every broadcast as an expand. Few targets
//! support expand, and its result takes memory.
//! **Preconditions**: without the expand, the result of the elementwise op still has the same shape, because the other
//! operand has the repeated extents. If the model gives a grid for the result of the expand, it gives the same grid for the
//! operand of the expand.
//! **Exactness**: exact, because the elementwise op combines the same numbers.

use crate::matching::GraphNode;
use strait_core::{
    GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Rule, Source, TensorType, Term, ValueId,
};

/// The rule that removes an expand in front of an op that broadcasts by itself.
pub struct ExpandIntoReader;

/// The operand of the expand that makes a value. `None` if no expand makes it.
fn repeated(site: &GraphNode<'_>, value: ValueId) -> Option<ValueId> {
    let x = site.producer(value, Term::Expand)?.input(0)?;
    let grid = |value| site.graph.value(value).map(|value| value.quant.as_ref());
    (grid(value)? == grid(x)? || grid(value)?.is_none()).then_some(x)
}

impl Rule for ExpandIntoReader {
    fn name(&self) -> &'static str {
        "expand-into-reader"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Add, Term::Sub, Term::Mul, Term::Div, Term::Minimum, Term::Maximum]
    }

    fn depth(&self) -> usize {
        2
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(a), Some(b), Some(y)) = (site.input(0), site.input(1), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let ty = |value: ValueId| site.graph.value(value).map(|value| &value.ty);
        let keeps = |operands: [ValueId; 2]| {
            let [a, b]: [Option<&TensorType>; 2] = operands.map(ty);
            let results = site.node.op.infer(&[a, b]);
            results.is_ok_and(|results| results.first() == ty(y))
        };
        let candidates = [repeated(&site, a).map(|x| [x, b]), repeated(&site, b).map(|x| [a, x])];
        let Some(operands) = candidates.into_iter().flatten().find(|&operands| keeps(operands)) else {
            return Ok(Outcome::NoMatch);
        };
        let operands = operands.map(|operand| Some(Source::Old(operand)));
        Ok(Outcome::Apply(Patch {
            add: vec![NewNode::new(site.node.op.clone(), &operands, &[at])],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
