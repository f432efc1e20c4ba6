//! **Pattern**: a node whose results are neither read by another node nor outputs of the graph.
//! **Why**: other rewrites leave such nodes behind. They should not be observed, quantized or run.
//! **Exactness**: exact.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::rule::ANY;
use strait_core::{Kind, Patch, Source};

/// The rule that removes nodes whose results are not used.
pub const RULE: NodeRule = NodeRule {
    name: "dead-node",
    anchors: || ANY.to_vec(),
    depth: || 1,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let alive = |v| site.graph.is_output(v) || site.graph.uses(v).next().is_some();
    if site.node.outputs.iter().any(|&v| alive(v)) {
        return Err(NoMatch);
    }
    // If the node only moves elements, its operand has the same elements as its result, in another order. So if the
    // result was a tensor of the model, the operand can stand for this tensor.
    let is_moved = site.node.op.term().kind() == Kind::Rearranges;
    let rename = site.output().zip(site.input(0)).filter(|_| is_moved);
    Ok(Patch {
        rename: rename.into_iter().map(|(y, x)| (y, Source::Old(x))).collect(),
        remove: vec![site.id],
        ..Patch::default()
    })
}
