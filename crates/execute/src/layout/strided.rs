//! Copies between strided views.

use crate::error::StepError;
use crate::tensor::Dims;
use ndarray::{ArrayViewD, ArrayViewMutD, IxDyn};

/// Row-major elements as a view.
pub(super) fn view<'a, T>(dims: &[usize], elements: &'a [T]) -> Result<ArrayViewD<'a, T>, StepError> {
    ArrayViewD::from_shape(IxDyn(dims), elements).map_err(|error| StepError::Ours(error.to_string()))
}

/// The same for writing.
pub(super) fn view_mut<'a, T>(dims: &[usize], elements: &'a mut [T]) -> Result<ArrayViewMutD<'a, T>, StepError> {
    ArrayViewMutD::from_shape(IxDyn(dims), elements).map_err(|error| StepError::Ours(error.to_string()))
}

/// Extents around an axis: the product of those before it, its own, and the product of those behind it.
pub(crate) fn around(dims: &[usize], axis: usize) -> [usize; 3] {
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    [
        product(&dims[..axis.min(dims.len())]),
        dims.get(axis).copied().unwrap_or(1),
        product(dims.get(axis + 1..).unwrap_or(&[])),
    ]
}

/// An axis counted from the front; `-1` is the last.
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize, StepError> {
    let counted = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(counted)
        .ok()
        .filter(|&a| a < rank)
        .ok_or_else(|| StepError::Model(format!("axis {axis} is outside rank {rank}")))
}

/// For each position along one axis of the result, the position in the operand.
pub(crate) type Picks = Vec<usize>;

/// Copies `input` to `out` of extents `dims`, taking position `picks[axis][i]` of the operand for position `i` of each
/// axis that has picks, and the same position elsewhere. Axes without picks at the end are copied as a whole.
pub(super) fn pick<T: Copy>(
    input_dims: &[usize],
    picks: &[Option<Picks>],
    input: &[T],
    out: &mut [T],
) -> Result<(), StepError> {
    let last = picks.iter().rposition(Option::is_some);
    let Some(last) = last else {
        out.copy_from_slice(input);
        return Ok(());
    };
    let inner = input_dims[last + 1..].iter().product::<usize>();
    let outer: Dims = input_dims[..=last].into();
    fill(&outer, picks, inner, input, out);
    Ok(())
}

fn fill<T: Copy>(dims: &[usize], picks: &[Option<Picks>], inner: usize, input: &[T], out: &mut [T]) {
    let [extent, rest @ ..] = dims else { return };
    let block = rest.iter().product::<usize>() * inner;
    let positions = picks[0].as_ref().map_or(*extent, Vec::len);
    if positions == 0 || out.is_empty() {
        return;
    }
    let out_block = out.len() / positions;
    for (position, out) in out.chunks_exact_mut(out_block.max(1)).enumerate() {
        let from = picks[0].as_ref().map_or(position, |p| p[position]);
        let input = &input[from * block..(from + 1) * block];
        if rest.is_empty() {
            out.copy_from_slice(input);
        } else {
            fill(rest, &picks[1..], inner, input, out);
        }
    }
}
