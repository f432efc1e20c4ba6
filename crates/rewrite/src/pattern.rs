//! Patterns: data that describes a node and the nodes before it.
//!
//! A pattern is one of these:
//! - an [`op`] whose operands are patterns
//! - a value or a constant, which the match stores in a [`Slot`]
//! - a multiplication of patterns
//! - one of several patterns
//! - a pattern after which there may be nodes that the match skips
//!
//! A pattern describes only structure. Numbers, shapes and variable numbers of operands are checked by ordinary code
//! after the match. If an op has more operands than the pattern lists, the others can be any values.
//!
//! If an op commutes, its operands match in both orders. A node inside the match has to be *exclusive* unless it is
//! [`shared`](Pattern::shared). Exclusive means that only nodes of the match read it, and that it is not an output of
//! the graph. If everything fits except that a node is not exclusive, the rule reports a refusal that names this node.
//! So users can find out why the rewrite did not happen.

use crate::matching::GraphNode;
use crate::miss::Miss;
use smallvec::SmallVec;
use strait_core::{Dim, Node, NodeId, Op, Reason, ReasonCode, Shape, Term, ValueId};

/// A place in which a match stores a value, given by its number, which is below [`Slot::COUNT`]. If a slot occurs
/// several times in a pattern, all occurrences must have the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u8);

impl Slot {
    pub(crate) const COUNT: usize = 16;
}

/// The largest number of nodes in a row that are skipped.
const MOST_LOOKED_THROUGH: usize = 4;

/// A description of the nodes that make a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pattern {
    /// Any value.
    Any(Slot),
    /// A constant.
    Constant(Slot),
    /// The first result of a node. The fields are the terms that the node may have, the patterns of its operands, the
    /// slot in which the result is stored, and whether other nodes may read the result. See [`op`].
    Op(&'static [Term], &'static [Pattern], Option<Slot>, bool),
    /// One of several patterns: the first one with which the rest of the pattern also fits.
    OneOf(&'static [Pattern]),
    /// A pattern after which there may be identities and casts from float to float, which the match skips.
    Through(&'static Pattern),
    /// A pattern after which there may be nodes that the match skips: identities, casts from float to float, and nodes
    /// that add or remove axes of extent 1.
    Reshaped(&'static Pattern),
    /// A multiplication of all these patterns, in any order and nesting. Other nodes may read the intermediate
    /// products.
    Product(&'static [Pattern]),
}

/// The first result of a node that has one of the terms in `terms` and whose first operands match the patterns in
/// `operands`.
pub(crate) const fn op(terms: &'static [Term], operands: &'static [Pattern]) -> Pattern {
    Pattern::Op(terms, operands, None, false)
}

impl Pattern {
    /// This pattern, with the node's result stored in a slot. Only patterns of nodes support this. For any other
    /// pattern in a constant, the compiler reports an error.
    #[expect(clippy::panic, reason = "patterns are constants, so it is the compiler that stops")]
    pub(crate) const fn keep(self, slot: Slot) -> Pattern {
        match self {
            Pattern::Op(terms, operands, _, is_shared) => Pattern::Op(terms, operands, Some(slot), is_shared),
            _ => panic!("only the result of a node is kept so"),
        }
    }

    /// This pattern, for a node that other nodes may read too. Only patterns of nodes support this. For any other
    /// pattern in a constant, the compiler reports an error.
    #[expect(clippy::panic, reason = "patterns are constants, so it is the compiler that stops")]
    pub(crate) const fn shared(self) -> Pattern {
        match self {
            Pattern::Op(terms, operands, slot, _) => Pattern::Op(terms, operands, slot, true),
            _ => panic!("only a node is shared"),
        }
    }

    /// The terms of the nodes at which the pattern can start.
    pub(crate) fn anchors(&self) -> Vec<Term> {
        let mut terms = match self {
            Pattern::Op(terms, ..) => terms.to_vec(),
            Pattern::OneOf(patterns) => patterns.iter().flat_map(Pattern::anchors).collect(),
            Pattern::Through(pattern) | Pattern::Reshaped(pattern) => pattern.anchors(),
            Pattern::Product(_) => vec![Term::Mul],
            Pattern::Any(_) | Pattern::Constant(_) => Vec::new(),
        };
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// The number of nodes on the longest path in the pattern. If a node changes, the pattern may now match at nodes up
    /// to this distance after it.
    pub(crate) fn depth(&self) -> usize {
        let deepest = |patterns: &[Pattern]| patterns.iter().map(Pattern::depth).max().unwrap_or(0);
        match self {
            Pattern::Any(_) | Pattern::Constant(_) => 0,
            Pattern::Op(_, operands, ..) => 1 + deepest(operands),
            Pattern::OneOf(patterns) => deepest(patterns),
            Pattern::Through(pattern) | Pattern::Reshaped(pattern) => MOST_LOOKED_THROUGH + pattern.depth(),
            Pattern::Product(factors) => factors.len().saturating_sub(1) + deepest(factors),
        }
    }

    /// Matches the pattern at a node. If it does not match, the error says what the rule returns for this node.
    pub(crate) fn at<'a>(&'static self, site: &GraphNode<'a>) -> Result<Match<'a>, Miss> {
        let found = Match {
            site: *site,
            values: [None; Slot::COUNT],
            nodes: Vec::new(),
        };
        let mut search = Search {
            found,
            exclusive: SmallVec::new(),
            near: None,
        };
        let root = Goal(Want::Is(self, site.output()), None);
        match (search.solve(Some(&root)), search.near) {
            (true, _) => Ok(search.found),
            (false, Some(value)) => Err(not_exclusive(site, value)),
            (false, None) => Err(Miss::NoMatch),
        }
    }
}

/// The result for a near miss: everything fits, but a node outside of the match reads a value inside of it.
fn not_exclusive(site: &GraphNode<'_>, value: ValueId) -> Miss {
    let node = site.graph.producer(value).map(|(_, node)| node.name);
    let name = node.map(|name| site.module.name(name)).unwrap_or_default();
    let text = match site.graph.is_output(value) {
        true => format!("the result of `{name}` is an output of the graph too"),
        false => format!("the result of `{name}` is used elsewhere too"),
    };
    Reason::new(ReasonCode::SeveralUses, text).into()
}

/// A match of a pattern.
pub(crate) struct Match<'a> {
    site: GraphNode<'a>,
    values: [Option<ValueId>; Slot::COUNT],
    /// The nodes of the match. The first one is the node at which it starts.
    pub(crate) nodes: Vec<NodeId>,
}

impl<'a> Match<'a> {
    /// The value in a slot. `None` if the part of the pattern with this slot was not used.
    pub(crate) fn value(&self, slot: Slot) -> Option<ValueId> {
        self.values.get(usize::from(slot.0)).copied().flatten()
    }

    /// The node that makes the value in a slot.
    pub(crate) fn node(&self, slot: Slot) -> Option<GraphNode<'a>> {
        self.site.maker(self.value(slot)?)
    }

    /// True if, for each pair of a slot and a number in `numbers`, the slot holds a constant that equals the number.
    /// Slots that the match did not use are skipped.
    pub(crate) fn has_numbers(&self, numbers: &[(Slot, f32)]) -> bool {
        let is = |&(slot, number): &(Slot, f32)| {
            let constant = self.value(slot);
            constant.is_none_or(|constant| self.site.is_scalar(constant, number))
        };
        numbers.iter().all(is)
    }
}

/// The largest number of factors in a multiplication.
const MOST_FACTORS: usize = 8;

/// A condition that is not yet satisfied.
#[derive(Clone)]
enum Want {
    /// The value has to match the given pattern.
    Is(&'static Pattern, Option<ValueId>),
    /// The product of these values has to match the product of the factors that have not matched yet. The `u8` has a
    /// bit for each factor, which is set if the factor has matched.
    Product(&'static [Pattern], u8, SmallVec<[ValueId; MOST_FACTORS]>),
}

/// A condition, and the conditions that must be satisfied after it.
struct Goal<'g>(Want, Option<&'g Goal<'g>>);

/// A backtracking search. If the rest of the pattern does not fit, it returns to its last choice.
struct Search<'a> {
    found: Match<'a>,
    exclusive: SmallVec<[ValueId; 16]>,
    /// The first value that did not match only because it is not exclusive.
    near: Option<ValueId>,
}

impl Search<'_> {
    /// Returns true if all goals can be satisfied, and stores the values of the match. Otherwise the stored values do
    /// not change.
    fn solve(&mut self, goal: Option<&Goal<'_>>) -> bool {
        let Some(Goal(want, next)) = goal else {
            let shared = self.exclusive.iter().copied().find(|&value| !self.reads_alone(value));
            self.near = self.near.or(shared);
            return shared.is_none();
        };
        let next = *next;
        let (pattern, value) = match want {
            Want::Is(pattern, Some(value)) => (*pattern, *value),
            Want::Is(_, None) => return false,
            Want::Product(factors, met, values) => return self.product(factors, *met, values, next),
        };
        match pattern {
            Pattern::Any(slot) => self.keep(*slot, value, next),
            Pattern::Constant(slot) => self.found.site.graph.data_of(value).is_some() && self.keep(*slot, value, next),
            Pattern::OneOf(patterns) => patterns
                .iter()
                .any(|one| self.solve(Some(&Goal(Want::Is(one, Some(value)), next)))),
            Pattern::Through(inner) | Pattern::Reshaped(inner) => {
                self.through(inner, value, matches!(pattern, Pattern::Reshaped(_)), next)
            }
            Pattern::Product(factors) => self.product(factors, 0, &[value], next),
            Pattern::Op(..) => self.node(pattern, value, next),
        }
    }

    /// Returns true if the factors that have not matched yet match the values in some order, and `next` can be
    /// satisfied too. If there are fewer values than factors and the first value is a multiplication, first tries to
    /// replace it by its two operands. Then tries to match the first value with each of the factors.
    fn product(&mut self, factors: &'static [Pattern], met: u8, values: &[ValueId], next: Option<&Goal<'_>>) -> bool {
        let is_met = |index: usize| met & 1 << index != 0;
        let left = (0..factors.len()).filter(|&index| !is_met(index)).count();
        let Some((&value, others)) = values.split_first() else {
            return left == 0 && self.solve(next);
        };
        let (graph, before) = (self.found.site.graph, self.found.nodes.len());
        let product = graph.producer(value).filter(|(_, node)| node.op.term() == Term::Mul);
        if let Some((id, &[Some(a), Some(b)])) = product.map(|(id, node)| (id, &node.inputs[..]))
            && values.len() < left
        {
            self.found.nodes.push(id);
            let apart: SmallVec<[ValueId; MOST_FACTORS]> = [a, b].into_iter().chain(others.iter().copied()).collect();
            if self.product(factors, met, &apart, next) {
                return true;
            }
            self.found.nodes.truncate(before);
        }
        values.len() <= left
            && factors.iter().enumerate().any(|(index, factor)| {
                let rest = Goal(Want::Product(factors, met | 1 << index, others.into()), next);
                !is_met(index) && self.solve(Some(&Goal(Want::Is(factor, Some(value)), Some(&rest))))
            })
    }

    fn keep(&mut self, slot: Slot, value: ValueId, next: Option<&Goal<'_>>) -> bool {
        let before = self.found.values;
        let is_solved = self.bind(slot, value) && self.solve(next);
        if !is_solved {
            self.found.values = before;
        }
        is_solved
    }

    fn bind(&mut self, slot: Slot, value: ValueId) -> bool {
        let place = self.found.values.get_mut(usize::from(slot.0));
        place.is_some_and(|place| *place.get_or_insert(value) == value)
    }

    fn through(
        &mut self,
        pattern: &'static Pattern,
        mut value: ValueId,
        reshaped: bool,
        next: Option<&Goal<'_>>,
    ) -> bool {
        let before = self.found.nodes.len();
        for _ in 0..=MOST_LOOKED_THROUGH {
            if self.solve(Some(&Goal(Want::Is(pattern, Some(value)), next))) {
                return true;
            }
            let reshaped = || self.reshaped(value).filter(|_| reshaped);
            let Some((id, operand)) = self.passed(value).or_else(reshaped) else {
                break;
            };
            self.found.nodes.push(id);
            value = operand;
        }
        self.found.nodes.truncate(before);
        false
    }

    /// The identity or cast that makes a value, and its operand.
    fn passed(&self, value: ValueId) -> Option<(NodeId, ValueId)> {
        let (id, node) = self.found.site.graph.producer(value)?;
        let operand = node.input(0)?;
        let is_float = |id| {
            self.found
                .site
                .graph
                .value(id)
                .is_some_and(|value| value.ty.elem.is_float())
        };
        let passes = match node.op {
            Op::Identity(_) => true,
            Op::Cast(_) => is_float(value) && is_float(operand),
            _ => false,
        };
        passes.then_some((id, operand))
    }

    /// The node that makes a value by adding or removing axes of extent 1, and its operand.
    fn reshaped(&self, value: ValueId) -> Option<(NodeId, ValueId)> {
        let graph = self.found.site.graph;
        let (id, node) = graph.producer(value)?;
        let operand = node.input(0)?;
        let term = node.op.term();
        let extents = |value| {
            let shape = graph.value(value).map(|value| value.ty.shape.iter().copied());
            shape.map(|dims| dims.filter(|&dim| dim != Dim::Fixed(1)).collect::<Shape>())
        };
        let is_reshaped = term.keeps_order() || term == Term::Expand;
        (is_reshaped && extents(value) == extents(operand)).then_some((id, operand))
    }

    fn node(&mut self, pattern: &'static Pattern, value: ValueId, next: Option<&Goal<'_>>) -> bool {
        let &Pattern::Op(terms, operands, slot, is_shared) = pattern else {
            return false;
        };
        let fits = |node: &Node| terms.contains(&node.op.term()) && node.outputs.first() == Some(&value);
        let producer = self.found.site.graph.producer(value);
        let Some((id, node)) = producer.filter(|(_, node)| fits(node)) else {
            return false;
        };
        let (values, nodes, exclusive) = (self.found.values, self.found.nodes.len(), self.exclusive.len());
        if !is_shared && nodes > 0 {
            self.exclusive.push(value);
        }
        self.found.nodes.push(id);
        let listed = node.inputs.get(..operands.len());
        let is_kept = slot.is_none_or(|slot| self.bind(slot, value));
        let is_solved = is_kept
            && match listed {
                Some(&[a, b]) if node.op.term().commutes() => {
                    self.operands(operands, &[a, b], next) || self.operands(operands, &[b, a], next)
                }
                Some(listed) => self.operands(operands, listed, next),
                None => false,
            };
        if !is_solved {
            self.found.values = values;
            self.found.nodes.truncate(nodes);
            self.exclusive.truncate(exclusive);
        }
        is_solved
    }

    /// Matches the operands of a node, and then the remaining goals.
    fn operands(
        &mut self,
        patterns: &'static [Pattern],
        operands: &[Option<ValueId>],
        next: Option<&Goal<'_>>,
    ) -> bool {
        match (patterns, operands) {
            ([patterns @ .., pattern], &[ref operands @ .., value]) => {
                self.operands(patterns, operands, Some(&Goal(Want::Is(pattern, value), next)))
            }
            _ => self.solve(next),
        }
    }

    /// True if only nodes of the match read a value, directly or through skipped nodes, and the value is not an output.
    fn reads_alone(&self, value: ValueId) -> bool {
        let graph = self.found.site.graph;
        let reads = |id: NodeId| {
            let Some(node) = graph.node(id).filter(|_| self.found.nodes.contains(&id)) else {
                return false;
            };
            let result = node.result().filter(|_| id != self.found.site.id);
            let passed = result.filter(|&result| self.passed(result).or_else(|| self.reshaped(result)).is_some());
            passed.is_none_or(|result| self.reads_alone(result))
        };
        !graph.is_output(value) && graph.uses(value).all(|at| reads(at.node))
    }
}

#[cfg(test)]
mod tests;
