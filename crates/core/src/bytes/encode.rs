//! Writes a module as IR bytes.

use super::grid::write_grid;
use super::writer::{Writer, count};
use super::{ABSENT, BytesError, MAGIC, MAJOR, MINOR};
use crate::attribute::Attribute;
use crate::elem::Elem;
use crate::form_list::form_list;
use crate::graph::{Def, Graph, Node, Placement, Value};
use crate::ids::{DataId, NodeId, Symbol, ValueId};
use crate::module::Module;
use crate::names::Names;
use crate::shape::Dim;
use crate::tensor::TensorData;
use std::borrow::Cow;
use std::collections::BTreeMap;
use strait_requantize::Requantization;

/// A module as IR bytes. The IR bytes refer to the constants in `tensors` by position.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The IR bytes.
    pub ir: Vec<u8>,
    /// The constants, in the order of their first use. They share their bytes with the module.
    pub tensors: Vec<TensorData>,
}

/// Writes a module as IR bytes. Fails for graphs that the verifier would refuse.
pub fn encode(module: &Module) -> Result<Encoded, BytesError> {
    let mut encoder = Encoder {
        module,
        strings: Names::default(),
        symbols: vec![ABSENT; module.names.texts().len()],
        ops: Vec::new(),
        tensors: Vec::new(),
        positions: BTreeMap::new(),
        contents: BTreeMap::new(),
    };
    let mut body = Writer::default();
    body.u32(count(module.main.index()));
    body.u32(count(module.graphs.len()));
    for graph in &module.graphs {
        body.record(|w| encoder.graph(w, graph))?;
    }
    let ops = std::mem::take(&mut encoder.ops);
    let ops: Vec<(u32, u16)> = ops
        .iter()
        .map(|&(name, version)| (encoder.string(name), version))
        .collect();
    let mut head = Writer(MAGIC.to_vec());
    head.u16(MAJOR);
    head.u16(MINOR);
    head.u32(count(encoder.strings.texts().len()));
    for text in encoder.strings.texts() {
        head.u32(count(text.len()));
        head.0.extend(text.as_bytes());
    }
    head.list(&ops, |w, &(name, version)| {
        w.u32(name);
        w.u16(version);
    });
    head.list(&encoder.tensors, |w, tensor| {
        w.u8(tensor.elem().tag());
        w.u8(tensor.shape().len() as u8);
        tensor.shape().iter().for_each(|&d| w.u64(d));
    });
    // The graphs of a million nodes take hundreds of megabytes, so they are moved and not copied.
    body.0.reserve_exact(head.0.len());
    body.0.splice(..0, head.0);
    Ok(Encoded {
        ir: body.0,
        tensors: encoder.tensors,
    })
}

pub(super) struct Encoder<'a> {
    pub(super) module: &'a Module,
    /// The strings of the file, in the order of their first use.
    strings: Names,
    /// For each symbol of the module, the position of its string in the table `strings`; [`ABSENT`] if the string is
    /// not in the table yet.
    symbols: Vec<u32>,
    ops: Vec<(&'static str, u16)>,
    tensors: Vec<TensorData>,
    positions: BTreeMap<DataId, u32>,
    contents: BTreeMap<(Elem, &'a [u64], &'a [u8]), u32>,
}

impl<'a> Encoder<'a> {
    fn symbol(&mut self, w: &mut Writer, symbol: Symbol) {
        let number = match self.symbols.get(symbol.index()) {
            Some(&number) if number != ABSENT => number,
            _ => self.string(self.module.name(symbol)),
        };
        if let Some(known) = self.symbols.get_mut(symbol.index()) {
            *known = number;
        }
        w.u32(number);
    }

    pub(super) fn text(&mut self, w: &mut Writer, text: &str) {
        w.u32(self.string(text));
    }

    /// Returns the number of a string in the table of strings, and adds the string if it is new.
    fn string(&mut self, text: &str) -> u32 {
        count(self.strings.intern(text).index())
    }

    /// Returns the position of a constant in the list of constants. A constant that is not in the list yet is appended,
    /// unless the list has an equal one.
    pub(super) fn tensor(&mut self, id: DataId) -> Option<u32> {
        if let Some(&position) = self.positions.get(&id) {
            return Some(position);
        }
        let tensor: &'a TensorData = self.module.data(id)?;
        let (tensors, next) = (&mut self.tensors, count(self.contents.len()));
        let content = (tensor.elem(), tensor.shape(), tensor.bytes().as_ref());
        let position = *self.contents.entry(content).or_insert_with(|| {
            tensors.push(tensor.clone());
            next
        });
        self.positions.insert(id, position);
        Some(position)
    }

    fn graph(&mut self, w: &mut Writer, graph: &Graph) -> Result<(), BytesError> {
        let name = || self.module.name(graph.name).to_string();
        let broken = |text: String| BytesError::Broken(name(), text);
        let order = graph.topological_order();
        let order = order.map_err(|id| broken(format!("{id} lies on a cycle")))?;
        let nodes: Vec<&Node> = order.iter().filter_map(|&id: &NodeId| graph.node(id)).collect();
        let numbers = number(graph, &nodes).map_err(|id| broken(format!("{id} is used but was removed")))?;
        let constants: Vec<(&Value, DataId)> = numbers.constants;
        let numbers = numbers.of;

        self.symbol(w, graph.name);
        w.u8(graph.stage().tag());
        let inputs: Vec<&Value> = graph.inputs().iter().filter_map(|&id| graph.value(id)).collect();
        w.u32(count(inputs.len()));
        for input in inputs {
            self.value(w, input)?;
        }
        w.u32(count(constants.len()));
        for (value, data) in constants {
            let position = self.tensor(data).ok_or(BytesError::MissingTensor(data.index()))?;
            w.u32(position);
            self.value(w, value)?;
        }
        w.u32(count(nodes.len()));
        for node in nodes {
            w.record(|w| self.node(w, graph, node, &numbers))?;
        }
        w.list(graph.outputs(), |w, id| {
            w.u32(numbers.get(id.index()).copied().unwrap_or(ABSENT));
        });
        self.configs(w, graph, &order)
    }

    fn value(&mut self, w: &mut Writer, value: &Value) -> Result<(), BytesError> {
        w.record(|w| {
            self.symbol(w, value.name);
            w.u8(value.ty.elem.tag());
            w.u8(value.ty.shape.len() as u8);
            for dim in &value.ty.shape {
                match *dim {
                    Dim::Fixed(extent) => {
                        w.u8(0);
                        w.u64(extent);
                    }
                    Dim::Named(name) => {
                        w.u8(1);
                        w.u64(u64::from(self.string(self.module.name(name))));
                    }
                }
            }
            // A float value can have a grid that a quantized model gives for it. Only passes use such a grid, so it is
            // not stored in IR bytes.
            let grid = value.quant.as_deref().filter(|grid| grid.codes.is_none());
            w.optional(grid, write_grid);
            Ok(())
        })
    }

    fn node(&mut self, w: &mut Writer, graph: &Graph, node: &Node, numbers: &[u32]) -> Result<(), BytesError> {
        let op = (node.op.name(), node.op.version());
        let position = self.ops.iter().position(|known| *known == op).unwrap_or_else(|| {
            self.ops.push(op);
            self.ops.len() - 1
        });
        w.u32(count(position));
        self.symbol(w, node.name);
        w.list(&node.sources, |w, source| self.symbol(w, *source));
        w.list(&node.inputs, |w, input| {
            w.u32(input.and_then(|id| numbers.get(id.index()).copied()).unwrap_or(ABSENT));
        });
        let results: Vec<&Value> = node.outputs.iter().filter_map(|&id| graph.value(id)).collect();
        w.u32(count(results.len()));
        for result in results {
            self.value(w, result)?;
        }
        self.attributes(w, &node.op.attribute_list())?;
        match &node.fused {
            None => w.u8(0),
            Some(fused) => {
                w.u8(1);
                self.form(w, &fused.requant)?;
                w.u8(u8::from(fused.clamp.is_some()));
                fused.clamp.into_iter().flatten().for_each(|end| w.i32(end));
                w.u32(u32::from(fused.addend.is_some()));
                if let Some(addend) = &fused.addend {
                    w.i32(addend.zero);
                    self.form(w, &addend.form)?;
                }
            }
        }
        match &node.place {
            Placement::Accelerator => w.u8(0),
            Placement::Host(reason) => {
                w.u8(1);
                self.text(w, &reason.code.to_string());
                self.text(w, &reason.text);
            }
        }
        Ok(())
    }

    fn attributes(&mut self, w: &mut Writer, list: &[(Cow<'static, str>, Attribute)]) -> Result<(), BytesError> {
        w.u32(count(list.len()));
        for (key, attribute) in list {
            self.text(w, key);
            w.u8(attribute.tag());
            // Every attribute of this version affects the results, so each one is marked as critical.
            w.u8(1);
            w.record(|w| self.attribute(w, attribute))?;
        }
        Ok(())
    }

    fn attribute(&mut self, w: &mut Writer, attribute: &Attribute) -> Result<(), BytesError> {
        match attribute {
            Attribute::Int(v) => w.i64(*v),
            Attribute::Ints(v) => w.list(v, |w, v| w.i64(*v)),
            Attribute::Float(v) => w.f32(*v),
            Attribute::Floats(v) => w.list(v, |w, v| w.f32(*v)),
            Attribute::Text(text) => self.text(w, text),
            Attribute::Data(id) => {
                let position = self.tensor(*id).ok_or(BytesError::MissingTensor(id.index()))?;
                w.u32(position);
            }
            Attribute::Form(form) => return self.form(w, form),
        }
        Ok(())
    }

    fn form(&mut self, w: &mut Writer, form: &Requantization) -> Result<(), BytesError> {
        self.text(w, form.kind().name());
        let list: Vec<_> = form_list(form)
            .into_iter()
            .map(|(key, value)| (Cow::Borrowed(key), value))
            .collect();
        self.attributes(w, &list)
    }
}

/// The numbers by which operands refer to values in IR bytes. Inputs have the first numbers, then constants in the
/// order of their first use, then the results of nodes.
struct Numbers<'a> {
    /// The number of each value, by the index of its id; [`ABSENT`] if nothing refers to the value.
    of: Vec<u32>,
    constants: Vec<(&'a Value, DataId)>,
}

fn number<'a>(graph: &'a Graph, nodes: &[&Node]) -> Result<Numbers<'a>, ValueId> {
    let mut of = vec![ABSENT; graph.value_bound()];
    let mut next = 0;
    let mut give = |id: ValueId| {
        let number = of.get_mut(id.index()).filter(|number| **number == ABSENT);
        let is_new = number.is_some();
        if let Some(number) = number {
            *number = next;
            next += 1;
        }
        is_new
    };
    for &input in graph.inputs() {
        give(input);
    }
    let mut constants = Vec::new();
    let operands = nodes.iter().flat_map(|n| n.inputs.iter().flatten());
    for &id in operands.chain(graph.outputs()) {
        let value = graph.value(id).ok_or(id)?;
        if let Def::Data(data) = value.def
            && give(id)
        {
            constants.push((value, data));
        }
    }
    for &output in nodes.iter().flat_map(|n| &n.outputs) {
        give(output);
    }
    Ok(Numbers { of, constants })
}
