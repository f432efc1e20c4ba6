//! **Pattern**: a relu or clip that follows a slice, reshape or transpose, if the moved value is a sum: the result of a
//! conv, gemm, matmul, addition or another op that accumulates.
//! **Why**: exporters cut off the padding of a causal convolution before they clip. If the clip directly follows the
//! convolution, the target clips while it rounds the accumulators to codes, and spends no codes on numbers that are clipped
//! away.
//! **Preconditions**: the sum, and every value between the sum and the relu or clip, has no other reader and is not an
//! output.
//! **Exactness**: exact, because a relu or clip computes each element on its own.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::{Kind, NewNode, Op, Patch, Source, Term, ValueId};

/// The rule that moves a relu or clip before nodes that only move elements.
pub const RULE: NodeRule = NodeRule {
    name: "clamp-before-move",
    anchors: || vec![Term::Relu, Term::Clip],
    depth: || 2 + MOST_MOVES,
    is_fusion: false,
    look,
};

/// The largest number of moves that are skipped. Exporters write no longer chains.
const MOST_MOVES: usize = 8;

fn moves(op: &Op) -> bool {
    matches!(
        op,
        Op::Slice(_) | Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) | Op::Transpose(_)
    )
}

/// True if a value comes from an op that adds up products (such as a convolution) or from a batch normalization,
/// directly or through nodes that only move elements.
fn is_sum(site: &GraphNode<'_>, mut value: ValueId) -> bool {
    for _ in 0..MOST_MOVES {
        let Some((_, node)) = site.graph.producer(value).filter(|_| site.used_once(value)) else {
            return false;
        };
        let term = node.op.term();
        match node.inputs.first() {
            Some(Some(moved)) if moves(&node.op) => value = *moved,
            _ => return term == Term::BatchNormalization || term.kind() == Kind::Accumulates,
        }
    }
    false
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let x = site.operand(0)?;
    let (id, node) = site.graph.producer(x).ok_or(NoMatch)?;
    if !moves(&node.op) || !is_sum(site, x) {
        return Err(NoMatch);
    }
    // Only the first operand is moved. The other operands say how.
    let mover = GraphNode { id, node, ..*site };
    let source = Source::Old(mover.operand(0)?);
    let clamped = NewNode::new(site.node.op.clone(), &[Some(source)], &[site.id]);
    let moved = NewNode::new(node.op.clone(), &mover.operands_with(Source::New(0, 0)), &[id]);
    site.completed(Patch {
        add: vec![clamped, moved],
        remove: vec![id],
        ..Patch::default()
    })
}
