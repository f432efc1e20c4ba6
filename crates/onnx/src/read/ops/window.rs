//! Reads sliding windows: the strides, dilations and padding of convolutions and pools.

use crate::read::row::{OperatorReader, Refusal};
use smallvec::SmallVec;
use strait_core::{Dim, ReasonCode};

/// The attributes of a window, in the types that the ops of `strait-core` take.
pub(super) struct Window {
    pub(super) stride: SmallVec<[u32; 2]>,
    pub(super) dilation: SmallVec<[u32; 2]>,
    /// The padding: first the padding before each axis, then the padding after each axis.
    pub(super) pad: SmallVec<[u32; 4]>,
    /// True if `auto_pad` determines the padding and, with it, the number of windows.
    pub(super) is_auto: bool,
}

/// Reads the attributes of a window of extent `size` over the spatial axes of operand 0.
pub(super) fn window(reader: &mut OperatorReader<'_, '_>, size: &[u64]) -> Result<Window, Refusal> {
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
    Ok(Window {
        stride,
        dilation,
        pad,
        is_auto: !matches!(mode, "NOTSET" | ""),
    })
}

/// The attribute `kernel_shape`, which pools must have.
pub(super) fn kernel_shape(reader: &mut OperatorReader<'_, '_>) -> Result<Option<Vec<u64>>, Refusal> {
    let Some(sizes) = reader.ints("kernel_shape")? else {
        return Ok(None);
    };
    let sizes: Result<Vec<u64>, _> = sizes.iter().map(|&s| u64::try_from(s)).collect();
    let sizes = sizes.map_err(|_| Refusal::invalid(ReasonCode::Window, "`kernel_shape` has a negative extent"))?;
    Ok(Some(sizes))
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

/// The padding that gives ⌈extent / stride⌉ windows along each axis. If the padding of an axis is odd, the end gets one
/// more than the begin, or the begin one more than the end if `lower` is true.
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
        let total = || {
            let windows = extent.div_ceil(Some(stride[axis]).filter(|&s| s > 0)?.into());
            let reach = size[axis]
                .checked_sub(1)?
                .checked_mul(dilation[axis].into())?
                .checked_add(1)?;
            let needed = windows
                .saturating_sub(1)
                .checked_mul(stride[axis].into())?
                .checked_add(reach)?;
            u32::try_from(needed.saturating_sub(extent)).ok()
        };
        let total = total().ok_or_else(|| {
            Refusal::invalid(ReasonCode::Window, format!("the window does not fit axis {}", axis + 2))
        })?;
        let (less, more) = (total / 2, total - total / 2);
        (pads[axis], pads[axis + size.len()]) = if lower { (more, less) } else { (less, more) };
    }
    Ok(pads)
}
