//! The form of all rules that look at one node and keep no state.

use crate::matching::GraphNode;
use crate::miss::{Miss, outcome};
use strait_core::{GraphId, Module, NodeId, Outcome, PassError, Patch, Rule, Term};

/// A rule, as data. [`Rule`] explains the fields. `anchors` and `depth` are functions, because a rule can compute them
/// from its pattern.
pub struct NodeRule {
    pub(crate) name: &'static str,
    pub(crate) anchors: fn() -> Vec<Term>,
    pub(crate) depth: fn() -> usize,
    pub(crate) is_fusion: bool,
    pub(crate) look: fn(&GraphNode<'_>) -> Result<Patch, Miss>,
}

impl Rule for NodeRule {
    fn name(&self) -> &'static str {
        self.name
    }

    fn anchors(&self) -> Vec<Term> {
        (self.anchors)()
    }

    fn depth(&self) -> usize {
        (self.depth)()
    }

    fn is_fusion(&self) -> bool {
        self.is_fusion
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        outcome((self.look)(&GraphNode::new(module, graph, at)?))
    }
}
