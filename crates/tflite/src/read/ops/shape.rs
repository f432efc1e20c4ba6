//! Reads operators that change shape or axis order, or return shapes as tensors.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, field, options};
use strait_core::op::{Expand, Relation, Reshape, ShapeOf, Squeeze, Transpose, Unsqueeze};
use strait_core::{Elem, ReasonCode, TensorData};

pub(super) const ROWS: &[Row] = &[
    Row::new("RESHAPE", 1, reshape).on_one_grid(),
    Row::new("SQUEEZE", 2, squeeze).on_one_grid(),
    Row::new("EXPAND_DIMS", 1, expand_dims).on_one_grid(),
    Row::new("TRANSPOSE", 8, transpose).on_one_grid(),
    Row::new("BROADCAST_TO", 4, broadcast_to).on_one_grid(),
    Row::new("BROADCAST_ARGS", 1, broadcast_args),
    Row::new("SHAPE", 1, shape),
    Row::new("RANK", 1, rank),
    Row::new("ZEROS_LIKE", 1, zeros_like),
    Row::new("FILL", 5, fill),
];

/// Reads a reshape. The shape is an operand or an option. If the shape is computed at run time, the op gets it as an
/// operand.
fn reshape(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if reader.has(1)
        && let Some(known) = reader.late_list(1)?
    {
        let args = reader.late_operands(&[1])?;
        return reader.finish(Reshape { shape: known.into() }, &args);
    }
    let options = options!(reader, ReshapeOptions);
    let given = match reader.known_ints(1, "shape")? {
        Some(shape) => Some(shape),
        None => match &options {
            Some(options) => field(options.new_shape())?.map(|list| list.iter().map(i64::from).collect()),
            None => None,
        },
    };
    let mut shape: Vec<i64> = given.ok_or_else(|| Refusal::invalid(ReasonCode::Reshape, "it has no shape"))?;
    let extents = reader.ty(0)?.shape;
    // Files that were written before the format had scalars have the shape [0] for a scalar.
    if shape == [0] && extents.iter().all(|dim| dim.fixed() == Some(1)) {
        shape.clear();
    }
    // In the IR, 0 stands for the extent of the operand; in TFLite, it is an extent of 0.
    if shape.contains(&0) && !extents.iter().any(|dim| dim.fixed() == Some(0)) {
        return Err(Refusal::invalid(
            ReasonCode::Reshape,
            "an extent is 0, and its operand is not empty",
        ));
    }
    if let (Some(axis), false) = (
        shape.iter().position(|&extent| extent == 0),
        extents.first().and_then(|dim| dim.fixed()) == Some(0),
    ) {
        let text = format!("axis {axis} is empty, and that of its operand is another one");
        return Err(Refusal::Unsupported(text));
    }
    reader.finish(Reshape { shape: shape.into() }, &[Arg::Operand(0)])
}

fn squeeze(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, SqueezeOptions);
    let axes = match &options {
        Some(options) => field(options.squeeze_dims())?.map(|list| list.iter().map(i64::from).collect()),
        None => None,
    };
    let axes: Vec<i64> = axes.unwrap_or_default();
    reader.finish(Squeeze { axes: axes.into() }, &[Arg::Operand(0)])
}

fn expand_dims(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.given_int(1, "axis")?;
    let axes = std::iter::once(axis).collect();
    reader.finish(Unsqueeze { axes }, &[Arg::Operand(0)])
}

fn transpose(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    let given = reader.known_ints(1, "permutation")?.unwrap_or_default();
    let permutation: Result<_, Refusal> = given.iter().map(|&axis| Ok(reader.axis(axis, rank)? as u32)).collect();
    let permutation = permutation?;
    reader.finish(Transpose { permutation }, &[Arg::Operand(0)])
}

fn broadcast_to(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (shape, args) = reader.shape_operand(1, ReasonCode::Axes)?;
    reader.finish(Expand { shape: shape.into() }, &args)
}

/// Reads an operator whose result is the shape of the operand. Known extents become constants, so that everything
/// computed from them is constant, too.
fn shape(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let to = reader.result_elem(0)?;
    let ty = reader.ty(0)?;
    let shape = match ty.dims() {
        Some(dims) => {
            let numbers: Vec<i64> = dims.iter().map(|&extent| extent as i64).collect();
            Arg::Constant(reader.integers(&[numbers.len() as u64], &numbers)?)
        }
        None => reader.push(ShapeOf {}, &[Arg::Operand(0)])?,
    };
    let shape = reader.converted(&shape, to)?;
    reader.finish_value(&shape)
}

fn rank(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rank = reader.rank(0)? as i64;
    let rank = reader.converted(&Arg::Constant(TensorData::scalar(rank)), Elem::I32)?;
    reader.finish_value(&rank)
}

/// Returns a tensor of the shape `shape` whose elements are all the number `number`. If the number is known, the tensor
/// is a constant; otherwise each run broadcasts the number.
pub(super) fn spread(reader: &mut OperatorReader<'_, '_>, number: &Arg, shape: &[i64]) -> Result<Arg, Refusal> {
    let number = reader.reshaped(number, &vec![1; shape.len()])?;
    reader.push(Expand { shape: shape.into() }, &[number])
}

fn filled(reader: &mut OperatorReader<'_, '_>, number: &Arg, shape: &[i64]) -> Result<(), Refusal> {
    let number = reader.reshaped(number, &vec![1; shape.len()])?;
    reader.finish(Expand { shape: shape.into() }, &[number])
}

/// Reads an operator that computes the common shape to which two shapes broadcast. Along each axis, the common shape
/// has the extent of the first shape if this extent is not 1, and otherwise the extent of the second shape.
fn broadcast_args(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let elem = reader.ty(0)?.elem;
    let mut shapes = [reader.indices(0)?, reader.indices(1)?];
    let lengths = [reader.extents(&shapes[0])?, reader.extents(&shapes[1])?];
    let [&[a], &[b]] = [lengths[0].as_slice(), lengths[1].as_slice()] else {
        return Err(Refusal::invalid(ReasonCode::Operands, "its operands are no lists"));
    };
    // Extents of 1 are added in front of the shorter shape.
    let shorter = usize::from(b < a);
    let missing = a.abs_diff(b);
    if missing > 0 {
        let count = reader.room(&[missing])?;
        let ones = Arg::Constant(reader.integers(&[missing], &vec![1; count])?);
        shapes[shorter] = reader.joined(&[ones, shapes[shorter].clone()], 0)?;
    }
    let [a, b] = shapes;
    let one = reader.number(&a, 1.0)?;
    let is_one = reader.compare(Relation::Equal, &a, &one)?;
    let both = reader.select(&is_one, &b, &a)?;
    let both = reader.converted(&both, elem)?;
    reader.finish_value(&both)
}

fn zeros_like(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let extents = reader.extents(&x)?;
    let elem = reader.ty(0)?.elem;
    let zero = reader.number(&x, 0.0)?;
    let zero = reader.converted(&zero, elem)?;
    filled(reader, &zero, &extents)
}

/// Reads an operator that fills a tensor with one number. Operands: the shape, and the number.
fn fill(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let shape = reader.known_ints(0, "shape")?.unwrap_or_default();
    filled(reader, &Arg::Operand(1), &shape)
}
