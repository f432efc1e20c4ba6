//! Reads convolutions. Filters are [kernel…, in, out] in TensorFlow, and [out, in, kernel…] in the IR.

use smallvec::SmallVec;
use strait_core::op::ConvTranspose;
use strait_core::shape::fixed_dims;
use strait_core::{Dim, ReasonCode};
use strait_import::{Arg, Refusal};

use super::Row;
use super::layout::{Layout, finish, layout, to_first};
use super::window::{same, spatial, window};
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("Conv2D", |reader| convolution(reader, 2)),
    ("Conv3D", |reader| convolution(reader, 3)),
    ("DepthwiseConv2dNative", depthwise),
    ("Conv2DBackpropInput", |reader| transposed(reader, 2)),
    ("Conv3DBackpropInputV2", |reader| transposed(reader, 3)),
];

/// The extents of the filter, which is operand 1.
fn filter(reader: &mut OperatorReader<'_, '_>, axes: usize) -> Result<SmallVec<[u64; 4]>, Refusal> {
    let shape = reader.ty(1)?.shape;
    let wrong = || Refusal::invalid(ReasonCode::ConvWeight, format!("the filter has the shape {shape:?}"));
    let extents = fixed_dims(&shape).ok_or_else(wrong)?;
    match extents.len() == axes + 2 {
        true => Ok(extents.iter().copied().collect()),
        false => Err(wrong()),
    }
}

/// The permutation that moves the last two axes of a filter to the front and swaps them.
fn turned(axes: usize) -> Vec<u32> {
    let kernel = 0..axes;
    [axes + 1, axes]
        .into_iter()
        .chain(kernel)
        .map(|axis| axis as u32)
        .collect()
}

/// The number of channels of an image.
fn channels(reader: &mut OperatorReader<'_, '_>, layout: Layout, operand: usize) -> Result<u64, Refusal> {
    let rank = reader.rank(operand)?;
    let channels = reader.extent(&Arg::Operand(operand), layout.channels(rank) as i64)?;
    Ok(channels.unsigned_abs())
}

fn whole(channels: u64, part: u64) -> Result<u32, Refusal> {
    let groups = channels
        .checked_div(part)
        .filter(|groups| groups.checked_mul(part) == Some(channels));
    groups.and_then(|groups| u32::try_from(groups).ok()).ok_or_else(|| {
        let text = format!("{channels} channels for a filter of {part}");
        Refusal::invalid(ReasonCode::ConvChannels, text)
    })
}

fn convolution(reader: &mut OperatorReader<'_, '_>, axes: usize) -> Result<(), Refusal> {
    reader.ignore(&["use_cudnn_on_gpu"]);
    let layout = layout(reader)?;
    let filter = filter(reader, axes)?;
    let window = window(reader, layout, &filter[..axes])?;
    let groups = whole(channels(reader, layout, 0)?, filter[axes])?;
    let weight = reader.transposed(&Arg::Operand(1), &turned(axes))?;
    let x = to_first(reader, layout, Arg::Operand(0))?;
    finish(reader, layout, window.convolution(groups), &[x, weight])
}

/// Reads a depthwise convolution. The filter is [kernel…, channels, multiplier]: `multiplier` output channels are
/// computed from each input channel.
fn depthwise(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let layout = layout(reader)?;
    let filter = filter(reader, 2)?;
    let window = window(reader, layout, &filter[..2])?;
    let groups = whole(channels(reader, layout, 0)?, 1)?;
    let extent = |extent: u64| i64::try_from(extent).unwrap_or(i64::MAX);
    let [rows, columns, depth, multiplier] = [0, 1, 2, 3].map(|axis| extent(filter[axis]));
    if depth != i64::from(groups) {
        let text = format!("{groups} channels for a filter of {depth}");
        return Err(Refusal::invalid(ReasonCode::ConvChannels, text));
    }
    let weight = reader.transposed(&Arg::Operand(1), &[2, 3, 0, 1])?;
    let weight = reader.reshaped(&weight, &[depth.saturating_mul(multiplier), 1, rows, columns])?;
    let x = to_first(reader, layout, Arg::Operand(0))?;
    finish(reader, layout, window.convolution(groups), &[x, weight])
}

/// Reads the gradient of a convolution with respect to its input, which is a transposed convolution. Operand 0 has the
/// extents of the result. The padding of the forward convolution is cut off from the result, and positions that no
/// window of the forward convolution reaches are added at its end.
fn transposed(reader: &mut OperatorReader<'_, '_>, axes: usize) -> Result<(), Refusal> {
    reader.ignore(&["use_cudnn_on_gpu"]);
    let layout = layout(reader)?;
    let filter = filter(reader, axes)?;
    let wanted = match reader.late_list(0)? {
        Some(list) => list,
        None => reader.known_ints(0, "shape")?.unwrap_or_default(),
    };
    let shape = reader.ty(2)?.shape;
    if wanted.len() != axes + 2 || shape.len() != axes + 2 {
        let text = format!("a result of shape {wanted:?} from an operand of rank {}", shape.len());
        return Err(Refusal::invalid(ReasonCode::ConvRank, text));
    }
    let ones = || SmallVec::from_elem(1, axes);
    let stride: SmallVec<[u32; 2]> = spatial(reader, "strides", layout, axes)?.unwrap_or_else(ones);
    let dilation = spatial(reader, "dilations", layout, axes)?.unwrap_or_else(ones);
    let explicit = reader.ints("explicit_paddings")?.unwrap_or_default();
    let padding = reader.text("padding", "")?;
    if padding == "EXPLICIT" || !explicit.is_empty() {
        return Err(Refusal::unsupported("`padding` is `EXPLICIT`"));
    }
    let mut pad: SmallVec<[u32; 4]> = SmallVec::from_elem(0, 2 * axes);
    let mut more: SmallVec<[u32; 2]> = SmallVec::from_elem(0, axes);
    for axis in 0..axes {
        let place = layout.spatial(axis);
        let result = wanted.get(place).and_then(|&extent| u64::try_from(extent).ok());
        let (Some(result), Some(Dim::Fixed(extent))) = (result, shape.get(place)) else {
            let text = "an extent of the image is symbolic; bind it to a number";
            return Err(Refusal::invalid(ReasonCode::SymbolicWindow, text));
        };
        if padding == "SAME" {
            let result = Dim::Fixed(result);
            (pad[axis], pad[axis + axes]) = same(Some(&result), filter[axis], stride[axis], dilation[axis])?;
        }
        let [stride, dilation] = [stride[axis], dilation[axis]].map(i128::from);
        let reach = (i128::from(filter[axis]) - 1) * dilation + 1;
        let made = stride * (i128::from(*extent) - 1) + reach - i128::from(pad[axis]) - i128::from(pad[axis + axes]);
        let missing = u32::try_from(i128::from(result) - made)
            .ok()
            .filter(|&n| i128::from(n) < stride.max(1));
        more[axis] = missing.ok_or_else(|| {
            let text = format!("a result of shape {wanted:?} from an operand of shape {shape:?}");
            Refusal::invalid(ReasonCode::Window, text)
        })?;
    }
    let groups = whole(channels(reader, layout, 2)?, filter[axes + 1])?;
    let op = ConvTranspose {
        stride,
        pad,
        dilation,
        output_padding: more,
        groups,
    };
    let weight = reader.transposed(&Arg::Operand(1), &turned(axes))?;
    let x = to_first(reader, layout, Arg::Operand(2))?;
    finish(reader, layout, op, &[x, weight])
}
