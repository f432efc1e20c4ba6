//! Patterns: plain values that say what stands above a node.
//!
//! A pattern is an [`op`] whose operands are patterns, a value or a constant that is kept in a [`Slot`], one of several
//! patterns, or a pattern behind identities and casts. It speaks of nothing but structure: numbers, shapes and operands whose
//! count varies are ordinary code behind the match. Operands behind those that a pattern lists are not asked about.
//!
//! Where an op commutes, its operands match in both orders. A node inside of the match is *exclusive*, unless it is
//! [`shared`](Pattern::shared): the match alone reads it, and it is no output of the graph. Where that alone is missing, the
//! answer is a refusal that names the node, since somebody who looks for the rewrite asks why it did not happen.

use crate::matching::GraphNode;
use smallvec::SmallVec;
use strait_core::{Node, NodeId, Op, Outcome, Reason, ReasonCode, Term, ValueId};

/// The place of a value that a match keeps, below [`Slot::COUNT`]. A slot that stands at several places of a pattern is one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u8);

impl Slot {
    pub(crate) const COUNT: usize = 16;
}

/// The most identities and casts in a row that are looked through.
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
            Pattern::Through(pattern) => pattern.anchors(),
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
            Pattern::Through(pattern) => MOST_LOOKED_THROUGH + pattern.depth(),
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
        let root = Goal(self, site.output(), None);
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

/// A part of a pattern that a value must be, and those that come behind it.
#[derive(Clone, Copy)]
struct Goal<'g>(&'static Pattern, Option<ValueId>, Option<&'g Goal<'g>>);

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
        let Some(&Goal(pattern, value, next)) = goal else {
            let shared = self.exclusive.iter().copied().find(|&value| !self.reads_alone(value));
            self.near = self.near.or(shared);
            return shared.is_none();
        };
        let Some(value) = value else { return false };
        match pattern {
            Pattern::Any(slot) => self.keep(*slot, value, next),
            Pattern::Constant(slot) => self.found.site.graph.data_of(value).is_some() && self.keep(*slot, value, next),
            Pattern::OneOf(patterns) => patterns
                .iter()
                .any(|one| self.solve(Some(&Goal(one, Some(value), next)))),
            Pattern::Through(pattern) => self.through(pattern, value, next),
            Pattern::Op(..) => self.node(pattern, value, next),
        }
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

    fn through(&mut self, pattern: &'static Pattern, mut value: ValueId, next: Option<&Goal<'_>>) -> bool {
        let before = self.found.nodes.len();
        for _ in 0..=MOST_LOOKED_THROUGH {
            if self.solve(Some(&Goal(pattern, Some(value), next))) {
                return true;
            }
            let Some((id, operand)) = self.passed(value) else { break };
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
                self.operands(patterns, operands, Some(&Goal(pattern, value, next)))
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
            let passed = result.filter(|&result| self.passed(result).is_some());
            passed.is_none_or(|result| self.reads_alone(result))
        };
        !graph.is_output(value) && graph.uses(value).all(|at| reads(at.node))
    }
}

#[cfg(test)]
mod tests;
