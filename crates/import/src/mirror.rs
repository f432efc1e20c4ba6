//! Padding with elements that are mirrored at the border.

use strait_core::ReasonCode;
use strait_core::op::Gather;

use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

impl Layer<'_, '_> {
    /// Pads each axis of a value by mirroring its elements, including the element at the border. `amounts` has the
    /// number of elements before and after each axis.
    ///
    /// # Errors
    /// More elements have to be mirrored than an axis has, or the result is too large.
    pub fn mirrored(&mut self, x: &Arg, amounts: &[[i64; 2]]) -> Result<Arg, Refusal> {
        let mut x = x.clone();
        let extents = self.extents(&x)?;
        for (axis, (&extent, &[begin, end])) in extents.iter().zip(amounts).enumerate() {
            if begin == 0 && end == 0 {
                continue;
            }
            if begin > extent || end > extent {
                let text = format!("axis {axis} of {extent} elements is mirrored at {begin} and {end}");
                return Err(Refusal::invalid(ReasonCode::Pad, text));
            }
            let count = begin.saturating_add(extent).saturating_add(end).unsigned_abs();
            self.room(&[count])?;
            let positions = (0..begin).rev().chain(0..extent).chain((extent - end..extent).rev());
            let positions: Vec<i64> = positions.collect();
            let positions = Arg::Constant(self.integers(&[count], &positions)?);
            x = self.push(Gather { axis: axis as i64 }, &[x, positions])?;
        }
        Ok(x)
    }
}
