//! Reads operators that sample images at grids or in regions.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{Border, Cast, GridSample, RoiAlign, RoiMode, Sampling, Squeeze};
use strait_core::{Elem, ReasonCode};

pub(super) const ROWS: &[Row] = &[
    Row::new("GridSample", 16, grid_sample).and(&[20, 22]),
    Row::new("RoiAlign", 10, roi_align).and(&[16, 22]),
    Row::new("MaxRoiPool", 1, max_roi_pool).and(&[22]),
];

/// Reads an image at the positions of a grid. From operator set 20 on, the modes have other names.
pub(super) fn grid_sample(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let newer = reader.opset() >= 20;
    let mode = match reader.text("mode", if newer { "linear" } else { "bilinear" })? {
        "nearest" => Sampling::Nearest,
        "linear" if newer => Sampling::Linear,
        "bilinear" if !newer => Sampling::Linear,
        "cubic" if newer => Sampling::Cubic,
        "bicubic" if !newer => Sampling::Cubic,
        other => return Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    };
    let border = reader.word("padding_mode", "zeros", Border::parse)?;
    let align_corners = reader.flag("align_corners")?;
    let op = GridSample {
        mode,
        border,
        align_corners,
    };
    reader.finish(op, &[Arg::Operand(0), Arg::Operand(1)])
}

/// Reads RoiAlign. From operator set 16 on, corners are shifted by half a pixel, unless an attribute says that they are
/// not.
fn roi_align(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let half_pixel = match reader.opset() {
        ..16 => false,
        _ => match reader.text("coordinate_transformation_mode", "half_pixel")? {
            "half_pixel" => true,
            "output_half_pixel" => false,
            other => {
                return Err(Refusal::Unsupported(format!(
                    "`coordinate_transformation_mode` is {other}"
                )));
            }
        },
    };
    let mode = match reader.text("mode", "avg")? {
        "avg" => RoiMode::Average,
        "max" => RoiMode::Maximum,
        other => return Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    };
    let op = RoiAlign {
        mode,
        height: count(reader.int("output_height")?.unwrap_or(1))?,
        width: count(reader.int("output_width")?.unwrap_or(1))?,
        sampling: count(reader.int("sampling_ratio")?.unwrap_or(0))?,
        scale: reader.float("spatial_scale")?.unwrap_or(1.0),
        half_pixel,
    };
    let images = reader.indices(2)?;
    reader.finish(op, &[Arg::Operand(0), Arg::Operand(1), images])
}

fn count(number: i64) -> Result<u32, Refusal> {
    u32::try_from(number).map_err(|_| Refusal::invalid(ReasonCode::Operands, format!("{number} bins or samples")))
}

/// Reads MaxRoiPool. For each region, an operand has first the index of its image and then its corners.
fn max_roi_pool(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let &[height, width] = reader.ints("pooled_shape")?.unwrap_or_default() else {
        return Err(Refusal::invalid(
            ReasonCode::Operands,
            "`pooled_shape` is not a height and a width",
        ));
    };
    let op = RoiAlign {
        mode: RoiMode::Elements,
        height: count(height)?,
        width: count(width)?,
        sampling: 0,
        scale: reader.float("spatial_scale")?.unwrap_or(1.0),
        half_pixel: false,
    };
    let (images, corners) = (
        reader.part(&Arg::Operand(1), 1, 0, 1)?,
        reader.part(&Arg::Operand(1), 1, 1, 5)?,
    );
    let axes = [1].as_slice().into();
    let images = reader.push(Squeeze { axes }, &[images])?;
    let images = reader.push(Cast { to: Elem::I64 }, &[images])?;
    reader.finish(op, &[Arg::Operand(0), corners, images])
}
