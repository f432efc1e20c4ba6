//! Reads elementwise operations on two operands that broadcast, and sums of several tensors.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, field, option, options};
use crate::schema::Activation;
use std::f64::consts::{FRAC_PI_2, PI};
use strait_core::op::{Add, BinaryFunction, Cast, Div, Function, Mul, Op, Pow, Reduction, Relation, Select, Sub};
use strait_core::{Elem, ReasonCode};
use strait_import::reduction_over;

/// The fused activation that the options of an operator give.
macro_rules! fused {
    ($reader:expr, $table:ident) => {{
        let options = options!($reader, $table);
        option!(options, fused_activation_function, Activation::None)
    }};
}

pub(super) const ROWS: &[Row] = &[
    Row::new("ADD", 5, |reader| {
        arithmetic(reader, Add {}, fused!(reader, AddOptions))
    }),
    Row::new("SUB", 5, |reader| {
        arithmetic(reader, Sub {}, fused!(reader, SubOptions))
    }),
    Row::new("MUL", 7, |reader| {
        arithmetic(reader, Mul::float(), fused!(reader, MulOptions))
    }),
    Row::new("DIV", 3, |reader| {
        arithmetic(reader, Div {}, fused!(reader, DivOptions))
    }),
    Row::new("POW", 1, |reader| arithmetic(reader, Pow {}, Activation::None)),
    Row::new("MAXIMUM", 4, |reader| binary(reader, BinaryFunction::Maximum)).on_one_grid(),
    Row::new("MINIMUM", 4, |reader| binary(reader, BinaryFunction::Minimum)).on_one_grid(),
    Row::new("FLOOR_MOD", 2, |reader| binary(reader, BinaryFunction::Modulo)),
    Row::new("FLOOR_DIV", 3, |reader| reader.finish_floor_div()),
    Row::new("SQUARED_DIFFERENCE", 2, |reader| reader.finish_squared_difference()),
    Row::new("ADD_N", 1, |reader| reader.finish_from_left(Add {})),
    Row::new("BITWISE_XOR", 1, |reader| binary(reader, BinaryFunction::Xor)),
    Row::new("RIGHT_SHIFT", 1, right_shift),
    Row::new("ATAN2", 1, atan2),
    Row::new("BUCKETIZE", 1, bucketize),
    Row::new("STABLEHLO_ADD", 1, |reader| of_numbers(reader, Add {})),
    Row::new("STABLEHLO_MULTIPLY", 1, |reader| of_numbers(reader, Mul::float())),
    Row::new("STABLEHLO_MAXIMUM", 1, |reader| {
        of_numbers(reader, BinaryFunction::Maximum)
    }),
    Row::new("STABLEHLO_MINIMUM", 1, |reader| {
        of_numbers(reader, BinaryFunction::Minimum)
    }),
];

fn arithmetic(reader: &mut OperatorReader<'_, '_>, op: impl Into<Op>, activation: Activation) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    reader.finish_activated(op, &[Arg::Operand(0), Arg::Operand(1)], activation)
}

fn binary(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    arithmetic(reader, function, Activation::None)
}

/// Reads an operator for which LiteRT has no kernel on codes.
fn of_numbers(reader: &mut OperatorReader<'_, '_>, op: impl Into<Op>) -> Result<(), Refusal> {
    if [0, 1].iter().any(|&position| reader.operand_grid(position).is_some()) {
        return Err(Refusal::unsupported("it takes codes for numbers"));
    }
    arithmetic(reader, op, Activation::None)
}

/// Reads an arithmetic shift to the right. The shift count is limited to the range from 0 to the number of bits of the
/// type minus one.
fn right_shift(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let most = 8 * reader.ty(0)?.elem.size() - 1;
    let (x, by) = (Arg::Operand(0), Arg::Operand(1));
    let (none, most) = (reader.number(&by, 0.0)?, reader.number(&by, most as f64)?);
    let by = reader.binary(BinaryFunction::Maximum, &by, &none)?;
    let by = reader.binary(BinaryFunction::Minimum, &by, &most)?;
    reader.finish(BinaryFunction::ShiftRight, &[x, by])
}

/// Reads atan2 of the operands y and x: the angle of the point (x, y). It is atan(y/x), plus or minus half a turn if x
/// is below 0. The sign of a zero has no effect here.
fn atan2(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let (y, x) = (Arg::Operand(0), Arg::Operand(1));
    let zero = reader.number(&x, 0.0)?;
    let sign = reader.function(Function::Sign, &y)?;
    let quarter = reader.scaled(&sign, FRAC_PI_2)?;
    let quotient = reader.over(&y, &x)?;
    let angle = reader.function(Function::Atan, &quotient)?;
    let (half, less) = (reader.number(&x, PI)?, reader.number(&x, -PI)?);
    let is_below = reader.compare(Relation::Less, &y, &zero)?;
    let half = reader.select(&is_below, &less, &half)?;
    let beyond = reader.plus(&angle, &half)?;
    let is_left = reader.compare(Relation::Less, &x, &zero)?;
    let angle = reader.select(&is_left, &beyond, &angle)?;
    let is_upright = reader.compare(Relation::Equal, &x, &zero)?;
    reader.finish(Select {}, &[is_upright, quarter, angle])
}

/// Reads an operator that counts, for each element, the boundaries that are not above the element. The boundaries
/// ascend.
fn bucketize(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, BucketizeOptions);
    let list = match &options {
        Some(options) => field(options.boundaries())?,
        None => None,
    };
    // Several operators may share the same list in the file, so its elements count towards the limit each time it is
    // used.
    reader.room(&[list.as_ref().map_or(0, |list| list.len()) as u64])?;
    let boundaries: Vec<f32> = list.into_iter().flatten().collect();
    if boundaries.is_empty() || boundaries.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(Refusal::invalid(
            ReasonCode::Operands,
            "its boundaries do not ascend, or are none",
        ));
    }
    let count = boundaries.len() as u64;
    let boundaries = Arg::Constant(reader.floats_of(&[count], &boundaries)?);
    let x = reader.converted(&Arg::Operand(0), Elem::F32)?;
    let x = reader.unsqueezed(&x, &[-1])?;
    let above = reader.compare(Relation::Less, &x, &boundaries)?;
    let above = reader.converted(&above, Elem::I64)?;
    let above = reader.push(reduction_over(Reduction::Sum, &[-1], false), &[above])?;
    let all = reader.number(&above, count as f64)?;
    let places = reader.minus(&all, &above)?;
    reader.finish(Cast { to: Elem::I32 }, &[places])
}
