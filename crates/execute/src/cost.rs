//! Computes the memory and the work of a run from shapes alone, before weights are packed and before anything large is
//! allocated.

use crate::error::ExecuteError;
use crate::executable::{Scratch, Types, count, executable};
use crate::integer::operands::carrier;
use crate::late;
use crate::memory::{self, Request};
use crate::plan::is_aligned;
use crate::scratch::scratch;
use crate::site::slot;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use strait_core::{Def, Graph, GraphId, Module, Node, Op, TensorType, ValueId};
use strait_kernels::integer::{ChannelsLast, ConvWeights, GemmWeights};

/// The cost of one node, in bytes or in operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCost {
    /// The name of the node; empty in a graph without nodes.
    pub node: String,
    /// The name of the node's op.
    pub op: &'static str,
    /// Number of bytes, or of operations.
    pub amount: u64,
}

/// What one run of a graph costs. Sums saturate instead of overflowing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of the constants that nodes read.
    pub constants: u64,
    /// Upper bound on the bytes that a plan holds besides the constants of the graph: packed weights, copies of tensors
    /// that are not aligned, and index lists.
    pub copies: u64,
    /// Bytes of the graph's inputs and outputs.
    pub ports: u64,
    /// The peak memory of a run: the bytes of all values that exist at the same time, plus the scratch memory of steps.
    /// `node` is the node at which memory is at its peak.
    pub peak: NodeCost,
    /// The work of a run: the multiply-adds of convolutions and matrix products, the elements that windows read, and
    /// the elements that all other nodes visit.
    pub operations: u64,
    /// The node with the most operations.
    pub busiest: NodeCost,
}

/// Computes what one run of a graph costs.
///
/// The cost is an estimate without optimizations: nodes are not joined, no result overwrites an operand, and a result
/// shares the bytes of its operand only if the op keeps the order of all elements. If a node runs another graph, that
/// graph is counted as often as the node runs it, or once if the number of runs is only known at run time. Values whose
/// extents are only known at run time are not counted.
///
/// # Errors
/// [`ExecuteError::Symbolic`] if a dimension of an input has no number, unless another node runs the graph;
/// [`ExecuteError::TooLarge`] if no machine can hold a value; and [`ExecuteError::Cycle`] if nodes form a cycle.
pub fn cost(module: &Module, graph: GraphId) -> Result<Cost, ExecuteError> {
    within(module, graph, &mut Named::default())
}

/// Like [`cost`], but for graphs inside of graphs, too. `named` has the costs that are already known.
fn within(module: &Module, graph: GraphId, named: &mut Named) -> Result<Cost, ExecuteError> {
    // A graph that a node runs may get inputs with other extents each time, so its extents are not fixed.
    let mut nodes = module.graphs.iter().flat_map(Graph::nodes);
    let is_body = nodes.any(|(_, node)| node.op.graphs().contains(&graph));
    let (graph, order) = crate::plan::ordered(module, graph)?;
    let mut bytes = vec![0u64; graph.value_bound()];
    for (id, value) in graph.values() {
        // If the extents of a value depend on data, its size is only known at run time, and it is not counted.
        if value.ty.dims().is_none() && (is_body || !matches!(value.def, Def::Input(_))) {
            continue;
        }
        slot(module, graph, id)?;
        bytes[id.index()] = size(&value.ty);
    }
    let is_constant = |id: ValueId| graph.value(id).is_some_and(|value| matches!(value.def, Def::Data(_)));
    // For each value, `roots` has its root: the value whose bytes it shares. For each root, `last` has the last step
    // that reads or writes these bytes.
    let mut roots: Vec<usize> = (0..graph.value_bound()).collect();
    let mut last = vec![0usize; graph.value_bound()];
    for (step, &id) in order.iter().enumerate() {
        let Some(node) = graph.node(id) else { continue };
        if let (true, Some(Some(operand)), [result]) = (is_alias(node), node.inputs.first(), &node.outputs[..]) {
            roots[result.index()] = roots[operand.index()];
        }
        for value in node.inputs.iter().flatten().chain(&node.outputs) {
            last[roots[value.index()]] = step;
        }
    }
    for output in graph.outputs() {
        last[roots[output.index()]] = order.len();
    }
    let mut cost = Cost::default();
    for (id, value) in graph.values().filter(|(id, _)| is_constant(*id)) {
        let stored = value.ty.elem.packed_bytes(count(&value.ty)).unwrap_or(u64::MAX);
        cost.constants = cost.constants.saturating_add(stored);
        if !module.constant(graph, id).is_some_and(is_aligned) {
            cost.copies = cost.copies.saturating_add(bytes[id.index()]);
        }
    }
    for port in graph.inputs().iter().chain(graph.outputs()) {
        cost.ports = cost.ports.saturating_add(bytes[port.index()]);
    }
    let mut requests = Vec::new();
    let mut request = |root: usize, first: usize| {
        requests.push(Request {
            bytes: usize::try_from(bytes[root]).unwrap_or(usize::MAX),
            first,
            last: last[root],
        });
    };
    graph.inputs().iter().for_each(|input| request(input.index(), 0));
    let mut live = graph
        .inputs()
        .iter()
        .fold(0u64, |sum, id| sum.saturating_add(bytes[id.index()]));
    let mut most_scratch = 0;
    for (step, &id) in order.iter().enumerate() {
        let Some(node) = graph.node(id) else { continue };
        let made = node.outputs.iter().map(|output| output.index());
        for output in made.filter(|&output| roots[output] == output) {
            request(output, step);
            live = live.saturating_add(bytes[output]);
        }
        let share = |amount| NodeCost {
            node: module.name(node.name).to_owned(),
            op: node.op.term().name(),
            amount,
        };
        let ty = |id: ValueId| graph.value(id).map(|value| &value.ty);
        let operands: SmallVec<[Option<&TensorType>; 3]> = node.inputs.iter().map(|id| id.and_then(ty)).collect();
        let results: SmallVec<[&TensorType; 1]> = node.outputs.iter().filter_map(|&id| ty(id)).collect();
        let is_late = late::applies(graph, node);
        let inside = named.of(module, &node.op)?;
        cost.constants = cost.constants.saturating_add(inside.constants);
        cost.copies = cost.copies.saturating_add(inside.copies);
        let own = match is_late {
            true => Scratch {
                run: inside.peak,
                ..Scratch::default()
            },
            false => scratch(
                node,
                &operands,
                |index| node.inputs.get(index).copied().flatten().is_some_and(is_constant),
                &results,
            ),
        };
        let with_scratch = live.saturating_add(own.run);
        if with_scratch > cost.peak.amount || cost.peak.op.is_empty() {
            cost.peak = share(with_scratch);
        }
        most_scratch = most_scratch.max(own.run);
        cost.copies = cost.copies.saturating_add(own.held);
        let is_weight = node.inputs.get(1).copied().flatten().is_some_and(is_constant);
        let packed = operands.get(1).copied().flatten().filter(|_| is_weight);
        cost.copies = cost.copies.saturating_add(packed.map_or(0, |weight| {
            packed_bytes(&node.op, operands.first().copied().flatten(), weight)
        }));
        let work = match is_late {
            true => inside.operations,
            false => operations(&node.op, &operands, &results),
        };
        cost.operations = cost.operations.saturating_add(work);
        if work > cost.busiest.amount || cost.busiest.op.is_empty() {
            cost.busiest = share(work);
        }
        let mut dying: SmallVec<[usize; 4]> = node
            .inputs
            .iter()
            .flatten()
            .chain(&node.outputs)
            .map(|v| roots[v.index()])
            .collect();
        dying.sort_unstable();
        dying.dedup();
        for root in dying
            .into_iter()
            .filter(|&root| last[root] == step && !is_constant(ValueId::new(root)))
        {
            live = live.saturating_sub(bytes[root]);
        }
    }
    // Placing the values only fails if no machine can hold them.
    let arena = memory::place(&requests).map_or(u64::MAX, |arena| arena.total as u64);
    cost.peak.amount = cost.peak.amount.max(arena.saturating_add(most_scratch));
    Ok(cost)
}

/// Counts the operations of one node: multiply-adds for a convolution or matrix product, elements that windows read for
/// a pool, and elements that the op visits otherwise.
pub fn operations(op: &Op, operands: &[Option<&TensorType>], results: &[&TensorType]) -> u64 {
    let types = Types {
        operands,
        results,
        fused: false,
        picks: false,
    };
    executable(op).operations(&types)
}

/// Returns an upper bound on the packed size, in bytes, of the constant weights of an integer convolution or matrix
/// product.
fn packed_bytes(op: &Op, x: Option<&TensorType>, weight: &TensorType) -> u64 {
    let codes = |ty: &TensorType| ty.elem.int_type().filter(|codes| codes.bits() <= 16);
    let (Some(dims), Some(x), Some(codes)) = (weight.dims(), x.and_then(codes), codes(weight)) else {
        return 0;
    };
    let dims: SmallVec<[usize; 4]> = dims.iter().map(|&extent| extent as usize).collect();
    let zeros = || {
        op.weight_zero()
            .into_iter()
            .flat_map(|zeros| zeros.0.values().iter().copied())
    };
    let [least, most] = [zeros().min().unwrap_or(0), zeros().max().unwrap_or(0)];
    let ends = [codes.min().saturating_sub(most), codes.max().saturating_sub(least)];
    let packed = match (op, &dims[..]) {
        _ if dims.contains(&0) => return 0,
        (Op::Conv(op), [out_channels, taps @ ..]) => {
            let extents = [*out_channels, taps.iter().product()];
            let last = match taps {
                [channels, taps @ ..] if x.bits() <= 8 => {
                    ChannelsLast::packed_bytes(*out_channels, *channels, taps.iter().product())
                }
                _ => 0,
            };
            let planes = ConvWeights::packed_bytes(extents, x, ends, carrier(op.accumulator));
            planes.map(|planes| planes.max(last))
        }
        (Op::Gemm(op), &[first, second]) => {
            let extents = if op.transpose_b {
                [second, first]
            } else {
                [first, second]
            };
            let last = match x.bits() <= 8 && extents[0].is_multiple_of(4) {
                true => ChannelsLast::packed_bytes(extents[1], extents[0], 1),
                false => 0,
            };
            let packed = GemmWeights::packed_bytes(extents, x, ends, carrier(op.accumulator));
            packed.map(|packed| packed.max(last))
        }
        _ => return 0,
    };
    // The packed size is always known, because codes have at most 16 bits.
    packed.map_or(0, |bytes| bytes as u64)
}

/// True for ops whose result shares the bytes of the first operand.
fn is_alias(node: &Node) -> bool {
    node.op.term().keeps_order() && node.fused.is_none()
}

fn size(ty: &TensorType) -> u64 {
    count(ty).saturating_mul(ty.elem.size() as u64)
}

/// The largest depth of graphs within graphs, which is also the limit for plans.
const DEEPEST: usize = 32;

/// The costs of graphs that nodes run, each computed once.
#[derive(Default)]
struct Named {
    costs: BTreeMap<GraphId, Cost>,
    depth: usize,
}

/// The cost of the graphs that one node runs.
#[derive(Default)]
struct Inside {
    constants: u64,
    copies: u64,
    /// The largest number of bytes that are in use at the same time.
    peak: u64,
    operations: u64,
}

impl Named {
    /// Computes the cost of the graphs that an op runs: the weights of all these graphs, and the work of the most
    /// expensive graph times the number of runs (1 if that number is not known).
    ///
    /// # Errors
    /// As for [`cost`].
    fn of(&mut self, module: &Module, op: &Op) -> Result<Inside, ExecuteError> {
        let mut inside = Inside::default();
        let runs = match op {
            Op::Loop(op) => u64::try_from(op.trips).unwrap_or(1),
            _ => 1,
        };
        for graph in op.graphs() {
            if self.depth == DEEPEST {
                let text = format!("graphs name each other more than {DEEPEST} deep");
                return Err(ExecuteError::Ours(text));
            }
            if !self.costs.contains_key(&graph) {
                self.depth += 1;
                let cost = within(module, graph, self);
                self.depth -= 1;
                self.costs.insert(graph, cost?);
            }
            let Some(cost) = self.costs.get(&graph) else { continue };
            inside.constants = inside.constants.saturating_add(cost.constants);
            inside.copies = inside.copies.saturating_add(cost.copies);
            // The inputs and outputs of the graph that the node runs need memory in addition to the graph's values.
            let peak = cost.peak.amount.saturating_add(cost.ports);
            inside.peak = inside.peak.max(peak);
            // Each run counts as at least one operation, even if it computes nothing.
            let operations = cost.operations.max(1).saturating_mul(runs);
            inside.operations = inside.operations.max(operations);
        }
        Ok(inside)
    }
}
