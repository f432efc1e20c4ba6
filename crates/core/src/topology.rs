//! Topological order of nodes.

use crate::graph::Graph;
use crate::ids::NodeId;

impl Graph {
    /// Sorts the nodes so that each node comes after the producers of its operands. Takes O(nodes + operands) time. The
    /// order depends only on ids. If there is a cycle, the error is a node on the cycle.
    pub fn topological_order(&self) -> Result<Vec<NodeId>, NodeId> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut stack: Vec<(NodeId, usize)> = Vec::new();
        for (root, _) in self.nodes() {
            if marks[root.index()] != Mark::New {
                continue;
            }
            marks[root.index()] = Mark::Open;
            stack.push((root, 0));
            while let Some((id, operand)) = stack.pop() {
                let inputs = self.node(id).map_or(&[][..], |n| &n.inputs);
                if operand == inputs.len() {
                    marks[id.index()] = Mark::Done;
                    order.push(id);
                    continue;
                }
                stack.push((id, operand + 1));
                let Some((producer, _)) = inputs[operand].and_then(|v| self.producer(v)) else {
                    continue;
                };
                match marks[producer.index()] {
                    Mark::New => {
                        marks[producer.index()] = Mark::Open;
                        stack.push((producer, 0));
                    }
                    Mark::Open => return Err(producer),
                    Mark::Done => {}
                }
            }
        }
        Ok(order)
    }
}
