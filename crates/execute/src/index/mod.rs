//! Ops that look for places, and those that take elements from there or put them there; running sums are beside them, as they
//! go along one axis for every type of number, too.

pub(crate) mod arg_reduce;
pub(crate) mod cumulative;
pub(crate) mod gather_elements;
pub(crate) mod gather_nd;
pub(crate) mod scatter;
pub(crate) mod top_k;

use crate::error::StepError;
use std::cmp::Ordering;

/// Runs `$body` with `$t` the type of a number: f32, f64 or i64; an error for any other element type.
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

/// A position counted from the front, of an index that counts from the end where it is negative.
fn position(index: i64, extent: usize) -> Result<usize, StepError> {
    let counted = if index < 0 {
        index.saturating_add(extent as i64)
    } else {
        index
    };
    usize::try_from(counted)
        .ok()
        .filter(|&position| position < extent)
        .ok_or_else(|| StepError::Model(format!("index {index} is outside an axis of {extent} positions")))
}

/// Elements from one position to the next, for each axis of a row-major tensor.
fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    strides
}

/// The numbers in their order; a NaN is larger than any other.
fn order<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    // What does not equal itself is NaN.
    #[allow(clippy::eq_op, reason = "the one test for NaN that all numbers have")]
    let nan = |x: &T| x != x;
    a.partial_cmp(b).unwrap_or_else(|| nan(a).cmp(&nan(b)))
}

/// The places in a tensor of `whole` of the elements of one of `part`, which has as many axes: the same position, but for
/// `axis`, where `indices` say it.
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

/// The first elements of the slices that `indices` name by coordinates of the axes `dims`, `count` of them each; a slice has
/// `slice` elements.
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
