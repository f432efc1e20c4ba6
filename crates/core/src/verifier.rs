//! The verifier: what holds in every graph, and what each stage adds.
//!
//! **Every stage**
//! 1. Operands and results exist; a result's `def` points back at its node; use lists are exactly the operands.
//! 2. There is no cycle.
//! 3. Element types and shapes are what inference says (with the fused element type); constants have their tensor's.
//! 4. No value has two definitions; graph inputs and outputs exist.

use crate::graph::{Def, Graph, Use};
use crate::ids::NodeId;
use crate::module::Module;
use std::collections::BTreeSet;

/// A broken invariant: a defect of a pass, or a damaged file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invariant {invariant} does not hold: {text}")]
pub struct Violation {
    /// The number in the list of the module's documentation.
    pub invariant: u8,
    /// Where, and how.
    pub text: String,
}

fn ensure(holds: bool, invariant: u8, text: impl FnOnce() -> String) -> Result<(), Violation> {
    if holds {
        Ok(())
    } else {
        Err(Violation {
            invariant,
            text: text(),
        })
    }
}

/// Verifies every graph of a module against the invariants of its stage.
pub fn verify(module: &Module) -> Result<(), Violation> {
    module.graphs.iter().try_for_each(|graph| verify_graph(module, graph))
}

fn verify_graph(module: &Module, graph: &Graph) -> Result<(), Violation> {
    for (id, node) in graph.nodes() {
        verify_edges(module, graph, id)?;
        let operands: Vec<_> = node
            .inputs
            .iter()
            .map(|input| input.and_then(|v| graph.value(v)).map(|v| &v.ty))
            .collect();
        if matches!(node.op, crate::Op::Foreign(_)) {
            continue;
        }
        let name = || module.name(node.name).to_string();
        match module.result_types(&node.op, &operands, node.fused.as_deref()) {
            Ok(types) => {
                let found: Vec<_> = node
                    .outputs
                    .iter()
                    .filter_map(|&v| graph.value(v))
                    .map(|v| &v.ty)
                    .collect();
                ensure(types.iter().collect::<Vec<_>>() == found, 3, || {
                    format!("{}: inferred {types:?}, found {found:?}", name())
                })?;
            }
            Err(reason) => return ensure(false, 3, || format!("{}: {reason}", name())),
        }
    }
    for (id, value) in graph.values() {
        if let Def::Data(data) = value.def {
            let tensor = module.data(data);
            ensure(tensor.is_some_and(|t| t.tensor_type() == value.ty), 3, || {
                format!("{id:?} is not what the pool has in {data:?}")
            })?;
        }
        let listed: BTreeSet<Use> = graph.uses(id).collect();
        let real = listed.iter().all(|u| {
            graph
                .node(u.node)
                .and_then(|n| n.inputs.get(usize::from(u.operand)).copied().flatten())
                == Some(id)
        });
        ensure(real, 1, || {
            format!("the use list of {id:?} names an operand that is another value")
        })?;
    }
    for &id in graph.inputs().iter().chain(graph.outputs()) {
        ensure(graph.value(id).is_some(), 4, || {
            format!("{id:?} is an input or output but was removed")
        })?;
    }
    let order = graph.topological_order();
    ensure(order.is_ok(), 2, || format!("{:?} lies on a cycle", order.err()))
}

fn verify_edges(module: &Module, graph: &Graph, id: NodeId) -> Result<(), Violation> {
    let Some(node) = graph.node(id) else { return Ok(()) };
    let name = || module.name(node.name).to_string();
    for (operand, input) in node.inputs.iter().enumerate() {
        let Some(value) = *input else { continue };
        ensure(graph.value(value).is_some(), 1, || {
            format!("{}: operand {operand} was removed", name())
        })?;
        let at = Use {
            node: id,
            operand: operand as u16,
        };
        ensure(graph.uses(value).any(|u| u == at), 1, || {
            format!("{}: operand {operand} is missing in the use list of {value:?}", name())
        })?;
    }
    for (position, &output) in node.outputs.iter().enumerate() {
        let def = graph.value(output).map(|v| v.def);
        ensure(def == Some(Def::Node(id, position as u8)), 1, || {
            format!("{}: result {position} is defined as {def:?}", name())
        })?;
    }
    Ok(())
}
