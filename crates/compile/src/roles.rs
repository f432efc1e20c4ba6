//! What the configs of an annotated graph round: weights, biases or activations. A variant of a graph rounds only some of
//! them.

use strait_core::{ConfigId, Def, Graph, Module, Move, NodeId, Placement, QuantConfig, ValueId};

use crate::CompileError;

/// What a config rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A constant other than a bias.
    Weights,
    /// A constant that is added to accumulators.
    Bias,
    /// A tensor that is computed, or an input or output of the model.
    Activations,
    /// A tensor that passes between the accelerator and a node on the host.
    Host,
}

impl Role {
    /// The role of a config of this graph.
    pub fn of(graph: &Graph, config: &QuantConfig) -> Role {
        let Some(value) = graph.value_at(config.node, config.port) else {
            return Role::Activations;
        };
        match graph.data_of(value) {
            Some(_) if config.scheme.is_of_sums() => Role::Bias,
            Some(_) => Role::Weights,
            None if passes_to_host(graph, value) => Role::Host,
            None => Role::Activations,
        }
    }
}

/// True if a node on the host makes the value for the accelerator, or reads it from there.
fn passes_to_host(graph: &Graph, value: ValueId) -> bool {
    let is_host = |id: NodeId| Some(graph.node(id)?.place != Placement::Accelerator);
    let maker = match graph.value(value).map(|value| value.def) {
        Some(Def::Node(id, _)) => is_host(id),
        _ => None,
    };
    let mut places = maker
        .into_iter()
        .chain(graph.uses(value).filter_map(|at| is_host(at.node)));
    places.next().is_some_and(|first| places.any(|other| other != first))
}

/// An annotation of the same graph in which only those configs are rounded for which `rounds` is true. All others are
/// excluded from quantization.
///
/// # Errors
/// A defect of the compiler.
pub fn rounding_only(annotated: &Module, rounds: impl Fn(&QuantConfig) -> bool) -> Result<Module, CompileError> {
    let mut module = annotated.clone();
    let others = annotated.main().quant.iter().filter(|(_, config)| !rounds(config));
    for (id, _) in others {
        transition(&mut module, id, Move::Dequantize)?;
    }
    Ok(module)
}

pub(crate) fn transition(module: &mut Module, id: ConfigId, to: Move) -> Result<(), CompileError> {
    let done = module.main_mut().quant.transition(id, to);
    done.map_err(CompileError::defect)
}
