//! Ops that find positions, and ops that gather or scatter elements. Cumulative sums and products are here too, because
//! they also work along one axis on every type of number.

pub(crate) mod arg_reduce;
pub(crate) mod cumulative;
pub(crate) mod gather_elements;
pub(crate) mod gather_nd;
pub(crate) mod scatter;
pub(crate) mod top_k;

use crate::layout::{position, strides};
use crate::prelude::*;
use std::cmp::Ordering;

/// Evaluates `$body` with `$t` as the Rust type of a number: f32, f64 or i64. Any other element type is an error.
macro_rules! by_number {
    ($site:expr, $elem:expr, $t:ident => $body:expr) => {
        match $elem {
            strait_core::Elem::F32 => {
                type $t = f32;
                $body
            }
            strait_core::Elem::F64 => {
                type $t = f64;
                $body
            }
            strait_core::Elem::I64 => {
                type $t = i64;
                $body
            }
            other => Err($crate::error::StepError::Unsupported(format!(
                "{} on {other}",
                $site.node.op.term()
            ))),
        }
    };
}
pub(crate) use by_number;

/// Compares two numbers. NaN is larger than any other number, and equal to NaN.
fn order<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    // Only NaN does not equal itself.
    #[allow(clippy::eq_op, reason = "the one test for NaN that all numbers have")]
    let nan = |x: &T| x != x;
    a.partial_cmp(b).unwrap_or_else(|| nan(a).cmp(&nan(b)))
}

/// Returns the index in a tensor with extents `whole` for each element of a tensor with extents `part`. Both tensors
/// have the same number of axes. The position is the same along all axes except `axis`; along `axis`, `indices` has the
/// position.
fn places<'a>(
    whole: &'a [usize],
    part: &'a [usize],
    axis: usize,
    indices: &'a [i64],
) -> impl Iterator<Item = Result<usize, StepError>> + 'a {
    let (steps, extents) = (strides(whole), strides(part));
    indices.iter().enumerate().map(move |(at, &index)| {
        let mut place = position(index, whole[axis])? * steps[axis];
        for other in (0..part.len()).filter(|&other| other != axis) {
            place += at / extents[other] % part[other] * steps[other];
        }
        Ok(place)
    })
}

/// Returns the index of the first element of each slice. A slice has `slice` elements. `indices` has the coordinates of
/// one slice after the other, with one coordinate for each extent in `dims`.
fn slices<'a>(
    dims: &'a [usize],
    slice: usize,
    indices: &'a [i64],
) -> impl Iterator<Item = Result<usize, StepError>> + 'a {
    let steps = strides(dims);
    indices.chunks_exact(dims.len().max(1)).map(move |coordinates| {
        let mut place = 0;
        for ((&index, &extent), step) in coordinates.iter().zip(dims).zip(&steps) {
            place += position(index, extent)? * step;
        }
        Ok(place * slice)
    })
}
