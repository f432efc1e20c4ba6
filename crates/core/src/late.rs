//! Operands that replace attributes and are known only at run time.

use crate::op::Op;

/// The elements of an operand that replaces an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum LateList {
    /// Extents, positions or amounts of padding.
    Integers(Vec<i64>),
    /// Scales of a resize.
    Floats(Vec<f32>),
}

impl Op {
    /// Returns the position of the first operand that replaces an attribute; `None` if the op has no such operands.
    pub fn first_late(&self) -> Option<usize> {
        matches!(
            self,
            Op::Reshape(_) | Op::Expand(_) | Op::Slice(_) | Op::TopK(_) | Op::Pad(_) | Op::Resize(_)
        )
        .then_some(1)
    }

    /// Returns the same op with attributes in place of the operands from [`Op::first_late`] on. `late` has the elements
    /// of these operands. Returns `None` if the elements are not valid for the op.
    pub fn with_late(&self, late: &[LateList]) -> Option<Op> {
        let mut known = self.clone();
        match (&mut known, late) {
            (Op::Reshape(op), [LateList::Integers(shape)]) => op.shape = shape[..].into(),
            (Op::Expand(op), [LateList::Integers(shape)]) => op.shape = shape[..].into(),
            (Op::Slice(op), [LateList::Integers(starts), LateList::Integers(ends)]) => {
                (op.starts, op.ends) = (starts[..].into(), ends[..].into());
            }
            (Op::TopK(op), [LateList::Integers(k)]) => op.k = *k.first()?,
            (Op::Pad(op), [LateList::Integers(amounts)]) => op.amounts = amounts[..].into(),
            (Op::Resize(op), [LateList::Integers(sizes)]) => {
                (op.sizes, op.scales) = (sizes[..].into(), Vec::new());
            }
            (Op::Resize(op), [LateList::Floats(scales)]) => {
                (op.sizes, op.scales) = (Default::default(), scales.clone());
            }
            _ => return None,
        }
        Some(known)
    }
}
