//! Reads a module from IR bytes.

use super::grid::{elem, rank, read_grid};
use super::reader::{Read, Reader};
use super::{ABSENT, BytesError, MAGIC, MAJOR, MINOR};
use crate::addend::Addend;
use crate::attribute::Attribute;
use crate::attribute_list::FOREIGN_PREFIX;
use crate::form_list::{form_from_list, form_keys};
use crate::graph::{Fused, Graph, Placement};
use crate::ids::{DataId, GraphId, MAX_OPERANDS, MAX_RESULTS, Symbol, ValueId};
use crate::module::Module;
use crate::names::Names;
use crate::op::{Foreign, Op};
use crate::quant::QuantParams;
use crate::reason::Reason;
use crate::shape::{Dim, Shape, TensorType};
use crate::stage::Stage;
use crate::tensor::TensorData;
use crate::verifier::verify;
use bytes::Bytes;
use smallvec::SmallVec;
use std::sync::Arc;
use strait_requantize::{FormKind, Requantization};

/// The length of the shortest possible record of a value in bytes, including the field that states the length.
const VALUE_SIZE: usize = 11;
/// The length of the shortest possible record of a node in bytes, including the field that states the length.
const NODE_SIZE: usize = 30;
/// The length of the shortest possible attribute in bytes.
const ATTRIBUTE_SIZE: usize = 10;

/// Reads a module and verifies it. `tensors` returns the bytes of the constant with the given position.
pub fn decode(ir: &[u8], tensors: &dyn Fn(usize) -> Option<Bytes>) -> Result<Module, BytesError> {
    let mut r = Reader::new(ir);
    if r.take(MAGIC.len(), "the header").ok() != Some(&MAGIC[..]) {
        return Err(BytesError::Magic);
    }
    let (major, minor) = (r.u16("the header")?, r.u16("the header")?);
    if major != MAJOR {
        return Err(BytesError::Version(major, minor));
    }
    r.newer = minor > MINOR;
    let mut decoder = Decoder::new(&mut r)?;
    let pool = decoder.pool(&mut r, tensors)?;
    let at = r.at;
    let main = r.u32("the main graph")? as usize;
    let graphs = r.list(4, "the graphs", |r| r.record("a graph", |r| decoder.graph(r)))?;
    r.finish("the module")?;
    let count = graphs.len();
    let mut graphs = graphs.into_iter();
    let Some(first) = graphs.next().filter(|_| main < count) else {
        return Err(BytesError::malformed("the number of a graph", at, main as u64));
    };
    let mut module = Module::new(first, decoder.names);
    module.graphs.extend(graphs);
    module.main = GraphId::new(main);
    for tensor in pool {
        module.add_data(tensor);
    }
    verify(&module)?;
    Ok(module)
}

pub(super) struct Decoder<'a> {
    pub(super) strings: Vec<&'a str>,
    symbols: Vec<Option<Symbol>>,
    names: Names,
    /// The name and attribute keys of each op in the table of ops.
    ops: Vec<(&'static str, &'static [&'static str])>,
    tensors: Vec<TensorType>,
}

impl<'a> Decoder<'a> {
    /// Reads the tables of strings and ops.
    fn new(r: &mut Reader<'a>) -> Read<Decoder<'a>> {
        let strings = r.list(4, "the strings", |r| {
            let at = r.at;
            let length = r.u32("a string")? as usize;
            let text = std::str::from_utf8(r.take(length, "a string")?);
            text.map_err(|error| BytesError::malformed("UTF-8", at, error.valid_up_to() as u64))
        })?;
        let mut decoder = Decoder {
            symbols: vec![None; strings.len()],
            strings,
            names: Names::default(),
            ops: Vec::new(),
            tensors: Vec::new(),
        };
        decoder.ops = r.list(6, "the ops", |r| {
            let name = decoder.text(r, "an op")?;
            let version = r.u16("an op")?;
            match Op::find(name) {
                Some((op, known, keys)) if known == version => Ok((op, keys)),
                _ => Err(BytesError::UnknownOp {
                    name: name.into(),
                    version,
                }),
            }
        })?;
        Ok(decoder)
    }

    /// Reads the types of the constants, and fetches their bytes.
    fn pool(&mut self, r: &mut Reader<'a>, tensors: &dyn Fn(usize) -> Option<Bytes>) -> Read<Vec<TensorData>> {
        let types = r.list(2, "the tensors", |r| {
            let elem = elem(r)?;
            let rank = rank(r)?;
            let dims = (0..rank)
                .map(|_| r.u64("a tensor"))
                .collect::<Read<SmallVec<[u64; 4]>>>()?;
            Ok((elem, dims))
        })?;
        let mut pool = Vec::with_capacity(types.len());
        for (index, (elem, dims)) in types.into_iter().enumerate() {
            let bytes = tensors(index).ok_or(BytesError::MissingTensor(index))?;
            let tensor = TensorData::new(elem, &dims, bytes);
            let tensor = tensor.map_err(|error| BytesError::Tensor { index, error })?;
            self.tensors.push(tensor.tensor_type());
            pool.push(tensor);
        }
        Ok(pool)
    }

    // ---- items that refer to the tables ----

    pub(super) fn index(&self, r: &mut Reader<'a>, bound: usize, what: &'static str) -> Read<usize> {
        let at = r.at;
        let index = r.u32(what)? as usize;
        match index < bound {
            true => Ok(index),
            false => Err(BytesError::malformed(what, at, index as u64)),
        }
    }

    fn text(&self, r: &mut Reader<'a>, what: &'static str) -> Read<&'a str> {
        self.index(r, self.strings.len(), what).map(|index| self.strings[index])
    }

    fn intern(&mut self, index: usize) -> Symbol {
        let (names, text) = (&mut self.names, self.strings[index]);
        *self.symbols[index].get_or_insert_with(|| names.intern(text))
    }

    fn symbol(&mut self, r: &mut Reader<'a>, what: &'static str) -> Read<Symbol> {
        let index = self.index(r, self.strings.len(), what)?;
        Ok(self.intern(index))
    }

    pub(super) fn data(&self, r: &mut Reader<'a>) -> Read<DataId> {
        self.index(r, self.tensors.len(), "the position of a tensor")
            .map(DataId::new)
    }

    // ---- graphs ----

    fn graph(&mut self, r: &mut Reader<'a>) -> Read<Graph> {
        let name = self.symbol(r, "the name of a graph")?;
        let at = r.at;
        let tag = r.u8("the stage of a graph")?;
        let stage = Stage::ALL.into_iter().find(|s| s.tag() == tag);
        let stage = stage.ok_or(BytesError::malformed("a stage", at, tag))?;
        let mut graph = Graph::new(name, stage);
        // Operands refer to a value by its position in this list.
        let mut values: Vec<ValueId> = Vec::new();
        for _ in 0..r.count(VALUE_SIZE, "the inputs of a graph")? {
            let (name, ty, quant) = self.value(r)?;
            values.push(graph.add_input(name, ty, quant));
        }
        for _ in 0..r.count(4 + VALUE_SIZE, "the constants of a graph")? {
            let data = self.data(r)?;
            let (name, ty, quant) = self.value(r)?;
            values.push(graph.add_data(name, ty, quant, data));
        }
        for _ in 0..r.count(NODE_SIZE, "the nodes of a graph")? {
            r.record("a node", |r| self.node(r, &mut graph, &mut values))?;
        }
        for _ in 0..r.count(4, "the outputs of a graph")? {
            let output = self.index(r, values.len(), "the number of a value")?;
            graph.add_output(values[output]);
        }
        graph.quant = self.configs(r, &graph)?;
        Ok(graph)
    }

    fn value(&mut self, r: &mut Reader<'a>) -> Read<(Symbol, TensorType, Option<Arc<QuantParams>>)> {
        r.record("a value", |r| {
            let name = self.symbol(r, "the name of a value")?;
            let elem = elem(r)?;
            let rank = rank(r)?;
            let mut shape = Shape::new();
            for _ in 0..rank {
                let named = r.flag("a dimension")?;
                let at = r.at;
                let extent = r.u64("a dimension")?;
                shape.push(if named {
                    let index = usize::try_from(extent).ok().filter(|&i| i < self.strings.len());
                    let index = index.ok_or(BytesError::malformed("the name of a dimension", at, extent))?;
                    Dim::Named(self.intern(index))
                } else {
                    Dim::Fixed(extent)
                });
            }
            let quant = r.optional("a grid", read_grid)?.map(Arc::new);
            Ok((name, TensorType { elem, shape }, quant))
        })
    }

    fn node(&mut self, r: &mut Reader<'a>, graph: &mut Graph, values: &mut Vec<ValueId>) -> Read<()> {
        let op = self.index(r, self.ops.len(), "the number of an op")?;
        let name = self.symbol(r, "the name of a node")?;
        let sources = r.list(4, "the sources of a node", |r| self.symbol(r, "the name of a source"))?;
        let inputs = r.list(4, "the operands of a node", |r| {
            let at = r.at;
            match r.u32("an operand")? {
                ABSENT => Ok(None),
                number => match values.get(number as usize) {
                    Some(&value) => Ok(Some(value)),
                    None => Err(BytesError::malformed("the number of a value above", at, number)),
                },
            }
        })?;
        let at = r.at;
        let count = r.count(VALUE_SIZE, "the results of a node")?;
        if count > MAX_RESULTS || inputs.len() > MAX_OPERANDS {
            let what = "a number of operands and results that a node can have";
            return Err(BytesError::malformed(what, at, count as u64));
        }
        let results = (0..count).map(|_| self.value(r)).collect::<Read<Vec<_>>>()?;
        let (op_name, keys) = self.ops[op];
        let foreign = op_name == <Foreign as crate::Attributes>::NAME;
        let known = |key: &str| keys.contains(&key) || (foreign && key.starts_with(FOREIGN_PREFIX));
        let attributes = self.attributes(r, op_name, &known, true)?;
        let op = Op::from_attribute_list(op_name, attributes)?;
        let fused = r.optional("a fused requantization", |r| {
            let requant = self.form(r)?;
            let clamp = r.optional("a clamp", |r| Ok([r.i32("a clamp")?, r.i32("a clamp")?]))?;
            let at = r.at;
            let addend = match r.u32("the run-time addends of a fused form")? {
                0 => None,
                1 => {
                    let zero = r.i32("the zero point of an addend")?;
                    let form = self.form(r)?;
                    Some(Addend { zero, form })
                }
                addends => {
                    let what = "the number of run-time addends, which is at most 1 in this version";
                    return Err(BytesError::malformed(what, at, addends));
                }
            };
            Ok(Fused { addend, requant, clamp })
        })?;
        let host = r.optional("a placement", |r| {
            let code = self.text(r, "the code of a reason")?.to_string().into();
            let text = self.text(r, "the text of a reason")?.into();
            Ok(Placement::Host(Arc::new(Reason { code, text })))
        })?;
        let id = graph.add_node(name, op, &inputs, results);
        graph.set_sources(id, &sources);
        graph.set_fused(id, fused, host.unwrap_or(Placement::Accelerator));
        values.extend(graph.node(id).map(|n| n.outputs.clone()).unwrap_or_default());
        Ok(())
    }

    // ---- attributes ----

    /// Reads the attributes that this version knows. All other attributes are skipped, unless they are marked as
    /// critical.
    fn attributes(
        &self,
        r: &mut Reader<'a>,
        of: &str,
        known: &dyn Fn(&str) -> bool,
        forms: bool,
    ) -> Read<Vec<(String, Attribute)>> {
        let mut list = Vec::new();
        for _ in 0..r.count(ATTRIBUTE_SIZE, "the attributes of a node")? {
            let key = self.text(r, "the key of an attribute")?;
            let tag = r.u8("the tag of an attribute")?;
            let critical = r.flag("whether an attribute is critical")?;
            let understood = known(key) && (tag < 5 || (forms && tag < 7));
            if !understood && critical {
                let (of, key) = (of.into(), key.into());
                return Err(BytesError::UnknownAttribute { of, key });
            }
            let size_at = r.at;
            if understood {
                let value = r.record("an attribute", |r| self.attribute(r, tag, size_at))?;
                list.push((key.into(), value));
            } else {
                let size = r.u32("an attribute")? as usize;
                r.take(size, "an attribute")?;
            }
        }
        Ok(list)
    }

    fn attribute(&self, r: &mut Reader<'a>, tag: u8, at: usize) -> Read<Attribute> {
        const WHAT: &str = "an attribute";
        Ok(match tag {
            0 => Attribute::Int(r.i64(WHAT)?),
            1 => Attribute::Ints(r.list(8, WHAT, |r| r.i64(WHAT))?),
            2 => Attribute::Float(r.f32(WHAT)?),
            3 => Attribute::Floats(r.list(4, WHAT, |r| r.f32(WHAT))?),
            4 => Attribute::Text(self.text(r, WHAT)?.into()),
            5 => Attribute::Data(self.data(r)?),
            6 => Attribute::Form(Box::new(self.form(r)?)),
            _ => return Err(BytesError::malformed("the tag of an attribute", at, tag)),
        })
    }

    /// Reads a requantization form. No field of a form is itself a form or a constant.
    fn form(&self, r: &mut Reader<'a>) -> Read<Requantization> {
        let at = r.at;
        let name = self.text(r, "the kind of a form")?;
        let kind = FormKind::parse(name).ok_or(BytesError::UnknownAttribute {
            of: "a requantization".into(),
            key: name.into(),
        })?;
        let mut list = self.attributes(r, name, &|key| form_keys(kind).contains(&key), false)?;
        let mut take = |key: &'static str| {
            let position = list.iter().position(|(k, _)| k == key)?;
            Some(list.swap_remove(position).1)
        };
        let form = form_from_list(kind, &mut take).map_err(crate::OpError::Attribute)?;
        match list.len() {
            0 => Ok(form),
            twice => Err(BytesError::malformed(
                "a form that has each field once",
                at,
                twice as u64,
            )),
        }
    }
}
