//! Use lists: for each value, the operands that use it. A list is doubly linked, and its links are stored in the nodes.
//! So each change takes constant time, however many uses there are.

use crate::graph::Graph;
use crate::ids::{Link, Use, ValueId};

impl Graph {
    /// Returns the operands that use a value. The operand that was added last comes first.
    pub fn uses(&self, id: ValueId) -> impl Iterator<Item = Use> + '_ {
        let mut next = self.value(id).and_then(|v| v.first_use);
        std::iter::from_fn(move || {
            let current = next?;
            let node = self.node(current.node);
            next = node.and_then(|n| n.links.get(usize::from(current.operand))?.next);
            Some(current)
        })
    }

    /// Returns the only use of a value. Returns `None` if the value has no or several uses, or is also an output of the
    /// graph.
    pub fn only_use(&self, id: ValueId) -> Option<Use> {
        let mut uses = self.uses(id);
        let first = uses.next()?;
        (uses.next().is_none() && !self.is_output(id)).then_some(first)
    }

    fn link_mut(&mut self, at: Use) -> Option<&mut Link> {
        self.node_mut(at.node)?.links.get_mut(usize::from(at.operand))
    }

    /// Adds an operand to the front of the use list of `value`.
    pub(crate) fn link(&mut self, value: ValueId, at: Use) {
        let Some(entry) = self.value_mut(value) else { return };
        let next = entry.first_use.replace(at);
        if let Some(link) = next.and_then(|n| self.link_mut(n)) {
            link.previous = Some(at);
        }
        if let Some(link) = self.link_mut(at) {
            *link = Link { previous: None, next };
        }
    }

    /// Removes an operand from the use list of `value`.
    pub(crate) fn unlink(&mut self, value: ValueId, at: Use) {
        let Some(link) = self.link_mut(at).map(std::mem::take) else {
            return;
        };
        let before = match link.previous {
            Some(previous) => self.link_mut(previous).map(|neighbour| &mut neighbour.next),
            None => self.value_mut(value).map(|entry| &mut entry.first_use),
        };
        if let Some(next) = before {
            *next = link.next;
        }
        if let Some(neighbour) = link.next.and_then(|n| self.link_mut(n)) {
            neighbour.previous = link.previous;
        }
    }

    /// Makes an operand use another value.
    pub(crate) fn redirect(&mut self, at: Use, to: ValueId) {
        let operand = usize::from(at.operand);
        let from = self.node(at.node).and_then(|n| *n.inputs.get(operand)?);
        if let Some(from) = from {
            self.unlink(from, at);
        }
        if let Some(node) = self.node_mut(at.node) {
            node.inputs[operand] = Some(to);
        }
        self.link(to, at);
    }
}
