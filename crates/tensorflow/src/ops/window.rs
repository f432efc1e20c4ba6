//! Reads the strides, dilations and padding of windows that slide over an image.

use smallvec::SmallVec;
use strait_core::{Dim, ReasonCode};
use strait_import::{Refusal, Window, same_padding};

use super::layout::Layout;
use crate::operator_reader::OperatorReader;

/// The entries of a list attribute that belong to image axes. The entries for batch and channels have to be 1.
pub(super) fn spatial(
    reader: &mut OperatorReader<'_, '_>,
    key: &'static str,
    layout: Layout,
    axes: usize,
) -> Result<Option<SmallVec<[u32; 2]>>, Refusal> {
    let Some(list) = reader.ints(key)? else {
        return Ok(None);
    };
    of_image(key, list, layout, axes).map(Some)
}

/// Like [`spatial`], for a list that is not an attribute of the node.
pub(super) fn of_image(key: &str, list: &[i64], layout: Layout, axes: usize) -> Result<SmallVec<[u32; 2]>, Refusal> {
    let is_one = |axis: usize| list.get(axis) == Some(&1);
    if list.len() != axes + 2 {
        let text = format!("`{key}` has {} entries, {} are needed", list.len(), axes + 2);
        return Err(Refusal::invalid(ReasonCode::Window, text));
    }
    if !is_one(0) || !is_one(layout.channels(axes + 2)) {
        let text = format!("`{key}` is {list:?}: over batches or channels windows are not read");
        return Err(Refusal::Unsupported(text));
    }
    let number = |axis: usize| list.get(layout.spatial(axis)).and_then(|&n| u32::try_from(n).ok());
    let numbers: Option<SmallVec<[u32; 2]>> = (0..axes).map(number).collect();
    numbers.ok_or_else(|| Refusal::invalid(ReasonCode::Window, format!("`{key}` is {list:?}")))
}

/// The strides, dilations and padding of a window of this size over operand 0.
pub(super) fn window(reader: &mut OperatorReader<'_, '_>, layout: Layout, size: &[u64]) -> Result<Window, Refusal> {
    let axes = size.len();
    let ones = || SmallVec::from_elem(1, axes);
    let stride = spatial(reader, "strides", layout, axes)?.unwrap_or_else(ones);
    let dilation = spatial(reader, "dilations", layout, axes)?.unwrap_or_else(ones);
    let shape = reader.ty(0)?.shape;
    if shape.len() != axes + 2 {
        let text = format!("the operand has rank {}, not {}", shape.len(), axes + 2);
        return Err(Refusal::invalid(ReasonCode::ConvRank, text));
    }
    let explicit = reader.ints("explicit_paddings")?.unwrap_or_default();
    let pad = match reader.text("padding", "")? {
        "VALID" => SmallVec::from_elem(0, 2 * axes),
        "SAME" => {
            let mut pad = SmallVec::from_elem(0, 2 * axes);
            for axis in 0..axes {
                let extent = shape.get(layout.spatial(axis));
                (pad[axis], pad[axis + axes]) = same(extent, size[axis], stride[axis], dilation[axis])?;
            }
            pad
        }
        "EXPLICIT" => given(explicit, layout, axes)?,
        other => return Err(Refusal::Unsupported(format!("`padding` is `{other}`"))),
    };
    Ok(Window { stride, dilation, pad })
}

/// The padding from an explicit list, which has the amounts before and after each axis.
fn given(list: &[i64], layout: Layout, axes: usize) -> Result<SmallVec<[u32; 4]>, Refusal> {
    let wrong = || Refusal::invalid(ReasonCode::Window, format!("`explicit_paddings` is {list:?}"));
    let channels = layout.channels(axes + 2);
    let beside = [0, 1, 2 * channels, 2 * channels + 1];
    if list.len() != 2 * (axes + 2) || beside.iter().any(|&place| list.get(place) != Some(&0)) {
        return Err(wrong());
    }
    let at = |side: usize| (0..axes).map(move |axis| 2 * layout.spatial(axis) + side);
    let numbers = at(0).chain(at(1)).map(|place| list.get(place).copied());
    let numbers: Option<SmallVec<[u32; 4]>> = numbers.map(|n| u32::try_from(n?).ok()).collect();
    numbers.ok_or_else(wrong)
}

/// Returns the padding before an axis and the padding after it, with which there are ⌈extent / stride⌉ windows. If the
/// sum of the two is odd, the padding after the axis is larger by one.
pub(super) fn same(extent: Option<&Dim>, size: u64, stride: u32, dilation: u32) -> Result<(u32, u32), Refusal> {
    let wrong = || Refusal::invalid(ReasonCode::Window, "the window does not fit its operand");
    let extent = match extent {
        // With a stride of 1 there are as many windows as elements, so the padding does not depend on the extent.
        Some(_) if stride == 1 => 1,
        Some(Dim::Fixed(extent)) => *extent,
        Some(Dim::Named(_)) => {
            let text = "the padding depends on a symbolic dimension; bind it to a number";
            return Err(Refusal::invalid(ReasonCode::SymbolicWindow, text));
        }
        None => return Err(wrong()),
    };
    let total = same_padding(extent, size, stride, dilation).ok_or_else(wrong)?;
    Ok((total / 2, total - total / 2))
}
