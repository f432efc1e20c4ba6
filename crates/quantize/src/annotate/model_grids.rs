//! Grids that came with the model: values of the float graph that have one become what is given for the ports of nodes.
//!
//! The types of codes need not be those of the target. Codes with and without a sign stand for the same numbers where the zero
//! point moves with them: q − z = (q − 128) − (z − 128). So a type of which the target has no pair becomes the other one of the
//! same width, and nothing is lost.
//!
//! A value that is set free keeps nothing of its grid but the range of its codes, on which the target makes one of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use strait_core::{
    DataId, Def, Elem, Failure, Graph, GraphId, Module, Node, NodeId, Op, Parts, Patch, Port, QuantParams, Reading,
    Source, TensorData, Term, Use, Value, ValueId,
};
use strait_requantize::{IntType, Per};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Integer, Pair, WeightPer};

use super::{Directives, Given, RangeFrom, TypeWishes};

/// The grids that came with a model.
#[derive(Clone, Debug, Default)]
pub struct ModelGrids {
    /// By value: scale, zero point and type of the codes.
    grids: BTreeMap<ValueId, Arc<QuantParams>>,
    /// The codes of constants, as far as the model has them as codes.
    codes: BTreeMap<ValueId, DataId>,
    /// Of operands of nodes that read a value on another grid than its own.
    read: BTreeMap<(NodeId, usize), Arc<QuantParams>>,
}

/// The grids of real values of a graph; those of computed values stay with them, for what is computed in real numbers
/// ([`Graph::rounds_to`]). Constants that are dequantized from codes become real numbers, and what reads a copy of a value on a
/// grid reads the value itself.
///
/// # Errors
/// A defect of ours.
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
    // Values that the model itself has no grid for, but copies of.
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
            // A value that others read as it is keeps its name. Where it has codes, these are on its grid for all of them.
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

/// True of grids that have the same numbers, also in codes of the other sign.
fn is_same(own: &QuantParams, other: &QuantParams) -> bool {
    other.codes.is_some_and(|codes| own.has_numbers_of((other, codes)))
}

/// The uses of a value, also as an output.
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

/// Nodes that copy a computed value to a grid, producers first. Of several copies of a value that has no grid itself, the one on the
/// widest grid comes first: what that has kept is there for all of them.
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
        let from = node.inputs.first().copied().flatten().filter(|&from| !has_grid(from))?;
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

/// The operands of concatenations that have another grid than the result, which each of their elements is rounded to next.
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

/// Nodes that dequantize a constant, with its codes and their result.
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

/// scale · (q − zero point) of each code, in f32.
pub(super) fn numbers(codes: &TensorData, grid: &QuantParams) -> Result<Vec<f32>, Failure> {
    each(codes, grid, |code, scale, zero| {
        (code.saturating_sub(zero)) as f32 * scale
    })
}

/// A number for each code, made of the code and of the scale and the zero point of its part.
fn each<T>(codes: &TensorData, grid: &QuantParams, of: impl Fn(i64, f32, i64) -> T) -> Result<Vec<T>, Failure> {
    let parts = parts(codes, grid)?;
    let values = codes.to_i64()?.into_iter().enumerate();
    Ok(values
        .map(|(index, code)| {
            let part = parts.of(index);
            of(code, *at(&grid.scale, part), (*at(&grid.zero_point, part)).into())
        })
        .collect())
}

fn parts(tensor: &TensorData, grid: &QuantParams) -> Result<Parts, Failure> {
    let shape: Vec<usize> = tensor.shape().iter().map(|&extent| extent as usize).collect();
    Parts::of_grid(grid, &shape).ok_or_else(|| Failure::defect("the blocks of a grid do not fill its axis"))
}

fn at<T>(per: &Per<T>, part: usize) -> &T {
    match per {
        Per::Tensor(value) => value,
        Per::Channel(values) => &values[part.min(values.len() - 1)],
    }
}

/// The type of codes, and the one of the other sign.
fn both_signs(elem: Option<Elem>) -> [Option<IntType>; 2] {
    [elem, elem.and_then(Elem::other_sign)].map(|elem| elem.and_then(Elem::int_type))
}

/// The types of activations and weights that a node with weights is to compute on: those of the model where the target has
/// that pair, and else the ones of the other sign. Where the model says only one of them, any other will do.
fn pair_of(spec: &TargetSpec, term: Term, [activation, weight]: [Option<Elem>; 2]) -> Option<[Option<IntType>; 2]> {
    let any = |tries: [Option<IntType>; 2]| match tries {
        [None, None] => [Some(None), None],
        tries => tries.map(|ty| ty.map(Some)),
    };
    let [activations, weights] = [any(both_signs(activation)), any(both_signs(weight))];
    let of = |w: Option<IntType>| activations.into_iter().flatten().map(move |a| [a, w]);
    let mut tries = weights.into_iter().flatten().flat_map(of);
    tries.find(|&[a, w]| {
        let is_it = |pair: Pair| {
            let codes = pair.codes().is_some_and(|codes| a.is_none_or(|a| codes == a.into()));
            codes && w.is_none_or(|w| pair.weight == w.into())
        };
        spec.pairs_of(term).any(is_it)
    })
}

/// The type of activations of a node without weights: that of the model or the one of the other sign, as the target has it, and
/// rather one that nodes with weights compute on.
fn alone(spec: &TargetSpec, term: Term, activation: Option<Elem>, usual: &BTreeSet<IntType>) -> Option<IntType> {
    let has = |a: &IntType| spec.row_for(term, Activation::from(*a)).is_some();
    let all = || both_signs(activation).into_iter().flatten().filter(has);
    all().find(|a| usual.contains(a)).or_else(|| all().next())
}

impl ModelGrids {
    /// The values that have one, each with its grid.
    pub fn iter(&self) -> impl Iterator<Item = (ValueId, &QuantParams)> {
        self.grids.iter().map(|(&value, grid)| (value, &**grid))
    }

    /// True if a value has a grid.
    pub fn has(&self, value: ValueId) -> bool {
        self.grids.contains_key(&value)
    }

    /// True if no value has one.
    pub fn is_empty(&self) -> bool {
        self.grids.is_empty()
    }

    /// Gives the ports of all nodes the grids that the model has for their values, but for those that are `free`: grids, codes
    /// and the ranges of what is free go to `directives`, types to `types`. A port whose codes the target has no type for is
    /// given them all the same, which refuses its node.
    ///
    /// # Errors
    /// A defect of ours.
    pub fn keep(
        &self,
        (module, graph): (&mut Module, GraphId),
        spec: &TargetSpec,
        free: &BTreeSet<ValueId>,
        types: &mut TypeWishes,
        directives: &mut Directives,
    ) -> Result<(), Failure> {
        let source = module.graph(graph).ok_or_else(|| Failure::defect("no graph"))?;
        for (value, grid) in self.iter().filter(|(value, _)| free.contains(value)) {
            if let Some(range) = range(grid).filter(|_| source.data_of(value).is_none()) {
                directives.ranges.entry(value).or_insert(RangeFrom::Grid(range));
            }
        }
        let kept = self.iter().filter(|(value, _)| !free.contains(value));
        let by_value: BTreeMap<ValueId, &QuantParams> = kept.collect();
        let of = |value: Option<ValueId>| value.and_then(|value| by_value.get(&value)).and_then(|grid| grid.codes);
        let operand = |node: &Node, index: usize| node.inputs.get(index).copied().flatten();
        // The grid on which a node reads an operand.
        let at = |id: NodeId, node: &Node, index: usize| {
            let own = by_value.get(&operand(node, index)?).copied()?;
            Some(self.read.get(&(id, index)).map_or(own, |grid| &**grid))
        };
        let codes_at = |id: NodeId, node: &Node, index: usize| at(id, node, index).and_then(|grid| grid.codes);
        let weighs = |node: &Node| {
            let is_constant = operand(node, 1).is_some_and(|w| source.data_of(w).is_some());
            matches!(node.op.term(), Term::Conv | Term::Gemm) && is_constant
        };
        let results = |node: &Node| node.outputs.iter().find_map(|&result| of(Some(result)));
        let pair = |id: NodeId, node: &Node| {
            let types = [codes_at(id, node, 0).or_else(|| results(node)), of(operand(node, 1))];
            pair_of(spec, node.op.term(), types).unwrap_or_default()
        };
        let of_blocks = |node: &Node| {
            let grid = by_value.get(&operand(node, 1)?)?;
            grid.block?;
            let mut weights = both_signs(grid.codes).into_iter().flatten();
            let has = |w: &IntType| {
                let mut pairs = spec.weight_only_pairs(node.op.term());
                pairs.any(|pair| pair.weight == (*w).into())
            };
            weights.find(has).filter(|_| of(operand(node, 0)).is_none())
        };
        let weighing = source.nodes().filter(|(_, node)| weighs(node));
        let usual: BTreeSet<IntType> = weighing.filter_map(|(id, node)| pair(id, node)[0]).collect();
        let mut wanted: Vec<((NodeId, Port), ValueId, Elem)> = Vec::new();
        for (id, node) in source.nodes() {
            let weighs = weighs(node);
            let [activation, weight_type] = match weighs {
                true => pair(id, node),
                false => {
                    let operands = (0..node.inputs.len()).find_map(|index| codes_at(id, node, index));
                    [
                        alone(spec, node.op.term(), operands.or_else(|| results(node)), &usual),
                        None,
                    ]
                }
            };
            let blocks = of_blocks(node).filter(|_| weighs);
            if let Some(weight) = blocks {
                // Scales by block are those of weights that alone have codes.
                types.activations.entry(id).or_insert(Activation::Float32);
                types.weights.entry(id).or_insert(weight.into());
                directives.weight_per.insert(id, WeightPer::Block);
                let block = operand(node, 1).and_then(|w| by_value.get(&w)?.block);
                directives.weight_block.extend(block.map(|block| (id, block)));
            } else if let Some(activation) = activation {
                types.activations.entry(id).or_insert(Activation::from(activation));
            }
            if let Some(weight_type) = weight_type.filter(|_| blocks.is_none()) {
                // A rule may want activations beside which the target has no such weights: then the codes that are given do not fit.
                let wanted = types.activations.get(&id).copied();
                let has_pair = spec.pairs_of(node.op.term()).any(|pair| {
                    wanted.is_none_or(|wanted| wanted == pair.activation) && pair.weight == weight_type.into()
                });
                if has_pair {
                    types.weights.entry(id).or_insert(weight_type.into());
                }
                let per = operand(node, 1)
                    .and_then(|w| by_value.get(&w))
                    .map(|grid| granularity(grid));
                directives.weight_per.extend(per.map(|per| (id, per)));
            }
            for index in 0..node.inputs.len() {
                let Some((value, grid)) = operand(node, index).zip(at(id, node, index)) else {
                    continue;
                };
                let elem = match (weighs, index) {
                    (true, 1) => blocks.or(weight_type).map(Elem::from),
                    (true, 2..) => grid.codes,
                    _ => activation.map(Elem::from),
                };
                wanted.extend(
                    elem.or(grid.codes)
                        .map(|elem| ((id, Port::Operand(index)), value, elem)),
                );
            }
            let is_code = |value: &ValueId| by_value.contains_key(value);
            let mut variables = node.inputs.iter().flatten().filter(|&&x| source.data_of(x).is_none());
            if activation.is_some() && variables.all(is_code) && node.outputs.iter().all(is_code) {
                types.between_codes.insert(id);
            }
            for (index, &value) in node.outputs.iter().enumerate() {
                let Some(grid) = by_value.get(&value) else { continue };
                types.on_codes.insert(id);
                let made = activation.map(|activation| made(spec, node.op.term(), activation, grid.codes));
                if let Some(made) = made {
                    types.values.entry(value).or_insert(Integer::from(made));
                }
                let elem = made.map(Elem::from).or(grid.codes);
                wanted.extend(elem.map(|elem| ((id, Port::Result(index)), value, elem)));
            }
        }
        let mut made: BTreeMap<(ValueId, Elem), Option<Given>> = BTreeMap::new();
        for (place, value, elem) in wanted {
            let other = match place {
                (id, Port::Operand(index)) => self.read.get(&(id, index)),
                _ => None,
            };
            let given = match (other, made.get(&(value, elem))) {
                (Some(grid), _) => given_in(module, graph, value, grid, None, elem)?,
                (None, Some(known)) => known.clone(),
                (None, None) => {
                    let own = self.codes.get(&value).copied();
                    let given = self.grids.get(&value);
                    let given = given.map(|grid| given_in(module, graph, value, grid, own, elem));
                    let given = given.transpose()?.flatten();
                    made.insert((value, elem), given.clone());
                    given
                }
            };
            if let Some(given) = given {
                directives.given.entry(place).or_insert(given);
            }
        }
        Ok(())
    }
}

/// The type in which a node that computes on one leaves a result: that of the model or the one of the other sign, where its row
/// has it.
fn made(spec: &TargetSpec, term: Term, activation: IntType, own: Option<Elem>) -> IntType {
    let row = spec.row_for(term, Activation::from(activation));
    let has = |ty: &IntType| {
        let results = row.as_ref().and_then(|(_, row)| row.results.as_ref());
        results.is_some_and(|results| results.contains(&Integer::from(*ty)))
    };
    let mut tries = both_signs(own).into_iter().flatten();
    tries.find(|ty| *ty == activation || has(ty)).unwrap_or(activation)
}

/// The real numbers of the least and the largest code of a grid; of one of more than 16 bits, whose codes need not go so far,
/// none.
fn range(grid: &QuantParams) -> Option<[f32; 2]> {
    grid.ends()?.into_iter().reduce(|[a, b], [c, d]| [a.min(c), b.max(d)])
}

fn granularity(grid: &QuantParams) -> WeightPer {
    match (grid.axis, grid.block) {
        (_, Some(_)) => WeightPer::Block,
        (Some(_), None) => WeightPer::Channel,
        (None, None) => WeightPer::Tensor,
    }
}

/// A grid in codes of a type, with the codes themselves where the value is a constant. Where the type is not the same or
/// that of the other sign, the grid is that of the model's own codes.
fn given_in(
    module: &mut Module,
    graph: GraphId,
    value: ValueId,
    grid: &QuantParams,
    codes: Option<DataId>,
    elem: Elem,
) -> Result<Option<Given>, Failure> {
    let Some(own) = grid.codes else { return Ok(None) };
    let elem = match own == elem || own.other_sign() == Some(elem) {
        true => elem,
        false => own,
    };
    let params = grid.bare().moved(own.distance_to(elem));
    let constant = module.graph(graph).and_then(|graph| module.constant(graph, value));
    let codes = match (codes, constant) {
        (Some(codes), _) => Some(codes),
        (None, Some(real)) => {
            let (least, most) = elem.integers().unwrap_or((i64::MIN, i64::MAX));
            let tensor = recoded(real, &params, elem, (least, most))?;
            Some(module.add_data(tensor))
        }
        (None, None) => None,
    };
    let params = Arc::new(params);
    Ok(Some(Given { elem, params, codes }))
}

/// The codes of real numbers that are on a grid: x / scale is next to a whole number.
fn recoded(
    real: &TensorData,
    grid: &QuantParams,
    elem: Elem,
    (least, most): (i64, i64),
) -> Result<TensorData, Failure> {
    let parts = parts(real, grid)?;
    let codes: Vec<i64> = (real.to_f32()?.iter().enumerate())
        .map(|(index, &x)| {
            let part = parts.of(index);
            let steps = (f64::from(x) / f64::from(*at(&grid.scale, part))).round();
            (steps as i64)
                .saturating_add(i64::from(*at(&grid.zero_point, part)))
                .clamp(least, most)
        })
        .collect();
    Ok(TensorData::from_integers(elem, real.shape(), &codes)?)
}
