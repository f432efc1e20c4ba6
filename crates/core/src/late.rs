//! Operands that stand in the place of attributes.

use crate::op::{Expand, Op, Reshape, Slice, TopK};

impl Op {
    /// The first operand that stands in the place of an attribute, of those ops that have one beside the attribute.
    pub fn first_late(&self) -> Option<usize> {
        matches!(self, Op::Reshape(_) | Op::Expand(_) | Op::Slice(_) | Op::TopK(_)).then_some(1)
    }

    /// The op with attributes in the place of its operands from [`Op::first_late`] on, which have these elements. `None` where
    /// they do not fit.
    pub fn with_late(&self, late: &[Vec<i64>]) -> Option<Op> {
        match (self, late) {
            (Op::Reshape(_), [shape]) => Some(
                Reshape {
                    shape: shape[..].into(),
                }
                .into(),
            ),
            (Op::Expand(_), [shape]) => Some(
                Expand {
                    shape: shape[..].into(),
                }
                .into(),
            ),
            (Op::Slice(op), [starts, ends]) => Some(
                Slice {
                    starts: starts[..].into(),
                    ends: ends[..].into(),
                    ..(**op).clone()
                }
                .into(),
            ),
            (Op::TopK(op), [k]) => Some(
                TopK {
                    k: *k.first()?,
                    ..(**op).clone()
                }
                .into(),
            ),
            _ => None,
        }
    }
}
