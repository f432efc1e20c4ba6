//! A file while it grows.

use crate::elements::number;
use crate::error::OnnxError;
use crate::proto::{
    AttributeProto, DimensionProto, GraphProto, NodeProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto,
    ValueInfoProto,
};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::graph::Def;
use strait_core::{Dim, Elem, Graph, Module, Names, TensorData, TensorType, ValueId};

/// Collects nodes and constants under unique names.
pub(super) struct Emitter<'m> {
    pub(super) module: &'m Module,
    pub(super) graph: &'m Graph,
    /// The operator set that is written.
    pub(super) opset: i64,
    values: BTreeMap<ValueId, String>,
    /// Scale and zero point of the values whose grid is written already.
    pub(super) grids: BTreeMap<ValueId, Vec<String>>,
    used: Names,
    used_by_nodes: Names,
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
    domains: BTreeSet<String>,
    inputs: Vec<ValueInfoProto>,
    outputs: Vec<ValueInfoProto>,
}

impl<'m> Emitter<'m> {
    /// Names every value: inputs and outputs first, so that theirs are the module's.
    pub(super) fn new(module: &'m Module, opset: i64) -> Result<Emitter<'m>, OnnxError> {
        let graph = module.main();
        let mut emitter = Emitter {
            module,
            graph,
            opset,
            values: BTreeMap::new(),
            grids: BTreeMap::new(),
            used: Names::default(),
            used_by_nodes: Names::default(),
            nodes: Vec::new(),
            initializers: Vec::new(),
            domains: BTreeSet::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        let interface = graph.inputs().iter().chain(graph.outputs()).copied();
        for id in interface.chain(graph.values().map(|(id, _)| id)) {
            if let (Some(value), false) = (graph.value(id), emitter.values.contains_key(&id)) {
                let name = emitter.fresh(module.name(value.name));
                emitter.values.insert(id, name);
            }
        }
        for &id in graph.inputs() {
            let info = emitter.info(id, emitter.value(id));
            emitter.inputs.push(info);
        }
        for (id, value) in graph.values() {
            let is_used = graph.uses(id).next().is_some() || graph.is_output(id);
            if let (Def::Data(data), true) = (value.def, is_used) {
                let tensor = module.data(data).ok_or_else(|| OnnxError::Unwritable {
                    node: emitter.value(id),
                    text: "its tensor is not in the pool".into(),
                })?;
                let name = emitter.value(id);
                emitter.initializers.push(tensor_proto(name, tensor));
            }
        }
        Ok(emitter)
    }

    // ---- names ----

    /// A name for a value: `base`, or `base_1`, `base_2`, … where it is taken.
    pub(super) fn fresh(&mut self, base: &str) -> String {
        fresh(&mut self.used, if base.is_empty() { "value" } else { base })
    }

    /// The name of a value of the module.
    pub(super) fn value(&self, id: ValueId) -> String {
        self.values.get(&id).cloned().unwrap_or_default()
    }

    /// The name of an operand; empty where it is absent.
    pub(super) fn operand(&self, id: Option<ValueId>) -> String {
        id.map(|id| self.value(id)).unwrap_or_default()
    }

    /// The type of a value.
    pub(super) fn ty(&self, id: Option<ValueId>) -> Option<&'m TensorType> {
        Some(&self.graph.value(id?)?.ty)
    }

    // ---- what the file consists of ----

    /// Adds a node of the standard domain; empty names at the end of `inputs` are dropped.
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
        self.nodes.push(NodeProto {
            input: inputs,
            output: outputs,
            name: fresh(&mut self.used_by_nodes, base),
            op_type: op.into(),
            attribute: attributes,
            overload: String::new(),
            domain: domain.into(),
        });
    }

    /// Adds a node with one result that the module does not have, and answers with the result's name.
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

    /// Adds a constant that the module does not have.
    pub(super) fn constant(&mut self, base: &str, tensor: &TensorData) -> String {
        let name = self.fresh(base);
        self.initializers.push(tensor_proto(name.clone(), tensor));
        name
    }

    /// Adds a list of integers as a constant.
    pub(super) fn ints(&mut self, base: &str, values: &[i64]) -> String {
        let name = self.fresh(base);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.initializers.push(TensorProto {
            dims: vec![values.len() as i64],
            data_type: number(Elem::I64),
            name: name.clone(),
            raw_data: Some(bytes.into()),
            ..TensorProto::default()
        });
        name
    }

    /// Adds one number of the element type `elem` as a constant; `None` where the type cannot hold it.
    pub(super) fn scalar(&mut self, base: &str, elem: Elem, value: f32) -> Option<String> {
        let in_range = |low: f32, high: f32| value.fract() == 0.0 && (low..=high).contains(&value);
        let tensor = match elem {
            Elem::F32 => TensorData::scalar(value),
            Elem::F64 => TensorData::scalar(f64::from(value)),
            Elem::I8 if in_range(-128.0, 127.0) => TensorData::scalar(value as i8),
            Elem::U8 if in_range(0.0, 255.0) => TensorData::scalar(value as u8),
            Elem::F16 => {
                let bits = half::f16::from_f32(value).to_le_bytes();
                TensorData::new(elem, &[], bits.to_vec().into()).ok()?
            }
            _ => return None,
        };
        Some(self.constant(base, &tensor))
    }

    fn info(&self, id: ValueId, name: String) -> ValueInfoProto {
        let tensor_type = self.ty(Some(id)).map(|ty| TensorTypeProto {
            elem_type: number(ty.elem),
            shape: Some(TensorShapeProto {
                dim: ty.shape.iter().map(|dim| self.dimension(*dim)).collect(),
            }),
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

    /// The graph, and the domains of its foreign nodes.
    pub(super) fn finish(mut self) -> Result<(GraphProto, BTreeSet<String>), OnnxError> {
        let mut named = BTreeSet::new();
        for &id in self.graph.outputs() {
            let is_result = self.graph.value(id).is_some_and(|v| matches!(v.def, Def::Node(..)));
            let mut name = self.value(id);
            // ONNX wants every output once, and as the result of a node.
            if !is_result || !named.insert(name.clone()) {
                name = self.step("Identity", &name.clone(), vec![name], Vec::new());
            }
            let info = self.info(id, name);
            self.outputs.push(info);
        }
        let results = self
            .graph
            .values()
            .filter(|(id, value)| matches!(value.def, Def::Node(..)) && !self.graph.is_output(*id));
        let value_info = results.map(|(id, _)| self.info(id, self.value(id))).collect();
        let graph = GraphProto {
            node: self.nodes,
            name: self.module.name(self.graph.name).into(),
            initializer: self.initializers,
            input: self.inputs,
            output: self.outputs,
            value_info,
            sparse_initializer: Vec::new(),
        };
        Ok((graph, self.domains))
    }
}

fn fresh(names: &mut Names, base: &str) -> String {
    let symbol = names.fresh(base);
    names.text(symbol).to_owned()
}

/// A tensor as a message; the bytes are shared.
pub(super) fn tensor_proto(name: String, tensor: &TensorData) -> TensorProto {
    TensorProto {
        dims: tensor.shape().iter().map(|&d| d as i64).collect(),
        data_type: number(tensor.elem()),
        name,
        raw_data: Some(tensor.bytes().clone()),
        ..TensorProto::default()
    }
}
