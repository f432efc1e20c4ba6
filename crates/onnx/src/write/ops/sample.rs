//! Operators of resampling and of windows whose attributes have other words than ours.

use super::At;
use crate::error::WriteError;
use crate::write::attributes::{float, int, ints, text};
use crate::write::emitter::Emitter;
use strait_core::op::{Border, Col2Im, Coordinate, GridSample, Resize, ResizeMode, RoiAlign, RoiMode, Sampling};

/// Scales or sizes are operands behind that of a region.
pub(super) fn resize(emitter: &mut Emitter<'_>, at: At<'_>, resize: &Resize) -> Result<(), WriteError> {
    if !resize.sizes.is_empty() && !resize.scales.is_empty() {
        return Err(at.unwritable("scales and sizes that differ from them are not a Resize in ONNX"));
    }
    let mut attributes = vec![
        text("mode", resize.mode.name()),
        text("coordinate_transformation_mode", resize.coordinate.name()),
        text("nearest_mode", resize.nearest.name()),
    ];
    if resize.mode == ResizeMode::Cubic {
        attributes.push(float("cubic_coeff_a", resize.cubic.0));
    }
    if resize.exclude_outside.0 {
        attributes.push(int("exclude_outside", true));
    }
    if resize.antialias.0 {
        attributes.push(int("antialias", true));
    }
    let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
    let region = match resize.region.0.split_last() {
        Some((&beside, region)) if resize.coordinate == Coordinate::Crop => {
            attributes.push(float("extrapolation_value", beside));
            floats(emitter, at, "roi", region)?
        }
        _ => String::new(),
    };
    // A list that a run finds is an operand here, too.
    let late = inputs.get(1).cloned();
    inputs.truncate(1);
    inputs.push(region);
    if resize.sizes.is_empty() {
        inputs.push(match late {
            Some(list) => list,
            None => floats(emitter, at, "scales", &resize.scales)?,
        });
    } else {
        let list = late.unwrap_or_else(|| emitter.ints(&format!("{}_sizes", at.name), &resize.sizes));
        inputs.extend([String::new(), list]);
    }
    emitter.node("Resize", at.name, inputs, outputs, attributes);
    Ok(())
}

/// A constant list of floats.
fn floats(emitter: &mut Emitter<'_>, at: At<'_>, name: &str, values: &[f32]) -> Result<String, WriteError> {
    let list = strait_core::TensorData::from_values(&[values.len() as u64], values);
    let list = list.map_err(|e| at.unwritable(e.to_string()))?;
    Ok(emitter.constant(&format!("{}_{name}", at.name), &list))
}

/// The modes have other words up to operator set 19, which knows images alone.
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

/// The corners of a region are a list of their own, beside the image that it is of.
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
