//! Checks the facts that a certificate states as the reasons for its interval.
//!
//! The verifier derives the interval again without these facts, so a missing fact cannot hide anything.

use crate::chain::Along;
use crate::chain::Base;
use crate::finding::Fault;
use crate::intervals::picks;
use crate::intervals::picks::Elements;
use crate::intervals::{Interval, Intervals, extents};
use crate::structure::{FusedSite, SiteKind};
use strait_core::{Graph, Node, Op, ValueId};
use strait_requantize::Because;

/// Returns the facts that are not true.
pub(crate) fn check<'a>(
    lowered: &'a Graph,
    site: &'a FusedSite<'_>,
    fused: &'a Intervals,
    facts: &'a [Because],
) -> impl Iterator<Item = Fault> + 'a {
    let about = About { lowered, site, fused };
    let untrue = facts.iter().filter(move |fact| !about.is_true(fact));
    untrue.map(|fact| Fault::Fact(fact.clone()))
}

/// The graphs and the fused site that the facts are about.
struct About<'a> {
    lowered: &'a Graph,
    site: &'a FusedSite<'a>,
    fused: &'a Intervals,
}

impl About<'_> {
    fn is_true(&self, fact: &Because) -> bool {
        let is_constant = matches!(self.site.kind, SiteKind::Constants(_));
        match (fact, self.site.lowered.base) {
            (Because::EveryFloat, _) => matches!(self.site.kind, SiteKind::Floats { .. }),
            (Because::Entries, Base::Node(_, node)) => is_constant || matches!(node.op, Op::Lookup(_)),
            (Because::Entries, Base::Value(_)) => is_constant,
            (Because::Type(claimed), _) => {
                let start = self.site.lowered.start.and_then(|v| self.lowered.value(v));
                start.is_some_and(|value| value.ty.elem.int_type() == Some(*claimed))
            }
            (Because::Operand { index, low, high }, _) => {
                let (low, high) = (*low, *high);
                let claimed = Interval { low, high };
                self.operand(*index).is_some_and(|found| claimed.contains(found))
            }
            (fact, Base::Node(_, node)) => self.is_true_of(fact, self.site.product.unwrap_or(node)),
            (_, Base::Value(_)) => false,
        }
    }

    /// The interval of an operand of the producer, in the fused graph.
    fn operand(&self, index: u32) -> Option<Interval> {
        let Base::Node(_, node) = self.site.fused.base else {
            return None;
        };
        let operand = node.inputs.get(index as usize).copied().flatten()?;
        Some(self.fused.value(operand)?.hull())
    }

    fn is_true_of(&self, fact: &Because, node: &Node) -> bool {
        let operand = |index: usize| node.inputs.get(index).copied().flatten();
        let is_product = matches!(node.op, Op::Conv(_) | Op::Gemm(_));
        match fact {
            Because::Weights => is_product && operand(1).is_some_and(|v| self.lowered.data_of(v).is_some()),
            Because::Bias => is_product && operand(2).is_some(),
            Because::Padding { value } => node.op.zeros().iter().any(|zero| zero.pads && zero.code == *value),
            Because::Window { elements } => {
                let first = operand(0).and_then(|v| self.extents(v));
                first.is_some_and(|extents| summands(node, &extents) == Some(*elements))
            }
            Because::Elements { most } => {
                let found = picked_elements(self.lowered, self.site);
                found.is_some_and(|found| {
                    // A constant assigns a channel of the requantization to each window. For a channel that is assigned
                    // to no window, the certificate may state any number of elements.
                    let same = |(own, most): (&Option<Elements>, &u64)| own.is_none_or(|own| own.most == *most);
                    found.len() == most.len() && found.iter().zip(most).all(same)
                })
            }
            Because::ZeroPoints => match &node.op {
                Op::Conv(op) => !op.weight_zero.is_zero(),
                Op::Gemm(op) => !op.weight_zero.is_zero(),
                Op::MatMul(op) => [op.a_zero, op.b_zero] != [0, 0],
                Op::Mul(op) => [op.a_zero, op.b_zero] != [0, 0],
                Op::ShiftLeft(op) => op.zero != 0,
                _ => false,
            },
            _ => false,
        }
    }

    fn extents(&self, value: ValueId) -> Option<Vec<u64>> {
        extents(&self.lowered.value(value)?.ty.shape)
    }
}

/// Returns the number of elements that a node adds up for each element of its result. `extents` are the extents of the
/// node's first operand.
fn summands(node: &Node, extents: &[u64]) -> Option<u64> {
    match &node.op {
        Op::MatMul(_) => extents.last().copied(),
        Op::SumPool(op) => product(op.size.iter().map(|&extent| extent.into())),
        Op::Reduce(op) => {
            let axes = op.reduced(extents.len()).ok()?;
            product(axes.into_iter().map(|axis| extents[axis]))
        }
        _ => None,
    }
}

fn product(mut factors: impl Iterator<Item = u64>) -> Option<u64> {
    factors.try_fold(1, u64::checked_mul)
}

/// If a constant assigns a channel to each window of a pool, returns, for each channel, the smallest and the largest
/// number of elements in its windows. The entry is `None` for a channel without windows.
pub(crate) fn picked_elements(graph: &Graph, site: &FusedSite<'_>) -> Option<Vec<Option<Elements>>> {
    let (Some(Along::Picked(picks)), Base::Node(_, node)) = (site.along(), site.lowered.base) else {
        return None;
    };
    let Op::SumPool(op) = &node.op else { return None };
    let shape = |value: ValueId| extents(&graph.value(value)?.ty.shape);
    let dims = (
        shape(node.inputs.first().copied().flatten()?)?,
        shape(*node.outputs.first()?)?,
    );
    picks::elements(op, picks, (&dims.0, &dims.1), site.channels()?)
}
