//! Takes the grids of a model out of its float graph, so that the graph computes on real numbers only.

use super::codes::{numbers, range};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use strait_core::{
    DataId, Def, Failure, Graph, GraphId, Module, Node, NodeId, Op, Patch, QuantParams, Reading, Source, TensorData,
    Use, Value, ValueId,
};

/// The grids that came with a model.
#[derive(Clone, Debug, Default)]
pub struct ModelGrids {
    /// For each value: scale, zero point and type of the codes.
    pub(super) grids: BTreeMap<ValueId, Arc<QuantParams>>,
    /// The codes of constants that the model stores as codes.
    pub(super) codes: BTreeMap<ValueId, DataId>,
    /// For each operand that a node reads on a grid other than the grid of its value: the operand's grid.
    pub(super) read: BTreeMap<(NodeId, usize), Arc<QuantParams>>,
}

impl ModelGrids {
    /// The values that have a grid in the model, each with its grid.
    pub fn iter(&self) -> impl Iterator<Item = (ValueId, &QuantParams)> {
        self.grids.iter().map(|(&value, grid)| (value, &**grid))
    }

    /// True if a value has a grid.
    pub fn has(&self, value: ValueId) -> bool {
        self.grids.contains_key(&value)
    }

    /// True if no value has a grid.
    pub fn is_empty(&self) -> bool {
        self.grids.is_empty()
    }
}

/// Collects the grids of float values of a graph. Computed values also keep their grids in the graph, for nodes that
/// run on real numbers ([`Graph::rounds_to`]). A constant that is dequantized from codes becomes a constant of real
/// numbers. If the model copies a value onto a grid, readers of the copy read the value itself instead.
///
/// # Errors
/// A defect of the compiler.
pub fn take_model_grids(module: &mut Module, graph: GraphId) -> Result<ModelGrids, Failure> {
    let ours = |text: &str| Failure::defect(text);
    let mut codes = BTreeMap::new();
    for (id, from, result) in constants(module, graph) {
        let source = module.graph(graph).ok_or_else(|| ours("no graph"))?;
        let value = source.value(from).ok_or_else(|| ours("no codes"))?;
        let (Def::Data(data), Some(grid)) = (value.def, value.quant.clone()) else {
            continue;
        };
        let name = source.value(result).map(|value| module.name(value.name).to_owned());
        let tensor = module.data(data).ok_or_else(|| ours("a constant has no tensor"))?;
        let real = TensorData::from_values(tensor.shape(), &numbers(tensor, &grid)?)?;
        let patch = Patch {
            data: vec![(name.unwrap_or_default(), real)],
            replace: vec![(result, Source::Data(0))],
            remove: vec![id],
            ..Patch::default()
        };
        let before = source.value_bound();
        let applied = module.apply(graph, patch);
        applied.map_err(|error| Failure::defect(error.to_string()))?;
        codes.insert(ValueId::new(before), data);
    }
    let mut read = BTreeMap::new();
    // Values that have no grid in the model, although copies of them have grids.
    let mut computed: BTreeSet<ValueId> = BTreeSet::new();
    for id in copies(module, graph) {
        let source = module.graph(graph).ok_or_else(|| ours("no graph"))?;
        let node = source.node(id).ok_or_else(|| ours("no copy"))?;
        let (Some(&Some(from)), Some(&result)) = (node.inputs.first(), node.outputs.first()) else {
            continue;
        };
        let Some((value, grid)) = source
            .value(from)
            .zip(source.value(result).and_then(|value| value.quant.clone()))
        else {
            continue;
        };
        let (name, own) = (value.name, value.quant.clone());
        let is_first = own.is_none() && computed.insert(from);
        let mut readings: Vec<(Use, Reading)> = Vec::new();
        if is_first {
            let others = readers(source, from).filter(|at| at.node != id);
            readings.extend(others.map(|at| (at, Reading::Computed)));
        } else if !own.as_ref().is_some_and(|own| is_same(own, &grid)) {
            let uses = source.uses(result);
            let as_read = |grid: Arc<QuantParams>| match computed.contains(&from) {
                true => Reading::On(grid),
                false => Reading::Behind(grid),
            };
            readings.extend(uses.map(|at| (at, as_read(grid.clone()))));
            read.extend(
                readings
                    .iter()
                    .map(|(at, _)| ((at.node, at.operand.into()), grid.clone())),
            );
        }
        let patch = Patch {
            replace: vec![(result, Source::Old(from))],
            remove: vec![id],
            ..Patch::default()
        };
        let applied = module.apply(graph, patch);
        applied.map_err(|error| Failure::defect(error.to_string()))?;
        if let Some(source) = module.graphs.get_mut(graph.index()) {
            // Some readers read this value before it is rounded to a grid. The value keeps its name. If it gets codes,
            // all its readers read it on the grid of these codes.
            if is_first {
                source.rename(from, name);
            }
            for (at, reading) in readings {
                source.read_otherwise(at, reading);
            }
        }
    }
    let source = module.graph(graph).ok_or_else(|| ours("no graph"))?;
    for (at, grid) in joined(source) {
        read.entry(at).or_insert(grid);
    }
    let graph = module.graphs.get_mut(graph.index()).ok_or_else(|| ours("no graph"))?;
    let given = |(value, of): (ValueId, &Value)| Some((value, of.quant.clone().filter(|grid| grid.codes.is_some())?));
    let grids: BTreeMap<ValueId, Arc<QuantParams>> = graph.values().filter_map(given).collect();
    for &value in grids.keys() {
        if graph.data_of(value).is_some() {
            graph.set_quant(value, None);
        }
    }
    Ok(ModelGrids { grids, codes, read })
}

/// True if two grids have the same numbers, even if the signedness of their codes differs.
fn is_same(own: &QuantParams, other: &QuantParams) -> bool {
    other.codes.is_some_and(|codes| own.has_numbers_of((other, codes)))
}

/// The uses of a value. Being an output of the graph counts as a use.
fn readers(graph: &Graph, value: ValueId) -> impl Iterator<Item = Use> + '_ {
    let outputs = graph.outputs().iter().enumerate();
    let outside = outputs
        .filter(move |(_, output)| **output == value)
        .map(|(position, _)| Use {
            node: NodeId::OUTSIDE,
            operand: position as u16,
        });
    graph.uses(value).chain(outside)
}

/// Finds the nodes that copy a computed value to a grid, producers first. If a value without a grid has several copies,
/// the copy on the widest grid comes first, because the other copies can be made from that one.
fn copies(module: &Module, graph: GraphId) -> Vec<NodeId> {
    let Some(graph) = module.graph(graph) else {
        return Vec::new();
    };
    let has_grid = |value: ValueId| {
        let grid = graph.value(value).and_then(|value| value.quant.as_ref());
        grid.is_some_and(|grid| grid.codes.is_some())
    };
    let order = graph.topological_order().unwrap_or_default();
    let is_copy = |&id: &NodeId| {
        let Some(node) = graph.node(id) else { return false };
        match (&node.op, node.inputs.first(), node.outputs.first()) {
            (Op::Identity(_), Some(&Some(from)), Some(&result)) => {
                has_grid(result) && graph.data_of(from).is_none() && !graph.is_output(result)
            }
            _ => false,
        }
    };
    let found: Vec<NodeId> = order.into_iter().filter(is_copy).collect();
    let of = |id: NodeId| {
        let node = graph.node(id)?;
        let from = node.input(0).filter(|&from| !has_grid(from))?;
        let [low, high] = range(graph.value(*node.outputs.first()?)?.quant.as_ref()?)?;
        Some((from, high - low))
    };
    let mut widest: BTreeMap<ValueId, (NodeId, f32)> = BTreeMap::new();
    for (id, (from, width)) in found.iter().filter_map(|&id| Some((id, of(id)?))) {
        let known = widest.entry(from).or_insert((id, width));
        if width > known.1 {
            *known = (id, width);
        }
    }
    let mut ordered: Vec<NodeId> = Vec::with_capacity(found.len());
    let mut done = BTreeSet::new();
    for id in found {
        let first = of(id).and_then(|(from, _)| widest.remove(&from)).map(|(id, _)| id);
        ordered.extend(first.into_iter().chain([id]).filter(|&id| done.insert(id)));
    }
    ordered
}

/// Finds the operands of concatenations whose grid differs from the result's grid. Returns them with the result's grid,
/// to which the concatenation rounds their elements.
fn joined(graph: &Graph) -> Vec<((NodeId, usize), Arc<QuantParams>)> {
    let given = |value: ValueId| {
        let grid = graph.value(value).and_then(|value| value.quant.as_ref());
        grid.filter(|grid| grid.codes.is_some())
    };
    let mut found = Vec::new();
    for (id, node) in graph.nodes().filter(|(_, node)| matches!(node.op, Op::Concat(_))) {
        let Some(to) = node.outputs.first().and_then(|&result| given(result)) else {
            continue;
        };
        let operands = node.inputs.iter().enumerate();
        let others = operands.filter(|(_, operand)| {
            operand.is_some_and(|value| graph.data_of(value).is_none() && given(value).is_some_and(|grid| grid != to))
        });
        found.extend(others.map(|(index, _)| ((id, index), to.clone())));
    }
    found
}

/// Finds the nodes that dequantize a constant. Returns each with the constant that holds the codes, and with its
/// result.
fn constants(module: &Module, graph: GraphId) -> Vec<(NodeId, ValueId, ValueId)> {
    let Some(graph) = module.graph(graph) else {
        return Vec::new();
    };
    let dequantizes = |(id, node): (NodeId, &Node)| match (&node.op, node.inputs.first(), node.outputs.first()) {
        (Op::Dequantize(_), Some(&Some(from)), Some(&result)) => {
            graph.data_of(from).filter(|_| !graph.is_output(result))?;
            Some((id, from, result))
        }
        _ => None,
    };
    graph.nodes().filter_map(dequantizes).collect()
}
