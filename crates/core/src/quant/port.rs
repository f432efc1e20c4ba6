//! Ports: the operands and results of nodes, and the inputs and outputs of a graph. Each config belongs to a port.

use crate::ids::NodeId;
use std::fmt;

/// A port of a node, or of the graph. For a port of the graph, [`NodeId::OUTSIDE`] stands in for the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port {
    /// The operand at this position.
    Operand(usize),
    /// The result at this position.
    Result(usize),
    /// The graph input at this position, which the host provides.
    Input(usize),
    /// The graph output at this position, which the host reads.
    Output(usize),
}

impl Port {
    /// True for inputs and outputs of the graph.
    pub fn is_border(self) -> bool {
        matches!(self, Port::Input(_) | Port::Output(_))
    }

    /// Names the port for error messages: `operand 0 of node3`, or `input 0` for a port of the graph.
    pub(crate) fn of(self, node: NodeId) -> String {
        match self.is_border() {
            true => self.to_string(),
            false => format!("{self} of {node}"),
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Port::Operand(index) => write!(f, "operand {index}"),
            Port::Result(index) => write!(f, "result {index}"),
            Port::Input(index) => write!(f, "input {index}"),
            Port::Output(index) => write!(f, "output {index}"),
        }
    }
}
