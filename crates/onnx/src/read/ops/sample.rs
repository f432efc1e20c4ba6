//! Samples and regions of images.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::op::{Border, GridSample, Sampling};

pub(super) const ROWS: &[Row] = &[Row::new("GridSample", 16, grid_sample)];

/// The modes have other words from operator set 20 on.
fn grid_sample(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let newer = site.opset() >= 20;
    let mode = match site.text("mode", if newer { "linear" } else { "bilinear" })? {
        "nearest" => Sampling::Nearest,
        "linear" if newer => Sampling::Linear,
        "bilinear" if !newer => Sampling::Linear,
        "cubic" if newer => Sampling::Cubic,
        "bicubic" if !newer => Sampling::Cubic,
        other => return Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    };
    let border = match site.text("padding_mode", "zeros")? {
        "zeros" => Border::Zeros,
        "border" => Border::Edge,
        "reflection" => Border::Reflection,
        other => return Err(Refusal::Unsupported(format!("`padding_mode` is {other}"))),
    };
    let align_corners = site.flag("align_corners")?;
    let op = GridSample {
        mode,
        border,
        align_corners,
    };
    site.finish(op, &[Arg::Operand(0), Arg::Operand(1)])
}
