//! Turns the grids of a model into constraints on the nodes that read and make its values.

use super::codes::{given_in, range};
use super::take::ModelGrids;
use crate::annotate::settings::{Constraints, Given, NodeConstraints, OnCodes, RangeFrom, Settings};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{Elem, Failure, Graph, GraphId, Module, Node, NodeId, Port, QuantParams, Term, ValueId};
use strait_requantize::IntType;
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Integer, Pair, WeightPer};

impl ModelGrids {
    /// Adds the model's grids to the constraints, for all ports of the values that have such grids. For values in
    /// `free`, only the range is added. Existing constraints stay. If the target does not support the type of the
    /// model's codes at a port, the port gets the model's grid anyway, and its node is refused later.
    ///
    /// # Errors
    /// A defect of the compiler.
    pub fn keep(
        &self,
        (module, graph): (&mut Module, GraphId),
        (spec, settings): (&TargetSpec, &Settings),
        free: &BTreeSet<ValueId>,
        constraints: &mut Constraints,
    ) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        let source = module.graph(graph).ok_or_else(|| Failure::defect("no graph"))?;
        for (value, grid) in self.iter().filter(|(value, _)| free.contains(value)) {
            let of_value = constraints.values.entry(value).or_default();
            of_value.range = range(grid)
                .filter(|_| source.data_of(value).is_none())
                .map(RangeFrom::Grid);
        }
        let kept = Kept {
            grids: self,
            spec,
            settings,
            free,
            graph: source,
        };
        let mut ports = Vec::new();
        let usual = kept.usual();
        for (id, node) in source.nodes() {
            kept.node(id, node, &usual, constraints, &mut ports);
        }
        let mut made: BTreeMap<(ValueId, Elem), Option<Given>> = BTreeMap::new();
        for KeptPort { place, value, elem } in ports {
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
                constraints.given.entry(place).or_insert(given);
            }
        }
        Ok(())
    }
}

/// A port that keeps the grid of its value, with the type of the port's codes.
struct KeptPort {
    place: (NodeId, Port),
    value: ValueId,
    elem: Elem,
}

/// The grids of a model, and what is needed to decide which ports keep them.
struct Kept<'a> {
    grids: &'a ModelGrids,
    spec: &'a TargetSpec,
    settings: &'a Settings,
    free: &'a BTreeSet<ValueId>,
    graph: &'a Graph,
}

impl<'a> Kept<'a> {
    fn grid(&self, value: ValueId) -> Option<&'a QuantParams> {
        let grid = self.grids.grids.get(&value)?;
        (!self.free.contains(&value)).then_some(grid)
    }

    /// The grid on which a node reads an operand.
    fn read(&self, id: NodeId, node: &Node, index: usize) -> Option<&'a QuantParams> {
        let own = self.grid(node.input(index)?)?;
        Some(self.grids.read.get(&(id, index)).map_or(own, |grid| &**grid))
    }

    /// The type of the codes that a node reads as an operand.
    fn codes(&self, id: NodeId, node: &Node, index: usize) -> Option<Elem> {
        self.read(id, node, index)?.codes
    }

    /// The type of the codes of the node's first result that has codes.
    fn results(&self, node: &Node) -> Option<Elem> {
        node.outputs.iter().find_map(|&result| self.grid(result)?.codes)
    }

    /// True if a node is a convolution or Gemm with constant weights.
    fn weighs(&self, node: &Node) -> bool {
        let is_constant = node.input(1).is_some_and(|w| self.graph.data_of(w).is_some());
        matches!(node.op.term(), Term::Conv | Term::Gemm) && is_constant
    }

    /// The grid of a node's weights.
    fn weights(&self, node: &Node) -> Option<&'a QuantParams> {
        self.grid(node.input(node.op.weights_operand())?)
    }

    /// The types of activations and weights, for a node with weights.
    fn pair(&self, id: NodeId, node: &Node) -> [Option<IntType>; 2] {
        let activation = self.codes(id, node, 0).or_else(|| self.results(node));
        let types = [activation, self.weights(node).and_then(|grid| grid.codes)];
        pair_of(self.spec, node.op.term(), types).unwrap_or_default()
    }

    /// The type of a node's weights, if their grid has a scale for each block. Such a node is weight-only.
    fn blocks(&self, node: &Node) -> Option<IntType> {
        let grid = self.weights(node).filter(|grid| grid.block.is_some())?;
        let mut weights = both_signs(grid.codes).into_iter().flatten();
        let has = |w: &IntType| {
            let mut pairs = self.spec.weight_only_pairs(node.op.term());
            pairs.any(|pair| pair.weight == (*w).into())
        };
        let own = node.op.weights_operand();
        let is_known = node.input(own).is_some_and(|w| self.graph.data_of(w).is_some());
        let reads = node.input(1 - own).and_then(|x| self.grid(x)?.codes);
        weights.find(has).filter(|_| is_known && reads.is_none())
    }

    /// All types of activations that nodes with weights read in the model.
    fn usual(&self) -> BTreeSet<IntType> {
        let weighing = self.graph.nodes().filter(|(_, node)| self.weighs(node));
        weighing.filter_map(|(id, node)| self.pair(id, node)[0]).collect()
    }

    /// Adds the constraints on one node and on the node's ports.
    fn node(
        &self,
        id: NodeId,
        node: &Node,
        usual: &BTreeSet<IntType>,
        constraints: &mut Constraints,
        ports: &mut Vec<KeptPort>,
    ) {
        let (weighs, term) = (self.weighs(node), node.op.term());
        let [activation, weight] = if weighs {
            self.pair(id, node)
        } else {
            let operands = (0..node.inputs.len()).find_map(|index| self.codes(id, node, index));
            [
                alone(self.spec, term, operands.or_else(|| self.results(node)), usual),
                None,
            ]
        };
        // A table of an embedding is weights, too, though it is read in blocks only.
        let blocks = self.blocks(node).filter(|_| weighs || term == Term::Gather);
        let mut of_node = self.of_types(id, node, [activation, weight], blocks);
        for index in 0..node.inputs.len() {
            let Some((value, grid)) = node.input(index).zip(self.read(id, node, index)) else {
                continue;
            };
            let elem = match (weighs, index) {
                _ if blocks.is_some() && index == node.op.weights_operand() => blocks.map(Elem::from),
                (true, 1) => weight.map(Elem::from),
                (true, 2..) => grid.codes,
                _ => activation.map(Elem::from),
            };
            let place = (id, Port::Operand(index));
            ports.extend(elem.or(grid.codes).map(|elem| KeptPort { place, value, elem }));
        }
        let is_code = |&value: &ValueId| self.grid(value).is_some();
        for (index, &value) in node.outputs.iter().enumerate() {
            let Some(grid) = self.grid(value) else { continue };
            of_node.on_codes = OnCodes::Results;
            let made = activation.map(|activation| made(self.spec, term, activation, grid.codes));
            if let Some(made) = made {
                let of_value = constraints.values.entry(value).or_default();
                of_value.ty = of_value.ty.or(Some(Integer::from(made)));
            }
            let (place, elem) = ((id, Port::Result(index)), made.map(Elem::from).or(grid.codes));
            ports.extend(elem.map(|elem| KeptPort { place, value, elem }));
        }
        let mut variables = node
            .inputs
            .iter()
            .flatten()
            .filter(|&&x| self.graph.data_of(x).is_none());
        if activation.is_some() && variables.all(is_code) && node.outputs.iter().all(is_code) {
            of_node.on_codes = OnCodes::All;
        }
        if of_node != NodeConstraints::default() {
            constraints.nodes.insert(id, of_node);
        }
    }

    /// The constraints on the types of a node and on the granularity of its weights.
    fn of_types(
        &self,
        id: NodeId,
        node: &Node,
        [activation, weight]: [Option<IntType>; 2],
        blocks: Option<IntType>,
    ) -> NodeConstraints {
        let grid = self.weights(node);
        if let Some(weight) = blocks {
            // Weights with a scale for each block are only supported in weight-only nodes.
            return NodeConstraints {
                activation: Some(Activation::Float32),
                weight: Some(weight.into()),
                per: Some(WeightPer::Block),
                block: grid.and_then(|grid| grid.block),
                ..NodeConstraints::default()
            };
        }
        let given = activation.map(Activation::from);
        // A rule may choose a type of activations that the target does not support together with such weights. Then the
        // given codes cannot be used.
        let activation = self.settings.types(id).own.0.or(given);
        let has_pair = |weight: &IntType| {
            self.spec.pairs_of(node.op.term()).any(|pair| {
                activation.is_none_or(|activation| activation == pair.activation) && pair.weight == (*weight).into()
            })
        };
        NodeConstraints {
            activation: given,
            weight: weight.filter(has_pair).map(Integer::from),
            per: weight.and(grid).map(granularity),
            ..NodeConstraints::default()
        }
    }
}

/// The integer type of the codes, followed by the same type with the other signedness.
fn both_signs(elem: Option<Elem>) -> [Option<IntType>; 2] {
    [elem, elem.and_then(Elem::other_sign)].map(|elem| elem.and_then(Elem::int_type))
}

/// Finds the types of activations and weights on which a node with weights should compute. These are the model's types
/// if the target has them as a pair. Otherwise, the result is a pair that the target has, in which one or both of the
/// types have the other signedness. If the model gives only one of the two types, the other one can be any type.
/// Returns `None` if the target has no such pair.
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

/// Finds the type of activations for a node without weights. It is the model's type, or the same type with the other
/// signedness if only that is supported. If the target supports both, a type on which nodes with weights compute is
/// preferred.
fn alone(spec: &TargetSpec, term: Term, activation: Option<Elem>, usual: &BTreeSet<IntType>) -> Option<IntType> {
    let has = |a: &IntType| spec.row_for(term, Activation::from(*a)).is_some();
    let all = || both_signs(activation).into_iter().flatten().filter(has);
    all().find(|a| usual.contains(a)).or_else(|| all().next())
}

/// Finds the type of the result of a node that computes on `activation`. If the node's row supports the model's type,
/// or else the same type with the other signedness, returns this type. Otherwise returns `activation`.
fn made(spec: &TargetSpec, term: Term, activation: IntType, own: Option<Elem>) -> IntType {
    let row = spec.row_for(term, Activation::from(activation));
    let has = |ty: &IntType| {
        let results = row.as_ref().and_then(|(_, row)| row.results.as_ref());
        results.is_some_and(|results| results.contains(&Integer::from(*ty)))
    };
    let mut tries = both_signs(own).into_iter().flatten();
    tries.find(|ty| *ty == activation || has(ty)).unwrap_or(activation)
}

fn granularity(grid: &QuantParams) -> WeightPer {
    match (grid.axis, grid.block) {
        (_, Some(_)) => WeightPer::Block,
        (Some(_), None) => WeightPer::Channel,
        (None, None) => WeightPer::Tensor,
    }
}
