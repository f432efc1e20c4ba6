//! Ops that interpolate, with valid and invalid attributes.

use super::Choices;
use smallvec::smallvec;
use strait_core::Op;
use strait_core::op::{Coordinate, IntegerResize, Interpolate};
use strait_requantize::Rounding;

/// An op that interpolates in a table or along the axes of an image.
pub(super) fn op(choices: &mut Choices<'_>) -> Op {
    let rounding = choices.pick(&Rounding::ALL);
    if choices.flip() {
        let step = choices.pick(&[0, 3, 200]);
        return Interpolate { step, rounding }.into();
    }
    IntegerResize {
        sizes: choices.pick(&[smallvec![1, 2, 4, 6], smallvec![-1], smallvec![i64::MAX; 4]]),
        coordinate: choices.pick(&Coordinate::ALL),
        fraction: choices.pick(&[0, 11, 255]),
        rounding,
    }
    .into()
}
