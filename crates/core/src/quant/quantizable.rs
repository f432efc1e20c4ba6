//! One node as the owner of its configs: taken out of quantization and back, baked, edited, copied.

use super::config::{Derivation, Move, Origin, State};
use super::port::Port;
use super::table::{IllegalMove, QuantTable};
use crate::graph::{Def, Graph};
use crate::ids::{ConfigId, DataId, GraphId, NodeId, ValueId};
use crate::module::Module;
use crate::tensor::TensorData;
use crate::use_list::Use;

/// A node of an annotated graph, with what can be done to its quantization as a whole.
///
/// The real numbers of a parameter stay where they are while it has codes; its config says which of both are read. So
/// [`QuantizableOp::dequantize`] and [`QuantizableOp::restore`] move no tensor, and undo each other to the bit.
#[derive(Debug)]
pub struct QuantizableOp<'m> {
    module: &'m mut Module,
    graph: GraphId,
    node: NodeId,
}

/// Reason why a parameter was not edited. Nothing is changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// An operand that is no constant.
    #[error("operand {0} is no constant")]
    NotConstant(usize),
    /// Another element type or shape than the parameter's.
    #[error("operand {0} has another type or shape")]
    Type(usize),
    /// Codes that were given rest on it: they would not be those of the new numbers.
    #[error("{port} of {node} has codes that were given")]
    Given {
        /// The node.
        node: NodeId,
        /// Its operand.
        port: Port,
    },
    /// The grid would be made anew, and operands of other nodes read it, too.
    #[error("the grid of operand {0} is read by other nodes")]
    Shared(usize),
    /// A transition that there is not.
    #[error(transparent)]
    Move(#[from] IllegalMove),
}

impl<'m> QuantizableOp<'m> {
    /// A node of a graph, if it is there.
    pub fn new(module: &'m mut Module, graph: GraphId, node: NodeId) -> Option<QuantizableOp<'m>> {
        module.graph(graph)?.node(node)?;
        Some(QuantizableOp { module, graph, node })
    }

    fn graph(&self) -> &Graph {
        &self.module.graphs[self.graph.index()]
    }

    fn table(&mut self) -> &mut QuantTable {
        &mut self.module.graphs[self.graph.index()].quant
    }

    fn operand(&self, index: usize) -> Option<ValueId> {
        self.graph().node(self.node)?.inputs.get(index).copied().flatten()
    }

    /// The configs of its operands, then those of its results.
    pub fn configs(&self) -> Vec<(Port, ConfigId)> {
        let Some(node) = self.graph().node(self.node) else {
            return Vec::new();
        };
        let operands = (0..node.inputs.len()).map(Port::Operand);
        let ports = operands.chain((0..node.outputs.len()).map(Port::Result));
        let table = &self.graph().quant;
        ports
            .filter_map(|port| Some((port, table.id(self.node, port)?)))
            .collect()
    }

    /// The tensor that the node reads for a constant operand: its codes where it is baked, else its real numbers.
    pub fn parameter(&self, index: usize) -> Option<&TensorData> {
        let data = self.graph().data_of(self.operand(index)?)?;
        let codes = self.graph().quant.baked(self.node, Port::Operand(index));
        self.module.data(codes.unwrap_or(data))
    }

    /// Takes all of its configs out of quantization. What is out already stays so.
    pub fn dequantize(&mut self) {
        for (_, id) in self.configs() {
            // It is allowed in every state.
            let _ = self.table().transition(id, Move::Dequantize);
        }
    }

    /// Undoes [`QuantizableOp::dequantize`]; what is not out stays as it is.
    pub fn restore(&mut self) {
        for (_, id) in self.configs() {
            // It is refused to those that are not float.
            let _ = self.table().transition(id, Move::Restore);
        }
    }

    /// Turns its parameters, the constant operands that have a grid of codes and are not baked yet, into codes: those that
    /// were given, else those that `codes` puts into the pool. Codes belong to a config: nodes that share a value on different
    /// grids have different ones of it.
    ///
    /// # Errors
    /// Those of `codes`, and transitions that there are not. Parameters in front of it are baked then.
    pub fn bake<E: From<IllegalMove>>(
        &mut self,
        mut codes: impl FnMut(&mut Module, ConfigId) -> Result<DataId, E>,
    ) -> Result<(), E> {
        for (port, id) in self.configs() {
            let Port::Operand(index) = port else { continue };
            let table = &self.graph().quant;
            let (state, root) = (table.state(id), table.root(id));
            let scheme = table.config(id).map(|config| config.scheme);
            let open = matches!(state, Some(State::Activated | State::Overlapped | State::Passive))
                && scheme.is_some_and(|scheme| scheme.has_codes());
            let constant = self.operand(index).and_then(|value| self.graph().data_of(value));
            if !open || constant.is_none() || table.grid(id).is_none() {
                continue;
            }
            if state == Some(State::Overlapped) {
                // The grid of a set is read as a derivation from here on, so that the config can have codes of its own.
                self.table().transition(id, Move::MasteredBy(Derivation::Same(root)))?;
            }
            let made = match self.graph().quant.codes(id) {
                Some(given) => given.data,
                None => codes(self.module, id)?,
            };
            self.table().transition(id, Move::Bake(made))?;
        }
        Ok(())
    }

    /// Makes edited real numbers those of a constant operand. What depends on them is to be derived anew: codes that rest on
    /// its grid go, and so does the grid, where it was observed; a bias stays derived from it. Other readers of the value
    /// keep the old numbers.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn store(&mut self, index: usize, tensor: TensorData) -> Result<(), StoreError> {
        let (graph, port) = (self.graph(), Port::Operand(index));
        let value = self.operand(index).filter(|value| graph.data_of(*value).is_some());
        let value = value.ok_or(StoreError::NotConstant(index))?;
        let fits = graph.value(value).is_some_and(|value| value.ty == tensor.tensor_type());
        fits.then_some(()).ok_or(StoreError::Type(index))?;
        let config = graph.quant.id(self.node, port);
        let dependents = config.map(|id| graph.quant.dependents(id)).unwrap_or_default();
        for &id in &dependents {
            if let Some(config) = graph
                .quant
                .config(id)
                .filter(|config| config.codes.is_some_and(|c| c.given))
            {
                let (node, port) = (config.node, config.port);
                return Err(StoreError::Given { node, port });
            }
        }
        let reset = config.filter(|&id| {
            let own = graph.quant.config(id).and_then(|config| config.own.as_ref());
            own.is_some_and(|grid| matches!(grid.origin, Origin::Observed | Origin::Coarsened))
        });
        if reset.is_some_and(|id| self.is_read_elsewhere(id)) {
            return Err(StoreError::Shared(index));
        }
        for id in dependents {
            self.awake(id, Move::Unbake)?;
        }
        if let Some(id) = reset {
            self.awake(id, Move::Reset)?;
        }
        let data = self.module.add_data(tensor);
        self.put(index, value, data);
        Ok(())
    }

    /// True if configs of other nodes read the grid of `id`.
    fn is_read_elsewhere(&self, id: ConfigId) -> bool {
        let table = &self.graph().quant;
        let reads = |other: ConfigId| {
            let derivation = table.derivation(other);
            let mut masters = derivation.into_iter().flat_map(Derivation::masters);
            table.root(other) == id || masters.any(|master| table.root(master) == id)
        };
        let mut others = table.iter().filter(|(_, config)| config.node != self.node);
        others.any(|(other, _)| reads(other))
    }

    /// Does to a config what is not done while it is float.
    fn awake(&mut self, id: ConfigId, request: Move) -> Result<(), IllegalMove> {
        let float = self.graph().quant.state(id) == Some(State::Float);
        let table = self.table();
        if float {
            table.transition(id, Move::Restore)?;
        }
        let done = table.transition(id, request);
        if float {
            table.transition(id, Move::Dequantize)?;
        }
        done
    }

    /// Lets an operand be a tensor of the pool: in its value, or in one of its own where others use that.
    fn put(&mut self, index: usize, value: ValueId, data: DataId) {
        let graph = &mut self.module.graphs[self.graph.index()];
        let Some(old) = graph.value(value).cloned() else { return };
        if graph.only_use(value).is_some() {
            if let Some(entry) = graph.values.get_mut(value.index()).and_then(Option::as_mut) {
                entry.def = Def::Data(data);
            }
            return;
        }
        let base = self.module.names.text(old.name).to_owned();
        let name = self.module.names.fresh(&base);
        let own = graph.add_data(name, old.ty, None, data);
        let at = Use {
            node: self.node,
            // A node has no more operands than that.
            operand: index as u16,
        };
        graph.redirect(at, own);
    }

    /// Appends the same node once more, on the same operands, with results of its own that nothing reads; its configs are
    /// those of the node: grids of others are shared, its own ones and the codes are the same.
    ///
    /// # Errors
    /// A transition that there is not: none, while the verifier holds.
    pub fn copy(&mut self) -> Result<Option<NodeId>, IllegalMove> {
        let Some(node) = self.graph().node(self.node).cloned() else {
            return Ok(None);
        };
        let results: Vec<_> = node.outputs.iter().filter_map(|&id| self.graph().value(id)).collect();
        let results: Vec<_> = results
            .into_iter()
            .map(|value| (value.name, value.ty.clone()))
            .collect();
        let names = &mut self.module.names;
        let mut fresh = |symbol| {
            let base = names.text(symbol).to_owned();
            names.fresh(&base)
        };
        let name = fresh(node.name);
        let results = results.into_iter().map(|(name, ty)| (fresh(name), ty, None)).collect();
        let configs = self.configs();
        let graph = &mut self.module.graphs[self.graph.index()];
        let copy = graph.add_node(name, node.op, &node.inputs, results);
        graph.set_sources(copy, &node.sources);
        graph.set_fused(copy, node.fused.map(|fused| *fused), node.place);
        self.copy_configs(&configs, copy)?;
        Ok(Some(copy))
    }

    fn copy_configs(&mut self, configs: &[(Port, ConfigId)], copy: NodeId) -> Result<(), IllegalMove> {
        let table = self.table();
        let mut pairs = Vec::with_capacity(configs.len());
        for &(port, old) in configs {
            if let Some(scheme) = table.config(old).map(|config| config.scheme) {
                pairs.push((old, table.add(copy, port, scheme)));
            }
        }
        let other = |id: ConfigId| pairs.iter().find(|(old, _)| *old == id).map_or(id, |(_, new)| *new);
        // Grids in front of those that follow them, and codes behind both.
        for &(old, new) in &pairs {
            if let Some(own) = table.config(old).and_then(|config| config.own.clone()) {
                table.transition(new, Move::Activate(own))?;
            }
        }
        for &(old, new) in &pairs {
            let root = table.root(old);
            let derivation = table.derivation(old).filter(|_| root == old);
            if root != old {
                table.transition(new, Move::DominatedBy(other(root)))?;
            } else if let Some(derivation) = derivation {
                table.transition(
                    new,
                    Move::MasteredBy(match derivation {
                        Derivation::Same(of) => Derivation::Same(other(of)),
                        Derivation::Product(one, another) => Derivation::Product(other(one), other(another)),
                        Derivation::Shifted(of, bits) => Derivation::Shifted(other(of), bits),
                    }),
                )?;
            }
        }
        for &(old, new) in &pairs {
            let Some(config) = table.config(old).cloned() else {
                continue;
            };
            let float = config.state == State::Float;
            let state = if float { config.stored } else { config.state };
            if let Some(codes) = config.codes {
                if codes.given {
                    table.transition(new, Move::Give(codes.data))?;
                }
                if matches!(state, State::Baked | State::PassiveBaked) {
                    table.transition(new, Move::Bake(codes.data))?;
                }
            }
            if float {
                table.transition(new, Move::Dequantize)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
