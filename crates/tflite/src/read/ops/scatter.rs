//! Reads operators that put elements or slices into a tensor.

use super::Row;
use super::shape::spread;
use crate::read::site::{Arg, Refusal, Site};
use strait_core::op::{BinaryFunction, Combination, Relation, Scatter, ScatterBy};
use strait_core::{Elem, ReasonCode};

pub(super) const ROWS: &[Row] = &[
    Row::new("SCATTER_ND", 1, scatter_nd),
    Row::new("SPARSE_TO_DENSE", 3, sparse_to_dense),
    Row::new("DYNAMIC_UPDATE_SLICE", 6, update_slice),
    Row::new("SEGMENT_SUM", 1, segment_sum),
    Row::new("UNSORTED_SEGMENT_SUM", 1, |site| segments(site, Combination::Add)),
    Row::new("UNSORTED_SEGMENT_PROD", 1, |site| segments(site, Combination::Multiply)),
    Row::new("UNSORTED_SEGMENT_MAX", 1, |site| segments(site, Combination::Maximum)),
    Row::new("UNSORTED_SEGMENT_MIN", 1, |site| segments(site, Combination::Minimum)),
];

fn operands(text: impl Into<String>) -> Refusal {
    Refusal::invalid(ReasonCode::Operands, text)
}

/// Combines slices into a tensor that is filled with one number. The last axis of `places` has the coordinates.
/// Integers are combined as i64, and converted back to the type of the updates.
fn combined(
    site: &mut Site<'_, '_>,
    combine: Combination,
    number: f64,
    shape: &[i64],
    places: &Arg,
    updates: &Arg,
) -> Result<Arg, Refusal> {
    let elem = site.arg_type(updates)?.elem;
    let updates = match elem.is_float() {
        true => updates.clone(),
        false => site.converted(updates, Elem::I64)?,
    };
    let number = site.number(&updates, number)?;
    let base = spread(site, &number, shape)?;
    let op = Scatter {
        by: ScatterBy::Slice,
        axis: 0,
        combine,
    };
    let result = site.push(op, &[base, places.clone(), updates])?;
    site.converted(&result, elem)
}

/// Scatters updates into zeros. Operands: places, updates, and the shape of the result. Updates at the same place are
/// added.
fn scatter_nd(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let shape = site.known_ints(2, "shape")?.unwrap_or_default();
    let places = site.indices(0)?;
    let result = combined(site, Combination::Add, 0.0, &shape, &places, &Arg::Operand(1))?;
    site.finish_value(&result)
}

/// Makes a dense tensor. Operands: places, the shape of the result, the elements at the places (or one for all), and
/// the element elsewhere.
fn sparse_to_dense(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    site.one_type([2, 3])?;
    let shape = site.known_ints(1, "shape")?.unwrap_or_default();
    let places = site.indices(0)?;
    let extents = site.extents(&places)?;
    let rows = match extents.as_slice() {
        [] => 1,
        [rows] | [rows, _] => *rows,
        _ => return Err(operands("its places are no list")),
    };
    let width = extents.get(1).copied().unwrap_or(1);
    let places = site.reshaped(&places, &[rows, width])?;
    let elements = match site.rank(2)? {
        0 => spread(site, &Arg::Operand(2), &[rows])?,
        _ => Arg::Operand(2),
    };
    let base = spread(site, &Arg::Operand(3), &shape)?;
    let op = Scatter {
        by: ScatterBy::Slice,
        axis: 0,
        combine: Combination::Replace,
    };
    site.finish(op, &[base, places, elements])
}

/// Writes a slice into x. Operands: x, the slice, and where it begins. The begin is moved so that the slice fits.
/// Trailing axes that the slice fills need no coordinate.
fn update_slice(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    site.one_type([0, 1])?;
    let (x, update) = (site.extents(&Arg::Operand(0))?, site.extents(&Arg::Operand(1))?);
    if x.len() != update.len() || x.iter().zip(&update).any(|(x, update)| update > x) {
        return Err(operands(format!("a slice {update:?} does not fit into {x:?}")));
    }
    if update.contains(&0) {
        return site.finish_value(&Arg::Operand(0));
    }
    let Some(last) = (0..x.len()).rev().find(|&axis| x[axis] != update[axis]) else {
        return site.finish_value(&Arg::Operand(1));
    };
    let axes = last + 1;
    let mut shape: Vec<u64> = update[..axes].iter().map(|extent| extent.unsigned_abs()).collect();
    shape.push(axes as u64);
    let count = site.room(&shape)?;
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
    let coordinates = Arg::Constant(site.integers(&shape, &coordinates)?);
    let most: Vec<i64> = x[..axes].iter().zip(&update).map(|(x, update)| x - update).collect();
    let most = Arg::Constant(site.integers(&[axes as u64], &most)?);
    let starts = site.indices(2)?;
    let starts = site.part(&starts, 0, 0, axes as i64)?;
    let zero = site.number(&starts, 0.0)?;
    let starts = site.binary(BinaryFunction::Maximum, &starts, &zero)?;
    let starts = site.binary(BinaryFunction::Minimum, &starts, &most)?;
    let places = site.plus(&coordinates, &starts)?;
    let op = Scatter {
        by: ScatterBy::Slice,
        axis: 0,
        combine: Combination::Replace,
    };
    site.finish(op, &[Arg::Operand(0), places, Arg::Operand(1)])
}

/// Sums rows by segment. Each row has the number of its segment; numbers increase by at most 1 from row to row.
fn segment_sum(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let numbers = site.known_ints(1, "segments")?.unwrap_or_default();
    let mut next = 0;
    for &number in &numbers {
        if number != next && number + 1 != next {
            return Err(operands(format!(
                "segment {number} does not follow those in front of it"
            )));
        }
        next = number + 1;
    }
    let mut shape = site.extents(&Arg::Operand(0))?;
    let Some(rows) = shape.first_mut().filter(|rows| **rows == numbers.len() as i64) else {
        return Err(operands(format!("{} segments are not one for each row", numbers.len())));
    };
    *rows = next;
    let places = site.indices(1)?;
    let places = site.unsqueezed(&places, &[1])?;
    let result = combined(site, Combination::Add, 0.0, &shape, &places, &Arg::Operand(0))?;
    site.finish_value(&result)
}

/// Combines slices by segment. Operands: x, the segment of each slice, and the number of segments. A negative segment
/// means that the slice is ignored.
fn segments(site: &mut Site<'_, '_>, combine: Combination) -> Result<(), Refusal> {
    let count = super::reduce::known_int(site, 2, "count")?;
    let axes = site.rank(1)?;
    let mut shape = vec![count];
    shape.extend(site.extents(&Arg::Operand(0))?.get(axes..).unwrap_or_default());
    let mut places = site.indices(1)?;
    let known = site.constant(1)?.map(|numbers| numbers.to_i64()).transpose()?;
    let all_have = known.is_some_and(|numbers| numbers.iter().all(|&number| number >= 0));
    if !all_have {
        // Ignored slices go into an extra segment at the end, which is cut off.
        let (zero, last) = (site.number(&places, 0.0)?, site.number(&places, count as f64)?);
        let has_none = site.compare(Relation::Less, &places, &zero)?;
        places = site.select(&has_none, &last, &places)?;
        shape[0] = count.saturating_add(1);
    }
    let places = site.unsqueezed(&places, &[-1])?;
    let number = neutral(combine, site.ty(0)?.elem)?;
    let result = combined(site, combine, number, &shape, &places, &Arg::Operand(0))?;
    match all_have {
        true => site.finish_value(&result),
        false => {
            let result = site.part(&result, 0, 0, count)?;
            site.finish_value(&result)
        }
    }
}

/// The result for a segment without elements.
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
