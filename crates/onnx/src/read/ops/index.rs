//! Reads operators that gather and scatter elements, sort them, or accumulate along an axis.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::op::{
    ArgReduce, Combination, Cumulative, Extreme, GatherElements, GatherNd, Reshape, Running, Scatter, ScatterBy, TopK,
};
use strait_core::{ReasonCode, TensorData};

pub(super) const ROWS: &[Row] = &[
    Row::new("GatherElements", 11, gather_elements).and(&[13]),
    Row::new("GatherND", 11, gather_nd).and(&[12, 13]),
    Row::new("Scatter", 9, scatter_elements).until(10),
    Row::new("ScatterElements", 11, scatter_elements).and(&[13, 16, 18]),
    Row::new("ScatterND", 11, scatter_nd).and(&[13, 16, 18]),
    Row::new("MaxUnpool", 9, max_unpool).and(&[11, 22]),
    Row::new("ArgMax", 1, |site| arg_reduce(site, Extreme::Maximum)).and(&[11, 12, 13]),
    Row::new("ArgMin", 1, |site| arg_reduce(site, Extreme::Minimum)).and(&[11, 12, 13]),
    Row::new("CumSum", 11, |site| cumulative(site, Running::Sum)).and(&[14]),
    Row::new("CumProd", 26, |site| cumulative(site, Running::Product)),
    Row::new("TopK", 1, top_k).and(&[10, 11, 24]),
];

fn gather_elements(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let axis = site.int("axis")?.unwrap_or(0);
    let indices = site.indices(1)?;
    site.finish(GatherElements { axis }, &[Arg::Operand(0), indices])
}

fn gather_nd(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let batch = match site.opset() {
        ..12 => 0,
        _ => site.int("batch_dims")?.unwrap_or(0),
    };
    let batch =
        u32::try_from(batch).map_err(|_| Refusal::invalid(ReasonCode::Gather, format!("`batch_dims` is {batch}")))?;
    let indices = site.indices(1)?;
    site.finish(GatherNd { batch }, &[Arg::Operand(0), indices])
}

/// How scatter combines elements. Sums and products exist from operator set 16 on, maximum and minimum from 18 on.
fn combination(site: &mut NodeReader<'_, '_>) -> Result<Combination, Refusal> {
    if site.opset() < 16 {
        return Ok(Combination::Replace);
    }
    match site.text("reduction", "none")? {
        "none" => Ok(Combination::Replace),
        "add" => Ok(Combination::Add),
        "mul" => Ok(Combination::Multiply),
        "max" if site.opset() >= 18 => Ok(Combination::Maximum),
        "min" if site.opset() >= 18 => Ok(Combination::Minimum),
        other => Err(Refusal::Unsupported(format!("`reduction` is {other}"))),
    }
}

fn scatter_elements(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let op = Scatter {
        by: ScatterBy::Element,
        axis: site.int("axis")?.unwrap_or(0),
        combine: combination(site)?,
    };
    let indices = site.indices(1)?;
    site.finish(op, &[Arg::Operand(0), indices, Arg::Operand(2)])
}

fn scatter_nd(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let op = Scatter {
        by: ScatterBy::Slice,
        axis: 0,
        combine: combination(site)?,
    };
    let indices = site.indices(1)?;
    site.finish(op, &[Arg::Operand(0), indices, Arg::Operand(2)])
}

/// The inverse of a max pool: elements are put into zeros at the positions that the pool took them from. Positions
/// count over the whole tensor.
fn max_unpool(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let symbolic = || Refusal::invalid(ReasonCode::SymbolicAxis, "an axis is symbolic; bind it to a number");
    let ty = site.ty(0)?;
    let dims = ty.dims().ok_or_else(symbolic)?;
    let kernel = site.ints("kernel_shape")?.unwrap_or_default();
    let spatial = kernel.len();
    if spatial == 0 || dims.len() != spatial + 2 {
        let text = format!("`kernel_shape` is {kernel:?}, of rank {}", dims.len());
        return Err(Refusal::invalid(ReasonCode::Window, text));
    }
    let strides = site.ints("strides")?.map_or_else(|| vec![1; spatial], <[i64]>::to_vec);
    let pads = site.ints("pads")?.map_or_else(|| vec![0; 2 * spatial], <[i64]>::to_vec);
    let whole = || -> Option<Vec<i64>> {
        let mut whole: Vec<i64> = dims
            .iter()
            .map(|&extent| i64::try_from(extent).ok())
            .collect::<Option<_>>()?;
        for axis in 0..spatial {
            let steps = whole[axis + 2].checked_sub(1)?.checked_mul(*strides.get(axis)?)?;
            let pads = pads.get(axis)?.checked_add(*pads.get(axis + spatial)?)?;
            whole[axis + 2] = steps.checked_add(kernel[axis])?.checked_sub(pads)?;
        }
        whole.iter().all(|&extent| extent > 0).then_some(whole)
    };
    let natural = whole()
        .ok_or_else(|| Refusal::invalid(ReasonCode::Window, "strides, pads and `kernel_shape` leave no extents"))?;
    let wanted = site.known_ints(2, "output shape")?;
    let larger = wanted.filter(|wanted| *wanted != natural);
    let shape: Vec<u64> = natural.iter().map(|extent| extent.unsigned_abs()).collect();
    let count = site.room(&shape)?;
    let bytes = vec![0u8; count * ty.elem.size()];
    let zeros = TensorData::new(ty.elem, &[count as u64], bytes.into());
    let zeros = zeros.map_err(|error| Refusal::invalid(ReasonCode::Constant, error.to_string()))?;
    let flat = || Reshape {
        shape: [-1].as_slice().into(),
    };
    let indices = site.indices(1)?;
    let (indices, elements) = (site.push(flat(), &[indices])?, site.push(flat(), &[Arg::Operand(0)])?);
    let op = Scatter {
        by: ScatterBy::Element,
        axis: 0,
        combine: Combination::Replace,
    };
    let filled = site.push(op, &[Arg::Constant(zeros), indices, elements])?;
    let shape = |extents: &[i64]| Reshape { shape: extents.into() };
    let Some(larger) = larger else {
        return site.finish(shape(&natural), &[filled]);
    };
    // If the output shape is larger than the pool's natural operand, each axis is filled up with zeros at the end.
    let fits = larger.len() == natural.len() && larger.iter().zip(&natural).all(|(larger, natural)| larger >= natural);
    if !fits {
        let text = format!("its output shape {larger:?} is smaller than {natural:?}");
        return Err(Refusal::invalid(ReasonCode::Window, text));
    }
    let filled = site.push(shape(&natural), &[filled])?;
    let behind = larger.iter().zip(&natural).map(|(larger, natural)| larger - natural);
    let op = strait_core::op::Pad {
        amounts: vec![0; natural.len()].into_iter().chain(behind).collect(),
        mode: strait_core::op::PadMode::Constant,
        value: 0.0,
    };
    site.finish(op, &[filled])
}

/// The position of the extreme element. Since operator set 12, an attribute says which of several equal elements is
/// meant.
fn arg_reduce(site: &mut NodeReader<'_, '_>, extreme: Extreme) -> Result<(), Refusal> {
    let op = ArgReduce {
        extreme,
        axis: site.int("axis")?.unwrap_or(0),
        keep_dims: site.int("keepdims")?.unwrap_or(1) != 0,
        last: site.opset() >= 12 && site.flag("select_last_index")?,
    };
    site.finish(op, &[Arg::Operand(0)])
}

fn cumulative(site: &mut NodeReader<'_, '_>, of: Running) -> Result<(), Refusal> {
    let axis = match site.known_ints(1, "axis")?.as_deref() {
        Some(&[axis]) => axis,
        other => return Err(Refusal::invalid(ReasonCode::Axis, format!("its axis is {other:?}"))),
    };
    let op = Cumulative {
        of,
        axis,
        exclusive: site.flag("exclusive")?,
        reverse: site.flag("reverse")?,
    };
    site.finish(op, &[Arg::Operand(0)])
}

/// The top k elements. Their number is an attribute up to operator set 9. Since 11, an attribute says whether the
/// largest or the smallest ones are meant. Returning them sorted is always allowed.
fn top_k(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let is_late = site.opset() >= 10 && site.has(1) && site.constant(1)?.is_none();
    let k = match site.opset() {
        _ if is_late => Some(-1),
        ..10 => site.int("k")?,
        _ => match site.known_ints(1, "number of elements")?.as_deref() {
            Some(&[k]) => Some(k),
            _ => None,
        },
    };
    let k = k.ok_or_else(|| Refusal::invalid(ReasonCode::Operands, "the number of elements is missing"))?;
    let mut largest = true;
    if site.opset() >= 11 {
        largest = site.int("largest")?.unwrap_or(1) != 0;
        site.ignore(&["sorted"]);
    }
    let op = TopK {
        k,
        axis: site.int("axis")?.unwrap_or(-1),
        largest,
    };
    if is_late {
        let args = site.late_operands(&[1])?;
        return site.finish(op, &args);
    }
    site.finish(op, &[Arg::Operand(0)])
}
