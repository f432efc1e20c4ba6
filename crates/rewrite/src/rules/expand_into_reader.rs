//! **Pattern**: an elementwise op with two operands, one of which is the result of an expand, which repeats a value along
//! axes.
//! **Why**: an elementwise op broadcasts its operands by itself. JAX writes every broadcast as an expand. Few targets
//! support expand, and its result takes memory.
//! **Preconditions**: without the expand, the result of the elementwise op still has the same shape, because the other
//! operand has the repeated extents. If the model gives a grid for the result of the expand, it gives the same grid for the
//! operand of the expand.
//! **Exactness**: exact, because the elementwise op combines the same numbers.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::{NewNode, Patch, Source, TensorType, Term, ValueId};

/// The rule that removes an expand before an op that broadcasts by itself.
pub const RULE: NodeRule = NodeRule {
    name: "expand-into-reader",
    anchors: || vec![Term::Add, Term::Sub, Term::Mul, Term::Div, Term::Minimum, Term::Maximum],
    depth: || 2,
    is_fusion: false,
    look,
};

/// The operand of the expand that makes a value. `None` if no expand makes it.
fn repeated(site: &GraphNode<'_>, value: ValueId) -> Option<ValueId> {
    let x = site.producer(value, Term::Expand)?.input(0)?;
    let grid = |value| site.graph.value(value).map(|value| value.quant.as_ref());
    (grid(value)? == grid(x)? || grid(value)?.is_none()).then_some(x)
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (a, b, y) = (site.operand(0)?, site.operand(1)?, site.result()?);
    let ty = |value: ValueId| site.graph.value(value).map(|value| &value.ty);
    let keeps = |operands: [ValueId; 2]| {
        let [a, b]: [Option<&TensorType>; 2] = operands.map(ty);
        let results = site.node.op.infer(&[a, b]);
        results.is_ok_and(|results| results.first() == ty(y))
    };
    let candidates = [repeated(site, a).map(|x| [x, b]), repeated(site, b).map(|x| [a, x])];
    let operands = candidates.into_iter().flatten().find(|&operands| keeps(operands));
    let operands = operands.ok_or(NoMatch)?.map(|operand| Some(Source::Old(operand)));
    site.replaced_by(vec![NewNode::new(site.node.op.clone(), &operands, &[site.id])])
}
