//! Reads operators that write elements or slices into a tensor.

use super::Row;
use super::shape::spread;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal};
use strait_core::op::{BinaryFunction, Combination, Relation};
use strait_core::{Elem, ReasonCode};
use strait_import::scatter_slices;

pub(super) const ROWS: &[Row] = &[
    Row::new("SCATTER_ND", 1, scatter_nd),
    Row::new("SPARSE_TO_DENSE", 3, sparse_to_dense),
    Row::new("DYNAMIC_UPDATE_SLICE", 6, update_slice).on_one_grid(),
    Row::new("SEGMENT_SUM", 1, segment_sum),
    Row::new("UNSORTED_SEGMENT_SUM", 1, |reader| segments(reader, Combination::Add)),
    Row::new("UNSORTED_SEGMENT_PROD", 1, |reader| {
        segments(reader, Combination::Multiply)
    }),
    Row::new("UNSORTED_SEGMENT_MAX", 1, |reader| {
        segments(reader, Combination::Maximum)
    }),
    Row::new("UNSORTED_SEGMENT_MIN", 1, |reader| {
        segments(reader, Combination::Minimum)
    }),
];

fn operands(text: impl Into<String>) -> Refusal {
    Refusal::invalid(ReasonCode::Operands, text)
}

/// Makes a tensor of the shape `shape` whose elements are all `number`, and combines the slices `updates` with it.
/// Along its last axis, `places` has the coordinates at which a slice begins. Integers are combined as i64, and
/// converted back to the type of the updates.
fn combined(
    reader: &mut OperatorReader<'_, '_>,
    combine: Combination,
    number: f64,
    shape: &[i64],
    places: &Arg,
    updates: &Arg,
) -> Result<Arg, Refusal> {
    let elem = reader.arg_type(updates)?.elem;
    let updates = match elem.is_float() {
        true => updates.clone(),
        false => reader.converted(updates, Elem::I64)?,
    };
    let number = reader.number(&updates, number)?;
    let base = spread(reader, &number, shape)?;
    let op = scatter_slices(combine);
    let result = reader.push(op, &[base, places.clone(), updates])?;
    reader.converted(&result, elem)
}

/// Reads an operator that scatters updates into a tensor of zeros. Operands: the places, the updates, and the shape of
/// the result. Updates for the same place are added.
fn scatter_nd(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let shape = reader.known_ints(2, "shape")?.unwrap_or_default();
    let places = reader.indices(0)?;
    let result = combined(reader, Combination::Add, 0.0, &shape, &places, &Arg::Operand(1))?;
    reader.finish_value(&result)
}

/// Reads an operator that makes a dense tensor from a sparse one. Operands: the places, the shape of the result, the
/// elements at these places (or one element for all of them), and the element for all other places.
fn sparse_to_dense(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([2, 3])?;
    let shape = reader.known_ints(1, "shape")?.unwrap_or_default();
    let places = reader.indices(0)?;
    let extents = reader.extents(&places)?;
    let rows = match extents.as_slice() {
        [] => 1,
        [rows] | [rows, _] => *rows,
        _ => return Err(operands("its places are no list")),
    };
    let width = extents.get(1).copied().unwrap_or(1);
    let places = reader.reshaped(&places, &[rows, width])?;
    let elements = match reader.rank(2)? {
        0 => spread(reader, &Arg::Operand(2), &[rows])?,
        _ => Arg::Operand(2),
    };
    let base = spread(reader, &Arg::Operand(3), &shape)?;
    let op = scatter_slices(Combination::Replace);
    reader.finish(op, &[base, places, elements])
}

/// Reads an operator that writes a slice into x. Operands: x, the slice, and the position where it begins. If a part of
/// the slice would lie outside of x, the slice is moved so that all of it lies inside. The last axes need no coordinate
/// if the slice fills them.
fn update_slice(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let (x, update) = (reader.extents(&Arg::Operand(0))?, reader.extents(&Arg::Operand(1))?);
    if x.len() != update.len() || x.iter().zip(&update).any(|(x, update)| update > x) {
        return Err(operands(format!("a slice {update:?} does not fit into {x:?}")));
    }
    if update.contains(&0) {
        return reader.finish_value(&Arg::Operand(0));
    }
    let Some(last) = (0..x.len()).rev().find(|&axis| x[axis] != update[axis]) else {
        return reader.finish_value(&Arg::Operand(1));
    };
    let axes = last + 1;
    let mut shape: Vec<u64> = update[..axes].iter().map(|extent| extent.unsigned_abs()).collect();
    shape.push(axes as u64);
    let count = reader.room(&shape)?;
    let mut coordinates = Vec::with_capacity(count);
    let mut at = vec![0; axes];
    while coordinates.len() < count {
        coordinates.extend_from_slice(&at);
        for axis in (0..axes).rev() {
            at[axis] += 1;
            if at[axis] < update[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
    let coordinates = Arg::Constant(reader.integers(&shape, &coordinates)?);
    let most: Vec<i64> = x[..axes].iter().zip(&update).map(|(x, update)| x - update).collect();
    let most = Arg::Constant(reader.integers(&[axes as u64], &most)?);
    let starts = reader.indices(2)?;
    let starts = reader.part(&starts, 0, 0, axes as i64)?;
    let zero = reader.number(&starts, 0.0)?;
    let starts = reader.binary(BinaryFunction::Maximum, &starts, &zero)?;
    let starts = reader.binary(BinaryFunction::Minimum, &starts, &most)?;
    let places = reader.plus(&coordinates, &starts)?;
    let op = scatter_slices(Combination::Replace);
    reader.finish(op, &[Arg::Operand(0), places, Arg::Operand(1)])
}

/// Reads a sum of rows by segment. The second operand has the number of the segment of each row. From one row to the
/// next, this number increases by at most 1.
fn segment_sum(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let numbers = reader.known_ints(1, "segments")?.unwrap_or_default();
    let mut next = 0;
    for &number in &numbers {
        if number != next && number + 1 != next {
            return Err(operands(format!(
                "segment {number} does not follow those in front of it"
            )));
        }
        next = number + 1;
    }
    let mut shape = reader.extents(&Arg::Operand(0))?;
    let Some(rows) = shape.first_mut().filter(|rows| **rows == numbers.len() as i64) else {
        return Err(operands(format!("{} segments are not one for each row", numbers.len())));
    };
    *rows = next;
    let places = reader.indices(1)?;
    let places = reader.unsqueezed(&places, &[1])?;
    let result = combined(reader, Combination::Add, 0.0, &shape, &places, &Arg::Operand(0))?;
    reader.finish_value(&result)
}

/// Reads an operator that combines the slices of each segment. Operands: x, the segment of each slice, and the number
/// of segments. A slice whose segment is negative is ignored.
fn segments(reader: &mut OperatorReader<'_, '_>, combine: Combination) -> Result<(), Refusal> {
    let count = reader.given_int(2, "count")?;
    let axes = reader.rank(1)?;
    let mut shape = vec![count];
    shape.extend(reader.extents(&Arg::Operand(0))?.get(axes..).unwrap_or_default());
    let mut places = reader.indices(1)?;
    let known = reader.constant(1)?.map(|numbers| numbers.to_i64()).transpose()?;
    let all_have = known.is_some_and(|numbers| numbers.iter().all(|&number| number >= 0));
    if !all_have {
        // Ignored slices are put into an extra segment at the end, which is cut off afterwards.
        let (zero, last) = (reader.number(&places, 0.0)?, reader.number(&places, count as f64)?);
        let has_none = reader.compare(Relation::Less, &places, &zero)?;
        places = reader.select(&has_none, &last, &places)?;
        shape[0] = count.saturating_add(1);
    }
    let places = reader.unsqueezed(&places, &[-1])?;
    let number = neutral(combine, reader.ty(0)?.elem)?;
    let result = combined(reader, combine, number, &shape, &places, &Arg::Operand(0))?;
    if all_have {
        reader.finish_value(&result)
    } else {
        let result = reader.part(&result, 0, 0, count)?;
        reader.finish_value(&result)
    }
}

/// Returns the neutral element of a combination. The result has this number for a segment without slices.
fn neutral(combine: Combination, elem: Elem) -> Result<f64, Refusal> {
    let ends = match elem {
        Elem::F32 => (f32::MIN.into(), f32::MAX.into()),
        Elem::I32 => (i32::MIN.into(), i32::MAX.into()),
        other => return Err(Refusal::unsupported(format!("it takes segments of {other}"))),
    };
    Ok(match combine {
        Combination::Replace | Combination::Add => 0.0,
        Combination::Multiply => 1.0,
        Combination::Maximum => ends.0,
        Combination::Minimum => ends.1,
    })
}
