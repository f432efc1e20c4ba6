//! The constraints on an operator. Each function returns the reason why the operator breaks its constraint, or `None`.
//!
//! The numbers are those of Vela 5.2's `--supported-ops-report`, or those of Vela itself where Vela takes more than the
//! report says.

mod moves;
mod resize;
mod weights;
mod windows;

pub(super) use moves::{constant_parameters, eight_axes, gather_axis, slice_strides, small_transpose};
pub(super) use resize::{large_resize, small_resize};
pub(super) use weights::{weight_sum, weights, wide_bias};
pub(super) use windows::{average_window, pool_window, strides, transposed_shape, transposed_strides, wide_strides};

use super::site::Site;
use crate::graph::Tensor;

/// A constraint.
pub(super) type Check = fn(&Site<'_>) -> Option<String>;

/// The reason `why`, unless the constraint holds.
fn unless(holds: bool, why: impl FnOnce() -> String) -> Option<String> {
    (!holds).then(why)
}

/// Codes of 32 bits are not supported.
pub(super) fn no_32_bits(site: &Site<'_>) -> Option<String> {
    let wide = site.features.iter().find(|tensor| tensor.type_name() == "INT32");
    wide.map(|tensor| format!("`{}` has 32 bits", tensor.name))
}

/// Operand and result have the same type, which is one of `types`.
fn same_type(site: &Site<'_>, types: &[&str]) -> Option<String> {
    let [x, y] = [site.input(0)?, site.output()?].map(Tensor::type_name);
    unless(x == y && types.contains(&x), || format!("{x} to {y} is not supported"))
}

pub(super) fn int8_only(site: &Site<'_>) -> Option<String> {
    same_type(site, &["INT8"])
}

pub(super) fn int8_or_uint8(site: &Site<'_>) -> Option<String> {
    same_type(site, &["INT8", "UINT8"])
}

pub(super) fn int8_or_int16(site: &Site<'_>) -> Option<String> {
    same_type(site, &["INT8", "INT16"])
}

/// The operand has 8 or 16 bits and a sign.
pub(super) fn operand_int8_or_int16(site: &Site<'_>) -> Option<String> {
    let x = site.input(0)?.type_name();
    unless(matches!(x, "INT8" | "INT16"), || {
        format!("an operand of {x} is not supported")
    })
}

/// A product of two activations has operands of int8, and at most 65536 channels and summands.
pub(super) fn matmul(site: &Site<'_>) -> Option<String> {
    let (x, y) = (site.input(0)?, site.output()?);
    unless(x.type_name() == "INT8", || {
        format!("operands of {} are not supported", x.type_name())
    })
    .or_else(|| {
        let [_, _, summands] = x.image();
        let [_, _, channels] = y.image();
        unless(summands <= 1 << 16 && channels <= 1 << 16, || {
            format!("it has {summands} summands and {channels} channels")
        })
    })
}

/// Both operands and the result have the same grid.
pub(super) fn same_grids(site: &Site<'_>) -> Option<String> {
    let y = site.output()?;
    let other = site.inputs.iter().flatten().find(|x| x.grid != y.grid)?;
    Some(format!(
        "`{}` has another scale or zero point than the result",
        other.name
    ))
}

/// The reduced axes and the number of reduced elements of a mean.
pub(super) fn mean(site: &Site<'_>) -> Option<String> {
    let (x, axes) = (site.input(0)?, site.input(1)?);
    let extents = x.extents();
    let Some(axes) = axes.ints() else {
        return Some("its axes are not constant".into());
    };
    let rank = extents.len() as i64;
    let axes: Vec<usize> = axes
        .iter()
        .filter_map(|&axis| usize::try_from(i64::from(axis).rem_euclid(rank.max(1))).ok())
        .collect();
    let most = match x.type_name() {
        "INT8" => 1 << 24,
        "UINT8" => 1 << 23,
        "INT16" => 1 << 16,
        other => return Some(format!("an operand of {other} is not supported")),
    };
    let reduced: Vec<i64> = axes.iter().filter_map(|&axis| extents.get(axis).copied()).collect();
    let elements = product(&reduced);
    let batch = if rank == 4 { extents[0] } else { 1 };
    let image = x.image();
    let over_depth = axes.contains(&(extents.len().saturating_sub(1)));
    unless(batch == 1, || format!("its batch is {batch}"))
        .or_else(|| {
            unless(elements <= most, || {
                format!("it reduces {elements} elements, more than {most}")
            })
        })
        .or_else(|| {
            unless(reduced.iter().all(|&extent| extent <= 4096), || {
                "a reduced axis has more than 4096 elements".into()
            })
        })
        .or_else(|| {
            unless(!over_depth || image.contains(&1), || {
                "it reduces channels of an image".into()
            })
        })
}

/// An image has at most 65536 positions.
pub(super) fn softmax_positions(site: &Site<'_>) -> Option<String> {
    let [height, width, _] = site.input(0)?.image();
    unless(height * width <= 65536, || {
        format!("its operand has {height} by {width} positions")
    })
}

/// An arg-max is along the channels, of which there are at most 127.
pub(super) fn arg_max(site: &Site<'_>) -> Option<String> {
    let (x, axis) = (site.input(0)?, site.input(1)?.ints()?);
    let (rank, axis) = (x.extents().len() as i32, axis.first().copied()?);
    let [_, _, channels] = x.image();
    unless(axis == -1 || axis == rank - 1, || {
        "it is not along the last axis".into()
    })
    .or_else(|| unless(channels <= 127, || format!("it has {channels} channels, more than 127")))
}

/// The product of extents; the largest number if it is larger.
fn product(extents: &[i64]) -> i64 {
    extents
        .iter()
        .fold(1, |product: i64, extent| product.saturating_mul(*extent))
}
