//! **Pattern**: a relu or clip that follows a slice, reshape or transpose, if the moved value is a sum: the result of a
//! conv, gemm, matmul, addition or another op that accumulates.
//! **Why**: exporters cut off the padding of a causal convolution before they clip. If the clip directly follows the
//! convolution, the target clips while it rounds the accumulators to codes, and spends no codes on numbers that are clipped
//! away.
//! **Preconditions**: the sum, and every value between the sum and the relu or clip, has no other reader and is not an
//! output.
//! **Exactness**: exact, because a relu or clip computes each element on its own.

use crate::matching::GraphNode;
use smallvec::smallvec;
use strait_core::{GraphId, Kind, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term, ValueId};

/// The rule that moves a relu or clip in front of nodes that move elements.
pub struct ClampBeforeMove;

/// The largest number of moves that are skipped. Exporters write no longer chains.
const MOST_MOVES: usize = 8;

fn moves(op: &Op) -> bool {
    matches!(
        op,
        Op::Slice(_) | Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) | Op::Transpose(_)
    )
}

/// True if a value is the result of a sum, directly or behind moves.
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

impl Rule for ClampBeforeMove {
    fn name(&self) -> &'static str {
        "clamp-before-move"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Relu, Term::Clip]
    }

    fn depth(&self) -> usize {
        2 + MOST_MOVES
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(x), Some(y)) = (site.input(0), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let Some((move_id, mover)) = site.graph.producer(x).filter(|(_, node)| moves(&node.op)) else {
            return Ok(Outcome::NoMatch);
        };
        if !is_sum(&site, x) {
            return Ok(Outcome::NoMatch);
        }
        // Only the first operand is moved. The other operands say how.
        let Some((Some(source), rest)) = mover.inputs.split_first() else {
            return Ok(Outcome::NoMatch);
        };
        let clamped = NewNode::new(site.node.op.clone(), &[Some(Source::Old(*source))], &[at]);
        let mut inputs = smallvec![Some(Source::New(0, 0))];
        inputs.extend(rest.iter().map(|operand| operand.map(Source::Old)));
        let mut moved = NewNode::new(mover.op.clone(), &[], &[move_id]);
        moved.inputs = inputs;
        Ok(Outcome::Apply(Patch {
            add: vec![clamped, moved],
            replace: vec![(y, Source::New(1, 0))],
            remove: vec![at, move_id],
            ..Patch::default()
        }))
    }
}
