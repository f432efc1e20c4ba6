//! **Pattern**: a reshape, flatten, squeeze or unsqueeze of the result of another such node.
//! **Why**: exporters of transformers write chains of these nodes. One reshape does the same as the whole chain.
//! **Preconditions**: the shape of the last result is fixed.
//! **Exactness**: exact, because all of these nodes keep the elements in row-major order.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::op::Reshape;
use strait_core::{NewNode, Patch, Source, Term};

/// The rule that merges two reshapes in a row into one.
pub const RULE: NodeRule = NodeRule {
    name: "merge-reshapes",
    anchors: || RESHAPES.to_vec(),
    depth: || 2,
    is_fusion: false,
    look,
};

/// The terms of ops that only reshape.
pub(super) const RESHAPES: &[Term] = &[Term::Reshape, Term::Flatten, Term::Squeeze, Term::Unsqueeze];

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let x = site.operand(0)?;
    let first = RESHAPES
        .iter()
        .find_map(|&term| site.producer(x, term))
        .ok_or(NoMatch)?;
    let (source, dims) = (first.operand(0)?, site.dims(site.result()?).ok_or(NoMatch)?);
    // In a reshape, an extent of 0 means that the operand's extent is copied. For an empty tensor, the rule would
    // gain nothing.
    if dims.contains(&0) {
        return Err(NoMatch);
    }
    let merged = Reshape {
        shape: dims.iter().map(|&d| d as i64).collect(),
    };
    site.replaced_by(vec![NewNode::new(
        merged,
        &[Some(Source::Old(source))],
        &[site.id, first.id],
    )])
}
