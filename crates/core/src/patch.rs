//! Patches. Once a graph is built, only a patch can change it.

use crate::addend::Addend;
use crate::graph::{Def, Fused, Graph, Node, Placement};
use crate::ids::{DataId, GraphId, NodeId, Symbol, Use, ValueId};
use crate::module::Module;
use crate::names::Names;
use crate::op::{Op, Results};
use crate::quant::QuantParams;
use crate::reason::Reason;
use crate::shape::{Dim, TensorType};
use crate::tensor::TensorData;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// An operand of a node that a patch adds, or the replacement of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A value of the graph.
    Old(ValueId),
    /// A result of a new node. The first field is the node's position in the patch, the second is the position of the
    /// result among the node's results.
    New(u16, u8),
    /// The constant at this position in the patch.
    Data(u16),
}

/// A node that a patch adds.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// The op of the new node.
    pub op: Op,
    /// The operands of the new node.
    pub inputs: SmallVec<[Option<Source>; 3]>,
    /// The existing nodes whose work the new node does; at least one. The new node gets the source names of all these
    /// origins. It runs on the host if one of the origins runs there. If the patch also removes the first origin, the
    /// new node takes over the name of this origin. If several new nodes have the same first origin, only one of them
    /// takes over the name: the first new node that computes, or, if none computes, the first that moves elements.
    pub origins: SmallVec<[NodeId; 2]>,
    /// The steps that are fused into the new node.
    pub fused: Option<Fused>,
    /// The grids of the new node's results. Results beyond the end of the list have none.
    pub quant: SmallVec<[Option<Arc<QuantParams>>; 1]>,
}

impl NewNode {
    /// Makes a node without fused steps and without grids.
    pub fn new(op: impl Into<Op>, inputs: &[Option<Source>], origins: &[NodeId]) -> NewNode {
        NewNode {
            op: op.into(),
            inputs: inputs.into(),
            origins: origins.into(),
            fused: None,
            quant: SmallVec::new(),
        }
    }
}

/// A change to a graph. The time to apply a patch depends on its own size, and not on the size of the graph.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    /// Constants to add to the pool. The name of each constant is made from the string.
    pub data: Vec<(String, TensorData)>,
    /// For each constant of `data` that a rule has computed and rounded: its position in `data`, and the exact numbers
    /// before rounding; see [`Module::unrounded`]. The positions are in ascending order.
    pub unrounded: Vec<(u16, Vec<f64>)>,
    /// Nodes to add. A node may use results of nodes before it.
    pub add: Vec<NewNode>,
    /// Pairs of a value and its replacement. Both must have the same type. All uses of a value, except those by the
    /// added nodes, become uses of the replacement. The replacement takes over the name of the replaced value. If the
    /// replacement has no grid, it also takes over the grid. The replacement keeps its own name in three cases: the
    /// replaced value or the replacement is an input or a constant; the replacement is an output; or only the
    /// replacement has a name from the model.
    pub replace: Vec<(ValueId, Source)>,
    /// Pairs of an operand of an existing node and the value that it reads instead. Both values must have the same type.
    pub redirect: Vec<(Use, Source)>,
    /// Pairs of a value that the patch removes and another value with the same elements in another order. If only the
    /// removed value has a name from the model, the other value takes over that name.
    pub rename: Vec<(ValueId, Source)>,
    /// Nodes to remove. No other node may use their results any more.
    pub remove: Vec<NodeId>,
}

/// The result of applying a patch.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// The added nodes, in the order of the patch.
    pub added: Vec<NodeId>,
    /// Nodes that rules should look at again: the added nodes, their producers, and the users of replaced values.
    pub touched: Vec<NodeId>,
}

/// Why a patch cannot be applied to the graph. The rule that made the patch, in Strait or in a plugin, is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PatchError {
    /// The patch refers to something that does not exist.
    #[error("the patch refers to {0}, which does not exist")]
    Missing(String),
    /// The operands of a new node do not fit its op.
    #[error("new node {position} ({op}): {reason}")]
    Type {
        /// The node's position in the patch.
        position: usize,
        /// The node's op.
        op: &'static str,
        /// Why shape inference refuses the operands.
        reason: Reason,
    },
    /// The replacement of a value has another type.
    #[error("{value} of type {from} would become {to}")]
    Replaced {
        /// The value to replace.
        value: ValueId,
        /// The type of the value to replace.
        from: Box<TensorType>,
        /// The type of the replacement.
        to: Box<TensorType>,
    },
    /// A node is to be removed, but its results are still used.
    #[error("{0} would be removed but is still used")]
    StillUsed(NodeId),
    /// A new node has no origins ([`NewNode::origins`]).
    #[error("new node {0} names no origin")]
    NoOrigin(usize),
}

impl Module {
    /// Applies a patch. If this fails, nothing is changed. The time depends only on the size of the patch and the
    /// number of uses of the replaced values.
    pub fn apply(&mut self, graph: GraphId, patch: Patch) -> Result<Applied, PatchError> {
        let mut types = self.check(graph, &patch)?;
        let mut names: BTreeMap<Symbol, Symbol> = BTreeMap::new();
        for (new, types) in patch.add.iter().zip(&mut types) {
            let origin = self.graphs[graph.index()].node(new.origins[0]).map(|n| n.name);
            let base = origin.map_or_else(String::new, |s| self.name(s).to_owned());
            for (symbol, axis) in types.iter_mut().flat_map(placeholders) {
                let fresh = || self.names.fresh(&format!("{base}.{axis}"));
                *symbol = *names.entry(*symbol).or_insert_with(fresh);
            }
        }
        let heirs = heirs(&patch);
        let mut data = Vec::with_capacity(patch.data.len());
        let mut unrounded = patch.unrounded.into_iter().peekable();
        for (position, (name, tensor)) in patch.data.into_iter().enumerate() {
            let (name, ty) = (self.names.fresh(&name), tensor.tensor_type());
            let id = self.add_data(tensor);
            if let Some((_, numbers)) = unrounded.next_if(|(of, _)| usize::from(*of) == position) {
                self.remember(id, numbers);
            }
            data.push(self.graphs[graph.index()].add_data(name, ty, None, id));
        }
        let names: Vec<(Symbol, Vec<Symbol>)> = patch
            .add
            .iter()
            .zip(&types)
            .enumerate()
            .map(|(position, (new, results))| {
                let origin = self.graphs[graph.index()].node(new.origins[0]);
                let given = origin.map(|n| n.name);
                let source = origin.and_then(|n| n.sources.first().copied()).or(given);
                let text = |symbol: Option<Symbol>| symbol.map_or_else(String::new, |s| self.names.text(s).to_owned());
                let (base, source) = (text(given), text(source));
                let values = results
                    .iter()
                    .map(|_| self.names.fresh(&format!("{base}:value")))
                    .collect();
                // Two nodes never have the same name. If a new node does not take over the name of its origin, its name
                // is the origin's name followed by the name of the op, so that it cannot be mistaken for an operator of
                // the model.
                let taken_over = given.filter(|_| heirs.get(&new.origins[0]) == Some(&position));
                let own = || self.names.fresh(&format!("{source}:{}", new.op.name()));
                (taken_over.unwrap_or_else(own), values)
            })
            .collect();
        let g = &mut self.graphs[graph.index()];
        let first_new = g.node_bound();
        let mut applied = Applied::default();
        for ((new, types), names) in patch.add.into_iter().zip(types).zip(names) {
            let id = g.insert(new, types, names, &data, first_new);
            applied.added.push(id);
            applied.touched.push(id);
            let producers: Vec<NodeId> = g.producers(id).collect();
            applied.touched.extend(producers);
        }
        for (old, source) in patch.replace {
            if let Some(new) = g.resolve(source, &data, first_new) {
                applied.touched.extend(g.replace(old, new, first_new, &self.names));
            }
        }
        for (at, source) in patch.redirect {
            if let Some(new) = g.resolve(source, &data, first_new) {
                applied.touched.push(at.node);
                g.redirect(at, new);
            }
        }
        for id in &patch.remove {
            // The producers of removed nodes have lost a user. So rules look at these producers again: a producer may
            // now be unused, or may be merged into its only user.
            let producers: Vec<NodeId> = g.producers(*id).collect();
            applied.touched.extend(producers);
        }
        let read = patch.remove.iter().filter_map(|&id| g.node(id));
        let read: Vec<ValueId> = read.flat_map(|node| node.inputs.iter().flatten().copied()).collect();
        let given = |name: &Symbol| !self.names.is_made(*name);
        let renamed = patch.rename.into_iter().filter_map(|(old, source)| {
            let name = g.value(old).map(|value| value.name).filter(given)?;
            Some((old, name, g.resolve(source, &data, first_new)?))
        });
        let renamed: Vec<(ValueId, Symbol, ValueId)> = renamed.collect();
        for id in patch.remove {
            g.remove(id);
        }
        for (old, name, new) in renamed {
            let has_gone = g.value(old).is_none();
            let new = g.value_mut(new).filter(|value| has_gone && !given(&value.name));
            if let Some(value) = new {
                value.name = name;
            }
        }
        let is_unread = |value: &ValueId| g.uses(*value).next().is_none();
        let unread = read.into_iter().filter(is_unread).filter_map(|value| g.data_of(value));
        let unread: Vec<DataId> = unread.collect();
        applied.touched.retain(|&id| g.node(id).is_some());
        applied.touched.sort_unstable();
        applied.touched.dedup();
        unread.into_iter().for_each(|id| self.forget(Some(id)));
        Ok(applied)
    }

    /// Checks that the patch can be applied, and returns the result types of the new nodes.
    fn check(&self, graph: GraphId, patch: &Patch) -> Result<Vec<Results>, PatchError> {
        let missing = |what: &dyn fmt::Display| PatchError::Missing(what.to_string());
        let g = self.graph(graph).ok_or_else(|| missing(&graph))?;
        let mut types: Vec<Results> = Vec::with_capacity(patch.add.len());
        let mut open = 0;
        let type_of = |types: &[Results], source: Source| -> Result<TensorType, PatchError> {
            let found = match source {
                Source::Old(value) => g.value(value).map(|v| v.ty.clone()),
                Source::New(node, result) => types
                    .get(usize::from(node))
                    .and_then(|t| t.get(usize::from(result)).cloned()),
                Source::Data(position) => patch.data.get(usize::from(position)).map(|(_, t)| t.tensor_type()),
            };
            found.ok_or_else(|| {
                PatchError::Missing(match source {
                    Source::Old(value) => value.to_string(),
                    Source::New(node, result) => format!("result {result} of new node {node}"),
                    Source::Data(position) => format!("tensor {position} of the patch"),
                })
            })
        };
        for (position, new) in patch.add.iter().enumerate() {
            let origin = new.origins.first().ok_or(PatchError::NoOrigin(position))?;
            if g.node(*origin).is_none() {
                return Err(missing(origin));
            }
            let operands = new
                .inputs
                .iter()
                .map(|source| source.map(|s| type_of(&types, s)).transpose())
                .collect::<Result<SmallVec<[_; 4]>, _>>()?;
            let operands: SmallVec<[Option<&TensorType>; 4]> = operands.iter().map(Option::as_ref).collect();
            let mut results = self
                .result_types(&new.op, &operands, new.fused.as_ref())
                .map_err(|reason| PatchError::Type {
                    position,
                    op: new.op.name(),
                    reason,
                })?;
            let dims = results.iter_mut().flat_map(|ty| &mut ty.shape);
            for dim in dims.filter(|dim| **dim == Dim::OPEN) {
                *dim = Dim::Named(Symbol::placeholder(open));
                open += 1;
            }
            types.push(results);
        }
        let mut known: BTreeMap<Symbol, Symbol> = BTreeMap::new();
        let replaced: BTreeSet<ValueId> = patch.replace.iter().map(|&(old, _)| old).collect();
        let mut places = patch.replace.clone();
        for &(at, source) in &patch.redirect {
            let read = g.node(at.node).and_then(|node| node.input(at.operand.into()));
            places.push((read.ok_or_else(|| missing(&at.node))?, source));
        }
        for (old, source) in places {
            let from = g.value(old).ok_or_else(|| missing(&old))?.ty.clone();
            let to = type_of(&types, source)?;
            if !takes_the_place(&to, &from, &mut known) {
                return Err(PatchError::Replaced {
                    value: old,
                    from: Box::new(from),
                    to: Box::new(to),
                });
            }
        }
        let removed: BTreeSet<NodeId> = patch.remove.iter().copied().collect();
        // A value that new nodes read, or that replaces another value, must not be removed.
        let read = patch.add.iter().flat_map(|n| n.inputs.iter().flatten());
        let needed: BTreeSet<ValueId> = read
            .chain(patch.replace.iter().map(|(_, source)| source))
            .filter_map(|s| if let Source::Old(v) = s { Some(*v) } else { None })
            .collect();
        for &id in &patch.remove {
            let node = g.node(id).ok_or_else(|| missing(&id))?;
            for &output in &node.outputs {
                let moved = replaced.contains(&output);
                let free = !g.is_output(output) && g.uses(output).all(|u| removed.contains(&u.node));
                if needed.contains(&output) || !(moved || free) {
                    return Err(PatchError::StillUsed(id));
                }
            }
        }
        for (symbol, _) in types.iter_mut().flatten().flat_map(placeholders) {
            *symbol = known.get(symbol).copied().unwrap_or(*symbol);
        }
        Ok(types)
    }

    /// Returns the types of a node's results. They are inferred from the op, or, if the op runs graphs, taken from the
    /// graphs' outputs. If a requantization is fused into the node, the requantization determines the element type.
    pub fn result_types(
        &self,
        op: &Op,
        operands: &[Option<&TensorType>],
        fused: Option<&Fused>,
    ) -> Result<Results, Reason> {
        let mut results = match self.results_of_graphs(op, operands) {
            Some(results) => results?,
            None => match fused.and_then(|fused| fused.addend.as_ref()) {
                Some(addend) => {
                    let results = op.infer(operands.get(..Addend::OPERAND).unwrap_or(operands))?;
                    addend.fits(op, operands, results.first())?;
                    results
                }
                None => op.infer(operands)?,
            },
        };
        if let (Some(fused), Some(first)) = (fused, results.first_mut()) {
            first.elem = fused.requant.out().into();
        }
        Ok(results)
    }
}

/// Returns, for each removed node, the position of the new node that takes over its name: the first new node that
/// computes, or, if none computes, the first that moves elements.
fn heirs(patch: &Patch) -> BTreeMap<NodeId, usize> {
    let gone: BTreeSet<NodeId> = patch.remove.iter().copied().collect();
    let mut heirs = BTreeMap::new();
    for is_form in [false, true] {
        let new = patch.add.iter().enumerate();
        for (position, new) in new.filter(|(_, new)| new.op.term().is_form() == is_form) {
            let origin = new.origins[0];
            if gone.contains(&origin) {
                heirs.entry(origin).or_insert(position);
            }
        }
    }
    heirs
}

/// Returns the placeholders among the names of a type's extents, each with its axis.
fn placeholders(ty: &mut TensorType) -> impl Iterator<Item = (&mut Symbol, usize)> {
    let dims = ty.shape.iter_mut().enumerate();
    dims.filter_map(|(axis, dim)| match dim {
        Dim::Named(symbol) if symbol.is_placeholder() => Some((symbol, axis)),
        _ => None,
    })
}

/// Returns true if a value of type `from` may be replaced by a value of type `to`. If so, each placeholder among the
/// extents of `to` stands for the name of the same extent of `from`, and this name is stored in `known`.
fn takes_the_place(to: &TensorType, from: &TensorType, known: &mut BTreeMap<Symbol, Symbol>) -> bool {
    to.elem == from.elem
        && to.shape.len() == from.shape.len()
        && to.shape.iter().zip(&from.shape).all(|(to, from)| match (to, from) {
            (to, from) if to == from => true,
            (Dim::Named(to), Dim::Named(from)) if to.is_placeholder() => *known.entry(*to).or_insert(*from) == *from,
            _ => false,
        })
}

impl Graph {
    fn producers(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.node(id)
            .into_iter()
            .flat_map(|n| n.inputs.iter().flatten())
            .filter_map(|&v| Some(self.producer(v)?.0))
    }

    fn resolve(&self, source: Source, data: &[ValueId], first_new: usize) -> Option<ValueId> {
        match source {
            Source::Old(value) => Some(value),
            Source::Data(position) => data.get(usize::from(position)).copied(),
            Source::New(node, result) => {
                let node = self.node(NodeId::new(first_new + usize::from(node)))?;
                node.outputs.get(usize::from(result)).copied()
            }
        }
    }

    fn insert(
        &mut self,
        new: NewNode,
        types: Results,
        (name, names): (Symbol, Vec<Symbol>),
        data: &[ValueId],
        first_new: usize,
    ) -> NodeId {
        let inputs: Vec<Option<ValueId>> = new
            .inputs
            .iter()
            .map(|s| s.and_then(|s| self.resolve(s, data, first_new)))
            .collect();
        let mut grids = new.quant.into_iter();
        let results = types
            .into_iter()
            .zip(names)
            .map(|(ty, name)| (name, ty, grids.next().flatten()))
            .collect();
        let origins: Vec<Node> = new.origins.iter().filter_map(|&o| self.node(o).cloned()).collect();
        let id = self.add_node(name, new.op, &inputs, results);
        self.set_sources(id, &[]);
        for origin in &origins {
            self.add_sources(id, &origin.sources);
        }
        let place = origins
            .into_iter()
            .map(|o| o.place)
            .find(|p| *p != Placement::Accelerator);
        self.set_fused(id, new.fused, place.unwrap_or(Placement::Accelerator));
        id
    }

    /// Turns the uses of `old` into uses of `new`. Uses by nodes from `first_new` on do not change. Returns the nodes
    /// whose operands changed.
    fn replace(&mut self, old: ValueId, new: ValueId, first_new: usize, names: &Names) -> Vec<NodeId> {
        let uses: Vec<Use> = self.uses(old).filter(|u| u.node.index() < first_new).collect();
        // New uses are added at the front of a list of uses. So the uses are moved in reverse, and have the same order
        // in the list of `new`.
        for &at in uses.iter().rev() {
            self.redirect(at, new);
        }
        let Some(value) = self.value_mut(old) else {
            return Vec::new();
        };
        let (def, name, quant) = (value.def, value.name, value.quant.clone());
        let positions = std::mem::take(&mut value.output_positions);
        let mut given_up = name;
        for &position in &positions {
            self.outputs[position as usize] = new;
        }
        if let Some(value) = self.value_mut(new) {
            // Inputs, constants and outputs keep their names, because programs outside of the graph use these names.
            let both_are_results = matches!((value.def, def), (Def::Node(..), Def::Node(..)));
            let is_known = positions.is_empty() && names.is_made(name) && !names.is_made(value.name);
            if both_are_results && value.output_positions.is_empty() && !is_known {
                given_up = std::mem::replace(&mut value.name, name);
            }
            value.output_positions.extend(positions);
            if value.quant.is_none() {
                value.quant = quant;
            }
        }
        // Two values must never have the same name, so the replaced value gives up its name even if it is not removed.
        if let Some(value) = self.value_mut(old) {
            value.name = given_up;
        }
        uses.into_iter().map(|u| u.node).collect()
    }

    fn remove(&mut self, id: NodeId) {
        let inputs = self.node(id).map(|n| n.inputs.clone()).unwrap_or_default();
        for (operand, input) in inputs.into_iter().enumerate() {
            let operand = operand as u16;
            if let Some(value) = input {
                self.unlink(value, Use { node: id, operand });
            }
        }
        if let Some(node) = self.nodes[id.index()].take() {
            for output in node.outputs {
                self.values[output.index()] = None;
            }
        }
    }
}
