//! Reads elementwise arithmetic, comparisons and selections.

use strait_core::op::{Add, BinaryFunction, Cast, Clip, Div, Mul, Op, Pow, Relation, Select, Sub};
use strait_core::{Elem, ReasonCode};
use strait_import::{Arg, Refusal};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("Add", |reader| binary(reader, Add {})),
    ("AddV2", |reader| binary(reader, Add {})),
    ("AddN", sum),
    ("Sub", |reader| binary(reader, Sub {})),
    ("Mul", |reader| binary(reader, Mul::float())),
    ("Div", |reader| binary(reader, Div {})),
    ("RealDiv", |reader| binary(reader, Div {})),
    ("TruncateDiv", |reader| binary(reader, Div {})),
    ("DivNoNan", divided_or_zero),
    ("FloorDiv", |reader| reader.finish_floor_div()),
    ("Mod", |reader| binary(reader, BinaryFunction::Remainder)),
    ("TruncateMod", |reader| binary(reader, BinaryFunction::Remainder)),
    ("FloorMod", |reader| binary(reader, BinaryFunction::Modulo)),
    ("Pow", |reader| binary(reader, Pow {})),
    ("SquaredDifference", |reader| reader.finish_squared_difference()),
    ("Maximum", |reader| extreme(reader, BinaryFunction::Maximum)),
    ("Minimum", |reader| extreme(reader, BinaryFunction::Minimum)),
    ("ClipByValue", clip),
    ("Equal", |reader| compare(reader, Relation::Equal, [0, 1])),
    ("NotEqual", not_equal),
    ("Less", |reader| compare(reader, Relation::Less, [0, 1])),
    ("LessEqual", |reader| compare(reader, Relation::LessOrEqual, [0, 1])),
    ("Greater", |reader| compare(reader, Relation::Less, [1, 0])),
    ("GreaterEqual", |reader| compare(reader, Relation::LessOrEqual, [1, 0])),
    ("LogicalAnd", |reader| logical(reader, BinaryFunction::And)),
    ("LogicalOr", |reader| logical(reader, BinaryFunction::Or)),
    ("LogicalNot", not),
    ("Select", select),
    ("SelectV2", |reader| {
        reader.finish(Select {}, &[0, 1, 2].map(Arg::Operand))
    }),
    ("Cast", cast),
];

fn binary(reader: &mut OperatorReader<'_, '_>, op: impl Into<Op>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    reader.finish(op, &[Arg::Operand(0), Arg::Operand(1)])
}

fn sum(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["N"]);
    reader.finish_from_left(Add {})
}

/// Reads a division whose result is 0 if the divisor is 0.
fn divided_or_zero(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let (x, y) = (Arg::Operand(0), Arg::Operand(1));
    let (zero, one) = (reader.number(&y, 0.0)?, reader.number(&y, 1.0)?);
    let is_zero = reader.compare(Relation::Equal, &y, &zero)?;
    let divisor = reader.select(&is_zero, &one, &y)?;
    let quotient = reader.over(&x, &divisor)?;
    reader.finish(Select {}, &[is_zero, zero, quotient])
}

/// Reads a maximum or minimum. If one operand is a single constant number, the operator becomes a clip, which targets
/// support.
fn extreme(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    match reader.finish_as_clip(function)? {
        true => Ok(()),
        false => binary(reader, function),
    }
}

fn clip(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1, 2])?;
    let is_float = reader.ty(0)?.elem.is_float();
    if is_float
        && let (Some(min), Some(max)) = (reader.constant(1)?, reader.constant(2)?)
        && min.len() == 1
        && max.len() == 1
    {
        let (min, max) = (
            reader.known_float(1, "lower bound")?,
            reader.known_float(2, "upper bound")?,
        );
        let (min, max) = (min.unwrap_or(f32::NEG_INFINITY), max.unwrap_or(f32::INFINITY));
        return reader.finish(Clip { min, max }, &[Arg::Operand(0)]);
    }
    let below = reader.binary(BinaryFunction::Minimum, &Arg::Operand(0), &Arg::Operand(2))?;
    reader.finish(BinaryFunction::Maximum, &[below, Arg::Operand(1)])
}

fn compare(reader: &mut OperatorReader<'_, '_>, relation: Relation, order: [usize; 2]) -> Result<(), Refusal> {
    // The attribute says what happens if the shapes do not fit each other. Shape inference always refuses such shapes.
    reader.ignore(&["incompatible_shape_error"]);
    reader.one_type([0, 1])?;
    reader.finish(relation, &order.map(Arg::Operand))
}

fn not_equal(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["incompatible_shape_error"]);
    reader.one_type([0, 1])?;
    let equal = reader.compare(Relation::Equal, &Arg::Operand(0), &Arg::Operand(1))?;
    reader.finish_negated(equal)
}

fn not(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    truths(reader, &[0])?;
    reader.finish_negated(Arg::Operand(0))
}

fn logical(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    truths(reader, &[0, 1])?;
    reader.finish(function, &[Arg::Operand(0), Arg::Operand(1)])
}

/// Refuses the operands at these positions unless they are booleans.
fn truths(reader: &mut OperatorReader<'_, '_>, positions: &[usize]) -> Result<(), Refusal> {
    for &position in positions {
        let elem = reader.ty(position)?.elem;
        if elem != Elem::Bool {
            let text = format!("operand {position} is of type {elem}, and not of truth values");
            return Err(Refusal::invalid(ReasonCode::OperandType, text));
        }
    }
    Ok(())
}

/// Reads a selection. The condition may be a list with one entry for each position of the first axis; it is then
/// broadcast along the other axes.
fn select(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (condition, rank) = (reader.rank(0)?, reader.rank(1)?);
    let mut args = [0, 1, 2].map(Arg::Operand);
    if condition == 1 && rank > 1 {
        let behind: Vec<i64> = (1..rank as i64).collect();
        args[0] = reader.unsqueezed(&args[0], &behind)?;
    }
    reader.finish(Select {}, &args)
}

/// Reads a cast. Floats are truncated to integers, in TensorFlow as in the IR. The attribute `Truncate` concerns casts
/// to narrower floats, which do not occur here.
fn cast(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["Truncate"]);
    let to = reader.elem("DstT")?;
    let to = to.ok_or_else(|| Refusal::invalid(ReasonCode::AttributeType, "`DstT` is missing"))?;
    let from = reader.ty(0)?.elem;
    let to = match to {
        // 16-bit floats are read as f32, because ops compute in f32.
        Elem::F16 | Elem::BF16 => Elem::F32,
        other => other,
    };
    match from == to {
        true => reader.finish(strait_core::op::Identity {}, &[Arg::Operand(0)]),
        false => reader.finish(Cast { to }, &[Arg::Operand(0)]),
    }
}
