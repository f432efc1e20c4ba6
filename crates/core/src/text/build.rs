//! Builds a module from the syntax tree. Names are looked up, and tensors are made.

use super::error::{TextError, TextFault};
use super::quant_parse;
use super::random::random;
use super::syntax::{self, AttributeValue, Content, Name, Operand};
use crate::attribute::Attribute;
use crate::elem::Elem;
use crate::graph::{Fused, Graph, Placement};
use crate::ids::{DataId, GraphId, MAX_OPERANDS, MAX_RESULTS, Symbol, ValueId};
use crate::module::Module;
use crate::names::Names;
use crate::op::Op;
use crate::quant::QuantParams;
use crate::shape::{Dim, TensorType};
use crate::tensor::TensorData;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

type Built<T> = Result<T, TextError>;
type Key = (String, u32);

/// A constant of the text. It becomes a value in each graph that uses its name.
struct Constant {
    name: Symbol,
    data: DataId,
    ty: TensorType,
    quant: Option<Arc<QuantParams>>,
}

struct Builder<'a> {
    names: Names,
    tensors: Vec<TensorData>,
    constants: BTreeMap<Key, Constant>,
    graphs: BTreeMap<Key, GraphId>,
    blobs: &'a dyn Fn(usize, Option<&str>) -> Option<Bytes>,
    generated: u64,
}

/// Adds a definition. The definitions of `name`, `name~1`, `name~2`, … must come in this order.
fn define<T>(map: &mut BTreeMap<Key, T>, name: &Name, value: T) -> Built<()> {
    if map.contains_key(&name.key()) {
        return Err(name.at.fault(TextFault::Twice(name.spelled())));
    }
    if name.ordinal > 0 && !map.contains_key(&(name.text.clone(), name.ordinal - 1)) {
        return Err(name.at.fault(TextFault::Ordinal(name.spelled())));
    }
    map.insert(name.key(), value);
    Ok(())
}

pub(super) fn build(file: syntax::File, blobs: &dyn Fn(usize, Option<&str>) -> Option<Bytes>) -> Built<Module> {
    let mut builder = Builder {
        names: Names::default(),
        tensors: Vec::new(),
        constants: BTreeMap::new(),
        graphs: BTreeMap::new(),
        blobs,
        generated: 0,
    };
    for (index, graph) in file.graphs.iter().enumerate() {
        define(&mut builder.graphs, &graph.name, GraphId::new(index))?;
    }
    for data in &file.data {
        builder.constant(data)?;
    }
    let main = match &file.main {
        Some(name) => builder.graph_id(name)?,
        None => GraphId::new(0),
    };
    let mut graphs = Vec::with_capacity(file.graphs.len());
    for graph in file.graphs {
        graphs.push(builder.graph(graph, file.stage)?);
    }
    for quant in file.quants {
        let (at, id) = (quant.graph.at, builder.graph_id(&quant.graph)?);
        let Some(graph) = graphs.get_mut(id.index()) else {
            continue;
        };
        if !graph.quant.is_empty() {
            return Err(at.expected("one block `quant` for each graph", "a second one"));
        }
        let constants = &builder.constants;
        let tensor = |name: &Name| find_constant(constants, name).map(|constant| constant.data);
        graph.quant = quant_parse::build(quant, graph, &mut builder.names, &tensor)?;
    }
    let mut graphs = graphs.into_iter();
    let Some(first) = graphs.next() else {
        return Err(file.end.expected("a graph", "the end of the text"));
    };
    let mut module = Module::new(first, builder.names);
    module.graphs.extend(graphs);
    module.main = main;
    for tensor in builder.tensors {
        module.add_data(tensor);
    }
    Ok(module)
}

impl Builder<'_> {
    fn graph_id(&self, name: &Name) -> Built<GraphId> {
        let found = self.graphs.get(&name.key()).copied();
        found.ok_or_else(|| name.unknown('@', " as a graph"))
    }

    // ---- constants ----

    fn constant(&mut self, data: &syntax::Data) -> Built<()> {
        let value = &data.value;
        let name = &value.name;
        let mut shape = Vec::with_capacity(value.dims.len());
        for dim in &value.dims {
            match dim {
                syntax::Dim::Fixed(extent) => shape.push(*extent),
                syntax::Dim::Named(dim) => return Err(name.at.expected("the fixed extents of a tensor", dim.clone())),
            }
        }
        let id = match &data.content {
            Content::Same(other) => {
                let found = self.constants.get(&other.key()).map(|c| (c.data, &c.ty));
                let Some((id, ty)) = found else {
                    return Err(other.unknown('@', " above as a constant"));
                };
                if *ty != TensorType::fixed(value.elem, &shape) {
                    return Err(other
                        .at
                        .expected("a constant of the same type", format!("{} {:?}", ty.elem, ty.shape)));
                }
                id
            }
            content => {
                let bytes = self.content(name, value.elem, &shape, content)?;
                let tensor = match content {
                    // In a blob, elements of 4 bits are packed, as in a constant of the pool.
                    Content::Blob(..) => TensorData::new(value.elem, &shape, bytes),
                    _ => TensorData::from_unpacked(value.elem, &shape, bytes),
                };
                let tensor = tensor.map_err(|error| name.at.fault(error))?;
                self.tensors.push(tensor);
                DataId::new(self.tensors.len() - 1)
            }
        };
        let constant = Constant {
            name: self.names.intern(&name.text),
            data: id,
            ty: TensorType::fixed(value.elem, &shape),
            quant: value.quant.clone().map(Arc::new),
        };
        define(&mut self.constants, name, constant)
    }

    fn content(&mut self, name: &Name, elem: Elem, shape: &[u64], content: &Content) -> Built<Bytes> {
        Ok(match content {
            Content::Inline(bytes) => bytes.clone().into(),
            Content::Splat(element) => {
                let count = self.generate(name, elem, shape)?;
                element.repeat(count).into()
            }
            Content::Random(seed) => {
                let count = self.generate(name, elem, shape)?;
                random(elem, count, *seed).into()
            }
            Content::Blob(index, digest) => {
                let found = usize::try_from(*index)
                    .ok()
                    .and_then(|i| (self.blobs)(i, digest.as_deref()));
                found.ok_or_else(|| name.at.fault(TextFault::Blob(*index)))?
            }
            // A constant with `same` shares the tensor of another constant, so it needs no bytes here.
            Content::Same(_) => Bytes::new(),
        })
    }

    /// Returns the number of elements to generate. Fails if all generated tensors together exceed the limit.
    fn generate(&mut self, name: &Name, elem: Elem, shape: &[u64]) -> Built<usize> {
        let count = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
        let total = count
            .and_then(|n| n.checked_mul(elem.size() as u64))
            .and_then(|n| n.checked_add(self.generated))
            .filter(|&n| n <= syntax::MAX_GENERATED);
        let (Some(count), Some(total)) = (count, total) else {
            let what = "the size of all splat and random tensors";
            return Err(name.at.past(what, syntax::MAX_GENERATED));
        };
        self.generated = total;
        // The count is below MAX_GENERATED.
        Ok(count as usize)
    }

    // ---- graphs ----

    fn graph(&mut self, graph: syntax::Graph, main_stage: crate::Stage) -> Built<Graph> {
        let name = self.names.intern(&graph.name.text);
        let mut scope = Scope {
            graph: Graph::new(name, graph.stage.unwrap_or(main_stage)),
            values: BTreeMap::new(),
            constants: BTreeMap::new(),
        };
        for input in graph.inputs {
            let (symbol, ty, quant) = self.value(&input);
            let id = scope.graph.add_input(symbol, ty, quant);
            define(&mut scope.values, &input.name, id)?;
        }
        for node in graph.nodes {
            self.node(&mut scope, node)?;
        }
        for output in &graph.outputs {
            let id = self.operand(&mut scope, output)?;
            scope.graph.add_output(id);
        }
        Ok(scope.graph)
    }

    fn value(&mut self, value: &syntax::Value) -> (Symbol, TensorType, Option<Arc<QuantParams>>) {
        let shape = value.dims.iter().map(|dim| match dim {
            syntax::Dim::Fixed(extent) => Dim::Fixed(*extent),
            syntax::Dim::Named(name) => Dim::Named(self.names.intern(name)),
        });
        let ty = TensorType {
            elem: value.elem,
            shape: shape.collect(),
        };
        (
            self.names.intern(&value.name.text),
            ty,
            value.quant.clone().map(Arc::new),
        )
    }

    fn operand(&self, scope: &mut Scope, operand: &Operand) -> Built<ValueId> {
        match operand {
            Operand::Value(name) => {
                let found = scope.values.get(&name.key()).copied();
                found.ok_or_else(|| name.unknown('%', " above"))
            }
            Operand::Constant(name) => {
                if let Some(&id) = scope.constants.get(&name.key()) {
                    return Ok(id);
                }
                let constant = find_constant(&self.constants, name)?;
                let (ty, quant) = (constant.ty.clone(), constant.quant.clone());
                let id = scope.graph.add_data(constant.name, ty, quant, constant.data);
                scope.constants.insert(name.key(), id);
                Ok(id)
            }
        }
    }

    fn node(&mut self, scope: &mut Scope, node: syntax::Node) -> Built<()> {
        let limits = [
            ("the number of results", node.results.len(), MAX_RESULTS),
            ("the number of operands", node.operands.len(), MAX_OPERANDS),
        ];
        for (what, found, limit) in limits {
            if found > limit {
                return Err(node.at.past(what, limit as u64));
            }
        }
        let mut inputs = Vec::with_capacity(node.operands.len());
        for operand in &node.operands {
            inputs.push(operand.as_ref().map(|o| self.operand(scope, o)).transpose()?);
        }
        let op = self.op(&node)?;
        let results: Vec<_> = node.results.iter().map(|result| self.value(result)).collect();
        let clauses = node.clauses;
        let name = match (&clauses.name, results.first()) {
            (Some(name), _) => self.names.intern(name),
            (None, Some((first, ..))) => *first,
            (None, None) => return Err(node.at.expected("`name=` of a node without results", "none")),
        };
        let id = scope.graph.add_node(name, op, &inputs, results);
        if let Some(sources) = &clauses.sources {
            let sources: Vec<Symbol> = sources.iter().map(|s| self.names.intern(s)).collect();
            scope.graph.set_sources(id, &sources);
        }
        let (clamp, addend) = (clauses.clamp, clauses.addend);
        let fused = clauses.fused.map(|requant| Fused { addend, requant, clamp });
        let place = clauses
            .host
            .map_or(Placement::Accelerator, |reason| Placement::Host(Arc::new(reason)));
        scope.graph.set_fused(id, fused, place);
        let outputs = scope.graph.node(id).map(|n| n.outputs.clone()).unwrap_or_default();
        for (result, id) in node.results.iter().zip(outputs) {
            define(&mut scope.values, &result.name, id)?;
        }
        Ok(())
    }

    fn op(&self, node: &syntax::Node) -> Built<Op> {
        let mut list = Vec::with_capacity(node.attributes.len());
        let keys = Op::find(&node.op).map_or(&[][..], |(_, _, keys)| keys);
        for (key, graph) in keys.iter().zip(&node.graphs) {
            list.push(((*key).to_owned(), Attribute::Int(self.graph_id(graph)?.index() as i64)));
        }
        for (key, value) in &node.attributes {
            let value = match value {
                AttributeValue::Plain(attribute) => attribute.clone(),
                AttributeValue::Constant(name) => Attribute::Data(find_constant(&self.constants, name)?.data),
            };
            list.push((key.clone(), value));
        }
        Op::from_attribute_list(&node.op, list).map_err(|error| node.at.fault(error))
    }
}

fn find_constant<'c>(constants: &'c BTreeMap<Key, Constant>, name: &Name) -> Built<&'c Constant> {
    let found = constants.get(&name.key());
    found.ok_or_else(|| name.unknown('@', " as a constant"))
}

/// The names that are defined so far in one graph.
struct Scope {
    graph: Graph,
    values: BTreeMap<Key, ValueId>,
    constants: BTreeMap<Key, ValueId>,
}
