//! Resampling.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::ReasonCode;
use strait_core::op::{Coordinate, Nearest, Resize, ResizeMode};
use strait_core::{Dim, Shape};

pub(super) const ROWS: &[Row] = &[
    Row::new("Resize", 10, resize),
    Row::new("Upsample", 7, upsample).until(9),
];

/// Upsample, and Resize of operator set 10, leave the coordinates open. ONNX Runtime takes x/s for both modes, and for the
/// nearest element rounds down where it enlarges and up where it shrinks.
fn upsample(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let scales = match site.opset() {
        ..9 => site.floats("scales")?.map(<[f32]>::to_vec),
        _ => known_floats(site, 1)?,
    };
    let scales = scales.ok_or_else(|| Refusal::invalid(ReasonCode::Resize, "the scales are missing"))?;
    let enlarges = scales.iter().any(|&s| s > 1.0);
    if enlarges && scales.iter().any(|&s| s < 1.0) {
        return Err(Refusal::unsupported("it enlarges one axis and shrinks another"));
    }
    let op = Resize {
        mode: mode(site)?,
        coordinate: Coordinate::Asymmetric,
        nearest: if enlarges { Nearest::Floor } else { Nearest::Ceil },
        scales,
        sizes: Default::default(),
    };
    finish(site, op)
}

fn mode(site: &mut NodeReader<'_, '_>) -> Result<ResizeMode, Refusal> {
    match site.text("mode", "nearest")? {
        "nearest" => Ok(ResizeMode::Nearest),
        "linear" | "bilinear" => Ok(ResizeMode::Linear),
        other => Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    }
}

fn resize(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    if site.opset() < 11 {
        return upsample(site);
    }
    // They speak of cubic interpolation, and of cropping.
    site.ignore(&["cubic_coeff_a", "exclude_outside", "extrapolation_value"]);
    site.only("antialias", 0)?;
    let coordinate = match site.text("coordinate_transformation_mode", "half_pixel")? {
        "half_pixel" => Coordinate::HalfPixel,
        "pytorch_half_pixel" => Coordinate::PytorchHalfPixel,
        "align_corners" => Coordinate::AlignCorners,
        "asymmetric" => Coordinate::Asymmetric,
        other => {
            return Err(Refusal::Unsupported(format!(
                "`coordinate_transformation_mode` is {other}"
            )));
        }
    };
    let nearest = match site.text("nearest_mode", "round_prefer_floor")? {
        "round_prefer_floor" | "" => Nearest::RoundPreferFloor,
        "round_prefer_ceil" => Nearest::RoundPreferCeil,
        "floor" => Nearest::Floor,
        "ceil" => Nearest::Ceil,
        other => return Err(Refusal::Unsupported(format!("`nearest_mode` is {other}"))),
    };
    match site.text("keep_aspect_ratio_policy", "stretch")? {
        "stretch" => {}
        other => return Err(Refusal::Unsupported(format!("`keep_aspect_ratio_policy` is {other}"))),
    }
    let mode = mode(site)?;
    let shape = site.ty(0)?.shape;
    let axes = match site.ints("axes")? {
        None => (0..shape.len()).collect(),
        Some(axes) => positions(axes, shape.len())?,
    };
    // An operand of no elements stands for one that is left out.
    let scales = known_floats(site, 2)?.filter(|scales| !scales.is_empty());
    let sizes = site.known_ints(3, "sizes")?.filter(|sizes| !sizes.is_empty());
    let mut op = Resize {
        mode,
        coordinate,
        nearest,
        scales: Vec::new(),
        sizes: Default::default(),
    };
    match (scales, sizes) {
        (Some(scales), None) => op.scales = spread(&axes, scales, vec![1.0; shape.len()])?,
        (None, Some(sizes)) => op.sizes = spread(&axes, sizes, extents(&shape, &axes)?)?.into(),
        _ => {
            return Err(Refusal::invalid(
                ReasonCode::Resize,
                "either scales or sizes are needed",
            ));
        }
    }
    finish(site, op)
}

/// A list of floats that is an operand.
fn known_floats(site: &mut NodeReader<'_, '_>, position: usize) -> Result<Option<Vec<f32>>, Refusal> {
    let Some(tensor) = site.known(position, "scales")? else {
        return Ok(None);
    };
    let values = tensor
        .to_f32()
        .map_err(|e| Refusal::invalid(ReasonCode::OperandType, e.to_string()))?;
    Ok(Some(values.into_owned()))
}

/// Axes as positions.
fn positions(axes: &[i64], rank: usize) -> Result<Vec<usize>, Refusal> {
    let position = |&axis: &i64| {
        let axis = if axis < 0 {
            axis.saturating_add(rank as i64)
        } else {
            axis
        };
        usize::try_from(axis).ok().filter(|&a| a < rank)
    };
    let positions: Option<Vec<usize>> = axes.iter().map(position).collect();
    positions.ok_or_else(|| Refusal::invalid(ReasonCode::Axis, format!("axes {axes:?} are outside rank {rank}")))
}

/// The extents of the operand, where sizes of some axes leave the others as they are.
fn extents(shape: &Shape, resized: &[usize]) -> Result<Vec<i64>, Refusal> {
    let extent = |(axis, dim): (usize, &Dim)| match dim {
        _ if resized.contains(&axis) => Ok(0),
        Dim::Fixed(extent) => {
            i64::try_from(*extent).map_err(|_| Refusal::invalid(ReasonCode::Limit, "an axis is too long"))
        }
        Dim::Named(_) => Err(Refusal::invalid(
            ReasonCode::SymbolicAxis,
            format!("axis {axis} is symbolic; bind it to a number"),
        )),
    };
    shape.iter().enumerate().map(extent).collect()
}

/// Numbers for some axes over those for all.
fn spread<T>(axes: &[usize], given: Vec<T>, mut all: Vec<T>) -> Result<Vec<T>, Refusal> {
    if given.len() != axes.len() {
        let text = format!("{} numbers for {} axes", given.len(), axes.len());
        return Err(Refusal::invalid(ReasonCode::Resize, text));
    }
    for (&axis, value) in axes.iter().zip(given) {
        all[axis] = value;
    }
    Ok(all)
}

/// The IR takes the ratio of the extents for the scale, ONNX the scale that is given; they are the same where it makes a
/// whole number of elements.
fn finish(site: &mut NodeReader<'_, '_>, op: Resize) -> Result<(), Refusal> {
    let shape = site.ty(0)?.shape;
    for (dim, &scale) in shape.iter().zip(&op.scales) {
        let extent = dim.fixed().unwrap_or(1) as f64;
        let resized = extent * f64::from(scale);
        // The scale is rounded to a float, by at most 2^-24 of itself.
        if resized - resized.floor() > extent * f64::from(f32::EPSILON) * f64::from(scale) && scale != 1.0 {
            let text = format!("a scale of {scale} does not make a whole number of elements out of {extent}");
            return Err(Refusal::Unsupported(text));
        }
    }
    site.finish(op, &[Arg::Operand(0)])
}
