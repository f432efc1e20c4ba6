//! Makes a graph with a single node, so that a step can be prepared for an op alone.

use crate::error::StepError;
use crate::options::PlanOptions;
use crate::site::{NodeSlots, Slot};
use smallvec::SmallVec;
use strait_core::{Graph, Names, Op, Stage, TensorType, ValueId};

/// A graph with a single node. The names in it are placeholders.
pub(crate) struct Single(Graph);

impl Single {
    /// Makes a graph with a node for this op, with operands and results of these types.
    pub(crate) fn new(op: &Op, operands: &[Option<&TensorType>], results: &[TensorType]) -> Single {
        let name = Names::default().intern("single");
        let mut graph = Graph::new(name, Stage::Float);
        let inputs: SmallVec<[Option<ValueId>; 3]> = (operands.iter())
            .map(|ty| ty.map(|ty| graph.add_input(name, ty.clone(), None)))
            .collect();
        let results = results.iter().map(|ty| (name, ty.clone(), None)).collect();
        graph.add_node(name, op.clone(), &inputs, results);
        Single(graph)
    }

    /// Returns the only node of the graph, with its operands and results as slots.
    pub(crate) fn site<'a>(
        &'a self,
        inputs: SmallVec<[Option<Slot<'a>>; 3]>,
        outputs: SmallVec<[Slot<'a>; 1]>,
        options: &'a PlanOptions<'a>,
    ) -> Result<NodeSlots<'a>, StepError> {
        let Some((_, node)) = self.0.nodes().next() else {
            return Err(StepError::Ours("a graph of one node has none".into()));
        };
        Ok(NodeSlots {
            node,
            inputs,
            outputs,
            fused: None,
            chain: None,
            options,
            last: false,
        })
    }
}
