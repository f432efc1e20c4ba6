//! Reads operators that compare and select.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::ReasonCode;
use strait_core::op::{BinaryFunction, Cast, Mul, Relation, Select};

pub(super) const ROWS: &[Row] = &[
    Row::new("ThresholdedRelu", 10, thresholded_relu).and(&[22]),
    Row::new("Shrink", 9, shrink),
    Row::new("Trilu", 14, trilu),
    Row::new("OneHot", 9, one_hot).and(&[11, 28]),
    Row::new("CastLike", 15, |reader| {
        // These attributes say how numbers are rounded to 8-bit floats, which Strait does not read.
        reader.ignore(&["saturate", "round_mode"]);
        let to = reader.ty(1)?.elem;
        reader.finish(Cast { to }, &[Arg::Operand(0)])
    })
    .and(&[19, 21, 23, 24, 25]),
    Row::new("Mean", 6, mean).and(&[8, 13]),
];

/// Reads ThresholdedRelu: x where x is above alpha, and 0 elsewhere.
fn thresholded_relu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let alpha = reader.float("alpha")?.unwrap_or(1.0);
    above(reader, Arg::Operand(0), alpha)
}

pub(super) fn above(reader: &mut OperatorReader<'_, '_>, x: Arg, alpha: f32) -> Result<(), Refusal> {
    let (alpha, zero) = (reader.number(&x, alpha.into())?, reader.number(&x, 0.0)?);
    let above = reader.compare(Relation::Less, &alpha, &x)?;
    reader.finish(Select {}, &[above, x, zero])
}

/// Reads Shrink: x + bias where x is below −lambd, x − bias where x is above lambd, and 0 in between.
fn shrink(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let (lambda, bias) = (
        reader.float("lambd")?.unwrap_or(0.5),
        reader.float("bias")?.unwrap_or(0.0),
    );
    if !reader.ty(0)?.elem.is_float() {
        return Err(Refusal::unsupported("it shrinks integers; floats are read"));
    }
    let (low, high) = (
        reader.number(&x, f64::from(-lambda))?,
        reader.number(&x, lambda.into())?,
    );
    let zero = reader.number(&x, 0.0)?;
    let raised = reader.shifted(&x, bias.into())?;
    let lowered = reader.shifted(&x, f64::from(-bias))?;
    let above = reader.compare(Relation::Less, &high, &x)?;
    let rest = reader.select(&above, &lowered, &zero)?;
    let below = reader.compare(Relation::Less, &x, &low)?;
    reader.finish(Select {}, &[below, raised, rest])
}

/// Reads Trilu: the upper or the lower triangle of matrices, from diagonal `k` on. All other elements become 0.
pub(super) fn trilu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let upper = reader.int("upper")?.unwrap_or(1) != 0;
    let x = Arg::Operand(0);
    let extents = reader.extents(&x)?;
    let &[.., rows, columns] = extents.as_slice() else {
        return Err(Refusal::invalid(ReasonCode::Axis, "the operand needs rank 2 or more"));
    };
    let shape = [rows, columns].map(i64::unsigned_abs);
    reader.room(&shape)?;
    // For each element, the number of the diagonal that it lies on.
    let positions = (0..rows).flat_map(|row| (0..columns).map(move |column| column - row));
    let known = match reader.has(1) {
        true => reader.constant(1)?.map(|k| k.to_i64()).transpose()?,
        false => Some(vec![0]),
    };
    let kept = match known.as_deref() {
        Some(&[k]) => {
            let kept: Vec<bool> = positions.map(|d| if upper { d >= k } else { d <= k }).collect();
            Arg::Constant(reader.truths(&shape, &kept)?)
        }
        Some(_) => return Err(Refusal::invalid(ReasonCode::OperandType, "`k` is not a single number")),
        None => {
            let diagonals: Vec<i64> = positions.collect();
            let diagonals = Arg::Constant(reader.integers(&shape, &diagonals)?);
            let k = reader.indices(1)?;
            let k = reader.reshaped(&k, &[])?;
            match upper {
                true => reader.compare(Relation::LessOrEqual, &k, &diagonals)?,
                false => reader.compare(Relation::LessOrEqual, &diagonals, &k)?,
            }
        }
    };
    let zero = zero_like(reader, &x)?;
    reader.finish(Select {}, &[kept, x, zero])
}

/// A zero that has exactly the type of `x`.
fn zero_like(reader: &mut OperatorReader<'_, '_>, x: &Arg) -> Result<Arg, Refusal> {
    let zero = reader.number(x, 0.0)?;
    let elem = reader.arg_type(x)?.elem;
    reader.converted(&zero, elem)
}

/// Reads OneHot. Along a new axis, the position that the index gives has the second of two values, and all other
/// positions have the first. A negative index counts from the end. If an index is outside of the axis, all positions
/// have the first value.
fn one_hot(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let depth = reader
        .known(1, "depth")?
        .map(|depth| depth.to_f32().map(|depth| depth.first().copied()));
    let depth = match depth {
        Some(Ok(Some(depth))) if depth >= 0.0 => depth as i64,
        _ => {
            let known = reader.known_ints(1, "depth")?.unwrap_or_default();
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
    let rank = reader.rank(0)? + 1;
    let axis = reader.int("axis")?.unwrap_or(-1);
    let axis = reader.axis(axis, rank)?;
    let indices = reader.converted(&Arg::Operand(0), strait_core::Elem::I64)?;
    let indices = reader.unsqueezed(&indices, &[axis as i64])?;
    reader.room(&[depth.unsigned_abs()])?;
    let mut shape = vec![1; rank];
    shape[axis] = depth.unsigned_abs();
    let from_start: Vec<i64> = (0..depth).collect();
    let from_end: Vec<i64> = (-depth..0).collect();
    let from_start = Arg::Constant(reader.integers(&shape, &from_start)?);
    let from_end = Arg::Constant(reader.integers(&shape, &from_end)?);
    let first = reader.compare(Relation::Equal, &indices, &from_start)?;
    let second = reader.compare(Relation::Equal, &indices, &from_end)?;
    let is_there = reader.binary(BinaryFunction::Or, &first, &second)?;
    let values = Arg::Operand(2);
    let off = reader.part(&values, 0, 0, 1)?;
    let on = reader.part(&values, 0, 1, 2)?;
    let (off, on) = (reader.reshaped(&off, &[])?, reader.reshaped(&on, &[])?);
    reader.finish(Select {}, &[is_there, on, off])
}

/// Reads Mean: the sum of all operands, divided by their number.
fn mean(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let count = reader.operand_count();
    reader.one_type(0..count)?;
    let mut sum = Arg::Operand(0);
    for position in 1..count {
        sum = reader.plus(&sum, &Arg::Operand(position))?;
    }
    let share = reader.number(&sum, 1.0 / count.max(1) as f64)?;
    reader.finish(Mul::float(), &[sum, share])
}
