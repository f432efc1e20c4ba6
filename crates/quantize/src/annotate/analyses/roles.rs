//! The roles of a node's operands in its recipe.

use crate::annotate::settings::Annotation;
use strait_core::{Elem, Graph, Node, NodeId, Op, Placement, Port, Use, ValueId};
use strait_target::TargetSpec;
use strait_target::spec::{Integer, OpRow, Pair, Points, Recipe};

/// The role of an operand in its node's recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The operand is an activation. It has a grid of its own, or the grid on which its producer stores it.
    Activation,
    /// A constant with one grid for each output channel, or one grid for the whole tensor.
    Weight,
    /// The constant factors of a layer normalization, one for each position along the normalized axes. They have 16
    /// bits, whatever types the node's other operands have.
    Gain,
    /// A constant that is added in the accumulator. So it has the accumulator's scale: the operand's scale times the
    /// scale of the weights or gains.
    Bias,
    /// A result that stays an accumulator: it is not requantized to fewer bits.
    Accumulator,
    /// An accumulator that is shifted to the right before the node reads it, so that its lowest bits are lost.
    Shifted,
    /// The operand is not quantized. Such operands are indices, the float operands of a weight-only node, and the
    /// accumulator in which an addition runs.
    Other,
}

/// The role of operand `index`, if it follows from `recipe` alone. Operands that are not floats have no role.
pub(crate) fn role(graph: &Graph, node: &Node, recipe: Recipe, index: usize) -> Role {
    let elem = node.input(index).and_then(|v| graph.value(v)).map(|v| v.ty.elem);
    match (recipe, index) {
        _ if elem != Some(Elem::F32) => Role::Other,
        (Recipe::AddShifted, _) => Role::Shifted,
        (Recipe::MultiplyAccumulate { .. }, 1) => Role::Weight,
        (Recipe::DequantizeWeights, _) if index == node.op.weights_operand() => Role::Weight,
        (Recipe::DequantizeWeights, _) => Role::Other,
        (Recipe::LayerNormalization { .. }, 1) => Role::Gain,
        (Recipe::MultiplyAccumulate { .. } | Recipe::LayerNormalization { .. }, 2) => Role::Bias,
        _ => Role::Activation,
    }
}

/// Returns the row and the recipe of a node on the accelerator. If the table has a row for the op on codes, this row is
/// also returned for a weight-only node. That makes no difference, because all rows of an op have the same operands as
/// parameters.
pub(crate) fn computed<'a>(spec: &'a TargetSpec, node: &Node) -> Option<(&'a OpRow, Recipe)> {
    if node.place != Placement::Accelerator {
        return None;
    }
    let (_, row) = spec.op_row(node.op.term())?;
    if row.is_host() {
        return None;
    }
    Some((row, row.recipe?))
}

/// Finds rows, recipes and roles of nodes from the target's table and from the types of the nodes.
#[derive(Clone, Copy)]
pub(crate) struct Roles<'a> {
    pub(crate) how: &'a Annotation<'a>,
    /// True while the compiler decides which nodes run on the accelerator. This decision does not depend on given
    /// grids.
    pub(crate) is_placing: bool,
}

impl Annotation<'_> {
    /// Makes the [`Roles`], which find the rows, recipes and roles of nodes that compute on codes.
    pub(crate) fn roles(&self) -> Roles<'_> {
        Roles {
            how: self,
            is_placing: false,
        }
    }
}

impl<'a> Roles<'a> {
    /// The node with this id and its recipe, if it is computed on codes.
    pub(crate) fn computed(self, graph: &Graph, id: NodeId) -> Option<(&Node, Recipe)> {
        let node = graph.node(id)?;
        Some((node, self.recipe(id, node)?.1))
    }

    /// The pair of types that a node computes on.
    fn pair(self, id: NodeId, node: &Node) -> Option<Pair> {
        self.how.types(id).pair(self.how.spec, node.op.term())
    }

    /// The row and the recipe of a node on the accelerator that computes on codes. `None` for weight-only nodes.
    pub(crate) fn recipe(self, id: NodeId, node: &Node) -> Option<(&'a OpRow, Recipe)> {
        let found = computed(self.how.spec, node)?;
        let pair = self.pair(id, node);
        (!pair.is_some_and(|pair| pair.is_weight_only())).then_some(found)
    }

    /// If the node is weight-only, returns the type of its weights, and its row if it is on the accelerator. On the
    /// host, a weight-only node is a convolution or Gemm with constant weights whose first axis lists the outputs.
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
        let weights = node.input(1)?;
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

    /// If an addition runs in the accumulator of a convolution or Gemm, returns the index of the operand that is this
    /// accumulator. The codes of the other operand are added to it. The accumulator is the first operand that meets
    /// three conditions: a convolution or Gemm on the accelerator makes it only for this addition; it has 32 bits; and
    /// no output needs it as codes. Returns `None` if both operands are codes.
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

    /// True if a node on the accelerator is an addition that may run in the accumulator of a convolution or Gemm.
    pub(crate) fn may_add(self, id: NodeId, node: &Node) -> bool {
        matches!(node.op, Op::Add(_)) && self.row(id, node).is_some_and(|row| !row.in_accumulator.is_empty())
    }

    /// True if a value is the accumulator of a convolution or Gemm, and the only node that reads the value is an
    /// addition that may run in this accumulator.
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
        let multiplies = matches!(row.recipe, Some(Recipe::MultiplyAccumulate { .. }));
        multiplies && !row.leaves_a_shift() && row.accumulator.or(sums).unwrap_or(32) <= 32
    }

    /// Finds the table's row for a node by its op and by the type of codes on which it computes. Returns `None` unless
    /// the node runs on the accelerator and computes on codes.
    fn row(self, id: NodeId, node: &Node) -> Option<&'a OpRow> {
        self.recipe(id, node)?;
        let codes = self.pair(id, node)?.codes()?;
        Some(self.how.spec.row_for(node.op.term(), codes.into())?.1)
    }

    /// True if the use `at` reads codes: it is an activation operand of a node on the accelerator.
    pub(crate) fn reads_codes(self, graph: &Graph, at: Use) -> bool {
        let Some(node) = graph.node(at.node) else { return false };
        let recipe = self.recipe(at.node, node);
        recipe.is_some_and(|(_, r)| self.role(graph, at.node, node, r, usize::from(at.operand)) == Role::Activation)
    }

    /// True if `value` has readers, and all of them read codes.
    pub(crate) fn only_codes_are_read(self, graph: &Graph, value: ValueId) -> bool {
        let mut uses = graph.uses(value).peekable();
        uses.peek().is_some() && !graph.is_output(value) && uses.all(|at| self.reads_codes(graph, at))
    }

    /// If a node on the accelerator adds two shifted accumulators, returns the two nodes (convolutions or Gemms) that
    /// make these accumulators. Both nodes run on the accelerator, no other node reads their results, and their results
    /// have the same shape and the same number of channels.
    pub(crate) fn shifted_pair(self, graph: &Graph, id: NodeId) -> Option<[NodeId; 2]> {
        let node = graph.node(id)?;
        let (_, Recipe::AddShifted) = self.recipe(id, node)? else {
            return None;
        };
        let product = |index: usize| {
            let value = node.input(index)?;
            let (id, producer) = graph.producer(value).filter(|_| graph.only_use(value).is_some())?;
            let (row, kind) = self.recipe(id, producer)?;
            let fits = matches!(kind, Recipe::MultiplyAccumulate { .. }) && readers_narrow(self.how.spec, row);
            fits.then_some((id, producer.op.term(), &graph.value(value)?.ty))
        };
        let (first, second) = (product(0)?, product(1)?);
        (first.1 == second.1 && first.2 == second.2).then_some([first.0, second.0])
    }

    /// If an addition adds the shifted accumulator of node `id` to that of another node, returns this other node.
    pub(crate) fn shifted_partner(self, graph: &Graph, id: NodeId) -> Option<NodeId> {
        let value = graph.node(id)?.outputs.first().copied()?;
        let pair = self.shifted_pair(graph, graph.only_use(value)?.node)?;
        pair.into_iter().find(|&other| other != id)
    }

    /// Returns the producer of the operand of `clamp`, an activation function such as ReLU, if this producer can
    /// include the clamp at no cost. This is the case if the producer is a node on the accelerator that rounds to the grid
    /// of its result and saturates there (it requantizes an accumulator, or adds in floats), and no other node reads its
    /// result.
    pub(crate) fn clamp_producer(self, graph: &Graph, clamp: &Node) -> Option<NodeId> {
        let x = clamp.input(0)?;
        let (id, producer) = graph.producer(x)?;
        let (row, _) = self.recipe(id, producer)?;
        let saturates = narrows(row) || row.recipe == Some(Recipe::AddScaled);
        (saturates && graph.only_use(x).is_some()).then_some(id)
    }
}

/// True if the row's recipe requantizes an accumulator to fewer bits. Such a recipe can include a clamp.
pub(crate) fn narrows(row: &OpRow) -> bool {
    row.recipe.is_some_and(Recipe::narrows)
}

/// True if a result of the row stays an accumulator unless all its readers want codes of the same grid.
pub(crate) fn leaves_sums(spec: &TargetSpec, row: &OpRow) -> bool {
    narrows(row) && row.points.unwrap_or(spec.types.points) == Points::Operands
}

/// True if a result of this row can stay an accumulator, which each reader requantizes for itself. This is not possible
/// if the target only shifts: with given weights, a shift leads from an accumulator to one grid only.
pub(crate) fn readers_narrow(spec: &TargetSpec, row: &OpRow) -> bool {
    leaves_sums(spec, row) && !row.leaves_a_shift()
}

/// True if all operands of a node with this recipe must have the same grid.
pub(crate) fn shares_grid(recipe: Recipe) -> bool {
    keeps_grid(recipe) || recipe == Recipe::Compare
}

/// True if operand and result of a node with this recipe have the same grid.
pub(crate) fn keeps_grid(recipe: Recipe) -> bool {
    recipe.keeps_grid()
}
