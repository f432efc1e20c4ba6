//! Some nodes of a simulation as a graph of its own, so that the simulation can be run piece by piece while parameters of
//! later nodes still change.

use crate::error::LowerError;
use crate::part::Part;
use crate::simulate::{Parameters, Simulation};
use crate::walk::Build;
use strait_core::{Failure, Module, NodeId, ValueId};
use strait_target::TargetSpec;

/// Some nodes of a graph, and what a run of them should return.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// The nodes, in the order of the graph.
    pub nodes: Vec<NodeId>,
    /// The values that the run reads and none of the nodes makes. They are the inputs of the segment's graph.
    pub inputs: Vec<ValueId>,
    /// Values that the run returns before they are rounded, as the inputs of a later segment.
    pub values: Vec<ValueId>,
    /// Operands that the run returns as their nodes read them: each is a node, and the index of one of its operands. The
    /// node itself does not have to be in the segment.
    pub operands: Vec<(NodeId, usize)>,
}

/// Makes the simulation of a segment, in the same way as [`simulate`](crate::simulate). The outputs of its graph are first
/// the values and then the operands of the segment.
///
/// # Errors
/// A defect of the compiler: a node needs a value that the segment neither makes nor has as an input.
pub fn simulate_segment(
    annotated: &Module,
    spec: Option<&TargetSpec>,
    parameters: Parameters,
    segment: &Segment,
) -> Result<Module, LowerError> {
    let mut simulation = Simulation::new(annotated, spec, parameters);
    let done = run(&mut simulation, segment);
    done.map_err(|failure| LowerError::Ours(failure.to_string()))?;
    Ok(simulation.walk.out)
}

fn run(simulation: &mut Simulation<'_>, segment: &Segment) -> Result<(), Failure> {
    simulation.run(&Part {
        nodes: segment.nodes.clone(),
        inputs: segment.inputs.clone(),
        outputs: Vec::new(),
    })?;
    for &value in &segment.values {
        let made = simulation.walk.plain(value)?;
        simulation.walk.out.main_mut().add_output(made);
    }
    for &(id, index) in &segment.operands {
        let value = simulation.walk.graph.node(id).and_then(|node| node.input(index));
        let value = value.ok_or_else(|| Failure::defect("an operand is missing"))?;
        let made = simulation.operand(id, index, value)?;
        simulation.walk.out.main_mut().add_output(made);
    }
    Ok(())
}
