//! Graphs: arenas of nodes and values with intrusive use lists.

use crate::addend::Addend;
use crate::elem::Elem;
use crate::given::Reading;
use crate::ids::{ConfigId, DataId, NodeId, Symbol, ValueId};
use crate::op::Op;
use crate::quant::{Port, QuantParams, QuantTable};
use crate::reason::Reason;
use crate::shape::TensorType;
use crate::stage::Stage;
use crate::use_list::{Link, Use};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use strait_requantize::Requantization;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// The graph's input at this position.
    Input(u32),
    /// A tensor of the pool.
    Data(DataId),
    /// The result of a node, by position.
    Node(NodeId, u8),
}

/// The largest number of results of one node; their positions are 8 bits wide.
pub const MAX_RESULTS: usize = 1 << 8;

/// The largest number of operands of one node; their positions are 16 bits wide.
pub const MAX_OPERANDS: usize = 1 << 16;

/// An edge of the graph.
#[derive(Clone, Debug)]
pub struct Value {
    /// The source name of the tensor; stable through every rewrite.
    pub name: Symbol,
    /// Element type and shape.
    pub ty: TensorType,
    /// The grid, where the value is quantized: real = scale × (q − zero point).
    pub quant: Option<Arc<QuantParams>>,
    /// Where the value comes from.
    pub def: Def,
    pub(crate) first_use: Option<Use>,
    pub(crate) output_positions: SmallVec<[u32; 1]>,
}

impl Value {
    /// True for codes and accumulators. An i64 without a grid is a shape or an index.
    pub fn is_quantized(&self) -> bool {
        self.ty.elem.int_type().is_some() || (self.ty.elem == Elem::I64 && self.quant.is_some())
    }
}

/// Steps of an accumulator before it leaves its node: clamp(requantize(acc)), or clamp(requantize(acc + addend)).
/// Absent before fusion, so that "identity, i32" has exactly one spelling.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused {
    /// Another tensor that is added to the accumulator first, the node's last operand.
    pub addend: Option<Addend>,
    /// The requantization; its channels are found as [`Node::channels`] says.
    pub requant: Requantization,
    /// Codes that the requantized value is clipped to.
    pub clamp: Option<[i32; 2]>,
}

impl Fused {
    /// Steps of an accumulator that nothing is added to.
    pub fn new(requant: Requantization, clamp: Option<[i32; 2]>) -> Fused {
        Fused {
            addend: None,
            requant,
            clamp,
        }
    }
}

/// Where a node runs. Passes may only move a node towards the host.
#[derive(Clone, Debug, PartialEq)]
pub enum Placement {
    /// On the target, in integers.
    Accelerator,
    /// On the host, in float, and why.
    Host(Arc<Reason>),
}

/// One operation.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name that reports use: the source name of the node it was made from.
    pub name: Symbol,
    /// Every source name that this node answers for, itself included; grows when nodes are folded into it.
    pub sources: SmallVec<[Symbol; 1]>,
    /// The operation.
    pub op: Op,
    /// The operands; `None` where an optional one is absent.
    pub inputs: SmallVec<[Option<ValueId>; 3]>,
    /// The results.
    pub outputs: SmallVec<[ValueId; 1]>,
    /// Steps that were fused into it.
    pub fused: Option<Box<Fused>>,
    /// Where it runs.
    pub place: Placement,
    pub(crate) links: SmallVec<[Link; 3]>,
}

/// Nodes and values of one function. Entries keep their ids for ever; removed ones leave a gap.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The graph's name.
    pub name: Symbol,
    pub(crate) nodes: Vec<Option<Node>>,
    pub(crate) values: Vec<Option<Value>>,
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) outputs: Vec<ValueId>,
    pub(crate) stage: Stage,
    /// Quantization configs by operand, in the annotated stage.
    pub quant: QuantTable,
    /// In the annotated stage: uses that read a value otherwise than on the grid that the model gives for it.
    pub(crate) readings: BTreeMap<Use, Reading>,
}

impl Graph {
    /// An empty graph.
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

    /// The stage whose invariants hold.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Declares that the invariants of `stage` hold from here on; the verifier checks them.
    pub fn set_stage(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// The node with this id, unless it was removed.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())?.as_ref()
    }

    /// The value with this id, unless it was removed.
    pub fn value(&self, id: ValueId) -> Option<&Value> {
        self.values.get(id.index())?.as_ref()
    }

    /// Ids and nodes in the order of ids.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes
            .iter()
            .enumerate()
            .filter_map(|(index, n)| n.as_ref().map(|n| (NodeId::new(index), n)))
    }

    /// Ids and values in the order of ids.
    pub fn values(&self) -> impl Iterator<Item = (ValueId, &Value)> {
        self.values
            .iter()
            .enumerate()
            .filter_map(|(index, v)| v.as_ref().map(|v| (ValueId::new(index), v)))
    }

    /// One past the largest node index ever handed out: the length of a side table by node.
    pub fn node_bound(&self) -> usize {
        self.nodes.len()
    }

    /// One past the largest value index ever handed out: the length of a side table by value.
    pub fn value_bound(&self) -> usize {
        self.values.len()
    }

    /// The graph's inputs in order.
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// The graph's outputs in order.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// The value that goes in or comes out by a place: of a node, or on the border of the graph. None where there is no such
    /// place, or an optional operand is absent.
    pub fn value_at(&self, node: NodeId, port: Port) -> Option<ValueId> {
        match port {
            Port::Operand(index) => self.node(node)?.inputs.get(index).copied().flatten(),
            Port::Result(index) => self.node(node)?.outputs.get(index).copied(),
            Port::Input(index) => self.inputs.get(index).copied(),
            Port::Output(index) => self.outputs.get(index).copied(),
        }
    }

    /// The config of a value as it leaves the node that makes it, or the host that hands it over.
    pub fn left(&self, value: ValueId) -> Option<ConfigId> {
        self.left_by(&self.quant, value)
    }

    /// The same in another table.
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

    /// The node that produces a value, and as which result.
    pub fn producer(&self, id: ValueId) -> Option<(NodeId, &Node)> {
        match self.value(id)?.def {
            Def::Node(node, _) => Some((node, self.node(node)?)),
            _ => None,
        }
    }

    /// The pool tensor that a value is, if it is one.
    pub fn data_of(&self, id: ValueId) -> Option<DataId> {
        match self.value(id)?.def {
            Def::Data(data) => Some(data),
            _ => None,
        }
    }

    // ---- building: appends only; everything else goes through a patch ----

    /// Appends an input of the graph.
    pub fn add_input(&mut self, name: Symbol, ty: TensorType, quant: Option<Arc<QuantParams>>) -> ValueId {
        let id = self.add_value(name, ty, quant, Def::Input(self.inputs.len() as u32));
        self.inputs.push(id);
        id
    }

    /// Appends a value for a tensor of the pool.
    pub fn add_data(&mut self, name: Symbol, ty: TensorType, quant: Option<Arc<QuantParams>>, data: DataId) -> ValueId {
        self.add_value(name, ty, quant, Def::Data(data))
    }

    /// Appends a node whose operands exist; `results` gives name, type and grid of each result.
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
            if let Some(value) = *input {
                self.link(
                    value,
                    Use {
                        node: id,
                        operand: operand as u16,
                    },
                );
            }
        }
        id
    }

    /// Appends an output of the graph.
    pub fn add_output(&mut self, id: ValueId) {
        let position = self.outputs.len() as u32;
        if let Some(value) = self.values.get_mut(id.index()).and_then(Option::as_mut) {
            value.output_positions.push(position);
            self.outputs.push(id);
        }
    }

    // ---- small edits that touch no edge ----

    /// Moves a node to the host. There is no way back, and the first reason stays.
    pub fn place_on_host(&mut self, id: NodeId, reason: Reason) {
        if let Some(node) = self.nodes.get_mut(id.index()).and_then(Option::as_mut)
            && node.place == Placement::Accelerator
        {
            node.place = Placement::Host(Arc::new(reason));
        }
    }

    /// Gives a value its grid.
    pub fn set_quant(&mut self, id: ValueId, quant: Option<Arc<QuantParams>>) {
        if let Some(value) = self.values.get_mut(id.index()).and_then(Option::as_mut) {
            value.quant = quant;
        }
    }

    /// Gives a value another name; names are unique in a graph, which the verifier checks.
    pub fn rename(&mut self, id: ValueId, name: Symbol) {
        if let Some(value) = self.values.get_mut(id.index()).and_then(Option::as_mut) {
            value.name = name;
        }
    }

    /// Adds source names that a node answers for.
    pub fn add_sources(&mut self, id: NodeId, sources: &[Symbol]) {
        if let Some(node) = self.nodes.get_mut(id.index()).and_then(Option::as_mut) {
            for &source in sources {
                if !node.sources.contains(&source) {
                    node.sources.push(source);
                }
            }
        }
    }

    /// Gives a node that a builder has just added the source names that it answers for.
    pub fn set_sources(&mut self, id: NodeId, sources: &[Symbol]) {
        if let Some(node) = self.nodes.get_mut(id.index()).and_then(Option::as_mut) {
            node.sources = sources.into();
        }
    }

    /// Gives a node that a builder has just added its fused requantization and its placement.
    pub fn set_fused(&mut self, id: NodeId, fused: Option<Fused>, place: Placement) {
        if let Some(node) = self.nodes.get_mut(id.index()).and_then(Option::as_mut) {
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
