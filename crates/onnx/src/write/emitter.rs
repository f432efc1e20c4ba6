//! Builds the file that is being written.

use super::attributes::{Value, attribute};
use super::main_graph::MainGraph;
use crate::elements::number;
use crate::error::WriteError;
use crate::proto::{AttributeProto, FunctionProto, NodeProto, OperatorSetIdProto, TensorProto};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{Elem, F16, Graph, Module, Names, TensorData, TensorType, ValueId};

pub(super) use crate::read::RUNTIME_DOMAIN;

/// Collects the nodes and constants that are written. Their names are unique across all graphs of the file.
pub(super) struct Emitter<'m> {
    pub(super) module: &'m Module,
    /// The operator set that the file states.
    pub(super) opset: i64,
    /// The graph that is being written.
    pub(super) scope: Scope<'m>,
    /// What has been written of the main graph.
    pub(super) main: MainGraph,
    /// False if it is only asked whether the graph can be written: then nothing is kept of the main graph.
    pub(super) is_kept: bool,
    /// True if nodes compute on codes, by quantized operators.
    pub(super) on_codes: bool,
    pub(super) depth: usize,
    pub(super) bodies: usize,
    /// True if the file has a matrix product of real numbers whose weights are dequantized from codes (weight-only
    /// quantization).
    pub(super) weight_only: bool,
    /// The operators of ONNX Runtime's domain that the file uses, each with its definition as a function.
    pub(super) functions: Vec<FunctionProto>,
    used: Names,
    used_by_nodes: Names,
    /// The domains of all foreign nodes.
    pub(super) domains: BTreeSet<String>,
}

/// The parts of one graph that have been written so far.
pub(super) struct Scope<'m> {
    pub(super) graph: &'m Graph,
    pub(super) values: BTreeMap<ValueId, String>,
    /// The names of scale and zero point, for values whose grid has already been written.
    pub(super) grids: BTreeMap<ValueId, Vec<String>>,
    /// The matrices that are written transposed.
    pub(super) turned: BTreeSet<ValueId>,
    /// The codes and the real numbers that are written as operands of operators with weights by block.
    pub(super) packed: BTreeSet<ValueId>,
    /// The names of scales and zero points of packed codes.
    pub(super) packed_grids: BTreeMap<ValueId, Vec<String>>,
    pub(super) nodes: Vec<NodeProto>,
    pub(super) initializers: Vec<TensorProto>,
}

impl<'m> Emitter<'m> {
    pub(super) fn new(module: &'m Module, opset: i64) -> Emitter<'m> {
        Emitter {
            module,
            opset,
            scope: Scope::new(module.main()),
            main: MainGraph::new(),
            is_kept: true,
            on_codes: false,
            depth: 0,
            bodies: 0,
            weight_only: false,
            functions: Vec::new(),
            used: Names::default(),
            used_by_nodes: Names::default(),
            domains: BTreeSet::new(),
        }
    }

    /// The graph that is being written.
    pub(super) fn graph(&self) -> &'m Graph {
        self.scope.graph
    }

    // ---- names ----

    /// A unique name for a value: `base`, or if that is taken `base_1`, `base_2`, …
    pub(super) fn fresh(&mut self, base: &str) -> String {
        fresh(&mut self.used, if base.is_empty() { "value" } else { base })
    }

    /// The name that a value of the module has in the file.
    pub(super) fn value(&self, id: ValueId) -> String {
        self.scope.values.get(&id).cloned().unwrap_or_default()
    }

    /// The name that an operand has in the file; empty if the operand is absent.
    pub(super) fn operand(&self, id: Option<ValueId>) -> String {
        id.map(|id| self.value(id)).unwrap_or_default()
    }

    /// The type of a value.
    pub(super) fn ty(&self, id: Option<ValueId>) -> Option<&'m TensorType> {
        Some(&self.scope.graph.value(id?)?.ty)
    }

    // ---- parts of the file ----

    /// Moves what has been written of the main graph to its place. The parts of other graphs stay in their scope.
    pub(super) fn settle(&mut self) {
        if self.depth > 0 {
            return;
        }
        let (nodes, initializers) = (self.scope.nodes.drain(..), self.scope.initializers.drain(..));
        if self.is_kept {
            nodes.for_each(|node| self.main.add_node(node));
            initializers.for_each(|tensor| self.main.add_initializer(tensor));
        }
    }

    /// Adds a node of the standard domain. Empty names at the end of `inputs` are dropped.
    pub(super) fn node(
        &mut self,
        op: &str,
        base: &str,
        inputs: Vec<String>,
        outputs: Vec<String>,
        attributes: Vec<AttributeProto>,
    ) {
        self.node_of("", op, base, inputs, outputs, attributes);
    }

    /// Adds a node of any domain.
    pub(super) fn node_of(
        &mut self,
        domain: &str,
        op: &str,
        base: &str,
        mut inputs: Vec<String>,
        outputs: Vec<String>,
        attributes: Vec<AttributeProto>,
    ) {
        while inputs.last().is_some_and(String::is_empty) {
            inputs.pop();
        }
        if !domain.is_empty() {
            self.domains.insert(domain.into());
        }
        self.scope.nodes.push(NodeProto {
            input: inputs,
            output: outputs,
            name: fresh(&mut self.used_by_nodes, base),
            op_type: op.into(),
            attribute: attributes,
            overload: String::new(),
            domain: domain.into(),
        });
    }

    /// Adds a node that is not in the module, with one result. Returns the name of the result.
    pub(super) fn step(
        &mut self,
        op: &str,
        base: &str,
        inputs: Vec<String>,
        attributes: Vec<AttributeProto>,
    ) -> String {
        let output = self.fresh(base);
        self.node(op, base, inputs, vec![output.clone()], attributes);
        output
    }

    /// Defines the operator `name` of ONNX Runtime's domain, unless it is already defined. `write` gets the names of
    /// the operand and the result, and adds the nodes of the definition.
    pub(super) fn define(
        &mut self,
        name: &str,
        attributes: &[AttributeProto],
        write: impl FnOnce(&mut Self, String, String) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        if self.functions.iter().any(|function| function.name == name) {
            return Ok(());
        }
        let inside = Scope::new(self.scope.graph);
        let around = std::mem::replace(&mut self.scope, inside);
        let [x, y] = ["x", "y"].map(|base| self.fresh(base));
        let written = write(self, x.clone(), y.clone());
        let inside = std::mem::replace(&mut self.scope, around);
        // A function cannot have initializers, so its constants become nodes.
        let constants = inside.initializers.into_iter().map(|tensor| NodeProto {
            output: vec![tensor.name.clone()],
            op_type: "Constant".into(),
            attribute: vec![attribute("value", Value::Tensor(Box::new(tensor)))],
            ..NodeProto::default()
        });
        self.functions.push(FunctionProto {
            name: name.into(),
            input: vec![x],
            output: vec![y],
            attribute: attributes.iter().map(|attribute| attribute.name.clone()).collect(),
            node: constants.chain(inside.nodes).collect(),
            opset_import: vec![OperatorSetIdProto {
                domain: String::new(),
                version: self.opset,
            }],
            domain: RUNTIME_DOMAIN.into(),
            ..FunctionProto::default()
        });
        written
    }

    /// Adds to the file a constant that the module does not have. Returns the name of the constant.
    pub(super) fn constant(&mut self, base: &str, tensor: &TensorData) -> String {
        let name = self.fresh(base);
        self.scope.initializers.push(tensor_proto(name.clone(), tensor));
        name
    }

    /// Adds a list of integers to the file as a constant. Returns its name.
    pub(super) fn ints(&mut self, base: &str, values: &[i64]) -> String {
        let name = self.fresh(base);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.scope.initializers.push(TensorProto {
            dims: vec![values.len() as i64],
            data_type: number(Elem::I64),
            name: name.clone(),
            raw_data: Some(bytes.into()),
            ..TensorProto::default()
        });
        name
    }

    /// Adds the boolean `true` to the file as a constant. Returns its name.
    pub(super) fn holds(&mut self, base: &str) -> String {
        let name = self.fresh(base);
        self.scope.initializers.push(truth(name.clone()));
        name
    }

    /// Adds a single number of element type `elem` to the file as a constant. Returns its name, or `None` if the type
    /// cannot represent the number.
    pub(super) fn scalar(&mut self, base: &str, elem: Elem, value: f32) -> Option<String> {
        let in_range = |low: f32, high: f32| value.fract() == 0.0 && (low..=high).contains(&value);
        let tensor = match elem {
            Elem::F32 => TensorData::scalar(value),
            Elem::F64 => TensorData::scalar(f64::from(value)),
            Elem::I8 if in_range(-128.0, 127.0) => TensorData::scalar(value as i8),
            Elem::U8 if in_range(0.0, 255.0) => TensorData::scalar(value as u8),
            Elem::F16 => {
                let bits = F16.encode(value.into()).to_le_bytes();
                TensorData::new(elem, &[], bits.to_vec().into()).ok()?
            }
            _ => return None,
        };
        Some(self.constant(base, &tensor))
    }
}

fn fresh(names: &mut Names, base: &str) -> String {
    let symbol = names.fresh(base);
    names.text(symbol).to_owned()
}

/// The message for a tensor. The bytes are shared, not copied.
pub(super) fn tensor_proto(name: String, tensor: &TensorData) -> TensorProto {
    TensorProto {
        dims: tensor.shape().iter().map(|&d| d as i64).collect(),
        data_type: number(tensor.elem()),
        name,
        raw_data: Some(tensor.bytes().clone()),
        ..TensorProto::default()
    }
}

/// The message for a constant with the boolean `true`.
pub(super) fn truth(name: String) -> TensorProto {
    TensorProto {
        data_type: number(Elem::Bool),
        name,
        raw_data: Some(bytes::Bytes::from_static(&[1])),
        ..TensorProto::default()
    }
}
