//! Reads operators that make tensors from shapes and numbers.

use strait_core::op::Reduction;
use strait_core::op::{Cast, Expand, Identity, Op, Range, Select, ShapeOf};
use strait_core::shape::fixed_dims;
use strait_core::{Elem, ReasonCode, TensorData};
use strait_import::{Arg, Refusal, reduction_over};

use super::Row;
use super::shape::one;
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("Shape", |node| {
        let to = node.elem("out_type")?.unwrap_or(Elem::I32);
        shape(node, 0, to)
    }),
    ("ShapeN", |node| {
        node.ignore(&["N"]);
        let to = node.elem("out_type")?.unwrap_or(Elem::I32);
        (0..node.operand_count()).try_for_each(|position| shape(node, position, to))
    }),
    ("Size", size),
    ("Rank", rank),
    ("Fill", fill),
    ("ZerosLike", |node| like(node, 0.0)),
    ("OnesLike", |node| like(node, 1.0)),
    ("Range", |node| {
        node.one_type([0, 1, 2])?;
        node.finish(Range {}, &[0, 1, 2].map(Arg::Operand))
    }),
    ("Tile", tile),
    ("OneHot", one_hot),
];

/// The shape of an operand. It is a constant if all extents are known.
fn shape(node: &mut Node<'_, '_>, position: usize, to: Elem) -> Result<(), Refusal> {
    let extents = node.ty(position)?.shape;
    let list = match fixed_dims(&extents) {
        Some(extents) => {
            let values: Vec<i64> = extents.iter().map(|&extent| extent as i64).collect();
            Arg::Constant(node.integers(&[values.len() as u64], &values)?)
        }
        None => node.push(ShapeOf {}, &[Arg::Operand(position)])?,
    };
    node.finish_result(position, converted(to, Elem::I64), &[list])
}

/// The op that converts elements of one type to another.
fn converted(to: Elem, from: Elem) -> Op {
    match to == from {
        true => Identity {}.into(),
        false => Cast { to }.into(),
    }
}

fn size(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let to = node.elem("out_type")?.unwrap_or(Elem::I32);
    let extents = node.ty(0)?.shape;
    if let Some(extents) = fixed_dims(&extents) {
        let count = extents
            .iter()
            .try_fold(1i64, |n, &extent| n.checked_mul(i64::try_from(extent).ok()?));
        let count = count.ok_or_else(|| Refusal::invalid(ReasonCode::Limit, "its elements are too many"))?;
        return node.finish(converted(to, Elem::I64), &[Arg::Constant(TensorData::scalar(count))]);
    }
    let list = node.push(ShapeOf {}, &[Arg::Operand(0)])?;
    let count = node.push(reduction_over(Reduction::Product, &[0], false), &[list])?;
    node.finish(converted(to, Elem::I64), &[count])
}

fn rank(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let rank = node.rank(0)? as i64;
    node.finish(Cast { to: Elem::I32 }, &[Arg::Constant(TensorData::scalar(rank))])
}

fn fill(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    if let Some(shape) = node.late_list(0)? {
        let list = node.indices(0)?;
        return node.finish(Expand { shape: shape.into() }, &[Arg::Operand(1), list]);
    }
    let shape = node.known_ints(0, "shape")?;
    let shape = shape.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, "the shape is missing"))?;
    node.finish(Expand { shape: shape.into() }, &[Arg::Operand(1)])
}

/// A tensor filled with one number, with the shape and the type of the operand.
fn like(node: &mut Node<'_, '_>, value: f64) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let extents = node.extents(&x)?;
    let elem = node.arg_type(&x)?.elem;
    let number = node.number(&x, value)?;
    let number = node.converted(&number, elem)?;
    node.finish(Expand { shape: extents.into() }, &[number])
}

fn tile(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let counts = node.known_ints(1, "number of copies")?.unwrap_or_default();
    let (op, args) = node.tiled(Arg::Operand(0), &counts)?;
    node.finish(op, &args)
}

/// One-hot encoding: one value at the index along a new axis, and another value elsewhere. An index outside of the axis
/// is nowhere.
fn one_hot(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let depth = one(node, 1, "depth")?.max(0);
    let axis = node.int("axis")?.unwrap_or(-1);
    let is_there = node.is_at(&Arg::Operand(0), axis, depth)?;
    node.finish(Select {}, &[is_there, Arg::Operand(2), Arg::Operand(3)])
}
