//! Graphs. Nodes and values are stored in arenas. The operands that use the same value form a linked list, whose links
//! are stored in the nodes.

use crate::addend::Addend;
use crate::elem::Elem;
use crate::ids::{ConfigId, DataId, Link, NodeId, Symbol, Use, ValueId};
use crate::op::Op;
use crate::quant::{Port, QuantParams, QuantTable, Reading};
use crate::reason::Reason;
use crate::shape::{Dim, TensorType};
use crate::stage::Stage;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use strait_requantize::Requantization;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// The graph's input at this position.
    Input(u32),
    /// A constant of the tensor pool.
    Data(DataId),
    /// The result of a node, at this position among its results.
    Node(NodeId, u8),
}

/// A value, which is an edge of the graph.
#[derive(Clone, Debug)]
pub struct Value {
    /// The name of the tensor in the source model. Every rewrite keeps it.
    pub name: Symbol,
    /// Element type and shape.
    pub ty: TensorType,
    /// The grid, if the value is quantized: real = scale × (q − zero point).
    pub quant: Option<Arc<QuantParams>>,
    /// Where the value comes from.
    pub def: Def,
    pub(crate) first_use: Option<Use>,
    pub(crate) output_positions: SmallVec<[u32; 1]>,
}

impl Value {
    /// True if the value is codes or an accumulator. An i64 value without a grid is a shape or an index.
    pub fn is_quantized(&self) -> bool {
        self.ty.elem.int_type().is_some() || (self.ty.elem == Elem::I64 && self.quant.is_some())
    }
}

/// The steps that are fused into a node. With acc as the accumulator, the node computes clamp(requantize(acc)), or
/// clamp(requantize(acc + addend)). If nothing is fused into a node, it has no `Fused`.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused {
    /// A tensor that is added to the accumulator before the requantization. It is the node's last operand.
    pub addend: Option<Addend>,
    /// The requantization of the accumulator. [`Node::channels`] tells which channel an element belongs to.
    pub requant: Requantization,
    /// The smallest and the largest code of the result. Codes outside of this range are clamped.
    pub clamp: Option<[i32; 2]>,
}

impl Fused {
    /// Fused steps without an addend: a requantization, and optionally a clamp.
    pub fn new(requant: Requantization, clamp: Option<[i32; 2]>) -> Fused {
        Fused {
            addend: None,
            requant,
            clamp,
        }
    }
}

/// Where a node runs. Passes may move a node to the host, but never from the host to the accelerator.
#[derive(Clone, Debug, PartialEq)]
pub enum Placement {
    /// On the target, in integers.
    Accelerator,
    /// On the host, in float. The field says why.
    Host(Arc<Reason>),
}

/// One operation of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name of the node in reports. It is the name of a node of the source model.
    pub name: Symbol,
    /// The names of all nodes of the source model that this node was made from, including its own name. The list grows
    /// when nodes are folded into this node.
    pub sources: SmallVec<[Symbol; 1]>,
    /// The op that the node computes.
    pub op: Op,
    /// The operands. An optional operand that is absent is `None`.
    pub inputs: SmallVec<[Option<ValueId>; 3]>,
    /// The results of the node.
    pub outputs: SmallVec<[ValueId; 1]>,
    /// The steps that are fused into the node.
    pub fused: Option<Box<Fused>>,
    /// Whether the node runs on the target or on the host.
    pub place: Placement,
    pub(crate) links: SmallVec<[Link; 3]>,
}

/// A graph: the nodes and values of one function. The id of a node or value never changes. A removed node or value
/// leaves a gap.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The graph's name.
    pub name: Symbol,
    pub(crate) nodes: Vec<Option<Node>>,
    pub(crate) values: Vec<Option<Value>>,
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) outputs: Vec<ValueId>,
    pub(crate) stage: Stage,
    /// The quantization configs of operands and results, in the annotated stage.
    pub quant: QuantTable,
    /// In the annotated stage: the operands that do not read a value on the grid that the model gives for it.
    pub(crate) readings: BTreeMap<Use, Reading>,
}

impl Graph {
    /// Makes an empty graph.
    pub fn new(name: Symbol, stage: Stage) -> Graph {
        Graph {
            name,
            nodes: Vec::new(),
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            stage,
            quant: QuantTable::default(),
            readings: BTreeMap::new(),
        }
    }

    /// Returns the stage of the graph, which says which invariants hold.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Declares that the graph is in this stage. The verifier checks whether the invariants of the stage hold.
    pub fn set_stage(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// Returns the node with this id, unless it was removed.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())?.as_ref()
    }

    /// Returns the value with this id, unless it was removed.
    pub fn value(&self, id: ValueId) -> Option<&Value> {
        self.values.get(id.index())?.as_ref()
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.index())?.as_mut()
    }

    pub(crate) fn value_mut(&mut self, id: ValueId) -> Option<&mut Value> {
        self.values.get_mut(id.index())?.as_mut()
    }

    /// Returns all nodes with their ids, in the order of ids.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(index, node)| Some((NodeId::new(index), node.as_ref()?)))
    }

    /// Returns all values with their ids, in the order of ids.
    pub fn values(&self) -> impl Iterator<Item = (ValueId, &Value)> {
        let values = self.values.iter().enumerate();
        values.filter_map(|(index, value)| Some((ValueId::new(index), value.as_ref()?)))
    }

    /// Returns one more than the largest index of a node so far. This is the length of a table indexed by node.
    pub fn node_bound(&self) -> usize {
        self.nodes.len()
    }

    /// Returns one more than the largest index of a value so far. This is the length of a table indexed by value.
    pub fn value_bound(&self) -> usize {
        self.values.len()
    }

    /// Returns the graph's inputs in order.
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// Returns the graph's outputs in order.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// Returns the value at a port of a node or of the graph. Returns `None` if there is no such port, or if an
    /// optional operand is absent.
    pub fn value_at(&self, node: NodeId, port: Port) -> Option<ValueId> {
        match port {
            Port::Operand(index) => self.node(node)?.inputs.get(index).copied().flatten(),
            Port::Result(index) => self.node(node)?.outputs.get(index).copied(),
            Port::Input(index) => self.inputs.get(index).copied(),
            Port::Output(index) => self.outputs.get(index).copied(),
        }
    }

    /// Returns the quantization config of a value where it is produced: at the node's result, or at the graph's input.
    pub fn left(&self, value: ValueId) -> Option<ConfigId> {
        self.left_by(&self.quant, value)
    }

    /// Like [`Graph::left`], but reads the config from `table` and not from the graph's own table.
    pub fn left_by(&self, table: &QuantTable, value: ValueId) -> Option<ConfigId> {
        match self.value(value)?.def {
            Def::Node(id, position) => table.id(id, Port::Result(position.into())),
            Def::Input(position) => table.id(NodeId::OUTSIDE, Port::Input(position as usize)),
            Def::Data(_) => None,
        }
    }

    /// True if the value is an output of the graph.
    pub fn is_output(&self, id: ValueId) -> bool {
        self.value(id).is_some_and(|v| !v.output_positions.is_empty())
    }

    /// Returns the node that produces a value, with its id.
    pub fn producer(&self, id: ValueId) -> Option<(NodeId, &Node)> {
        match self.value(id)?.def {
            Def::Node(node, _) => Some((node, self.node(node)?)),
            _ => None,
        }
    }

    /// Returns the id of the constant that a value stands for; `None` if the value is not a constant.
    pub fn data_of(&self, id: ValueId) -> Option<DataId> {
        match self.value(id)?.def {
            Def::Data(data) => Some(data),
            _ => None,
        }
    }

    // ---- building: these functions only append; edges are otherwise changed only by patches ----

    /// Appends an input of the graph.
    pub fn add_input(&mut self, name: Symbol, ty: TensorType, quant: Option<Arc<QuantParams>>) -> ValueId {
        let id = self.add_value(name, ty, quant, Def::Input(self.inputs.len() as u32));
        self.inputs.push(id);
        id
    }

    /// Appends a value that stands for a constant of the pool.
    pub fn add_data(&mut self, name: Symbol, ty: TensorType, quant: Option<Arc<QuantParams>>, data: DataId) -> ValueId {
        self.add_value(name, ty, quant, Def::Data(data))
    }

    /// Appends a node whose operands already exist. `results` are the name, type and grid of each result.
    pub fn add_node(
        &mut self,
        name: Symbol,
        op: Op,
        inputs: &[Option<ValueId>],
        results: Vec<(Symbol, TensorType, Option<Arc<QuantParams>>)>,
    ) -> NodeId {
        let id = NodeId::new(self.nodes.len());
        let outputs = results
            .into_iter()
            .enumerate()
            .map(|(position, (name, ty, quant))| self.add_value(name, ty, quant, Def::Node(id, position as u8)))
            .collect();
        self.nodes.push(Some(Node {
            name,
            sources: SmallVec::from_elem(name, 1),
            op,
            inputs: inputs.into(),
            outputs,
            fused: None,
            place: Placement::Accelerator,
            links: SmallVec::from_elem(Link::default(), inputs.len()),
        }));
        for (operand, input) in inputs.iter().enumerate() {
            let operand = operand as u16;
            if let Some(value) = *input {
                self.link(value, Use { node: id, operand });
            }
        }
        id
    }

    /// Appends an output of the graph.
    pub fn add_output(&mut self, id: ValueId) {
        let position = self.outputs.len() as u32;
        if let Some(value) = self.value_mut(id) {
            value.output_positions.push(position);
            self.outputs.push(id);
        }
    }

    // ---- small changes that leave the edges as they are ----

    /// Moves a node to the host. The node cannot move back, and keeps the first reason that it was given.
    pub fn place_on_host(&mut self, id: NodeId, reason: impl Into<Arc<Reason>>) {
        let node = self.node_mut(id).filter(|node| node.place == Placement::Accelerator);
        if let Some(node) = node {
            node.place = Placement::Host(reason.into());
        }
    }

    /// Gives a value its grid.
    pub fn set_quant(&mut self, id: ValueId, quant: Option<Arc<QuantParams>>) {
        if let Some(value) = self.value_mut(id) {
            value.quant = quant;
        }
    }

    /// Replaces the named extents for which `extent` returns a number, in the types of all values.
    pub fn bind(&mut self, extent: impl Fn(Symbol) -> Option<u64>) {
        for dim in (self.values.iter_mut().flatten()).flat_map(|value| value.ty.shape.iter_mut()) {
            if let Dim::Named(symbol) = *dim
                && let Some(number) = extent(symbol)
            {
                *dim = Dim::Fixed(number);
            }
        }
    }

    /// Renames a value. The verifier checks that no two values of a graph have the same name.
    pub fn rename(&mut self, id: ValueId, name: Symbol) {
        if let Some(value) = self.value_mut(id) {
            value.name = name;
        }
    }

    /// Adds names to a node's list of source nodes ([`Node::sources`]).
    pub fn add_sources(&mut self, id: NodeId, sources: &[Symbol]) {
        if let Some(node) = self.node_mut(id) {
            for &source in sources {
                if !node.sources.contains(&source) {
                    node.sources.push(source);
                }
            }
        }
    }

    /// Sets a node's list of source nodes ([`Node::sources`]). A builder calls this for a node that it has just added.
    pub fn set_sources(&mut self, id: NodeId, sources: &[Symbol]) {
        if let Some(node) = self.node_mut(id) {
            node.sources = sources.into();
        }
    }

    /// Sets the fused steps and the placement of a node. A builder calls this for a node that it has just added.
    pub fn set_fused(&mut self, id: NodeId, fused: Option<Fused>, place: Placement) {
        if let Some(node) = self.node_mut(id) {
            node.fused = fused.map(Box::new);
            if node.place == Placement::Accelerator {
                node.place = place;
            }
        }
    }

    fn add_value(&mut self, name: Symbol, ty: TensorType, quant: Option<Arc<QuantParams>>, def: Def) -> ValueId {
        let id = ValueId::new(self.values.len());
        let output_positions = SmallVec::new();
        self.values.push(Some(Value {
            name,
            ty,
            quant,
            def,
            first_use: None,
            output_positions,
        }));
        id
    }
}

// A graph of a million nodes has about twice as many values, and a compilation has up to four graphs at once.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Option<Node>>() <= 168 && size_of::<Option<Value>>() <= 136);
