//! **Pattern**: silu(x).
//! **Why**: a target without a lookup for silu may have one for sigmoid, and a product of two tensors. It can compute silu
//! in these two steps. The sigmoid in between gets a grid of its own.
//! **Exactness**: exact in real numbers. In f32 the product is rounded once either way.

use crate::matching::{GraphNode, unary};
use crate::miss::Miss;
use crate::rule::NodeRule;
use strait_core::op::{Function, Mul};
use strait_core::{NewNode, Patch, Source, Term};

/// The rule that splits a SiLU into a sigmoid and a product.
pub const RULE: NodeRule = NodeRule {
    name: "silu-to-sigmoid",
    anchors: || vec![Term::Silu],
    depth: || 1,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let x = Some(Source::Old(site.operand(0)?));
    site.replaced_by(vec![
        NewNode::new(unary(Function::Sigmoid), &[x], &[site.id]),
        NewNode::new(Mul::float(), &[x, Some(Source::New(0, 0))], &[site.id]),
    ])
}
