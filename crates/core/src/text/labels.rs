//! The names that the parts of a module have in a text. If several parts have the same name, they are numbered.

use super::lexer::{is_plain_name, quoted};
use crate::attribute::Attribute;
use crate::graph::{Graph, Value};
use crate::ids::{DataId, NodeId, ValueId};
use crate::module::Module;
use crate::quant::{Parameter, ParameterCodes, QuantParams};
use crate::shape::TensorType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A constant as it appears in a `data` line.
pub(super) struct Constant {
    pub(super) label: String,
    name: String,
    pub(super) data: DataId,
    pub(super) ty: TensorType,
    pub(super) quant: Option<Arc<QuantParams>>,
    /// The position of the first constant with the same tensor; `None` if this constant is the first.
    pub(super) shares: Option<usize>,
}

/// The names in one graph, and the order of its nodes in the text.
pub(super) struct GraphLabels {
    pub(super) label: String,
    /// The nodes in topological order. If there is a cycle, they are in the order of their ids, so that a broken graph
    /// can be printed, too.
    pub(super) order: Vec<NodeId>,
    values: BTreeMap<ValueId, String>,
}

impl GraphLabels {
    /// Returns the name of a value; for a removed value, a text that says so.
    pub(super) fn value(&self, id: ValueId) -> &str {
        self.values.get(&id).map_or("%\"removed value\"", |label| label)
    }
}

pub(super) struct Labels {
    pub(super) graphs: Vec<GraphLabels>,
    pub(super) constants: Vec<Constant>,
    by_data: BTreeMap<DataId, Vec<usize>>,
}

/// Makes unique names with a sigil in front: `name`, `name~1`, `name~2`, …
struct Numbering {
    sigil: char,
    next: BTreeMap<String, u32>,
}

impl Numbering {
    fn new(sigil: char) -> Numbering {
        Numbering {
            sigil,
            next: BTreeMap::new(),
        }
    }

    fn label(&mut self, name: &str) -> String {
        let ordinal = self.next.entry(name.into()).or_default();
        let mut label = String::from(self.sigil);
        label.push_str(&if is_plain_name(name) { name.into() } else { quoted(name) });
        if *ordinal > 0 {
            label.push_str(&format!("~{ordinal}"));
        }
        *ordinal += 1;
        label
    }
}

impl Labels {
    pub(super) fn new(module: &Module) -> Labels {
        let mut labels = Labels {
            graphs: Vec::new(),
            constants: Vec::new(),
            by_data: BTreeMap::new(),
        };
        let mut graphs = Numbering::new('@');
        let mut constants = Numbering::new('@');
        for graph in &module.graphs {
            let label = graphs.label(module.name(graph.name));
            let graph = labels.graph(module, graph, label, &mut constants);
            labels.graphs.push(graph);
        }
        labels
    }

    fn graph(&mut self, module: &Module, graph: &Graph, label: String, constants: &mut Numbering) -> GraphLabels {
        let order = graph
            .topological_order()
            .unwrap_or_else(|_| graph.nodes().map(|(id, _)| id).collect());
        let mut numbering = Numbering::new('%');
        let mut values = BTreeMap::new();
        let mut name = |values: &mut BTreeMap<ValueId, String>, id: ValueId| {
            if let Some(value) = graph.value(id) {
                values
                    .entry(id)
                    .or_insert_with(|| numbering.label(module.name(value.name)));
            }
        };
        for &input in graph.inputs() {
            name(&mut values, input);
        }
        let nodes = order.iter().filter_map(|&id| graph.node(id));
        for node in nodes.clone() {
            for &output in &node.outputs {
                name(&mut values, output);
            }
        }
        let operands = nodes.clone().flat_map(|n| n.inputs.iter().flatten());
        for &id in operands.chain(graph.outputs()) {
            if let (Some(value), Some(data)) = (graph.value(id), graph.data_of(id))
                && !values.contains_key(&id)
            {
                let position = self.constant(module.name(value.name), value, data, constants);
                values.insert(id, self.constants[position].label.clone());
            }
        }
        // Constants to which only attributes refer get names here.
        for node in nodes {
            for (_, attribute) in node.op.attribute_list() {
                if let Attribute::Data(data) = attribute
                    && !self.by_data.contains_key(&data)
                    && let Some(tensor) = module.data(data)
                {
                    self.push(constants, "data", data, tensor.tensor_type(), None);
                }
            }
        }
        self.codes(module, graph, &order, constants);
        GraphLabels { label, order, values }
    }

    /// Names the constants that have the codes of parameters, in the order in which the text lists the configs.
    fn codes(&mut self, module: &Module, graph: &Graph, order: &[NodeId], constants: &mut Numbering) {
        if graph.quant.iter().all(|(id, _)| graph.quant.codes(id).is_none()) {
            return;
        }
        // If the table of configs is broken, these constants get no names.
        for entry in graph.quant.entries(order).unwrap_or_default() {
            let (Parameter::Given(data) | Parameter::Baked(ParameterCodes { data, .. })) = entry.parameter else {
                continue;
            };
            let of = graph.value_at(entry.node, entry.port).and_then(|id| graph.value(id));
            if let (Some(value), Some(tensor), false) = (of, module.data(data), self.by_data.contains_key(&data)) {
                let name = format!("{}:codes", module.name(value.name));
                self.push(constants, &name, data, tensor.tensor_type(), None);
            }
        }
    }

    /// Returns the position of the constant for this value. Equal values of all graphs share one `data` line.
    fn constant(&mut self, name: &str, value: &Value, data: DataId, numbering: &mut Numbering) -> usize {
        let alike = self
            .by_data
            .get(&data)
            .into_iter()
            .flatten()
            .copied()
            .find(|&position| {
                let known = &self.constants[position];
                known.name == name && known.ty == value.ty && known.quant == value.quant
            });
        match alike {
            Some(position) => position,
            None => self.push(numbering, name, data, value.ty.clone(), value.quant.clone()),
        }
    }

    fn push(
        &mut self,
        numbering: &mut Numbering,
        name: &str,
        data: DataId,
        ty: TensorType,
        quant: Option<Arc<QuantParams>>,
    ) -> usize {
        let position = self.constants.len();
        let same = self.by_data.entry(data).or_default();
        let shares = same.first().copied();
        same.push(position);
        self.constants.push(Constant {
            label: numbering.label(name),
            name: name.into(),
            data,
            ty,
            quant,
            shares,
        });
        position
    }

    /// Returns the name of a constant to which an attribute refers.
    pub(super) fn data(&self, id: DataId) -> Option<&str> {
        let first = self.by_data.get(&id)?.first()?;
        Some(&self.constants[*first].label)
    }
}
