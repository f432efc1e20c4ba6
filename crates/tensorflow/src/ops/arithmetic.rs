//! Reads arithmetic, comparisons and selections on elements.

use strait_core::op::{
    Add, Binary, BinaryFunction, Cast, Clip, Compare, Div, Function, Mul, Op, Pow, Relation, Select, Sub, Unary,
};
use strait_core::{Elem, ReasonCode};
use strait_import::{Arg, Refusal};

use super::Row;
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("Add", |node| binary(node, Add {})),
    ("AddV2", |node| binary(node, Add {})),
    ("AddN", sum),
    ("Sub", |node| binary(node, Sub {})),
    ("Mul", |node| binary(node, Mul::float())),
    ("Div", |node| binary(node, Div {})),
    ("RealDiv", |node| binary(node, Div {})),
    ("TruncateDiv", |node| binary(node, Div {})),
    ("DivNoNan", divided_or_zero),
    ("FloorDiv", floor_div),
    ("Mod", |node| remainder(node, BinaryFunction::Remainder)),
    ("TruncateMod", |node| remainder(node, BinaryFunction::Remainder)),
    ("FloorMod", |node| remainder(node, BinaryFunction::Modulo)),
    ("Pow", |node| binary(node, Pow {})),
    ("SquaredDifference", squared_difference),
    ("Maximum", |node| extreme(node, BinaryFunction::Maximum)),
    ("Minimum", |node| extreme(node, BinaryFunction::Minimum)),
    ("ClipByValue", clip),
    ("Equal", |node| compare(node, Relation::Equal, [0, 1])),
    ("NotEqual", not_equal),
    ("Less", |node| compare(node, Relation::Less, [0, 1])),
    ("LessEqual", |node| compare(node, Relation::LessOrEqual, [0, 1])),
    ("Greater", |node| compare(node, Relation::Less, [1, 0])),
    ("GreaterEqual", |node| compare(node, Relation::LessOrEqual, [1, 0])),
    ("LogicalAnd", |node| logical(node, BinaryFunction::And)),
    ("LogicalOr", |node| logical(node, BinaryFunction::Or)),
    ("LogicalNot", not),
    ("Select", select),
    ("SelectV2", |node| node.finish(Select {}, &[0, 1, 2].map(Arg::Operand))),
    ("Cast", cast),
];

fn binary(node: &mut Node<'_, '_>, op: impl Into<Op>) -> Result<(), Refusal> {
    node.one_type([0, 1])?;
    node.finish(op, &[Arg::Operand(0), Arg::Operand(1)])
}

fn sum(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.ignore(&["N"]);
    let count = node.operand_count();
    node.one_type(0..count)?;
    let mut sum = Arg::Operand(0);
    for position in 1..count.saturating_sub(1) {
        sum = node.plus(&sum, &Arg::Operand(position))?;
    }
    match count {
        0 => Err(Refusal::invalid(ReasonCode::MissingOperand, "it has no operands")),
        1 => node.finish(strait_core::op::Identity {}, &[sum]),
        _ => node.finish(Add {}, &[sum, Arg::Operand(count - 1)]),
    }
}

/// A quotient that is 0 if the divisor is 0.
fn divided_or_zero(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.one_type([0, 1])?;
    let (x, y) = (Arg::Operand(0), Arg::Operand(1));
    let (zero, one) = (node.number(&y, 0.0)?, node.number(&y, 1.0)?);
    let is_zero = node.compare(Relation::Equal, &y, &zero)?;
    let divisor = node.select(&is_zero, &one, &y)?;
    let quotient = node.over(&x, &divisor)?;
    node.finish(Select {}, &[is_zero, zero, quotient])
}

/// For integers, the rounded-down quotient is (x − x mod y) / y, where the remainder has the sign of the divisor.
fn floor_div(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.one_type([0, 1])?;
    let (x, y) = (Arg::Operand(0), Arg::Operand(1));
    if node.ty(0)?.elem.is_float() {
        let quotient = node.over(&x, &y)?;
        let function = Function::Floor;
        return node.finish(Unary { function }, &[quotient]);
    }
    let remainder = node.binary(BinaryFunction::Modulo, &x, &y)?;
    let multiple = node.minus(&x, &remainder)?;
    node.finish(Div {}, &[multiple, y])
}

fn remainder(node: &mut Node<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    binary(node, Binary { function })
}

fn squared_difference(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.one_type([0, 1])?;
    let difference = node.minus(&Arg::Operand(0), &Arg::Operand(1))?;
    node.finish(Mul::float(), &[difference.clone(), difference])
}

/// The maximum or minimum of a value and a constant number becomes a clip, which targets support.
fn extreme(node: &mut Node<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    node.one_type([0, 1])?;
    let Some((value, bound)) = bound(node)? else {
        return node.finish(Binary { function }, &[Arg::Operand(0), Arg::Operand(1)]);
    };
    let (mut min, mut max) = (f32::NEG_INFINITY, f32::INFINITY);
    match function {
        BinaryFunction::Maximum => min = bound,
        _ => max = bound,
    }
    node.finish(Clip { min, max }, &[Arg::Operand(value)])
}

/// If one of the two operands is a constant number and the other one a value: the position of the value, and the
/// number.
fn bound(node: &mut Node<'_, '_>) -> Result<Option<(usize, f32)>, Refusal> {
    for (value, number) in [(0, 1), (1, 0)] {
        let rank = node.rank(value)?;
        let Some(tensor) = node.constant(number)? else {
            continue;
        };
        let is_value = node.constant(value)?.is_none();
        // A number of a higher rank would raise the rank of the result.
        if is_value && tensor.len() == 1 && tensor.shape().len() <= rank && tensor.elem().is_float() {
            return Ok(node.known_float(number, "bound")?.map(|number| (value, number)));
        }
    }
    Ok(None)
}

fn clip(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.one_type([0, 1, 2])?;
    let is_float = node.ty(0)?.elem.is_float();
    if is_float
        && let (Some(min), Some(max)) = (node.constant(1)?, node.constant(2)?)
        && min.len() == 1
        && max.len() == 1
    {
        let (min, max) = (node.known_float(1, "lower bound")?, node.known_float(2, "upper bound")?);
        let (min, max) = (min.unwrap_or(f32::NEG_INFINITY), max.unwrap_or(f32::INFINITY));
        return node.finish(Clip { min, max }, &[Arg::Operand(0)]);
    }
    let below = node.binary(BinaryFunction::Minimum, &Arg::Operand(0), &Arg::Operand(2))?;
    let function = BinaryFunction::Maximum;
    node.finish(Binary { function }, &[below, Arg::Operand(1)])
}

fn compare(node: &mut Node<'_, '_>, relation: Relation, order: [usize; 2]) -> Result<(), Refusal> {
    // The attribute says what happens if shapes do not fit. Shape inference refuses them anyway.
    node.ignore(&["incompatible_shape_error"]);
    node.one_type([0, 1])?;
    node.finish(Compare { relation }, &order.map(Arg::Operand))
}

fn negated(node: &mut Node<'_, '_>, truth: Arg) -> Result<(), Refusal> {
    let all = Arg::Constant(node.truths(&[], &[true])?);
    let function = BinaryFunction::Xor;
    node.finish(Binary { function }, &[truth, all])
}

fn not_equal(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.ignore(&["incompatible_shape_error"]);
    node.one_type([0, 1])?;
    let equal = node.compare(Relation::Equal, &Arg::Operand(0), &Arg::Operand(1))?;
    negated(node, equal)
}

fn not(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    truths(node, &[0])?;
    negated(node, Arg::Operand(0))
}

fn logical(node: &mut Node<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    truths(node, &[0, 1])?;
    node.finish(Binary { function }, &[Arg::Operand(0), Arg::Operand(1)])
}

/// Refuses operands that are not booleans.
fn truths(node: &mut Node<'_, '_>, positions: &[usize]) -> Result<(), Refusal> {
    for &position in positions {
        let elem = node.ty(position)?.elem;
        if elem != Elem::Bool {
            let text = format!("operand {position} is of type {elem}, and not of truth values");
            return Err(Refusal::invalid(ReasonCode::OperandType, text));
        }
    }
    Ok(())
}

/// The condition may be a list with one entry for each position of the first axis. It is broadcast from there.
fn select(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let (condition, rank) = (node.rank(0)?, node.rank(1)?);
    let mut args = [0, 1, 2].map(Arg::Operand);
    if condition == 1 && rank > 1 {
        let behind: Vec<i64> = (1..rank as i64).collect();
        args[0] = node.unsqueezed(&args[0], &behind)?;
    }
    node.finish(Select {}, &args)
}

/// Floats become integers by truncation, in TensorFlow as in the IR. The attribute `Truncate` is about narrowing
/// floats, which does not happen here.
fn cast(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.ignore(&["Truncate"]);
    let to = node.elem("DstT")?;
    let to = to.ok_or_else(|| Refusal::invalid(ReasonCode::AttributeType, "`DstT` is missing"))?;
    let from = node.ty(0)?.elem;
    let to = match to {
        // 16-bit floats are computed as f32.
        Elem::F16 | Elem::BF16 => Elem::F32,
        other => other,
    };
    match from == to {
        true => node.finish(strait_core::op::Identity {}, &[Arg::Operand(0)]),
        false => node.finish(Cast { to }, &[Arg::Operand(0)]),
    }
}
