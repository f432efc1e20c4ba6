//! Builds a plan from a graph: prepares each node, then places each value.

use super::orders::{Reads, ValueOrders, decide};
use super::{Constant, Piece, Plan, PlannedStep, Port, Shown, Source, Storage, Work};
use crate::aligned::AlignedBytes;
use crate::cost::operations;
use crate::error::{ExecuteError, StepError};
use crate::join::{self, Joins};
use crate::memory::{self, Request};
use crate::options::PlanOptions;
use crate::site::{NodeSlots, Slot, check_types, slot};
use crate::step::Step;
use crate::tensor::Dims;
use crate::tensor::byte_count;
use crate::{channels_last, late, layout, prepare};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;
use strait_core::{DataId, Def, Dim, Graph, GraphId, Module, Node, NodeId, Op, TensorData, ValueId};

/// The largest size of the arena: 64 GiB. A malicious model that needs more is refused before anything is allocated.
const LARGEST_ARENA: usize = 1 << 36;

/// A step before its operands have been placed in memory.
struct Draft {
    node: NodeId,
    inputs: SmallVec<[Option<ValueId>; 3]>,
    outputs: SmallVec<[ValueId; 1]>,
    work: Drafted,
    writes: Writes,
}

/// What a step writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    /// Values of the graph.
    Values,
    /// A value of the graph that only the next step reads, in the order in which that step reads it.
    InOrder,
    /// A copy of a value of the graph in another order.
    Copy,
}

/// What a step computes, before operands are placed.
enum Drafted {
    /// Nothing, because the result shares the bytes of its operand.
    Shares,
    Step(Box<dyn Step>),
    Late(Box<late::Late>),
}

/// Builds a plan. If a node of another graph runs the graph, `depth` is the number of graphs around it, and inputs may
/// have extents that are only known at run time. Otherwise `depth` is `None`.
pub(super) fn build(
    module: &Module,
    graph: GraphId,
    options: &PlanOptions<'_>,
    depth: Option<usize>,
) -> Result<Plan, ExecuteError> {
    let (id, (graph, order)) = (graph, ordered(module, graph)?);
    let mut builder = Builder::new(module, graph, options, depth)?;
    // Joins are only searched if no extent depends on data.
    let mut joins = match options.join && builder.open.is_empty() {
        true => Joins::find(module, graph, options, &order, builder.last)?,
        false => Joins::none(graph),
    };
    for node in order {
        match joins.take(node) {
            join::Replacement::Alone => builder.draft(node)?,
            join::Replacement::Elsewhere => {}
            join::Replacement::Here(join) => {
                let (step, last) = (join.step, join.last);
                builder.add(join.node, join.inputs, join.outputs, step, || Ok(last))?;
            }
        }
    }
    builder.outputs = builder.graph.outputs().to_vec();
    for index in 0..builder.outputs.len() {
        builder.outputs[index] = builder.in_order(builder.outputs[index], None)?;
    }
    builder.find_last_uses();
    builder.share_buffers();
    builder.finish(id)
}

/// Returns a graph of a module, and its nodes in the order in which they run.
pub(crate) fn ordered(module: &Module, graph: GraphId) -> Result<(&Graph, Vec<NodeId>), ExecuteError> {
    let graph = module
        .graph(graph)
        .ok_or_else(|| ExecuteError::Ours(format!("there is no {graph}")))?;
    let order = graph.topological_order().map_err(|node| ExecuteError::Cycle {
        node: graph
            .node(node)
            .map_or_else(String::new, |n| module.name(n.name).into()),
    })?;
    Ok((graph, order))
}

struct Builder<'a> {
    module: &'a Module,
    graph: &'a Graph,
    options: &'a PlanOptions<'a>,
    drafts: Vec<Draft>,
    /// The type of each value; `None` if the value was removed from the graph.
    slots: Vec<Option<Slot<'a>>>,
    /// For each value, its root: the value whose bytes it shares. Most values are their own root.
    roots: Vec<usize>,
    /// For each root, the last step that uses its bytes. For graph outputs, a number after the last step.
    last_uses: Vec<usize>,
    /// For each root, its buffer in the arena.
    buffers: Vec<Option<usize>>,
    requests: Vec<Request>,
    /// For each step, the operand whose buffer the step's first result takes over, if there is one.
    in_place: Vec<Option<usize>>,
    /// The values with an extent that is only known at run time, each with the number of its owned tensor.
    open: BTreeMap<ValueId, usize>,
    depth: usize,
    /// True if values may be stored with their channels last.
    last: bool,
    orders: ValueOrders,
    /// The node of the last step.
    node: NodeId,
    /// The values that are returned, in the order of the graph.
    outputs: Vec<ValueId>,
}

impl<'a> Builder<'a> {
    fn new(
        module: &'a Module,
        graph: &'a Graph,
        options: &'a PlanOptions<'a>,
        depth: Option<usize>,
    ) -> Result<Builder<'a>, ExecuteError> {
        let mut slots = Vec::new();
        slots.resize_with(graph.value_bound(), || None);
        let mut open = BTreeMap::new();
        for (id, value) in graph.values() {
            let is_open = value.ty.shape.iter().any(|dim| dim.fixed().is_none());
            // The extents of an input must be known, except in a graph that a node runs.
            if is_open && (depth.is_some() || !matches!(value.def, Def::Input(_))) {
                open.insert(id, open.len());
            } else {
                slots[id.index()] = Some(slot(module, graph, id)?);
            }
        }
        Ok(Builder {
            module,
            graph,
            options,
            drafts: Vec::new(),
            slots,
            roots: (0..graph.value_bound()).collect(),
            last_uses: vec![0; graph.value_bound()],
            buffers: vec![None; graph.value_bound()],
            requests: Vec::new(),
            in_place: Vec::new(),
            last: options.join && open.is_empty() && depth.is_none(),
            open,
            depth: depth.unwrap_or(0),
            orders: ValueOrders::default(),
            node: NodeId::new(0),
            outputs: Vec::new(),
        })
    }

    fn draft(&mut self, id: NodeId) -> Result<(), ExecuteError> {
        if let Some(node) = self.graph.node(id).filter(|node| late::applies(self.graph, node)) {
            let at = |source| ExecuteError::at(self.module, self.graph, id, source);
            check_types(self.module, self.graph, node).map_err(at)?;
            let late = late::Late::new(self.module, self.graph, node, self.options, self.depth)?;
            self.node = id;
            let mut inputs = node.inputs.clone();
            for input in inputs.iter_mut().flatten() {
                *input = self.in_order(*input, None)?;
            }
            self.drafts.push(Draft {
                node: id,
                inputs,
                outputs: node.outputs.clone(),
                work: Drafted::Late(Box::new(late)),
                writes: Writes::Values,
            });
            return Ok(());
        }
        let site = NodeSlots {
            last: self.last,
            ..NodeSlots::new(self.module, self.graph, id, self.options)?
        };
        let node = site.node;
        self.node = id;
        if let (true, [Some(operand), ..], [result]) = (layout::is_alias(&site), &node.inputs[..], &node.outputs[..]) {
            let operand = self.in_order(*operand, None)?;
            self.roots[result.index()] = self.roots[operand.index()];
            self.drafts.push(Draft {
                node: id,
                inputs: SmallVec::new(),
                outputs: node.outputs.clone(),
                work: Drafted::Shares,
                writes: Writes::Values,
            });
            return Ok(());
        }
        let step = prepare::prepare(&site).map_err(|source| ExecuteError::at(self.module, self.graph, id, source))?;
        let read = |(index, value): (usize, &Option<ValueId>)| value.filter(|_| step.reads(index));
        let inputs = node.inputs.iter().enumerate().map(read).collect();
        self.add(id, inputs, node.outputs.clone(), step, || channels_last::prepare(&site))
    }

    /// Adds a step, after steps that reorder the operands as the step reads them. `last` makes the version of the step for
    /// operands and results whose channels are last.
    fn add(
        &mut self,
        node: NodeId,
        mut inputs: SmallVec<[Option<ValueId>; 3]>,
        outputs: SmallVec<[ValueId; 1]>,
        step: Box<dyn Step>,
        last: impl FnOnce() -> Result<Option<Box<dyn Step>>, StepError>,
    ) -> Result<(), ExecuteError> {
        self.node = node;
        let is_last = inputs.iter().flatten().any(|&value| self.orders.is_last(value));
        let (step, reads) =
            decide(step, is_last, last).map_err(|source| ExecuteError::at(self.module, self.graph, node, source))?;
        for (index, input) in inputs.iter_mut().enumerate() {
            let Some(value) = input else { continue };
            let to = self.slots[value.index()]
                .as_ref()
                .and_then(|slot| reads.of(index, &slot.dims));
            *value = self.in_order(*value, to)?;
        }
        if !matches!(reads, Reads::Planes) {
            for &output in &outputs {
                if let Some(slot) = &self.slots[output.index()] {
                    self.orders.set_last(output, &slot.dims);
                }
            }
        }
        self.drafts.push(Draft {
            node,
            inputs,
            outputs,
            work: Drafted::Step(step),
            writes: Writes::Values,
        });
        Ok(())
    }

    /// Returns the value in this order: with this stride if channels are last, or in planes. If it is stored in another
    /// order, adds a step that copies it.
    fn in_order(&mut self, value: ValueId, to: Option<usize>) -> Result<ValueId, ExecuteError> {
        let Some(slot) = &self.slots[value.index()] else {
            return Ok(value);
        };
        let Some(reordering) = self.orders.reordering(value, &slot.dims, to) else {
            return Ok(value);
        };
        if let Some(copy) = self.orders.copy(value, to) {
            return Ok(copy);
        }
        let elem = slot.elem;
        let elements = reordering
            .elements()
            .filter(|&count| byte_count(elem, &[count]).is_some());
        let elements = elements.ok_or_else(|| self.too_large())?;
        // A value that nothing else reads is written in the order at once, if the step that writes it can do this.
        let only = self.graph.only_use(value).is_some();
        let writer = self.drafts.iter_mut().rev().find(|draft| draft.outputs[..] == [value]);
        let writer = writer.filter(|_| only).and_then(|draft| match &draft.work {
            Drafted::Step(step) => reordering.instead_of(&**step).map(|step| (draft, step)),
            Drafted::Shares | Drafted::Late(_) => None,
        });
        let copy = ValueId::new(self.roots.len());
        self.slots.push(Some(Slot {
            elem,
            dims: smallvec![elements],
            quant: None,
            constant: None,
        }));
        self.roots.push(copy.index());
        self.last_uses.push(0);
        self.buffers.push(None);
        self.orders.add_copy(value, reordering.to, copy);
        if let Some((draft, step)) = writer {
            draft.outputs = smallvec![copy];
            draft.work = Drafted::Step(step);
            draft.writes = Writes::InOrder;
            return Ok(copy);
        }
        self.drafts.push(Draft {
            node: self.node,
            inputs: smallvec![Some(value)],
            outputs: smallvec![copy],
            work: Drafted::Step(reordering.step(elem.size())),
            writes: Writes::Copy,
        });
        Ok(copy)
    }

    fn root(&self, value: ValueId) -> usize {
        self.roots[value.index()]
    }

    fn constant(&self, root: usize) -> Option<&'a TensorData> {
        self.slots[root].as_ref().and_then(|slot| slot.constant)
    }

    fn bytes(&self, root: usize) -> usize {
        self.slots[root]
            .as_ref()
            .and_then(|slot| byte_count(slot.elem, &slot.dims))
            .unwrap_or(0)
    }

    fn find_last_uses(&mut self) {
        for (index, draft) in self.drafts.iter().enumerate() {
            for value in draft.inputs.iter().flatten().chain(&draft.outputs) {
                let root = self.roots[value.index()];
                self.last_uses[root] = self.last_uses[root].max(index);
            }
        }
        for &output in &self.outputs {
            let root = self.roots[output.index()];
            self.last_uses[root] = self.drafts.len();
        }
    }

    /// Gives a buffer to each root, which is a value that does not share the bytes of an earlier value. The buffer is
    /// new, or it is the buffer of an operand that the step may overwrite and that no later step uses.
    fn share_buffers(&mut self) {
        for &input in self
            .graph
            .inputs()
            .iter()
            .filter(|input| !self.open.contains_key(input))
        {
            let root = self.root(input);
            let buffer = self.requests.len();
            self.requests.push(self.request(root, 0));
            self.buffers[root] = Some(buffer);
        }
        for index in 0..self.drafts.len() {
            let taken = self.operand_to_overwrite(index);
            self.in_place.push(taken.map(|(operand, _)| operand));
            for position in 0..self.drafts[index].outputs.len() {
                let root = self.root(self.drafts[index].outputs[position]);
                match taken {
                    Some((_, buffer)) if position == 0 => {
                        self.buffers[root] = Some(buffer);
                        let request = &mut self.requests[buffer];
                        request.last = request.last.max(self.last_uses[root]);
                    }
                    // An alias has the buffer of its root, and a constant needs no buffer.
                    _ if self.buffers[root].is_some() || self.constant(root).is_some() => {}
                    _ if self.open.contains_key(&ValueId::new(root)) => {}
                    _ => {
                        self.buffers[root] = Some(self.requests.len());
                        self.requests.push(self.request(root, index));
                    }
                }
            }
        }
    }

    fn request(&self, root: usize, first: usize) -> Request {
        Request {
            bytes: self.bytes(root),
            first,
            last: self.last_uses[root],
        }
    }

    fn operand_to_overwrite(&self, index: usize) -> Option<(usize, usize)> {
        let draft = &self.drafts[index];
        let result = self.root(*draft.outputs.first()?);
        let Drafted::Step(step) = &draft.work else { return None };
        step.in_place().iter().find_map(|&operand| {
            let root = self.root((*draft.inputs.get(operand)?)?);
            let uses = draft.inputs.iter().flatten().filter(|&&v| self.root(v) == root);
            let dies = self.last_uses[root] == index && uses.count() == 1;
            let fits = self.bytes(root) == self.bytes(result);
            let buffer = self.buffers[root]?;
            (dies && fits).then_some((operand, buffer))
        })
    }

    fn finish(mut self, graph: GraphId) -> Result<Plan, ExecuteError> {
        let arena = memory::place(&self.requests).filter(|arena| arena.total <= LARGEST_ARENA);
        let arena = arena.ok_or_else(|| self.too_large())?;
        let mut constants = Constants::default();
        let mut steps = Vec::with_capacity(self.drafts.len());
        for (index, draft) in std::mem::take(&mut self.drafts).into_iter().enumerate() {
            steps.push(self.planned(draft, self.in_place[index], &arena.offsets, &mut constants)?);
        }
        let mut port = |value: ValueId, stored: ValueId| {
            let place = self.place(stored, &arena.offsets, &mut constants)?;
            let shown = self.shown(value, place)?;
            let found = self.graph.value(value);
            let dims = found.map_or(&[][..], |value| &value.ty.shape);
            let port = Port {
                value,
                name: found.map_or("", |value| self.module.name(value.name)).into(),
                elem: shown.elem,
                shape: shown.shape.to_vec(),
                open: (0..dims.len()).filter(|&axis| dims[axis].fixed().is_none()).collect(),
            };
            Ok((port, place))
        };
        Ok(Plan {
            graph,
            context: self.options.context,
            inputs: self
                .graph
                .inputs()
                .iter()
                .map(|&value| port(value, value))
                .collect::<Result<_, ExecuteError>>()?,
            outputs: self
                .graph
                .outputs()
                .iter()
                .zip(&self.outputs)
                .map(|(&value, &stored)| port(value, stored))
                .collect::<Result<_, ExecuteError>>()?,
            steps,
            constants: constants.tensors,
            arena_bytes: arena.total,
            owned: self.open.len(),
        })
    }

    fn too_large(&self) -> ExecuteError {
        let largest = self.graph.values().max_by_key(|(id, _)| self.bytes(id.index()));
        ExecuteError::TooLarge {
            value: largest.map_or_else(String::new, |(_, v)| self.module.name(v.name).into()),
            bytes: largest.map_or(0, |(id, _)| self.bytes(id.index()) as u64),
        }
    }

    /// Describes a value for observers. An extent that is only known at run time is 0 here.
    fn shown(&self, value: ValueId, place: Storage) -> Result<Shown, ExecuteError> {
        let found = self.graph.value(value);
        let found = found.ok_or_else(|| ExecuteError::Ours(format!("{value} was removed")))?;
        let extent = |dim: &Dim| dim.fixed().unwrap_or(0) as usize;
        Ok(Shown {
            value,
            elem: found.ty.elem,
            shape: found.ty.shape.iter().map(extent).collect::<Dims>(),
            place,
            last: self.orders.is_last(value),
        })
    }

    fn place(&self, value: ValueId, offsets: &[usize], constants: &mut Constants) -> Result<Storage, ExecuteError> {
        let root = self.root(value);
        if let Some(&index) = self.open.get(&ValueId::new(root)) {
            return Ok(Storage::Owned(index));
        }
        if let (Some(tensor), Some(data)) = (self.constant(root), self.graph.data_of(ValueId::new(root))) {
            return Ok(Storage::Constant(constants.add(data, tensor)));
        }
        let buffer = self.buffers[root].ok_or_else(|| ExecuteError::Ours(format!("{value} has no buffer")))?;
        Ok(Storage::Arena {
            offset: offsets[buffer],
            bytes: self.bytes(root),
        })
    }

    /// Returns the number of multiply-adds of a convolution or matrix product, and 0 for any other node.
    fn multiply_adds(&self, node: &Node) -> u64 {
        if !matches!(node.op, Op::Conv(_) | Op::Gemm(_) | Op::MatMul(_)) {
            return 0;
        }
        let ty = |id: ValueId| self.graph.value(id).map(|value| &value.ty);
        let operands: SmallVec<[_; 3]> = node.inputs.iter().map(|id| id.and_then(ty)).collect();
        let results: SmallVec<[_; 1]> = node.outputs.iter().filter_map(|&id| ty(id)).collect();
        operations(&node.op, &operands, &results)
    }

    fn planned(
        &self,
        draft: Draft,
        in_place: Option<usize>,
        offsets: &[usize],
        constants: &mut Constants,
    ) -> Result<PlannedStep, ExecuteError> {
        let mut pieces: SmallVec<[Piece; 4]> = SmallVec::new();
        let mut shown = SmallVec::new();
        for (position, &value) in draft.outputs.iter().enumerate() {
            let place = self.place(value, offsets, constants)?;
            if let (Drafted::Step(_), Storage::Arena { offset, bytes }) = (&draft.work, place) {
                pieces.push(Piece {
                    offset,
                    bytes,
                    result: Some(position),
                });
            }
            if draft.writes == Writes::Values {
                shown.push(self.shown(value, place)?);
            }
        }
        let mut places: SmallVec<[Option<Storage>; 3]> = SmallVec::new();
        for (operand, value) in draft.inputs.iter().enumerate() {
            let place = value
                .filter(|_| in_place != Some(operand))
                .map(|v| self.place(v, offsets, constants));
            places.push(place.transpose()?);
        }
        for place in places.iter().flatten() {
            if let Storage::Arena { offset, bytes } = *place {
                pieces.push(Piece {
                    offset,
                    bytes,
                    result: None,
                });
            }
        }
        // All operands in the same buffer share one piece. If a result is in this buffer, too, its piece is kept:
        // results come first in the list, and the sort is stable.
        pieces.sort_by_key(|piece| piece.offset);
        pieces.dedup_by(|later, earlier| later.result.is_none() && later.offset == earlier.offset);
        let source = |(operand, place): (usize, &Option<Storage>)| match *place {
            _ if in_place == Some(operand) => Source::InPlace,
            None => Source::Absent,
            Some(Storage::Constant(index)) => Source::Constant(index),
            // A step on owned tensors finds its operands by itself.
            Some(Storage::Owned(_)) => Source::Absent,
            // The search succeeds, because the piece was added above.
            Some(Storage::Arena { offset, .. }) => Source::Piece(pieces.partition_point(|p| p.offset < offset)),
        };
        let node = self.graph.node(draft.node);
        let outputs = draft.outputs.len();
        let work = match draft.work {
            Drafted::Shares => Work::Shares,
            Drafted::Step(step) => Work::Step(step),
            Drafted::Late(late) => {
                let operand = |(value, place): (&Option<ValueId>, &Option<Storage>)| {
                    value
                        .zip(*place)
                        .map(|(value, place)| self.shown(value, place))
                        .transpose()
                };
                // A copy in another order is shown as the value that it is a copy of.
                let values = node.map_or(&[][..], |node| &node.inputs[..]);
                let operands = values.iter().zip(&places).map(operand);
                Work::Late(late, operands.collect::<Result<_, _>>()?)
            }
        };
        Ok(PlannedStep {
            node: node.map_or("", |n| self.module.name(n.name)).into(),
            op: match draft.writes {
                Writes::Copy => "reorder",
                Writes::Values | Writes::InOrder => node.map_or("", |n| n.op.term().name()),
            },
            multiply_adds: node
                .filter(|_| draft.writes != Writes::Copy)
                .map_or(0, |n| self.multiply_adds(n)),
            outputs,
            operands: places.iter().enumerate().map(source).collect(),
            work,
            pieces,
            results: shown,
        })
    }
}

/// True if a plan can read the bytes of a constant in place: the bytes are aligned for the elements, and no two
/// elements share a byte.
pub(crate) fn is_aligned(tensor: &TensorData) -> bool {
    !tensor.elem().is_packed() && (tensor.bytes().as_ptr() as usize).is_multiple_of(tensor.elem().size())
}

/// The constants that steps read at run time.
#[derive(Default)]
struct Constants {
    tensors: Vec<Constant>,
    positions: BTreeMap<DataId, usize>,
}

impl Constants {
    fn add(&mut self, id: DataId, tensor: &TensorData) -> usize {
        *self.positions.entry(id).or_insert_with(|| {
            self.tensors.push(match is_aligned(tensor) {
                true => Constant::Shared(tensor.bytes().clone()),
                false => Constant::Copied(AlignedBytes::copy_of(&tensor.unpacked())),
            });
            self.tensors.len() - 1
        })
    }
}
