//! Constraints on operators that move elements.

use super::{product, unless};
use crate::accelerator::site::Site;
use crate::schema::BuiltinOptions;

/// The parameters of the operator, all operands but the first, are constants.
pub(in crate::accelerator) fn constant_parameters(site: &Site<'_>) -> Option<String> {
    let mut parameters = site.inputs.iter().skip(1).flatten();
    parameters
        .find(|tensor| tensor.data.is_none())
        .map(|tensor| format!("`{}` is not a constant", tensor.name))
}

/// A slice with strides has only positive strides, and strides over 1 only along height and width.
pub(in crate::accelerator) fn slice_strides(site: &Site<'_>) -> Option<String> {
    let strides = site.input(3)?.ints()?;
    let rank = strides.len();
    let is_spatial = |axis: usize| (2..=3).contains(&(rank - axis));
    let odd = |(axis, &stride): (usize, &i32)| stride < 1 || (stride > 1 && !is_spatial(axis));
    strides
        .iter()
        .enumerate()
        .any(odd)
        .then(|| format!("its strides are {strides:?}"))
}

/// As many results as the operator states.
pub(in crate::accelerator) fn gather_axis(site: &Site<'_>) -> Option<String> {
    let Some(BuiltinOptions::GatherOptions(options)) = &site.options else {
        return None;
    };
    let [axis, batch] = [options.axis(), options.batch_dims()].map(Result::unwrap_or_default);
    unless(axis == batch, || {
        format!("its axis {axis} is not the number of batch axes, {batch}")
    })
}

/// A transposition of 8- or 16-bit codes moves at most 65536 elements at once; one of 32-bit codes has at most four axes.
pub(in crate::accelerator) fn small_transpose(site: &Site<'_>) -> Option<String> {
    let (x, axes) = (site.input(0)?, site.input(1)?.ints()?);
    let extents = x.extents();
    let stays = axes
        .iter()
        .enumerate()
        .all(|(at, &axis)| usize::try_from(axis) == Ok(at));
    if x.type_name() == "INT32" {
        return small_transpose_of_32_bits(&extents, &axes);
    }
    let outer = extents.len().saturating_sub(3);
    let image_only = extents.iter().take(outer).all(|&extent| extent == 1)
        && axes
            .iter()
            .take(outer)
            .enumerate()
            .all(|(at, &axis)| usize::try_from(axis) == Ok(at));
    if stays || (image_only && extents.iter().all(|&extent| extent <= 1 << 16)) {
        return None;
    }
    let rank = extents.len();
    let pairs = (0..rank).flat_map(|a| (a + 1..rank).map(move |b| [a, b]));
    let without = |[a, b]: [usize; 2]| {
        let others = extents.iter().enumerate().filter(|(axis, _)| ![a, b].contains(axis));
        product(&others.map(|(_, extent)| *extent).collect::<Vec<_>>())
    };
    let most = pairs.map(without).max().unwrap_or(1);
    unless(most <= 1 << 16, || {
        format!("it moves {most} elements at once, more than 65536")
    })
}

/// A transposition of 32-bit codes [N, H, W, C] swaps H and W of one image, or W and C; or it moves nothing.
fn small_transpose_of_32_bits(extents: &[i64], axes: &[i32]) -> Option<String> {
    const MOST: i64 = 1 << 16;
    let Some(ones) = 4usize.checked_sub(extents.len()) else {
        return Some("it has more than four axes of 32 bits".into());
    };
    let full: Vec<i64> = std::iter::repeat_n(1, ones).chain(extents.iter().copied()).collect();
    let moved = axes.iter().map(|&axis| i64::from(axis) + ones as i64);
    let order: Vec<i64> = (0..ones as i64).chain(moved).collect();
    let fits = match (order.as_slice(), full.as_slice()) {
        ([0, 1, 2, 3], &[.., c]) => c <= MOST,
        ([0, 2, 1, 3], &[n, h, w, c]) => n == 1 && h <= MOST && w <= MOST && c <= MOST / 4,
        ([0, 1, 3, 2], &[n, h, w, c]) => n * h <= MOST && w <= MOST && c <= MOST,
        _ => false,
    };
    unless(fits, || format!("it moves codes of 32 bits in the order {axes:?}"))
}

/// A tensor has at most eight axes.
pub(in crate::accelerator) fn eight_axes(site: &Site<'_>) -> Option<String> {
    let rank = site.input(0)?.extents().len();
    unless(rank <= 8, || format!("its operand has {rank} axes"))
}
