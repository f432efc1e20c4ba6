//! Reads convolutions.

use super::window::{kernel_shape, list, window};
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::SmallVec;
use strait_core::ReasonCode;
use strait_core::op::{Col2Im, Conv, ConvTranspose, DeformConv};
use strait_core::shape::fixed_dims;

pub(super) const ROWS: &[Row] = &[
    Row::new("Conv", 1, conv).and(&[11, 22]),
    Row::new("ConvTranspose", 1, conv_transpose).and(&[11, 22]),
    Row::new("DeformConv", 19, deform_conv).and(&[22]),
    Row::new("Col2Im", 18, col2im),
];

fn conv(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let op = convolution(reader, 1)?;
    reader.finish(op, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])
}

/// The convolution op that the node's attributes describe. `weight` is the position of the weights.
pub(super) fn convolution(reader: &mut OperatorReader<'_, '_>, weight: usize) -> Result<Conv, Refusal> {
    let kernel = kernel(reader, weight)?;
    let (window, _) = window(reader, &kernel)?;
    Ok(window.convolution(groups(reader, "group")?))
}

/// The kernel size, taken from the spatial extents of the weights.
fn kernel(reader: &mut OperatorReader<'_, '_>, weight: usize) -> Result<SmallVec<[u64; 4]>, Refusal> {
    let weight = reader.ty(weight)?.shape;
    let kernel = fixed_dims(weight.get(2..).unwrap_or_default())
        .ok_or_else(|| Refusal::invalid(ReasonCode::ConvWeight, "the weight has a symbolic dimension"))?;
    if kernel_shape(reader)?.is_some_and(|declared| declared != kernel.as_slice()) {
        return Err(Refusal::invalid(
            ReasonCode::ConvWeight,
            format!("`kernel_shape` is not that of the weight, {kernel:?}"),
        ));
    }
    Ok(kernel)
}

/// The number of groups, or 1 if the attribute is absent.
fn groups(reader: &mut OperatorReader<'_, '_>, key: &'static str) -> Result<u32, Refusal> {
    let groups = reader.int(key)?.unwrap_or(1);
    u32::try_from(groups).map_err(|_| Refusal::invalid(ReasonCode::ConvChannels, format!("`{key}` is {groups}")))
}

/// Reads ConvTranspose. `output_shape` determines how much of the output is cut off. So does `auto_pad`: with it, the
/// output is `stride` times as large as the input. If the output has to be larger than what the convolution gives, the
/// rest is padding at the end.
fn conv_transpose(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let kernel = kernel(reader, 1)?;
    let spatial = kernel.len();
    let stride: SmallVec<[u32; 2]> = list(reader, "strides", spatial, 1)?;
    let dilation: SmallVec<[u32; 2]> = list(reader, "dilations", spatial, 1)?;
    let explicit: SmallVec<[u32; 4]> = list(reader, "pads", 2 * spatial, 0)?;
    let mut op = ConvTranspose {
        pad: explicit,
        output_padding: list(reader, "output_padding", spatial, 0)?,
        groups: groups(reader, "group")?,
        stride,
        dilation,
    };
    let mode = reader.text("auto_pad", "NOTSET")?;
    let shape = reader.ty(0)?.shape;
    let same = match mode {
        "SAME_UPPER" | "SAME_LOWER" => true,
        "NOTSET" | "VALID" | "" => false,
        other => return Err(Refusal::Unsupported(format!("`auto_pad` is {other}"))),
    };
    if mode == "VALID" {
        op.pad = SmallVec::from_elem(0, 2 * spatial);
    }
    let wanted = reader.ints("output_shape")?;
    if same || wanted.is_some() {
        for axis in 0..spatial {
            let Some(extent) = shape.get(axis + 2).and_then(|dim| dim.fixed()) else {
                let text = "the padding depends on a symbolic dimension; bind it to a number";
                return Err(Refusal::invalid(ReasonCode::SymbolicWindow, text));
            };
            let [stride, dilation] = [op.stride[axis], op.dilation[axis]].map(i128::from);
            let whole = stride * (i128::from(extent) - 1) + (i128::from(kernel[axis]) - 1) * dilation + 1;
            let whole = whole + i128::from(op.output_padding[axis]);
            let wanted = match wanted {
                // Some exporters also state the extents of batch and channels.
                Some(wanted) => wanted
                    .len()
                    .checked_sub(spatial)
                    .and_then(|first| wanted.get(first + axis))
                    .map(|&n| n.into()),
                None => Some(i128::from(extent) * stride),
            };
            let cut = wanted.map(|wanted| whole - wanted);
            let sides = cut.and_then(|cut| {
                let total = u32::try_from(cut.max(0)).ok()?;
                let more = u32::try_from((-cut).max(0)).ok()?;
                Some((total, op.output_padding[axis].checked_add(more)?))
            });
            let (total, more) = sides.ok_or_else(|| {
                Refusal::invalid(
                    ReasonCode::Window,
                    format!("`output_shape` does not fit axis {}", axis + 2),
                )
            })?;
            let (less, greater) = (total / 2, total - total / 2);
            let upper = mode == "SAME_UPPER";
            (op.pad[axis], op.pad[axis + spatial]) = if upper { (less, greater) } else { (greater, less) };
            op.output_padding[axis] = more;
        }
    }
    reader.finish(op, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])
}

fn deform_conv(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let kernel = kernel(reader, 1)?;
    let spatial = kernel.len();
    let op = DeformConv {
        stride: list(reader, "strides", spatial, 1)?,
        pad: list(reader, "pads", 2 * spatial, 0)?,
        dilation: list(reader, "dilations", spatial, 1)?,
        groups: groups(reader, "group")?,
        offset_groups: groups(reader, "offset_group")?,
    };
    reader.finish(op, &[0, 1, 2, 3, 4].map(Arg::Operand))
}

fn col2im(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let mut extents = |position: usize, what: &str| -> Result<SmallVec<[u32; 4]>, Refusal> {
        let list = reader.known_ints(position, what)?.unwrap_or_default();
        let extents: Result<_, _> = list.iter().map(|&extent| u32::try_from(extent)).collect();
        extents.map_err(|_| Refusal::invalid(ReasonCode::Window, format!("its {what} is {list:?}")))
    };
    let (image, block) = (extents(1, "image")?, extents(2, "block")?);
    let axes = image.len();
    let op = Col2Im {
        stride: list(reader, "strides", axes, 1)?,
        pad: list(reader, "pads", 2 * axes, 0)?,
        dilation: list(reader, "dilations", axes, 1)?,
        image,
        block,
    };
    reader.finish(op, &[Arg::Operand(0)])
}
