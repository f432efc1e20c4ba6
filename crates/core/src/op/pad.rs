//! Padding.

use super::prelude::*;

words! {
    /// How padding elements are chosen.
    PadMode {
        /// Padding elements are the constant `value`.
        Constant = "constant",
        /// Padding elements mirror the elements at the border; the border element itself is not repeated.
        Reflect = "reflect",
        /// Padding elements repeat the border element.
        Edge = "edge",
    }
}

op! {
    /// Adds elements at both ends of each axis; a negative amount removes elements. A second operand (i64, two numbers
    /// for each axis) can give the amounts at run time. The attribute `amounts` then has the amounts that are already
    /// known.
    Pad = "pad" v 1: Extends, 1 to 2 {
        /// The amounts: first at the begin of each axis, then at the end of each axis. If there is a second operand,
        /// the smallest i64 stands for an unknown amount.
        amounts: SmallVec<[i64; 8]>,
        /// How padding elements are chosen.
        mode: PadMode,
        /// The value of padding elements in mode `constant`: a real number for floats, and a code for integers. An f32
        /// holds codes exactly, because they have at most 16 bits.
        value: f32,
    }
}

impl Pad {
    /// The number for an amount that is only known at run time.
    pub const UNKNOWN: i64 = i64::MIN;
}

impl OpFacts for Pad {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let rank = x.shape.len();
        support::ensure(self.amounts.len() == 2 * rank, ReasonCode::Pad, || {
            format!(
                "{} amounts for {rank} axes; two per axis are needed",
                self.amounts.len()
            )
        })?;
        let is_late = support::late_list(operands, 1, 2 * rank)?;
        let mut shape = x.shape.clone();
        for axis in 0..rank {
            let (begin, end) = (self.amounts[axis], self.amounts[axis + rank]);
            if (begin, end) == (0, 0) {
                continue;
            }
            if is_late && (begin == Pad::UNKNOWN || end == Pad::UNKNOWN || shape[axis].fixed().is_none()) {
                shape[axis] = Dim::OPEN;
                continue;
            }
            let extent = shape[axis].fixed().and_then(|e| i64::try_from(e).ok());
            // A negative amount must not remove more elements from an axis than it has.
            let cropped = extent
                .and_then(|e| e.checked_add(begin.min(0))?.checked_add(end.min(0)))
                .filter(|&e| e >= 0);
            let padded = cropped
                .and_then(|e| e.checked_add(begin.max(0))?.checked_add(end.max(0)))
                .map(i64::unsigned_abs);
            let padded = padded.ok_or_else(|| {
                Reason::new(
                    ReasonCode::Pad,
                    format!(
                        "axis {axis} with extent {} cannot be padded by {begin} and {end}",
                        shape[axis]
                    ),
                )
            })?;
            if self.mode == PadMode::Reflect {
                let limit = extent.unwrap_or(0);
                support::ensure(begin < limit && end < limit, ReasonCode::Pad, || {
                    format!("axis {axis} has {limit} elements, too few to mirror {begin} and {end}")
                })?;
            }
            shape[axis] = Dim::Fixed(padded);
        }
        support::one(x.elem, shape)
    }
}
