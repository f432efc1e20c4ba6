//! **Pattern**: a square that is written as a power: pow(x, 2).
//! **Why**: no target can raise codes to a power, and all targets can multiply them. The rules that recognise normalizations
//! accept both forms of a square.
//! **Preconditions**: the result has the shape of x: broadcasting x with the exponent does not make it larger.
//! **Exactness**: exact. Both x·x and pow(x, 2) are the square of x, rounded once.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::op::Mul;
use strait_core::{NewNode, Patch, Source, Term};

/// The rule that replaces a square by a multiplication of the value by itself.
pub const RULE: NodeRule = NodeRule {
    name: "square-to-multiplication",
    anchors: || vec![Term::Pow],
    depth: || 1,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (x, y) = (site.operand(0)?, site.result()?);
    let (_, exponents) = site.floats(site.operand(1)?).ok_or(NoMatch)?;
    let ty = |id| site.graph.value(id).map(|value| &value.ty);
    let is_square = !exponents.is_empty() && exponents.iter().all(|&exponent| exponent == 2.0);
    if !is_square || ty(x) != ty(y) {
        return Err(NoMatch);
    }
    let operand = Some(Source::Old(x));
    site.replaced_by(vec![NewNode::new(Mul::float(), &[operand, operand], &[site.id])])
}
