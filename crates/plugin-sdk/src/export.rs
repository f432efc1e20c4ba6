//! A graph in a target's own format, made of one of the artifact's graphs.
//!
//! Nodes are either those of the artifact on other operands, or of the format outside ([`Foreign`]). Values that keep their
//! meaning keep their names; the others get names that no value of the artifact's graph has.

use std::collections::BTreeSet;

use strait_core::{
    Attribute, Dim, Elem, Graph, Module, Names, Node, NodeId, Op, Reason, ReasonCode, Stage, Symbol, TensorData,
    TensorType, Value, ValueId, op,
};
use strait_target::TargetError;

/// The graph that is made. It is in the export stage: nothing computes it here, and a writer of its format takes it.
pub struct Export<'m> {
    source: &'m Module,
    graph: &'m Graph,
    out: Module,
    /// By value of the source: what stands for it.
    made: Vec<Option<ValueId>>,
    nodes: BTreeSet<String>,
    values: BTreeSet<String>,
    /// The names that nodes of the source have or answer for: nobody else gets one.
    reserved: BTreeSet<&'m str>,
}

/// A node of a format outside.
#[derive(Debug)]
pub struct Foreign<'a> {
    /// The format's name space; `ai.onnx` are ONNX's own operators.
    pub domain: &'a str,
    /// The operator's name there.
    pub op: &'a str,
    /// Its attributes, in the order in which they are written.
    pub attributes: Vec<(&'a str, Attribute)>,
    /// The node's name, to which a number is added where it is taken, or where another node of the source is known by it.
    pub name: &'a str,
    /// The node of the source whose names of the model it answers for, if it does.
    pub of: Option<NodeId>,
    /// Its operands.
    pub operands: &'a [ValueId],
    /// The element type of its one result.
    pub elem: Elem,
    /// The extents of that: of a value of this graph.
    pub like: &'a [Dim],
}

impl<'a> Foreign<'a> {
    /// The same with these attributes.
    #[must_use]
    pub fn with(self, attributes: Vec<(&'a str, Attribute)>) -> Foreign<'a> {
        Foreign { attributes, ..self }
    }
}

impl<'m> Export<'m> {
    /// A graph with the inputs of `graph`, which is one of `source`.
    pub fn new(source: &'m Module, graph: &'m Graph, name: &str) -> Export<'m> {
        let mut names = Names::default();
        let main = Graph::new(names.intern(name), Stage::Export);
        let values = graph.values().map(|(_, value)| source.name(value.name).to_owned());
        let known = graph
            .nodes()
            .flat_map(|(_, node)| node.sources.iter().chain([&node.name]));
        let mut export = Export {
            source,
            graph,
            out: Module::new(main, names),
            made: vec![None; graph.value_bound()],
            nodes: BTreeSet::new(),
            values: values.collect(),
            reserved: known.map(|&name| source.name(name)).collect(),
        };
        for &input in graph.inputs() {
            let Some(value) = graph.value(input) else { continue };
            let (name, ty) = (export.intern(value.name), export.typed(&value.ty));
            let made = export.out.main_mut().add_input(name, ty, None);
            export.set(input, made);
        }
        export
    }

    /// The value that stands for one of the source; a constant is copied when first asked for.
    pub fn made(&mut self, value: ValueId) -> Option<ValueId> {
        if let Some(made) = self.made.get(value.index()).copied().flatten() {
            return Some(made);
        }
        let (tensor, source) = (self.source.constant(self.graph, value)?, self.graph.value(value)?);
        let (name, ty) = (self.intern(source.name), tensor.tensor_type());
        let data = self.out.add_data(tensor.clone());
        let made = self.out.main_mut().add_data(name, ty, None, data);
        self.set(value, made);
        Some(made)
    }

    /// Says what stands for a value of the source.
    pub fn set(&mut self, value: ValueId, made: ValueId) {
        if let Some(place) = self.made.get_mut(value.index()) {
            *place = Some(made);
        }
    }

    /// Extents of a value of this graph.
    pub fn shape(&self, value: ValueId) -> Vec<Dim> {
        let value = self.out.main().value(value);
        value.map(|value| value.ty.shape.to_vec()).unwrap_or_default()
    }

    /// Extents of a value of the source, as this graph has them.
    pub fn shape_of(&mut self, value: ValueId) -> Vec<Dim> {
        let ty = self.graph.value(value).map(|value| value.ty.clone());
        ty.map(|ty| self.typed(&ty).shape.to_vec()).unwrap_or_default()
    }

    /// A constant with a name like this one.
    pub fn constant(&mut self, name: &str, tensor: TensorData) -> ValueId {
        let (name, ty) = (self.value_name(name), tensor.tensor_type());
        let data = self.out.add_data(tensor);
        self.out.main_mut().add_data(name, ty, None, data)
    }

    /// A node of the format outside. Its result has the name `result` and is what stands for that value of the source, or a
    /// name of its own.
    pub fn foreign(&mut self, node: Foreign<'_>, result: Option<ValueId>) -> ValueId {
        let name = self.node_name(node.name, node.of);
        let attributes = node.attributes.into_iter().map(|(key, value)| (key.to_owned(), value));
        let op = op::Foreign {
            domain: node.domain.to_owned(),
            name: node.op.to_owned(),
            attributes: attributes.collect(),
        };
        let own = match result.and_then(|result| self.graph.value(result)) {
            Some(value) => self.intern(value.name),
            None => self.value_name(&format!("{name}.output0")),
        };
        let ty = TensorType {
            elem: node.elem,
            shape: node.like.iter().copied().collect(),
        };
        let operands: Vec<Option<ValueId>> = node.operands.iter().copied().map(Some).collect();
        let name = self.out.names.intern(&name);
        let id = self
            .out
            .main_mut()
            .add_node(name, op.into(), &operands, vec![(own, ty, None)]);
        self.answers(id, node.of);
        let made = self.first_result(id);
        if let Some(result) = result {
            self.set(result, made);
        }
        made
    }

    /// A node of the source under this name, on these operands. Its results are what stands for its own, of the element type
    /// `elem` where one is named.
    ///
    /// # Errors
    /// A node that runs other graphs.
    pub fn copy(
        &mut self,
        id: NodeId,
        name: &str,
        operands: &[Option<ValueId>],
        elem: Option<Elem>,
    ) -> Result<(), TargetError> {
        let Some(node) = self.graph.node(id) else { return Ok(()) };
        if !node.op.graphs().is_empty() {
            let text = format!("`{name}` runs other graphs, which this format does not have");
            return Err(Reason::new(ReasonCode::Foreign, text).into());
        }
        let results = node.outputs.iter().filter_map(|&value| self.graph.value(value));
        // Real numbers have a grid where the node rounds to it.
        let grid = |value: &Value| value.quant.clone().filter(|_| value.ty.elem.is_float());
        let results: Vec<_> = results
            .map(|value| (value.name, value.ty.clone(), grid(value)))
            .collect();
        let results = results.into_iter().map(|(name, ty, grid)| {
            let ty = self.typed(&ty);
            let elem = elem.unwrap_or(ty.elem);
            (self.intern(name), TensorType { elem, ..ty }, grid)
        });
        let results = results.collect();
        let name = self.node_name(name, Some(id));
        let name = self.out.names.intern(&name);
        let op: Op = node.op.clone();
        let made = self.out.main_mut().add_node(name, op, operands, results);
        self.answers(made, Some(id));
        let made = self
            .out
            .main()
            .node(made)
            .map(|node| node.outputs.clone())
            .unwrap_or_default();
        for (&value, made) in node.outputs.iter().zip(made) {
            self.set(value, made);
        }
        Ok(())
    }

    /// The module with these outputs, which are values of the graph that is made.
    pub fn finish(mut self, outputs: &[ValueId]) -> Module {
        for &output in outputs {
            self.out.main_mut().add_output(output);
        }
        self.out
    }

    /// Gives a node the names of the model that one of the source answers for.
    fn answers(&mut self, made: NodeId, of: Option<NodeId>) {
        let node = of.and_then(|of| self.graph.node(of));
        let names = node.map(|node| self.names_of(node)).unwrap_or_default();
        let names: Vec<Symbol> = names.iter().map(|name| self.out.names.intern(name)).collect();
        self.out.main_mut().set_sources(made, &names);
    }

    /// The names of the model that a node of the source answers for. That of a primitive, or of a node beside an operator of the
    /// model, `LAYER:WORD`, is none of them.
    pub fn names_of(&self, node: &Node) -> Vec<&'m str> {
        let names: Vec<&str> = node.sources.iter().map(|&name| self.source.name(name)).collect();
        let own = self.source.name(node.name);
        let is_beside = names.iter().any(|name| is_inside(own, name));
        names.into_iter().filter(|&name| name != own || !is_beside).collect()
    }

    /// The name of the model's layer that a node of the source computes, or computes a part of.
    pub fn layer_of(&self, node: &Node) -> &'m str {
        let own = self.source.name(node.name);
        let names = self.names_of(node);
        let layer = names.iter().filter(|name| **name == own || is_inside(own, name));
        let layer = layer.max_by_key(|name| name.len()).or(names.first());
        layer.copied().unwrap_or(own)
    }

    /// A name like this one for a node, of the source or beside it.
    fn node_name(&mut self, base: &str, of: Option<NodeId>) -> String {
        let of = of.and_then(|of| self.graph.node(of));
        let own = of.is_some_and(|of| self.source.name(of.name) == base || self.names_of(of).contains(&base));
        let is_free = own || !self.reserved.contains(base);
        fresh(&mut self.nodes, base, is_free, |name| self.reserved.contains(name))
    }

    fn first_result(&self, id: NodeId) -> ValueId {
        let node = self.out.main().node(id);
        // A node that was just added with one result has it.
        node.and_then(|node| node.outputs.first().copied())
            .unwrap_or(ValueId::new(0))
    }

    /// A type with its named extents in the table of this module.
    fn typed(&mut self, ty: &TensorType) -> TensorType {
        let mut ty = ty.clone();
        for dim in &mut ty.shape {
            if let Dim::Named(symbol) = dim {
                *symbol = self.intern(*symbol);
            }
        }
        ty
    }

    fn intern(&mut self, name: Symbol) -> Symbol {
        self.out.names.intern(self.source.name(name))
    }

    fn value_name(&mut self, base: &str) -> Symbol {
        let name = fresh(&mut self.values, base, true, |_| false);
        self.out.names.intern(&name)
    }
}

/// True for the name of a part of what is called `layer`.
fn is_inside(name: &str, layer: &str) -> bool {
    name.strip_prefix(layer).is_some_and(|rest| rest.starts_with(':'))
}

/// The name where it is free, or it with the first number that makes it new.
fn fresh(taken: &mut BTreeSet<String>, base: &str, is_free: bool, is_reserved: impl Fn(&str) -> bool) -> String {
    let numbered = (1..)
        .map(|number| format!("{base}_{number}"))
        .filter(|name| !is_reserved(name));
    let mut names = is_free.then(|| base.to_owned()).into_iter().chain(numbered);
    let name = names.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(name.clone());
    name
}
