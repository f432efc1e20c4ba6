//! Reads sliding windows: the strides, dilations and padding of convolutions and pools.

use crate::read::row::{OperatorReader, Refusal};
use smallvec::SmallVec;
use strait_core::{Dim, ReasonCode};
use strait_import::{Window, same_padding};

/// Reads the attributes of a window of extent `size` over the spatial axes of operand 0. Also returns whether `auto_pad`
/// determines the padding and, with it, the number of windows.
pub(super) fn window(reader: &mut OperatorReader<'_, '_>, size: &[u64]) -> Result<(Window, bool), Refusal> {
    let spatial = size.len();
    let stride: SmallVec<[u32; 2]> = list(reader, "strides", spatial, 1)?;
    let dilation: SmallVec<[u32; 2]> = list(reader, "dilations", spatial, 1)?;
    let explicit: SmallVec<[u32; 4]> = list(reader, "pads", 2 * spatial, 0)?;
    let mode = reader.text("auto_pad", "NOTSET")?;
    let pad = match mode {
        "NOTSET" | "" => explicit,
        "VALID" => SmallVec::from_elem(0, 2 * spatial),
        "SAME_UPPER" | "SAME_LOWER" => same(reader, size, &stride, &dilation, mode == "SAME_LOWER")?,
        other => return Err(Refusal::Unsupported(format!("`auto_pad` is {other}"))),
    };
    let window = Window { stride, dilation, pad };
    Ok((window, !matches!(mode, "NOTSET" | "")))
}

/// The attribute `kernel_shape`, which pools must have.
pub(super) fn kernel_shape(reader: &mut OperatorReader<'_, '_>) -> Result<Option<Vec<u64>>, Refusal> {
    let sizes = reader.ints("kernel_shape")?;
    let sizes: Option<Result<Vec<u64>, _>> = sizes.map(|sizes| sizes.iter().map(|&s| u64::try_from(s)).collect());
    let sizes = sizes.transpose();
    sizes.map_err(|_| Refusal::invalid(ReasonCode::Window, "`kernel_shape` has a negative extent"))
}

/// The kernel size of a pool, which has to be stated.
pub(super) fn pool_size(reader: &mut OperatorReader<'_, '_>) -> Result<Vec<u64>, Refusal> {
    kernel_shape(reader)?.ok_or_else(|| Refusal::invalid(ReasonCode::Window, "`kernel_shape` is missing"))
}

/// Converts extents to the type that pool ops have.
pub(super) fn narrow(sizes: &[u64]) -> Result<SmallVec<[u32; 2]>, Refusal> {
    let narrowed: Result<_, _> = sizes.iter().map(|&s| u32::try_from(s)).collect();
    narrowed.map_err(|_| Refusal::invalid(ReasonCode::Window, format!("the window {sizes:?} is too large")))
}

pub(super) fn list<A: smallvec::Array<Item = u32>>(
    reader: &mut OperatorReader<'_, '_>,
    key: &'static str,
    count: usize,
    default: u32,
) -> Result<SmallVec<A>, Refusal> {
    let Some(values) = reader.ints(key)? else {
        return Ok((0..count).map(|_| default).collect());
    };
    if values.len() != count {
        let text = format!("`{key}` has {} entries, {count} are needed", values.len());
        return Err(Refusal::invalid(ReasonCode::Window, text));
    }
    let narrowed: Result<_, _> = values.iter().map(|&v| u32::try_from(v)).collect();
    narrowed.map_err(|_| {
        Refusal::Unsupported(format!(
            "`{key}` is {values:?}; only what fits 32 bits without sign is read"
        ))
    })
}

/// Computes the padding with which there are ⌈extent / stride⌉ windows along each axis. If the padding of an axis is
/// odd in total, the padding at the end is larger by one, or the padding at the begin if `lower` is true.
fn same(
    reader: &mut OperatorReader<'_, '_>,
    size: &[u64],
    stride: &[u32],
    dilation: &[u32],
    lower: bool,
) -> Result<SmallVec<[u32; 4]>, Refusal> {
    let shape = reader.ty(0)?.shape;
    let mut pads: SmallVec<[u32; 4]> = SmallVec::from_elem(0, 2 * size.len());
    for axis in 0..size.len() {
        let Some(&Dim::Fixed(extent)) = shape.get(axis + 2) else {
            let text = "the padding depends on a symbolic dimension; bind it to a number";
            return Err(Refusal::invalid(ReasonCode::SymbolicWindow, text));
        };
        let total = same_padding(extent, size[axis], stride[axis], dilation[axis]);
        let misfit = || format!("the window does not fit axis {}", axis + 2);
        let total = total.ok_or_else(|| Refusal::invalid(ReasonCode::Window, misfit()))?;
        let (less, more) = (total / 2, total - total / 2);
        (pads[axis], pads[axis + size.len()]) = if lower { (more, less) } else { (less, more) };
    }
    Ok(pads)
}
