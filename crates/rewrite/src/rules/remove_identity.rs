//! **Pattern**: a node whose result is its operand: identity, a cast or reshape to what it is, a transpose that moves
//! nothing, a pad of nothing, a concat of one, a clip without bounds.
//! **Why**: every later step would have to look through it.
//! **Preconditions**: where the result is an output of the graph, its name must survive, so the operand must be the
//! result of a node and no output itself.
//! **Exactness**: exact.

use crate::matching::GraphNode;
use strait_core::rule::ANY;
use strait_core::{GraphId, Module, NodeId, Op, Outcome, PassError, Patch, Reason, ReasonCode, Rule, Source, Term};

/// See the module's documentation.
pub struct RemoveIdentity;

fn is_identity(site: &GraphNode<'_>) -> bool {
    let ty = |v| site.graph.value(v).map(|v| &v.ty);
    let same_type = || match (site.input(0), site.output()) {
        (Some(x), Some(y)) => ty(x) == ty(y),
        _ => false,
    };
    match &site.node.op {
        Op::Identity(_) => true,
        Op::Cast(_) | Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => same_type(),
        Op::Transpose(t) => t.permutation.iter().enumerate().all(|(i, &axis)| i == axis as usize),
        Op::Pad(pad) => pad.amounts.iter().all(|&a| a == 0),
        Op::Concat(_) => site.node.inputs.len() == 1,
        Op::Clip(clip) => clip.min == f32::NEG_INFINITY && clip.max == f32::INFINITY,
        _ => false,
    }
}

impl Rule for RemoveIdentity {
    fn name(&self) -> &'static str {
        "remove-identity"
    }

    fn anchors(&self) -> &'static [Term] {
        ANY
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(x), Some(y)) = (site.input(0), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        if !is_identity(&site) {
            return Ok(Outcome::NoMatch);
        }
        if site.graph.is_output(y) && (site.graph.is_output(x) || site.graph.producer(x).is_none()) {
            return Ok(Outcome::Refused(Reason::new(
                ReasonCode::OutputName,
                "its result is an output of the graph, whose name the operand cannot take over",
            )));
        }
        Ok(Outcome::Apply(Patch {
            replace: vec![(y, Source::Old(x))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
