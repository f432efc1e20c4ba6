//! Reads elementwise arithmetic, comparisons and selections.

use strait_core::op::{
    Add, Binary, BinaryFunction, Cast, Clip, Compare, Div, Function, Mul, Op, Pow, Relation, Select, Sub, Unary,
};
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
    ("FloorDiv", floor_div),
    ("Mod", |reader| remainder(reader, BinaryFunction::Remainder)),
    ("TruncateMod", |reader| remainder(reader, BinaryFunction::Remainder)),
    ("FloorMod", |reader| remainder(reader, BinaryFunction::Modulo)),
    ("Pow", |reader| binary(reader, Pow {})),
    ("SquaredDifference", squared_difference),
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
    let count = reader.operand_count();
    reader.one_type(0..count)?;
    let mut sum = Arg::Operand(0);
    for position in 1..count.saturating_sub(1) {
        sum = reader.plus(&sum, &Arg::Operand(position))?;
    }
    match count {
        0 => Err(Refusal::invalid(ReasonCode::MissingOperand, "it has no operands")),
        1 => reader.finish(strait_core::op::Identity {}, &[sum]),
        _ => reader.finish(Add {}, &[sum, Arg::Operand(count - 1)]),
    }
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

/// Reads a division that is rounded down. For integers it is (x − x mod y) / y, where the remainder has the sign of the
/// divisor.
fn floor_div(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let (x, y) = (Arg::Operand(0), Arg::Operand(1));
    if reader.ty(0)?.elem.is_float() {
        let quotient = reader.over(&x, &y)?;
        let function = Function::Floor;
        return reader.finish(Unary { function }, &[quotient]);
    }
    let remainder = reader.binary(BinaryFunction::Modulo, &x, &y)?;
    let multiple = reader.minus(&x, &remainder)?;
    reader.finish(Div {}, &[multiple, y])
}

fn remainder(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    binary(reader, Binary { function })
}

fn squared_difference(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let difference = reader.minus(&Arg::Operand(0), &Arg::Operand(1))?;
    reader.finish(Mul::float(), &[difference.clone(), difference])
}

/// Reads a maximum or minimum. If one operand is a single constant number, the operator becomes a clip, which targets
/// support.
fn extreme(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let Some((value, bound)) = bound(reader)? else {
        return reader.finish(Binary { function }, &[Arg::Operand(0), Arg::Operand(1)]);
    };
    let (mut min, mut max) = (f32::NEG_INFINITY, f32::INFINITY);
    match function {
        BinaryFunction::Maximum => min = bound,
        _ => max = bound,
    }
    reader.finish(Clip { min, max }, &[Arg::Operand(value)])
}

/// For two operands of which one is a single constant number and the other is not a constant: the position of the one
/// that is not constant, and the number.
fn bound(reader: &mut OperatorReader<'_, '_>) -> Result<Option<(usize, f32)>, Refusal> {
    for (value, number) in [(0, 1), (1, 0)] {
        let rank = reader.rank(value)?;
        let Some(tensor) = reader.constant(number)? else {
            continue;
        };
        let is_value = reader.constant(value)?.is_none();
        // The number must not have a higher rank than the value, because it would then raise the rank of the result.
        if is_value && tensor.len() == 1 && tensor.shape().len() <= rank && tensor.elem().is_float() {
            return Ok(reader.known_float(number, "bound")?.map(|number| (value, number)));
        }
    }
    Ok(None)
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
    let function = BinaryFunction::Maximum;
    reader.finish(Binary { function }, &[below, Arg::Operand(1)])
}

fn compare(reader: &mut OperatorReader<'_, '_>, relation: Relation, order: [usize; 2]) -> Result<(), Refusal> {
    // The attribute says what happens if the shapes do not fit each other. Shape inference always refuses such shapes.
    reader.ignore(&["incompatible_shape_error"]);
    reader.one_type([0, 1])?;
    reader.finish(Compare { relation }, &order.map(Arg::Operand))
}

fn negated(reader: &mut OperatorReader<'_, '_>, truth: Arg) -> Result<(), Refusal> {
    let all = Arg::Constant(reader.truths(&[], &[true])?);
    let function = BinaryFunction::Xor;
    reader.finish(Binary { function }, &[truth, all])
}

fn not_equal(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["incompatible_shape_error"]);
    reader.one_type([0, 1])?;
    let equal = reader.compare(Relation::Equal, &Arg::Operand(0), &Arg::Operand(1))?;
    negated(reader, equal)
}

fn not(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    truths(reader, &[0])?;
    negated(reader, Arg::Operand(0))
}

fn logical(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    truths(reader, &[0, 1])?;
    reader.finish(Binary { function }, &[Arg::Operand(0), Arg::Operand(1)])
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
