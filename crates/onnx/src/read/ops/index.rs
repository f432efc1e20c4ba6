//! Reads operators that gather and scatter elements, sort them, or accumulate along an axis.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{ArgReduce, Combination, Cumulative, Extreme, GatherElements, GatherNd, Reshape, Running, TopK};
use strait_core::{ReasonCode, TensorData};
use strait_import::{scatter_elements, scatter_slices};

pub(super) const ROWS: &[Row] = &[
    Row::new("GatherElements", 11, gather_elements).and(&[13]),
    Row::new("GatherND", 11, gather_nd).and(&[12, 13]),
    Row::new("Scatter", 9, scatter_by_element).until(10),
    Row::new("ScatterElements", 11, scatter_by_element).and(&[13, 16, 18]),
    Row::new("ScatterND", 11, scatter_nd).and(&[13, 16, 18]),
    Row::new("MaxUnpool", 9, max_unpool).and(&[11, 22]),
    Row::new("ArgMax", 1, |reader| arg_reduce(reader, Extreme::Maximum)).and(&[11, 12, 13]),
    Row::new("ArgMin", 1, |reader| arg_reduce(reader, Extreme::Minimum)).and(&[11, 12, 13]),
    Row::new("CumSum", 11, |reader| cumulative(reader, Running::Sum)).and(&[14]),
    Row::new("CumProd", 26, |reader| cumulative(reader, Running::Product)),
    Row::new("TopK", 1, top_k).and(&[10, 11, 24]),
];

fn gather_elements(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.int("axis")?.unwrap_or(0);
    let indices = reader.indices(1)?;
    reader.finish(GatherElements { axis }, &[Arg::Operand(0), indices])
}

fn gather_nd(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let batch = match reader.opset() {
        ..12 => 0,
        _ => reader.int("batch_dims")?.unwrap_or(0),
    };
    let batch =
        u32::try_from(batch).map_err(|_| Refusal::invalid(ReasonCode::Gather, format!("`batch_dims` is {batch}")))?;
    let indices = reader.indices(1)?;
    reader.finish(GatherNd { batch }, &[Arg::Operand(0), indices])
}

/// How a scatter combines elements. Sums and products exist from operator set 16 on, maximum and minimum from 18 on.
fn combination(reader: &mut OperatorReader<'_, '_>) -> Result<Combination, Refusal> {
    if reader.opset() < 16 {
        return Ok(Combination::Replace);
    }
    match reader.text("reduction", "none")? {
        "none" => Ok(Combination::Replace),
        "add" => Ok(Combination::Add),
        "mul" => Ok(Combination::Multiply),
        "max" if reader.opset() >= 18 => Ok(Combination::Maximum),
        "min" if reader.opset() >= 18 => Ok(Combination::Minimum),
        other => Err(Refusal::Unsupported(format!("`reduction` is {other}"))),
    }
}

fn scatter_by_element(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let op = scatter_elements(reader.int("axis")?.unwrap_or(0), combination(reader)?);
    let indices = reader.indices(1)?;
    reader.finish(op, &[Arg::Operand(0), indices, Arg::Operand(2)])
}

fn scatter_nd(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let op = scatter_slices(combination(reader)?);
    let indices = reader.indices(1)?;
    reader.finish(op, &[Arg::Operand(0), indices, Arg::Operand(2)])
}

/// Reads MaxUnpool, the inverse of a max pool: in a tensor of zeros, each element is written to the position that the
/// pool took it from. Positions count over the whole tensor.
fn max_unpool(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let symbolic = || Refusal::invalid(ReasonCode::SymbolicAxis, "an axis is symbolic; bind it to a number");
    let ty = reader.ty(0)?;
    let dims = ty.dims().ok_or_else(symbolic)?;
    let kernel = reader.ints("kernel_shape")?.unwrap_or_default();
    let spatial = kernel.len();
    if spatial == 0 || dims.len() != spatial + 2 {
        let text = format!("`kernel_shape` is {kernel:?}, of rank {}", dims.len());
        return Err(Refusal::invalid(ReasonCode::Window, text));
    }
    let strides = reader
        .ints("strides")?
        .map_or_else(|| vec![1; spatial], <[i64]>::to_vec);
    let pads = reader
        .ints("pads")?
        .map_or_else(|| vec![0; 2 * spatial], <[i64]>::to_vec);
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
    let wanted = reader.known_ints(2, "output shape")?;
    let larger = wanted.filter(|wanted| *wanted != natural);
    let shape: Vec<u64> = natural.iter().map(|extent| extent.unsigned_abs()).collect();
    let count = reader.room(&shape)?;
    let bytes = vec![0u8; count * ty.elem.size()];
    let zeros = TensorData::new(ty.elem, &[count as u64], bytes.into());
    let zeros = zeros.map_err(|error| Refusal::invalid(ReasonCode::Constant, error.to_string()))?;
    let flat = || Reshape {
        shape: [-1].as_slice().into(),
    };
    let indices = reader.indices(1)?;
    let (indices, elements) = (
        reader.push(flat(), &[indices])?,
        reader.push(flat(), &[Arg::Operand(0)])?,
    );
    let op = scatter_elements(0, Combination::Replace);
    let filled = reader.push(op, &[Arg::Constant(zeros), indices, elements])?;
    let shape = |extents: &[i64]| Reshape { shape: extents.into() };
    let Some(larger) = larger else {
        return reader.finish(shape(&natural), &[filled]);
    };
    // `natural` is the shape that the pool's operand should have had. If the given output shape is larger, each axis is
    // filled up with zeros at the end.
    let fits = larger.len() == natural.len() && larger.iter().zip(&natural).all(|(larger, natural)| larger >= natural);
    if !fits {
        let text = format!("its output shape {larger:?} is smaller than {natural:?}");
        return Err(Refusal::invalid(ReasonCode::Window, text));
    }
    let filled = reader.push(shape(&natural), &[filled])?;
    let behind = larger.iter().zip(&natural).map(|(larger, natural)| larger - natural);
    let op = strait_core::op::Pad {
        amounts: vec![0; natural.len()].into_iter().chain(behind).collect(),
        mode: strait_core::op::PadMode::Constant,
        value: 0.0,
    };
    reader.finish(op, &[filled])
}

/// Reads ArgMax or ArgMin: the position of the largest or the smallest element. From operator set 12 on, an attribute
/// says which of several equal elements is meant.
fn arg_reduce(reader: &mut OperatorReader<'_, '_>, extreme: Extreme) -> Result<(), Refusal> {
    let op = ArgReduce {
        extreme,
        axis: reader.int("axis")?.unwrap_or(0),
        keep_dims: reader.int("keepdims")?.unwrap_or(1) != 0,
        last: reader.opset() >= 12 && reader.flag("select_last_index")?,
    };
    reader.finish(op, &[Arg::Operand(0)])
}

fn cumulative(reader: &mut OperatorReader<'_, '_>, of: Running) -> Result<(), Refusal> {
    let op = Cumulative {
        of,
        axis: reader.given_int(1, "axis")?,
        exclusive: reader.flag("exclusive")?,
        reverse: reader.flag("reverse")?,
    };
    reader.finish(op, &[Arg::Operand(0)])
}

/// Reads TopK: the top k elements. Their number is an attribute up to operator set 9. From 11 on, an attribute says
/// whether the largest or the smallest elements are meant. The result is always sorted: ONNX allows this even if the
/// node does not ask for it.
fn top_k(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let is_late = reader.opset() >= 10 && reader.has(1) && reader.constant(1)?.is_none();
    let k = match reader.opset() {
        _ if is_late => Some(-1),
        ..10 => reader.int("k")?,
        _ => reader.known_int(1, "number of elements")?,
    };
    let k = k.ok_or_else(|| Refusal::invalid(ReasonCode::Operands, "the number of elements is missing"))?;
    let mut largest = true;
    if reader.opset() >= 11 {
        largest = reader.int("largest")?.unwrap_or(1) != 0;
        reader.ignore(&["sorted"]);
    }
    let op = TopK {
        k,
        axis: reader.int("axis")?.unwrap_or(-1),
        largest,
    };
    if is_late {
        let args = reader.late_operands(&[1])?;
        return reader.finish(op, &args);
    }
    reader.finish(op, &[Arg::Operand(0)])
}
