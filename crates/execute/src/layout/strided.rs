//! Copies between arrays with strides.

use crate::prelude::*;
use crate::tensor::Dims;
use smallvec::SmallVec;

/// Returns the strides, in elements, of a row-major tensor with these extents.
pub(crate) fn strides(dims: &[usize]) -> Dims {
    let mut strides: Dims = (dims.iter().rev())
        .scan(1, |next, &extent| Some(std::mem::replace(next, *next * extent)))
        .collect();
    strides.reverse();
    strides
}

/// Returns the strides for reading an operand with extents `dims` as if it had the extents `result`, by NumPy's
/// broadcasting. The stride is 0 along an axis where an extent of 1 is repeated.
pub(super) fn repeated(dims: &[usize], result: &[usize]) -> Result<Dims, StepError> {
    let apart = || StepError::Ours(format!("{dims:?} is not repeated to {result:?}"));
    let behind = result.len().checked_sub(dims.len()).ok_or_else(apart)?;
    let own = strides(dims);
    let stride = |(axis, &wide): (usize, &usize)| match axis.checked_sub(behind).map(|axis| (dims[axis], own[axis])) {
        Some((extent, stride)) if extent == wide => Ok(stride),
        None | Some((1, _)) => Ok(0),
        Some(_) => Err(apart()),
    };
    result.iter().enumerate().map(stride).collect()
}

/// Calls `row(length, starts, strides)` for each innermost row of a box with extents `dims`. The box lies in several
/// arrays, each with its own start index and strides. Axes that are contiguous in all arrays are first merged.
pub(super) fn rows<const N: usize>(
    dims: &[usize],
    strides: [&[usize]; N],
    starts: [usize; N],
    mut row: impl FnMut(usize, [usize; N], [usize; N]),
) {
    if let Some(axes) = merged(dims, strides) {
        walk(&axes, starts, &mut row);
    }
}

/// The axes of a box, each with its extent and its strides, after axes that are contiguous in all arrays were merged. `None` if
/// the box is empty.
fn merged<const N: usize>(dims: &[usize], strides: [&[usize]; N]) -> Option<SmallVec<[(usize, [usize; N]); 4]>> {
    if dims.contains(&0) {
        return None;
    }
    let mut axes: SmallVec<[(usize, [usize; N]); 4]> = SmallVec::new();
    for (axis, &extent) in dims.iter().enumerate() {
        let own = strides.map(|of| of[axis]);
        match axes.last_mut() {
            _ if extent == 1 => {}
            Some((outer, steps)) if (0..N).all(|n| steps[n] == own[n] * extent) => {
                (*outer, *steps) = (*outer * extent, own);
            }
            _ => axes.push((extent, own)),
        }
    }
    Some(axes)
}

fn walk<const N: usize>(
    axes: &[(usize, [usize; N])],
    starts: [usize; N],
    row: &mut dyn FnMut(usize, [usize; N], [usize; N]),
) {
    match axes {
        [] => row(1, starts, [1; N]),
        [(length, strides)] => row(*length, starts, *strides),
        [(extent, strides), inner @ ..] => {
            for position in 0..*extent {
                walk(inner, std::array::from_fn(|n| starts[n] + position * strides[n]), row);
            }
        }
    }
}

/// Copies a box with extents `dims` from `input` to `out`. Each of them has its own start index and strides. The box
/// lies inside of both arrays; the steps have checked this.
pub(super) fn copy<T: Copy>(
    dims: &[usize],
    (input, start, strides): (&[T], usize, &[usize]),
    (out, to, out_strides): (&mut [T], usize, &[usize]),
) {
    let Some(axes) = merged(dims, [strides, out_strides]) else {
        return;
    };
    if let [outer @ .., (count, steps), (length, [1, 1])] = &axes[..] {
        walk(outer, [start, to], &mut |planes, [from, to], [step, out_step]| {
            for plane in 0..planes {
                let starts = [from + plane * step, to + plane * out_step];
                copy_runs(*count, *length, (input, out), starts, *steps);
            }
        });
        return;
    }
    walk(&axes, [start, to], &mut |length, [from, to], strides| match strides {
        [1, 1] => out[to..to + length].copy_from_slice(&input[from..from + length]),
        [0, 1] => out[to..to + length].fill(input[from]),
        [step, out_step] => (0..length).for_each(|i| out[to + i * out_step] = input[from + i * step]),
    });
}

/// Copies `count` runs of neighbouring elements. Both arrays have the start and the distance of their runs.
fn copy_runs<T: Copy>(
    count: usize,
    length: usize,
    (input, out): (&[T], &mut [T]),
    [from, to]: [usize; 2],
    [step, out_step]: [usize; 2],
) {
    // Runs of channels are often as long as a few vectors. It takes less time to copy them than to call a function for it.
    macro_rules! runs {
        ($($n:literal)*) => {
            match length {
                $($n => for run in 0..count {
                    let from = input[from + run * step..].first_chunk::<$n>();
                    let to = out[to + run * out_step..].first_chunk_mut::<$n>();
                    if let (Some(to), Some(from)) = (to, from) {
                        *to = *from;
                    }
                },)*
                _ => for run in 0..count {
                    let from = &input[from + run * step..][..length];
                    out[to + run * out_step..][..length].copy_from_slice(from);
                },
            }
        };
    }
    runs!(8 16 24 32 48 64 96 128);
}

/// Returns the product of the extents before an axis, the extent of the axis, and the product of the extents after it.
pub(crate) fn around(dims: &[usize], axis: usize) -> [usize; 3] {
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    [
        product(&dims[..axis.min(dims.len())]),
        dims.get(axis).copied().unwrap_or(1),
        product(dims.get(axis + 1..).unwrap_or(&[])),
    ]
}

/// Returns the position of an axis from the front. A negative `axis` counts from the end: −1 is the last axis.
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize, StepError> {
    let counted = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(counted)
        .ok()
        .filter(|&a| a < rank)
        .ok_or_else(|| StepError::Model(format!("axis {axis} is outside rank {rank}")))
}

/// Returns the position of an index from the front. A negative index counts from the end.
pub(crate) fn position(index: i64, extent: usize) -> Result<usize, StepError> {
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

/// For each position along one axis of the result, the position in the operand.
pub(crate) type Picks = Vec<usize>;

/// Copies `input` to `out`, which has extents `dims`. Along an axis with picks, position `i` of the result comes from
/// position `picks[axis][i]` of the operand. Along any other axis, positions are the same. Trailing axes without picks
/// are copied as a whole.
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
    if rest.is_empty()
        && let Some([first, ..]) = picks[0].as_deref()
        && picks[0]
            .iter()
            .flatten()
            .zip(*first..)
            .all(|(&pick, next)| pick == next)
    {
        // The positions are neighbours, so their elements are copied together.
        out.copy_from_slice(&input[first * block..][..out.len()]);
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
