//! Operands that replace attributes and are known only at run time.

use crate::op::{Expand, Op, Pad, Reshape, Resize, Slice, TopK};

/// The elements of an operand that replaces an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum LateList {
    /// Extents, positions or amounts of padding.
    Integers(Vec<i64>),
    /// Scales of a resize.
    Floats(Vec<f32>),
}

impl Op {
    /// The position of the first operand that replaces an attribute; `None` if the op has no such operands.
    pub fn first_late(&self) -> Option<usize> {
        matches!(
            self,
            Op::Reshape(_) | Op::Expand(_) | Op::Slice(_) | Op::TopK(_) | Op::Pad(_) | Op::Resize(_)
        )
        .then_some(1)
    }

    /// The same op with attributes instead of the operands from [`Op::first_late`] on. `late` has the elements of these
    /// operands. `None` if they do not fit the op.
    pub fn with_late(&self, late: &[LateList]) -> Option<Op> {
        Some(match (self, late) {
            (Op::Reshape(_), [LateList::Integers(shape)]) => Reshape {
                shape: shape[..].into(),
            }
            .into(),
            (Op::Expand(_), [LateList::Integers(shape)]) => Expand {
                shape: shape[..].into(),
            }
            .into(),
            (Op::Slice(op), [LateList::Integers(starts), LateList::Integers(ends)]) => Slice {
                starts: starts[..].into(),
                ends: ends[..].into(),
                ..(**op).clone()
            }
            .into(),
            (Op::TopK(op), [LateList::Integers(k)]) => TopK {
                k: *k.first()?,
                ..(**op).clone()
            }
            .into(),
            (Op::Pad(op), [LateList::Integers(amounts)]) => Pad {
                amounts: amounts[..].into(),
                ..(**op).clone()
            }
            .into(),
            (Op::Resize(op), [LateList::Integers(sizes)]) => Resize {
                sizes: sizes[..].into(),
                scales: Vec::new(),
                ..(**op).clone()
            }
            .into(),
            (Op::Resize(op), [LateList::Floats(scales)]) => Resize {
                sizes: Default::default(),
                scales: scales.clone(),
                ..(**op).clone()
            }
            .into(),
            _ => return None,
        })
    }
}
