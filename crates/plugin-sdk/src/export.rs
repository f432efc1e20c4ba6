//! Converts a graph of the artifact into a graph in a target's own format.
//!
//! A node of the new graph is either a node of the artifact with other operands, or a node of the target's format
//! ([`Foreign`]). A value of the new graph that stands for a value of the artifact has the same name as that value.
//! Other values get names that no value of the artifact's graph has.

use std::collections::BTreeSet;

use strait_core::{
    Attribute, Dim, Elem, Graph, Module, Names, Node, NodeId, Op, Reason, ReasonCode, Stage, Symbol, TensorData,
    TensorType, Value, ValueId, op,
};
use strait_target::TargetError;

/// The new graph while it is being made. It is in the export stage: Strait cannot run such a graph, but can only pass
/// it to a writer for its format.
pub struct Export<'m> {
    source: &'m Module,
    graph: &'m Graph,
    out: Module,
    /// For each value of the source graph, the value in the new graph that stands for it.
    made: Vec<Option<ValueId>>,
    nodes: BTreeSet<String>,
    values: BTreeSet<String>,
    /// Names of nodes of the source graph, and names of the model's nodes that they replace. No other node of the new
    /// graph may get one of these names.
    reserved: BTreeSet<&'m str>,
}

/// A node of the target's format, which Strait itself does not know.
#[derive(Debug)]
pub struct Foreign<'a> {
    /// Domain of the operator in the format. ONNX's own operators have the domain `ai.onnx`.
    pub domain: &'a str,
    /// Name of the operator in the format.
    pub op: &'a str,
    /// Attributes of the node, in the order in which they are written.
    pub attributes: Vec<(&'a str, Attribute)>,
    /// Name of the node. A number is added to the name if the new graph already has a node of this name, or if another
    /// node of the source graph has it.
    pub name: &'a str,
    /// The source node that this node replaces, if any. The new node takes over the names that the source node has in
    /// the model.
    pub of: Option<NodeId>,
    /// Operands of the node.
    pub operands: &'a [ValueId],
    /// Element type of the node's single result.
    pub elem: Elem,
    /// Shape of the result, in terms of the new graph's dimensions.
    pub like: &'a [Dim],
}

impl<'a> Foreign<'a> {
    /// Sets the attributes of the node.
    #[must_use]
    pub fn with(self, attributes: Vec<(&'a str, Attribute)>) -> Foreign<'a> {
        Foreign { attributes, ..self }
    }
}

impl<'m> Export<'m> {
    /// Begins a new graph with the inputs of `graph`, which is a graph of the module `source`.
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

    /// Returns the value in the new graph that stands for a value of the source graph. A constant is copied to the new
    /// graph when this function is first called for it. Any other value must have been made before; otherwise the
    /// result is `None`.
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

    /// Records that the value `made` of the new graph stands for `value` of the source graph.
    pub fn set(&mut self, value: ValueId, made: ValueId) {
        if let Some(place) = self.made.get_mut(value.index()) {
            *place = Some(made);
        }
    }

    /// Shape of a value in the new graph.
    pub fn shape(&self, value: ValueId) -> Vec<Dim> {
        let value = self.out.main().value(value);
        value.map(|value| value.ty.shape.to_vec()).unwrap_or_default()
    }

    /// Shape of a value of the source graph, in terms of the new graph's dimensions.
    pub fn shape_of(&mut self, value: ValueId) -> Vec<Dim> {
        let ty = self.graph.value(value).map(|value| value.ty.clone());
        ty.map(|ty| self.typed(&ty).shape.to_vec()).unwrap_or_default()
    }

    /// Adds a constant. The constant's name begins with `name`.
    pub fn constant(&mut self, name: &str, tensor: TensorData) -> ValueId {
        let (name, ty) = (self.value_name(name), tensor.tensor_type());
        let data = self.out.add_data(tensor);
        self.out.main_mut().add_data(name, ty, None, data)
    }

    /// Adds a node of the target's format. If `result` names a value of the source graph, the node's result stands for
    /// that value and has its name. Otherwise it has a name of its own.
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

    /// Copies a source node to the new graph, with this name and these operands. The results of the copy stand for the
    /// results of the source node. If `elem` is given, they have this element type.
    ///
    /// # Errors
    /// If the node runs other graphs.
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
        // A float result may have a scale and zero point with which the node rounds it. The copy keeps this scale and
        // zero point. The scales and zero points of all other results are left out.
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

    /// The finished module with these outputs, which are values of the new graph.
    pub fn finish(mut self, outputs: &[ValueId]) -> Module {
        for &output in outputs {
            self.out.main_mut().add_output(output);
        }
        self.out
    }

    /// Records which nodes of the model the new node `made` replaces: those that the source node `of` replaces.
    fn answers(&mut self, made: NodeId, of: Option<NodeId>) {
        let node = of.and_then(|of| self.graph.node(of));
        let names = node.map(|node| self.names_of(node)).unwrap_or_default();
        let names: Vec<Symbol> = names.iter().map(|name| self.out.names.intern(name)).collect();
        self.out.main_mut().set_sources(made, &names);
    }

    /// Returns the names of the model's nodes that a source node replaces. Names that Strait has made up are left out:
    /// the names of primitives, and the names of nodes that were added to an operator, such as `LAYER:WORD`.
    pub fn names_of(&self, node: &Node) -> Vec<&'m str> {
        let names: Vec<&str> = node.sources.iter().map(|&name| self.source.name(name)).collect();
        let own = self.source.name(node.name);
        let is_beside = names.iter().any(|name| is_inside(own, name));
        names.into_iter().filter(|&name| name != own || !is_beside).collect()
    }

    /// Name of the model's layer that a source node computes, wholly or in part.
    pub fn layer_of(&self, node: &Node) -> &'m str {
        let own = self.source.name(node.name);
        let names = self.names_of(node);
        let layer = names.iter().filter(|name| **name == own || is_inside(own, name));
        let layer = layer.max_by_key(|name| name.len()).or(names.first());
        layer.copied().unwrap_or(own)
    }

    /// A free name for a node, similar to `base`.
    fn node_name(&mut self, base: &str, of: Option<NodeId>) -> String {
        let of = of.and_then(|of| self.graph.node(of));
        let own = of.is_some_and(|of| self.source.name(of.name) == base || self.names_of(of).contains(&base));
        let is_free = own || !self.reserved.contains(base);
        fresh(&mut self.nodes, base, is_free, |name| self.reserved.contains(name))
    }

    fn first_result(&self, id: NodeId) -> ValueId {
        let node = self.out.main().node(id);
        // The node was just added with one result, so the fallback is never used.
        node.and_then(|node| node.outputs.first().copied())
            .unwrap_or(ValueId::new(0))
    }

    /// Copies a type to the new module, and registers the names of its dimensions there.
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

/// True if `name` names a part of the layer called `layer`.
fn is_inside(name: &str, layer: &str) -> bool {
    name.strip_prefix(layer).is_some_and(|rest| rest.starts_with(':'))
}

/// The name if it is free; otherwise the name followed by the first number that makes it free.
fn fresh(taken: &mut BTreeSet<String>, base: &str, is_free: bool, is_reserved: impl Fn(&str) -> bool) -> String {
    let numbered = (1..)
        .map(|number| format!("{base}_{number}"))
        .filter(|name| !is_reserved(name));
    let mut names = is_free.then(|| base.to_owned()).into_iter().chain(numbered);
    let name = names.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(name.clone());
    name
}
