//! Tiling: copies of a tensor side by side.

use strait_core::ReasonCode;
use strait_core::op::{Concat, Identity, Op};

use crate::compose::slice_along;
use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

/// Limit on the number of copies of one tensor.
const MOST_COPIES: i64 = 1 << 12;

/// The op that joins several copies of a value along an axis, and the operands of this op.
fn copies(x: Arg, axis: i64, count: usize) -> (Op, Vec<Arg>) {
    match count {
        0 => (slice_along([(axis, [0, 0, 1])]).into(), vec![x]),
        _ => (Concat { axis }.into(), vec![x; count]),
    }
}

impl Layer<'_, '_> {
    /// Tiles a value, with a number of copies for each axis. This takes several ops. Returns the last op, which is not
    /// added to the graph yet, and the operands of this op. The last axis is tiled first, so that long stretches of
    /// memory are copied.
    ///
    /// # Errors
    /// `repeats` does not have one entry for each axis of the value, or there are too many copies.
    pub fn tiled(&mut self, x: Arg, repeats: &[i64]) -> Result<(Op, Vec<Arg>), Refusal> {
        let rank = self.arg_type(&x)?.shape.len();
        if repeats.len() != rank {
            let text = format!("{} repeats for rank {rank}", repeats.len());
            return Err(Refusal::invalid(ReasonCode::Axes, text));
        }
        let mut last = (Identity {}.into(), vec![x]);
        let mut is_first = true;
        for (axis, &count) in repeats.iter().enumerate().rev().filter(|(_, count)| **count != 1) {
            if !(0..=MOST_COPIES).contains(&count) {
                return Err(Refusal::Unsupported(format!("axis {axis} is repeated {count} times")));
            }
            let x = match (std::mem::take(&mut is_first), last) {
                (true, (_, mut args)) => args.pop().unwrap_or(Arg::Absent),
                (false, (op, args)) => self.push(op, &args)?,
            };
            last = copies(x, axis as i64, count as usize);
        }
        Ok(last)
    }
}
