//! **Pattern**: the function silu(x) as a single op.
//! **Why**: a target that has no lookup for silu may have a lookup for sigmoid and a multiplication of two tensors. It can
//! then compute silu(x) as x · sigmoid(x). The result of the sigmoid gets a grid of its own.
//! **Exactness**: exact in real numbers. In f32, the product is rounded once, with and without this rule.

use crate::matching::{GraphNode, unary};
use crate::miss::Miss;
use crate::rule::NodeRule;
use strait_core::op::{Function, Mul};
use strait_core::{NewNode, Patch, Source, Term};

/// The rule that splits a SiLU into a sigmoid and a multiplication.
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
