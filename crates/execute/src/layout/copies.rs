//! Steps that copy elements to other positions.

use super::{by_width, strided};
use crate::prelude::*;
use crate::site::Slot;
use crate::tensor::Dims;

/// Returns a step that picks positions along the axes of an operand; see [`strided::pick`].
pub(super) fn picked(x: &Slot<'_>, picks: Vec<Option<strided::Picks>>) -> Box<dyn Step> {
    let (elem, dims) = (x.elem, x.dims.clone());
    reading(1, move |io| {
        by_width!(elem, T => {
            let input = io.input::<T>(0)?;
            strided::pick(&dims, &picks, input, io.output::<T>()?)
        })
    })
}

/// Returns a step that copies elements to a result with the extents `result`. The first of them is at `start` in the operand,
/// and `from` has the stride in the operand for each axis of the result.
pub(super) fn along(elem: Elem, (start, from): (usize, Dims), result: Dims) -> Box<dyn Step> {
    let to = strided::strides(&result);
    reading(1, move |io| {
        by_width!(elem, T => {
            let input = io.input::<T>(0)?;
            strided::copy(&result, (input, start, &from), (io.output::<T>()?, 0, &to));
        });
        Ok(())
    })
}
