//! A region is a set of nodes that can be computed on permuted operands together. Computing them in this way removes
//! some transposes and adds others.

mod draft;

use crate::matching::GraphNode;
use crate::permute::{self, Carried, Permutation, Side, carried, identity, is_identity};
use draft::Draft;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use strait_core::op::Reduction;
use strait_core::{Dim, NewNode, NodeId, Op, Patch, Source, Term, ValueId};

/// The largest number of nodes in a region. Further nodes are not changed.
const MOST_NODES: usize = 1024;

/// A number of transposes that move elements, and the number of elements that they move.
pub(crate) type Cost = (usize, u64);

/// A set of nodes that a rule may compute on permuted operands instead.
pub(crate) struct Region<'a> {
    site: GraphNode<'a>,
    nodes: BTreeMap<NodeId, Carried>,
    /// For each value, the permutation that was first required for it by a node of the region.
    wanted: BTreeMap<ValueId, Permutation>,
    queue: VecDeque<ValueId>,
    /// True if the region would change a mean over the last axis. The region must then stay as it is, because rules
    /// recognise normalizations by such means.
    is_held: bool,
}

impl<'a> Region<'a> {
    /// The region of all nodes around `value` that can be computed if the value is permuted by `p`.
    pub(crate) fn around(site: GraphNode<'a>, value: ValueId, p: Permutation) -> Region<'a> {
        let mut region = Region::empty(site);
        region.want(value, &p);
        while let Some(value) = region.queue.pop_front() {
            region.grow(value);
        }
        region
    }

    /// The region of a chain of nodes, each of which has an operand that is permuted by `p`.
    pub(crate) fn of_chain(site: GraphNode<'a>, nodes: &[NodeId], p: &Permutation) -> Region<'a> {
        let mut region = Region::empty(site);
        for &node in nodes {
            region.take(node, Side::Operand, p);
        }
        region.queue.clear();
        region
    }

    fn empty(site: GraphNode<'a>) -> Region<'a> {
        Region {
            site,
            nodes: BTreeMap::new(),
            wanted: BTreeMap::new(),
            queue: VecDeque::new(),
            is_held: false,
        }
    }

    fn shape(&self, value: ValueId) -> &'a [Dim] {
        self.site.graph.value(value).map_or(&[], |v| &v.ty.shape)
    }

    fn want(&mut self, value: ValueId, p: &Permutation) {
        let whole = self.shape(value).len() == p.len();
        if whole && !is_identity(p) && !self.wanted.contains_key(&value) {
            self.wanted.insert(value, p.clone());
            self.queue.push_back(value);
        }
    }

    /// True for a constant, and for a value that is moved from a constant and not folded yet.
    fn is_constant(&self, mut value: ValueId) -> bool {
        let graph = self.site.graph;
        while let Some((_, node)) = graph.producer(value) {
            match (&node.op, node.inputs.as_slice()) {
                (Op::Transpose(_) | Op::Unsqueeze(_) | Op::Reshape(_), &[Some(moved)]) => value = moved,
                _ => return false,
            }
        }
        graph.data_of(value).is_some()
    }

    /// Adds the node that makes a value, and the nodes that read this value.
    fn grow(&mut self, value: ValueId) {
        let graph = self.site.graph;
        let Some(p) = self.wanted.get(&value).cloned() else {
            return;
        };
        // A constant is permuted at compile time. So other nodes that read it need not join the region.
        if self.is_constant(value) {
            return;
        }
        if let Some((id, _)) = graph.producer(value) {
            self.take(id, Side::Result, &p);
        }
        for reader in graph.uses(value) {
            self.take(reader.node, Side::Operand, &p);
        }
    }

    fn take(&mut self, id: NodeId, side: Side, p: &Permutation) {
        if self.nodes.contains_key(&id) || self.nodes.len() >= MOST_NODES {
            return;
        }
        let Some(node) = self.site.graph.node(id) else {
            return;
        };
        let site = GraphNode { id, node, ..self.site };
        self.is_held |= is_last_mean(&site.node.op, p);
        let Some(node) = carried(&site, side, p).filter(|_| !self.is_held) else {
            return;
        };
        let operands = site.node.inputs.iter().zip(&node.operands);
        for (&operand, p) in operands {
            if let Some(operand) = operand {
                self.want(operand, p);
            }
        }
        for (&result, p) in site.node.outputs.iter().zip(&node.results) {
            self.want(result, p);
        }
        self.nodes.insert(id, node);
    }

    /// The nodes of the region in topological order: each node comes after the nodes whose results it reads.
    fn order(&self) -> Vec<NodeId> {
        let graph = self.site.graph;
        let operands = |id: NodeId| {
            let inputs = graph.node(id).into_iter().flat_map(|node| node.inputs.iter().flatten());
            inputs.filter_map(|&value| self.behind_transposes(value))
        };
        let mut order = Vec::new();
        let mut placed = BTreeSet::new();
        for &first in self.nodes.keys() {
            let mut stack = vec![(first, false)];
            while let Some((id, is_ready)) = stack.pop() {
                if is_ready {
                    order.push(id);
                } else if placed.insert(id) {
                    stack.push((id, true));
                    stack.extend(operands(id).map(|id| (id, false)));
                }
            }
        }
        order
    }

    /// The node of the region that makes a value, directly or through transposes.
    fn behind_transposes(&self, mut value: ValueId) -> Option<NodeId> {
        loop {
            let (id, node) = self.site.graph.producer(value)?;
            if self.nodes.contains_key(&id) {
                return Some(id);
            }
            value = (node.op.term() == Term::Transpose).then(|| node.input(0))??;
        }
    }

    /// Makes the patch that computes the region on permuted operands. Returns the patch, the cost of the transposes
    /// that the patch removes, and the cost of the transposes that the patch adds. Returns `None` if nothing would
    /// change, or if two outputs would become the same value.
    pub(crate) fn patch(&self) -> Option<(Patch, Cost, Cost)> {
        let graph = self.site.graph;
        let mut draft = Draft {
            region: self,
            patch: Patch::default(),
            made: BTreeMap::new(),
            supplied: BTreeMap::new(),
            added: (0, 0),
            origin: self.site.id,
        };
        for id in self.order() {
            let (Some(node), Some(carried)) = (graph.node(id), self.nodes.get(&id)) else {
                continue;
            };
            let mut inputs: SmallVec<[Option<Source>; 3]> = SmallVec::new();
            for (&operand, p) in node.inputs.iter().zip(&carried.operands) {
                inputs.push(match operand {
                    Some(operand) => Some(draft.supply(operand, p)?),
                    None => None,
                });
            }
            let mut new = NewNode::new(carried.op.clone(), &inputs, &[id]);
            // If the model gives a single grid for the whole tensor, the moved value keeps this grid.
            let grid = |&result: &ValueId| graph.value(result)?.quant.clone().filter(|grid| grid.axis.is_none());
            new.quant = node.outputs.iter().map(grid).collect();
            let position = draft.add(new)?;
            for (index, (&result, p)) in node.outputs.iter().zip(&carried.results).enumerate() {
                let source = Source::New(position, u8::try_from(index).ok()?);
                draft.made.insert(result, (source, p.clone()));
            }
        }
        let mut saved: BTreeSet<NodeId> = BTreeSet::new();
        let mut outputs: Vec<Source> = Vec::new();
        for (&id, node) in self.nodes.keys().filter_map(|id| Some((id, graph.node(*id)?))) {
            for &result in &node.outputs {
                let mut is_needed = graph.is_output(result);
                let mut readers: Vec<(NodeId, Op, ValueId)> = Vec::new();
                for at in graph.uses(result).filter(|at| !self.nodes.contains_key(&at.node)) {
                    match graph.node(at.node) {
                        Some(reader) if reader.op.term() == Term::Transpose => {
                            readers.push((at.node, reader.op.clone(), *reader.outputs.first()?));
                        }
                        _ => is_needed = true,
                    }
                }
                for (reader, op, moved) in readers {
                    let Op::Transpose(transpose) = op else { continue };
                    saved.insert(reader);
                    draft.patch.remove.push(reader);
                    // A transpose that only nodes of the region read is not needed: their permutations include it.
                    if !graph.is_output(moved) && graph.uses(moved).all(|at| self.nodes.contains_key(&at.node)) {
                        continue;
                    }
                    draft.origin = reader;
                    let source = draft.supply(result, &transpose.permutation)?;
                    draft.replace(moved, source, &mut outputs)?;
                }
                if is_needed {
                    draft.origin = self.site.id;
                    let source = draft.supply(result, &identity(self.shape(result).len()))?;
                    draft.replace(result, source, &mut outputs)?;
                }
            }
            draft.patch.remove.push(id);
        }
        // If a tensor of the model no longer exists, its permuted counterpart stands for it from now on.
        let made = draft.made.iter().map(|(&result, &(source, _))| (result, source));
        draft.patch.rename.extend(made);
        // A transpose before the region is removed if no other node reads it.
        let reads: BTreeSet<ValueId> = (draft.patch.add.iter())
            .flat_map(|node| node.inputs.iter().flatten())
            .filter_map(|source| {
                if let Source::Old(value) = source {
                    Some(*value)
                } else {
                    None
                }
            })
            .collect();
        for (&value, _) in self.wanted.iter().filter(|(value, _)| !reads.contains(value)) {
            let dead = !graph.is_output(value) && graph.uses(value).all(|at| self.nodes.contains_key(&at.node));
            let transpose = graph
                .producer(value)
                .filter(|(_, node)| node.op.term() == Term::Transpose);
            if let Some((id, _)) = transpose.filter(|_| dead) {
                saved.insert(id);
            }
        }
        let mut cost = (0, 0);
        for node in saved.iter().filter_map(|&id| graph.node(id)) {
            if let (Op::Transpose(transpose), Some(Some(x))) = (&node.op, node.inputs.first())
                && !self.is_constant(*x)
            {
                add(&mut cost, self.shape(*x), &transpose.permutation);
            }
        }
        (!self.nodes.is_empty() && !self.is_held).then_some((draft.patch, cost, draft.added))
    }
}

/// True for a mean over the last axis alone, if `p` would move this axis.
fn is_last_mean(op: &Op, p: &[u32]) -> bool {
    let Op::Reduce(reduce) = op else {
        return false;
    };
    let last = p.len().checked_sub(1);
    let moved = last.is_some_and(|last| p.get(last) != Some(&(last as u32)));
    let reduced = reduce.reduced(p.len()).unwrap_or_default();
    reduce.reduction == Reduction::Mean && moved && reduced.first().copied() == last
}

/// Adds the cost of a transpose of a tensor with this shape. An unknown extent counts as 1.
pub(crate) fn add(cost: &mut Cost, shape: &[Dim], p: &[u32]) {
    if permute::moves(shape, p) {
        let elements = shape
            .iter()
            .map(|dim| dim.fixed().unwrap_or(1))
            .fold(1, u64::saturating_mul);
        *cost = (cost.0 + 1, cost.1.saturating_add(elements));
    }
}
