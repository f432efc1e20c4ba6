//! **Pattern**: a node whose results are neither read by another node nor outputs of the graph.
//! **Why**: other rewrites leave such nodes behind. They should not be observed, quantized or run.
//! **Exactness**: exact.

use crate::matching::GraphNode;
use strait_core::rule::ANY;
use strait_core::{GraphId, Kind, Module, NodeId, Outcome, PassError, Patch, Rule, Source, Term};

/// The rule that removes nodes whose results are not used.
pub struct DeadNode;

impl Rule for DeadNode {
    fn name(&self) -> &'static str {
        "dead-node"
    }

    fn anchors(&self) -> Vec<Term> {
        ANY.to_vec()
    }

    fn depth(&self) -> usize {
        1
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let alive = |v| site.graph.is_output(v) || site.graph.uses(v).next().is_some();
        if site.node.outputs.iter().any(|&v| alive(v)) {
            return Ok(Outcome::NoMatch);
        }
        // If the node only moved elements, its operand has the same elements in another order. So the operand can stand
        // for a tensor of the model that this node made.
        let is_moved = site.node.op.term().kind() == Kind::Rearranges;
        let rename = site.output().zip(site.input(0)).filter(|_| is_moved);
        Ok(Outcome::Apply(Patch {
            rename: rename.into_iter().map(|(y, x)| (y, Source::Old(x))).collect(),
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
