//! Variants of an annotated model in which only some operands and results are rounded. Their simulations show which part
//! of the quantization costs how much.

use std::sync::Arc;

use strait_core::{ConfigId, Def, Graph, Module, Move, NodeId, Placement, Port, QuantConfig, ValueId};
use strait_quantize::observe::Samples;

use crate::{
    Built, CompileError, Watch,
    built::Simulated,
    simulated::{Simulation, Start},
};

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

fn transition(module: &mut Module, id: ConfigId, to: Move) -> Result<(), CompileError> {
    let done = module.main_mut().quant.transition(id, to);
    done.map_err(CompileError::defect)
}

/// The float model on samples, from which single layers are simulated: only what depends on a layer runs again.
pub struct Apart<'a> {
    built: &'a Built,
    /// The annotated graph, with all configs excluded from quantization.
    float: Module,
    base: Simulated,
}

impl<'a> Apart<'a> {
    /// Runs the float model, and keeps values as [`Built::simulate`] does.
    ///
    /// # Errors
    /// Samples cannot be used, the model takes more than its limits allow, or the caller has asked to stop.
    pub fn new(built: &'a Built, samples: &Arc<dyn Samples>, watch: &dyn Watch) -> Result<Apart<'a>, CompileError> {
        let float = rounding_only(&built.annotated, |_| false)?;
        let base = Simulation::new(built, &float).run(Start::Anew, samples, watch)?;
        Ok(Apart { built, float, base })
    }

    /// The outputs of the float model, for each sample.
    pub fn float(&self) -> &[Vec<Arc<strait_execute::Tensor>>] {
        &self.base.outputs
    }

    /// The outputs if only these nodes are quantized: those of their operands (with weights and bias) and results for
    /// whose role `rounds` is true. All other nodes compute with real numbers.
    ///
    /// # Errors
    /// Errors of [`Apart::new`].
    pub fn alone(
        &self,
        nodes: &[NodeId],
        rounds: impl Fn(Role) -> bool,
        watch: &dyn Watch,
    ) -> Result<Simulated, CompileError> {
        let at = nodes.iter().flat_map(|&node| ports(&self.float, node));
        let ids = at.filter_map(|(node, port)| self.float.main().quant.id(node, port));
        self.rounding(ids, rounds, watch)
    }

    /// The outputs if only those operands and results of all nodes are rounded for whose role `rounds` is true.
    ///
    /// # Errors
    /// Errors of [`Apart::new`].
    pub fn only(&self, rounds: impl Fn(Role) -> bool, watch: &dyn Watch) -> Result<Simulated, CompileError> {
        let ids = self.float.main().quant.iter().map(|(id, _)| id);
        self.rounding(ids, rounds, watch)
    }

    /// The outputs if only those of the configs are rounded for whose role `rounds` is true.
    ///
    /// # Errors
    /// Errors of [`Apart::new`].
    pub(crate) fn rounding(
        &self,
        ids: impl Iterator<Item = ConfigId>,
        rounds: impl Fn(Role) -> bool,
        watch: &dyn Watch,
    ) -> Result<Simulated, CompileError> {
        let (mut module, graph) = (self.float.clone(), self.float.main());
        let role = |id: &ConfigId| Some(Role::of(graph, graph.quant.config(*id)?));
        for id in ids.filter(|id| role(id).is_some_and(&rounds)) {
            transition(&mut module, id, Move::Restore)?;
        }
        let simulation = Simulation::new(self.built, &module);
        simulation.run(Start::From(&self.base), &self.base.samples, watch)
    }
}

fn ports(module: &Module, id: NodeId) -> impl Iterator<Item = (NodeId, Port)> {
    let [operands, results] = module
        .main()
        .node(id)
        .map_or([0; 2], |node| [node.inputs.len(), node.outputs.len()]);
    let ports = (0..operands).map(Port::Operand).chain((0..results).map(Port::Result));
    ports.map(move |port| (id, port))
}
