//! The inputs and outputs of a graph.

use strait_core::{Graph, Port, ValueId};

/// Lists the inputs and outputs of a graph, each with its value.
pub(crate) fn borders(graph: &Graph) -> impl Iterator<Item = (Port, ValueId)> {
    let inputs = graph.inputs().iter().enumerate();
    let outputs = graph.outputs().iter().enumerate();
    let inputs = inputs.map(|(index, &value)| (Port::Input(index), value));
    inputs.chain(outputs.map(|(index, &value)| (Port::Output(index), value)))
}
