//! Settle: moves to the host those nodes that the target could compute but that are better off on the host.
//!
//! There is one pass forward and one pass backward. A second round would move nothing more. In the forward pass, a node
//! that moves affects only nodes after it, which the pass has not visited yet. In the backward pass, a node moves
//! because of its readers, whose places are already decided. Its move does not affect its readers: if they stay on the
//! accelerator because they read codes for a convolution, Gemm or MatMul, the node itself stays for the same reason.
//!
//! After a refusal, both passes look at the nodes around those that have moved. They continue in their direction until
//! nothing changes any more.

use super::statistics::{is_elementwise, is_statistic, variables};
use crate::annotate::analyses::{Order, Roles, keeps_grid};
use crate::annotate::settings::{Annotation, OnCodes, Run};
use std::collections::BTreeSet;
use strait_core::shape::element_count;
use strait_core::{Graph, Node, NodeId, Op, Reason, ReasonCode, Term, ValueId};
use strait_requantize::IntType;
use strait_target::spec::{Islands, Points, Recipe};

/// Results of the two passes for each node of a settled graph. They are valid until another node moves.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    /// For each node, true if its operands come from a node that computes on integers, directly or through nodes that
    /// only move codes.
    above: Vec<bool>,
    /// For each node, true if it is a convolution, Gemm or MatMul, or belongs to such a node.
    joined: Vec<bool>,
    /// For each node, true if it computes on integers, or moves codes to a node that computes on integers.
    below: Vec<bool>,
    /// The positions of the nodes that the forward pass still has to look at, because a node in front of them has moved
    /// to the host.
    open: BTreeSet<u32>,
}

impl Settled {
    /// The state in which nothing is known and all nodes have to be looked at.
    pub(crate) fn new(graph: &Graph, order: &Order) -> Settled {
        let none = vec![false; graph.node_bound()];
        Settled {
            above: none.clone(),
            joined: none.clone(),
            below: none,
            open: (0..order.nodes.len() as u32).collect(),
        }
    }

    /// Moves further nodes to the host after the nodes in `changed` have moved there: nodes whose codes would be made
    /// only for the host, or only from values that are on the host. A node that rules require in integers stays.
    /// Returns the nodes that were moved.
    pub(crate) fn settle(
        &mut self,
        graph: &mut Graph,
        order: &Order,
        how: &Annotation<'_>,
        changed: &[NodeId],
    ) -> Vec<NodeId> {
        let settling = Settling {
            how,
            roles: Roles {
                is_placing: true,
                ..how.roles()
            },
        };
        let (mut moved, mut back) = (Vec::new(), BTreeSet::new());
        for &id in changed {
            self.open.extend(order.position(id));
            self.open.extend(order.readers(graph, id));
            back.extend(order.producers(graph, id));
        }
        while let Some(position) = self.open.pop_first() {
            let Some(id) = order.at(position) else { continue };
            back.insert(position);
            let reason = settling.of_reals(graph, id);
            let moves = reason.is_some();
            if let Some(reason) = reason {
                graph.place_on_host(id, reason);
                moved.push(id);
                back.extend(order.producers(graph, id));
            }
            let above = settling.is_behind_integers(graph, id, &self.above);
            let joined = settling.is_joined(graph, id, &self.joined);
            let before = (&mut self.above[id.index()], &mut self.joined[id.index()]);
            if moves || (*before.0, *before.1) != (above, joined) {
                (*before.0, *before.1) = (above, joined);
                self.open.extend(order.readers(graph, id));
            }
        }
        while let Some(position) = back.pop_last() {
            let Some(id) = order.at(position) else { continue };
            let reason = settling.refusal(graph, id, self);
            let moves = reason.is_some();
            if let Some(reason) = reason {
                graph.place_on_host(id, reason);
                moved.push(id);
                self.open.insert(position);
                self.open.extend(order.readers(graph, id));
            }
            let below = settling.wants_codes(graph, id, &self.below);
            if moves || self.below[id.index()] != below {
                self.below[id.index()] = below;
                back.extend(order.producers(graph, id));
            }
        }
        moved
    }
}

struct Settling<'a> {
    how: &'a Annotation<'a>,
    roles: Roles<'a>,
}

impl Settling<'_> {
    /// Returns the recipe of a node on the accelerator if the node may move to the host. A node whose operands and
    /// results all have codes in the model may not move.
    fn movable(&self, graph: &Graph, id: NodeId) -> Option<Recipe> {
        let on_codes = self.how.constraints.on_codes(id) == OnCodes::All;
        let stays = on_codes || self.how.settings.run(id) == Some(&Run::Integer);
        let found = self.roles.computed(graph, id);
        found.filter(|_| !stays).map(|(_, recipe)| recipe)
    }

    /// True if a node only moves codes.
    fn passes_on(&self, graph: &Graph, id: NodeId) -> bool {
        let found = self.roles.computed(graph, id);
        self.movable(graph, id).is_some() && found.is_some_and(|(_, recipe)| keeps_grid(recipe))
    }

    /// Returns the reason why a function moves to the host if its operand would be quantized only for this function. A
    /// clamp such as a ReLU would waste half of the codes on numbers that it clips. Any other function multiplies the
    /// error of its codes by its slope, which can be very large for a root or a reciprocal. A sum or product with a
    /// constant counts as such a function too. A mean moves to the host if one of these functions is computed from the
    /// mean. A layer normalization moves if its operand has fewer bits than the normalization needs: it is more
    /// accurate to leave the operand in real numbers than to round it to so few bits.
    fn of_reals(&self, graph: &Graph, id: NodeId) -> Option<Reason> {
        let (recipe, node) = (self.movable(graph, id)?, graph.node(id)?);
        let reason = match recipe {
            Recipe::AddShifted if self.roles.shifted_pair(graph, id).is_none() => {
                let text = "it does not add two products that nothing else reads, and the target adds no others";
                return Some(Reason::new(ReasonCode::NoGrid, text));
            }
            Recipe::LayerNormalization { .. } if self.lacks_bits(graph, id, node) => {
                let text = "it reads codes of more bits than its operand has, and real numbers are nearer than these";
                return Some(Reason::new(ReasonCode::FewBits, text));
            }
            Recipe::Clamp => (
                ReasonCode::ClipsReals,
                "it clips real numbers, which have codes only behind it",
            ),
            Recipe::Compare => (
                ReasonCode::FunctionOfReals,
                "it compares real numbers, which codes would make equal",
            ),
            _ if is_function(graph, node, recipe) => (
                ReasonCode::FunctionOfReals,
                "it is a function of real numbers, which have codes only behind it",
            ),
            _ if is_statistic(graph, node) => {
                let text = "a root, a logarithm or a quotient of it would multiply the error of its codes";
                return Some(Reason::new(ReasonCode::FunctionOfReals, text));
            }
            _ => return None,
        };
        let on_reals = |(id, producer): (_, &Node)| self.roles.recipe(id, producer).is_none();
        let is_real = |x| graph.producer(x).is_some_and(on_reals) && graph.only_use(x).is_some();
        let moves = variables(graph, node).next().is_some() && variables(graph, node).all(is_real);
        moves.then(|| Reason::new(reason.0, reason.1))
    }

    /// True if a node needs an operand with more bits than its producer on the accelerator can store.
    fn lacks_bits(&self, graph: &Graph, id: NodeId, node: &Node) -> bool {
        let spec = self.how.spec;
        let codes = |id, node: &Node| self.how.types(id).pair(spec, node.op.term())?.codes();
        let Some(own) = codes(id, node) else { return false };
        let mut operand = node.input(0);
        while let Some((id, producer)) = operand.and_then(|x| graph.producer(x)) {
            let Some((_, recipe)) = self.roles.recipe(id, producer) else {
                return false;
            };
            if keeps_grid(recipe) {
                operand = producer.input(0);
                continue;
            }
            let Some(made) = codes(id, producer) else { return false };
            let row = spec.row_for(producer.op.term(), made.into());
            let results = row.and_then(|(_, row)| row.results.as_deref());
            let bits = |codes| IntType::from(codes).bits();
            return results.unwrap_or(&[made]).iter().all(|&made| bits(made) < bits(own));
        }
        false
    }

    /// True if the operands of a node come from a node that computes on integers, directly or through nodes that only
    /// move codes.
    fn is_behind_integers(&self, graph: &Graph, id: NodeId, above: &[bool]) -> bool {
        let Some(node) = graph.node(id) else { return false };
        let mut producers = node.inputs.iter().flatten().filter_map(|&v| graph.producer(v));
        self.roles.recipe(id, node).is_some()
            && (!self.passes_on(graph, id) || producers.any(|(producer, _)| above[producer.index()]))
    }

    /// True if a node computes on integers, or moves codes to a node that computes on integers.
    fn wants_codes(&self, graph: &Graph, id: NodeId, below: &[bool]) -> bool {
        let Some(node) = graph.node(id) else { return false };
        let mut uses = node.outputs.iter().flat_map(|&y| graph.uses(y));
        let reads = |at| self.roles.reads_codes(graph, at) && below[at.node.index()];
        self.roles.recipe(id, node).is_some() && (!self.passes_on(graph, id) || uses.any(reads))
    }

    /// The reason why a node should move to the host. It must already be decided whether the readers of the node move.
    fn refusal(&self, graph: &Graph, id: NodeId, settled: &Settled) -> Option<Reason> {
        self.movable(graph, id)?;
        let node = graph.node(id)?;
        let passes_on = self.passes_on(graph, id);
        // If the table requantizes accumulators only at the operands of their readers, the accumulator of the preceding
        // node becomes real numbers anyway, unless all its readers read codes.
        let read = |&y: &ValueId| self.roles.only_codes_are_read(graph, y);
        match self.how.spec.types.points {
            Points::Operands if passes_on && !node.outputs.iter().all(read) => Some(Reason::new(
                ReasonCode::FloatIsRead,
                "its result is read in float, so it stays between float ops",
            )),
            Points::Results
                if passes_on && !settled.above[id.index()] && !self.wants_codes(graph, id, &settled.below) =>
            {
                Some(Reason::new(
                    ReasonCode::BetweenHostNodes,
                    "it only passes on what the host computes for the host",
                ))
            }
            _ => (self.how.spec.host.islands == Islands::Float
                && !settled.joined[id.index()]
                && self.how.constraints.on_codes(id) == OnCodes::Nothing
                && self.is_island(graph, node))
            .then(|| {
                let text = match node.outputs.iter().any(|&y| graph.is_output(y)) {
                    true => "its result leaves the model, and codes of it would cost accuracy alone",
                    false => "only host nodes read its result, so codes in between would cost accuracy alone",
                };
                Reason::new(ReasonCode::Island, text)
            }),
        }
    }

    /// True if a node is a convolution, Gemm or MatMul (here called a product), or belongs to a product. A clamp that a
    /// product can include belongs to the product: on the host, the clamp's operand would need a grid of its own. A
    /// node that reduces a product's result to fewer elements, such as a pool, also belongs to the product: if it ran
    /// on the host, more elements would have to be converted for the host.
    fn is_joined(&self, graph: &Graph, id: NodeId, joined: &[bool]) -> bool {
        let Some(node) = graph.node(id) else { return false };
        let Some((_, recipe)) = self.roles.recipe(id, node) else {
            return false;
        };
        let producer = match recipe {
            Recipe::Clamp => self.roles.clamp_producer(graph, node),
            _ if condenses(graph, node) => {
                let operand = node.input(0);
                operand.and_then(|x| graph.producer(x)).map(|(producer, _)| producer)
            }
            _ => None,
        };
        let computes = self.how.spec.passes.is_computing(node.op.term());
        computes || producer.is_some_and(|producer| joined[producer.index()])
    }

    /// True if only the host reads the results of a node. Such a node is the last one of an island, a group of nodes on
    /// the accelerator between nodes on the host. Its producers are checked next, so that the whole island moves to the
    /// host. Also true for a softmax whose result is an output of the model, and for the logarithm of such a softmax,
    /// because both are more accurate in real numbers: codes have equal steps, so two small probabilities often get the
    /// same code, and so do two probabilities that are nearly 1.
    fn is_island(&self, graph: &Graph, node: &Node) -> bool {
        let on_reals = |id| graph.node(id).is_some_and(|node| self.roles.recipe(id, node).is_none());
        let mut uses = node.outputs.iter().flat_map(|&y| graph.uses(y)).peekable();
        let (is_read, is_output) = (uses.peek().is_some(), node.outputs.iter().any(|&y| graph.is_output(y)));
        let ends = match node.op {
            Op::Softmax(_) => is_read || is_output,
            _ if is_log_softmax(graph, node) => is_read || is_output,
            _ => is_read && !is_output,
        };
        ends && uses.all(|at| on_reals(at.node))
    }
}

/// True if a node subtracts the logarithm of a sum from its operand. This is the last step of a log-softmax that is
/// written as several nodes.
fn is_log_softmax(graph: &Graph, node: &Node) -> bool {
    let producer = |node: &Node, index: usize| Some(graph.producer(node.input(index)?)?.1);
    let sum = producer(node, 1)
        .filter(|log| matches!(node.op, Op::Sub(_)) && log.op.term() == Term::Log)
        .and_then(|log| producer(log, 0));
    sum.is_some_and(|sum| sum.op.term() == Term::ReduceSum)
}

/// True if the results have fewer elements than the first operand.
fn condenses(graph: &Graph, node: &Node) -> bool {
    let elements = |value: ValueId| element_count(&graph.value(value)?.ty.shape);
    let operand = node.input(0).and_then(elements);
    let results = node
        .outputs
        .iter()
        .try_fold(0u64, |sum, &y| sum.checked_add(elements(y)?));
    operand.zip(results).is_some_and(|(operand, results)| results < operand)
}

/// True if a node has exactly one operand that is not constant, and each element of its result depends on one element
/// of this operand.
fn is_function(graph: &Graph, node: &Node, recipe: Recipe) -> bool {
    matches!(recipe, Recipe::Lookup { .. }) || is_elementwise(graph, node)
}
