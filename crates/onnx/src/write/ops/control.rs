//! Writes `if` and `loop`. In the IR, such a node has an operand for each outer value that its graphs read. In ONNX,
//! nested graphs refer to outer values by name.

use super::operator::{At, Emitter, Operator, WriteError};
use crate::proto::GraphProto;
use crate::write::attributes::graph;
use crate::write::scope::First;
use strait_core::op::{If, Loop};
use strait_core::{GraphId, TensorData};

impl Operator for If {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let mut attributes = Vec::new();
        for (name, position) in [("then_branch", self.then_graph), ("else_branch", self.else_graph)] {
            attributes.push(graph(name, body(emitter, at, position, 1, First::Own)?));
        }
        let (condition, outputs) = (at.input(emitter, 0), at.outputs(emitter));
        emitter.node("If", at.name, vec![condition], outputs, attributes);
        Ok(())
    }
}

/// Writes a loop. If the number of runs is known, it is written as the bound of the loop, and the written loop has no
/// condition.
impl Operator for Loop {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let read = Loop::BOUNDS + self.carried as usize;
        let first = if self.trips < 0 { First::Own } else { First::Holds };
        let body = body(emitter, at, self.body, read, first)?;
        let mut inputs: Vec<String> = (0..read).map(|position| at.input(emitter, position)).collect();
        if self.trips >= 0 {
            inputs[0] = emitter.constant(&format!("{}_trips", at.name), &TensorData::scalar(self.trips));
            inputs[1] = String::new();
        }
        // Absent operands at the end are not written, and then the node would have too few operands.
        if inputs[1].is_empty() {
            inputs[1] = emitter.holds(&format!("{}_first", at.name));
        }
        let outputs = at.outputs(emitter);
        emitter.node("Loop", at.name, inputs, outputs, vec![graph("body", body)]);
        Ok(())
    }
}

/// Writes a graph of the node. The operands from position `read` on are outer values that the graph reads.
fn body(
    emitter: &mut Emitter<'_>,
    at: At<'_>,
    position: u32,
    read: usize,
    first: First,
) -> Result<GraphProto, WriteError> {
    let graph = emitter.module.graph(GraphId::new(position as usize));
    let graph = graph.ok_or_else(|| at.unwritable("a graph of it is not in the module"))?;
    let operands = at.inputs(emitter).into_iter().skip(read);
    let captured: Vec<String> = operands.collect();
    if captured.iter().any(String::is_empty) || captured.len() > graph.inputs().len() {
        return Err(at.unwritable("what its graph reads is absent"));
    }
    emitter.body(at.name, graph, &captured, first)
}
