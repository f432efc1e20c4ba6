//! **Pattern**: a transpose that only moves axes of extent 1.
//! **Why**: such a transpose does not change the order of the elements in memory. A reshape does the same at no cost, and
//! can be merged with other reshapes.
//! **Preconditions**: at most one extent of the shape is unknown.
//! **Exactness**: exact.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::permute::{moves, permuted};
use crate::rule::NodeRule;
use strait_core::op::Reshape;
use strait_core::{Dim, NewNode, Op, Patch, Source, Term};

/// The rule that replaces a transpose that moves no elements with a reshape.
pub const RULE: NodeRule = NodeRule {
    name: "transpose-to-reshape",
    anchors: || vec![Term::Transpose],
    depth: || 1,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (Op::Transpose(transpose), x) = (&site.node.op, site.operand(0)?) else {
        return Err(NoMatch);
    };
    let value = site.graph.value(x).ok_or(NoMatch)?;
    let dims: Vec<Dim> = permuted(&value.ty.shape, &transpose.permutation).collect();
    // In a reshape, an extent of 0 would mean that the operand's extent is copied.
    let is_open = |dim: &&Dim| dim.fixed().is_none();
    if moves(&value.ty.shape, &transpose.permutation)
        || dims.contains(&Dim::Fixed(0))
        || dims.iter().filter(is_open).count() > 1
    {
        return Err(NoMatch);
    }
    let extent = |dim: &Dim| dim.fixed().map_or(-1, |extent| extent as i64);
    let shape = dims.iter().map(extent).collect();
    site.replaced_by(vec![NewNode::new(
        Reshape { shape },
        &[Some(Source::Old(x))],
        &[site.id],
    )])
}
