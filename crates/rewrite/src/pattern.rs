//! Patterns: plain values that say what stands above a node.
//!
//! A pattern is an [`op`] whose operands are patterns, a value or a constant that is kept in a [`Slot`], a product of patterns,
//! one of several patterns, or a pattern behind nodes that are looked through. It speaks of nothing but structure: numbers,
//! shapes and operands whose count varies are ordinary code behind the match. Operands behind those that a pattern lists are not
//! asked about.
//!
//! Where an op commutes, its operands match in both orders. A node inside of the match is *exclusive*, unless it is
//! [`shared`](Pattern::shared): the match alone reads it, and it is no output of the graph. Where that alone is missing, the
//! answer is a refusal that names the node, since somebody who looks for the rewrite asks why it did not happen.

use crate::matching::GraphNode;
use smallvec::SmallVec;
use strait_core::{Dim, Node, NodeId, Op, Outcome, Reason, ReasonCode, Shape, Term, ValueId};

/// The place of a value that a match keeps, below [`Slot::COUNT`]. A slot that stands at several places of a pattern is one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u8);

impl Slot {
    pub(crate) const COUNT: usize = 16;
}

/// The most nodes in a row that are looked through.
const MOST_LOOKED_THROUGH: usize = 4;

/// Structure above a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pattern {
    /// Any value.
    Any(Slot),
    /// A constant.
    Constant(Slot),
    /// The first result of a node: terms, operands, the place where it is kept, and whether others may read it; see [`op`].
    Op(&'static [Term], &'static [Pattern], Option<Slot>, bool),
    /// One of these, the first that fits the rest of the pattern too.
    OneOf(&'static [Pattern]),
    /// This, at once or behind identities and casts from float to float.
    Through(&'static Pattern),
    /// This, at once or behind such nodes and those that put axes of extent 1 in or take them out.
    Reshaped(&'static Pattern),
    /// A product of all of these, in whatever order and nesting of products, which others may read.
    Product(&'static [Pattern]),
}

/// The first result of a node with one of these terms, whose operands begin with these.
pub(crate) const fn op(terms: &'static [Term], operands: &'static [Pattern]) -> Pattern {
    Pattern::Op(terms, operands, None, false)
}

impl Pattern {
    /// The same with the result of the node kept. Of what is no node it does not compile in a constant.
    #[expect(clippy::panic, reason = "patterns are constants, so it is the compiler that stops")]
    pub(crate) const fn keep(self, slot: Slot) -> Pattern {
        match self {
            Pattern::Op(terms, operands, _, is_shared) => Pattern::Op(terms, operands, Some(slot), is_shared),
            _ => panic!("only the result of a node is kept so"),
        }
    }

    /// The same with a node that others may read, too. Of what is no node it does not compile in a constant.
    #[expect(clippy::panic, reason = "patterns are constants, so it is the compiler that stops")]
    pub(crate) const fn shared(self) -> Pattern {
        match self {
            Pattern::Op(terms, operands, slot, _) => Pattern::Op(terms, operands, slot, true),
            _ => panic!("only a node is shared"),
        }
    }

    /// The terms of the nodes that the pattern may begin at.
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

    /// The number of nodes on the longest way up: so far above an anchor a change may make a match of it.
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

    /// The match that begins at a node, or the outcome of a rule that finds none there.
    pub(crate) fn at<'a>(&'static self, site: &GraphNode<'a>) -> Result<Match<'a>, Outcome> {
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
            (false, Some(value)) => Err(Outcome::Refused(not_exclusive(site, value))),
            (false, None) => Err(Outcome::NoMatch),
        }
    }
}

/// The near miss: everything is there, but somebody else reads a value.
fn not_exclusive(site: &GraphNode<'_>, value: ValueId) -> Reason {
    let node = site.graph.producer(value).map(|(_, node)| node.name);
    let name = node.map(|name| site.module.name(name)).unwrap_or_default();
    let text = match site.graph.is_output(value) {
        true => format!("the result of `{name}` is an output of the graph too"),
        false => format!("the result of `{name}` is used elsewhere too"),
    };
    Reason::new(ReasonCode::SeveralUses, text)
}

/// A pattern that was found.
pub(crate) struct Match<'a> {
    site: GraphNode<'a>,
    values: [Option<ValueId>; Slot::COUNT],
    /// The nodes of the match, the anchor first.
    pub(crate) nodes: Vec<NodeId>,
}

impl<'a> Match<'a> {
    /// The value in a slot; none where the match went through none of the patterns that keep it.
    pub(crate) fn value(&self, slot: Slot) -> Option<ValueId> {
        self.values.get(usize::from(slot.0)).copied().flatten()
    }

    /// The node that makes the value in a slot.
    pub(crate) fn node(&self, slot: Slot) -> Option<GraphNode<'a>> {
        let (id, node) = self.site.graph.producer(self.value(slot)?)?;
        Some(GraphNode { id, node, ..self.site })
    }
}

/// The most factors of a product.
const MOST_FACTORS: usize = 8;

/// A part of a pattern that is to be met.
#[derive(Clone)]
enum Want {
    /// A value is this.
    Is(&'static Pattern, Option<ValueId>),
    /// The product of these values is that of those patterns which are not met yet: the bits of the others are set.
    Product(&'static [Pattern], u8, SmallVec<[ValueId; MOST_FACTORS]>),
}

/// A part of a pattern, and those that come behind it.
struct Goal<'g>(Want, Option<&'g Goal<'g>>);

/// A search that goes back to the last choice where the rest does not fit.
struct Search<'a> {
    found: Match<'a>,
    exclusive: SmallVec<[ValueId; 16]>,
    /// The first value that was all that was wrong.
    near: Option<ValueId>,
}

impl Search<'_> {
    /// True if all goals are met; what is kept is then that of the match, else what it was.
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

    /// Takes the first value for one of the factors, or apart.
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
        let operand = node.inputs.first().copied().flatten()?;
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

    /// The node that makes a value of another with as many axes of extent 1 more or less, and its operand.
    fn reshaped(&self, value: ValueId) -> Option<(NodeId, ValueId)> {
        let graph = self.found.site.graph;
        let (id, node) = graph.producer(value)?;
        let operand = node.inputs.first().copied().flatten()?;
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

    /// Puts the operands of a node in front of the other goals.
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

    /// True if the nodes of the match alone read a value, at once or behind what is looked through, and it is no output.
    fn reads_alone(&self, value: ValueId) -> bool {
        let graph = self.found.site.graph;
        let reads = |id: NodeId| {
            let Some(node) = graph.node(id).filter(|_| self.found.nodes.contains(&id)) else {
                return false;
            };
            let result = node.outputs.first().copied().filter(|_| id != self.found.site.id);
            let passed = result.filter(|&result| self.passed(result).or_else(|| self.reshaped(result)).is_some());
            passed.is_none_or(|result| self.reads_alone(result))
        };
        !graph.is_output(value) && graph.uses(value).all(|at| reads(at.node))
    }
}

#[cfg(test)]
mod tests;
