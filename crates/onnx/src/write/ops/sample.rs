//! Writes operators that sample images, whose attributes have other names in ONNX.

use super::At;
use crate::error::WriteError;
use crate::write::attributes::{float, int, ints, text};
use crate::write::emitter::Emitter;
use strait_core::op::{Border, Col2Im, GridSample, RoiAlign, RoiMode, Sampling};

/// A grid sample. Up to operator set 19, the modes have other names and only images are supported.
pub(super) fn grid_sample(emitter: &mut Emitter<'_>, at: At<'_>, op: &GridSample) -> Result<(), WriteError> {
    let (older, newer) = match op.mode {
        Sampling::Nearest => ("nearest", "nearest"),
        Sampling::Linear => ("bilinear", "linear"),
        Sampling::Cubic => ("bicubic", "cubic"),
    };
    let border = match op.border {
        Border::Zeros => "zeros",
        Border::Edge => "border",
        Border::Reflection => "reflection",
    };
    let attributes = vec![
        text("mode", if emitter.opset < 20 { older } else { newer }),
        text("padding_mode", border),
        int("align_corners", op.align_corners),
    ];
    super::with_lists(emitter, at, "GridSample", attributes, &[])
}

/// RoiAlign. In ONNX, the corners of regions and the indices of their images are separate operands.
pub(super) fn roi_align(emitter: &mut Emitter<'_>, at: At<'_>, op: &RoiAlign) -> Result<(), WriteError> {
    let mode = match op.mode {
        RoiMode::Average => "avg",
        RoiMode::Maximum => "max",
        RoiMode::Elements => return Err(at.unwritable("MaxRoiPool has the image of a region beside its corners")),
    };
    let corners = if op.half_pixel {
        "half_pixel"
    } else {
        "output_half_pixel"
    };
    let attributes = vec![
        text("mode", mode),
        text("coordinate_transformation_mode", corners),
        int("output_height", op.height),
        int("output_width", op.width),
        int("sampling_ratio", op.sampling),
        float("spatial_scale", op.scale),
    ];
    super::with_lists(emitter, at, "RoiAlign", attributes, &[])
}

pub(super) fn col2im(emitter: &mut Emitter<'_>, at: At<'_>, op: &Col2Im) -> Result<(), WriteError> {
    let attributes = vec![
        ints("strides", &op.stride),
        ints("pads", &op.pad),
        ints("dilations", &op.dilation),
    ];
    let [image, block] = [&op.image, &op.block].map(|list| list.iter().map(|&n| n.into()).collect::<Vec<i64>>());
    super::with_lists(
        emitter,
        at,
        "Col2Im",
        attributes,
        &[("image", &image), ("block", &block)],
    )
}
