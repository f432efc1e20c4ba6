//! Writes graphs: the main graph, and the graphs inside of nodes.

use super::attributes::{Value, attribute};
use super::emitter::{Emitter, Scope, tensor_proto, truth};
use super::main_graph::MainGraph;
use super::{codes, ops, weights};
use crate::elements::number;
use crate::error::WriteError;
use crate::proto::{DimensionProto, GraphProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::graph::Def;
use strait_core::{Dim, Graph, ValueId};

/// How deep graphs may be nested. Each level of graphs nests messages three levels deeper, and decoders accept 100
/// levels of messages.
const DEEPEST: usize = 30;

/// The largest number of graphs that are written inside of nodes. If several nodes refer to a graph, it is written
/// several times.
const MOST_BODIES: usize = 1 << 12;

/// What is written as the first output of a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// The first output that the graph has in the module.
    Own,
    /// The constant `true`, whatever output the graph has in the module.
    Holds,
}

impl<'m> Scope<'m> {
    pub(super) fn new(graph: &'m Graph) -> Scope<'m> {
        Scope {
            graph,
            values: BTreeMap::new(),
            grids: BTreeMap::new(),
            turned: weights::turned(graph),
            packed: BTreeSet::new(),
            packed_grids: BTreeMap::new(),
            nodes: Vec::new(),
            initializers: Vec::new(),
        }
    }
}

impl<'m> Emitter<'m> {
    /// The main graph of the module.
    pub(super) fn main(&mut self) -> Result<MainGraph, WriteError> {
        let graph = self.module.main();
        let rest = self.written(graph, &[], First::Own)?;
        let mut main = std::mem::replace(&mut self.main, MainGraph::new());
        main.set_ports(rest.name, rest.input, rest.output);
        if self.is_kept {
            // Large graphs have as many types as nodes, so these are encoded one by one, too.
            self.results(graph).for_each(|info| main.value_info.add(info, false));
        }
        Ok(main)
    }

    /// Writes a graph inside of the node `node`. In the IR, the last inputs of the graph receive outer values;
    /// `captured` has the names of these values. In ONNX, a graph reads outer values by name, so these inputs are not
    /// written.
    pub(super) fn body(
        &mut self,
        node: &str,
        graph: &'m Graph,
        captured: &[String],
        first: First,
    ) -> Result<GraphProto, WriteError> {
        self.bodies += 1;
        if self.depth == DEEPEST || self.bodies > MOST_BODIES {
            return Err(WriteError::Unwritable {
                node: node.into(),
                text: "the graphs inside of each other are too many or too deep".into(),
            });
        }
        let around = std::mem::replace(&mut self.scope, Scope::new(graph));
        self.depth += 1;
        let body = self.written(graph, captured, first);
        self.depth -= 1;
        self.scope = around;
        body
    }

    /// Names all values of a graph and writes its nodes. Inputs and outputs are named first, so that they keep the
    /// module's names. The current scope must belong to the graph, and nothing may have been written to it yet.
    fn written(&mut self, graph: &'m Graph, captured: &[String], first: First) -> Result<GraphProto, WriteError> {
        let (own, outer) = graph
            .inputs()
            .split_at(graph.inputs().len().saturating_sub(captured.len()));
        self.scope
            .values
            .extend(outer.iter().copied().zip(captured.iter().cloned()));
        let interface = own.iter().chain(graph.outputs()).copied();
        for id in interface.chain(graph.values().map(|(id, _)| id)) {
            if let (Some(value), false) = (graph.value(id), self.scope.values.contains_key(&id)) {
                let name = self.fresh(self.module.name(value.name));
                self.scope.values.insert(id, name);
            }
        }
        if self.on_codes {
            self.scope.packed = codes::packed(graph);
        }
        for (id, value) in graph.values() {
            let is_read = graph.uses(id).next().is_some() && !self.scope.packed.contains(&id);
            let is_used = is_read || graph.is_output(id);
            if let (Def::Data(data), true) = (value.def, is_used) {
                let name = self.value(id);
                let Some(tensor) = self.module.data(data) else {
                    return Err(WriteError::Unwritable {
                        node: name,
                        text: "its tensor is not in the pool".into(),
                    });
                };
                let tensor = match self.is_turned(Some(id)) {
                    true => &weights::transpose(tensor).map_err(|error| WriteError::Unwritable {
                        node: name.clone(),
                        text: error.to_string(),
                    })?,
                    false => tensor,
                };
                self.scope.initializers.push(tensor_proto(name, tensor));
                self.settle();
            }
        }
        if self.on_codes {
            codes::share_names(self)?;
        }
        let order = graph.topological_order().map_err(|id| WriteError::Unwritable {
            node: format!("{id}"),
            text: "the graph has a cycle".into(),
        })?;
        for node in order.into_iter().filter_map(|id| graph.node(id)) {
            ops::node(self, node)?;
            self.settle();
        }
        let output = self.outputs(graph, first);
        self.settle();
        Ok(GraphProto {
            value_info: match self.depth {
                0 => Vec::new(),
                _ => self.results(graph).collect(),
            },
            node: std::mem::take(&mut self.scope.nodes),
            name: self.module.name(graph.name).into(),
            initializer: std::mem::take(&mut self.scope.initializers),
            input: own.iter().map(|&id| self.info(id, self.value(id))).collect(),
            output,
            sparse_initializer: Vec::new(),
        })
    }

    /// Declares the results of the nodes, apart from the outputs of the graph. Two values share a name if an op between them
    /// changes nothing and is not written.
    fn results(&self, graph: &'m Graph) -> impl Iterator<Item = ValueInfoProto> {
        let mut told = BTreeSet::new();
        let results = graph
            .values()
            .filter(|(id, value)| matches!(value.def, Def::Node(..)) && !graph.is_output(*id))
            .filter(|(id, _)| !self.scope.packed.contains(id))
            .map(|(id, _)| (id, self.scope.values.get(&id).map_or("", String::as_str)));
        results
            .filter(move |(_, name)| told.insert(*name))
            .map(|(id, name)| self.info(id, name.to_owned()))
    }

    /// Returns the declarations of the outputs. In ONNX, no output may appear twice, and an output of a graph inside of
    /// a node must be the result of one of its nodes, so copies are added. The main graph may return an input or a
    /// constant directly; the input or constant then keeps its name.
    fn outputs(&mut self, graph: &Graph, first: First) -> Vec<ValueInfoProto> {
        let (mut named, mut outputs) = (BTreeSet::new(), Vec::new());
        for (position, &id) in graph.outputs().iter().enumerate() {
            let is_result = self.depth == 0 || graph.value(id).is_some_and(|v| matches!(v.def, Def::Node(..)));
            let mut name = self.value(id);
            if position == 0 && first == First::Holds {
                let truth = attribute("value", Value::Tensor(Box::new(truth(String::new()))));
                name = self.step("Constant", &name, Vec::new(), vec![truth]);
            } else if !is_result || !named.insert(name.clone()) {
                name = self.step("Identity", &name.clone(), vec![name], Vec::new());
            }
            outputs.push(self.info(id, name));
        }
        outputs
    }

    fn info(&self, id: ValueId, name: String) -> ValueInfoProto {
        let tensor_type = self.ty(Some(id)).map(|ty| {
            let mut dim: Vec<DimensionProto> = ty.shape.iter().map(|dim| self.dimension(*dim)).collect();
            if self.is_turned(Some(id)) {
                dim.reverse();
            }
            TensorTypeProto {
                elem_type: number(ty.elem),
                shape: Some(TensorShapeProto { dim }),
            }
        });
        ValueInfoProto {
            name,
            value_type: Some(TypeProto { tensor_type }),
        }
    }

    fn dimension(&self, dim: Dim) -> DimensionProto {
        match dim {
            Dim::Fixed(extent) => DimensionProto {
                dim_value: Some(extent as i64),
                dim_param: None,
            },
            Dim::Named(symbol) => DimensionProto {
                dim_value: None,
                dim_param: Some(self.module.name(symbol).into()),
            },
        }
    }
}
