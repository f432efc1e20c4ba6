//! Reads operators that compare and select.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::ReasonCode;
use strait_core::op::{BinaryFunction, Cast, Mul, Relation, Select};

pub(super) const ROWS: &[Row] = &[
    Row::new("ThresholdedRelu", 10, thresholded_relu).and(&[22]),
    Row::new("Shrink", 9, shrink),
    Row::new("Trilu", 14, trilu),
    Row::new("OneHot", 9, one_hot).and(&[11, 28]),
    Row::new("CastLike", 15, |site| {
        // These attributes say how 8-bit floats are rounded, which we do not read.
        site.ignore(&["saturate", "round_mode"]);
        let to = site.ty(1)?.elem;
        site.finish(Cast { to }, &[Arg::Operand(0)])
    })
    .and(&[19, 21, 23, 24, 25]),
    Row::new("Mean", 6, mean).and(&[8, 13]),
];

/// x where it is above alpha, and 0 elsewhere.
fn thresholded_relu(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let alpha = site.float("alpha")?.unwrap_or(1.0);
    above(site, Arg::Operand(0), alpha)
}

pub(super) fn above(site: &mut NodeReader<'_, '_>, x: Arg, alpha: f32) -> Result<(), Refusal> {
    let (alpha, zero) = (site.number(&x, alpha.into())?, site.number(&x, 0.0)?);
    let above = site.compare(Relation::Less, &alpha, &x)?;
    site.finish(Select {}, &[above, x, zero])
}

/// x + bias below −lambd, x − bias above lambd, and 0 in between.
fn shrink(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let (lambda, bias) = (site.float("lambd")?.unwrap_or(0.5), site.float("bias")?.unwrap_or(0.0));
    if !site.ty(0)?.elem.is_float() {
        return Err(Refusal::unsupported("it shrinks integers; floats are read"));
    }
    let (low, high) = (site.number(&x, f64::from(-lambda))?, site.number(&x, lambda.into())?);
    let zero = site.number(&x, 0.0)?;
    let raised = site.shifted(&x, bias.into())?;
    let lowered = site.shifted(&x, f64::from(-bias))?;
    let above = site.compare(Relation::Less, &high, &x)?;
    let rest = site.select(&above, &lowered, &zero)?;
    let below = site.compare(Relation::Less, &x, &low)?;
    site.finish(Select {}, &[below, raised, rest])
}

/// The upper or the lower triangle of matrices, starting at diagonal `k`; all other elements are 0.
pub(super) fn trilu(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let upper = site.int("upper")?.unwrap_or(1) != 0;
    let x = Arg::Operand(0);
    let extents = site.extents(&x)?;
    let &[.., rows, columns] = extents.as_slice() else {
        return Err(Refusal::invalid(ReasonCode::Axis, "the operand needs rank 2 or more"));
    };
    let shape = [rows, columns].map(i64::unsigned_abs);
    site.room(&shape)?;
    // For each element: the diagonal that it lies on.
    let positions = (0..rows).flat_map(|row| (0..columns).map(move |column| column - row));
    let known = match site.has(1) {
        true => site.constant(1)?.map(|k| k.to_i64()).transpose()?,
        false => Some(vec![0]),
    };
    let kept = match known.as_deref() {
        Some(&[k]) => {
            let kept: Vec<bool> = positions.map(|d| if upper { d >= k } else { d <= k }).collect();
            Arg::Constant(site.truths(&shape, &kept)?)
        }
        Some(_) => return Err(Refusal::invalid(ReasonCode::OperandType, "`k` is not a single number")),
        None => {
            let diagonals: Vec<i64> = positions.collect();
            let diagonals = Arg::Constant(site.integers(&shape, &diagonals)?);
            let k = site.indices(1)?;
            let k = site.reshaped(&k, &[])?;
            match upper {
                true => site.compare(Relation::LessOrEqual, &k, &diagonals)?,
                false => site.compare(Relation::LessOrEqual, &diagonals, &k)?,
            }
        }
    };
    let zero = zero_like(site, &x)?;
    site.finish(Select {}, &[kept, x, zero])
}

/// A 0 with exactly the type of a value.
fn zero_like(site: &mut NodeReader<'_, '_>, x: &Arg) -> Result<Arg, Refusal> {
    let zero = site.number(x, 0.0)?;
    let elem = site.arg_type(x)?.elem;
    site.converted(&zero, elem)
}

/// One-hot encoding: the second of two values at the index along a new axis, and the first one elsewhere. A negative
/// index counts from the end; an index outside of the axis is nowhere.
fn one_hot(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let depth = site
        .known(1, "depth")?
        .map(|depth| depth.to_f32().map(|depth| depth.first().copied()));
    let depth = match depth {
        Some(Ok(Some(depth))) if depth >= 0.0 => depth as i64,
        _ => {
            let known = site.known_ints(1, "depth")?.unwrap_or_default();
            match known.as_slice() {
                &[depth] if depth >= 0 => depth,
                _ => {
                    return Err(Refusal::invalid(
                        ReasonCode::OperandType,
                        "the depth is not one number that is 0 or more",
                    ));
                }
            }
        }
    };
    let rank = site.rank(0)? + 1;
    let axis = site.int("axis")?.unwrap_or(-1);
    let axis = site.axis(axis, rank)?;
    let indices = site.converted(&Arg::Operand(0), strait_core::Elem::I64)?;
    let indices = site.unsqueezed(&indices, &[axis as i64])?;
    site.room(&[depth.unsigned_abs()])?;
    let mut shape = vec![1; rank];
    shape[axis] = depth.unsigned_abs();
    let from_start: Vec<i64> = (0..depth).collect();
    let from_end: Vec<i64> = (-depth..0).collect();
    let from_start = Arg::Constant(site.integers(&shape, &from_start)?);
    let from_end = Arg::Constant(site.integers(&shape, &from_end)?);
    let first = site.compare(Relation::Equal, &indices, &from_start)?;
    let second = site.compare(Relation::Equal, &indices, &from_end)?;
    let is_there = site.binary(BinaryFunction::Or, &first, &second)?;
    let values = Arg::Operand(2);
    let off = site.part(&values, 0, 0, 1)?;
    let on = site.part(&values, 0, 1, 2)?;
    let (off, on) = (site.reshaped(&off, &[])?, site.reshaped(&on, &[])?);
    site.finish(Select {}, &[is_there, on, off])
}

/// The mean of all operands: their sum divided by their number.
fn mean(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let count = site.operand_count();
    site.one_type(0..count)?;
    let mut sum = Arg::Operand(0);
    for position in 1..count {
        sum = site.plus(&sum, &Arg::Operand(position))?;
    }
    let share = site.number(&sum, 1.0 / count.max(1) as f64)?;
    site.finish(Mul::float(), &[sum, share])
}
