//! Copies side by side.

use smallvec::smallvec;
use strait_core::ReasonCode;
use strait_core::op::{Concat, Identity, Op, Slice};

use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

/// The most copies of one tensor side by side.
const MOST_COPIES: i64 = 1 << 12;

/// Copies along an axis.
fn copies(x: Arg, axis: i64, count: usize) -> (Op, Vec<Arg>) {
    match count {
        0 => {
            let none = Slice {
                starts: smallvec![0],
                ends: smallvec![0],
                axes: smallvec![axis],
                steps: smallvec![1],
            };
            (none.into(), vec![x])
        }
        _ => (Concat { axis }.into(), vec![x; count]),
    }
}

impl Layer<'_, '_> {
    /// Copies of a value side by side, so many along each axis: the last op of that, and its operands. Axes are taken from the last
    /// on, so that what is copied is long.
    ///
    /// # Errors
    /// Another number of axes than the value has, or too many copies.
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
