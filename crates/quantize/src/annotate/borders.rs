//! Borders: inputs of the model that the host hands over in a type of their own.
//!
//! Where a rule names an input and a type, the codes that the host makes of the input have that type, and the layers that
//! want another one requantize them. What has the config of these codes is an `identity` in front of the layers.

use super::types::TypeWishes;
use strait_core::op::Identity;
use strait_core::{GraphId, Module, NewNode, Patch, PatchError, Source, ValueId};

/// Puts an `identity` behind each input of a graph that the wishes give a type, and lets it have that type.
///
/// # Errors
/// A defect of ours.
pub fn borders(module: &mut Module, graph: GraphId, types: &mut TypeWishes) -> Result<(), PatchError> {
    let Some(g) = module.graph(graph) else { return Ok(()) };
    let inputs: Vec<ValueId> = g.inputs().to_vec();
    for input in inputs {
        let Some(g) = module.graph(graph) else { return Ok(()) };
        let Some(reader) = g.uses(input).next().map(|at| at.node) else {
            continue;
        };
        let Some(wanted) = types.values.remove(&input).filter(|_| !g.is_output(input)) else {
            continue;
        };
        let patch = Patch {
            add: vec![NewNode::new(Identity {}, &[Some(Source::Old(input))], &[reader])],
            replace: vec![(input, Source::New(0, 0))],
            ..Patch::default()
        };
        let added = module.apply(graph, patch)?.added;
        types
            .activations
            .extend(added.into_iter().map(|node| (node, wanted.into())));
    }
    Ok(())
}
