//! Reads the resizing of images and other tensors.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{Coordinate, Nearest, Resize, ResizeMode};
use strait_core::{Dim, ReasonCode, Shape};

pub(super) const ROWS: &[Row] = &[
    Row::new("Resize", 10, resize).and(&[11, 13, 18, 19]),
    Row::new("Upsample", 7, upsample).and(&[9]).until(9),
];

/// ONNX does not define how Upsample, and Resize of operator set 10, map coordinates. Strait does what ONNX Runtime
/// does: in both modes, position x of the result has the source coordinate x/s, where s is the scale of the axis. In
/// nearest mode, the coordinate is rounded down if the axis becomes longer, and up if it becomes shorter.
fn upsample(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if reader.opset() >= 9 && is_late(reader, 1)? {
        let mode = mode(reader)?;
        if reader.opset() > 9 && mode == ResizeMode::Nearest {
            let text = "its scales are computed at run time, and decide how it rounds";
            return Err(Refusal::unsupported(text));
        }
        let op = Resize {
            nearest: Nearest::Floor,
            ..Resize::to_sizes(mode, Coordinate::Asymmetric, &[])
        };
        let axes: Vec<usize> = (0..reader.rank(0)?).collect();
        return late_scales(reader, op, 1, &axes);
    }
    let scales = match reader.opset() {
        ..9 => reader.floats("scales")?.map(<[f32]>::to_vec),
        _ => known_floats(reader, 1, "scales")?,
    };
    let scales = scales.ok_or_else(|| Refusal::invalid(ReasonCode::Resize, "the scales are missing"))?;
    let enlarges = scales.iter().any(|&s| s > 1.0);
    let shrinks = scales.iter().any(|&s| s < 1.0);
    let mut op = Resize::to_sizes(mode(reader)?, Coordinate::Asymmetric, &[]);
    if enlarges && shrinks && op.mode == ResizeMode::Nearest {
        // Axes do not affect each other, so they can be resized one after the other.
        let larger = Resize {
            nearest: Nearest::Floor,
            scales: scales.iter().map(|scale| scale.max(1.0)).collect(),
            ..op.clone()
        };
        let enlarged = reader.push(larger, &[Arg::Operand(0)])?;
        op.nearest = Nearest::Ceil;
        op.scales = scales.iter().map(|scale| scale.min(1.0)).collect();
        return reader.finish(op, &[enlarged]);
    }
    op.nearest = if enlarges { Nearest::Floor } else { Nearest::Ceil };
    op.scales = scales;
    reader.finish(op, &[Arg::Operand(0)])
}

fn mode(reader: &mut OperatorReader<'_, '_>) -> Result<ResizeMode, Refusal> {
    match reader.text("mode", "nearest")? {
        "nearest" => Ok(ResizeMode::Nearest),
        "linear" | "bilinear" => Ok(ResizeMode::Linear),
        "cubic" if reader.opset() >= 11 => Ok(ResizeMode::Cubic),
        other => Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    }
}

fn resize(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if reader.opset() < 11 {
        return upsample(reader);
    }
    let coordinate = reader.word("coordinate_transformation_mode", "half_pixel", Coordinate::parse)?;
    let nearest = reader.word("nearest_mode", "round_prefer_floor", |word| match word {
        "" => Some(Nearest::RoundPreferFloor),
        word => Nearest::parse(word),
    })?;
    let policy = reader.text("keep_aspect_ratio_policy", "stretch")?;
    let mode = mode(reader)?;
    let antialias = reader.flag("antialias")?;
    if antialias && mode == ResizeMode::Nearest {
        return Err(Refusal::unsupported("`antialias` means nothing in the mode `nearest`"));
    }
    let shape = reader.ty(0)?.shape;
    let axes: Vec<usize> = match reader.ints("axes")? {
        None => (0..shape.len()).collect(),
        Some(axes) => (axes.iter())
            .map(|&axis| reader.axis(axis, shape.len()))
            .collect::<Result<_, _>>()?,
    };
    let mut op = Resize {
        nearest,
        antialias,
        exclude_outside: reader.flag("exclude_outside")?,
        cubic: reader.float("cubic_coeff_a")?.unwrap_or(Resize::CUBIC),
        ..Resize::to_sizes(mode, coordinate, &[])
    };
    let beside = reader.float("extrapolation_value")?.unwrap_or(0.0);
    if coordinate == Coordinate::Crop {
        op.region = region(reader, &axes, shape.len(), beside)?;
    }
    if is_late(reader, 2)? {
        return late_scales(reader, op, 2, &axes);
    }
    if is_late(reader, 3)? {
        if policy != "stretch" {
            let text = format!("`keep_aspect_ratio_policy` is {policy}, and its sizes are computed at run time");
            return Err(Refusal::Unsupported(text));
        }
        return late_sizes(reader, op, &axes);
    }
    // If an operand has no elements, it counts as omitted.
    let scales = known_floats(reader, 2, "scales")?.filter(|scales| !scales.is_empty());
    let sizes = reader.known_ints(3, "sizes")?.filter(|sizes| !sizes.is_empty());
    match (scales, sizes) {
        (Some(scales), None) => op.scales = spread(&axes, scales, vec![1.0; shape.len()])?,
        (None, Some(sizes)) if policy == "stretch" => op.sizes = spread(&axes, sizes, extents(reader, &axes)?)?.into(),
        (None, Some(sizes)) => {
            let (scale, sizes) = kept_ratio(policy, &shape, &axes, &sizes)?;
            op.scales = spread(&axes, vec![scale; axes.len()], vec![1.0; shape.len()])?;
            op.sizes = spread(&axes, sizes, extents(reader, &axes)?)?.into();
        }
        _ => {
            return Err(Refusal::invalid(
                ReasonCode::Resize,
                "either scales or sizes are needed",
            ));
        }
    }
    reader.finish(op, &[Arg::Operand(0)])
}

/// True if the operand is computed at run time and has elements.
fn is_late(reader: &mut OperatorReader<'_, '_>, position: usize) -> Result<bool, Refusal> {
    if !reader.has(position) || reader.constant(position)?.is_some() {
        return Ok(false);
    }
    Ok(reader.ty(position)?.shape[..] != [Dim::Fixed(0)])
}

/// Reads a resize in which the scales of some axes are computed at run time. The scales of all other axes are 1.
fn late_scales(
    reader: &mut OperatorReader<'_, '_>,
    mut op: Resize,
    position: usize,
    axes: &[usize],
) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    op.scales = spread(axes, vec![0.0; axes.len()], vec![1.0; rank])?;
    let mut list = Arg::Operand(position);
    if !axes.iter().copied().eq(0..rank) {
        let one = Arg::Constant(reader.floats_of(&[1], &[1.0])?);
        list = reader.late_spread(&list, axes, vec![one; rank])?;
    }
    reader.finish(op, &[Arg::Operand(0), list])
}

/// Reads a resize in which the extents of some axes are computed at run time. The other axes do not change.
fn late_sizes(reader: &mut OperatorReader<'_, '_>, mut op: Resize, axes: &[usize]) -> Result<(), Refusal> {
    let shape = reader.ty(0)?.shape;
    let known = reader.late_list(3)?.unwrap_or_default();
    let extents = shape.iter().map(|dim| dim.fixed().map_or(-1, |extent| extent as i64));
    op.sizes = spread(axes, known, extents.collect())?.into();
    let mut list = reader.indices(3)?;
    if !axes.iter().copied().eq(0..shape.len()) {
        let mut all = Vec::new();
        for axis in 0..shape.len() {
            all.push(reader.extent_at(&Arg::Operand(0), axis)?);
        }
        list = reader.late_spread(&list, axes, all)?;
    }
    reader.finish(op, &[Arg::Operand(0), list])
}

/// Returns the part of the operand that is resized, as a list of numbers: first the begin of the part along each of the
/// `rank` axes, then its end along each axis, and last `beside`, the number for positions outside of the operand. The
/// node's operand 1 says where the part begins and ends along `axes`; along all other axes, the part is the whole axis.
fn region(reader: &mut OperatorReader<'_, '_>, axes: &[usize], rank: usize, beside: f32) -> Result<Vec<f32>, Refusal> {
    let given = known_floats(reader, 1, "region")?.unwrap_or_default();
    if given.len() != 2 * axes.len() {
        let text = format!("{} numbers of a region, for {} axes", given.len(), axes.len());
        return Err(Refusal::invalid(ReasonCode::Resize, text));
    }
    let (begins, ends) = given.split_at(axes.len());
    let mut all = spread(axes, begins.to_vec(), vec![0.0; rank])?;
    all.extend(spread(axes, ends.to_vec(), vec![1.0; rank])?);
    all.push(beside);
    Ok(all)
}

/// Computes a resize that keeps the aspect ratio. Each size requires a scale of its axis; depending on `policy`, all
/// axes get the smallest or the largest of these scales. Returns this scale and the extents of the result.
fn kept_ratio(policy: &str, shape: &Shape, axes: &[usize], sizes: &[i64]) -> Result<(f32, Vec<i64>), Refusal> {
    let whole: &str = "an axis is symbolic or empty; bind it to a number";
    let extent = |&axis: &usize| shape.get(axis).and_then(|dim| dim.fixed()).filter(|&extent| extent > 0);
    let extents: Option<Vec<u64>> = axes.iter().map(extent).collect();
    let extents = extents.ok_or_else(|| Refusal::invalid(ReasonCode::SymbolicAxis, whole))?;
    let quotients = sizes
        .iter()
        .zip(&extents)
        .map(|(&size, &extent)| size as f64 / extent as f64);
    let scale = match policy {
        "not_larger" => quotients.reduce(f64::min),
        "not_smaller" => quotients.reduce(f64::max),
        other => return Err(Refusal::Unsupported(format!("`keep_aspect_ratio_policy` is {other}"))),
    };
    let scale = scale.filter(|scale| *scale > 0.0);
    let scale = scale.ok_or_else(|| Refusal::invalid(ReasonCode::Resize, "a size is not positive"))?;
    let made = extents
        .iter()
        .map(|&extent| (scale * extent as f64 + 0.5).floor() as i64);
    Ok((scale as f32, made.collect()))
}

/// An operand that is a list of floats; the floats must be known.
fn known_floats(reader: &mut OperatorReader<'_, '_>, position: usize, what: &str) -> Result<Option<Vec<f32>>, Refusal> {
    let Some(tensor) = reader.known(position, what)? else {
        return Ok(None);
    };
    let values = tensor
        .to_f32()
        .map_err(|e| Refusal::invalid(ReasonCode::OperandType, e.to_string()))?;
    Ok(Some(values.into_owned()))
}

/// The extents of operand 0. An axis that is not resized must be fixed, because its size stays as it is.
fn extents(reader: &mut OperatorReader<'_, '_>, resized: &[usize]) -> Result<Vec<i64>, Refusal> {
    let rank = reader.rank(0)?;
    let extent = |axis: usize| match resized.contains(&axis) {
        true => Ok(0),
        false => reader.extent(&Arg::Operand(0), axis as i64),
    };
    (0..rank).map(extent).collect()
}

/// Returns the list `all` for all axes, with the entries of `axes` replaced by `given`.
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
