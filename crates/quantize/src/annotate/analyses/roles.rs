//! Roles of a node's operands in its recipe.

use crate::annotate::settings::Annotation;
use strait_core::{Elem, Graph, Node, NodeId, Op, Placement, Port, Use, ValueId};
use strait_target::TargetSpec;
use strait_target::spec::{Integer, OpRow, Pair, Points, Recipe, RecipeName, WeightGrid};

/// Role of an operand in the recipe of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It has a grid of its own, or its producer's.
    Activation,
    /// A constant with a grid per output channel or one for the tensor.
    Weight,
    /// A constant factor for each element of a row, of 16 bits whatever the pair is.
    Gain,
    /// A constant on the grid of the accumulator: of the products of operand and weights, or gains.
    Bias,
    /// A result that stays a sum, on the grid of its products.
    Accumulator,
    /// Such a sum, read as it is but for its lowest bits.
    Shifted,
    /// Not quantized: indices and the like, the other operands of a weight-only node, and the sum of a product that
    /// another operand is added to.
    Other,
}

/// The role of operand `index` under `recipe`, as far as the recipe says; elements that are not float have none.
pub(crate) fn role(graph: &Graph, node: &Node, recipe: Recipe, index: usize) -> Role {
    let elem = node
        .inputs
        .get(index)
        .copied()
        .flatten()
        .and_then(|v| graph.value(v))
        .map(|v| v.ty.elem);
    match (recipe, index) {
        _ if elem != Some(Elem::F32) => Role::Other,
        (Recipe::AddShifted, _) => Role::Shifted,
        (Recipe::MultiplyAccumulate { .. } | Recipe::DequantizeWeights, 1) => Role::Weight,
        (Recipe::DequantizeWeights, _) => Role::Other,
        (Recipe::LayerNormalization { .. }, 1) => Role::Gain,
        (Recipe::MultiplyAccumulate { .. } | Recipe::LayerNormalization { .. }, 2) => Role::Bias,
        _ => Role::Activation,
    }
}

/// The row and the recipe of a node that runs on the accelerator: where only its weights have codes, those for others that
/// compute on codes stand for them, if there are any. Both have the same parameters.
pub(crate) fn computed<'a>(spec: &'a TargetSpec, node: &Node) -> Option<(&'a OpRow, Recipe)> {
    if node.place != Placement::Accelerator {
        return None;
    }
    let (_, row) = spec.op_row(node.op.term())?;
    if row.is_host() {
        return None;
    }
    Some((row, row.recipe()?))
}

/// Rows and recipes of nodes, as the table and the types of nodes have it.
#[derive(Clone, Copy)]
pub(crate) struct Roles<'a> {
    pub(crate) how: &'a Annotation<'a>,
    /// True where nodes are placed, which does not depend on the grids that are given.
    pub(crate) is_placing: bool,
}

impl Annotation<'_> {
    /// Which nodes compute on codes, and by which recipes.
    pub(crate) fn roles(&self) -> Roles<'_> {
        Roles {
            how: self,
            is_placing: false,
        }
    }
}

impl<'a> Roles<'a> {
    /// The pair that a node computes on.
    fn pair(self, id: NodeId, node: &Node) -> Option<Pair> {
        self.how.types(id).pair(self.how.spec, node.op.term())
    }

    /// The row and the recipe of a node that computes on codes: on the accelerator, and not on real numbers with weights that
    /// have codes.
    pub(crate) fn recipe(self, id: NodeId, node: &Node) -> Option<(&'a OpRow, Recipe)> {
        let found = computed(self.how.spec, node)?;
        let pair = self.pair(id, node);
        (!pair.is_some_and(|pair| pair.is_weight_only())).then_some(found)
    }

    /// The type of the weights of a weight-only node, and its row, which there is on the accelerator
    /// alone. On the host these are convolutions and Gemms with constant weights, whose first axis are the outputs.
    pub(crate) fn weight_only(self, graph: &Graph, id: NodeId, node: &Node) -> Option<(Option<&'a OpRow>, Integer)> {
        let term = node.op.term();
        if node.place == Placement::Accelerator {
            let pair = self.pair(id, node)?;
            let (_, row) = self.how.spec.weight_only_row(term)?;
            return pair.is_weight_only().then_some((Some(row), pair.weight));
        }
        let by_outputs = match &node.op {
            Op::Gemm(gemm) => gemm.is_canonical(),
            op => matches!(op, Op::Conv(_)),
        };
        let weights = node.inputs.get(1).copied().flatten()?;
        let reals = graph.value(weights)?.ty.elem == Elem::F32;
        let pair = self.how.types(id).pair_on_host(self.how.spec, term)?;
        (by_outputs && reals && graph.data_of(weights).is_some()).then_some((None, pair.weight))
    }

    /// The role of operand `index` of a node.
    pub(crate) fn role(self, graph: &Graph, id: NodeId, node: &Node, recipe: Recipe, index: usize) -> Role {
        match self.summed(graph, id) {
            Some(sum) if sum == index => Role::Other,
            _ => role(graph, node, recipe, index),
        }
    }

    /// The operand of an addition that stays the sum of a product, to which the codes of the other one are added: the first
    /// that a convolution or a Gemm of the accelerator makes for it alone, in 32 bits, of which nobody wants codes. Where it
    /// is none, both are codes.
    pub(crate) fn summed(self, graph: &Graph, id: NodeId) -> Option<usize> {
        let node = graph.node(id).filter(|node| matches!(node.op, Op::Add(_)))?;
        if !self.may_add(id, node) || leaves_sums(self.how.spec, self.row(id, node)?) {
            return None;
        }
        let &[Some(a), Some(b)] = &node.inputs[..] else {
            return None;
        };
        let ty = |value: ValueId| graph.value(value).map(|value| &value.ty);
        let alike = ty(a) == ty(b) && a != b;
        [a, b].into_iter().position(|sum| {
            let other = if sum == a { b } else { a };
            alike && graph.data_of(other).is_none() && self.stays_a_sum(graph, sum)
        })
    }

    /// True if a node of the accelerator may add to the sum of a product.
    pub(crate) fn may_add(self, id: NodeId, node: &Node) -> bool {
        matches!(node.op, Op::Add(_)) && self.row(id, node).is_some_and(|row| !row.in_accumulator.is_empty())
    }

    /// True if a value is the sum of a product that its only reader may add to.
    fn stays_a_sum(self, graph: &Graph, value: ValueId) -> bool {
        let Some((id, node)) = graph.producer(value) else {
            return false;
        };
        let given = !self.is_placing && self.how.given(id, Port::Result(0)).is_some();
        if given || self.how.has_own_codes(value) || graph.only_use(value).is_none() {
            return false;
        }
        let codes = self.pair(id, node).and_then(Pair::codes);
        let (Some(row), Some(codes)) = (self.row(id, node), codes) else {
            return false;
        };
        let sums = self.how.spec.accumulator.get(&codes).map(|sums| sums.bits);
        let shifts = row.weight_grid.is_some_and(WeightGrid::leaves_a_shift);
        let multiplies = row.recipe == Some(RecipeName::MultiplyAccumulate);
        multiplies && !shifts && row.accumulator.or(sums).unwrap_or(32) <= 32
    }

    /// The row for the codes that a node of the accelerator computes on.
    fn row(self, id: NodeId, node: &Node) -> Option<&'a OpRow> {
        self.recipe(id, node)?;
        let codes = self.pair(id, node)?.codes()?;
        Some(self.how.spec.row_for(node.op.term(), codes.into())?.1)
    }

    /// True if `at` reads codes: an activation operand of a node of the accelerator.
    pub(crate) fn reads_codes(self, graph: &Graph, at: Use) -> bool {
        let Some(node) = graph.node(at.node) else { return false };
        let recipe = self.recipe(at.node, node);
        recipe.is_some_and(|(_, r)| self.role(graph, at.node, node, r, usize::from(at.operand)) == Role::Activation)
    }

    /// True if every reader of `value` reads codes, and there is one.
    pub(crate) fn only_codes_are_read(self, graph: &Graph, value: ValueId) -> bool {
        let mut uses = graph.uses(value).peekable();
        uses.peek().is_some() && !graph.is_output(value) && uses.all(|at| self.reads_codes(graph, at))
    }

    /// The products whose sums a node of the accelerator adds shifted: both run there, nothing else reads them, and their
    /// results and channels are alike.
    pub(crate) fn shifted_pair(self, graph: &Graph, id: NodeId) -> Option<[NodeId; 2]> {
        let node = graph.node(id)?;
        let (_, Recipe::AddShifted) = self.recipe(id, node)? else {
            return None;
        };
        let product = |index: usize| {
            let value = node.inputs.get(index).copied().flatten()?;
            let (id, producer) = graph.producer(value).filter(|_| graph.only_use(value).is_some())?;
            let (row, kind) = self.recipe(id, producer)?;
            let fits = matches!(kind, Recipe::MultiplyAccumulate { .. }) && readers_narrow(self.how.spec, row);
            fits.then_some((id, producer.op.term(), &graph.value(value)?.ty))
        };
        let (first, second) = (product(0)?, product(1)?);
        (first.1 == second.1 && first.2 == second.2).then_some([first.0, second.0])
    }

    /// The product whose sum is added, shifted, to that of a node.
    pub(crate) fn shifted_partner(self, graph: &Graph, id: NodeId) -> Option<NodeId> {
        let value = graph.node(id)?.outputs.first().copied()?;
        let pair = self.shifted_pair(graph, graph.only_use(value)?.node)?;
        pair.into_iter().find(|&other| other != id)
    }

    /// The producer of the only operand of an activation function that may be clipped for free inside it: a node of the
    /// accelerator that narrows, whose result nobody else reads.
    pub(crate) fn clamp_producer(self, graph: &Graph, clamp: &Node) -> Option<NodeId> {
        let x = clamp.inputs.first().copied().flatten()?;
        let (id, producer) = graph.producer(x)?;
        let (row, _) = self.recipe(id, producer)?;
        (narrows(row) && graph.only_use(x).is_some()).then_some(id)
    }
}

/// True if the recipe narrows an accumulator (and so may take a clamp along).
pub(crate) fn narrows(row: &OpRow) -> bool {
    row.recipe.is_some_and(|name| name.signature().requantize)
}

/// True if results of the row stay sums where their readers do not want codes of one grid.
pub(crate) fn leaves_sums(spec: &TargetSpec, row: &OpRow) -> bool {
    narrows(row) && row.points.unwrap_or(spec.types.points) == Points::Operands
}

/// True if readers of such a sum can each narrow it: a shift leads from it to the one grid that its weights were made for.
pub(crate) fn readers_narrow(spec: &TargetSpec, row: &OpRow) -> bool {
    leaves_sums(spec, row) && !row.weight_grid.is_some_and(WeightGrid::leaves_a_shift)
}

/// True if all operands have one grid.
pub(crate) fn shares_grid(recipe: Recipe) -> bool {
    keeps_grid(recipe) || recipe == Recipe::Compare
}

/// True if operand and result have one grid.
pub(crate) fn keeps_grid(recipe: Recipe) -> bool {
    recipe.name().keeps_grid()
}
