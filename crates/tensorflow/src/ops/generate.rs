//! Reads operators that generate tensors from shapes and numbers.

use strait_core::op::Reduction;
use strait_core::op::{Cast, Expand, Identity, Op, Range, Select, ShapeOf};
use strait_core::shape::fixed_dims;
use strait_core::{Elem, ReasonCode, TensorData};
use strait_import::{Arg, Refusal, reduction_over};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("Shape", |reader| {
        let to = reader.elem("out_type")?.unwrap_or(Elem::I32);
        shape(reader, 0, to)
    }),
    ("ShapeN", |reader| {
        reader.ignore(&["N"]);
        let to = reader.elem("out_type")?.unwrap_or(Elem::I32);
        (0..reader.operand_count()).try_for_each(|position| shape(reader, position, to))
    }),
    ("Size", size),
    ("Rank", rank),
    ("Fill", fill),
    ("ZerosLike", |reader| like(reader, 0.0)),
    ("OnesLike", |reader| like(reader, 1.0)),
    ("Range", |reader| {
        reader.one_type([0, 1, 2])?;
        reader.finish(Range {}, &[0, 1, 2].map(Arg::Operand))
    }),
    ("Tile", tile),
    ("OneHot", one_hot),
];

/// Reads an operator whose result is the shape of an operand. The result is a constant if all extents are known.
fn shape(reader: &mut OperatorReader<'_, '_>, position: usize, to: Elem) -> Result<(), Refusal> {
    let extents = reader.ty(position)?.shape;
    let list = match fixed_dims(&extents) {
        Some(extents) => {
            let values: Vec<i64> = extents.iter().map(|&extent| extent as i64).collect();
            Arg::Constant(reader.integers(&[values.len() as u64], &values)?)
        }
        None => reader.push(ShapeOf {}, &[Arg::Operand(position)])?,
    };
    reader.finish_result(position, converted(to, Elem::I64), &[list])
}

/// The op that converts elements of type `from` to type `to`.
fn converted(to: Elem, from: Elem) -> Op {
    match to == from {
        true => Identity {}.into(),
        false => Cast { to }.into(),
    }
}

fn size(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let to = reader.elem("out_type")?.unwrap_or(Elem::I32);
    let extents = reader.ty(0)?.shape;
    if let Some(extents) = fixed_dims(&extents) {
        let count = extents
            .iter()
            .try_fold(1i64, |n, &extent| n.checked_mul(i64::try_from(extent).ok()?));
        let count = count.ok_or_else(|| Refusal::invalid(ReasonCode::Limit, "its elements are too many"))?;
        return reader.finish(converted(to, Elem::I64), &[Arg::Constant(TensorData::scalar(count))]);
    }
    let list = reader.push(ShapeOf {}, &[Arg::Operand(0)])?;
    let count = reader.push(reduction_over(Reduction::Product, &[0], false), &[list])?;
    reader.finish(converted(to, Elem::I64), &[count])
}

fn rank(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rank = reader.rank(0)? as i64;
    reader.finish(Cast { to: Elem::I32 }, &[Arg::Constant(TensorData::scalar(rank))])
}

fn fill(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if let Some(shape) = reader.late_list(0)? {
        let list = reader.indices(0)?;
        return reader.finish(Expand { shape: shape.into() }, &[Arg::Operand(1), list]);
    }
    let shape = reader.known_ints(0, "shape")?;
    let shape = shape.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the shape is missing"))?;
    reader.finish(Expand { shape: shape.into() }, &[Arg::Operand(1)])
}

/// Reads an operator whose result has the shape and the type of the operand, with all elements equal to `value`.
fn like(reader: &mut OperatorReader<'_, '_>, value: f64) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let extents = reader.extents(&x)?;
    let elem = reader.arg_type(&x)?.elem;
    let number = reader.number(&x, value)?;
    let number = reader.converted(&number, elem)?;
    reader.finish(Expand { shape: extents.into() }, &[number])
}

fn tile(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let counts = reader.known_ints(1, "number of copies")?.unwrap_or_default();
    let (op, args) = reader.tiled(Arg::Operand(0), &counts)?;
    reader.finish(op, &args)
}

/// Reads a one-hot encoding along a new axis: one value at the position that the index gives, and another value
/// elsewhere. If an index is outside of the axis, all positions have the other value.
fn one_hot(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let depth = reader.given_int(1, "depth")?.max(0);
    let axis = reader.int("axis")?.unwrap_or(-1);
    let is_there = reader.is_at(&Arg::Operand(0), axis, depth)?;
    reader.finish(Select {}, &[is_there, Arg::Operand(2), Arg::Operand(3)])
}
