//! Variants of an annotated model in which only some operands and results are rounded. Their simulations show which part
//! of the quantization costs how much.

use std::sync::Arc;

use strait_core::{ConfigId, Module, Move, NodeId, Port};
use strait_quantize::observe::Samples;

use crate::{
    Built, CompileError, Watch,
    built::Simulated,
    roles::{Role, rounding_only, transition},
    simulated::{Simulation, Start},
};

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
